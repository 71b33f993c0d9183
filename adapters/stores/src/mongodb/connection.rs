//! A connection to servers that run: their address, how they are asked, and words for what they answer. A password in
//! an address appears in no message.
//!
//! Not here: records (`store`), servers that we start ourselves (`lab`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::error::{Error as DriverError, ErrorKind, WriteFailure};
use mongodb::options::{
    Acknowledgment, ClientOptions, ReadConcern, ReadConcernLevel, ReadPreference, SelectionCriteria, Tls, TlsOptions,
    WriteConcern,
};
use mongodb::sync::{Client, Database};
use percent_encoding::percent_decode_str;
use sealstone_servers::mongod::number;
use sealstone_store::{EngineFacts, StoreError, Table};

/// Default database, if neither the options nor the address name one.
const DATABASE: &str = "sealstone";
/// How long servers may take to be found at first, where the address does not say `serverSelectionTimeoutMS`.
const FIND_LIMIT: Duration = Duration::from_secs(5);
/// How long later, in a replica set or a sharded cluster: longer than it takes to elect another primary.
const ELECTION_LIMIT: Duration = Duration::from_secs(30);
/// Connections that are not used by client threads, such as for counters.
const SPARE_CONNECTIONS: u32 = 4;

/// Why servers cannot be used. No message contains a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a valid address.
    #[error(
        "cannot use the MongoDB address {shown}: {found}\nwrite mongodb://HOST:PORT/, for a replica set \
         mongodb://HOST,HOST/?replicaSet=NAME"
    )]
    Address {
        /// The address without user and password.
        shown: String,
        /// What is wrong with it.
        found: String,
    },
    /// An option that does not exist, or makes no sense.
    #[error("cannot use {name} {value:?} with MongoDB: {found}\nuse {known}")]
    Option {
        /// Name of the option.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        found: &'static str,
        /// What is known.
        known: &'static str,
    },
    /// A sealed variant, and nothing that servers could load to seal.
    #[error("cannot seal {variant}: there is no extension to load\nname one with --extension")]
    NoSeal {
        /// Label of the variant.
        variant: String,
    },
    /// Synced writes, and a setting against them.
    #[error("writes cannot be synced with --journal false\nleave it out, or name workloads without -sync")]
    NotSynced,
    /// No cluster was named for a variant.
    #[error("no cluster for {variant}: there are clusters for {named}\nname it with --cluster '{variant}=mongodb://…'")]
    NoCluster {
        /// Label of the variant.
        variant: String,
        /// Labels of the clusters that were named.
        named: String,
    },
    /// A collection is not empty, and its records are not ours.
    #[error(
        "collection {collection} at {shown} already contains records, which are not ours to remove\n\
         name an empty database in the address"
    )]
    NotEmpty {
        /// Name of the collection.
        collection: String,
        /// Address of the servers, without user and password.
        shown: String,
    },
    /// Secondaries that do not catch up.
    #[error("the secondaries did not catch up within {limit_s} s\ncheck whether they are slower than the primary")]
    Behind {
        /// How long they were waited for, in seconds.
        limit_s: u64,
    },
    /// A data directory on this machine cannot be listed.
    #[error("cannot read directory {}: {source}\ncheck that it is readable", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The servers did not do what was asked.
    #[error("cannot {attempt} MongoDB at {shown}: {found}\n{step}")]
    Server {
        /// What was attempted, such as `connect to`.
        attempt: String,
        /// Their address without user and password.
        shown: String,
        /// What was found.
        found: String,
        /// What to do next.
        step: &'static str,
    },
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self::engine(error)
    }
}

/// How servers are reached and asked.
#[derive(Clone, Default)]
pub struct MongoDbOptions {
    /// `mongodb://…` or `mongodb+srv://…`, with anything that drivers know in it.
    pub uri: String,
    /// Database; without it the one in the address, otherwise `sealstone`.
    pub database: Option<String>,
    /// Client threads that will use the store at once; each has its own connection.
    pub threads: usize,
    /// What acknowledges a write: `majority`, a number of members from 1 on, or the name of a set of tags.
    pub write_concern: Option<String>,
    /// Whether a write must be in the journal before it is acknowledged.
    pub journal: Option<bool>,
    /// Who is read from: `primary`, `primaryPreferred`, `secondary`, `secondaryPreferred` or `nearest`.
    pub read_preference: Option<String>,
    /// What is read: `local`, `available`, `majority` or `linearizable`.
    pub read_concern: Option<String>,
    /// File with the authorities that the servers' certificates are checked with; turns TLS on.
    pub tls_ca_file: Option<PathBuf>,
    /// File with certificate and key of the client; turns TLS on.
    pub tls_certificate_key_file: Option<PathBuf>,
    /// Data directories, where the servers run on this machine: size on disk is then that of their files, and the
    /// system can be asked to forget them.
    pub data_dirs: Vec<PathBuf>,
}

