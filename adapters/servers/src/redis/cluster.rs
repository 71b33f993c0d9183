//! The Redis of a lab: a single server, or a cluster of them, made, awaited, found again.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::Flock;
use serde::{Deserialize, Serialize};

use super::{Redis, RedisOptions, admin};
use crate::server::MemberStatus;
use crate::{LabError, directory, readiness, state};

/// Most nodes of a lab.
pub(crate) const NODES_MAX: usize = 30;
/// The least that a cluster needs to have a majority when one is lost.
const PRIMARIES_MIN: usize = 3;
/// From how many nodes on half of them are replicas.
const REPLICAS_FROM: usize = 2 * PRIMARIES_MIN;
/// Hash slots of a cluster.
const SLOTS: usize = 16_384;
/// Time that a node may be silent until it is considered dead, in milliseconds.
const NODE_TIMEOUT_MS: u32 = 5_000;
/// Directory of the servers within that of the lab, and what it records.
const DIRECTORY: &str = "lab.redis";
const STATE_FILE: &str = "servers.toml";
/// Interval between checks of whether a cluster is where it should be, and the time that this may
/// take.
const POLL: Duration = Duration::from_millis(50);
const READY_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// True if it was ever complete.
    complete: bool,
    /// Directories of the nodes, within this one.
    nodes: Vec<String>,
}

/// Redis servers on 127.0.0.1: one alone, or a cluster. They end with the value, unless
/// [`RedisServers::leave_running`] was called.
#[derive(Debug)]
pub struct RedisServers {
    dir: PathBuf,
    nodes: Vec<Redis>,
    complete: bool,
    _lock: Flock<File>,
}

/// Returns the problem with a lab of `nodes` servers; `None` if there is none.
#[must_use]
pub fn check_nodes(nodes: usize) -> Option<&'static str> {
    let is_possible = nodes == 1 || (PRIMARIES_MIN..=NODES_MAX).contains(&nodes);
    (!is_possible).then_some(
        "choose 1 for a single server, or 3 to 30 for a cluster; from 6 on half of them \
         are replicas",
    )
}

/// Returns how many of `nodes` servers are primaries.
fn primaries(nodes: usize) -> usize {
    if nodes < REPLICAS_FROM { nodes } else { nodes.div_ceil(2) }
}

impl RedisServers {
    /// Starts new servers in `lab`, the directory of a lab, which is created if it does not exist,
    /// and waits until they serve.
    ///
    /// - `nodes`: 1 for a single server; 3 to 30 for a cluster, in which from 6 on half are
    ///   replicas
    /// - `options`: how each is started; port and membership in it are replaced
    ///
    /// # Errors
    /// [`LabError::Setting`] for another number of nodes; a directory with Redis in it, or in use;
    /// a server that does not start, with what it printed. No process is left behind.
    pub fn start(lab: &Path, nodes: usize, options: &RedisOptions) -> Result<Self, LabError> {
        if let Some(step) = check_nodes(nodes) {
            return Err(LabError::Setting {
                server: "redis",
                setting: "nodes",
                value: nodes.to_string(),
                step,
            });
        }
        directory::make(lab, directory::USUAL)?;
        // stored data may be anybody's records
        let dir = directory::made(&lab.join(DIRECTORY), directory::PRIVATE)?;
        let lock = state::lock(&dir)?;
        if dir.join(STATE_FILE).exists() {
            return Err(LabError::NotEmpty { dir });
        }
        let mut servers = Self { dir, nodes: Vec::new(), complete: false, _lock: lock };
        let names: Vec<String> = (1..=nodes).map(|number| format!("node-{number}")).collect();
        // named before they run, so that a process that stops the lab finds them
        servers.save(&names)?;
        let mut options = RedisOptions { port: None, cluster: nodes > 1, ..options.clone() };
        if options.cluster {
            let timeout = ["--cluster-node-timeout".into(), NODE_TIMEOUT_MS.to_string()];
            options.arguments.splice(0..0, timeout);
        }
        for name in &names {
            servers.nodes.push(super::start(&servers.dir.join(name), options.clone())?);
        }
        if options.cluster {
            servers.join()?;
        }
        servers.complete = true;
        servers.save(&names)?;
        Ok(servers)
    }

