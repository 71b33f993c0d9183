//! Migrations of a table in memory, ended at every single call to the server, before and after its
//! work, while others write: the values come out unchanged.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::{Backend, cipher};
use sealstone_fields::migration::{
    Cell, ColumnShape, Counted, FailureKind, Layout, MigrationError, Need, Options, Outcome, Phase,
    Row, RowChange, RowShape, SealedTables, ServerFailure, Shape, State, TableServer, TextRoom,
    Wanted, check, forget, need, open, reseal, seal,
};
use sealstone_fields::pass::OnMisfit;
use sealstone_fields::policy::{Column, ColumnOptions, Table, Tweak};
use sealstone_fields::{ColumnCipher, Keyed, Texts};
use sealstone_keys::{KeyRef, KeySource};

/// A value, its mark, and the value that the mark was set for.
type Marked = (Option<String>, Option<i32>, Option<String>);

/// Names of the columns that sealing adds.
const ADDED: [&str; 4] =
    ["phone_sealed", "phone_sealed_digest", "memo_sealed", "memo_sealed_digest"];

/// A database with one table.
#[derive(Default)]
struct Database {
    /// By their numbers: telephone number and memo.
    rows: BTreeMap<u64, [Marked; 2]>,
    is_prepared: bool,
    refuses: bool,
    state: Option<State>,
    is_locked: bool,
    calls: usize,
    /// The call that ends the migration, and whether it does its work first.
    end: Option<(usize, bool)>,
    /// Writes by others after each reading, made without regard to marks.
    others: Vec<(u64, Option<String>)>,
    /// A trigger that runs after ours, and since which call.
    later: Option<usize>,
    /// Expected contents of the rows.
    plain: BTreeMap<u64, [Option<String>; 2]>,
}

impl Database {
    /// Applies a write as the server and its trigger would.
    fn set(&mut self, id: u64, at: usize, value: Option<String>, mark: Option<i32>) {
        let Some(row) = self.rows.get_mut(&id) else { return };
        let is_claim = mark.is_some_and(|mark| mark < 0);
        assert!(!(is_claim && self.refuses), "a sealed value is written while the table is opened");
        let is_same = row[at].0 == value;
        let (mark, of) = match (is_claim, is_same) {
            (true, _) => (mark.map(i32::abs), value.clone()),
            (false, true) => (mark, row[at].2.clone()),
            (false, false) => (None, None),
        };
        row[at] = (value, mark, of);
    }

    fn is_out_of_order(&self) -> bool {
        self.later.is_some_and(|since| self.calls >= since)
    }

    /// Writes in the clear like a trigger after ours, so that the mark stays.
    fn written_over(&mut self, id: u64, at: usize, value: &str) {
        self.rows.get_mut(&id).unwrap()[at].0 = Some(value.to_owned());
    }

    /// Writes in the clear like another client: a number for a row, nothing for its end.
    fn other_writes(&mut self) {
        let Some((id, value)) = self.others.pop() else { return };
        match value {
            None => drop((self.rows.remove(&id), self.plain.remove(&id))),
            Some(phone) => {
                let memo = (Some("new".to_owned()), None, None);
                let row = self.rows.entry(id).or_insert_with(|| [(None, None, None), memo]);
                let mark = row[0].1;
                self.plain.entry(id).or_insert_with(|| [None, Some("new".into())])[0] =
                    Some(phone.clone());
                self.set(id, 0, Some(phone), mark);
            }
        }
    }
}

/// A connection to it.
struct Connection(Rc<RefCell<Database>>);

impl Connection {
    fn call<T>(&mut self, does: impl FnOnce(&mut Database) -> T) -> Result<T, ServerFailure> {
        let db = &mut *self.0.borrow_mut();
        db.calls += 1;
        let ended = db.end.filter(|(call, _)| *call == db.calls);
        let gone =
            || ServerFailure { kind: FailureKind::Lasting, error: "the connection is gone".into() };
        match ended {
            Some((_, false)) => Err(gone()),
            Some((_, true)) => {
                does(db);
                Err(gone())
            }
            None => Ok(does(db)),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.borrow_mut().is_locked = false;
    }
}

fn is_wanted(cell: &Cell, wanted: Wanted) -> bool {
    match wanted {
        Wanted::Every { .. } => true,
        Wanted::Clear => cell.value.is_some() && cell.mark.is_none(),
        Wanted::NotMarked(version) => cell.value.is_some() && cell.mark != Some(version),
        Wanted::Marked => cell.mark.is_some(),
        Wanted::MarkedAs(version) => cell.mark.map(i32::abs) == Some(version),
    }
}

/// Returns the position in the row of the column `at` of `layout`, which has the columns in any
/// order.
fn place(layout: &Layout, at: usize) -> usize {
    usize::from(layout.columns[at].name == "memo")
}

impl TableServer for Connection {
    fn place(&self) -> String {
        "memory".into()
    }

