//! A running server: making connections to it, and its own reports. Not here: addresses
//! (`address`), the work of a connection (`link`), records (`sql`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use postgres::config::{SslMode as DriverSslMode, SslNegotiation};
use postgres::{Client, Config};
use sealstone_store::{Counters, EngineFacts, StoreError, StoreOptions};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, SslMode};
use super::failure::failure;
use super::guard::{Guard, Patience};
use super::link::{DIALECT, PostgresLink};
use super::table_text::literal;
use super::tls::{self, Files};
use crate::server_error::{Place, ServerError};
use crate::sql::{Dialect, Error, Failure, Layout, Server, SqlStore};
use crate::time_limits::{ACCEPT_LIMIT, CONNECT_LIMIT, QUESTION_LIMIT};

/// Idle time before, and interval between, keep-alive probes of the other machine.
const ALIVE_AFTER: Duration = Duration::from_secs(30);
const ALIVE_EVERY: Duration = Duration::from_secs(10);
/// Time that sent data may remain without an acknowledgement from the other machine.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// Bytes of a page.
const PAGE_BYTES: u64 = 8_192;
/// The user of an address without one.
const USER: &str = "postgres";
/// Query for the server's counters: pages that it read and pages that it had already; pages and
/// bytes of its log that it wrote, and syncs of the log.
const COUNTERS: &str = "SELECT (SELECT sum(blks_read) FROM pg_stat_database), (SELECT \
                        sum(blks_hit) FROM pg_stat_database), (SELECT buffers_checkpoint + \
                        buffers_clean + buffers_backend FROM pg_stat_bgwriter), wal_bytes, \
                        wal_sync FROM pg_stat_wal";
/// The same from version 17 on, where other tables have it.
const COUNTERS_17: &str = "SELECT (SELECT sum(blks_read) FROM pg_stat_database), (SELECT \
                           sum(blks_hit) FROM pg_stat_database), (SELECT sum(writes) FROM \
                           pg_stat_io WHERE object = 'relation'), wal_bytes, (SELECT sum(fsyncs) \
                           FROM pg_stat_io WHERE object = 'wal') FROM pg_stat_wal";
/// The settings that matter to a reader of a report.
const SETTINGS: [&str; 8] = [
    "shared_buffers",
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "wal_level",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
];

/// Options for reaching a server.
#[derive(Clone, Default)]
pub struct PostgresOptions {
    /// `postgres://…`.
    pub uri: String,
    /// File with the authorities that the server's certificate is checked with; its name is
    /// checked, too, unless the address disables that.
    pub tls_ca_file: Option<PathBuf>,
    /// File with certificate and key of the client.
    pub tls_certificate_key_file: Option<PathBuf>,
    /// True if commits need not wait for the disk where they need not be durable
    /// (`synchronous_commit = off`); otherwise the server's own setting holds.
    pub may_lag: bool,
}

// the address may contain a password
impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = Address::parse(&self.uri).map(|address| address.shown()).unwrap_or_default();
        f.debug_struct("PostgresOptions").field("at", &shown).finish_non_exhaustive()
    }
}

/// A store on PostgreSQL.
pub type PostgresStore = SqlStore<Postgres>;

/// A server that runs. Each thread that uses a store on it has its own connection.
#[derive(Clone)]
pub struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    /// Way in which connections are made, except for how long each waits.
    mode: SslMode,
    /// Protection of the connections, made once; absent: none.
    tls: Option<MakeRustlsConnect>,
    may_be_clear: bool,
    place: Place,
    may_lag: bool,
    version: String,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Inner { place, version, .. } = &*self.inner;
        f.debug_struct("Postgres")
            .field("at", &place.shown)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

