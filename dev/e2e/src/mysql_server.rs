//! A MySQL 8.0.15 as a test has it, from `sh dev/setup.sh mysql` (Debian has MariaDB alone). Not
//! here: MariaDB and PostgreSQL (`sql_server`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::Uid;
use sealstone_servers::testing::is_installed;
use sealstone_servers::{Place, Program};

use crate::sql_server::{Database, SqlSession};

/// Longest time that the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Places to look for its program; `share` with its messages is beside `bin`.
static PROGRAM: Program = Program {
    what: "mysqld",
    flag: "mysqld",
    variable: "SEALSTONE_MYSQLD",
    places: &[Place::Cache("mysql/bin/mysqld")],
    works: Path::is_file,
    install: "install it with: sh dev/setup.sh mysql",
};

/// A MySQL that was started here, and ends with the value. Its users `sealstone` and `sha` may do
/// everything, and have the password `geheim`: the first by mysql_native_password, the second by
/// caching_sha2_password.
#[derive(Debug)]
pub struct MySqlServer {
    child: Child,
    dir: PathBuf,
    port: u16,
}

impl MySqlServer {
    /// Returns whether there is a MySQL; otherwise prints that the test `name` is skipped.
    #[must_use]
    pub fn is_available(name: &str) -> bool {
        is_installed(&PROGRAM, name)
    }

    /// Starts one in `dir`; none, with a SKIP for the test `name`, if there is no MySQL.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start(name: &str, dir: &Path) -> Option<Self> {
        Self::is_available(name).then(|| Self::start_on(dir))
    }

    /// Starts one in `dir`, on whatever an earlier one left there.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn start_on(dir: &Path) -> Self {
        let program = PROGRAM.find(None).expect("a MySQL");
        fs::create_dir_all(dir.join("tmp")).expect("a directory");
        let base = program.ancestors().nth(2).expect("bin and what is above").to_owned();
        let command = || {
            let mut command = Command::new(&program);
            command.arg("--no-defaults").arg(format!("--basedir={}", base.display()));
            command.arg(format!("--lc-messages-dir={}", base.join("share").display()));
            command.arg(format!("--datadir={}", dir.join("data").display()));
            command.arg(format!("--tmpdir={}", dir.join("tmp").display()));
            if Uid::effective().is_root() {
                command.arg("--user=root");
            }
            command
        };
        let log =
            || fs::File::options().create(true).append(true).open(dir.join("log")).expect("a log");
        if !dir.join("data").exists() {
            let made = command().arg("--initialize-insecure").stdout(log()).stderr(log()).status();
            assert!(
                made.expect("mysqld").success(),
                "{}",
                fs::read_to_string(dir.join("log")).unwrap_or_default()
            );
        }
        let accounts = [("sealstone", "mysql_native_password"), ("sha", "caching_sha2_password")]
            .map(|(user, plugin)| {
                format!(
                    "CREATE USER IF NOT EXISTS {user}@'%' IDENTIFIED WITH {plugin} BY \
                     'geheim';\nGRANT ALL ON *.* TO {user}@'%' WITH GRANT OPTION;\n"
                )
            });
        fs::write(
            dir.join("first.sql"),
            format!("CREATE DATABASE IF NOT EXISTS sealstone;\n{}", accounts.concat()),
        )
        .expect("a file");
        let port = crate::kmip_server::free_port();
        let child = command()
            .arg(format!("--port={port}"))
            .args(["--bind-address=127.0.0.1", "--mysqlx=OFF", "--skip-name-resolve"])
            .arg(format!("--socket={}", dir.join("s").display()))
            .arg(format!("--pid-file={}", dir.join("pid").display()))
            .arg(format!("--init-file={}", dir.join("first.sql").display()))
            .stdin(Stdio::null())
            .stdout(log())
            .stderr(log())
            .spawn()
            .expect("mysqld");
        let server = Self { child, dir: dir.to_owned(), port };
        let begin = Instant::now();
        while !server.try_ask("SELECT 1").0 {
            let said = || fs::read_to_string(dir.join("log")).unwrap_or_default();
            assert!(begin.elapsed() < PATIENCE, "it does not answer: {}", said());
            thread::sleep(Duration::from_millis(200));
        }
        server
    }

    /// Returns its process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Its address for `sealstone`, with the password of `user`.
    #[must_use]
    pub fn url(&self, user: &str) -> String {
        format!("mysql://{user}:geheim@127.0.0.1:{}/sealstone", self.port)
    }

    /// Returns the output of MariaDB's client program for the statements `text`.
    ///
    /// # Panics
    /// If one is refused.
    #[must_use]
    pub fn ask(&self, text: &str) -> String {
        let (is_done, said) = self.try_ask(text);
        assert!(is_done, "{text}\n{said}");
        said
    }

    fn try_ask(&self, text: &str) -> (bool, String) {
        let said = self.client().args(["-e", text]).output().expect("MariaDB's client");
        let text = [said.stdout, said.stderr].concat();
        (said.status.success(), String::from_utf8_lossy(&text).trim().to_owned())
    }

    /// Returns the command of MariaDB's client program.
    fn client(&self) -> Command {
        let settings = self.dir.join("client.cnf");
        fs::write(&settings, "[client]\nuser=sealstone\npassword=geheim\n").expect("a file");
        let mut client = Command::new("mariadb");
        client.arg(format!("--defaults-file={}", settings.display()));
        client.args(["-h", "127.0.0.1", "-P", &self.port.to_string(), "-D", "sealstone"]);
        client.args(["-N", "-B", "--default-character-set=utf8mb4"]);
        client
    }
}

impl Database for MySqlServer {
    fn session(&self) -> SqlSession {
        let mut client = self.client();
        client.args(["--raw", "--unbuffered", "--force"]);
        SqlSession::begin(client)
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for MySqlServer {
    fn drop(&mut self) {
        self.kill();
    }
}
