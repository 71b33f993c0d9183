//! tgt in the table of servers: one target with one unit.

use std::path::Path;

use super::{Kind, PROGRAM, Tgt, TgtOptions};
use crate::LabError;
use crate::server::{Running, Server, ServerOption, Settings};
use crate::single::{Single, SingleKind};

/// The target of a lab.
pub type TgtServer = Single<Kind>;

/// The row of tgt.
pub static SERVER: Server = Server {
    name: Kind::ROW,
    about: "tgt, an iSCSI target with one disk, which is a file",
    options: &[
        ServerOption {
            name: "disk-bytes",
            value: "N",
            help: "Size of the disk; it takes no room until it is written [default: 1073741824]",
        },
        ServerOption {
            name: "tgtd",
            value: "FILE",
            help: "The program, with tgtadm beside it [default: SEALSTONE_TGTD, or tgtd on the \
                   search path]",
        },
    ],
    program: &PROGRAM,
    fits_a_volume: true,
    check: |_, settings| options(settings).map(drop),
    start: |dir, settings| Ok(Box::new(TgtServer::start(dir, options(settings)?)?)),
    open: |dir| Ok(TgtServer::open(dir)?.map(|server| Box::new(server) as Box<dyn Running>)),
};

fn options(settings: &Settings) -> Result<TgtOptions, LabError> {
    let program = Some(PROGRAM.find(settings.path("tgtd"))?);
    let usual = TgtOptions::default();
    let bytes = settings.number(Kind::ROW, "disk-bytes")?.unwrap_or(usual.bytes);
    if !(1 << 20..=1 << 50).contains(&bytes) {
        let step = "a disk has a mebibyte to a petabyte";
        return Err(LabError::Setting {
            server: Kind::ROW,
            setting: "disk-bytes",
            value: bytes.to_string(),
            step,
        });
    }
    Ok(TgtOptions { program, bytes, ..usual })
}

impl SingleKind for Kind {
    const ROW: &'static str = "tgt";

    fn start(dir: &Path, options: TgtOptions) -> Result<Tgt, LabError> {
        super::start(dir, options)
    }

    fn uri(server: &Tgt) -> String {
        server.uri()
    }
}
