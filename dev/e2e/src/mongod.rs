//! One real mongod, in a directory of its own and on a socket in it, so that it takes no port at all; and commands to it,
//! a document each way. For what happens below the server: files, kills, refusals.
//!
//! Not here: replica sets and the driver (`sealstone_stores`), and what its files hold (`wiredtiger_files`).

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bson::{Bson, Document, doc};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a server may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(300);

/// What a server says when it does not start, or dies.
#[derive(Debug)]
pub struct Dead {
    /// Its log.
    pub log: String,
}

impl Dead {
    /// The messages of our extension, in order, without its name.
    #[must_use]
    pub fn sealstone(&self) -> Vec<String> {
        said(&self.log)
    }

    /// Asserts that our message comes before any of WiredTiger's own errors, and says `what`.
    ///
    /// # Panics
    /// If not.
    pub fn assert_says_first(&self, what: &str) {
        let ours = self.log.lines().position(|line| line.contains("sealstone: ") && line.contains(what));
        let errors = |line: &str| line.contains("\"s\":\"E\"") || line.contains("\"s\":\"F\"");
        let first =
            self.log.lines().position(|line| errors(line) || line.contains("sealstone: ") && line.contains(what));
        assert!(ours.is_some() && ours == first, "wanted {what:?} first, found:\n{}", self.log);
    }
}

/// The program, or why it is not here: `SEALSTONE_MONGOD`, what `dev/setup.sh mongod` installed, or the `PATH`.
///
/// # Errors
/// The reason, for a SKIP.
pub fn find() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("SEALSTONE_MONGOD") {
        return Ok(PathBuf::from(path));
    }
    let installed = cache().join("mongod/bin/mongod");
    if installed.is_file() {
        return Ok(installed);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join("mongod")).find(|path| path.is_file());
    found.ok_or_else(|| "no mongod here; sh dev/setup.sh mongod installs one".into())
}

/// Where programs that tests need are kept between runs.
pub(crate) fn cache() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    base.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache")).join("sealstone")
}

/// A running server. Ends with the value, at once.
pub struct Mongod {
    child: Child,
    dir: PathBuf,
}

