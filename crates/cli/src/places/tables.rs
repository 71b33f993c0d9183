//! Tables with sealed columns among places.

use sealstone_audit::facts::{Clear, Kind, Maker, NotVerified, Place, Verified};
use sealstone_fields::migration::{ColumnStatus, Record, Status, status};
use sealstone_fields::policy::Method;
use sealstone_keys::KeyRef;
use sealstone_message::without_secrets;

use super::columns::column_share;
use super::findings::unread;
use crate::flags::ServerTls;
use crate::table_server::{address_and_table, connect};

/// Places where rows may be as they were before they were sealed, and what to do about it.
pub(crate) const REMAINS: [(&str, &str); 3] = [
    ("logs of the server", "remove binary logs and archived WAL that are older than the sealing"),
    ("free space of its files", "rewrite the table: OPTIMIZE TABLE, VACUUM FULL"),
    ("backups and copies", "remove what is older than the sealing, or encrypt it"),
];

/// Looks at tables, each `ADDRESS#TABLE`.
///
/// # Errors
/// A text that names no table. What keeps a table from being looked at is part of the answer.
pub(super) fn looked_at(named: &[String], tls: &ServerTls) -> anyhow::Result<Vec<Place>> {
    named.iter().map(|text| one(text, tls)).collect()
}

fn one(text: &str, tls: &ServerTls) -> anyhow::Result<Place> {
    let (address, table) = address_and_table(text)?;
    let mut server = match connect(address, table, tls) {
        Ok(server) => server,
        Err(error) => {
            // the server that could be asked for its place is not there
            return Ok(unlooked(&without_secrets(address), table, &error));
        }
    };
    let at = server.place();
    Ok(match status(&mut *server, table) {
        Ok(found) => place(&at, table, &found),
        Err(error) => unlooked(&at, table, &error.into()),
    })
}

/// Returns the table `name` of the server `at`, which could not be looked at.
pub(crate) fn unlooked(at: &str, name: &str, error: &anyhow::Error) -> Place {
    unread(empty(at, name), error)
}

fn empty(at: &str, table: &str) -> Place {
    Place::new(format!("{at}, table {table}"), Kind::Table, "table")
}

/// Returns the facts about the table `name` of the server `at`.
pub(crate) fn place(at: &str, name: &str, found: &Status) -> Place {
    let Status { record: Record { table, key, module, .. }, columns, .. } = found;
    let mut place = empty(at, name);
    for ColumnStatus { column, sealed, clear, written_over } in columns {
        // a column of which nothing is sealed yet is shown with the version that seals it
        let none = [(key.version, 0)].into_iter().filter(|_| sealed.is_empty());
        for (version, values) in sealed.iter().map(|(version, all)| (*version, *all)).chain(none) {
            let under = KeyRef { version, ..key.clone() };
            let mut share = column_share(column, table.cipher, &under, values);
            // the record names what seals now
            share.maker = match version == key.version {
                true => Maker::of(module.clone()),
                false => Maker::NotRecorded,
            };
            place.sealed.push(share);
        }
        let mut add = |values: u64, what: &str, remark: &str| {
            if values > 0 {
                place.clear.push(Clear {
                    name: format!("{} ({values} values{what})", column.name),
                    bytes: None,
                    remark: Some(remark.into()),
                    values: Some(values),
                });
            }
        };
        add(*clear, "", "seal them with: sealstone field migrate");
        add(
            *written_over,
            ", written over",
            "something wrote past the trigger that keeps marks: set the marks to NULL where values \
             are in the clear, then seal them",
        );
    }
    let remains = |(name, remark): (&str, &str)| Clear {
        name: name.into(),
        bytes: None,
        remark: Some(remark.into()),
        values: None,
    };
    place.beside = REMAINS.map(remains).to_vec();
    let has_tags = found.columns.iter().all(|column| matches!(column.column.method, Method::Aead));
    let why = if has_tags { NotVerified::WhenRead } else { NotVerified::Never };
    place.verified = Verified::Not { why };
    place
}
