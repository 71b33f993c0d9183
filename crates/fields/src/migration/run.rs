//! Order of the steps of a migration: a table is examined, prepared, sealed in passes until a pass
//! finds nothing, and checked; and the same in reverse.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_keys::{KeyRef, KeySource};
use sealstone_message::Unknown;

use super::ciphers::Ciphers;
use super::error::{MigrationError, RowMisfit};
use super::goal::Goal;
use super::layout::{former, layout, rooms};
use super::server::{FailureKind, Phase, Row, RowChange, State, TableServer, Wanted};
use super::shape::{Layout, Shape, TextRoom};
use super::width::Width;
use crate::misfit::Misfit;
use crate::pass::OnMisfit;
use crate::policy::{Column, Table};
use crate::table_key::{Keyed, numbered};
use crate::table_manifest::TableManifest;

/// Passes at most: an application that goes on writing in the clear would never let it end.
const PASSES_MAX: u32 = 20;
/// Number of times that a batch is retried after a conflict with another transaction, and the
/// longest pause before a retry.
const CONFLICTS_MAX: u32 = 10;
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Longest time for which nothing can interrupt a pause.
const NAP: Duration = Duration::from_millis(50);
/// Values that do not fit, as many as are listed; all are counted.
const LISTED_MAX: usize = 20;
/// Advice about a value that does not fit.
const BEFORE: &str = "nothing was changed; correct such values, or leave them in the clear";
const DURING: &str = "what was sealed stays; correct the value and run the same command again, \
                         or leave such values in the clear";
const STAYS_SEALED: &str = "what was opened stays; restore the value from a backup and run the \
                            same command again, or leave such values sealed";

/// Current step of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Values are looked at; nothing is changed.
    Looking,
    /// Rows are changed, in the pass with this number.
    Changing(u32),
    /// Every row is read and opened.
    Checking,
}

/// Progress of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub step: Step,
    /// Rows that it has read.
    pub rows: u64,
    /// About how many there are.
    pub expected: u64,
}

/// Callback that receives the progress after each batch.
pub type Listener<'a> = &'a mut dyn FnMut(Progress);

/// Options of a migration.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Rows that are read and changed at a time, at least one.
    pub batch: usize,
    /// Rows a second at most.
    pub rows_per_second: Option<f64>,
    /// Reaction to a value that does not fit: the migration ends, or the value stays as it is.
    pub on_misfit: OnMisfit,
    /// Turns true when it is to end after the current batch.
    pub stop: &'a AtomicBool,
}

/// Values that do not fit, or do not open.
#[derive(Clone, Debug, Default)]
pub struct Misfits {
    /// Number of values that do not fit.
    pub values: u64,
    /// The first misfits.
    pub listed: Vec<RowMisfit>,
}

impl Misfits {
    pub(super) fn add(&mut self, found: Vec<RowMisfit>) {
        self.values += found.len() as u64;
        let room = LISTED_MAX - self.listed.len();
        self.listed.extend(found.into_iter().take(room));
    }
}

/// Result of a migration.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Columns and cipher.
    pub table: Table,
    /// The key, and the version under which values are sealed.
    pub key: KeyRef,
    /// Rows that were changed.
    pub changed_rows: u64,
    /// Rows of the table, all of which were read at the end; none where it was not.
    pub rows: Option<u64>,
    /// Rows with a value in the clear, at the end; `misfits` counts those with a reason.
    pub clear_rows: u64,
    /// Rows with a value under another version of the key, at the end.
    pub older_rows: u64,
    /// Values that could not be changed.
    pub misfits: Misfits,
    /// Values that do not open.
    pub unopened: Misfits,
    /// True if everything that was to be done is done.
    pub is_whole: bool,
}

