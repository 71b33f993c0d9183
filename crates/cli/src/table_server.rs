//! Tables of databases as commands name them, and connections to their servers.

use anyhow::Context;
use sealstone_fields::migration::TableServer;
use sealstone_stores::{TableOptions, connect_table};

use crate::audit_log;
use crate::flags::ServerTls;

/// Takes `ADDRESS#TABLE` apart.
///
/// # Errors
/// A text that names no table. It is not repeated: it may have a password in it.
pub(crate) fn address_and_table(text: &str) -> anyhow::Result<(&str, &str)> {
    text.rsplit_once('#')
        .filter(|(address, table)| !address.is_empty() && !table.is_empty())
        // that is the end of an address, with a # in its password
        .filter(|(_, table)| !table.contains(['@', ':', '/']))
        .context(
            "--table names no table: it is an address, #, and the name of the table\nwrite \
             mysql://USER:PASSWORD@HOST:PORT/DATABASE#TABLE, or @FILE#TABLE with the address in a \
             file",
        )
}

/// Returns a connection to the server at `address`, for the table `name`.
pub(crate) fn connect(
    address: &str,
    name: &str,
    tls: &ServerTls,
) -> anyhow::Result<Box<dyn TableServer>> {
    let options = TableOptions {
        address: address.to_owned(),
        tls_ca_file: tls.tls_ca_file.clone(),
        tls_certificate_key_file: tls.tls_certificate_key_file.clone(),
    };
    let server = connect_table(&options, name)?;
    audit_log::server(&server.place());
    Ok(server)
}
