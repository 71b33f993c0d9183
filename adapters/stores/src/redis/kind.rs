//! Redis's row in the table of stores: its servers and keys.

use sealstone_servers::{Persistence, REDIS_PROGRAM, check_redis_nodes};
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::connection::{Dialect, RedisOptions};
use super::engine::{LabEngine, LabOptions, UserEngine};
use super::error::Error;
use super::layout::Keys;
use crate::server_error::address;
use crate::user_tls::{TLS_CA_FILE, TLS_CERTIFICATE_KEY_FILE};

/// Settings that suit it, and servers that speak its protocol. A round trip takes longer than the
/// work at its end: fewer records than within this process, more clients.
pub(crate) const SUITED: &str = "workloads = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\n\
                                 records = 50000\noperations = 50000\nthreads = 8\n\
                                 rounds = 6\npairs = 3\nslice-ms = 500\n";

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: "redis",
    about: "with a server or a cluster started on this machine",
    replicated: true,
    layers: &[Layer::Field, Layer::Wire],
    rest_modes: None,
    server_rest: &[],
    on_volume: cfg!(feature = "volume"),
    functions: &[],
    device: false,
    in_memory: true,
    cache_bytes_min: 0,
    cache_decided_by: None,
    shared_by: Some("redis-url"),
    shared_by_variant: false,
    suited: SUITED,
    settings: &[
        Setting::new(
            "redis-server",
            "FILE",
            Form::File,
            "The server program [default: SEALSTONE_REDIS_SERVER, or redis-server on the search \
             path]",
        ),
        Setting {
            excludes: &["redis-server", "nodes"],
            ..Setting::new(
                "redis-url",
                "URL",
                Form::Text,
                "Your own empty server instead of one started here: redis://HOST:PORT, rediss:// \
                 for TLS, redis://HOST:PORT,HOST:PORT for a cluster, \
                 redis+sentinel://HOST:PORT/NAME, or @FILE with the address in the file",
            )
        },
        Setting::new(
            "redis-keys",
            "LAYOUT",
            Form::Text,
            "How keys are made of those of records: ycsb (user1) or go-ycsb (usertable/user1) \
             [default: ycsb]",
        ),
        Setting {
            excludes: &["redis-url"],
            ..Setting::new(
                "redis-log",
                "WHEN",
                Form::Text,
                "When its log (appendonly) is brought to the disk: always (before a write is \
                 acknowledged), everysec, or off for no log [default: always under workloads that \
                 sync, everysec where files are sealed, otherwise off]",
            )
        },
        TLS_CA_FILE,
        TLS_CERTIFICATE_KEY_FILE,
    ],
    engine,
};

/// Servers started on this machine, or the user's own.
fn engine(request: &Request) -> Result<Opened, StoreError> {
    let keys = match request.setting("redis-keys") {
        None => Keys::default(),
        Some(name) => keys(name)?,
    };
    let client = RedisOptions {
        uri: String::new(),
        keys,
        dialect: Dialect::Redis,
        tls_ca_file: request.file(TLS_CA_FILE.name),
        tls_certificate_key_file: request.file(TLS_CERTIFICATE_KEY_FILE.name),
        by_driver: request.tls,
    };
    if let Some(text) = request.setting("redis-url") {
        let engine = UserEngine::new(RedisOptions { uri: address(text)?, ..client });
        let engine = if request.joins { engine.joining() } else { engine };
        return Ok(Opened { engine: Box::new(engine), notes: Vec::new() });
    }
    let nodes = request.members;
    if let Some(step) = check_redis_nodes(nodes) {
        return Err(Error::Nodes { nodes, step }.into());
    }
    let program = Some(
        REDIS_PROGRAM.find(request.file("redis-server").as_deref()).map_err(StoreError::engine)?,
    );
    let persistence = request.setting("redis-log").map(log).transpose()?;
    let (at_rest, keep) = (request.at_rest(), request.keep.is_some());
    let options = LabOptions { program, nodes, client, persistence, at_rest, keep };
    Ok(Opened { engine: Box::new(LabEngine::new(options)), notes: Vec::new() })
}

/// Returns what a server keeps whose log is called `name`.
fn log(name: &str) -> Result<Persistence, Error> {
    let known = [
        ("always", Persistence::SyncedLog),
        ("everysec", Persistence::Log),
        ("off", Persistence::None),
    ];
    let found = known.into_iter().find(|(known, _)| *known == name).map(|(_, log)| log);
    found.ok_or_else(|| Error::Option {
        name: "redis-log",
        value: name.into(),
        known: "always, everysec or off",
    })
}

fn keys(name: &str) -> Result<Keys, Error> {
    let found = Keys::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, keys)| keys);
    found.ok_or_else(|| Error::Option {
        name: "redis-keys",
        value: name.into(),
        known: "ycsb or go-ycsb",
    })
}