    /// Takes over the servers of the lab in `lab` that another process started, whether they run or
    /// not; `None` where the lab has none. They end with the value.
    ///
    /// # Errors
    /// [`LabError::InUse`], [`LabError::BadState`].
    pub fn open(lab: &Path) -> Result<Option<Self>, LabError> {
        let Ok(dir) = lab.join(DIRECTORY).canonicalize() else { return Ok(None) };
        let path = dir.join(STATE_FILE);
        let Some(state) = state::read::<State>(&path)? else { return Ok(None) };
        let lock = state::lock(&dir)?;
        let mut servers = Self { dir, nodes: Vec::new(), complete: state.complete, _lock: lock };
        for name in state.nodes {
            if let Err(error) = state::check_member(&path, &name) {
                servers.nodes.drain(..).for_each(Redis::leave_running);
                return Err(error);
            }
            match Redis::find(&servers.dir.join(&name)) {
                Ok(Some(server)) => servers.nodes.push(server),
                // one that never came so far as to be started
                Ok(None) | Err(LabError::Io { .. }) => {}
                Err(error) => {
                    servers.nodes.drain(..).for_each(Redis::leave_running);
                    return Err(error);
                }
            }
        }
        Ok(Some(servers))
    }

    /// Gives the primaries their slots, has all nodes meet, gives every primary its replicas, and
    /// waits until all is in place.
    fn join(&mut self) -> Result<(), LabError> {
        let primaries = primaries(self.nodes.len());
        let bound = |at: usize| at * SLOTS / primaries;
        let cluster = || redis::cmd("CLUSTER");
        for (at, node) in self.nodes.iter().enumerate().take(primaries) {
            let (first, last) = (bound(at), bound(at + 1) - 1);
            let slots = cluster().arg("ADDSLOTSRANGE").arg(first).arg(last).take();
            admin::run::<()>(node, "give hash slots to the node", &slots)?;
            let epoch = cluster().arg("SET-CONFIG-EPOCH").arg(at + 1).take();
            admin::run::<()>(node, "number the node", &epoch)?;
        }
        let (first, others) = self.nodes.split_first().expect("a cluster has nodes");
        for node in others {
            let meet =
                cluster().arg("MEET").arg("127.0.0.1").arg(node.port()).arg(node.bus_port()).take();
            admin::run::<()>(first, "have the nodes of the cluster meet", &meet)?;
        }
        self.wait("get to know each other", |servers| {
            let all_known = |node: &Redis| {
                let seen = admin::nodes(node);
                seen.len() == servers.nodes.len() && seen.values().all(|seen| !seen.is_missing)
            };
            servers.nodes.iter().all(all_known)
        })?;
        let seen = admin::nodes(&self.nodes[0]);
        for at in primaries..self.nodes.len() {
            let primary = self.nodes[at - primaries].port();
            let id = seen.get(&primary).map(|seen| seen.id.as_str()).unwrap_or_default();
            let replicate = cluster().arg("REPLICATE").arg(id).take();
            admin::run::<()>(&self.nodes[at], "make the node a replica", &replicate)?;
        }
        self.wait_until_ready()
    }

    /// Waits until every node finds the cluster in order, and every replica has its data.
    fn wait_until_ready(&mut self) -> Result<(), LabError> {
        let replicas = self.nodes.len() - primaries(self.nodes.len());
        self.wait("become ready", |servers| {
            servers.nodes.iter().all(|node| {
                let seen = admin::nodes(node);
                admin::cluster_info(node).get("cluster_state").is_some_and(|state| state == "ok")
                    && seen.values().filter(|seen| seen.is_replica).count() == replicas
                    && seen
                        .get(&node.port())
                        .is_some_and(|own| !own.is_replica || admin::is_linked(node))
            })
        })
    }

    fn wait(
        &mut self,
        attempt: &'static str,
        mut is_there: impl FnMut(&Self) -> bool,
    ) -> Result<(), LabError> {
        let ended =
            |servers: &mut Self| servers.nodes.iter_mut().position(|node| !node.is_running());
        let found = readiness::wait(READY_LIMIT, POLL, || match ended(self) {
            Some(at) => Some(Err(at)),
            None => is_there(self).then_some(Ok(())),
        });
        match found {
            Some(Ok(())) => Ok(()),
            Some(Err(at)) => {
                let node = &self.nodes[at];
                let (dir, said, log) = (node.dir().to_owned(), node.said(), node.log_path());
                Err(LabError::Start {
                    server: "redis-server",
                    dir,
                    found: "it ended".into(),
                    said,
                    log,
                })
            }
            None => Err(LabError::ClusterNotInTime {
                attempt,
                dir: self.dir.clone(),
                limit_s: READY_LIMIT.as_secs(),
            }),
        }
    }

