//! MongoDB in the table of servers: a replica set of mongods.

use std::path::Path;

use super::replica_set::{MEMBERS_MAX, ReplicaSet};
use super::{MongodOptions, PROGRAM};
use crate::server::{MemberStatus, Running, Server, ServerOption, Settings, Standing};
use crate::{LabError, state};

/// Name in the table.
const NAME: &str = "mongodb";
/// Default number of members.
const NODES: usize = 3;
/// The least and the most that mongod takes, in gigabytes.
const CACHE_GB: std::ops::RangeInclusive<f64> = 0.25..=10_000.0;

/// The row of MongoDB.
pub static SERVER: Server = Server {
    name: NAME,
    about: "MongoDB, as a replica set",
    options: &[
        ServerOption { name: "nodes", value: "N", help: "Members, 1 to 7 [default: 3]" },
        ServerOption {
            name: "cache-gb",
            value: "GB",
            help: "Cache of each member, in gigabytes [default: 0.25, the minimum]",
        },
        ServerOption {
            name: "mongod",
            value: "FILE",
            help: "The program [default: SEALSTONE_MONGOD, the one that make test installed, or \
                   mongod]",
        },
        // settings of the storage engine: the code that seals its data writes them
        ServerOption { name: "engine-config", value: "TEXT", help: "" },
    ],
    program: &PROGRAM,
    fits_a_volume: true,
    check: |dir, settings| {
        members(settings)?;
        state::check_free(dir)
    },
    start: |dir, settings| Ok(Box::new(ReplicaSet::start(dir, &members(settings)?)?)),
    open,
};

/// Returns the options with which each member is started.
fn members(settings: &Settings) -> Result<Vec<MongodOptions>, LabError> {
    let nodes = settings.number(NAME, "nodes")?.unwrap_or(NODES);
    if !(1..=MEMBERS_MAX).contains(&nodes) {
        return Err(LabError::Members { nodes, max: MEMBERS_MAX });
    }
    let (min_gb, max_gb) = (*CACHE_GB.start(), *CACHE_GB.end());
    let cache_gb = settings.number(NAME, "cache-gb")?.unwrap_or(min_gb);
    if !CACHE_GB.contains(&cache_gb) {
        return Err(LabError::Cache { cache_gb, min_gb, max_gb });
    }
    let program = Some(PROGRAM.find(settings.path("mongod"))?);
    let engine_config = settings.get("engine-config").map(String::from);
    Ok(vec![MongodOptions { program, cache_gb, engine_config, ..MongodOptions::default() }; nodes])
}

fn open(dir: &Path) -> Result<Option<Box<dyn Running>>, LabError> {
    match ReplicaSet::open(dir) {
        Ok(set) => Ok(Some(Box::new(set))),
        Err(LabError::NoLab { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Running for ReplicaSet {
    fn pids(&mut self) -> Vec<i32> {
        Self::pids(self)
    }

    fn check_complete(&self) -> Result<(), LabError> {
        match self.is_complete() {
            true => Ok(()),
            false => Err(LabError::NotEmpty { dir: self.dir().to_owned() }),
        }
    }

    fn start_again(&mut self) -> Result<(), LabError> {
        Self::start_again(self)
    }

    fn stop(&mut self) -> Result<(), LabError> {
        Self::stop(self)
    }

    fn standing(&mut self) -> Standing {
        let members: Vec<MemberStatus> = self.status();
        Standing { server: NAME, uri: self.uri(), members }
    }

    fn leave_running(self: Box<Self>) {
        Self::leave_running(*self);
    }
}