impl Postgres {
    /// Connects, and queries the server's kind.
    ///
    /// # Errors
    /// [`ServerError::Address`], [`ServerError::File`], [`Error::Tls`]; [`ServerError::Failed`]
    /// after 20 s at the latest.
    pub fn connect(options: &PostgresOptions) -> Result<Self, Error> {
        let address = Address::parse(&options.uri)?;
        let mode = address.ssl_mode.unwrap_or(match options.tls_ca_file {
            Some(_) => SslMode::VerifyFull,
            None => SslMode::default(),
        });
        let both = options.tls_certificate_key_file.as_deref();
        let own = address
            .certificate
            .as_deref()
            .map(|file| (file, address.key.as_deref().unwrap_or(file)));
        let files = Files {
            authorities: options.tls_ca_file.as_deref().or(address.authorities.as_deref()),
            own: own.or(both.map(|file| (file, file))),
        };
        let tls = match mode {
            SslMode::Disable => None,
            mode => Some(MakeRustlsConnect::new(tls::config(mode, files)?)),
        };
        let place = Place { server: "PostgreSQL", shown: address.shown() };
        let config = config(&address)?;
        let (may_be_clear, version) = (address.may_be_clear, "unknown".into());
        let mut inner =
            Inner { config, mode, tls, may_be_clear, place, may_lag: options.may_lag, version };
        let mut link =
            inner.connect().map_err(|failure| inner.place.failure("connect to", failure))?;
        link.patience.set(CONNECT_LIMIT);
        let told = link
            .ask("SHOW server_version")
            .map_err(|failure| inner.place.failure("connect to", failure))?;
        // "15.18 (Debian 15.18-0+deb12u1)"
        if let Some(version) = told.first().and_then(|row| row.first()?.split(' ').next()) {
            inner.version = version.to_owned();
        }
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens the store, and makes its tables where they are not there. The server's cache is its
    /// own business: `options.cache_bytes` is not used.
    ///
    /// # Errors
    /// A server that does not answer, or refuses to make a table.
    pub fn open_store(&self, options: &StoreOptions) -> Result<PostgresStore, StoreError> {
        SqlStore::open(self, options)
    }

    /// Returns a connection without a store, and how long it waits: for answers to questions.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    pub(super) fn client(&self) -> Result<(Client, Patience), ServerError> {
        self.inner.client().map_err(|failure| self.inner.place.failure("connect to", failure))
    }

