//! Rows sealed and opened, each value under the version that its mark names.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_cipher::Backend;
use sealstone_keys::{KeyError, KeyRef, KeySource};

use super::error::{MigrationError, RowMisfit};
use super::goal::Goal;
use super::server::{Cell, NewCell, Row, RowChange};
use super::shape::{Layout, TextRoom};
use crate::column::ColumnCipher;
use crate::misfit::Misfit;
use crate::policy::Table;
use crate::table_key::{Keyed, numbered};
use crate::texts::Texts;

/// The ciphers of a table's columns under every version that its marks name.
pub(super) struct Ciphers {
    table: Table,
    layout: Layout,
    /// For each column; none where nothing is checked.
    rooms: Vec<Option<TextRoom>>,
    /// The key, with the version that the table's record names.
    key: KeyRef,
    keys: Arc<dyn KeySource>,
    /// For each version, one for each column.
    known: BTreeMap<u32, Vec<ColumnCipher>>,
}

/// Outcome of the work on some rows.
#[derive(Debug, Default)]
pub(super) struct Worked {
    pub(super) changes: Vec<RowChange>,
    pub(super) misfits: Vec<RowMisfit>,
    /// Rows with a value in the clear.
    pub(super) clear_rows: u64,
    /// Rows with a value under another version than the newest.
    pub(super) older_rows: u64,
}

impl Ciphers {
    pub(super) fn new(
        table: &Table,
        layout: &Layout,
        rooms: Vec<Option<TextRoom>>,
        key: &KeyRef,
        keys: Arc<dyn KeySource>,
    ) -> Self {
        let known = BTreeMap::new();
        Self { table: table.clone(), layout: layout.clone(), rooms, key: key.clone(), keys, known }
    }

    /// Applies `goal` to `rows`, which are as they were read.
    pub(super) fn work(&mut self, goal: Goal, rows: &[Row]) -> Result<Worked, MigrationError> {
        let mut worked = Worked::default();
        let mut new: Vec<Vec<Option<NewCell>>> =
            vec![vec![None; self.layout.columns.len()]; rows.len()];
        let columns = 0..self.layout.columns.len();
        for at in columns {
            let mut clear = Vec::new();
            let mut marked: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for (number, row) in rows.iter().enumerate() {
                match &row.cells[at] {
                    Cell { value: None, mark: None, .. } => {}
                    Cell { value: None, mark: Some(_), .. } if goal == Goal::Open => {
                        new[number][at] = Some(NewCell { value: None, mark: None, index: None });
                    }
                    Cell { value: None, mark: Some(_), .. } => {}
                    Cell { value: Some(value), mark: None, .. } => {
                        clear.push((number, value.clone()))
                    }
                    // to open it would make something of it that it never was
                    Cell { mark: Some(mark), is_kept: false, .. } if goal.opens(*mark) => {
                        worked.misfits.push(self.misfit(row, at, Misfit::WrittenOver));
                    }
                    Cell { mark: Some(mark), .. } if goal.opens(*mark) => {
                        marked.entry(self.version(row, at, *mark)?).or_default().push(number);
                    }
                    Cell { mark: Some(_), .. } => {}
                }
            }
            for (version, numbers) in marked {
                if let Some(why) = self.lacks_version(version)? {
                    let misfit = || Misfit::Record(why.clone().into());
                    let lost = numbers.iter().map(|row| self.misfit(&rows[*row], at, misfit()));
                    worked.misfits.extend(lost);
                    continue;
                }
                let opened = self.open(at, version, rows, &numbers, &mut worked)?;
                match goal {
                    Goal::Open => {
                        for (number, value) in opened {
                            new[number][at] =
                                Some(NewCell { value: Some(value), mark: None, index: None });
                        }
                    }
                    Goal::Reseal(_) => clear.extend(opened),
                    Goal::Seal(_) | Goal::Check(_) => {}
                }
            }
            if let Goal::Seal(version) | Goal::Reseal(version) = goal {
                for (number, cell) in self.seal(at, version, rows, &clear, &mut worked)? {
                    new[number][at] = Some(cell);
                }
            }
        }
        worked.count(goal, rows);
        let changed = rows.iter().zip(new).filter(|(_, new)| new.iter().any(Option::is_some));
        worked.changes = changed.map(|(old, new)| RowChange { old: old.clone(), new }).collect();
        Ok(worked)
    }

    fn open(
        &mut self,
        at: usize,
        version: u32,
        rows: &[Row],
        numbers: &[usize],
        worked: &mut Worked,
    ) -> Result<Vec<(usize, String)>, MigrationError> {
        let value = |number: &usize| rows[*number].cells[at].value.as_deref().unwrap_or_default();
        // the version that a mark names is what is looked for before a version goes
        let key = self.key_of(version)?;
        let cipher = self.cipher(version, at)?;
        let other = |number: &usize| cipher.named_key(value(number)).filter(|named| *named != key);
        let others: Vec<_> =
            numbers.iter().filter_map(|number| Some((*number, other(number)?))).collect();
        for (number, named) in &others {
            let why = format!("its mark names key {key}, and the value itself key {named}");
            worked.misfits.push(self.misfit(&rows[*number], at, Misfit::Record(why.into())));
        }
        let is_other = |number: &usize| others.iter().any(|(other, _)| other == number);
        let numbers: Vec<usize> = numbers.iter().copied().filter(|it| !is_other(it)).collect();
        let values: Texts = numbers.iter().map(value).collect();
        let names = self.names_of(at, rows, numbers.iter().copied());
        let (mut opened, mut misfits) = (Texts::new(), Vec::new());
        self.cipher(version, at)?.open(&values, names.as_ref(), &mut opened, &mut misfits)?;
        let opened = numbers.iter().zip(opened.iter());
        let mut fit: Vec<_> =
            opened.map(|(number, text)| Some((*number, text.to_owned()))).collect();
        for (index, misfit) in misfits {
            fit[index] = None;
            worked.misfits.push(self.misfit(&rows[numbers[index]], at, misfit));
        }
        Ok(fit.into_iter().flatten().collect())
    }

