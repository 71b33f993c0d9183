//! Time limits on waiting for a server, by the kind of request. Each covers the whole time, from
//! the request to the end of the answer: a server that sends a little now and then gets no extra
//! time.
//!
//! PostgreSQL's driver gets its bytes through a filter of ours (`postgres/guard.rs`), with TLS or
//! without. MySQL's hands out its socket, which a thread closes when an answer is late
//! (`mysql/watch.rs`). Redis without TLS is read by our own code (`redis/resp.rs`). The limit on
//! making a connection covers all its steps (`deadline`).

use std::time::Duration;

/// Until the other machine accepts the connection.
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
pub(crate) const ACCEPT_LIMIT: Duration = Duration::from_secs(5);
/// Until a connection can be used: accepted, with TLS, and let in.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Until a question about the server, its tables or its settings is answered.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) const QUESTION_LIMIT: Duration = Duration::from_secs(60);
/// Until a statement on a record is done.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) const ANSWER_LIMIT: Duration = Duration::from_secs(300);
/// The same of statements that read or change a whole table, or wait for the transactions of
/// others.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) const LONG_LIMIT: Duration = Duration::from_secs(3600);
