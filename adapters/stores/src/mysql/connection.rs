//! A running server: making connections to it, and its own reports. Not here: addresses
//! (`address`), the work of a connection (`link`), records (`sql`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mysql::consts::CapabilityFlags;
use mysql::{ClientIdentity, Opts, OptsBuilder, SslOpts};
use sealstone_message::Password;
use sealstone_store::{Counters, EngineFacts, StoreError, StoreOptions};

use super::address::{Address, SslMode, password_in};
use super::link::{DIALECT, MysqlLink};
use super::table_text::literal;
use super::timed_connection::Watched;
use crate::server_error::{Place, ServerError};
use crate::sql::{Dialect, Error, Failure, Layout, Server, SqlStore};
use crate::time_limits::{ACCEPT_LIMIT, CONNECT_LIMIT, LONG_LIMIT};

/// Idle time before, and interval between, keep-alive probes of the other machine.
const ALIVE_AFTER: Duration = Duration::from_secs(30);
const ALIVE_EVERY: Duration = Duration::from_secs(10);
/// No file: set as the source of a server's key, so that the driver does not take a key from the
/// server.
const NO_KEY: &str = "/proc/self/no-key";
/// Counters that the server keeps.
const COUNTERS: [&str; 5] = [
    "Innodb_data_read",
    "Innodb_data_written",
    "Innodb_data_fsyncs",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
];
/// The settings that matter to a reader of a report.
const SETTINGS: [&str; 7] = [
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_log_file_size",
    "log_bin",
    "sync_binlog",
];

/// Options for reaching a server.
#[derive(Clone, Default)]
pub struct MysqlOptions {
    /// `mysql://…`.
    pub uri: String,
    /// File with the authorities that the server's certificate is checked with; its name is
    /// checked, too, unless the address disables that.
    pub tls_ca_file: Option<PathBuf>,
    /// File with certificate and key of the client.
    pub tls_certificate_key_file: Option<PathBuf>,
}

// the address may contain a password
impl std::fmt::Debug for MysqlOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = Address::parse(&self.uri).map(|address| address.shown()).unwrap_or_default();
        f.debug_struct("MysqlOptions").field("at", &shown).finish_non_exhaustive()
    }
}

/// A store on MySQL or MariaDB.
pub type MysqlStore = SqlStore<Mysql>;

/// A server that runs. Each thread that uses a store on it has its own connection.
#[derive(Clone)]
pub struct Mysql {
    inner: Arc<Inner>,
}

struct Inner {
    opts: Opts,
    place: Place,
    version: String,
    /// True for MariaDB, which names some of its views otherwise.
    is_mariadb: bool,
}

impl std::fmt::Debug for Mysql {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Inner { place, version, .. } = &*self.inner;
        f.debug_struct("Mysql")
            .field("at", &place.shown)
            .field("version", version)
            .finish_non_exhaustive()
    }
}

impl Mysql {
    /// Connects, and queries the server's kind.
    ///
    /// # Errors
    /// [`ServerError::Address`], [`ServerError::File`]; [`ServerError::Failed`] after 20 s at the
    /// latest.
    pub fn connect(options: &MysqlOptions) -> Result<Self, Error> {
        let address = Address::parse(&options.uri)?;
        let mut place = Place { server: "MySQL", shown: address.shown() };
        let opts = opts(&address, options)?;
        let failed = |place: &Place, failure| place.failure("connect to", failure);
        let mut link = connect(&opts).map_err(|failure| failed(&place, failure))?;
        let told = link
            .ask_within(CONNECT_LIMIT, "SELECT version()")
            .map_err(|failure| failed(&place, failure))?;
        let version =
            told.first().and_then(|row| row.first()).cloned().unwrap_or_else(|| "unknown".into());
        // "10.11.19-MariaDB-0+deb12u1"
        let is_mariadb = version.contains("MariaDB");
        if is_mariadb {
            place.server = "MariaDB";
        }
        Ok(Self { inner: Arc::new(Inner { opts, place, version, is_mariadb }) })
    }

    /// Opens the store, and makes missing tables. Cache and durability are the server's:
    /// `options.cache_bytes` and `options.sync_writes` are not used.
    ///
    /// # Errors
    /// A server that does not answer, or refuses to make a table.
    pub fn open_store(&self, options: &StoreOptions) -> Result<MysqlStore, StoreError> {
        SqlStore::open(self, options)
    }

