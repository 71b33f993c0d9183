//! Commands to one server of a lab.

use std::path::PathBuf;
use std::time::Duration;

use mongodb::bson::{Bson, Document, doc};
use mongodb::options::{ClientOptions, ServerAddress, Tls, TlsOptions};
use mongodb::sync::Client;

use super::Mongod;
use crate::LabError;

/// Time that a server of this machine may take to be found.
const FIND_LIMIT: Duration = Duration::from_secs(10);

/// Runs `command` on the database `admin` of `server`.
///
/// # Errors
/// [`LabError::Command`].
pub(super) fn run(
    server: &Mongod,
    attempt: &'static str,
    command: Document,
) -> Result<Document, LabError> {
    connect(server)
        .and_then(|client| client.database("admin").run_command(command).run())
        .map_err(|error| failure(server, attempt, &error))
}

fn connect(server: &Mongod) -> mongodb::error::Result<Client> {
    let address = ServerAddress::Tcp { host: "127.0.0.1".into(), port: Some(server.port()) };
    let certificates = server.options().certificates.as_ref();
    let checked = |dir: &PathBuf| {
        Tls::Enabled(TlsOptions::builder().ca_file_path(dir.join("ca.pem")).build())
    };
    let options = ClientOptions::builder()
        .hosts(vec![address])
        .direct_connection(true)
        .server_selection_timeout(FIND_LIMIT)
        .connect_timeout(FIND_LIMIT)
        .tls(certificates.map(checked))
        .build();
    Client::with_options(options)
}

fn failure(server: &Mongod, attempt: &'static str, error: &mongodb::error::Error) -> LabError {
    let found = error.to_string();
    LabError::Command { attempt, port: server.port(), found, log: server.log_path() }
}

/// Returns the configuration of the replica set, from `server`.
///
/// # Errors
/// As [`run`].
pub(super) fn configuration(server: &Mongod) -> Result<Document, LabError> {
    let attempt = "read the replica set's configuration";
    let answer = run(server, attempt, doc! { "replSetGetConfig": 1 })?;
    answer.get_document("config").cloned().map_err(|error| LabError::Command {
        attempt,
        port: server.port(),
        found: error.to_string(),
        log: server.log_path(),
    })
}

/// Returns the state of the replica set as `server` reports it; `None` if it does not answer, or is
/// in none yet.
pub(super) fn status(server: &Mongod) -> Option<Document> {
    run(server, "read the replica set's state", doc! { "replSetGetStatus": 1 }).ok()
}

/// Returns the number `name` of what a server answered, of whichever type it sent; `None` if there
/// is none.
#[must_use]
pub fn number(document: &Document, name: &str) -> Option<i64> {
    match document.get(name)? {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        Bson::Double(number) => Some(*number as i64),
        _ => None,
    }
}