/// Seals the columns of `table` in place, or goes on where it was left; then checks that every row
/// is sealed and opens.
///
/// - `name`: the table, for messages
///
/// # Errors
/// Each [`MigrationError`].
pub fn seal(
    server: &mut dyn TableServer,
    name: &str,
    table: &Table,
    keys: Arc<dyn KeySource>,
    options: &Options<'_>,
    listener: Listener<'_>,
) -> Result<Outcome, MigrationError> {
    let (shape, state) = begin(server, name)?;
    let (manifest, phase) = match &state {
        Some(state) => {
            let (manifest, phase) = known(server, name, state, &keys)?;
            if !manifest.is_of(table) {
                return Err(other_policy(server, name, &manifest));
            }
            if matches!(phase, Phase::Opening | Phase::Removing) {
                return Err(MigrationError::BeingOpened {
                    place: server.place(),
                    table: name.to_owned(),
                });
            }
            there(&*server, name, &shape, &manifest, phase)?;
            check_module(
                &*server,
                name,
                &manifest,
                &Keyed::of(keys.clone(), manifest.key.clone())?,
            )?;
            (manifest, phase)
        }
        None => (TableManifest::new(table, &Keyed::current(keys.clone())?)?, Phase::Preparing),
    };
    let mut run = Run::new(
        server,
        name,
        &shape,
        &manifest,
        keys.clone(),
        options,
        listener,
        state.is_some(),
    )?;
    if state.is_none() {
        run.server.check_order(&run.layout)?;
        run.look(&manifest)?;
    }
    let text = match state {
        Some(state) => state.manifest,
        None => manifest.text(&Keyed::of(keys, manifest.key.clone())?)?,
    };
    if phase == Phase::Preparing {
        run.server.save(Phase::Preparing, &text)?;
        run.server.prepare(&run.layout, true)?;
        run.server.save(Phase::Sealing, &text)?;
    } else {
        run.server.prepare(&run.layout, false)?;
    }
    run.server.check_order(&run.layout)?;
    run.finish(Goal::Seal(manifest.key.version), &manifest, &text)
}

/// Brings a sealed table to the newest version of its key, and seals values in the clear.
///
/// - `name`: the table, for messages
///
/// # Errors
/// Each [`MigrationError`].
pub fn reseal(
    server: &mut dyn TableServer,
    name: &str,
    keys: Arc<dyn KeySource>,
    options: &Options<'_>,
    listener: Listener<'_>,
) -> Result<Outcome, MigrationError> {
    let (shape, state) = begin(server, name)?;
    let (place, table) = (server.place(), name.to_owned());
    let Some(state) = state else { return Err(MigrationError::NotSealed { place, table }) };
    let (old, phase) = known(server, name, &state, &keys)?;
    match phase {
        Phase::Preparing => return Err(MigrationError::NotSealed { place, table }),
        Phase::Opening | Phase::Removing => {
            return Err(MigrationError::BeingOpened { place, table });
        }
        Phase::Sealing | Phase::Sealed => {}
    }
    there(&*server, name, &shape, &old, phase)?;
    let newest = Keyed::current(keys.clone())?;
    // marks have numbers alone
    numbered(&*keys, &old.key, old.key.version)?;
    let manifest = old.under(&newest);
    check_module(&*server, name, &manifest, &newest)?;
    let text = manifest.text(&newest)?;
    let run = Run::new(server, name, &shape, &manifest, keys, options, listener, true)?;
    run.server.prepare(&run.layout, false)?;
    run.server.check_order(&run.layout)?;
    run.server.save(Phase::Sealing, &text)?;
    run.finish(Goal::Reseal(manifest.key.version), &manifest, &text)
}

/// Opens a sealed table in place and removes everything that sealing it added.
///
/// - `name`: the table, for messages
///
/// # Errors
/// Each [`MigrationError`].
pub fn open(
    server: &mut dyn TableServer,
    name: &str,
    keys: Arc<dyn KeySource>,
    options: &Options<'_>,
    listener: Listener<'_>,
) -> Result<Outcome, MigrationError> {
    let (shape, state) = begin(server, name)?;
    let Some(state) = state else {
        return Err(MigrationError::NotSealed { place: server.place(), table: name.to_owned() });
    };
    let (manifest, phase) = known(server, name, &state, &keys)?;
    there(&*server, name, &shape, &manifest, phase)?;
    let mut run = Run::new(server, name, &shape, &manifest, keys, options, listener, true)?;
    let mut outcome = run.outcome(&manifest);
    if phase != Phase::Removing {
        run.server.prepare(&run.layout, phase == Phase::Preparing)?;
        run.server.check_order(&run.layout)?;
        run.server.save(Phase::Opening, &state.manifest)?;
        run.server.refuse_sealed(&run.layout)?;
        let (is_whole, misfits) = run.passes(Goal::Open)?;
        run.check_order()?;
        outcome = Outcome { misfits, is_whole, ..outcome };
        outcome.is_whole &= outcome.misfits.values == 0;
    }
    if outcome.is_whole {
        run.server.save(Phase::Removing, &state.manifest)?;
        run.server.remove(&run.layout)?;
    }
    outcome.changed_rows = run.changed;
    Ok(outcome)
}

