//! A connection of the driver with time limits for making it and for answers. Not here: the limits
//! (`crate::time_limits`), ending a late connection (`watch`).

use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mysql::{Conn, Opts};

use super::failure::{late, unconnected};
use super::watch::Watch;
use crate::deadline::within;
use crate::sql::Failure;
use crate::time_limits::CONNECT_LIMIT;

/// The step to take with a server that speaks something else.
const NO_MYSQL: &str = "check host and port of the address: something else may listen there";

/// A connection to MySQL or MariaDB.
pub(super) struct Watched {
    conn: Conn,
    watch: Arc<Watch>,
}

impl Watched {
    /// Connects according to `opts`.
    ///
    /// # Errors
    /// The server's error, or its silence.
    pub(super) fn connect(opts: Opts) -> Result<Self, Failure> {
        // before a server is authenticated, it can send anything, and some of that makes the driver
        // panic
        let connected =
            within(CONNECT_LIMIT, move || catch_unwind(AssertUnwindSafe(|| Conn::new(opts))));
        let connected = connected.ok_or_else(late)?;
        let connected = connected.map_err(|_| {
            Failure::broken("its answers are not those of MySQL or MariaDB", NO_MYSQL)
        })?;
        let conn = connected.map_err(|error| unconnected(&error))?;
        let watch = Watch::new(conn.as_raw_fd());
        Ok(Self { conn, watch })
    }

    /// Does `work`, for which the server may take `limit` in all.
    ///
    /// # Errors
    /// That of `work`; a server that took longer.
    pub(super) fn timed<T>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Conn) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.watch.begin(limit);
        let outcome = work(&mut self.conn);
        match (self.watch.end(), outcome) {
            (true, Err(_)) => Err(late()),
            (_, outcome) => outcome,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // the driver closes the connection, and waits for nothing
        self.watch.forget();
    }
}