impl Mongod {
    /// Starts a server on the data directory `dir/db`, which is made if it is not there.
    ///
    /// - `engine`: what goes to `--wiredTigerEngineConfigString`; empty for none
    ///
    /// # Errors
    /// [`Dead`] with what it logged, if it ends before it answers.
    ///
    /// # Panics
    /// If it neither answers nor ends.
    pub fn start(program: &Path, dir: &Path, engine: &str) -> Result<Self, Dead> {
        let db = dir.join("db");
        fs::create_dir_all(&db).expect("a directory");
        let _ = fs::remove_file(dir.join("log.txt"));
        let _ = fs::remove_file(dir.join("m.sock"));
        // no core files: a server that refuses damaged data aborts
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -c 0; exec \"$@\"", "sh"]).arg(program);
        command.arg("--dbpath").arg(&db).arg("--bind_ip").arg(dir.join("m.sock")).arg("--nounixsocket");
        command.arg("--logpath").arg(dir.join("log.txt")).args(["--wiredTigerCacheSizeGB", "0.25"]);
        // a checkpoint when a test asks for one, and none by the clock
        command.args(["--syncdelay", "0"]);
        if !engine.is_empty() {
            command.args(["--wiredTigerEngineConfigString", engine]);
        }
        let output = fs::File::create(dir.join("said.txt")).expect("a file");
        let child = command
            .current_dir(dir)
            .env_remove("SEALSTONE_PASSPHRASE_FILE")
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file"))
            .stderr(output)
            .process_group(0)
            .spawn()
            .expect("sh starts");
        let mut server = Self { child, dir: dir.to_owned() };
        let start = Instant::now();
        loop {
            if server.try_command("admin", &doc! { "ping": 1 }).is_some() {
                return Ok(server);
            }
            if server.child.try_wait().expect("a child").is_some() {
                return Err(server.dead());
            }
            assert!(start.elapsed() < PATIENCE, "mongod neither answers nor ends:\n{}", server.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What it logged, and what it said besides.
    #[must_use]
    pub fn log(&self) -> String {
        let read = |name| fs::read(self.dir.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        format!("{}{}", read("said.txt").unwrap_or_default(), read("log.txt").unwrap_or_default())
    }

    /// The messages of our extension, in order, without its name.
    #[must_use]
    pub fn sealstone(&self) -> Vec<String> {
        said(&self.log())
    }

    fn dead(&self) -> Dead {
        Dead { log: self.log() }
    }

    /// Runs one command on the database `db`; `None` if the server does not answer, or has died.
    #[must_use]
    pub fn try_command(&self, db: &str, command: &Document) -> Option<Document> {
        const OP_MSG: i32 = 2013;
        let mut body = command.clone();
        body.insert("$db", db);
        let body = body.to_vec().expect("a document");
        // header: length, request, response to, operation; then flags, and one section of kind 0
        let length = (16 + 4 + 1 + body.len()) as i32;
        let mut message = Vec::new();
        for number in [length, 1, 0, OP_MSG, 0] {
            message.extend(number.to_le_bytes());
        }
        message.push(0);
        message.extend(body);
        let mut stream = UnixStream::connect(self.dir.join("m.sock")).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(&message).ok()?;
        let mut head = [0; 21];
        stream.read_exact(&mut head).ok()?;
        let length = i32::from_le_bytes(*head.first_chunk().expect("four bytes"));
        let mut answer = vec![0; usize::try_from(length).ok()?.checked_sub(head.len())?];
        stream.read_exact(&mut answer).ok()?;
        Document::from_reader(answer.as_slice()).ok()
    }

    /// Runs one command on the database `test`.
    ///
    /// # Panics
    /// If it fails.
    pub fn command(&self, command: Document) -> Document {
        let Some(answer) = self.try_command("test", &command) else {
            panic!("{command}: no answer; the log ends with:\n{}", end_of(&self.log()));
        };
        assert_eq!(answer.get("ok"), Some(&Bson::Double(1.0)), "{command}: {answer}");
        assert!(!answer.contains_key("writeErrors"), "{command}: {answer}");
        answer
    }

    /// Inserts documents into `collection`, and returns once the journal holds them.
    pub fn insert(&self, collection: &str, documents: Vec<Document>) {
        let concern = doc! { "w": 1, "j": true };
        self.command(doc! { "insert": collection, "documents": documents, "writeConcern": concern });
    }

    /// How many documents `collection` has, by looking at each.
    #[must_use]
    pub fn count(&self, collection: &str) -> i32 {
        let group = doc! { "$group": { "_id": null, "n": { "$sum": 1 } } };
        let answer = self.command(doc! { "aggregate": collection, "pipeline": [group], "cursor": {} });
        let batch = answer.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch")).expect("a batch");
        batch.first().map_or(0, |first| first.as_document().expect("a document").get_i32("n").expect("a number"))
    }

    /// Writes a checkpoint, so that the data files hold all that there is.
    pub fn checkpoint(&self) {
        self.try_command("admin", &doc! { "fsync": 1 }).expect("an answer");
    }

    /// Ends it in order.
    ///
    /// # Panics
    /// If it does not end, or says that something failed.
    pub fn stop(mut self) {
        kill(self.pid(), Signal::SIGTERM).expect("a signal");
        let start = Instant::now();
        loop {
            match self.child.try_wait().expect("a child") {
                Some(status) => {
                    assert!(status.success(), "mongod ended with {status}:\n{}", end_of(&self.log()));
                    return;
                }
                None => assert!(start.elapsed() < PATIENCE, "mongod does not end:\n{}", end_of(&self.log())),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it at once, as a power cut of the process does.
    pub fn kill(mut self) {
        self.end();
    }

    /// Waits until it has died of what it met.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn died(mut self) -> Dead {
        let start = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(start.elapsed() < PATIENCE, "mongod lives on:\n{}", end_of(&self.log()));
            thread::sleep(Duration::from_millis(50));
        }
        self.dead()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    fn end(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Mongod {
    fn drop(&mut self) {
        self.end();
    }
}

/// The messages of our extension in a log.
fn said(log: &str) -> Vec<String> {
    let one = |line: &str| {
        let (_, rest) = line.split_once("sealstone: ")?;
        Some(rest.split("\"}").next().unwrap_or(rest).replace("\\\"", "\""))
    };
    log.lines().filter_map(one).collect()
}

fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
