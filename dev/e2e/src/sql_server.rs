//! MariaDB and PostgreSQL as the tests of tables have them: a server started here, and a session of
//! its own client program, which judges our results.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use sealstone_servers::testing::is_installed;
use sealstone_servers::{
    MARIADB_PROGRAM, MariaDb, MariaDbOptions, POSTGRES_PROGRAM, Postgres, PostgresOptions, Program,
    start_mariadb, start_postgres,
};

/// Text that a session prints after each answer.
const END: &str = "the end of an answer";

/// Kind of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlKind {
    /// MariaDB.
    MariaDb,
    /// PostgreSQL.
    Postgres,
}

impl SqlKind {
    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::Postgres => "PostgreSQL",
        }
    }

    /// Returns whether the server is installed; otherwise prints that the test `name` is skipped.
    #[must_use]
    pub fn is_available(self, name: &str) -> bool {
        let program: &Program = match self {
            Self::MariaDb => &MARIADB_PROGRAM,
            Self::Postgres => &POSTGRES_PROGRAM,
        };
        is_installed(program, name)
    }

    /// Returns the text to append to the definition of a table so that it takes all of Unicode.
    #[must_use]
    pub fn table_ending(self) -> &'static str {
        match self {
            Self::MariaDb => " DEFAULT CHARSET=utf8mb4",
            Self::Postgres => "",
        }
    }
}

/// A server of SQL as tests have it that are the same for several.
pub trait Database {
    /// Returns a session of its own client program.
    fn session(&self) -> SqlSession;

    /// Kills it, as a power cut would. The disk with the note of its process may be gone already.
    fn kill(&mut self);
}

impl Database for SqlServer {
    fn session(&self) -> SqlSession {
        Self::session(self)
    }

    fn kill(&mut self) {
        let _ = match self {
            Self::MariaDb(server) => server.kill(),
            Self::Postgres(server) => server.kill(),
        };
    }
}

/// A server that was started here, and ends with the value.
#[derive(Debug)]
pub enum SqlServer {
    /// MariaDB.
    MariaDb(MariaDb),
    /// PostgreSQL.
    Postgres(Postgres),
}

impl SqlServer {
    /// Starts one in `dir`.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(kind: SqlKind, dir: &Path) -> Self {
        match kind {
            SqlKind::MariaDb => {
                let options =
                    MariaDbOptions { password: Some("geheim".into()), ..MariaDbOptions::default() };
                Self::MariaDb(start_mariadb(dir, options).expect("a MariaDB"))
            }
            SqlKind::Postgres => {
                let options = PostgresOptions {
                    password: Some("geheim".into()),
                    ..PostgresOptions::default()
                };
                Self::Postgres(start_postgres(dir, options).expect("a PostgreSQL"))
            }
        }
    }

    /// Its address for `sealstone`, with the password.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::MariaDb(server) => {
                format!("mysql://sealstone:geheim@{}/sealstone", server.address())
            }
            Self::Postgres(server) => {
                format!("postgres://sealstone:geheim@{}/postgres", server.address())
            }
        }
    }

    /// Returns the host and port.
    #[must_use]
    pub fn address(&self) -> String {
        match self {
            Self::MariaDb(server) => server.address(),
            Self::Postgres(server) => server.address(),
        }
    }

    /// Kills it, as a power cut would.
    ///
    /// # Panics
    /// If that fails.
    pub fn kill(&mut self) {
        match self {
            Self::MariaDb(server) => server.kill(),
            Self::Postgres(server) => server.kill(),
        }
        .expect("a server that runs");
    }

    /// Starts it again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_again(&mut self) {
        match self {
            Self::MariaDb(server) => server.start_again(),
            Self::Postgres(server) => server.start_again(),
        }
        .expect("it starts again");
    }

    /// Returns a session of its own client program.
    #[must_use]
    pub fn session(&self) -> SqlSession {
        match self {
            Self::MariaDb(server) => {
                let mut command = Command::new("mariadb");
                command.arg(format!("--defaults-file={}", server.secrets_path().display()));
                command.args([
                    "-h",
                    "127.0.0.1",
                    "-P",
                    &server.port().to_string(),
                    "-D",
                    "sealstone",
                ]);
                command.args([
                    "-N",
                    "-B",
                    "--raw",
                    "--unbuffered",
                    "--force",
                    "--default-character-set=utf8mb4",
                ]);
                SqlSession::begin(command)
            }
            Self::Postgres(server) => {
                let mut command = Command::new("psql");
                command.env("PGPASSFILE", server.secrets_path());
                command.args([
                    "-X",
                    "-q",
                    "-A",
                    "-t",
                    "-F",
                    "\t",
                    "-P",
                    "null=NULL",
                    "-h",
                    "127.0.0.1",
                ]);
                command.args([
                    "-p",
                    &server.port().to_string(),
                    "-U",
                    "sealstone",
                    "-d",
                    "postgres",
                ]);
                SqlSession::begin(command)
            }
        }
    }
}

/// A client program that runs. It ends with the value.
#[derive(Debug)]
pub struct SqlSession {
    child: Child,
    say: ChildStdin,
    hear: BufReader<ChildStdout>,
}

impl SqlSession {
    pub(crate) fn begin(command: Command) -> Self {
        // errors are among the answers
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "exec \"$0\" \"$@\" 2>&1"])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            shell.env(name, value.unwrap_or_default());
        }
        let mut child =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a client program");
        let (say, hear) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Self { child, say, hear: BufReader::new(hear) }
    }

    /// Runs the statements `text`, and returns the program's output: a list of values for each row,
    /// and lines with `ERROR` for refused statements.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn ask(&mut self, text: &str) -> Vec<Vec<String>> {
        writeln!(self.say, "{text};\nSELECT '{END}';")
            .and_then(|()| self.say.flush())
            .expect("it listens");
        let mut rows = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.hear.read_line(&mut line).expect("text");
            assert_ne!(read, 0, "the client program ended: {rows:?}");
            let line = line.trim_end_matches('\n');
            if line == END {
                return rows;
            }
            rows.push(line.split('\t').map(str::to_owned).collect());
        }
    }

    /// Begins a statement that takes longer than the session, and whose answer nobody hears.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn say(&mut self, text: &str) {
        writeln!(self.say, "{text};").and_then(|()| self.say.flush()).expect("it listens");
    }

    /// Runs a statement that returns no rows, and returns whether that was acknowledged. Otherwise
    /// the server may be gone, and the session is of no more use.
    pub fn is_acknowledged(&mut self, text: &str) -> bool {
        let asked = writeln!(self.say, "{text};\nSELECT '{END}';").and_then(|()| self.say.flush());
        let mut line = String::new();
        asked.is_ok()
            && self.hear.read_line(&mut line).is_ok()
            && line.trim_end_matches('\n') == END
    }

    /// Runs statements likewise that must not be refused.
    ///
    /// # Panics
    /// If a statement is refused.
    pub fn done(&mut self, text: &str) -> Vec<Vec<String>> {
        let rows = self.ask(text);
        assert!(!rows.iter().flatten().any(|value| value.contains("ERROR")), "{text}\n{rows:?}");
        rows
    }
}

impl Drop for SqlSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