/// Checks that what computes with `keyed`, this program or a module, may seal more values of the
/// table.
fn check_module(
    server: &dyn TableServer,
    name: &str,
    manifest: &TableManifest,
    keyed: &Keyed,
) -> Result<(), MigrationError> {
    match manifest.other_module(keyed) {
        None => Ok(()),
        Some((made_by, by)) => Err(MigrationError::OtherModule {
            place: server.place(),
            table: name.to_owned(),
            made_by,
            by,
        }),
    }
}

/// Locks the table, and reads its state.
fn begin(
    server: &mut dyn TableServer,
    name: &str,
) -> Result<(Shape, Option<State>), MigrationError> {
    shape(server, name)?;
    if let Some(holder) = server.lock()? {
        return Err(MigrationError::Locked {
            place: server.place(),
            table: name.to_owned(),
            holder,
        });
    }
    // another process may have changed it until now
    Ok((shape(server, name)?, server.state()?))
}

/// Returns the shape of the table, which must exist.
pub(super) fn shape(server: &mut dyn TableServer, name: &str) -> Result<Shape, MigrationError> {
    if let Some(shape) = server.shape()? {
        return Ok(shape);
    }
    let known = server.tables()?;
    Err(MigrationError::NoTable {
        place: server.place(),
        unknown: Unknown::new("table", name, known.iter().map(String::as_str)),
    })
}

/// Returns the contents of `state`, if it is genuine.
pub(super) fn known(
    server: &dyn TableServer,
    name: &str,
    state: &State,
    keys: &Arc<dyn KeySource>,
) -> Result<(TableManifest, Phase), MigrationError> {
    let (manifest, phase) = said(server, name, state)?;
    let keyed = Keyed::of(keys.clone(), manifest.key.clone())?;
    manifest.check(&state.manifest, &keyed)?;
    Ok((manifest, phase))
}

/// Checks that the additions of sealing are there, once they must be: otherwise it is another
/// table.
pub(super) fn there(
    server: &dyn TableServer,
    name: &str,
    shape: &Shape,
    manifest: &TableManifest,
    phase: Phase,
) -> Result<(), MigrationError> {
    let has = |name: &String| shape.columns.iter().any(|column| column.name == *name);
    let former = former(&manifest.table);
    let may_lack = matches!(phase, Phase::Preparing | Phase::Removing);
    if may_lack || former.columns.iter().any(|column| has(&column.mark) || has(&column.digest)) {
        return Ok(());
    }
    let column = former.columns.into_iter().next().map(|column| column.mark).unwrap_or_default();
    Err(MigrationError::Remade { place: server.place(), table: name.to_owned(), column })
}

/// Returns the contents of `state`, genuine or not.
pub(super) fn said(
    server: &dyn TableServer,
    name: &str,
    state: &State,
) -> Result<(TableManifest, Phase), MigrationError> {
    let phase =
        Phase::NAMES.iter().find(|(known, _)| *known == state.phase).map(|(_, phase)| *phase);
    let phase = phase.ok_or_else(|| MigrationError::Phase {
        place: server.place(),
        table: name.to_owned(),
        phase: state.phase.clone(),
    })?;
    let manifest =
        TableManifest::parse(&state.manifest, &format!("in sealstone_fields for table {name}"))?;
    Ok((manifest, phase))
}

pub(super) fn other_policy(
    server: &dyn TableServer,
    name: &str,
    manifest: &TableManifest,
) -> MigrationError {
    let column = |column: &Column| format!("{}={}", column.name, column.method_text());
    let columns: Vec<String> = manifest.table.columns.iter().map(column).collect();
    MigrationError::OtherPolicy {
        place: server.place(),
        table: name.to_owned(),
        columns: columns.join(", "),
        cipher: manifest.table.cipher.name,
        bound: manifest.table.name.clone(),
    }
}

/// Rows in the order of their keys, a batch at a time.
pub(super) struct Reading {
    wanted: Wanted,
    after: Option<Vec<String>>,
    pub(super) rows: u64,
    is_over: bool,
}