    fn lock(&mut self) -> Result<Option<String>, ServerFailure> {
        self.call(|db| std::mem::replace(&mut db.is_locked, true).then(|| "another".to_owned()))
    }

    fn tables(&mut self) -> Result<Vec<String>, ServerFailure> {
        self.call(|_| vec!["people".into()])
    }

    fn shape(&mut self) -> Result<Option<Shape>, ServerFailure> {
        let column = |name: &str| ColumnShape {
            name: name.into(),
            type_text: "text".into(),
            room: Some(TextRoom {
                chars: Some(120),
                bytes: None,
                longest: Some(480),
                unicode: true,
            }),
            hindrance: None,
            names_rows: RowShape::Names,
        };
        self.call(|db| {
            let mut columns = vec![column("id"), column("phone"), column("memo")];
            if db.is_prepared {
                columns.extend(ADDED.map(column));
            }
            let rows = db.rows.len() as u64;
            Some(Shape {
                table: "people".into(),
                columns,
                key: vec!["id".into()],
                hindrance: None,
                rows,
            })
        })
    }

    fn widening(&self, column: &str, chars: u64) -> String {
        format!("widen {column} to {chars}")
    }

    fn state(&mut self) -> Result<Option<State>, ServerFailure> {
        self.call(|db| db.state.clone())
    }

    fn save(&mut self, phase: Phase, manifest: &str) -> Result<(), ServerFailure> {
        let state = State { phase: phase.name().into(), manifest: manifest.into() };
        self.call(|db| db.state = Some(state))
    }

    fn check_order(&mut self, _: &Layout) -> Result<(), ServerFailure> {
        let later = self.call(|db| db.is_out_of_order())?;
        match later {
            false => Ok(()),
            true => Err(ServerFailure {
                kind: FailureKind::Lasting,
                error: "trigger zzz runs after ours".into(),
            }),
        }
    }

    fn left(&mut self, _: &Layout) -> Result<Vec<String>, ServerFailure> {
        self.call(|db| if db.is_prepared { ADDED.map(str::to_owned).to_vec() } else { Vec::new() })
    }

    fn forget(&mut self) -> Result<(), ServerFailure> {
        self.call(|db| db.state = None)
    }

    fn prepare(&mut self, _: &Layout, may_add: bool) -> Result<(), ServerFailure> {
        self.call(|db| {
            assert!(db.is_prepared || may_add, "marks are missing");
            db.is_prepared = true;
        })
    }

    fn refuse_sealed(&mut self, _: &Layout) -> Result<(), ServerFailure> {
        self.call(|db| db.refuses = true)
    }

    fn remove(&mut self, _: &Layout) -> Result<(), ServerFailure> {
        self.call(|db| {
            assert!(
                db.rows.values().flatten().all(|(_, mark, _)| mark.is_none()),
                "a mark of a sealed value is removed"
            );
            (db.is_prepared, db.refuses, db.state) = (false, false, None);
        })
    }

    fn read(
        &mut self,
        layout: &Layout,
        wanted: Wanted,
        after: Option<&[String]>,
        limit: usize,
    ) -> Result<Vec<Row>, ServerFailure> {
        let after: u64 = after.map_or(0, |key| key[0].parse().unwrap());
        self.call(|db| {
            let row = |(id, row): (&u64, &[Marked; 2])| {
                let name = Some(id.to_string());
                let cell = |at: usize| {
                    let (value, mark, of) = row[place(layout, at)].clone();
                    Cell {
                        is_kept: of == value,
                        value,
                        mark,
                        row: name.clone().filter(|_| place(layout, at) == 1),
                    }
                };
                Row { key: vec![id.to_string()], cells: vec![cell(0), cell(1)] }
            };
            let rows = db.rows.range(after + 1..).map(row);
            let rows = rows.filter(|row| row.cells.iter().any(|cell| is_wanted(cell, wanted)));
            let rows = rows.take(limit).collect();
            db.other_writes();
            rows
        })
    }

