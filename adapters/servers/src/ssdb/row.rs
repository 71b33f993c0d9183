//! SSDB in the table of servers: one server.

use std::path::Path;

use super::{Kind, PROGRAM, Ssdb, SsdbOptions};
use crate::LabError;
use crate::server::{Running, Server, ServerOption, Settings};
use crate::single::{Single, SingleKind};

/// The SSDB of a lab.
pub type SsdbServer = Single<Kind>;

/// The row of SSDB.
pub static SERVER: Server = Server {
    name: Kind::ROW,
    about: "SSDB, a single server of a program of yours",
    options: &[ServerOption {
        name: "ssdb-server",
        value: "FILE",
        help: "The program, which no package has [default: SEALSTONE_SSDB_SERVER, or ssdb-server \
               on the search path]",
    }],
    program: &PROGRAM,
    fits_a_volume: true,
    check: |_, settings| PROGRAM.find(settings.path("ssdb-server")).map(drop),
    start: |dir, settings| Ok(Box::new(SsdbServer::start(dir, options(settings)?)?)),
    open: |dir| Ok(SsdbServer::open(dir)?.map(|server| Box::new(server) as Box<dyn Running>)),
};

fn options(settings: &Settings) -> Result<SsdbOptions, LabError> {
    let program = Some(PROGRAM.find(settings.path("ssdb-server"))?);
    Ok(SsdbOptions { program, ..SsdbOptions::default() })
}

impl SingleKind for Kind {
    const ROW: &'static str = "ssdb";

    fn start(dir: &Path, options: SsdbOptions) -> Result<Ssdb, LabError> {
        super::start(dir, options)
    }

    fn uri(server: &Ssdb) -> String {
        server.uri()
    }
}
