//! Redis in the table of servers: one server, or a cluster.

use std::path::Path;

use super::cluster::{RedisServers, check_nodes};
use super::{PROGRAM, Persistence, RedisOptions};
use crate::LabError;
use crate::server::{Running, Server, ServerOption, Settings, Standing};

/// Name in the table.
const NAME: &str = "redis";

/// The row of Redis.
pub static SERVER: Server = Server {
    name: NAME,
    about: "Redis, a single server or a cluster",
    options: &[
        ServerOption {
            name: "nodes",
            value: "N",
            help: "Servers: 1, or 3 to 30 for a cluster, in which from 6 on half are replicas \
                   [default: 1]",
        },
        ServerOption {
            name: "redis-server",
            value: "FILE",
            help: "The program [default: SEALSTONE_REDIS_SERVER, or redis-server on the search \
                   path]",
        },
    ],
    program: &PROGRAM,
    fits_a_volume: true,
    check: |_, settings| {
        nodes(settings).and_then(|_| PROGRAM.find(settings.path("redis-server")).map(drop))
    },
    start: |dir, settings| {
        let program = Some(PROGRAM.find(settings.path("redis-server"))?);
        let options =
            RedisOptions { program, persistence: Persistence::Snapshot, ..RedisOptions::default() };
        Ok(Box::new(RedisServers::start(dir, nodes(settings)?, &options)?))
    },
    open: |dir| Ok(RedisServers::open(dir)?.map(|servers| Box::new(servers) as Box<dyn Running>)),
};

fn nodes(settings: &Settings) -> Result<usize, LabError> {
    let nodes = settings.number(NAME, "nodes")?.unwrap_or(1);
    match check_nodes(nodes) {
        Some(step) => Err(LabError::Setting {
            server: NAME,
            setting: "nodes",
            value: nodes.to_string(),
            step,
        }),
        None => Ok(nodes),
    }
}

impl Running for RedisServers {
    fn pids(&mut self) -> Vec<i32> {
        Self::pids(self)
    }

    fn check_complete(&self) -> Result<(), LabError> {
        match self.is_complete() {
            true => Ok(()),
            false => Err(LabError::NotEmpty { dir: Path::to_owned(self.dir()) }),
        }
    }

    fn start_again(&mut self) -> Result<(), LabError> {
        Self::start_again(self)
    }

    fn stop(&mut self) -> Result<(), LabError> {
        Self::stop(self)
    }

    fn standing(&mut self) -> Standing {
        Standing { server: NAME, uri: self.uri(), members: self.status() }
    }

    fn leave_running(self: Box<Self>) {
        Self::leave_running(*self);
    }
}
