//! Tables of databases whose columns are sealed in place: the server of an address, and a
//! connection to it. Not here: the migration of a table (`sealstone_fields::migration`), the table
//! of stores (`table`).

use std::path::PathBuf;

use sealstone_fields::migration::TableServer;
use sealstone_message::{scheme_words, shown_address};

use crate::server_error::{ServerError, address};
use crate::sql::Error;

/// Settings of the connection to a server.
#[derive(Clone, Default)]
pub struct TableOptions {
    /// Such as `mysql://…` or `postgres://…`, or `@FILE` with that in the file.
    pub address: String,
    /// File with the authorities that the server's certificate is checked with.
    pub tls_ca_file: Option<PathBuf>,
    /// File with certificate and key of the client.
    pub tls_certificate_key_file: Option<PathBuf>,
}

// the address may contain a password
impl std::fmt::Debug for TableOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableOptions").finish_non_exhaustive()
    }
}

/// Connects for a table.
type Connect = fn(&TableOptions, &str, &str) -> Result<Box<dyn TableServer>, Error>;

/// The servers with the schemes of their addresses.
static SERVERS: &[(&str, Connect)] = &[
    #[cfg(feature = "mysql")]
    ("mysql", mysql),
    #[cfg(feature = "mysql")]
    ("mariadb", mysql),
    #[cfg(feature = "postgres")]
    ("postgres", postgres),
    #[cfg(feature = "postgres")]
    ("postgresql", postgres),
];

/// Returns whether `text` is the address of a server, and not the name of a file.
#[must_use]
pub fn is_address(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, _)| SERVERS.iter().any(|(known, _)| *known == scheme))
}

/// Connects to the server for the table `table`, which need not be there.
///
/// # Errors
/// [`ServerError::Address`], [`ServerError::File`], [`Error::Tls`]; [`ServerError::Failed`] after 5
/// s at the latest.
pub fn connect(options: &TableOptions, table: &str) -> Result<Box<dyn TableServer>, Error> {
    let named = address(&options.address)?;
    let scheme = named.split_once("://").map_or("", |(scheme, _)| scheme);
    let Some((_, connect)) = SERVERS.iter().find(|(known, _)| *known == scheme) else {
        let shown = shown_address(&named);
        let found =
            if scheme.is_empty() { "it has no scheme".into() } else { scheme_words(scheme) };
        let forms = "write mysql://USER:PASSWORD@HOST:PORT/DATABASE or \
                     postgres://USER:PASSWORD@HOST:PORT/DATABASE";
        return Err(ServerError::Address { server: "database", shown, found, forms }.into());
    };
    connect(options, &named, table)
}

#[cfg(feature = "mysql")]
fn mysql(
    options: &TableOptions,
    address: &str,
    table: &str,
) -> Result<Box<dyn TableServer>, Error> {
    let options = crate::mysql::MysqlOptions {
        uri: address.to_owned(),
        tls_ca_file: options.tls_ca_file.clone(),
        tls_certificate_key_file: options.tls_certificate_key_file.clone(),
    };
    Ok(Box::new(crate::mysql::MysqlTable::connect(&options, table)?))
}

#[cfg(feature = "postgres")]
fn postgres(
    options: &TableOptions,
    address: &str,
    table: &str,
) -> Result<Box<dyn TableServer>, Error> {
    let options = crate::postgres::PostgresOptions {
        uri: address.to_owned(),
        tls_ca_file: options.tls_ca_file.clone(),
        tls_certificate_key_file: options.tls_certificate_key_file.clone(),
        may_lag: false,
    };
    Ok(Box::new(crate::postgres::PostgresTable::connect(&options, table)?))
}