    fn find(&mut self, layout: &Layout, key: &[String]) -> Result<Option<Row>, ServerFailure> {
        let id: u64 = key[0].parse().unwrap();
        let before = [(id - 1).to_string()];
        let rows = self.read(layout, Wanted::Every { marked: true }, Some(&before), 1)?;
        Ok(rows.into_iter().find(|row| row.key == key))
    }

    fn count(
        &mut self,
        layout: &Layout,
        at: usize,
        marked: bool,
    ) -> Result<Vec<Counted>, ServerFailure> {
        self.call(|db| {
            let cells = db.rows.values().map(|row| row[place(layout, at)].clone());
            let cells = cells.filter(|(value, ..)| value.is_some());
            let one = |(value, mark, of): Marked| Counted {
                mark: mark.filter(|_| marked),
                is_kept: of == value,
                values: 1,
            };
            cells.map(one).collect()
        })
    }

    fn sealed_tables(&mut self) -> Result<SealedTables, ServerFailure> {
        self.call(|db| SealedTables {
            names: db.state.iter().map(|_| "people".to_owned()).collect(),
            ..SealedTables::default()
        })
    }

    fn write(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure> {
        let out_of_order = self.0.borrow().is_out_of_order();
        if out_of_order {
            let error = "trigger zzz runs after ours, and nothing was changed".into();
            return Err(ServerFailure { kind: FailureKind::Lasting, error });
        }
        self.call(|db| {
            let mut changed = 0;
            for RowChange { old, new } in changes {
                let id: u64 = old.key[0].parse().unwrap();
                let is_same = |row: &[Marked; 2]| {
                    let mut cells = old
                        .cells
                        .iter()
                        .enumerate()
                        .map(|(at, cell)| (&row[place(layout, at)], cell));
                    cells.all(|(now, old)| (&now.0, now.1) == (&old.value, old.mark))
                };
                if !db.rows.get(&id).is_some_and(is_same) {
                    continue;
                }
                changed += 1;
                for (at, new) in new.iter().enumerate() {
                    if let Some(new) = new {
                        db.set(
                            id,
                            place(layout, at),
                            new.value.clone(),
                            new.mark.map(|mark| -mark),
                        );
                    }
                }
            }
            changed
        })
    }
}

/// A key with two versions.
struct Keys {
    newest: u32,
    secrets: [Arc<sealstone_keys::EphemeralKey>; 2],
}

impl KeySource for Keys {
    fn current(&self) -> Result<(KeyRef, sealstone_keys::Secret), sealstone_keys::KeyError> {
        let key = KeyRef { id: "people".into(), version: self.newest };
        self.get(&key).map(|secret| (key, secret))
    }

    fn get(&self, key: &KeyRef) -> Result<sealstone_keys::Secret, sealstone_keys::KeyError> {
        match self.secrets.get(key.version as usize - 1) {
            Some(secret) => Ok(secret.current()?.1),
            None => Err(sealstone_keys::KeyError::MissingVersion {
                wanted: key.clone(),
                place: self.describe(),
                available: vec![1, 2],
            }),
        }
    }

