//! Tables with sealed columns in an audit. Not here: sealing them (`field`).

use std::sync::atomic::AtomicBool;

use sealstone_audit::facts::{Clear, Kind, Maker, NotVerified, Place, Verified};
use sealstone_fields::migration::{self, Options, TableServer};
use sealstone_fields::pass::OnMisfit;

use super::columns::shares;
use super::findings::unread;
use crate::field::{address_and_table, connect};
use crate::flags::ServerTls;

/// Rows that are read at a time.
const BATCH_ROWS: usize = 1000;

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
            let place = Place::new(table.to_owned(), Kind::Table, "table");
            return Ok(unread(place, &error));
        }
    };
    let name = format!("{}, table {table}", server.place());
    let place = Place::new(name, Kind::Table, "table");
    Ok(look(&mut *server, table, place.clone()).unwrap_or_else(|error| unread(place, &error)))
}

fn look(server: &mut dyn TableServer, name: &str, mut place: Place) -> anyhow::Result<Place> {
    let migration::Record { table, key, module } = migration::record(server, name)?;
    let stop = AtomicBool::new(false);
    let options = Options {
        batch: BATCH_ROWS,
        rows_per_second: None,
        on_misfit: OnMisfit::Report,
        stop: &stop,
    };
    let checked = migration::check(server, name, &table, Some(&key.id), &options, &mut |_| {})?;
    place.sealed = shares(&table, &key, checked.sealed);
    for share in &mut place.sealed {
        share.maker = Maker::of(module.clone());
    }
    for (column, found) in table.columns.iter().zip(&checked.columns) {
        let clear = found.clear.values;
        if clear > 0 {
            place.clear.push(Clear {
                name: format!("{} ({clear} values)", column.name),
                bytes: None,
                remark: Some("seal them with: sealstone field migrate".into()),
            });
        }
    }
    place.verified = Verified::Not { why: NotVerified::WhenRead };
    Ok(place)
}
