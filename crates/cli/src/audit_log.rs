//! The audit log: a line of JSON before each operation on sealed data or keys, and one with its
//! result. It is a file of this user alone, or syslog. An operation whose first line cannot be
//! written does not begin. No line has a secret, a value, or the words of an error, which a server
//! may have put a value into.
//!
//! Not here: the page of an audit (`audit`), which commands are operations (`operation`), how a
//! file is appended to (`sealstone_file::append`).

mod operation;
mod syslog;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, bail};
use jiff::Timestamp;
use nix::unistd::{Uid, User};
use sealstone_file::append::Append;
use sealstone_keys::KeyRef;
use serde::Serialize;

use crate::flags::Command;
use crate::host;
use crate::secret_words::hide_json;
use operation::Operation;
use syslog::Syslog;

/// Variable that names the log where no flag does.
pub(crate) const VARIABLE: &str = "SEALSTONE_AUDIT_LOG";
/// Name that stands for syslog.
const SYSLOG: &str = "syslog";
/// Version of a line.
const SCHEMA: u32 = 1;

/// The operation that runs; none while none is logged.
static RUNNING: Mutex<Option<Logged>> = Mutex::new(None);

/// Facts that commands find out while they run.
#[derive(Clone, Debug, Default, Serialize)]
struct Facts {
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// A line.
#[derive(Serialize)]
struct Line<'a> {
    schema: u32,
    time: String,
    event: &'static str,
    /// Number that both lines of an operation have.
    operation: &'a str,
    host: &'a str,
    user: &'a str,
    uid: u32,
    /// The user who called `sudo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sudo_user: Option<&'a str>,
    process: u32,
    program: &'static str,
    command: &'static str,
    places: &'a [String],
    #[serde(flatten)]
    facts: Facts,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<u8>,
}

/// Place that lines go to.
enum Sink {
    File(Append),
    Syslog(Syslog),
}

/// An operation of which the first line is written.
struct Logged {
    sink: Sink,
    /// Name of the log, for messages.
    name: String,
    operation: Operation,
    id: String,
    host: String,
    user: String,
    uid: u32,
    sudo_user: Option<String>,
    facts: Facts,
}

/// Writes the first line of `command`, if it is an operation and there is a log.
///
/// - `named`: the log of the flag
///
/// # Errors
/// A log that cannot be opened or written.
pub(crate) fn begin(named: Option<&str>, command: &Command) -> anyhow::Result<()> {
    let variable = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let Some(name) = named.map(OsString::from).or(variable) else { return Ok(()) };
    let Some(operation) = operation::of(command) else { return Ok(()) };
    let (what, shown) = (operation.command, Path::new(&name).display().to_string());
    let refused = || format!("{what} was not begun: audit log {shown}");
    let sink = open(&name).with_context(refused)?;
    let mut id = [0; 8];
    getrandom::fill(&mut id).map_err(std::io::Error::other).with_context(refused)?;
    let uid = Uid::effective();
    let user = User::from_uid(uid).ok().flatten();
    let mut logged = Logged {
        sink,
        name: shown.clone(),
        operation,
        id: id.iter().map(|byte| format!("{byte:02x}")).collect(),
        host: host::name(),
        user: user.map_or_else(|| uid.to_string(), |user| user.name),
        uid: uid.as_raw(),
        sudo_user: std::env::var("SUDO_USER").ok().filter(|_| uid.is_root()),
        facts: Facts::default(),
    };
    logged.write("begin", None).with_context(refused)?;
    *running() = Some(logged);
    Ok(())
}

/// Writes the last line of the operation that runs, if one is logged.
///
/// - `result`: one word, and the exit code
///
/// # Errors
/// It cannot be written.
pub(crate) fn end(result: (&'static str, u8)) -> anyhow::Result<()> {
    let Some(mut logged) = running().take() else { return Ok(()) };
    logged.write("end", Some(result)).with_context(|| {
        format!(
            "{} is over ({}), and its last line is not in audit log {}",
            logged.operation.command, result.0, logged.name
        )
    })
}

fn running() -> MutexGuard<'static, Option<Logged>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(name: &OsStr) -> anyhow::Result<Sink> {
    let text = name.to_string_lossy();
    if text == SYSLOG {
        return Ok(Sink::Syslog(Syslog::connect(None)?));
    }
    if let Some(socket) = text.strip_prefix(SYSLOG).and_then(|rest| rest.strip_prefix(':')) {
        return Ok(Sink::Syslog(Syslog::connect(Some(socket))?));
    }
    if text.contains("://") {
        bail!("it is an address\nname a file, or syslog");
    }
    Ok(Sink::File(Append::open(Path::new(name))?))
}

impl Logged {
    fn write(
        &mut self,
        event: &'static str,
        result: Option<(&'static str, u8)>,
    ) -> anyhow::Result<()> {
        let line = Line {
            schema: SCHEMA,
            time: format!("{:.3}", Timestamp::now()),
            event,
            operation: &self.id,
            host: &self.host,
            user: &self.user,
            uid: self.uid,
            sudo_user: self.sudo_user.as_deref(),
            process: std::process::id(),
            program: concat!("sealstone ", env!("CARGO_PKG_VERSION")),
            command: self.operation.command,
            places: &self.operation.places,
            facts: self.facts.clone(),
            result: result.map(|(result, _)| result),
            exit_code: result.map(|(_, code)| code),
        };
        let line = hide_json(&serde_json::to_string(&line)?);
        match &mut self.sink {
            Sink::File(file) => file.line(&line)?,
            Sink::Syslog(syslog) => syslog.send(&line)?,
        }
        Ok(())
    }
}

fn add(fact: impl FnOnce(&mut Facts)) {
    if let Some(logged) = running().as_mut() {
        fact(&mut logged.facts);
    }
}

/// Returns whether an operation is logged.
pub(crate) fn is_on() -> bool {
    running().is_some()
}

/// Records the name of the key of the operation, and its version if that is known; a later key
/// replaces an earlier one.
pub(crate) fn key(id: &str, version: Option<u32>) {
    add(|facts| (facts.key_id, facts.key_version) = (Some(id.to_owned()), version));
}

/// Records the key of the operation.
pub(crate) fn key_ref(key: &KeyRef) {
    self::key(&key.id, Some(key.version));
}

/// Records the server of a table, as messages name it.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) fn server(place: &str) {
    add(|facts| facts.server = Some(place.to_owned()));
}

/// Records the module that computes.
pub(crate) fn module(name: &str) {
    add(|facts| facts.module = Some(name.to_owned()));
}

/// Records the number of rows or records that were sealed or opened.
pub(crate) fn rows(count: u64) {
    add(|facts| facts.rows = Some(count));
}

/// Records the number of files, and of their bytes, if these are counted.
pub(crate) fn files(count: u64, bytes: Option<u64>) {
    add(|facts| (facts.files, facts.bytes) = (Some(count), bytes));
}
