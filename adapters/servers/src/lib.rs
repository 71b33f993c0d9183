#![forbid(unsafe_code)]
//! Real servers on this machine, for tests, experiments and comparisons: each in its own directory,
//! only on 127.0.0.1, on a port that the system chose.
//!
//! - [`registry`] is the table of the servers that a [`Lab`] can run, [`server`] what a row of it
//!   is.
//! - [`Lab`] is a directory with servers in it, which one process may start and another stop.
//! - [`instance`] is one process with its record, its port and its log, whatever the server:
//!   [`mongod`], [`redis`](crate::redis), [`postgres`], [`mariadb`], [`pykmip`] and [`tgt`] say how
//!   theirs differ.
//! - [`single`] is a server that stands alone in a lab.
//! - `testing` (a feature) is what tests with them share.
//! - [`certificate`], [`log`], [`pages`], [`process`], [`ready`] and [`state`] are what servers
//!   share.
//!
//! A server is recorded with its port, its process and its options, so one process can start a lab
//! and another stop it. A process is signalled only after its command line was seen to name its
//! directory. A port is chosen again if another process takes it; a start ends when the log reports
//! that the server answers, or with an error that quotes the log. The servers of a lab are stopped
//! in the order of the table and started in reverse, since members need their key server.
//!
//! A server that must not outlive its command ends with it even if the command is killed
//! (`watchdog`).
//!
//! Not here: what a server is asked (`adapters/stores`, `sealstone-keys`), servers that others run.

pub mod certificate;
mod error;
pub mod instance;
mod lab;
pub mod log;
mod maker;
pub mod mariadb;
pub mod mongod;
pub mod pages;
pub mod postgres;
pub mod process;
mod program;
pub mod pykmip;
pub mod ready;
pub mod redis;
pub mod registry;
mod secret;
pub mod server;
pub mod single;
pub mod state;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tgt;
mod unprivileged;
mod watchdog;

pub use error::LabError;
pub use lab::{Lab, LabStanding, Listed, list};
pub use program::{Place, Program, cache_directory};