    /// Starts every server that has ended, with its data and on its port, and waits as
    /// [`RedisServers::start`] does.
    ///
    /// # Errors
    /// As [`RedisServers::start`].
    pub fn start_again(&mut self) -> Result<(), LabError> {
        self.nodes.iter_mut().try_for_each(Redis::start_again)?;
        if self.is_cluster() { self.wait_until_ready() } else { Ok(()) }
    }

    /// Requests every server to end, and waits until it has.
    ///
    /// # Errors
    /// [`LabError::Stop`]; the others have ended.
    pub fn stop(&mut self) -> Result<(), LabError> {
        let mut outcome = Ok(());
        for node in &mut self.nodes {
            outcome = outcome.and(node.stop());
        }
        outcome
    }

    /// Lets all servers run on after this process has ended; [`RedisServers::open`] finds them
    /// again.
    pub fn leave_running(mut self) {
        self.nodes.drain(..).for_each(Redis::leave_running);
    }

    /// Returns whether it was ever complete; if not, it cannot be started again.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns whether they are a cluster.
    #[must_use]
    pub fn is_cluster(&self) -> bool {
        self.nodes.len() > 1
    }

    /// Returns the servers: in a cluster with replicas the first half are the original primaries.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// Returns server number `at`, to end it or to start it again.
    pub fn node_mut(&mut self, at: usize) -> &mut Redis {
        &mut self.nodes[at]
    }

    /// Returns the directory of the servers, `lab.redis` in that of the lab.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Address for clients: all nodes, `redis://HOST:PORT,HOST:PORT`.
    #[must_use]
    pub fn uri(&self) -> String {
        let tls = self.nodes.iter().any(|node| node.options().certificates.is_some());
        let hosts: Vec<String> = self.nodes.iter().map(Redis::address).collect();
        format!("{}://{}", if tls { "rediss" } else { "redis" }, hosts.join(","))
    }

    /// Returns the processes that run.
    pub fn pids(&mut self) -> Vec<i32> {
        self.nodes.iter_mut().filter_map(Redis::pid).collect()
    }

    /// Returns the data directories, node by node.
    #[must_use]
    pub fn data_dirs(&self) -> Vec<PathBuf> {
        self.nodes.iter().map(Redis::data_dir).collect()
    }

    /// Returns the state of each server.
    pub fn status(&mut self) -> Vec<MemberStatus> {
        let is_cluster = self.is_cluster();
        let status = |node: &mut Redis| {
            let pid = node.pid();
            let own = |node: &Redis| {
                if !is_cluster {
                    return ("up", true);
                }
                let ok = admin::cluster_info(node)
                    .get("cluster_state")
                    .is_some_and(|state| state == "ok");
                match admin::nodes(node).get(&node.port()) {
                    Some(own) if own.is_replica => ("replica", ok),
                    Some(_) => ("primary", ok),
                    None => ("unknown", false),
                }
            };
            let (state, serves) = if pid.is_some() { own(node) } else { ("down", false) };
            let (address, data_dir) = (node.address(), node.data_dir());
            MemberStatus { address, pid, state: state.into(), serves, data_dir }
        };
        self.nodes.iter_mut().map(status).collect()
    }

    fn save(&self, nodes: &[String]) -> Result<(), LabError> {
        let state = State { complete: self.complete, nodes: nodes.to_vec() };
        state::write(&self.dir.join(STATE_FILE), &state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_six_nodes_on_half_are_replicas() {
        let all = [(1, 1), (3, 3), (5, 5), (6, 3), (7, 4), (12, 6)];
        all.into_iter().for_each(|(nodes, wanted)| assert_eq!(primaries(nodes), wanted, "{nodes}"));
        assert!([1, 3, 6, NODES_MAX].into_iter().all(|nodes| check_nodes(nodes).is_none()));
        assert!([0, 2, NODES_MAX + 1].into_iter().all(|nodes| check_nodes(nodes).is_some()));
    }
}