    fn seal(
        &mut self,
        at: usize,
        version: u32,
        rows: &[Row],
        clear: &[(usize, String)],
        worked: &mut Worked,
    ) -> Result<Vec<(usize, NewCell)>, MigrationError> {
        let values: Texts = clear.iter().map(|(_, value)| value).collect();
        let names = self.names_of(at, rows, clear.iter().map(|(number, _)| *number));
        let (mut sealed, mut misfits) = (Texts::new(), Vec::new());
        self.cipher(version, at)?.seal(&values, names.as_ref(), &mut sealed, &mut misfits)?;
        let mark = i32::try_from(version).ok();
        let has_index = self.layout.columns[at].index.is_some();
        let mut misfits = misfits.into_iter().peekable();
        let mut cells = Vec::with_capacity(clear.len());
        for (index, (number, value)) in clear.iter().enumerate() {
            let text = sealed.get(index);
            let misfit = misfits.next_if(|(misfit, _)| *misfit == index).map(|(_, misfit)| misfit);
            let narrow = || {
                let found = text.chars().count() as u64;
                let room = self.rooms[at]?.lacks((found, text.len() as u64))?;
                Some(Misfit::Width { found, room })
            };
            if let Some(misfit) = misfit.or_else(narrow) {
                worked.misfits.push(self.misfit(&rows[*number], at, misfit));
                continue;
            }
            let mut digest = String::new();
            self.cipher(version, at)?.index(value, &mut digest)?;
            let index = Some(digest).filter(|digest| has_index && !digest.is_empty());
            cells.push((*number, NewCell { value: Some(text.to_owned()), mark, index }));
        }
        Ok(cells)
    }

    /// Returns the names of the rows of these values, if the values are bound to their row.
    fn names_of(
        &self,
        at: usize,
        rows: &[Row],
        numbers: impl Iterator<Item = usize>,
    ) -> Option<Texts> {
        self.layout.columns[at].row.as_ref()?;
        Some(
            numbers
                .map(|number| rows[number].cells[at].row.as_deref().unwrap_or_default())
                .collect(),
        )
    }

    fn cipher(&mut self, version: u32, at: usize) -> Result<&ColumnCipher, MigrationError> {
        if !self.known.contains_key(&version) {
            let keyed = Keyed::of(self.keys.clone(), self.key_of(version)?)?;
            let table = &self.table;
            let columns = table
                .columns
                .iter()
                .map(|column| ColumnCipher::new(table, column, &keyed, Backend::auto()));
            let columns = columns.collect::<Result<_, _>>()?;
            self.known.insert(version, columns);
        }
        Ok(&self.known[&version][at])
    }

    /// Returns the name of a version that a mark has the number of.
    fn key_of(&self, version: u32) -> Result<KeyRef, KeyError> {
        match version == self.key.version {
            true => Ok(self.key.clone()),
            false => numbered(&*self.keys, &self.key, version),
        }
    }

    /// Returns why no value can be opened under `mark`, if none can: it is no version, or the key
    /// source lacks that version.
    pub(super) fn lacks(&mut self, mark: i32) -> Result<Option<String>, MigrationError> {
        if mark == 0 {
            return Ok(Some("its mark is 0, which is no version of a key".into()));
        }
        self.lacks_version(mark.unsigned_abs())
    }

    /// Returns that the key source lacks `version`, if it does.
    fn lacks_version(&mut self, version: u32) -> Result<Option<String>, MigrationError> {
        match self.cipher(version, 0) {
            Ok(_) => Ok(None),
            Err(MigrationError::Key(error)) if error.is_of_version() => {
                Ok(Some(error.to_string().lines().next().unwrap_or_default().to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the version that `mark` stands for. A claim that no trigger turned is one, too.
    fn version(&self, row: &Row, at: usize, mark: i32) -> Result<u32, MigrationError> {
        if mark != 0 {
            return Ok(mark.unsigned_abs());
        }
        let column = self.layout.columns[at].name.clone();
        Err(MigrationError::Mark {
            table: self.table.name.clone(),
            row: shown(&self.layout, row),
            column,
            mark,
        })
    }

    fn misfit(&self, row: &Row, at: usize, misfit: Misfit) -> RowMisfit {
        RowMisfit {
            row: shown(&self.layout, row),
            column: self.layout.columns[at].name.clone(),
            misfit,
        }
    }
}

impl Worked {
    fn count(&mut self, goal: Goal, rows: &[Row]) {
        let Goal::Check(newest) = goal else { return };
        let has = |row: &Row, what: &dyn Fn(&Cell) -> bool| row.cells.iter().any(what);
        let is_clear = |cell: &Cell| cell.value.is_some() && cell.mark.is_none();
        let is_older = |cell: &Cell| {
            cell.value.is_some() && cell.mark.is_some_and(|mark| mark.unsigned_abs() != newest)
        };
        self.clear_rows = rows.iter().filter(|row| has(row, &is_clear)).count() as u64;
        self.older_rows = rows.iter().filter(|row| has(row, &is_older)).count() as u64;
    }
}

/// Returns the key of `row` for messages, such as `id 5`.
pub(super) fn shown(layout: &Layout, row: &Row) -> String {
    let parts = layout.key.iter().zip(&row.key).map(|(column, value)| format!("{column} {value}"));
    parts.collect::<Vec<_>>().join(", ")
}
