//! The row of MySQL and MariaDB in the table of stores: its server.

use std::path::PathBuf;

use sealstone_seal::tablespace::PageMode;
use sealstone_servers::{MARIADB_CACHE_BYTES_MIN, MARIADB_PROGRAM, MariaDbServer};
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::connection::{Mysql, MysqlOptions};
use super::function::{AES_ENCRYPT, SHA2};
use super::rest_arguments::{AES_CBC, AES_CTR, RestArguments};
use crate::at_rest::EXTENSION;
use crate::own_server::Owned;
use crate::run_key::for_functions;
use crate::server_error::address;
use crate::sql::{LabEngine, SUITED, Server, UserEngine, connections};
use crate::user_tls::{TLS_CA_FILE, TLS_CERTIFICATE_KEY_FILE};

/// Name in the table.
const NAME: &str = "mysql";
/// Options of every server that is measured: it begins with an empty cache. Of itself it would load
/// what it held before it ended, but for tables that are encrypted, and a scan from a cold cache
/// would be warmer without encryption than with it.
const MEASURED: [&str; 2] =
    ["--innodb-buffer-pool-load-at-startup=OFF", "--innodb-buffer-pool-dump-at-shutdown=OFF"];

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: NAME,
    about: "MySQL and MariaDB, with a MariaDB started on this machine",
    replicated: false,
    layers: &[Layer::Field, Layer::Wire, Layer::Server, Layer::Rest],
    rest_modes: Some(|provider| PageMode::of(provider).modes().to_vec()),
    server_rest: &[&AES_CTR, &AES_CBC],
    on_volume: cfg!(feature = "volume"),
    functions: &[&AES_ENCRYPT.function, &SHA2.function],
    device: false,
    in_memory: false,
    cache_bytes_min: MARIADB_CACHE_BYTES_MIN,
    cache_decided_by: Some(Mysql::FLAG),
    shared_by: Some(Mysql::FLAG),
    shared_by_variant: false,
    suited: SUITED,
    settings: &[
        Setting::new(
            "mariadbd",
            "FILE",
            Form::File,
            "The server program [default: SEALSTONE_MARIADBD, or mariadbd on the search path or in \
             /usr/sbin]",
        ),
        EXTENSION,
        Setting {
            excludes: &["mariadbd", EXTENSION.name],
            ..Setting::new(
                Mysql::FLAG,
                "URL",
                Form::Text,
                "Your own database instead of a server started here: \
                 mysql://USER:PASSWORD@HOST:PORT/DATABASE, with ?ssl-mode=VERIFY_IDENTITY and so \
                 on behind it, or @FILE with the address in the file",
            )
        },
        TLS_CA_FILE,
        TLS_CERTIFICATE_KEY_FILE,
    ],
    engine,
};

/// Returns a server started on this machine for each store, or the user's own.
fn engine(request: &Request) -> Result<Opened, StoreError> {
    let (keys, mut notes) = for_functions(request)?;
    if let Some(text) = request.setting(Mysql::FLAG) {
        let client = MysqlOptions {
            uri: address(text)?,
            tls_ca_file: request.file(TLS_CA_FILE.name),
            tls_certificate_key_file: request.file(TLS_CERTIFICATE_KEY_FILE.name),
        };
        let engine =
            UserEngine::new(NAME, request.joins, move || Mysql::connect(&client)).with_keys(keys);
        return Ok(Opened { engine: Box::new(engine), notes });
    }
    let program: Option<PathBuf> = Some(
        MARIADB_PROGRAM.find(request.file("mariadbd").as_deref()).map_err(StoreError::engine)?,
    );
    let (keep, connections) = (request.keep.is_some(), connections(request.clients));
    let rest = RestArguments::new(request)?;
    notes.extend(rest.note().filter(|note| !notes.contains(note)));
    let engine = LabEngine::new(NAME, move |wanted| {
        let started = sealstone_servers::MariaDbOptions {
            program: program.clone(),
            certificates: wanted.certificates,
            cache_bytes: Some(wanted.options.cache_bytes),
            sync_writes: wanted.options.sync_writes,
            arguments: [MEASURED.map(str::to_owned).to_vec(), rest.of(wanted.variant)?].concat(),
            connections,
            ..sealstone_servers::MariaDbOptions::default()
        };
        let server = MariaDbServer::start(wanted.dir, started).map_err(StoreError::engine)?;
        let reached =
            Mysql::connect(&MysqlOptions { uri: server.uri(), ..MysqlOptions::default() })?;
        Ok((reached, Box::new(Owned::new(server, keep))))
    });
    Ok(Opened { engine: Box::new(engine.with_keys(keys)), notes })
}
