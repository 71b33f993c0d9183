//! SSDB, a server on disk that speaks the protocol of Redis and lacks some of its commands: its row
//! in the table of stores. No package has it, so a server is the user's own, or started here from a
//! program of theirs. Not here: the commands (`redis`), the server (`sealstone-servers`).

use std::path::{Path, PathBuf};

use sealstone_servers::{SSDB_PROGRAM, SsdbOptions, SsdbServer};
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Engine, EngineFacts, Layer, OpenStore, StoreError, StoreOptions, Variant};

use crate::own_server::Owned;
use crate::redis::{Dialect, Error, Redis, RedisOptions, SUITED, UserEngine};
use crate::server_error::address;
use crate::server_facts::ServerFacts;

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: "ssdb",
    about: "with a server of a program of yours, or on your own server",
    replicated: false,
    layers: &[Layer::Field],
    rest_modes: None,
    server_rest: &[],
    on_volume: cfg!(feature = "volume"),
    functions: &[],
    device: false,
    in_memory: false,
    cache_bytes_min: 1 << 20,
    cache_decided_by: Some("ssdb-url"),
    shared_by: Some("ssdb-url"),
    shared_by_variant: false,
    suited: SUITED,
    settings: &[
        Setting::new(
            "ssdb-server",
            "FILE",
            Form::File,
            "The server program, which no package has [default: SEALSTONE_SSDB_SERVER, or \
             ssdb-server on the search path]",
        ),
        Setting {
            excludes: &["ssdb-server"],
            ..Setting::new(
                "ssdb-url",
                "URL",
                Form::Text,
                "Your own empty server instead of one started here: ssdb://HOST:PORT, or @FILE \
                 with the address in the file",
            )
        },
    ],
    engine,
};

fn engine(request: &Request) -> Result<Opened, StoreError> {
    let Some(named) = request.setting("ssdb-url") else {
        let program = SSDB_PROGRAM
            .find(request.file("ssdb-server").as_deref())
            .map_err(StoreError::engine)?;
        let (keep, facts) = (request.keep.is_some(), ServerFacts::new(KIND.name));
        return Ok(Opened {
            engine: Box::new(LabEngine { program, keep, facts }),
            notes: Vec::new(),
        });
    };
    let client = RedisOptions { uri: address(named)?, ..client() };
    let engine = UserEngine::new(client);
    let engine = if request.joins { engine.joining() } else { engine };
    Ok(Opened { engine: Box::new(engine), notes: Vec::new() })
}

/// Returns the settings of a client, without an address.
fn client() -> RedisOptions {
    RedisOptions { dialect: Dialect::Ssdb, ..RedisOptions::default() }
}

/// Starts a server for every store that is opened, and ends it with the store.
#[derive(Debug)]
struct LabEngine {
    program: PathBuf,
    /// True if the data of the servers are kept.
    keep: bool,
    facts: ServerFacts,
}

impl Engine for LabEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = self.facts.get();
        let mut add =
            |name: &str, value: &str| drop(facts.settings.insert(name.into(), value.into()));
        add(
            "servers",
            "on this machine, separate ones for each variant, all at once; settings as in the file \
             that comes with SSDB (a log for replicas, Snappy), but for the cache and the level of \
             the log",
        );
        add("cache", "LevelDB's, of the comparison's size; the system caches its files, too");
        facts
    }

    fn open(
        &self,
        _variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        if options.sync_writes {
            return Err(Error::SsdbNotSynced.into());
        }
        let started = SsdbOptions {
            program: Some(self.program.clone()),
            cache_bytes: options.cache_bytes,
            ..SsdbOptions::default()
        };
        let server = SsdbServer::start(dir, started).map_err(StoreError::engine)?;
        let reached = Redis::connect(&RedisOptions { uri: server.uri(), ..client() })?;
        self.facts.learn(|| reached.facts());
        let store = reached.open_store(options);
        Ok(OpenStore::records(store.with(Box::new(Owned::new(server, self.keep)))))
    }
}