    fn major_version(&self) -> u32 {
        self.inner.version.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

impl Inner {
    fn client(&self) -> Result<(Client, Patience), Failure> {
        let patience = Patience::new(QUESTION_LIMIT);
        let Self { mode, tls, may_be_clear, .. } = self;
        let guard = Guard {
            mode: *mode,
            tls: tls.clone(),
            may_be_clear: *may_be_clear,
            patience: patience.clone(),
        };
        let client = self.config.connect(guard).map_err(|error| failure(&error))?;
        Ok((client, patience))
    }

    fn connect(&self) -> Result<PostgresLink, Failure> {
        self.client().map(|(client, patience)| PostgresLink::new(client, patience))
    }
}

/// Returns the driver's configuration for `address`.
fn config(address: &Address) -> Result<Config, ServerError> {
    let mut config = Config::new();
    config
        .host(&address.host)
        .port(address.port)
        .connect_timeout(ACCEPT_LIMIT)
        .tcp_user_timeout(SILENCE_LIMIT);
    config.keepalives_idle(ALIVE_AFTER).keepalives_interval(ALIVE_EVERY);
    let user = address.user.as_deref().unwrap_or(USER);
    config.user(user).dbname(address.database.as_deref().unwrap_or(user));
    config.application_name(address.application.as_deref().unwrap_or("sealstone"));
    // so that it leaves everything to the guard, which decides on TLS
    config.ssl_mode(DriverSslMode::Require).ssl_negotiation(SslNegotiation::Direct);
    let password = match (&address.password, address.passwords.as_deref()) {
        (Some(password), _) => Some(password.clone()),
        (None, Some(file)) => address.password_in(&passwords(file)?),
        (None, None) => None,
    };
    if let Some(password) = password {
        config.password(password.as_str());
    }
    Ok(config)
}

fn passwords(file: &Path) -> Result<String, ServerError> {
    sealstone_file::input::read_given_to_string(file)
        .map_err(ServerError::unread("the passwords in", file))
}

/// Returns the numbers of the only row of `rows`; other values are skipped.
fn numbers(rows: &[Vec<String>]) -> impl Iterator<Item = u64> {
    rows.first().into_iter().flatten().map(|text| text.parse().unwrap_or(0))
}

impl Server for Postgres {
    type Link = PostgresLink;
    const DIALECT: &'static Dialect = &DIALECT;
    const FLAG: &'static str = "postgres-url";

    fn place(&self) -> &Place {
        &self.inner.place
    }

    fn link(&self, sync_writes: bool) -> Result<PostgresLink, ServerError> {
        let failed = |failure| self.inner.place.failure("connect to", failure);
        let mut link = self.inner.connect().map_err(failed)?;
        let wanted = match (sync_writes, self.inner.may_lag) {
            (true, _) => "SET synchronous_commit = on",
            (false, true) => "SET synchronous_commit = off",
            (false, false) => return Ok(link),
        };
        link.ask(wanted).map_err(failed)?;
        Ok(link)
    }

    fn facts(&self) -> EngineFacts {
        let mut settings = BTreeMap::new();
        let link = self.inner.connect();
        if let Ok(mut link) = link {
            for name in SETTINGS {
                let told = link.ask(&format!("SHOW {name}")).ok();
                let value = told
                    .and_then(|rows| rows.first()?.first().cloned())
                    .unwrap_or_else(|| "unknown".into());
                settings.insert(name.to_owned(), value);
            }
        }
        if self.inner.may_lag {
            let how = "off, but on under workloads named -sync";
            settings.insert("synchronous_commit".into(), how.into());
        }
        settings.insert(
            "records".into(),
            "a row for each, with the columns of YCSB's JDBC binding".into(),
        );
        EngineFacts {
            name: "postgres".into(),
            version: self.inner.version.clone(),
            build: "server".into(),
            assertions: false,
            settings,
        }
    }

    fn tls(&self, link: &mut PostgresLink) -> Result<Option<String>, Failure> {
        let told = link
            .ask("SELECT version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl")?;
        Ok(told.first().map(|row| row.join(", ")))
    }

    fn unsynced(&self, link: &mut PostgresLink) -> Result<Option<String>, Failure> {
        let told = link.ask("SHOW fsync")?;
        let fsync = told.first().and_then(|row| row.first()).map(String::as_str);
        Ok((fsync != Some("on")).then(|| "fsync is off".into()))
    }

    fn counters(&self, link: &mut PostgresLink) -> Result<Counters, Failure> {
        let rows = link.ask(if self.major_version() >= 17 { COUNTERS_17 } else { COUNTERS })?;
        let mut numbers = numbers(&rows);
        let mut next = || numbers.next().unwrap_or(0);
        let (read, hits, written, log_bytes, syncs) = (next(), next(), next(), next(), next());
        Ok(Counters {
            read_bytes: read * PAGE_BYTES,
            written_bytes: written * PAGE_BYTES + log_bytes,
            cache_hits: hits,
            cache_misses: read,
            syncs,
            ..Counters::default()
        })
    }

    fn disk_bytes(&self, link: &mut PostgresLink, tables: &[&str]) -> Result<u64, Failure> {
        let name = |name: &&str| {
            format!("pg_total_relation_size({}::regclass)", literal(&DIALECT.quoted(name)))
        };
        let sizes: Vec<String> = tables.iter().map(name).collect();
        let rows = link.ask(&format!("SELECT 0::int8 + {}", sizes.join(" + ")))?;
        Ok(numbers(&rows).next().unwrap_or(0))
    }

    /// Requests a checkpoint; a user without the right does without.
    fn settle(&self, link: &mut PostgresLink) -> Result<(), Failure> {
        const MAY: &str = "SELECT rolsuper OR pg_has_role(rolname, 'pg_checkpoint', 'member') FROM \
                           pg_roles WHERE rolname = current_user";
        // before version 15 this role did not exist
        let may = if self.major_version() >= 15 {
            MAY
        } else {
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        };
        let told = link.ask(may)?;
        if told.first().and_then(|row| row.first()).is_some_and(|may| may == "t") {
            link.ask_long("CHECKPOINT")?;
        }
        Ok(())
    }

    /// Updates the record of which rows all can see, and the planner's assumptions about them.
    fn tidy(&self, link: &mut PostgresLink, layout: &Layout) -> Result<(), Failure> {
        link.ask_long(&format!("VACUUM (ANALYZE) {}", DIALECT.quoted(&layout.name))).map(drop)
    }
}
