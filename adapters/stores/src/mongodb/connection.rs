//! A connection to running servers: their address, and commands to them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::error::{Error as DriverError, ErrorKind};
use mongodb::options::{
    Acknowledgment, ClientOptions, ReadConcern, ReadConcernLevel, ReadPreference,
    SelectionCriteria, Tls, TlsOptions, WriteConcern,
};
use mongodb::sync::{Client, Database};
use sealstone_message::{LEFT_OUT, scheme_words};
use sealstone_servers::{MONGOD_REQUIRE_TLS, MONGOD_SUITES, bson_number};
use sealstone_store::{EngineFacts, Table};

use super::error::{Error, Route, wrong_address};
use crate::deadline::within;
use crate::server_error::ServerError;
use crate::time_limits::CONNECT_LIMIT;

/// Default database, if neither the options nor the address name one.
const DATABASE: &str = "sealstone";
/// Time that servers may take to be found at first, if the address does not set
/// `serverSelectionTimeoutMS`.
const FIND_LIMIT: Duration = Duration::from_secs(5);
/// Time that they may take later, in a replica set or a sharded cluster: longer than it takes to
/// elect another primary.
const ELECTION_LIMIT: Duration = Duration::from_secs(30);
/// The login mechanism that sends the password in the clear.
const PLAIN: &str = "PLAIN";
/// Connections that are not used by client threads, such as for counters.
const SPARE_CONNECTIONS: u32 = 4;

/// Options for reaching servers and for the requests to them.
#[derive(Clone, Default)]
pub struct MongoDbOptions {
    /// `mongodb://…` or `mongodb+srv://…`, with any options that drivers support.
    pub uri: String,
    /// Database; without it the one in the address, otherwise `sealstone`.
    pub database: Option<String>,
    /// Client threads that will use the store at once; each has its own connection.
    pub threads: usize,
    /// Requirement for acknowledging a write: `majority`, a number of members from 1 on, or the
    /// name of a set of tags.
    pub write_concern: Option<String>,
    /// True if a write must be in the journal before it is acknowledged.
    pub journal: Option<bool>,
    /// The members to read from: `primary`, `primaryPreferred`, `secondary`, `secondaryPreferred`
    /// or `nearest`.
    pub read_preference: Option<String>,
    /// Data that is read: `local`, `available`, `majority` or `linearizable`.
    pub read_concern: Option<String>,
    /// File with the authorities that the servers' certificates are checked with; turns TLS on.
    pub tls_ca_file: Option<PathBuf>,
    /// File with certificate and key of the client; turns TLS on.
    pub tls_certificate_key_file: Option<PathBuf>,
    /// Data directories, where the servers run on this machine: size on disk is then that of their
    /// files, and the system can drop them from its cache.
    pub data_dirs: Vec<PathBuf>,
}

impl MongoDbOptions {
    /// Returns where the servers are, without secrets, and whether all connections to them have
    /// TLS: if it is requested, the driver makes none without.
    ///
    /// # Errors
    /// As [`MongoDb::connect`], of the address and the options.
    pub(super) fn way(&self) -> Result<(String, bool), Error> {
        let route = Route::of(&self.uri);
        let has_tls = matches!(settings(self, &route)?.tls, Some(Tls::Enabled(_)));
        Ok((route.place.shown, has_tls))
    }
}

// the address may contain a password
impl std::fmt::Debug for MongoDbOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = Route::of(&self.uri).place.shown;
        f.debug_struct("MongoDbOptions")
            .field("at", &shown)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// Relation of the servers to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A single server: no transactions.
    Single,
    /// A replica set.
    ReplicaSet,
    /// A sharded cluster, reached through mongos.
    Sharded,
}

/// A connection to servers that run. Many threads share one.
#[derive(Clone)]
pub struct MongoDb {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) client: Client,
    pub(super) database: Database,
    pub(super) route: Route,
    pub(super) topology: Topology,
    pub(super) data_dirs: Vec<PathBuf>,
    version: String,
    debug_build: bool,
}