    /// Returns a connection without a store.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    pub(super) fn client(&self) -> Result<Watched, ServerError> {
        let connected = Watched::connect(self.inner.opts.clone());
        connected.map_err(|failure| self.inner.place.failure("connect to", failure))
    }

    /// Returns its version, as it reports it: `10.11.6-MariaDB-0+deb12u1`.
    pub(super) fn version(&self) -> &str {
        &self.inner.version
    }
}

fn connect(opts: &Opts) -> Result<MysqlLink, Failure> {
    Watched::connect(opts.clone()).map(MysqlLink::new)
}

/// Returns the driver's options for `address`.
fn opts(address: &Address, options: &MysqlOptions) -> Result<Opts, ServerError> {
    let password = match (&address.password, &address.settings) {
        (Some(password), _) => Some(password.clone()),
        (None, Some(file)) => {
            let read = sealstone_file::input::read_given_to_string(file);
            password_in(&read.map_err(ServerError::unread("the settings in", file))?)
        }
        (None, None) => None,
    };
    let ssl_opts = ssl_opts(address, options)?;
    let is_checked = ssl_opts
        .as_ref()
        .is_some_and(|opts| !opts.accept_invalid_certs() && !opts.skip_domain_validation());
    let opts = OptsBuilder::new()
        .ip_or_hostname(Some(&address.host))
        .tcp_port(address.port)
        .prefer_socket(false)
        .user(address.user.as_deref())
        .pass(password.as_ref().map(Password::as_str))
        .db_name(Some(&address.database))
        .tcp_connect_timeout(Some(ACCEPT_LIMIT))
        // how long each statement may take in all is watched over
        .read_timeout(Some(LONG_LIMIT))
        .write_timeout(Some(LONG_LIMIT))
        .tcp_keepalive_time_ms(u32::try_from(ALIVE_AFTER.as_millis()).ok())
        .tcp_keepalive_probe_interval_secs(u32::try_from(ALIVE_EVERY.as_secs()).ok())
        .server_key_path((!address.takes_server_key).then(|| NO_KEY.into()))
        .stmt_cache_size(0)
        // an update to the existing value counts, too
        .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
        .ssl_opts(ssl_opts)
        // PAM on the server: nobody but the server that is meant can read it then
        .enable_cleartext_plugin(is_checked);
    Ok(opts.into())
}

fn ssl_opts(address: &Address, options: &MysqlOptions) -> Result<Option<SslOpts>, ServerError> {
    let mode = address.ssl_mode.unwrap_or(match options.tls_ca_file {
        Some(_) => SslMode::VerifyIdentity,
        None => SslMode::default(),
    });
    if mode == SslMode::Disabled {
        return Ok(None);
    }
    // the driver would never name the file
    let readable = |what: &'static str, file: PathBuf| {
        sealstone_file::input::read(&file).map_err(ServerError::unread(what, &file))?;
        Ok(file)
    };
    let authorities = options.tls_ca_file.clone().or_else(|| address.authorities.clone());
    let authorities =
        authorities.map(|file| readable("the certificate of an authority", file)).transpose()?;
    let own = address.certificate.clone().or_else(|| options.tls_certificate_key_file.clone());
    let own = own.map(|file| readable("certificate and key of the client", file)).transpose()?;
    let identity = own.map(|certificate| {
        let key = address.key.clone().unwrap_or_else(|| certificate.clone());
        ClientIdentity::new(certificate, key)
    });
    let opts = SslOpts::default()
        .with_root_cert_path(authorities)
        .with_client_identity(identity)
        .with_danger_skip_domain_validation(mode != SslMode::VerifyIdentity)
        .with_danger_accept_invalid_certs(mode == SslMode::Required);
    Ok(Some(opts))
}

impl Server for Mysql {
    type Link = MysqlLink;
    const DIALECT: &'static Dialect = &DIALECT;
    const FLAG: &'static str = "mysql-url";

    fn place(&self) -> &Place {
        &self.inner.place
    }

    /// Opens a link. Whether commits wait for the disk is a setting of the whole server.
    fn link(&self, _sync_writes: bool) -> Result<MysqlLink, ServerError> {
        connect(&self.inner.opts).map_err(|failure| self.inner.place.failure("connect to", failure))
    }

