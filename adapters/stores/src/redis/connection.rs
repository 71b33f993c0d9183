//! Running servers: their kind, connections to them, and operations that survive a failover.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use redis::cluster::ClusterClient;
use redis::io::tcp::TcpSettings;
use redis::sentinel::{SentinelClient, SentinelNodeConnectionInfo, SentinelServerType};
use redis::{
    Client, ClientTlsConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue,
    IntoConnectionInfo, RedisConnectionInfo, RedisError, RedisResult, ServerErrorKind,
    TlsCertificates, TlsMode, Value,
};
use sealstone_store::EngineFacts;

use super::address::Address;
use super::error::{Error, Route};
use super::layout::{Keys, bytes};
use super::links::{Link, Links};
use super::resp::Resp;
use crate::deadline::within;
use crate::server_error::{Place, ServerError};
use crate::time_limits::{ACCEPT_LIMIT, CONNECT_LIMIT};

/// Time that a server may take to answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Time for which an operation is tried again while another node takes over: longer than that
/// takes.
const FAILOVER_LIMIT: Duration = Duration::from_secs(30);
/// Pause before it is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of times that the client of a cluster follows a slot that moves before it queries the
/// nodes again.
const REDIRECTS: u32 = 4;

/// Settings of the connection to the servers.
#[derive(Clone, Default)]
pub struct RedisOptions {
    /// `redis://…`, `rediss://…`, several hosts of a cluster, or `redis+sentinel://…`.
    pub uri: String,
    /// Scheme by which keys are made from the keys of records.
    pub keys: Keys,
    /// Command set of the server.
    pub dialect: Dialect,
    /// File with the authorities that the server's certificate is checked with; without it the
    /// system's.
    pub tls_ca_file: Option<PathBuf>,
    /// File with certificate and key of the client.
    pub tls_certificate_key_file: Option<PathBuf>,
    /// True if the crate `redis` also makes the connections without TLS, like the connections with
    /// TLS, so that only TLS differs between the two.
    pub by_driver: bool,
}

// the address may contain a password
impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = Address::parse(&self.uri).map(|address| address.shown()).unwrap_or_default();
        f.debug_struct("RedisOptions")
            .field("at", &shown)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// Command set of a server, as far as servers differ in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Redis and compatible servers.
    #[default]
    Redis,
    /// SSDB: the commands of old Redis, with some additions.
    Ssdb,
}

impl Dialect {
    /// As in results, and as in messages.
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Redis => ("redis", "Redis"),
            Self::Ssdb => ("ssdb", "SSDB"),
        }
    }

    /// Returns the setting of a comparison that names a server of the user's own.
    pub(super) fn url_setting(self) -> &'static str {
        match self {
            Self::Redis => "redis-url",
            Self::Ssdb => "ssdb-url",
        }
    }
}

/// Arrangement of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A single server.
    Single,
    /// A primary that sentinels name.
    Sentinel,
    /// A cluster.
    Cluster,
}

/// Servers that run. Each thread that uses a store on them has its own connection.
#[derive(Clone)]
pub struct Redis {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    dial: Dial,
    pub(super) route: Route,
    pub(super) topology: Topology,
    pub(super) keys: Keys,
    pub(super) dialect: Dialect,
    version: String,
}

