//! Behaviour in which SQL servers differ, and the operations of a connection to one.

use sealstone_store::{Counters, EngineFacts, Record};

use super::bound::Param;
use super::columns::Layout;
use super::error::Failure;
use super::statements::{Dialect, Statement};
use crate::server_error::{Place, ServerError};

/// A server that runs, and how connections to it are made.
pub trait Server: Clone + Send + Sync + 'static {
    /// A connection.
    type Link: Link;

    /// Differences of the server's SQL.
    const DIALECT: &'static Dialect;
    /// The flag that names a server of the user's own.
    const FLAG: &'static str;

    /// Returns the location of the server.
    fn place(&self) -> &Place;

    /// Makes a connection; `sync_writes`: on which a commit returns only when it is on the disk.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    fn link(&self, sync_writes: bool) -> Result<Self::Link, ServerError>;

    /// Returns a description of the server, with the settings that matter to a reader of a report.
    fn facts(&self) -> EngineFacts;

    /// Returns the version and cipher of TLS on the connection, in the server's words; none where
    /// it has no TLS.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn tls(&self, link: &mut Self::Link) -> Result<Option<String>, Failure>;

    /// Returns the reason why a commit is not on the disk when it is acknowledged, whatever a
    /// connection requests; `None` if it is.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn unsynced(&self, link: &mut Self::Link) -> Result<Option<String>, Failure>;

    /// Returns the server's counters so far.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn counters(&self, link: &mut Self::Link) -> Result<Counters, Failure>;

    /// Bytes of `tables` on the disk, with their indexes.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn disk_bytes(&self, link: &mut Self::Link, tables: &[&str]) -> Result<u64, Failure>;

    /// Has it write what it holds in memory alone.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn settle(&self, link: &mut Self::Link) -> Result<(), Failure>;

    /// Has it tidy up what loading the table of `layout` left.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn tidy(&self, link: &mut Self::Link, layout: &Layout) -> Result<(), Failure>;
}

/// Callback for each row, which gets its key, if the statement has one, and its values.
pub(crate) type EachRow<'a> = &'a mut dyn FnMut(&[u8], &Record);

/// A connection, with the statements that it has prepared.
pub trait Link: Send {
    /// Runs `statement`, which is prepared the first time, and passes each row to `each`. Returns
    /// how many rows it was about.
    ///
    /// # Errors
    /// The server's error, or the reason for its silence.
    fn run(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
        each: EachRow<'_>,
    ) -> Result<u64, Failure>;

    /// Runs `text`, a statement without values and rows.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn command(&mut self, text: &str) -> Result<(), Failure>;

    /// Writes whole `rows`, each key and values, into the table of `layout`, as quickly as it can;
    /// records with the same keys are replaced. Within a transaction.
    ///
    /// # Errors
    /// As [`Link::run`].
    fn load(
        &mut self,
        layout: &Layout,
        put: &Statement,
        rows: &[Vec<Param<'_>>],
    ) -> Result<(), Failure>;
}