    fn describe(&self) -> String {
        "two keys".into()
    }
}

fn keys(newest: u32, one: &Keys) -> Arc<dyn KeySource> {
    Arc::new(Keys { newest, secrets: one.secrets.clone() })
}

fn two_keys() -> Keys {
    let key = || Arc::new(sealstone_keys::EphemeralKey::new().unwrap());
    Keys { newest: 1, secrets: [key(), key()] }
}

fn table() -> Table {
    let memo = ColumnOptions { tweak: Tweak::Row("id".into()), ..ColumnOptions::default() };
    let columns = vec![
        Column::parse("phone=ff1:phone", &ColumnOptions::default()).unwrap(),
        Column::parse("memo=aead", &memo).unwrap(),
    ];
    Table::new("people", cipher("aes-256").unwrap(), columns).unwrap()
}

fn number(id: u64) -> String {
    format!("010-1234-{id:04}")
}

fn database() -> Database {
    let mut db = Database::default();
    for id in 1..=17 {
        let memo = (id % 3 > 0).then(|| format!("memo {id}"));
        db.rows.insert(id, [(Some(number(id)), None, None), (memo.clone(), None, None)]);
        db.plain.insert(id, [Some(number(id)), memo]);
    }
    // in the order in which they come last
    db.others = vec![
        (3, Some(number(903))),
        (40, Some(number(40))),
        (9, None),
        (2, Some(number(902))),
        (12, Some(number(912))),
        (5, Some(number(905))),
    ];
    db
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Seal,
    Reseal,
    Open,
}

fn go(db: &Rc<RefCell<Database>>, way: Way, all: &Keys) -> Result<Outcome, MigrationError> {
    let stop = AtomicBool::new(false);
    let options =
        Options { batch: 4, rows_per_second: None, on_misfit: OnMisfit::Fail, stop: &stop };
    let mut server = Connection(db.clone());
    match way {
        Way::Seal => seal(&mut server, "people", &table(), keys(1, all), &options, &mut |_| {}),
        Way::Reseal => reseal(&mut server, "people", keys(2, all), &options, &mut |_| {}),
        Way::Open => open(&mut server, "people", keys(2, all), &options, &mut |_| {}),
    }
}

/// Asserts that each value is sealed once, under `version`.
fn is_sealed(db: &Database, version: u32, all: &Keys) {
    let table = table();
    assert!(db.rows.keys().eq(db.plain.keys()));
    let keyed = Keyed::of(keys(version, all), KeyRef { id: "people".into(), version }).unwrap();
    for (at, column) in table.columns.iter().enumerate() {
        let cipher = ColumnCipher::new(&table, column, &keyed, Backend::auto()).unwrap();
        let rows = db.rows.iter().filter(|(_, row)| row[at].0.is_some());
        assert!(
            rows.clone().all(|(_, row)| row[at].1 == i32::try_from(version).ok()),
            "a value is in the clear"
        );
        let values: Texts = rows.clone().map(|(_, row)| row[at].0.clone().unwrap()).collect();
        let names: Texts = rows.map(|(id, _)| id.to_string()).collect();
        let (mut opened, mut misfits) = (Texts::new(), Vec::new());
        cipher.open(&values, (at == 1).then_some(&names), &mut opened, &mut misfits).unwrap();
        assert!(misfits.is_empty(), "{misfits:?}");
        assert!(
            opened.iter().eq(db.plain.values().filter_map(|row| row[at].as_deref())),
            "sealed twice, or lost"
        );
    }
}

fn is_open(db: &Database) {
    let rows = db.rows.iter().map(|(id, [phone, memo])| (*id, [phone.0.clone(), memo.0.clone()]));
    assert_eq!(rows.collect::<BTreeMap<_, _>>(), db.plain);
    assert!(!db.is_prepared && !db.refuses && db.state.is_none(), "something of ours is left");
}

/// Begins with `before` done, ends `way` at each of its calls, and does it again.
fn ended_everywhere(before: &[Way], way: Way, check: impl Fn(&Database, &Keys)) {
    for does_it in [false, true] {
        for call in 1.. {
            let all = two_keys();
            let db = Rc::new(RefCell::new(database()));
            for way in before {
                go(&db, *way, &all).unwrap();
            }
            {
                let db = &mut *db.borrow_mut();
                (db.calls, db.others, db.end) = (0, database().others, Some((call, does_it)));
            }
            let ended = go(&db, way, &all);
            db.borrow_mut().end = None;
            let was_ended = db.borrow().calls >= call;
            match &ended {
                Ok(_) => {}
                Err(MigrationError::Server { .. }) if was_ended => {}
                Err(error) => panic!("{way:?} ended at call {call}: {error}"),
            }
            let again = go(&db, way, &all);
            let is_over =
                matches!((&again, way), (Err(MigrationError::NotSealed { .. }), Way::Open));
            assert!(
                is_over || again.as_ref().is_ok_and(|outcome| outcome.is_whole),
                "{way:?}, call {call}: {again:?}"
            );
            check(&db.borrow(), &all);
            if !was_ended {
                assert!(call > 15, "only {call} calls");
                break;
            }
        }
    }
}

#[test]
fn sealing_can_end_at_any_call() {
    ended_everywhere(&[], Way::Seal, |db, all| is_sealed(db, 1, all));
}

#[test]
fn opening_can_end_at_any_call() {
    ended_everywhere(&[Way::Seal], Way::Open, |db, _| is_open(db));
}

#[test]
fn resealing_can_end_at_any_call() {
    ended_everywhere(&[Way::Seal], Way::Reseal, |db, all| is_sealed(db, 2, all));
}

#[test]
fn a_value_that_does_not_fit_or_has_no_room_changes_nothing() {
    let all = two_keys();
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    db.borrow_mut().rows.get_mut(&7).unwrap()[0].0 = Some("none".into());
    let refused = go(&db, Way::Seal, &all).unwrap_err().to_string();
    assert!(
        refused.starts_with("table people, row id 7, column phone: character 1 is a lower-case"),
        "{refused}"
    );
    db.borrow_mut().rows.get_mut(&7).unwrap()[0].0 = Some(number(7));
    db.borrow_mut().rows.get_mut(&8).unwrap()[1].0 = Some("long ".repeat(30));
    let refused = go(&db, Way::Seal, &all).unwrap_err().to_string();
    assert!(
        refused.contains("column memo of table people has room for 120 characters"),
        "{refused}"
    );
    // not what the longest value that is there needs, but what the longest that may come does
    let widths = refused.split_once("widen memo to ").unwrap().1.trim();
    assert!(widths.parse::<u64>().unwrap() > 480 * 4 / 3 + 50, "{refused}");
    assert!(!db.borrow().is_prepared && db.borrow().state.is_none());
}

#[test]
fn a_table_is_for_one_at_a_time_and_for_one_policy() {
    let all = two_keys();
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    db.borrow_mut().is_locked = true;
    let refused = go(&db, Way::Seal, &all).unwrap_err();
    assert!(matches!(refused, MigrationError::Locked { .. }), "{refused}");
    assert!(matches!(go(&db, Way::Open, &all), Err(MigrationError::NotSealed { .. })));
    go(&db, Way::Seal, &all).unwrap();
    let other = go(&db, Way::Seal, &two_keys()).unwrap_err();
    assert!(matches!(other, MigrationError::Manifest(_)), "{other}");
    db.borrow_mut().state.as_mut().unwrap().phase = "opening".into();
    assert!(matches!(go(&db, Way::Seal, &all), Err(MigrationError::BeingOpened { .. })));
}

#[test]
fn a_trigger_after_ours_ends_it_whenever_it_is_made() {
    for (before, way) in [
        (&[][..], Way::Seal),
        (&[Way::Seal], Way::Seal),
        (&[Way::Seal], Way::Open),
        (&[Way::Seal], Way::Reseal),
    ] {
        for call in 1.. {
            let all = two_keys();
            let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
            before.iter().for_each(|way| drop(go(&db, *way, &all).unwrap()));
            {
                let db = &mut *db.borrow_mut();
                (db.calls, db.others, db.later) = (0, Vec::new(), Some(call));
            }
            let ended = go(&db, way, &all);
            if db.borrow().calls < call || matches!(&ended, Ok(outcome) if outcome.is_whole) {
                // made when all had been done
                assert!(call > 10, "{way:?}: only {call} calls");
                break;
            }
            let error = ended.unwrap_err().to_string();
            assert!(
                error.starts_with("trigger zzz runs after ours"),
                "{way:?}, call {call}: {error}"
            );
            db.borrow_mut().later = None;
            go(&db, way, &all).unwrap();
            match way {
                Way::Seal => is_sealed(&db.borrow(), 1, &all),
                Way::Reseal => is_sealed(&db.borrow(), 2, &all),
                Way::Open => is_open(&db.borrow()),
            }
        }
    }
}

#[test]
fn a_value_written_over_a_sealed_one_is_never_opened() {
    let all = two_keys();
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    go(&db, Way::Seal, &all).unwrap();
    // both fit their formats, so that ff1 would make something of the first
    db.borrow_mut().written_over(5, 0, &number(777));
    db.borrow_mut().written_over(7, 1, "in the clear");
    for way in [Way::Reseal, Way::Open] {
        let refused = go(&db, way, &all).unwrap_err().to_string();
        assert!(
            refused.contains(": something wrote over it after it was sealed"),
            "{way:?}: {refused}"
        );
        assert_eq!(db.borrow().rows[&5][0].0, Some(number(777)), "{way:?}");
    }
    let sealed = go(&db, Way::Seal, &all);
    assert!(matches!(sealed, Err(MigrationError::BeingOpened { .. })), "{sealed:?}");
    let checked = {
        let stop = AtomicBool::new(false);
        let options =
            Options { batch: 4, rows_per_second: None, on_misfit: OnMisfit::Report, stop: &stop };
        open(&mut Connection(db.clone()), "people", keys(2, &all), &options, &mut |_| {}).unwrap()
    };
    assert!(!checked.is_whole && checked.misfits.values == 2, "{checked:?}");
    // a check reports them
    for (id, at) in [(5, 0), (7, 1)] {
        db.borrow_mut().rows.get_mut(&id).unwrap()[at].1 = None;
    }
    assert!(go(&db, Way::Open, &all).unwrap().is_whole);
    let mut plain = database().plain;
    plain.get_mut(&5).unwrap()[0] = Some(number(777));
    plain.get_mut(&7).unwrap()[1] = Some("in the clear".into());
    db.borrow_mut().plain = plain;
    is_open(&db.borrow());
}

/// Returns the memo of the row `id`, sealed under the newest version of `keys`.
fn sealed_memo(keys: Arc<dyn KeySource>, id: u64) -> String {
    let table = table();
    let keyed = Keyed::current(keys).unwrap();
    let cipher = ColumnCipher::new(&table, &table.columns[1], &keyed, Backend::auto()).unwrap();
    let (values, rows): (Texts, Texts) =
        ([format!("memo {id}")].iter().collect(), [id.to_string()].iter().collect());
    let (mut sealed, mut misfits) = (Texts::new(), Vec::new());
    cipher.seal(&values, Some(&rows), &mut sealed, &mut misfits).unwrap();
    sealed.get(0).to_owned()
}

/// Version 99 of the key, which no other source has.
struct Foreign(Arc<sealstone_keys::EphemeralKey>);

impl KeySource for Foreign {
    fn current(&self) -> Result<(KeyRef, sealstone_keys::Secret), sealstone_keys::KeyError> {
        Ok((KeyRef { id: "people".into(), version: 99 }, self.0.current()?.1))
    }

