//! PostgreSQL in the table of servers: one server.

use std::path::Path;

use super::{Kind, PROGRAM, Postgres, PostgresOptions};
use crate::LabError;
use crate::server::{Running, Server, ServerOption, Settings};
use crate::single::{Single, SingleKind};

/// The PostgreSQL of a lab.
pub type PostgresServer = Single<Kind>;

/// The row of PostgreSQL.
pub static SERVER: Server = Server {
    name: Kind::ROW,
    about: "PostgreSQL, a single server",
    options: &[ServerOption {
        name: "postgres",
        value: "FILE",
        help: "The program, with initdb beside it [default: SEALSTONE_POSTGRES, or postgres on the \
               search path or in /usr/lib/postgresql]",
    }],
    program: &PROGRAM,
    fits_a_volume: true,
    check: |_, settings| PROGRAM.find(settings.path("postgres")).map(drop),
    start: |dir, settings| Ok(Box::new(PostgresServer::start(dir, options(settings)?)?)),
    open: |dir| Ok(PostgresServer::open(dir)?.map(|server| Box::new(server) as Box<dyn Running>)),
};

fn options(settings: &Settings) -> Result<PostgresOptions, LabError> {
    let program = Some(PROGRAM.find(settings.path("postgres"))?);
    Ok(PostgresOptions { program, ..PostgresOptions::default() })
}

impl SingleKind for Kind {
    const ROW: &'static str = "postgres";

    fn start(dir: &Path, options: PostgresOptions) -> Result<Postgres, LabError> {
        super::start(dir, options)
    }

    fn uri(server: &Postgres) -> String {
        server.uri()
    }
}
