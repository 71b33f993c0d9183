//! One column, whose values may be under several versions of its key: values sealed and opened, one
//! or many at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use sealstone_cipher::Backend;
use sealstone_cipher::memory::Generation;
use sealstone_fields::policy::Table;
use sealstone_fields::{ColumnCipher, FieldsError, Keyed, Misfit, Texts, Values, numbered};
use sealstone_keys::{KeyError, KeyRef, KeySource};
use sealstone_message::Unknown;

use crate::failure::{Code, Failure};

/// Number of values that go to the cipher at once: enough for its batches, few enough to stay in
/// the cache.
const AT_ONCE: usize = 4096;

/// One column with its key. One object serves many threads at once.
pub(crate) struct Column {
    table: Table,
    at: usize,
    source: Arc<dyn KeySource>,
    /// The version under which values are sealed.
    key: KeyRef,
    newest: ColumnCipher,
    /// Other versions that values were opened under.
    others: RwLock<BTreeMap<u32, Arc<ColumnCipher>>>,
    opened_in: Generation,
}

/// Values that do not fit, by number, each with the reason.
type Misfits = Vec<(usize, Misfit)>;

/// Outcome of the work on some values.
type Done = Result<(), Failure>;

impl Column {
    /// - `keyed`: the version to seal under, from `source`
    pub(crate) fn new(
        table: &Table,
        name: &str,
        source: Arc<dyn KeySource>,
        keyed: &Keyed,
    ) -> Result<Self, Failure> {
        let names = table.columns.iter().map(|column| column.name.as_str());
        let at = names.clone().position(|known| known == name).ok_or_else(|| {
            let unknown = Unknown::new("column", name, names);
            Failure::new(Code::Policy, format!("table {}: {unknown}", table.name))
        })?;
        let newest = ColumnCipher::new(table, &table.columns[at], keyed, Backend::auto())?;
        Ok(Self {
            table: table.clone(),
            at,
            source,
            key: keyed.key().clone(),
            newest,
            others: RwLock::default(),
            opened_in: Generation::current(),
        })
    }

    /// Returns the version of the key under which values are sealed.
    pub(crate) fn version(&self) -> u32 {
        self.key.version
    }

    /// Returns the column that names the row, if values are bound to it.
    pub(crate) fn row(&self) -> Option<&str> {
        self.newest.row()
    }

    /// Returns the name of the column with the index values, if there is one.
    pub(crate) fn index_name(&self) -> Option<&str> {
        self.table.columns[self.at].index.as_ref().map(|index| index.name.as_str())
    }

    /// Seals `values`. If one cannot be sealed, none is.
    ///
    /// - `rows`: for a column that is bound to rows, as many as `values`; none for another
    pub(crate) fn seal(
        &self,
        values: &dyn Values,
        rows: Option<&dyn Values>,
    ) -> Result<Texts, Failure> {
        self.in_parts(values, rows, |_, part, rows, out, misfits| {
            Ok(self.newest.seal(part, rows, out, misfits)?)
        })
    }

    /// Opens `values`. If one cannot be opened, none is.
    ///
    /// - `marks`: for each value the version that it is sealed under, with either sign, or 0 for a
    ///   value in the clear; none if all are under the version of the column
    /// - `rows`: as for [`Column::seal`]
    pub(crate) fn open(
        &self,
        marks: Option<&[i32]>,
        values: &dyn Values,
        rows: Option<&dyn Values>,
    ) -> Result<Texts, Failure> {
        if let Some(marks) = marks.filter(|marks| marks.len() != values.len()) {
            let (marks, values) = (marks.len(), values.len());
            return Err(Failure::argument(format!("{marks} marks for {values} values")));
        }
        self.in_parts(values, rows, |start, part, rows, out, misfits| match marks {
            None => self.open_under(&self.newest, start, part, rows, out, misfits),
            Some(marks) => {
                let marks = &marks[start..start + part.len()];
                self.open_marked(marks, start, part, rows, out, misfits)
            }
        })
    }

    /// Returns the index values of `values`, which are in the clear; empty texts for a column
    /// without an index, and for empty values that stay empty.
    pub(crate) fn index(&self, values: &dyn Values) -> Result<Texts, Failure> {
        self.opened_in.check()?;
        let (mut out, mut text) = (Texts::new(), String::new());
        for index in 0..values.len() {
            text.clear();
            self.newest.index(values.get(index), &mut text)?;
            out.push(&text);
        }
        Ok(out)
    }

    /// Does `work` with some of `values` after the others; it gets the number of the first of them.
    fn in_parts(
        &self,
        values: &dyn Values,
        rows: Option<&dyn Values>,
        work: impl Fn(usize, &[&str], Option<&Texts>, &mut Texts, &mut Misfits) -> Done,
    ) -> Result<Texts, Failure> {
        self.opened_in.check()?;
        let rows = self.named(values.len(), rows)?;
        let (mut out, mut misfits) = (Texts::new(), Vec::new());
        let mut part = Vec::with_capacity(values.len().min(AT_ONCE));
        let mut names = Texts::new();
        for start in (0..values.len()).step_by(AT_ONCE) {
            let end = values.len().min(start + AT_ONCE);
            part.clear();
            part.extend((start..end).map(|index| values.get(index)));
            names.clear();
            if let Some(rows) = rows {
                (start..end).for_each(|index| names.push(rows.get(index)));
            }
            work(start, &part, rows.map(|_| &names), &mut out, &mut misfits)?;
            if let Some((at, misfit)) = misfits.drain(..).next() {
                return Err(Failure::from(misfit).of_value(start + at));
            }
        }
        Ok(out)
    }

