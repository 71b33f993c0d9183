//! sysbench on a MariaDB.

use std::process::Command;

use anyhow::{Context, Result};

use crate::program::{number_after, output};

/// Tables of sysbench on one server.
#[derive(Clone, Copy, Debug)]
pub struct Sysbench<'a> {
    /// Port on 127.0.0.1.
    pub port: u16,
    /// Account, and the database in which the tables are.
    pub user: &'a str,
    /// Its password.
    pub password: &'a str,
    /// The database in which the tables are.
    pub database: &'a str,
    /// Number of tables.
    pub tables: u32,
    /// Rows of each.
    pub rows: u32,
    /// Connections at once.
    pub threads: u32,
    /// Time of one run, in seconds.
    pub seconds: u32,
}

impl Sysbench<'_> {
    /// Makes the tables, in the place of those that are there.
    ///
    /// # Errors
    /// Of the program.
    pub fn prepare(&self) -> Result<()> {
        self.run("oltp_read_write", &[], "cleanup")?;
        self.run("oltp_read_write", &[], "prepare").map(drop)
    }

    /// Returns the transactions a second of `test`, such as `oltp_read_only`, called with `options`
    /// besides.
    ///
    /// # Errors
    /// Of the program.
    pub fn per_s(&self, test: &str, options: &[&str]) -> Result<f64> {
        transactions(&self.run(test, options, "run")?)
    }

    fn run(&self, test: &str, options: &[&str], deed: &str) -> Result<String> {
        let mut command = Command::new("sysbench");
        command.arg(test).arg("--mysql-host=127.0.0.1");
        command.arg(format!("--mysql-port={}", self.port));
        command.arg(format!("--mysql-user={}", self.user));
        command.arg(format!("--mysql-password={}", self.password));
        command.arg(format!("--mysql-db={}", self.database));
        command.arg(format!("--tables={}", self.tables));
        command.arg(format!("--table-size={}", self.rows));
        command.arg(format!("--time={}", self.seconds));
        command.arg(format!("--threads={}", self.threads));
        output(command.args(options).arg(deed))
    }
}

/// Returns the transactions a second from `transactions:  12345  (1234.56 per sec.)`.
fn transactions(said: &str) -> Result<f64> {
    let line = said.lines().find(|line| line.trim().starts_with("transactions:"));
    number_after(line.context("no transactions")?, "(")
}
