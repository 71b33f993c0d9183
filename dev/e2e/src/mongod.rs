//! One real mongod, for tests that look below the server: commands to it, a document each way,
//! kills, and its log after a refusal.
//!
//! Not here: finding, starting and stopping it (`sealstone_servers`), the content of its files
//! (`wiredtiger_files`).

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bson::{Document, doc};
use mongodb::options::ClientOptions;
use mongodb::sync::Client;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use sealstone_servers::{LabError, MongodOptions};

/// Longest time that a server may take to start, or to die of an error.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest time that finding a server of this machine may take.
const FIND_LIMIT: Duration = Duration::from_secs(10);

/// Output of a server that does not start, or dies.
#[derive(Debug)]
pub struct Dead {
    /// Its log.
    pub log: String,
}

impl Dead {
    /// Returns the messages of our extension, in order, without its name.
    #[must_use]
    pub fn sealstone(&self) -> Vec<String> {
        said(&self.log)
    }

    /// Asserts that our message comes before any of WiredTiger's own errors, and contains `what`.
    ///
    /// # Panics
    /// If not.
    pub fn assert_says_first(&self, what: &str) {
        let ours =
            self.log.lines().position(|line| line.contains("sealstone: ") && line.contains(what));
        let errors = |line: &str| line.contains("\"s\":\"E\"") || line.contains("\"s\":\"F\"");
        let first = self
            .log
            .lines()
            .position(|line| errors(line) || line.contains("sealstone: ") && line.contains(what));
        assert!(ours.is_some() && ours == first, "wanted {what:?} first, found:\n{}", self.log);
    }
}

/// Data directory of the server that is started in `dir`.
#[must_use]
pub fn data_dir(dir: &Path) -> PathBuf {
    dir.join("data")
}

/// A running server. Ends with the value, at once.
pub struct Mongod {
    server: sealstone_servers::Mongod,
    client: Client,
}

impl Mongod {
    /// Starts a server in `dir`; its earlier data there remains.
    ///
    /// - `engine`: the value of `--wiredTigerEngineConfigString`; empty for none
    ///
    /// # Errors
    /// [`Dead`] with what it logged, if it ends before it answers.
    ///
    /// # Panics
    /// If it cannot be started at all.
    pub fn start(dir: &Path, engine: &str) -> Result<Self, Dead> {
        // no core files: a server that refuses damaged data aborts
        let (_, most) = getrlimit(Resource::RLIMIT_CORE).expect("a limit");
        setrlimit(Resource::RLIMIT_CORE, 0, most).expect("a lower limit");
        // the log is of this start alone
        let _ = fs::remove_file(dir.join("mongod.log"));
        let options = MongodOptions {
            engine_config: Some(engine.to_owned()).filter(|engine| !engine.is_empty()),
            // a checkpoint when a test requests one, and none by the clock
            arguments: ["--syncdelay", "0"].map(String::from).to_vec(),
            environment: vec![("SEALSTONE_PASSPHRASE_FILE".into(), String::new())],
            start_limit_s: PATIENCE.as_secs(),
            ..MongodOptions::default()
        };
        let server = match sealstone_servers::Mongod::start(dir, options) {
            Ok(server) => server,
            Err(LabError::Start { log, .. }) => return Err(Dead { log: read(&log) }),
            Err(error) => panic!("{error}"),
        };
        let mut options = ClientOptions::parse(server.uri()).run().expect("an address");
        options.server_selection_timeout = Some(FIND_LIMIT);
        let client = Client::with_options(options).expect("a client");
        Ok(Self { server, client })
    }

    /// Returns the server's log.
    #[must_use]
    pub fn log(&self) -> String {
        read(&self.server.log_path())
    }

    /// Returns the messages of our extension, in order, without its name.
    #[must_use]
    pub fn sealstone(&self) -> Vec<String> {
        said(&self.log())
    }

    /// Runs one command on the database `db`.
    ///
    /// # Errors
    /// The server refuses it, does not answer, or has died.
    pub fn try_command(&self, db: &str, command: Document) -> mongodb::error::Result<Document> {
        self.client.database(db).run_command(command).run()
    }

    /// Runs one command on the database `test`.
    ///
    /// # Panics
    /// If it fails.
    pub fn command(&self, command: Document) -> Document {
        let words = command.keys().next().cloned().unwrap_or_default();
        let answer = self.try_command("test", command).unwrap_or_else(|error| {
            panic!("{words}: {error}; the log ends with:\n{}", end_of(&self.log()))
        });
        assert!(!answer.contains_key("writeErrors"), "{words}: {answer}");
        answer
    }

    /// Inserts documents into `collection`, and returns once they are in the journal.
    pub fn insert(&self, collection: &str, documents: Vec<Document>) {
        let concern = doc! { "w": 1, "j": true };
        self.command(
            doc! { "insert": collection, "documents": documents, "writeConcern": concern },
        );
    }

    /// Returns the number of documents in `collection`, by looking at each.
    #[must_use]
    pub fn count(&self, collection: &str) -> i32 {
        let group = doc! { "$group": { "_id": null, "n": { "$sum": 1 } } };
        let answer =
            self.command(doc! { "aggregate": collection, "pipeline": [group], "cursor": {} });
        let batch = answer
            .get_document("cursor")
            .and_then(|cursor| cursor.get_array("firstBatch"))
            .expect("a batch");
        batch.first().map_or(0, |first| {
            first.as_document().expect("a document").get_i32("n").expect("a number")
        })
    }

    /// Writes a checkpoint, so that the data files contain everything.
    pub fn checkpoint(&self) {
        self.try_command("admin", doc! { "fsync": 1 }).expect("a checkpoint");
    }

    /// Shuts it down in order.
    ///
    /// # Panics
    /// If it does not end, or reports a failure.
    pub fn stop(mut self) {
        self.server.stop().unwrap_or_else(|error| panic!("{error}\n{}", end_of(&self.log())));
        assert!(
            self.log().contains("\"exitCode\":0"),
            "mongod ended with an error:\n{}",
            end_of(&self.log())
        );
    }

    /// Ends it at once, as a power cut of the process does.
    pub fn kill(mut self) {
        self.server.kill().expect("a signal");
    }

    /// Waits until it has died of what it met.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn died(mut self) -> Dead {
        let start = Instant::now();
        while self.server.is_running() {
            assert!(start.elapsed() < PATIENCE, "mongod lives on:\n{}", end_of(&self.log()));
            thread::sleep(Duration::from_millis(50));
        }
        Dead { log: self.log() }
    }
}

fn read(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

/// Returns the messages of our extension in a log.
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