// the driver's own data may show a password
impl std::fmt::Debug for MongoDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Inner { route, topology, version, .. } = &*self.inner;
        let mut shown = f.debug_struct("MongoDb");
        shown
            .field("at", &route.place.shown)
            .field("topology", topology)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

impl MongoDb {
    /// Connects, and queries the servers' kind.
    ///
    /// # Errors
    /// [`ServerError::Address`], [`Error::Option`]; [`ServerError::Failed`] after 5 s, unless the
    /// address has `serverSelectionTimeoutMS`, and after 10 s more where a server that was found
    /// does not answer.
    pub fn connect(options: &MongoDbOptions) -> Result<Self, Error> {
        let route = Route::of(&options.uri);
        let found = settings(options, &route)?.server_selection_timeout.unwrap_or(FIND_LIMIT);
        let limit = found.saturating_add(CONNECT_LIMIT);
        let options = options.clone();
        within(limit, move || Self::connect_untimed(&options))
            .unwrap_or_else(|| Err(route.silence(limit).into()))
    }

    fn connect_untimed(options: &MongoDbOptions) -> Result<Self, Error> {
        let mut route = Route::of(&options.uri);
        let mut settings = settings(options, &route)?;
        let own_limit = settings.server_selection_timeout;
        let limit = own_limit.unwrap_or(FIND_LIMIT);
        route.find_limit_s = limit.as_secs();
        settings.server_selection_timeout = Some(limit);
        settings.connect_timeout.get_or_insert(limit);
        let failure = |error| route.failure("connect to", &error);
        let client = Client::with_options(settings.clone()).map_err(failure)?;
        let hello =
            client.database("admin").run_command(doc! { "hello": 1 }).run().map_err(failure)?;
        let build =
            client.database("admin").run_command(doc! { "buildInfo": 1 }).run().map_err(failure)?;
        let topology = match () {
            () if hello.get_str("msg").is_ok_and(|text| text == "isdbgrid") => Topology::Sharded,
            () if hello.contains_key("setName") => Topology::ReplicaSet,
            () => Topology::Single,
        };
        let client = match own_limit {
            None if topology != Topology::Single => {
                settings.server_selection_timeout = Some(ELECTION_LIMIT);
                route.find_limit_s = ELECTION_LIMIT.as_secs();
                Client::with_options(settings)
                    .map_err(|error| route.failure("connect to", &error))?
            }
            _ => client,
        };
        let database = match &options.database {
            Some(name) => client.database(name),
            None => client.default_database().unwrap_or_else(|| client.database(DATABASE)),
        };
        let version = build.get_str("version").unwrap_or("unknown").to_owned();
        let debug_build = build.get_bool("debug").unwrap_or(false);
        let data_dirs = options.data_dirs.clone();
        let inner = Inner { client, database, route, topology, data_dirs, version, debug_build };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns a description of the servers, with the settings that matter to a reader of a report.
    #[must_use]
    pub fn facts(&self) -> EngineFacts {
        let Inner { client, topology, version, debug_build, .. } = &*self.inner;
        let mut settings = BTreeMap::new();
        let mut add = |name: &str, value: String| drop(settings.insert(name.to_owned(), value));
        add("topology", format!("{topology:?}"));
        add(
            "write concern",
            client.write_concern().map_or("server's default".into(), shown_write_concern),
        );
        add(
            "read concern",
            client.read_concern().map_or("server's default".into(), shown_read_concern),
        );
        add(
            "read preference",
            client.selection_criteria().map_or("primary".into(), shown_criteria),
        );
        if let Some(cache) = self.cache_bytes() {
            add("cache bytes of the primary", cache.to_string());
        }
        EngineFacts {
            name: "mongodb".into(),
            version: version.clone(),
            build: "server".into(),
            assertions: *debug_build,
            settings,
        }
    }

    /// Returns the version and suite of TLS in the server's words: common to every connection so
    /// far, where it takes no others. None where it also accepts connections without TLS, had
    /// another version, or was not configured with suites.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    pub fn tls(&self) -> Result<Option<String>, ServerError> {
        let unasked = |error| self.inner.route.failure("ask for the TLS of", &error);
        let settings = self
            .inner
            .admin(doc! { "getParameter": 1, "tlsMode": 1, MONGOD_SUITES: 1 })
            .map_err(unasked)?;
        let status = self.inner.server_status().map_err(unasked)?;
        let Ok(counts) = status.get_document("transportSecurity") else { return Ok(None) };
        let (version, count) = ("1.3", |version: &str| bson_number(counts, version).unwrap_or(0));
        let is_only =
            count(version) > 0 && counts.keys().all(|other| other == version || count(other) == 0);
        Ok(match (settings.get_str("tlsMode"), settings.get_str(MONGOD_SUITES)) {
            (Ok(mode @ MONGOD_REQUIRE_TLS), Ok(suites)) if is_only => Some(format!(
                "TLSv{version}, {suites}; tlsMode {mode}: it takes nothing else, from members \
                 either"
            )),
            _ => None,
        })
    }

