//! One pass over a file: threads work on row groups and their columns, the caller's thread writes
//! in the order of the file. Only a few row groups' sealed columns are in memory at once.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::TypePtr;
use sealstone_fields::FileMac;
use sealstone_fields::pass::{
    ColumnCount, Counts, Listener, OnMisfit, Plan, Progress, Reject, Work,
};
use sealstone_fields::policy::{Method, Tweak};

use crate::column_work::{Encoded, Found, GroupWork};
use crate::columns::Columns;
use crate::error::ParquetError;
use crate::filter::filtered;
use crate::footer::{Footer, chunks};
use crate::guard::guarded;
use crate::key_values::{self, Change};
use crate::output::Out;
use crate::schema::{self, Added};
use crate::source::{Input, Source};
use crate::thrift::Struct;
use crate::writer::Writer;

/// Limit on the memory that sealed columns may take, unless a single row group takes more, in
/// bytes.
const MEMORY_BYTES: u64 = 96 << 20;
/// Number of bytes by which an authenticated value is longer than the value that it holds, with a
/// key id of usual length.
const RECORD_BYTES: u64 = 90;

/// Task of a pass, and its number of threads.
pub struct Pass<'a> {
    /// Plan of what to do with which columns.
    pub plan: &'a Plan,
    /// Action for a row that does not fit.
    pub on_misfit: OnMisfit,
    /// Threads that work, about; one for each core by default.
    pub threads: Option<NonZeroUsize>,
    /// Number of rows of a column that are sealed at once: [`BATCH_ROWS`](crate::BATCH_ROWS), or a
    /// multiple of it if the computing device needs many values at a time. The file is the same.
    pub batch_rows: usize,
    /// Turns true when the pass is to end early, with [`ParquetError::Stopped`].
    pub stop: &'a AtomicBool,
}

/// A row group after the work.
#[derive(Debug, Default)]
struct Worked {
    /// For each column of the table; none after a check.
    encoded: Vec<Encoded>,
    found: Vec<Found>,
    /// For each row, whether it stays; none if all do.
    keep: Option<Vec<bool>>,
}

type Done = (usize, Result<Worked, ParquetError>);

/// State that all threads of a pass share.
struct Shared<'a> {
    plan: &'a Plan,
    columns: &'a Columns,
    source: &'a Source,
    root: &'a TypePtr,
    groups: &'a [RowGroupMetaData],
    on_misfit: OnMisfit,
    batch_rows: usize,
    stops: [&'a AtomicBool; 2],
}

