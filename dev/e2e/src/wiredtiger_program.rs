//! A database of WiredTiger alone, in MongoDB 8.0's release, used through its own program `wt` with
//! our extension.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::binary::wiredtiger_extension;

/// Is in every value that [`Database::fill`] stores.
pub const MARKER: &str = "PLAINTEXT-MARKER-7141";

/// A journal in small files, since a test copies and searches them.
pub const LOG: &str = "log=(enabled=true,file_max=100KB,prealloc=false)";

/// Longest time that a program may take for work that normally takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Beginning of a load of the table `t`: text keys and text values.
const DUMP_HEAD: &str = "WiredTiger Dump (WiredTiger Version 11.3.1)\nFormat=print\nHeader\n\
                         table:t\nkey_format=S,value_format=S\nData\n";

/// Returns the folder with `wt` and its library, or why there is none.
fn find() -> Result<PathBuf, String> {
    let base =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let dir = base.unwrap_or_else(home).join("sealstone/wiredtiger");
    if dir.join("wt").is_file() {
        Ok(dir)
    } else {
        Err("no wt here; sh dev/setup.sh wiredtiger builds it".into())
    }
}

/// A database in its own directory, with its key file next to it.
pub struct Database {
    program: PathBuf,
    dir: TempDir,
}

impl Database {
    /// Returns an empty one; `None`, with a SKIP for `test`, where there is no `wt`.
    ///
    /// # Panics
    /// If no directory can be made.
    #[must_use]
    pub fn new(test: &str) -> Option<Self> {
        match find() {
            Ok(program) => {
                let dir = tempfile::tempdir().expect("a directory");
                fs::create_dir(dir.path().join("db")).expect("a directory");
                Some(Self { program, dir })
            }
            Err(reason) => {
                println!("SKIP: {test}: {reason}");
                None
            }
        }
    }

    /// Returns the directory of the database and its key.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the folder with `wt` and its library.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the data directory.
    #[must_use]
    pub fn db(&self) -> PathBuf {
        self.dir.path().join("db")
    }

    /// Returns the key file, which the test makes.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.dir.path().join("orders.key")
    }

    /// Returns the configuration passed to `wiredtiger_open`; `settings` follow the key.
    #[must_use]
    pub fn config(&self, settings: &str) -> String {
        self.config_of(wiredtiger_extension(), settings)
    }

    /// Returns the same with the extension in the file `extension`.
    #[must_use]
    pub fn config_of(&self, extension: &Path, settings: &str) -> String {
        format!(
            "create,{LOG},extensions=[{}=(early_load=true,config=(key=\"{}\"{settings}))],\
             encryption=(name=sealstone,keyid=\"orders\")",
            extension.display(),
            self.key().display(),
        )
    }

    /// Returns `wt` on the data directory `db`, with the library in the folder `library`, ready to
    /// start.
    #[must_use]
    pub fn command(&self, library: &Path, db: &Path, config: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program.join("wt"));
        command
            .env("LD_LIBRARY_PATH", library)
            .args(["-R", "-h"])
            .arg(db)
            .args(["-C", config])
            .args(arguments);
        command.current_dir(self.dir.path());
        command
    }

    /// Runs `wt`.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn wt(&self, config: &str, arguments: &[&str]) -> Output {
        self.wt_of(&self.program, config, arguments)
    }

    /// Runs `wt` with the library in the folder `library`.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn wt_of(&self, library: &Path, config: &str, arguments: &[&str]) -> Output {
        self.command(library, &self.db(), config, arguments).output().expect("wt starts")
    }

    /// Runs `wt` and returns what it printed.
    ///
    /// # Panics
    /// If it fails.
    pub fn done(&self, config: &str, arguments: &[&str]) -> String {
        let output = self.wt(config, arguments);
        assert!(output.status.success(), "wt {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("wt prints text")
    }

    /// Fills the table `t`: keys are numbers, values contain the marker and `word`.
    ///
    /// # Panics
    /// If it fails.
    pub fn fill(&self, config: &str, first: u32, count: u32, word: &str) {
        let dump = self.dir.path().join("dump.txt");
        fs::write(&dump, format!("{DUMP_HEAD}{}", rows(first, count, word))).expect("written");
        self.done(config, &["load", "-f", dump.to_str().expect("a path of text")]);
    }

    /// Fills it likewise, and kills `wt` before it can write a checkpoint: the rows are in the
    /// journal alone, each synced.
    ///
    /// # Panics
    /// If it fails, or the journal does not grow.
    pub fn fill_and_kill(&self, config: &str, first: u32, count: u32, word: &str) {
        let config = format!("{config},transaction_sync=(enabled=true,method=fsync)");
        let mut command = self.command(&self.program, &self.db(), &config, &["load"]);
        let mut load =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("wt starts");
        let mut input = load.stdin.take().expect("a pipe");
        let mut feed = || -> std::io::Result<()> {
            input.write_all(DUMP_HEAD.as_bytes())?;
            input.write_all(rows(first, count, word).as_bytes())?;
            // the program reads whole buffers, and waits for the rest of one that never comes
            input.write_all(rows(first, 40, word).as_bytes())?;
            input.flush()
        };
        feed().expect("wt reads");
        self.wait_for_silence(&mut load);
        load.kill().expect("a signal");
        load.wait().expect("an end");
    }

    /// Waits until `load` has written the journal and waits for more.
    fn wait_for_silence(&self, load: &mut Child) {
        let journal = || -> Vec<Vec<u8>> {
            let files = crate::wiredtiger_files::files(&self.db());
            let journals =
                files.iter().filter(|file| file.to_string_lossy().contains("WiredTigerLog."));
            journals.map(|file| fs::read(file).unwrap_or_default()).collect()
        };
        let start = Instant::now();
        let (first, mut last, mut since) = (journal(), journal(), Instant::now());
        while last == first || since.elapsed() < Duration::from_secs(1) {
            assert!(start.elapsed() < PATIENCE, "wt writes no journal");
            assert!(load.try_wait().expect("a child").is_none(), "wt ended early");
            std::thread::sleep(Duration::from_millis(100));
            let now = journal();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }

    /// Returns all that is in the table.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn dump(&self, config: &str) -> String {
        self.done(config, &["dump", "table:t"])
    }
}

/// Rows as `wt load` takes them.
fn rows(first: u32, count: u32, word: &str) -> String {
    (first..first + count)
        .map(|n| format!("{n:08}\\00\n{MARKER} {word} {n} {}\\00\n", "x".repeat(200)))
        .collect()
}

/// Returns the output of a program, on both streams.
#[must_use]
pub fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