    /// Returns the topology of the servers.
    #[must_use]
    pub fn topology(&self) -> Topology {
        self.inner.topology
    }

    /// Returns where the servers are, without the secrets in their address.
    pub(super) fn place(&self) -> &str {
        &self.inner.route.place.shown
    }

    /// Returns the first of `tables` whose collection is not empty.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    pub fn holding<'a>(&self, tables: &'a [Arc<Table>]) -> Result<Option<&'a Table>, ServerError> {
        for table in tables {
            let collection = self.inner.database.collection::<Document>(&table.name);
            let found = collection.find_one(Document::new()).run();
            let found = found.map_err(|error| {
                self.inner.route.failure(&format!("look into collection {} of", table.name), &error)
            })?;
            if found.is_some() {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// Removes the collections of `tables` with all they hold.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    pub fn remove(&self, tables: &[Arc<Table>]) -> Result<(), ServerError> {
        for table in tables {
            let collection = self.inner.database.collection::<Document>(&table.name);
            let dropped = collection.drop().run();
            dropped.map_err(|error| {
                self.inner.route.failure(&format!("remove collection {} of", table.name), &error)
            })?;
        }
        Ok(())
    }

    fn cache_bytes(&self) -> Option<i64> {
        let status = self.inner.server_status().ok()?;
        let cache = status.get_document("wiredTiger").ok()?.get_document("cache").ok()?;
        bson_number(cache, "maximum bytes configured")
    }
}

impl Inner {
    /// Runs `command` on the database `admin` of the primary.
    pub(super) fn admin(&self, command: Document) -> Result<Document, DriverError> {
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        self.client.database("admin").run_command(command).selection_criteria(primary).run()
    }

