//! MariaDB in the table of servers: one server.

use std::path::Path;

use super::{Kind, MariaDb, MariaDbOptions, PROGRAM};
use crate::LabError;
use crate::server::{Running, Server, ServerOption, Settings};
use crate::single::{Single, SingleKind};

/// The MariaDB of a lab.
pub type MariaDbServer = Single<Kind>;

/// Setting with more arguments of the program, a line each.
const ARGUMENTS: &str = "arguments";

/// The row of MariaDB.
pub static SERVER: Server = Server {
    name: Kind::ROW,
    about: "MariaDB, a single server",
    options: &[
        ServerOption {
            name: "mariadbd",
            value: "FILE",
            help: "The program [default: SEALSTONE_MARIADBD, or mariadbd on the search path or in \
                   /usr/sbin]",
        },
        ServerOption { name: ARGUMENTS, value: "LINES", help: "" },
    ],
    program: &PROGRAM,
    fits_a_volume: true,
    check: |_, settings| PROGRAM.find(settings.path("mariadbd")).map(drop),
    start: |dir, settings| Ok(Box::new(MariaDbServer::start(dir, options(settings)?)?)),
    open: |dir| Ok(MariaDbServer::open(dir)?.map(|server| Box::new(server) as Box<dyn Running>)),
};

fn options(settings: &Settings) -> Result<MariaDbOptions, LabError> {
    let program = Some(PROGRAM.find(settings.path("mariadbd"))?);
    let arguments = settings.get(ARGUMENTS).unwrap_or_default().lines();
    let arguments = arguments.map(str::to_owned).collect();
    Ok(MariaDbOptions { program, arguments, ..MariaDbOptions::default() })
}

impl SingleKind for Kind {
    const ROW: &'static str = "mariadb";

    fn start(dir: &Path, options: MariaDbOptions) -> Result<MariaDb, LabError> {
        super::start(dir, options)
    }

    fn uri(server: &MariaDb) -> String {
        server.uri()
    }
}
