//! Commands to one server of a lab, and its report of the cluster's nodes.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use redis::{
    Client, Cmd, ConnectionAddr, FromRedisValue, IntoConnectionInfo, RedisConnectionInfo,
    RedisResult, TlsCertificates,
};

use super::Redis;
use crate::LabError;

/// Time that a server of this machine may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// A node as another one sees it.
#[derive(Debug)]
pub(super) struct Seen {
    /// Its name within the cluster.
    pub(super) id: String,
    /// True if it is a replica.
    pub(super) is_replica: bool,
    /// True if it is considered dead, or not fully known yet.
    pub(super) is_missing: bool,
}

/// Runs `command` on `server`.
///
/// # Errors
/// [`LabError::Command`].
pub(super) fn run<T: FromRedisValue>(
    server: &Redis,
    attempt: &'static str,
    command: &Cmd,
) -> Result<T, LabError> {
    ask(server, command).map_err(|error| LabError::Command {
        attempt,
        port: server.port(),
        found: error.to_string(),
        log: server.log_path(),
    })
}

fn ask<T: FromRedisValue>(server: &Redis, command: &Cmd) -> RedisResult<T> {
    let (host, port) = ("127.0.0.1".into(), server.port());
    let certificates = server.options().certificates.as_deref();
    let address = match certificates {
        Some(_) => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
        None => ConnectionAddr::Tcp(host, port),
    };
    let mut settings = RedisConnectionInfo::default();
    if let Some(password) = &server.options().password {
        settings = settings.set_password(password.as_str());
    }
    let info = address.into_connection_info()?.set_redis_settings(settings);
    let client = match certificates {
        Some(dir) => {
            let root_cert = Some(fs::read(dir.join("ca.pem"))?);
            Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })?
        }
        None => Client::open(info)?,
    };
    let mut connection = client.get_connection_with_timeout(ANSWER_LIMIT)?;
    connection.set_read_timeout(Some(ANSWER_LIMIT))?;
    command.query(&mut connection)
}

/// Returns what `server` reports about its cluster, by name: `cluster_state` …; nothing if it does
/// not answer.
pub(super) fn cluster_info(server: &Redis) -> HashMap<String, String> {
    let text: String = ask(server, redis::cmd("CLUSTER").arg("INFO")).unwrap_or_default();
    pairs(&text)
}

/// Returns whether `server`, a replica, has everything that its primary had when the replica
/// joined.
pub(super) fn is_linked(server: &Redis) -> bool {
    let text: String = ask(server, redis::cmd("INFO").arg("replication")).unwrap_or_default();
    pairs(&text).get("master_link_status").is_some_and(|status| status == "up")
}

fn pairs(text: &str) -> HashMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.trim().split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the nodes known to `server`, by port; nothing if it does not answer.
pub(super) fn nodes(server: &Redis) -> HashMap<u16, Seen> {
    let text: String = ask(server, redis::cmd("CLUSTER").arg("NODES")).unwrap_or_default();
    text.lines().filter_map(node).collect()
}

/// Parses `ID HOST:PORT@BUS[,NAME] FLAGS PRIMARY …`
fn node(line: &str) -> Option<(u16, Seen)> {
    let mut words = line.split(' ');
    let id = words.next()?.to_owned();
    let port = words.next()?.split('@').next()?.rsplit_once(':')?.1.parse().ok()?;
    let flags: Vec<&str> = words.next()?.split(',').collect();
    let has = |flag: &str| flags.contains(&flag);
    let is_missing = has("fail") || has("fail?") || has("handshake") || has("noaddr");
    Some((port, Seen { id, is_replica: has("slave"), is_missing }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_of_nodes_is_read() {
        let line = "07c37d 127.0.0.1:30004@31004,hostname4 slave,fail? e7d1eec 0 1426238317239 4 \
                    connected";
        let (port, seen) = node(line).unwrap();
        assert_eq!(
            (port, seen.id.as_str(), seen.is_replica, seen.is_missing),
            (30004, "07c37d", true, true)
        );
        let (port, seen) =
            node("e7d1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460").unwrap();
        assert!(port == 30001 && !seen.is_replica && !seen.is_missing);
        assert!(node("").is_none());
    }
}