    /// Returns the counters of the primary, without the long parts.
    pub(super) fn server_status(&self) -> Result<Document, DriverError> {
        self.admin(doc! {
            "serverStatus": 1, "metrics": 0, "locks": 0, "repl": 0, "tcmalloc": 0, "opLatencies": 0
        })
    }
}

/// Returns the driver's options.
fn settings(options: &MongoDbOptions, route: &Route) -> Result<ClientOptions, Error> {
    let wrong = |found: String| wrong_address(&options.uri, found);
    let Some((scheme, _)) = options.uri.split_once("://") else {
        return Err(wrong("it has no scheme".into()).into());
    };
    if !matches!(scheme, "mongodb" | "mongodb+srv") {
        let found = format!("{}, not mongodb or mongodb+srv", scheme_words(scheme));
        return Err(wrong(found).into());
    }
    let mut settings =
        ClientOptions::parse(&options.uri).run().map_err(|error| match &*error.kind {
            ErrorKind::InvalidArgument { message, .. } => wrong(route.hide(message)),
            _ => route.failure("find", &error),
        })?;
    let is_clear = !matches!(settings.tls, Some(Tls::Enabled(_)))
        && options.tls_ca_file.is_none()
        && options.tls_certificate_key_file.is_none();
    let mechanism =
        settings.credential.as_ref().and_then(|credential| credential.mechanism.as_ref());
    if is_clear && mechanism.is_some_and(|mechanism| mechanism.as_str() == PLAIN) {
        let found = "authMechanism=PLAIN gives the password in the clear, without TLS: write \
                     tls=true as well"
            .into();
        return Err(wrong(found).into());
    }
    if options.uri.contains(&format!("//{LEFT_OUT}@")) {
        let found = format!("{LEFT_OUT} marks where something was left out of what was printed");
        return Err(wrong(found).into());
    }
    settings.app_name.get_or_insert_with(|| "sealstone".into());
    let wanted =
        u32::try_from(options.threads).unwrap_or(u32::MAX).saturating_add(SPARE_CONNECTIONS);
    let pool = settings.max_pool_size.get_or_insert(wanted);
    // 0 means no limit
    if *pool != 0 && *pool < wanted {
        *pool = wanted;
    }
    if options.write_concern.is_some() || options.journal.is_some() {
        let mut concern = settings.write_concern.clone().unwrap_or_default();
        if let Some(text) = &options.write_concern {
            concern.w = Some(acknowledgment(text));
        }
        concern.journal = options.journal.or(concern.journal);
        settings.write_concern = Some(concern);
    }
    if settings
        .write_concern
        .as_ref()
        .is_some_and(|concern| concern.w == Some(Acknowledgment::Nodes(0)))
    {
        return Err(Error::Option {
            name: "write concern",
            value: "0".into(),
            found: "a write that nobody acknowledges cannot be measured, nor counted as done",
            known: "majority, or a number of members from 1 on",
        });
    }
    if let Some(name) = &options.read_preference {
        settings.selection_criteria =
            Some(SelectionCriteria::ReadPreference(read_preference(name)?));
    }
    if let Some(name) = &options.read_concern {
        settings.read_concern = Some(read_concern(name)?);
    }
    if options.tls_ca_file.is_some() || options.tls_certificate_key_file.is_some() {
        let mut tls = match settings.tls.take() {
            Some(Tls::Enabled(tls)) => tls,
            _ => TlsOptions::default(),
        };
        tls.ca_file_path = options.tls_ca_file.clone().or(tls.ca_file_path);
        tls.cert_key_file_path =
            options.tls_certificate_key_file.clone().or(tls.cert_key_file_path);
        settings.tls = Some(Tls::Enabled(tls));
    }
    Ok(settings)
}

fn acknowledgment(text: &str) -> Acknowledgment {
    match (text, text.parse::<u32>()) {
        ("majority", _) => Acknowledgment::Majority,
        (_, Ok(nodes)) => Acknowledgment::Nodes(nodes),
        (name, Err(_)) => Acknowledgment::Custom(name.into()),
    }
}

fn read_preference(name: &str) -> Result<ReadPreference, Error> {
    Ok(match name {
        "primary" => ReadPreference::Primary,
        "primaryPreferred" => ReadPreference::PrimaryPreferred { options: None },
        "secondary" => ReadPreference::Secondary { options: None },
        "secondaryPreferred" => ReadPreference::SecondaryPreferred { options: None },
        "nearest" => ReadPreference::Nearest { options: None },
        _ => {
            return Err(Error::Option {
                name: "read preference",
                value: name.into(),
                found: "it is unknown",
                known: "primary, primaryPreferred, secondary, secondaryPreferred or nearest",
            });
        }
    })
}

fn read_concern(name: &str) -> Result<ReadConcern, Error> {
    Ok(match name {
        "local" => ReadConcern::local(),
        "available" => ReadConcern::available(),
        "majority" => ReadConcern::majority(),
        "linearizable" => ReadConcern::linearizable(),
        _ => {
            return Err(Error::Option {
                name: "read concern",
                value: name.into(),
                found: "it is unknown",
                known: "local, available, majority or linearizable",
            });
        }
    })
}

fn shown_write_concern(concern: &WriteConcern) -> String {
    let members = match &concern.w {
        None => "server's default".to_owned(),
        Some(Acknowledgment::Majority) => "majority".into(),
        Some(Acknowledgment::Nodes(nodes)) => nodes.to_string(),
        Some(Acknowledgment::Custom(name)) => name.clone(),
        Some(_) => "other".into(),
    };
    match concern.journal {
        Some(true) => format!("{members}, in the journal"),
        Some(false) => format!("{members}, not in the journal"),
        None => members,
    }
}

fn shown_read_concern(concern: &ReadConcern) -> String {
    match &concern.level {
        ReadConcernLevel::Local => "local",
        ReadConcernLevel::Available => "available",
        ReadConcernLevel::Majority => "majority",
        ReadConcernLevel::Linearizable => "linearizable",
        ReadConcernLevel::Snapshot => "snapshot",
        _ => "other",
    }
    .into()
}

fn shown_criteria(criteria: &SelectionCriteria) -> String {
    match criteria {
        SelectionCriteria::ReadPreference(preference) => match preference {
            ReadPreference::Primary => "primary",
            ReadPreference::PrimaryPreferred { .. } => "primaryPreferred",
            ReadPreference::Secondary { .. } => "secondary",
            ReadPreference::SecondaryPreferred { .. } => "secondaryPreferred",
            ReadPreference::Nearest { .. } => "nearest",
            _ => "other",
        }
        .into(),
        _ => "other".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(uri: &str) -> String {
        let options = MongoDbOptions { uri: uri.into(), ..MongoDbOptions::default() };
        let error = MongoDb::connect(&options).expect_err("no such server").to_string();
        assert!(error.lines().count() == 2, "{error}");
        assert!(!format!("{error} {options:?}").contains("geheim"), "{error}");
        error
    }

    #[test]
    fn invalid_addresses_are_reported_without_the_password() {
        assert!(fails("localhost:27017").contains("it has no scheme"));
        assert!(fails("http://u:geheim@h/").contains("its scheme is http"));
        fails("mongodb://u:geheim@ge@heim:x/y/");
        fails("mongodb://u:geheim@h:999999/");
        fails("mongodb://u:ge%2Fgeheim@h:1/?w=nonsense&tls=geheim");
        assert!(fails("mongodb://").starts_with("cannot use the MongoDB address"));
    }

    #[test]
    fn a_server_that_is_not_there_is_named() {
        // nothing listens on a port that was just released
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let error =
            fails(&format!("mongodb://u:geheim@127.0.0.1:{port}/?serverSelectionTimeoutMS=1000"));
        let want =
            format!("cannot connect to MongoDB at 127.0.0.1:{port}: no server answered within 1 s");
        assert!(error.starts_with(&want), "{error}");
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let route = Route::of("mongodb://h/");
        let options = |change: &dyn Fn(&mut MongoDbOptions)| {
            let mut options = MongoDbOptions {
                uri: "mongodb://h/".into(),
                threads: 100,
                ..MongoDbOptions::default()
            };
            change(&mut options);
            settings(&options, &route)
        };
        assert_eq!(options(&|_| ()).unwrap().max_pool_size, Some(104));
        assert!(options(&|options| options.write_concern = Some("0".into())).is_err());
        assert!(options(&|options| options.uri = "mongodb://h/?w=0".into()).is_err());
        assert!(options(&|options| options.read_preference = Some("any".into())).is_err());
        assert!(options(&|options| options.read_concern = Some("dirty".into())).is_err());
        let concern = options(&|options| options.write_concern = Some("2".into()))
            .unwrap()
            .write_concern
            .unwrap();
        assert_eq!(concern.w, Some(Acknowledgment::Nodes(2)));
    }
}