impl Reading {
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { wanted, after: None, rows: 0, is_over: false }
    }

    /// Returns the next batch; none at the end. `changed`: rows that were changed so far, for the
    /// error of an early end.
    pub(super) fn next(
        &mut self,
        server: &mut dyn TableServer,
        layout: &Layout,
        options: &Options<'_>,
        changed: u64,
    ) -> Result<Option<Vec<Row>>, MigrationError> {
        if options.stop.load(Ordering::Relaxed) {
            return Err(MigrationError::Stopped { rows: changed });
        }
        if self.is_over {
            return Ok(None);
        }
        let limit = options.batch.max(1);
        let rows = server.read(layout, self.wanted, self.after.as_deref(), limit);
        let rows =
            rows.map_err(|failure| MigrationError::Server { error: failure.error, rows: changed })?;
        self.is_over = rows.len() < limit;
        self.rows += rows.len() as u64;
        let Some(last) = rows.last() else { return Ok(None) };
        self.after = Some(last.key.clone());
        Ok(Some(rows))
    }
}

/// Result of a pass.
#[derive(Default)]
struct Pass {
    /// Rows that were changed, or that somebody else changed in the meantime.
    moved: u64,
    rows: u64,
    clear_rows: u64,
    older_rows: u64,
    misfits: Misfits,
}

/// A table that is being migrated.
struct Run<'a, 'o> {
    server: &'a mut dyn TableServer,
    name: &'a str,
    layout: Layout,
    /// For each column.
    rooms: Vec<Option<TextRoom>>,
    ciphers: Ciphers,
    options: &'a Options<'o>,
    listener: Listener<'a>,
    expected: u64,
    changed: u64,
}

