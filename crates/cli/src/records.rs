//! `sealstone rest get`, `scan` and `dump`: the records of a sealed store that no process has open.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use sealstone_cipher::Backend;
use sealstone_rocksdb::rest::{Records, Selection};

use crate::bytes::{Bytes, SEPARATOR, shown};
use crate::flags::{DumpFlags, GetFlags, ReadFlags, ScanFlags};
use crate::message::{Answer, cannot_write, print, say};
use crate::{audit_log, key_source};

/// Shows the value of one record; the answer is negative if there is none.
pub(crate) fn get(flags: &GetFlags) -> anyhow::Result<Answer> {
    let value = open(&flags.read)?.get(&flags.record.0)?;
    match value {
        Some(value) => {
            audit_log::rows(1);
            print(&format!("{}\n", shown(&value, flags.hex)))?;
            Ok(Answer::Done)
        }
        None => {
            say(&format!("no such record in column family {}", flags.read.family));
            Ok(Answer::Negative)
        }
    }
}

/// Shows the records of a range.
pub(crate) fn scan(flags: &ScanFlags) -> anyhow::Result<Answer> {
    let bytes = |bound: &Option<Bytes>| bound.as_ref().map(|bound| bound.0.clone());
    let (from, to, prefix) =
        (bytes(&flags.from), bytes(&flags.to), bytes(&flags.prefix).unwrap_or_default());
    let selection =
        Selection { from: from.as_deref(), to: to.as_deref(), prefix: &prefix, limit: flags.limit };
    write(&open(&flags.read)?, selection, flags.hex)?;
    Ok(Answer::Done)
}

/// Writes every record in the form that `ldb load --hex` reads.
pub(crate) fn dump(flags: &DumpFlags) -> anyhow::Result<Answer> {
    let records = open(&flags.read)?;
    write(&records, Selection::default(), true)?;
    let others: Vec<&str> = records
        .families()
        .iter()
        .filter(|name| **name != flags.read.family)
        .map(String::as_str)
        .collect();
    if !others.is_empty() {
        say(&format!(
            "this was column family {}; others: {}",
            flags.read.family,
            others.join(", ")
        ));
    }
    Ok(Answer::Done)
}

fn open(flags: &ReadFlags) -> anyhow::Result<Records> {
    let keys = key_source::of_store(&flags.store)?;
    Ok(Records::open(&flags.store.dir, keys, Backend::auto(), &flags.family)?)
}

fn write(records: &Records, selection: Selection<'_>, hex: bool) -> anyhow::Result<()> {
    let mut stdout = BufWriter::new(std::io::stdout().lock());
    let (mut failed, mut rows) = (None, 0);
    let scanned = records.scan(selection, |key, value| {
        rows += 1;
        match writeln!(stdout, "{}{SEPARATOR}{}", shown(key, hex), shown(value, hex)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    // also what was shown before a damaged block
    audit_log::rows(rows);
    scanned?;
    failed.map_or_else(|| stdout.flush(), Err).map_err(cannot_write)
}