// the address may contain a password
impl std::fmt::Debug for MongoDbOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = Place::of(&self.uri).shown;
        f.debug_struct("MongoDbOptions").field("at", &shown).field("database", &self.database).finish_non_exhaustive()
    }
}

/// How the servers belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A single server: no transactions.
    Single,
    /// A replica set.
    ReplicaSet,
    /// A sharded cluster, reached through mongos.
    Sharded,
}

/// Where servers are, for messages.
#[derive(Clone)]
pub(super) struct Place {
    shown: String,
    /// What must not be shown.
    secrets: Vec<String>,
    /// How long servers were searched for, in seconds.
    find_limit_s: u64,
}

impl Place {
    /// Takes the address `uri` apart, however wrong it is: all before its last `@` counts as user and password.
    fn of(uri: &str) -> Self {
        let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
        let (user, hosts) = rest.rsplit_once('@').map_or(("", rest), |(user, hosts)| (user, hosts));
        let shown = hosts.split(['/', '?']).next().unwrap_or_default().to_owned();
        let mut secrets: Vec<String> =
            user.split_once(':').map(|(_, password)| password.to_owned()).into_iter().collect();
        for name in ["tlsCertificateKeyFilePassword=", "authMechanismProperties="] {
            secrets.extend(hosts.split(['?', '&']).filter_map(|pair| pair.strip_prefix(name)).map(String::from));
        }
        let decoded: Vec<String> =
            secrets.iter().map(|secret| percent_decode_str(secret).decode_utf8_lossy().into_owned()).collect();
        secrets.extend(decoded);
        // an address that was written wrong is quoted in pieces
        let pieces: Vec<String> =
            secrets.iter().flat_map(|secret| secret.split(['@', '/', '?', ':'])).map(String::from).collect();
        secrets.extend(pieces);
        secrets.retain(|secret| !secret.is_empty());
        Self { shown, secrets, find_limit_s: FIND_LIMIT.as_secs() }
    }

    /// `text`, unless it quotes something that must not be shown.
    fn hide(&self, text: &str) -> String {
        match self.secrets.iter().any(|secret| text.contains(secret.as_str())) {
            true => "the reason quotes the password and is left out".into(),
            false => text.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }

    /// Words for `error`, which resulted from `attempt`, such as `read from`.
    pub(super) fn failure(&self, attempt: &str, error: &DriverError) -> Error {
        let (found, step) = self.words(error);
        Error::Server { attempt: attempt.into(), shown: self.shown.clone(), found: self.hide(&found), step }
    }

    /// As [`Place::failure`], of a collection.
    pub(super) fn failure_of(&self, attempt: &str, table: &Table, error: &DriverError) -> StoreError {
        self.failure(&format!("{attempt} collection {} of", table.name), error).into()
    }

    fn words(&self, error: &DriverError) -> (String, &'static str) {
        const REACH: &str =
            "check whether the servers run and can be reached from here, and whether they need TLS (tls=true)";
        const LOG: &str = "look at the server's log";
        match &*error.kind {
            ErrorKind::ServerSelection { message, .. } => (self.unreachable(message), REACH),
            ErrorKind::Io(source) => (source.to_string(), REACH),
            ErrorKind::ConnectionPoolCleared { .. } => ("the connection broke".into(), REACH),
            ErrorKind::DnsResolve { message, .. } => (message.clone(), "check the spelling of the name"),
            ErrorKind::Authentication { .. } => refused("it refused the user name and password"),
            ErrorKind::InvalidTlsConfig { message, .. } => (message.clone(), "check the files for TLS"),
            ErrorKind::Command(error) => match error.code {
                18 => refused("it refused the user name and password"),
                13 => refused(&error.message),
                10107 | 13435 => (
                    error.message.clone(),
                    "the address leads to a secondary: add replicaSet=NAME, and take directConnection out",
                ),
                _ => (format!("{} (code {})", error.message, error.code), LOG),
            },
            ErrorKind::Write(WriteFailure::WriteError(error)) => {
                (format!("{} (code {})", error.message, error.code), LOG)
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(error)) => (
                format!("{} (code {})", error.message, error.code),
                "check whether enough members of the replica set are running",
            ),
            ErrorKind::InsertMany(errors) => match (&errors.write_errors, &errors.write_concern_error) {
                (Some(all), _) if !all.is_empty() => {
                    (format!("{} (code {}; {} of them failed)", all[0].message, all[0].code, all.len()), LOG)
                }
                (_, Some(error)) => (
                    format!("{} (code {})", error.message, error.code),
                    "check whether enough members of the replica set are running",
                ),
                _ => ("it refused documents".into(), LOG),
            },
            kind => (kind.to_string(), LOG),
        }
    }

    /// What is known of servers that were not found: the driver's description of each is long, its error is short.
    fn unreachable(&self, message: &str) -> String {
        let mut reasons: Vec<String> = Vec::new();
        for part in message.split("Error: ").skip(1) {
            let reason = part.split([',', '}']).next().unwrap_or_default().replace("Kind: ", "");
            let reason = reason.trim().to_owned();
            if !reason.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let what = if reasons.is_empty() && message.contains("Primary") {
            "no primary".to_owned()
        } else if message.contains("ReplicaSetNoPrimary") && reasons.is_empty() {
            "the replica set has no primary".to_owned()
        } else {
            "no server".to_owned()
        };
        let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        format!("{what} answered within {} s{why}", self.find_limit_s)
    }
}

fn refused(found: &str) -> (String, &'static str) {
    (
        found.into(),
        "check user, password and authSource of the address, and the user's roles (readWrite, clusterMonitor)",
    )
}

/// A connection to servers that run. Many threads share one.
#[derive(Clone)]
pub struct MongoDb {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) client: Client,
    pub(super) database: Database,
    pub(super) place: Place,
    pub(super) topology: Topology,
    pub(super) data_dirs: Vec<PathBuf>,
    version: String,
    debug_build: bool,
}

// the driver's own data may show a password
impl std::fmt::Debug for MongoDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Inner { place, topology, version, .. } = &*self.inner;
        let mut shown = f.debug_struct("MongoDb");
        shown.field("at", &place.shown).field("topology", topology).field("version", version).finish_non_exhaustive()
    }
}