impl<'a, 'o> Run<'a, 'o> {
    #[expect(
        clippy::too_many_arguments,
        reason = "each is another thing, and all callers are above"
    )]
    fn new(
        server: &'a mut dyn TableServer,
        name: &'a str,
        shape: &Shape,
        manifest: &TableManifest,
        keys: Arc<dyn KeySource>,
        options: &'a Options<'o>,
        listener: Listener<'a>,
        is_begun: bool,
    ) -> Result<Self, MigrationError> {
        let layout = layout(shape, &manifest.table, is_begun)?;
        let rooms = rooms(shape, &layout);
        let ciphers = Ciphers::new(&manifest.table, &layout, rooms.clone(), &manifest.key, keys);
        Ok(Self {
            server,
            name,
            layout,
            rooms,
            ciphers,
            options,
            listener,
            expected: shape.rows,
            changed: 0,
        })
    }

    fn outcome(&self, manifest: &TableManifest) -> Outcome {
        Outcome {
            table: manifest.table.clone(),
            key: manifest.key.clone(),
            changed_rows: self.changed,
            rows: None,
            clear_rows: 0,
            older_rows: 0,
            misfits: Misfits::default(),
            unopened: Misfits::default(),
            is_whole: true,
        }
    }

    /// Looks at every value before anything is changed: whether it fits, and whether it has room
    /// once it is sealed.
    fn look(&mut self, manifest: &TableManifest) -> Result<(), MigrationError> {
        let mut reading = Reading::new(Wanted::Every { marked: false });
        let mut misfits = Misfits::default();
        let mut narrow: Vec<Option<(u64, u64)>> = vec![None; self.layout.columns.len()];
        let begun = Instant::now();
        while let Some(rows) = reading.next(self.server, &self.layout, self.options, 0)? {
            let worked = self.ciphers.work(Goal::Seal(manifest.key.version), &rows)?;
            for found in &worked.misfits {
                let Misfit::Width { found: needed, room } = found.misfit else { continue };
                let at = self
                    .layout
                    .columns
                    .iter()
                    .position(|column| column.name == found.column)
                    .unwrap_or(0);
                let before = narrow[at].map_or(0, |(needed, _)| needed);
                narrow[at] = Some((before.max(needed), room));
            }
            misfits.add(worked.misfits);
            self.say(Step::Looking, reading.rows);
            self.pace(begun, reading.rows);
        }
        let width = Width::new(manifest.table.cipher, Some(&manifest.key.id));
        for (at, narrow) in narrow.into_iter().enumerate() {
            let Some((needed, room)) = narrow else { continue };
            let (table, column) = (self.name.to_owned(), self.layout.columns[at].name.clone());
            let wanted = width.wanted(&manifest.table.columns[at], self.rooms[at].as_ref(), needed);
            let widening = self.server.widening(&column, wanted);
            return Err(MigrationError::Narrow { table, column, room, needed, widening });
        }
        self.refuse(&misfits, BEFORE)
    }

    /// Ends it at values that do not fit, if configured.
    fn refuse(&self, misfits: &Misfits, step: &'static str) -> Result<(), MigrationError> {
        match misfits.listed.first() {
            Some(first) if self.options.on_misfit == OnMisfit::Fail => {
                let (table, first, more) =
                    (self.name.to_owned(), Box::new(first.clone()), misfits.values - 1);
                Err(MigrationError::Misfit { table, first, more, step })
            }
            _ => Ok(()),
        }
    }

    /// Works towards `goal` until a pass finds nothing to do, then checks every row.
    fn finish(
        mut self,
        goal: Goal,
        manifest: &TableManifest,
        text: &str,
    ) -> Result<Outcome, MigrationError> {
        let (_, misfits) = self.passes(goal)?;
        let checked = self.pass(Goal::Check(manifest.key.version), Step::Checking)?;
        self.check_order()?;
        self.server.save(Phase::Sealed, text).map_err(|failure| self.failed(failure.error))?;
        let older_rows = checked.older_rows;
        let is_older = matches!(goal, Goal::Reseal(_)) && older_rows > 0;
        Ok(Outcome {
            rows: Some(checked.rows),
            clear_rows: checked.clear_rows,
            older_rows,
            is_whole: checked.clear_rows == 0 && checked.misfits.values == 0 && !is_older,
            misfits,
            unopened: checked.misfits,
            ..self.outcome(manifest)
        })
    }

    /// Passes until one finds nothing to do. Returns whether one did, and the values that it could
    /// not change.
    fn passes(&mut self, goal: Goal) -> Result<(bool, Misfits), MigrationError> {
        let mut misfits = Misfits::default();
        for number in 1..=PASSES_MAX {
            let pass = self.pass(goal, Step::Changing(number))?;
            misfits = pass.misfits;
            if pass.moved == 0 {
                return Ok((true, misfits));
            }
        }
        Ok((false, misfits))
    }

    fn pass(&mut self, goal: Goal, step: Step) -> Result<Pass, MigrationError> {
        let mut reading = Reading::new(goal.wanted());
        let mut pass = Pass::default();
        let begun = Instant::now();
        while let Some(rows) =
            reading.next(self.server, &self.layout, self.options, self.changed)?
        {
            let worked = self.ciphers.work(goal, &rows)?;
            pass.clear_rows += worked.clear_rows;
            pass.older_rows += worked.older_rows;
            pass.misfits.add(worked.misfits);
            match goal {
                Goal::Check(_) => {}
                Goal::Open => self.refuse(&pass.misfits, STAYS_SEALED)?,
                Goal::Seal(_) | Goal::Reseal(_) => self.refuse(&pass.misfits, DURING)?,
            }
            pass.moved += worked.changes.len() as u64;
            self.changed += self.write(&worked.changes)?;
            self.say(step, reading.rows);
            self.pace(begun, reading.rows);
        }
        pass.rows = reading.rows;
        Ok(pass)
    }

    /// Changes rows, and tries again where another transaction was in the way.
    fn write(&mut self, changes: &[RowChange]) -> Result<u64, MigrationError> {
        if changes.is_empty() {
            return Ok(0);
        }
        let mut pause = NAP;
        for tried in 1.. {
            match self.server.write(&self.layout, changes) {
                Err(failure) if failure.kind == FailureKind::Conflict && tried < CONFLICTS_MAX => {
                    thread::sleep(pause);
                    pause = PAUSE_MAX.min(2 * pause);
                }
                outcome => return outcome.map_err(|failure| self.failed(failure.error)),
            }
        }
        Ok(0)
    }

    fn check_order(&mut self) -> Result<(), MigrationError> {
        let ordered = self.server.check_order(&self.layout);
        ordered.map_err(|failure| self.failed(failure.error))
    }

    fn failed(&self, error: Box<dyn std::error::Error + Send + Sync>) -> MigrationError {
        MigrationError::Server { error, rows: self.changed }
    }

    fn say(&mut self, step: Step, rows: u64) {
        (self.listener)(Progress { step, rows, expected: self.expected.max(rows) });
    }

    /// Waits until `rows` rows since `begun` are no more than there may be.
    fn pace(&self, begun: Instant, rows: u64) {
        let Some(rate) = self.options.rows_per_second.filter(|rate| *rate > 0.0) else { return };
        let due = Duration::from_secs_f64(rows as f64 / rate);
        while !self.options.stop.load(Ordering::Relaxed) && begun.elapsed() < due {
            thread::sleep(NAP.min(due.saturating_sub(begun.elapsed())));
        }
    }
}