    fn get(&self, _: &KeyRef) -> Result<sealstone_keys::Secret, sealstone_keys::KeyError> {
        Ok(self.0.current()?.1)
    }

    fn describe(&self) -> String {
        "another key".into()
    }
}

/// A program that was started before a rotation seals under the older version, and one that reads
/// the number elsewhere claims the newer one: nothing of that must be lost with the older version.
#[test]
fn a_value_whose_mark_names_another_version_is_found_before_that_version_goes() {
    let all = two_keys();
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    go(&db, Way::Seal, &all).unwrap();
    go(&db, Way::Reseal, &all).unwrap();
    let needs = |version: u32| {
        let key = KeyRef { id: "people".into(), version };
        need(&mut Connection(db.clone()), "people", &key, &["people".into()]).unwrap()
    };
    assert_eq!(needs(1), Need::Nothing);
    db.borrow_mut().set(5, 1, Some(sealed_memo(keys(1, &all), 5)), Some(-2));
    assert_eq!(needs(1), Need::Values("id 5".into()));
    // its mark keeps it from being opened as if it were of the newer version
    for way in [Way::Reseal, Way::Open] {
        let said = go(&db, way, &all).map(|outcome| outcome.unopened.listed[0].to_string());
        let said = said.unwrap_or_else(|error| error.to_string());
        let wanted =
            "its mark names key people version 2, and the value itself key people version 1";
        assert!(said.contains("id 5") && said.contains(wanted), "{way:?}: {said}");
    }
    // as what it is, it is a value like the others
    db.borrow_mut().refuses = false;
    let value = db.borrow().rows[&5][1].0.clone();
    db.borrow_mut().set(5, 1, value, Some(-1));
    assert!(go(&db, Way::Open, &all).unwrap().is_whole);
    is_open(&db.borrow());
}

/// An attacker who may write to the table can name a key that nobody has.
#[test]
fn a_value_that_names_a_key_nobody_has_stops_no_other_value() {
    let all = two_keys();
    let foreign: Arc<dyn KeySource> =
        Arc::new(Foreign(Arc::new(sealstone_keys::EphemeralKey::new().unwrap())));
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    go(&db, Way::Seal, &all).unwrap();
    let memo = sealed_memo(foreign, 7);
    db.borrow_mut().set(7, 1, Some(memo.clone()), Some(-1));
    db.borrow_mut().set(8, 1, Some(memo), Some(-98));
    let stop = AtomicBool::new(false);
    let options =
        Options { batch: 4, rows_per_second: None, on_misfit: OnMisfit::Report, stop: &stop };
    let opened =
        open(&mut Connection(db.clone()), "people", keys(2, &all), &options, &mut |_| {}).unwrap();
    assert!(!opened.is_whole && opened.misfits.values == 2, "{opened:?}");
    let said: Vec<String> = opened.misfits.listed.iter().map(ToString::to_string).collect();
    assert!(said[0].contains("id 7") && said[0].contains("key people version 99"), "{said:?}");
    assert!(said[1].contains("id 8") && said[1].contains("version 98"), "{said:?}");
    let left = db.borrow().rows.values().filter(|row| row[0].1.is_some()).count();
    assert_eq!(left, 0, "every number is open");
}

#[test]
fn a_check_of_a_sealed_table_says_so() {
    let all = two_keys();
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    let look = |key_id: Option<&str>| {
        let stop = AtomicBool::new(false);
        let options =
            Options { batch: 4, rows_per_second: None, on_misfit: OnMisfit::Report, stop: &stop };
        check(&mut Connection(db.clone()), "people", &table(), key_id, &options, &mut |_| {})
    };
    let before = look(Some("people")).unwrap();
    assert_eq!((before.rows, before.rejected, before.sealed, before.sealed_as), (17, 0, 0, None));
    go(&db, Way::Seal, &all).unwrap();
    let checked = look(None).unwrap();
    assert_eq!((checked.rows, checked.rejected, checked.sealed), (0, 0, 17));
    assert_eq!(checked.sealed_as.unwrap().key, KeyRef { id: "people".into(), version: 1 });
    assert_eq!(checked.columns.iter().map(|column| column.sealed).collect::<Vec<_>>(), [17, 12]);
    db.borrow_mut().written_over(5, 0, &number(777));
    db.borrow_mut().set(6, 0, Some(number(778)), Some(1));
    let checked = look(None).unwrap();
    assert_eq!((checked.rows, checked.rejected, checked.sealed), (1, 1, 15));
    assert!(
        checked.misfits.listed[0]
            .to_string()
            .contains("row id 5, column phone: something wrote over it")
    );
}

#[test]
fn a_check_finds_what_migrate_refuses_for_width() {
    let all = two_keys();
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    db.borrow_mut().rows.get_mut(&8).unwrap()[1].0 = Some("long ".repeat(10));
    let look = || {
        let stop = AtomicBool::new(false);
        let options =
            Options { batch: 4, rows_per_second: None, on_misfit: OnMisfit::Report, stop: &stop };
        check(
            &mut Connection(db.clone()),
            "people",
            &table(),
            Some("people"),
            &options,
            &mut |_| {},
        )
        .unwrap()
    };
    let checked = look();
    let narrow = checked.columns[1].narrow.clone().unwrap();
    assert_eq!((checked.rejected, narrow.room), (1, 120));
    let MigrationError::Narrow { room, needed, widening, .. } =
        go(&db, Way::Seal, &all).unwrap_err()
    else {
        panic!("it has no room")
    };
    assert_eq!((room, needed, widening), (narrow.room, narrow.needed, narrow.widening));
}

#[test]
fn a_table_that_was_made_anew_has_a_way_out() {
    let all = two_keys();
    let db = Rc::new(RefCell::new(Database { others: Vec::new(), ..database() }));
    go(&db, Way::Seal, &all).unwrap();
    let forgets = || forget(&mut Connection(db.clone()), "people");
    assert!(
        matches!(forgets(), Err(MigrationError::Left { .. })),
        "a sealed table loses its record"
    );
    let state = db.borrow().state.clone();
    *db.borrow_mut() = Database { others: Vec::new(), state, ..database() };
    for way in [Way::Seal, Way::Reseal, Way::Open] {
        let refused = go(&db, way, &all).unwrap_err().to_string();
        assert!(
            refused.contains("has no column ") && refused.contains("--table people --forget"),
            "{refused}"
        );
    }
    assert_eq!(forgets().unwrap().key.version, 1);
    assert!(matches!(forgets(), Err(MigrationError::NotSealed { .. })));
    go(&db, Way::Seal, &all).unwrap();
    is_sealed(&db.borrow(), 1, &all);
}