/// Parameters for making connections.
#[derive(Clone)]
struct Dial {
    address: Address,
    certificates: Option<TlsCertificates>,
    by_driver: bool,
    is_cluster: bool,
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Inner { route, topology, version, .. } = &*self.inner;
        let mut shown = f.debug_struct("Redis");
        shown
            .field("at", &route.place.shown)
            .field("topology", topology)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

impl Redis {
    /// Connects, and queries the server's kind: a single address of a cluster's node is enough.
    ///
    /// # Errors
    /// [`ServerError::Address`], [`ServerError::File`], [`Error::NoCluster`];
    /// [`ServerError::Failed`] after 10 s for each host at the latest.
    pub fn connect(options: &RedisOptions) -> Result<Self, Error> {
        let address = Address::parse(&options.uri)?;
        let server = options.dialect.names().1;
        let (shown, tls) = (address.shown(), address.tls);
        let route = Route { place: Place { server, shown }, tls, limit_s: CONNECT_LIMIT.as_secs() };
        let (keys, dialect) = (options.keys, options.dialect);
        let topology =
            if address.sentinel.is_some() { Topology::Sentinel } else { Topology::Single };
        let certificates = certificates(options)?;
        let version = "unknown".into();
        let dial = Dial { address, certificates, by_driver: options.by_driver, is_cluster: false };
        let mut inner = Inner { dial, route, topology, keys, dialect, version };
        let mut question = redis::cmd("INFO");
        if dialect == Dialect::Redis {
            question.arg("server");
        }
        let told = inner.dial.in_time(move |dial| dial.first_link()?.ask(&question));
        let told = told.map_err(|error| inner.route.unconnected(&error))?;
        let facts = pairs(&told);
        let fact = |names: [&str; 2]| names.into_iter().find_map(|name| facts.get(name).cloned());
        if let Some(version) = fact(["redis_version", "version"]) {
            inner.version = version;
        }
        if facts.get("redis_mode").is_some_and(|mode| mode == "cluster") {
            inner.topology = Topology::Cluster;
            inner.dial.is_cluster = true;
        } else if inner.dial.address.hosts.len() > 1 && topology != Topology::Sentinel {
            return Err(Error::NoCluster { shown: inner.route.place.shown });
        }
        inner.route.limit_s = ANSWER_LIMIT.as_secs();
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns how the servers are arranged.
    #[must_use]
    pub fn topology(&self) -> Topology {
        self.inner.topology
    }

    /// Returns a description of the servers, with the settings that matter to a reader of a report.
    #[must_use]
    pub fn facts(&self) -> EngineFacts {
        let Inner { topology, version, dialect, .. } = &*self.inner;
        let mut settings = BTreeMap::new();
        let mut add = |name: &str, value: String| drop(settings.insert(name.to_owned(), value));
        add("topology", format!("{topology:?}").to_lowercase());
        if *dialect == Dialect::Redis {
            for name in ["appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy"] {
                add(name, self.setting(name).unwrap_or_else(|| "unknown".into()));
            }
            add("size on disk", "that of the data set in memory, where all of it is".into());
        }
        add("records", "a hash for each, as YCSB's Redis binding".into());
        add(
            "scans",
            "by the index _indices, in the order of the keys' hashes, as YCSB's Redis binding"
                .into(),
        );
        EngineFacts {
            name: dialect.names().0.into(),
            version: version.clone(),
            build: "server".into(),
            assertions: false,
            settings,
        }
    }

    /// Returns the server's setting `name`; `None` if it may not be read.
    pub(super) fn setting(&self, name: &str) -> Option<String> {
        let link = self.inner.dial.in_time(|dial| dial.first_link());
        let answer = link.and_then(|mut link| link.ask(redis::cmd("CONFIG").arg("GET").arg(name)));
        <(String, String)>::from_redis_value(answer.ok()?).ok().map(|(_, value)| value)
    }

    /// Returns whether the servers hold any key.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    pub fn holds_keys(&self) -> Result<bool, ServerError> {
        let command = match self.inner.dialect {
            Dialect::Redis => redis::cmd("RANDOMKEY"),
            // the first hash, by name
            Dialect::Ssdb => redis::cmd("hlist").arg("").arg("").arg(1).take(),
        };
        let answer = self.inner.link().and_then(|mut link| link.ask(&command));
        let answer = answer.map_err(|error| self.inner.failure("look for keys on", &error))?;
        Ok(match &answer {
            Value::Array(keys) => !keys.is_empty(),
            Value::Nil => false,
            _ => true,
        })
    }
}

fn shown(key: &Value) -> String {
    String::from_utf8_lossy(bytes(key)).into_owned()
}

/// Parses `name:value` a line, or, from SSDB, alternating names and values.
pub(super) fn pairs(answer: &Value) -> BTreeMap<String, String> {
    if let Value::Array(words) = answer {
        let words: Vec<String> = words.iter().map(shown).collect();
        return words.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    }
    let text = shown(answer);
    let pairs = text.lines().filter_map(|line| line.trim_end().split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Reads the files for TLS.
fn certificates(options: &RedisOptions) -> Result<Option<TlsCertificates>, ServerError> {
    let read = |what: &'static str, file: &Path| {
        sealstone_file::input::read(file).map_err(ServerError::unread(what, file))
    };
    let root_cert = options
        .tls_ca_file
        .as_deref()
        .map(|file| read("the certificate of an authority", file))
        .transpose()?;
    let own = options.tls_certificate_key_file.as_deref();
    let own = own.map(|file| read("certificate and key of the client", file)).transpose()?;
    let client_tls = own.map(|pem| ClientTlsConfig { client_cert: pem.clone(), client_key: pem });
    Ok((root_cert.is_some() || client_tls.is_some())
        .then_some(TlsCertificates { client_tls, root_cert }))
}

impl Dial {
    /// Returns the result of `work`, unless it takes longer than connecting may: each host accepts
    /// or refuses in time, and one of them lets the client in.
    fn in_time<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> RedisResult<T> + Send + 'static,
    ) -> RedisResult<T> {
        let hosts = u32::try_from(self.address.hosts.len()).unwrap_or(u32::MAX);
        let dial = self.clone();
        within(CONNECT_LIMIT * hosts, move || work(&dial))
            .unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
    }

    /// Returns a new connection, that of the cluster where it is one.
    fn link(&self) -> RedisResult<Link> {
        if !self.is_cluster {
            return self.first_link();
        }
        let nodes: Vec<ConnectionInfo> = self.infos()?;
        let mut client = ClusterClient::builder(nodes)
            .connection_timeout(ACCEPT_LIMIT)
            .response_timeout(ANSWER_LIMIT)
            .retries(REDIRECTS)
            .min_retry_wait(1)
            .max_retry_wait(PAUSE.as_millis() as u64)
            .tcp_settings(tcp());
        if let Some(certificates) = &self.certificates {
            client = client.certs(certificates.clone());
        }
        Ok(Link::Cluster(Box::new(client.build()?.get_connection()?)))
    }

    /// Returns a connection to the first host that answers, or to the primary that sentinels name.
    fn first_link(&self) -> RedisResult<Link> {
        let infos = self.infos()?;
        let mut failed = None;
        if let Some(name) = &self.address.sentinel {
            let node = SentinelNodeConnectionInfo::default()
                .set_redis_connection_info(self.introduction());
            let node = if self.address.tls { node.set_tls_mode(TlsMode::Secure) } else { node };
            let mut sentinels =
                SentinelClient::build(infos, name, Some(node), SentinelServerType::Master)?;
            let info =
                sentinels.get_client()?.get_connection_info().clone().set_tcp_settings(tcp());
            return self.connect(info);
        }
        for info in infos {
            match self.connect(info) {
                Ok(link) => return Ok(link),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.expect("an address has a host"))
    }

    fn connect(&self, info: ConnectionInfo) -> RedisResult<Link> {
        if let ConnectionAddr::Tcp(host, port) = info.addr()
            && !self.by_driver
        {
            let resp =
                Resp::connect(host, *port, info.redis_settings(), ACCEPT_LIMIT, ANSWER_LIMIT)?;
            return Ok(Link::Plain(Box::new(resp)));
        }
        let client = match &self.certificates {
            Some(certificates) if self.address.tls => {
                Client::build_with_tls(info, certificates.clone())?
            }
            _ => Client::open(info)?,
        };
        let connection = client.get_connection_with_timeout(ACCEPT_LIMIT)?;
        connection.set_read_timeout(Some(ANSWER_LIMIT))?;
        connection.set_write_timeout(Some(ANSWER_LIMIT))?;
        Ok(Link::Driver(Box::new(connection), Vec::new()))
    }

    /// Returns the hosts of the address: sentinels without user and password, which are the
    /// server's.
    fn infos(&self) -> RedisResult<Vec<ConnectionInfo>> {
        let of = |(host, port): &(String, u16)| -> RedisResult<ConnectionInfo> {
            let (host, port) = (host.clone(), *port);
            let address = match self.address.tls {
                true => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
                false => ConnectionAddr::Tcp(host, port),
            };
            let introduction = match self.address.sentinel {
                None => self.introduction(),
                Some(_) => RedisConnectionInfo::default().set_skip_set_lib_name(),
            };
            Ok(address
                .into_connection_info()?
                .set_tcp_settings(tcp())
                .set_redis_settings(introduction))
        };
        self.address.hosts.iter().map(of).collect()
    }

    /// Returns the introduction to the server.
    fn introduction(&self) -> RedisConnectionInfo {
        let mut introduction =
            RedisConnectionInfo::default().set_db(self.address.database).set_skip_set_lib_name();
        if let Some(user) = &self.address.user {
            introduction = introduction.set_username(user);
        }
        if let Some(password) = &self.address.password {
            introduction = introduction.set_password(password.as_str());
        }
        introduction
    }

    /// Returns the addresses of the nodes of the cluster, as the cluster itself announces them.
    fn announced(&self) -> RedisResult<Vec<(String, u16)>> {
        let Value::Array(ranges) = self.first_link()?.ask(redis::cmd("CLUSTER").arg("SLOTS"))?
        else {
            return Ok(Vec::new());
        };
        let mut nodes = Vec::new();
        for range in ranges {
            let Value::Array(parts) = range else { continue };
            for node in parts.into_iter().skip(2) {
                let Value::Array(node) = node else { continue };
                let [host, Value::Int(port), ..] = &node[..] else { continue };
                let (host, port) = (shown(host), u16::try_from(*port).unwrap_or(0));
                // an empty name means the queried node
                if !host.is_empty() && !nodes.contains(&(host.clone(), port)) {
                    nodes.push((host, port));
                }
            }
        }
        Ok(nodes)
    }

    /// Finds a node that the cluster announces but that cannot be reached from here.
    fn unreachable_node(&self) -> RedisResult<Option<(String, u16)>> {
        let is_unreachable = |(host, port): &(String, u16)| {
            let addresses = (host.as_str(), *port).to_socket_addrs().into_iter().flatten();
            let mut reached =
                addresses.map(|address| TcpStream::connect_timeout(&address, ACCEPT_LIMIT));
            !reached.any(|connected| connected.is_ok())
        };
        Ok(self.announced()?.into_iter().find(is_unreachable))
    }
}

impl Inner {
    /// Returns a new connection, that of the cluster where it is one.
    pub(super) fn link(&self) -> RedisResult<Link> {
        self.dial.in_time(Dial::link)
    }

    /// Words for `error` of `attempt`. Where a cluster is to blame, they name the node that cannot
    /// be reached: it may be another one than the address names.
    fn failure(&self, attempt: &str, error: &RedisError) -> ServerError {
        self.node_failure(attempt, error).unwrap_or_else(|| self.route.failure(attempt, error))
    }

    /// As [`Inner::failure`], of the attempt to connect.
    pub(super) fn unconnected(&self, error: &RedisError) -> ServerError {
        self.node_failure("connect to", error).unwrap_or_else(|| self.route.unconnected(error))
    }

    fn node_failure(&self, attempt: &str, error: &RedisError) -> Option<ServerError> {
        let is_of_cluster =
            self.topology == Topology::Cluster && !matches!(error.kind(), ErrorKind::Server(_));
        if !is_of_cluster {
            return None;
        }
        let (host, port) = self.dial.in_time(Dial::unreachable_node).ok().flatten()?;
        Some(self.route.unreachable_node(attempt, &host, port))
    }

    /// Runs `body` on this thread's connection of `links`, and again if a node of a cluster, or the
    /// primary of sentinels, is being replaced.
    ///
    /// # Errors
    /// The server's error, or the reason for its silence, in words that begin with `attempt`.
    pub(super) fn run<T>(
        &self,
        links: &Links,
        attempt: impl Fn() -> String,
        mut body: impl FnMut(&mut Link) -> RedisResult<T>,
    ) -> Result<T, ServerError> {
        let begin = Instant::now();
        loop {
            let (error, is_new) = match links.take().map_or_else(|| self.link(), Ok) {
                Err(error) => (error, true),
                Ok(mut link) => match body(&mut link) {
                    Ok(done) => {
                        links.keep(link);
                        return Ok(done);
                    }
                    Err(error) => {
                        // the nodes of a cluster may still have answers under way
                        if !is_broken(&error) && self.topology != Topology::Cluster {
                            links.keep(link);
                        }
                        (error, false)
                    }
                },
            };
            if is_broken(&error) {
                links.forget();
            }
            if !self.is_passing(&error) || begin.elapsed() > FAILOVER_LIMIT {
                let is_refused =
                    is_new && !matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension);
                return Err(if is_refused {
                    self.unconnected(&error)
                } else {
                    self.failure(&attempt(), &error)
                });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns whether `error` goes away once another node has taken over.
    fn is_passing(&self, error: &RedisError) -> bool {
        use ServerErrorKind::{
            Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain,
        };
        match error.kind() {
            _ if self.topology == Topology::Single => false,
            ErrorKind::Server(
                Ask | BusyLoading | ClusterDown | MasterDown | Moved | ReadOnly | TryAgain,
            ) => true,
            // a slot without a node, and a primary without a name, while one is elected
            ErrorKind::Client | ErrorKind::MasterNameNotFoundBySentinel => true,
            _ => is_broken(error),
        }
    }
}

/// Returns whether the connection on which `error` occurred is of no more use.
pub(super) fn is_broken(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Io | ErrorKind::Parse | ErrorKind::ClusterConnectionNotFound)
}

/// Returns settings that send each request at once.
fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

/// Returns a command with its first argument.
pub(super) fn command(name: &str, key: &[u8]) -> Cmd {
    let mut command = Cmd::with_capacity(4, 64);
    command.arg(name).arg(key);
    command
}