impl Pass<'_> {
    /// Reads `input` and writes the result to `output`.
    ///
    /// - `write_mac`: gets every byte that is written, for a manifest
    ///
    /// # Errors
    /// Each [`ParquetError`]; the output is then no whole file.
    pub fn run(
        &self,
        input: &Input,
        output: &mut dyn Write,
        write_mac: Option<&mut FileMac>,
        listener: &mut Listener<'_>,
    ) -> Result<Counts, ParquetError> {
        let source = &input.source;
        let mut footer = Footer::read(source)?;
        let schema = footer.metadata.file_metadata().schema_descr_ptr();
        let columns = Columns::of(self.plan, &schema)?;
        let mut stored = Vec::new();
        let mut writer = None;
        if self.plan.work.writes() {
            stored = footer.take_groups();
            change(self.plan, &columns, &mut footer)?;
            writer = Some(Writer::begin(Out::new(output, write_mac))?);
        }
        let (root, ended) = (schema.root_schema_ptr(), AtomicBool::new(false));
        let groups = footer.metadata.row_groups();
        let stops = [self.stop, &ended];
        let shared = Shared {
            plan: self.plan,
            columns: &columns,
            source,
            root: &root,
            groups,
            on_misfit: self.on_misfit,
            batch_rows: self.batch_rows,
            stops,
        };
        let mut counts = Counts {
            columns: vec![ColumnCount::default(); columns.leaves.len()],
            ..Counts::default()
        };
        let at_once = self.at_once(&columns, groups);
        let (finished, done) = channel::<Done>();
        // each is the permission to work on a row group
        let (give, tokens) = channel::<()>();
        for _ in 0..at_once {
            let _ = give.send(());
        }
        let (tokens, next) = (Mutex::new(tokens), AtomicUsize::new(0));
        let (tokens, next, shared) = (&tokens, &next, &shared);
        thread::scope(|scope| {
            for _ in 0..at_once {
                let finished = finished.clone();
                scope.spawn(move || {
                    loop {
                        let token = tokens.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if token.is_err() || number >= groups.len() {
                            return;
                        }
                        // no other thread may wait for one that panicked
                        let what = format!("row group {}", number + 1);
                        let outcome = guarded(&what, || shared.work_on(number));
                        if finished.send((number, outcome)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(finished);
            let outcome =
                self.collect(shared, &done, give, &stored, &mut writer, listener, &mut counts);
            ended.store(true, Ordering::Relaxed);
            outcome
        })?;
        source.check_unchanged()?;
        if let Some(writer) = writer {
            writer.finish(footer.file)?;
        }
        Ok(counts)
    }

    /// Returns the number of row groups that are worked on, or wait to be written, at once.
    fn at_once(&self, columns: &Columns, groups: &[RowGroupMetaData]) -> usize {
        let threads = self
            .threads
            .or_else(|| thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get);
        let wanted = threads.div_ceil(columns.leaves.len()) + 1;
        let bytes = |group: &RowGroupMetaData| -> u64 {
            let columns = columns.leaves.iter().zip(&self.plan.table.columns);
            let bytes = columns.map(|(leaf, column)| {
                let (stored, rows) = (
                    group.column(*leaf).uncompressed_size().max(0) as u64,
                    group.num_rows() as u64,
                );
                match column.method {
                    Method::Aead => {
                        stored.saturating_mul(2).saturating_add(rows.saturating_mul(RECORD_BYTES))
                    }
                    Method::Ff1(_) => stored.saturating_mul(2),
                }
            });
            bytes.fold(0, u64::saturating_add)
        };
        let most = groups.iter().map(bytes).max().unwrap_or(0).max(1);
        let fit = usize::try_from(MEMORY_BYTES / most).unwrap_or(usize::MAX);
        wanted.min(fit).min(groups.len()).max(1)
    }

    /// Takes the finished work in the order of the file, and writes it.
    #[expect(clippy::too_many_arguments, reason = "the ends of one pipe")]
    fn collect(
        &self,
        shared: &Shared<'_>,
        done: &Receiver<Done>,
        give: Sender<()>,
        stored: &[Struct],
        writer: &mut Option<Writer<'_>>,
        listener: &mut Listener<'_>,
        counts: &mut Counts,
    ) -> Result<(), ParquetError> {
        let mut early: BTreeMap<usize, Result<Worked, ParquetError>> = BTreeMap::new();
        let (mut next, mut bytes, mut rows) = (0, 0, 0);
        while next < shared.groups.len() {
            let Ok((number, outcome)) = done.recv() else { break };
            early.insert(number, outcome);
            while let Some(outcome) = early.remove(&next) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(ParquetError::Stopped);
                }
                let worked = outcome?;
                let group = &shared.groups[next];
                self.rejects(&worked, rows, listener)?;
                let all = group.num_rows() as u64;
                let kept = worked
                    .keep
                    .as_ref()
                    .map_or(all, |keep| keep.iter().filter(|keep| **keep).count() as u64);
                for (count, found) in counts.columns.iter_mut().zip(&worked.found) {
                    count.add(&found.count);
                }
                counts.rows += kept;
                counts.rejected += all - kept;
                if let Some(writer) = writer.as_mut().filter(|_| kept > 0 || all == 0) {
                    write_group(shared, group, &stored[next], &worked, kept, writer)?;
                }
                rows += all;
                bytes += group.compressed_size().max(0) as u64;
                (listener.on_progress)(Progress { bytes, rows });
                next += 1;
                let _ = give.send(());
            }
        }
        Ok(())
    }

    /// Reports what does not fit in a row group before which there are `before` rows.
    fn rejects(
        &self,
        worked: &Worked,
        before: u64,
        listener: &mut Listener<'_>,
    ) -> Result<(), ParquetError> {
        let all = worked.found.iter().enumerate();
        let mut all: Vec<_> = all
            .flat_map(|(at, found)| found.misfits.iter().map(move |misfit| (at, misfit)))
            .collect();
        all.sort_by_key(|(at, (number, _))| (*number, *at));
        for (at, (number, misfit)) in all {
            let (place, misfit) = (before + *number as u64 + 1, misfit.clone());
            let column = self.plan.table.columns[at].name.clone();
            if self.on_misfit == OnMisfit::Fail {
                return Err(ParquetError::Misfit { row: place, column, misfit });
            }
            (listener.on_reject)(&Reject { place, column, misfit }).map_err(ParquetError::Write)?;
        }
        Ok(())
    }
}

impl Shared<'_> {
    /// Returns the work on the row group `number`.
    fn work_on(&self, number: usize) -> Result<Worked, ParquetError> {
        let Self { plan, columns, source, root, batch_rows, stops, .. } = *self;
        let work = GroupWork {
            plan,
            columns,
            source,
            root,
            group: &self.groups[number],
            batch_rows,
            stops,
        };
        let rows = work.group.num_rows() as usize;
        let is_check = !plan.work.writes();
        let mut worked = Worked::default();
        // a row left out of one column is left out of all, so it must be known first
        if is_check || self.on_misfit == OnMisfit::Report {
            worked.found = self.each_column(|at| work.examine(at))?;
            let out: BTreeSet<usize> = worked
                .found
                .iter()
                .flat_map(|found| found.misfits.iter().map(|(row, _)| *row))
                .collect();
            if !out.is_empty() {
                worked.keep = Some((0..rows).map(|row| !out.contains(&row)).collect());
            }
        }
        if is_check || worked.keep.as_ref().is_some_and(|keep| !keep.contains(&true)) {
            return Ok(worked);
        }
        let is_examined = !worked.found.is_empty();
        let all = vec![true; if is_examined { rows } else { 0 }];
        let keep = is_examined.then(|| worked.keep.as_deref().unwrap_or(&all));
        for (encoded, found) in self.each_column(|at| work.encode(at, keep))? {
            worked.encoded.push(encoded);
            if !is_examined {
                worked.found.push(found);
            }
        }
        Ok(worked)
    }

    /// Does `work` with each column of the table, side by side.
    fn each_column<T: Send>(
        &self,
        work: impl Fn(usize) -> Result<T, ParquetError> + Sync,
    ) -> Result<Vec<T>, ParquetError> {
        let work = &work;
        thread::scope(|scope| {
            let others: Vec<_> =
                (1..self.columns.leaves.len()).map(|at| scope.spawn(move || work(at))).collect();
            let first = work(0);
            let others = others.into_iter().map(|other| match other.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(first).chain(others.collect::<Vec<_>>()).collect()
        })
    }
}

/// Changes the columns in the footer.
fn change(plan: &Plan, columns: &Columns, footer: &mut Footer) -> Result<(), ParquetError> {
    let schema = footer.metadata.file_metadata().schema_descr_ptr();
    let added = columns.indexed.iter().filter_map(|&at| {
        let name = plan.table.columns[at].index.as_ref()?.name.clone();
        Some(Added { name, optional: schema.column(columns.leaves[at]).max_def_level() > 0 })
    });
    let added: Vec<Added> = added.collect();
    let fields = schema.root_schema().get_fields();
    let dropped = columns.dropped_roots.iter().map(|root| fields[*root].name()).collect();
    let is_open = matches!(plan.work, Work::Open(_));
    let distinct = plan.table.columns.iter().filter(|column| {
        !is_open && (matches!(column.method, Method::Aead) || matches!(column.tweak, Tweak::Row(_)))
    });
    let distinct = distinct.map(|column| column.name.as_str()).collect();
    key_values::change(&mut footer.file, &Change { dropped, added: &added, distinct })?;
    schema::change(&mut footer.file, columns, &added)
}

/// Writes a row group of which `kept` rows stay.
fn write_group(
    shared: &Shared<'_>,
    group: &RowGroupMetaData,
    stored: &Struct,
    worked: &Worked,
    kept: u64,
    writer: &mut Writer<'_>,
) -> Result<(), ParquetError> {
    let Shared { columns, source, root, plan, .. } = *shared;
    let mut written = writer.group(stored);
    for (leaf, chunk) in chunks(stored).enumerate() {
        if columns.dropped_leaves.contains(&leaf) {
            continue;
        }
        let name = group.column(leaf).column_path().string();
        match (columns.leaves.iter().position(|found| *found == leaf), &worked.keep) {
            (Some(at), _) if !columns.nulls[at] => {
                writer.encoded(&mut written, &name, &worked.encoded[at].values)?
            }
            (_, Some(keep)) => {
                let file = guarded(&format!("column {name}"), || {
                    filtered(source, root, group, leaf, keep)
                })?;
                writer.encoded(&mut written, &name, &file)?;
            }
            (_, None) => writer.column(&mut written, &name, chunk, source)?,
        }
    }
    for &at in &columns.indexed {
        let (Some(index), Some(file)) = (&plan.table.columns[at].index, &worked.encoded[at].index)
        else {
            continue;
        };
        writer.encoded(&mut written, &index.name, file)?;
    }
    writer.end_group(written, kept, columns)
}