impl MongoDb {
    /// Connects, and asks the servers what they are.
    ///
    /// # Errors
    /// [`Error::Address`], [`Error::Option`]; [`Error::Server`] after 5 s, unless the address says
    /// `serverSelectionTimeoutMS`.
    pub fn connect(options: &MongoDbOptions) -> Result<Self, Error> {
        let mut place = Place::of(&options.uri);
        let mut settings = settings(options, &place)?;
        let own_limit = settings.server_selection_timeout;
        let limit = own_limit.unwrap_or(FIND_LIMIT);
        place.find_limit_s = limit.as_secs();
        settings.server_selection_timeout = Some(limit);
        settings.connect_timeout.get_or_insert(limit);
        let failure = |error| place.failure("connect to", &error);
        let client = Client::with_options(settings.clone()).map_err(failure)?;
        let hello = client.database("admin").run_command(doc! { "hello": 1 }).run().map_err(failure)?;
        let build = client.database("admin").run_command(doc! { "buildInfo": 1 }).run().map_err(failure)?;
        let topology = match () {
            () if hello.get_str("msg").is_ok_and(|text| text == "isdbgrid") => Topology::Sharded,
            () if hello.contains_key("setName") => Topology::ReplicaSet,
            () => Topology::Single,
        };
        let client = match own_limit {
            None if topology != Topology::Single => {
                settings.server_selection_timeout = Some(ELECTION_LIMIT);
                place.find_limit_s = ELECTION_LIMIT.as_secs();
                Client::with_options(settings).map_err(|error| place.failure("connect to", &error))?
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
        Ok(Self { inner: Arc::new(Inner { client, database, place, topology, data_dirs, version, debug_build }) })
    }

    /// What the servers are, with the settings that matter to a reader of a report.
    #[must_use]
    pub fn facts(&self) -> EngineFacts {
        let Inner { client, topology, version, debug_build, .. } = &*self.inner;
        let mut settings = BTreeMap::new();
        let mut add = |name: &str, value: String| drop(settings.insert(name.to_owned(), value));
        add("topology", format!("{topology:?}"));
        add("write concern", client.write_concern().map_or("server's default".into(), shown_write_concern));
        add("read concern", client.read_concern().map_or("server's default".into(), shown_read_concern));
        add("read preference", client.selection_criteria().map_or("primary".into(), shown_criteria));
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

    /// How the servers belong together.
    #[must_use]
    pub fn topology(&self) -> Topology {
        self.inner.topology
    }

    /// Where the servers are, without what is secret in their address.
    pub(super) fn place(&self) -> &str {
        &self.inner.place.shown
    }

    /// The first of `tables` whose collection is not empty.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn holding<'a>(&self, tables: &'a [Arc<Table>]) -> Result<Option<&'a Table>, Error> {
        for table in tables {
            let collection = self.inner.database.collection::<Document>(&table.name);
            let found = collection.find_one(Document::new()).run();
            let found = found.map_err(|error| {
                self.inner.place.failure(&format!("look into collection {} of", table.name), &error)
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
    /// [`Error::Server`].
    pub fn remove(&self, tables: &[Arc<Table>]) -> Result<(), Error> {
        for table in tables {
            let collection = self.inner.database.collection::<Document>(&table.name);
            let dropped = collection.drop().run();
            dropped
                .map_err(|error| self.inner.place.failure(&format!("remove collection {} of", table.name), &error))?;
        }
        Ok(())
    }

    fn cache_bytes(&self) -> Option<i64> {
        let status = self.inner.server_status().ok()?;
        let cache = status.get_document("wiredTiger").ok()?.get_document("cache").ok()?;
        number(cache, "maximum bytes configured")
    }
}

impl Inner {
    /// Runs `command` on the database `admin` of the primary.
    pub(super) fn admin(&self, command: Document) -> Result<Document, DriverError> {
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        self.client.database("admin").run_command(command).selection_criteria(primary).run()
    }

    /// What the primary counts; without what is long.
    pub(super) fn server_status(&self) -> Result<Document, DriverError> {
        self.admin(doc! { "serverStatus": 1, "metrics": 0, "locks": 0, "repl": 0, "tcmalloc": 0, "opLatencies": 0 })
    }
}

/// The driver's options.
fn settings(options: &MongoDbOptions, place: &Place) -> Result<ClientOptions, Error> {
    let wrong = |found: String| Error::Address { shown: place.shown.clone(), found: place.hide(&found) };
    let Some((scheme, _)) = options.uri.split_once("://") else {
        return Err(Error::Address { shown: String::from("given"), found: "it has no scheme".into() });
    };
    if !matches!(scheme, "mongodb" | "mongodb+srv") {
        return Err(wrong(format!("its scheme is {scheme}, not mongodb or mongodb+srv")));
    }
    let mut settings = ClientOptions::parse(&options.uri).run().map_err(|error| match &*error.kind {
        ErrorKind::InvalidArgument { message, .. } => wrong(message.clone()),
        _ => place.failure("find", &error),
    })?;
    settings.app_name.get_or_insert_with(|| "sealstone".into());
    let wanted = u32::try_from(options.threads).unwrap_or(u32::MAX).saturating_add(SPARE_CONNECTIONS);
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
    if settings.write_concern.as_ref().is_some_and(|concern| concern.w == Some(Acknowledgment::Nodes(0))) {
        return Err(Error::Option {
            name: "write concern",
            value: "0".into(),
            found: "a write that nobody acknowledges cannot be measured, nor counted as done",
            known: "majority, or a number of members from 1 on",
        });
    }
    if let Some(name) = &options.read_preference {
        settings.selection_criteria = Some(SelectionCriteria::ReadPreference(read_preference(name)?));
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
        tls.cert_key_file_path = options.tls_certificate_key_file.clone().or(tls.cert_key_file_path);
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
        let error = fails(&format!("mongodb://u:geheim@127.0.0.1:{port}/?serverSelectionTimeoutMS=1000"));
        let want = format!("cannot connect to MongoDB at 127.0.0.1:{port}: no server answered within 1 s");
        assert!(error.starts_with(&want), "{error}");
    }

    #[test]
    fn options_that_make_no_sense_are_refused() {
        let place = Place::of("mongodb://h/");
        let options = |change: &dyn Fn(&mut MongoDbOptions)| {
            let mut options = MongoDbOptions { uri: "mongodb://h/".into(), threads: 100, ..MongoDbOptions::default() };
            change(&mut options);
            settings(&options, &place)
        };
        assert_eq!(options(&|_| ()).unwrap().max_pool_size, Some(104));
        assert!(options(&|options| options.write_concern = Some("0".into())).is_err());
        assert!(options(&|options| options.uri = "mongodb://h/?w=0".into()).is_err());
        assert!(options(&|options| options.read_preference = Some("any".into())).is_err());
        assert!(options(&|options| options.read_concern = Some("dirty".into())).is_err());
        let concern = options(&|options| options.write_concern = Some("2".into())).unwrap().write_concern.unwrap();
        assert_eq!(concern.w, Some(Acknowledgment::Nodes(2)));
    }
}
