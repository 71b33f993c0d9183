//! PostgreSQL's row in the table of stores: its server.

use std::path::PathBuf;

use sealstone_servers::{POSTGRES_PROGRAM, PostgresServer};
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::connection::{Postgres, PostgresOptions};
use super::function::PGP_SYM_ENCRYPT;
use crate::own_server::Owned;
use crate::run_key::for_functions;
use crate::server_error::address;
use crate::sql::{LabEngine, SUITED, Server, UserEngine, connections};
use crate::user_tls::{TLS_CA_FILE, TLS_CERTIFICATE_KEY_FILE};

/// Name in the table.
const NAME: &str = "postgres";

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: NAME,
    about: "PostgreSQL, with a server started on this machine",
    replicated: false,
    layers: &[Layer::Field, Layer::Wire, Layer::Server],
    rest_modes: None,
    server_rest: &[],
    on_volume: cfg!(feature = "volume"),
    functions: &[&PGP_SYM_ENCRYPT.function],
    device: false,
    in_memory: false,
    // the least that it takes is far below what holds its own catalogue
    cache_bytes_min: 1 << 20,
    cache_decided_by: Some(Postgres::FLAG),
    shared_by: Some(Postgres::FLAG),
    shared_by_variant: false,
    suited: SUITED,
    settings: &[
        Setting::new(
            "postgres",
            "FILE",
            Form::File,
            "The server program, with initdb beside it [default: SEALSTONE_POSTGRES, or postgres \
             on the search path or in /usr/lib/postgresql]",
        ),
        Setting {
            excludes: &["postgres"],
            ..Setting::new(
                Postgres::FLAG,
                "URL",
                Form::Text,
                "Your own database instead of a server started here: \
                 postgres://USER:PASSWORD@HOST:PORT/DATABASE, with ?sslmode=verify-full and so on \
                 behind it, or @FILE with the address in the file",
            )
        },
        TLS_CA_FILE,
        TLS_CERTIFICATE_KEY_FILE,
    ],
    engine,
};

/// Returns a server started on this machine for each store, or the user's own.
fn engine(request: &Request) -> Result<Opened, StoreError> {
    let (keys, notes) = for_functions(request)?;
    if let Some(text) = request.setting(Postgres::FLAG) {
        let client = PostgresOptions {
            uri: address(text)?,
            tls_ca_file: request.file(TLS_CA_FILE.name),
            tls_certificate_key_file: request.file(TLS_CERTIFICATE_KEY_FILE.name),
            may_lag: false,
        };
        let engine = UserEngine::new(NAME, request.joins, move || Postgres::connect(&client))
            .with_keys(keys);
        return Ok(Opened { engine: Box::new(engine), notes });
    }
    let program: Option<PathBuf> = Some(
        POSTGRES_PROGRAM.find(request.file("postgres").as_deref()).map_err(StoreError::engine)?,
    );
    let (keep, connections) = (request.keep.is_some(), connections(request.clients));
    let engine = LabEngine::new(NAME, move |wanted| {
        let started = sealstone_servers::PostgresOptions {
            program: program.clone(),
            certificates: wanted.certificates,
            cache_bytes: Some(wanted.options.cache_bytes),
            connections,
            ..sealstone_servers::PostgresOptions::default()
        };
        let server = PostgresServer::start(wanted.dir, started).map_err(StoreError::engine)?;
        let client =
            PostgresOptions { uri: server.uri(), may_lag: true, ..PostgresOptions::default() };
        let reached = Postgres::connect(&client)?;
        Ok((reached, Box::new(Owned::new(server, keep))))
    });
    Ok(Opened { engine: Box::new(engine.with_keys(keys)), notes })
}