    fn facts(&self) -> EngineFacts {
        let mut settings = BTreeMap::new();
        if let Ok(mut link) = connect(&self.inner.opts) {
            for name in SETTINGS {
                let told = link.ask(&format!("SELECT @@{name}")).ok();
                let value = told
                    .and_then(|rows| rows.first()?.first().cloned())
                    .unwrap_or_else(|| "unknown".into());
                settings.insert(name.to_owned(), value);
            }
        }
        settings.insert(
            "records".into(),
            "a row for each, with the columns of YCSB's JDBC binding".into(),
        );
        EngineFacts {
            name: self.inner.place.server.to_lowercase(),
            version: self.inner.version.clone(),
            build: "server".into(),
            assertions: false,
            settings,
        }
    }

    fn tls(&self, link: &mut MysqlLink) -> Result<Option<String>, Failure> {
        // in the order of their names
        let told =
            link.ask("SHOW SESSION STATUS WHERE Variable_name IN ('Ssl_version', 'Ssl_cipher')")?;
        let values: Vec<String> =
            told.into_iter().rev().filter_map(|row| row.into_iter().nth(1)).collect();
        Ok((values.len() == 2 && values.iter().all(|value| !value.is_empty()))
            .then(|| values.join(", ")))
    }

    fn unsynced(&self, link: &mut MysqlLink) -> Result<Option<String>, Failure> {
        let told = link.ask("SELECT @@innodb_flush_log_at_trx_commit")?;
        let how = told.first().and_then(|row| row.first()).map(String::as_str).unwrap_or("unknown");
        Ok((how != "1").then(|| format!("innodb_flush_log_at_trx_commit is {how}, not 1")))
    }

    fn counters(&self, link: &mut MysqlLink) -> Result<Counters, Failure> {
        let names = COUNTERS.map(|name| format!("'{name}'")).join(", ");
        let rows = link.ask(&format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"))?;
        let count = |name: &str| -> u64 {
            let row = rows.iter().find(|row| row.first().is_some_and(|known| known == name));
            row.and_then(|row| row.get(1)?.parse().ok()).unwrap_or(0)
        };
        let [read, written, syncs, asked, misses] = COUNTERS.map(count);
        Ok(Counters {
            read_bytes: read,
            written_bytes: written,
            syncs,
            cache_hits: asked.saturating_sub(misses),
            cache_misses: misses,
            ..Counters::default()
        })
    }

    /// Returns the size of the files of its tables; where their list is not available, the server's
    /// estimate.
    fn disk_bytes(&self, link: &mut MysqlLink, tables: &[&str]) -> Result<u64, Failure> {
        let names: Vec<String> = tables.iter().map(|name| literal(name)).collect();
        let estimate = format!(
            "SELECT sum(data_length + index_length) FROM information_schema.tables WHERE \
             table_schema = database() AND table_name IN ({})",
            names.join(", ")
        );
        let list = match self.inner.is_mariadb {
            true => "innodb_sys_tablespaces",
            false => "innodb_tablespaces",
        };
        let files: Vec<String> =
            names.iter().map(|name| format!("concat(database(), '/', {name})")).collect();
        let files = format!(
            "SELECT sum(file_size) FROM information_schema.{list} WHERE name IN ({})",
            files.join(", ")
        );
        let sum = |rows: Vec<Vec<String>>| rows.first().and_then(|row| row.first()?.parse().ok());
        // a name with letters outside ASCII is encoded there
        match link.ask(&files).ok().and_then(sum) {
            Some(bytes) => Ok(bytes),
            None => Ok(link.ask(&estimate).map(sum)?.unwrap_or(0)),
        }
    }

    /// Its log is what makes writes durable; pages are written when there is time.
    fn settle(&self, _: &mut MysqlLink) -> Result<(), Failure> {
        Ok(())
    }

    /// Updates the planner's assumptions about its rows.
    fn tidy(&self, link: &mut MysqlLink, layout: &Layout) -> Result<(), Failure> {
        link.ask_within(LONG_LIMIT, &format!("ANALYZE TABLE {}", DIALECT.quoted(&layout.name)))
            .map(drop)
    }
}
