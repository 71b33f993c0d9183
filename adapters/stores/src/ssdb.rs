//! SSDB, a server on disk that speaks the protocol of Redis and lacks some of its commands: its row
//! in the table of stores. Servers are the user's own, as no package has one. Not here: the
//! commands (`redis`).

use sealstone_message::SettingName;
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use crate::redis::{Dialect, RedisOptions, SUITED, UserEngine};
use crate::server_error::address;

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: "ssdb",
    about: "on a server of your own",
    replicated: false,
    layers: &[Layer::Field],
    rest_modes: None,
    server_rest: &[],
    on_volume: false,
    functions: &[],
    device: false,
    in_memory: false,
    cache_bytes_min: 0,
    cache_decided_by: Some("ssdb-url"),
    shared_by: Some("ssdb-url"),
    shared_by_variant: false,
    suited: SUITED,
    settings: &[Setting {
        name: "ssdb-url",
        value: "URL",
        help: "Your own empty server: ssdb://HOST:PORT, or @FILE with the address in the file",
        form: Form::Text,
        excludes: &[],
    }],
    engine,
};

/// Error reported when there is no server.
#[derive(Debug, thiserror::Error)]
#[error(
    "no SSDB server is named, and none can be started here: no package has it\n\
     name your own with {}",
    SettingName("ssdb-url ssdb://HOST:8888")
)]
struct NoServer;

fn engine(request: &Request) -> Result<Opened, StoreError> {
    let named = request.setting("ssdb-url").ok_or_else(|| StoreError::engine(NoServer))?;
    let client =
        RedisOptions { uri: address(named)?, dialect: Dialect::Ssdb, ..RedisOptions::default() };
    let engine = UserEngine::new(client);
    let engine = if request.joins { engine.joining() } else { engine };
    Ok(Opened { engine: Box::new(engine), notes: Vec::new() })
}
