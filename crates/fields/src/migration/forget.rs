//! Handling of the server's record of a table that is no longer the sealed table: it was dropped,
//! and perhaps created again.

use super::check::SealedAs;
use super::error::MigrationError;
use super::layout::former;
use super::run::said;
use super::server::TableServer;

/// Removes what the server keeps of a sealed table of which nothing else is left: no mark, no
/// digest, no index column and no trigger. Returns how it was sealed.
///
/// - `name`: the table, for messages; it need not be there
///
/// # Errors
/// [`MigrationError::NotSealed`], [`MigrationError::Left`], [`MigrationError::Locked`],
/// [`MigrationError::Phase`], [`MigrationError::Manifest`], the server's error.
pub fn forget(server: &mut dyn TableServer, name: &str) -> Result<SealedAs, MigrationError> {
    server.shape()?;
    let (place, table) = (server.place(), name.to_owned());
    if let Some(holder) = server.lock()? {
        return Err(MigrationError::Locked { place, table, holder });
    }
    let Some(state) = server.state()? else {
        return Err(MigrationError::NotSealed { place, table });
    };
    let (manifest, _) = said(&*server, name, &state)?;
    let left = server.left(&former(&manifest.table))?;
    if !left.is_empty() {
        return Err(MigrationError::Left { place, table, left: left.join(", ") });
    }
    server.forget()?;
    Ok(SealedAs { key: manifest.key.clone(), cipher: manifest.table.cipher.name })
}