    /// Returns the rows that `count` values are bound to, if they are bound to any.
    fn named<'a>(
        &self,
        count: usize,
        rows: Option<&'a dyn Values>,
    ) -> Result<Option<&'a dyn Values>, Failure> {
        match (self.row(), rows) {
            (None, None) => Ok(None),
            // it would protect nothing, and the caller thinks that it does
            (None, Some(_)) => Err(Failure::argument(format!(
                "column {} is not bound to rows, and a row was given\npass none; to bind its \
                 values, seal them by a policy with tweak = \"row:COLUMN\"",
                self.table.columns[self.at].name
            ))),
            (Some(row), None) => Err(Failure::argument(format!(
                "the values are bound to column {row}, which was not given\npass it as row"
            ))),
            (Some(_), Some(rows)) if rows.len() != count => Err(Failure::argument(format!(
                "{} rows for {count} values\npass the row of each value",
                rows.len()
            ))),
            (Some(_), rows) => Ok(rows),
        }
    }

    /// Opens each of `part` under the version that its mark names.
    fn open_marked(
        &self,
        marks: &[i32],
        start: usize,
        part: &[&str],
        rows: Option<&Texts>,
        out: &mut Texts,
        misfits: &mut Misfits,
    ) -> Result<(), Failure> {
        let mut versions: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, mark) in marks.iter().enumerate() {
            versions.entry(mark.unsigned_abs()).or_default().push(index);
        }
        let mut made: Vec<&str> = part.to_vec();
        let mut opened = Vec::new();
        for (version, numbers) in versions.into_iter().filter(|(version, _)| *version != 0) {
            let chosen: Vec<&str> = numbers.iter().map(|index| part[*index]).collect();
            let names: Option<Texts> =
                rows.map(|rows| numbers.iter().map(|index| rows.get(*index)).collect());
            let (mut texts, mut found) = (Texts::new(), Vec::new());
            let first = start + numbers[0];
            let older;
            let cipher = if version == self.version() {
                &self.newest
            } else {
                older = self.other(version).map_err(|failure| failure.of_value(first))?;
                &*older
            };
            let key = self.key_of(version)?;
            let other = |value: &&str| cipher.named_key(value).filter(|named| *named != key);
            let first = chosen.iter().enumerate().find_map(|(at, value)| Some((at, other(value)?)));
            // one that is not to be had is an error of the key, below
            if let Some((at, named)) = first.filter(|(_, named)| self.source.get(named).is_ok()) {
                let why = format!("its mark names key {key}, and the value itself key {named}");
                return Err(Failure::from(Misfit::Record(why.into())).of_value(start + numbers[at]));
            }
            self.open_under(cipher, start, &chosen, names.as_ref(), &mut texts, &mut found)
                .map_err(|failure| match failure.at {
                    Some(at) => Failure { at: Some(start + numbers[at - start]), ..failure },
                    None => failure,
                })?;
            misfits.extend(found.into_iter().map(|(at, misfit)| (numbers[at], misfit)));
            opened.push((numbers, texts));
        }
        for (numbers, texts) in &opened {
            numbers.iter().enumerate().for_each(|(at, index)| made[*index] = texts.get(at));
        }
        made.into_iter().for_each(|text| out.push(text));
        misfits.sort_by_key(|(index, _)| *index);
        Ok(())
    }

    /// Opens `part` under one version. A record may name a key that is not to be had, which ends
    /// the work of the cipher: it is found one by one.
    fn open_under(
        &self,
        cipher: &ColumnCipher,
        start: usize,
        part: &[&str],
        rows: Option<&Texts>,
        out: &mut Texts,
        misfits: &mut Misfits,
    ) -> Result<(), Failure> {
        let Err(error) = cipher.open(part, rows, out, misfits) else { return Ok(()) };
        if let FieldsError::Field(_) = error {
            for (index, value) in part.iter().enumerate() {
                let row: Option<Texts> = rows.map(|rows| [rows.get(index)].into_iter().collect());
                let one = cipher.open(&[*value][..], row.as_ref(), &mut Texts::new(), &mut vec![]);
                if let Err(error) = one {
                    return Err(Failure::from(error).of_value(start + index));
                }
            }
        }
        Err(error.into())
    }

    fn key_of(&self, version: u32) -> Result<KeyRef, KeyError> {
        match version == self.version() {
            true => Ok(self.key.clone()),
            false => numbered(&*self.source, &self.key, version),
        }
    }

    /// Returns the cipher under another version than the newest.
    fn other(&self, version: u32) -> Result<Arc<ColumnCipher>, Failure> {
        let known = |others: &BTreeMap<u32, Arc<ColumnCipher>>| others.get(&version).cloned();
        if let Some(cipher) = known(&self.others.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(cipher);
        }
        let keyed = Keyed::of(self.source.clone(), self.key_of(version)?)?;
        let column = &self.table.columns[self.at];
        let cipher = ColumnCipher::new(&self.table, column, &keyed, Backend::auto())?;
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        Ok(others.entry(version).or_insert_with(|| Arc::new(cipher)).clone())
    }
}
