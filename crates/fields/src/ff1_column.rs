//! FF1 over the values of a column: taken apart by the format, grouped by length, sealed many at a
//! time, and put together again.
//!
//! Results that are no value of the format go through FF1 again. Formats that are no power of a
//! radix number their values in the smallest radix that holds them (`rank`), so that this hardly
//! ever happens.

use sealstone_cipher::ff1::{Domain, LENGTH_MAX, Tweaks, takes};
use sealstone_cipher::{Backend, Error, Mode};
use zeroize::Zeroizing;

use crate::error::FieldsError;
use crate::format::Format;
use crate::misfit::Misfit;
use crate::permute::{Permutation, Permuter};
use crate::policy::{Column, Table, Tweak};
use crate::shape::Taken;
use crate::table_key::Keyed;
use crate::texts::{Texts, Values};

/// Direction of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Seal,
    Open,
}

/// FF1 of one column.
#[derive(Debug)]
pub(crate) struct Ff1Column {
    format: Format,
    /// For each word of the format.
    words: Vec<Box<dyn Permutation>>,
}

/// Values of one word and length, which are sealed in one call.
#[derive(Debug)]
struct Group {
    word: usize,
    length: usize,
    numerals: Vec<u16>,
    /// Number of each value.
    members: Vec<usize>,
    /// The tweak of each value, one after the other.
    tweaks: Vec<u8>,
    tweak_ends: Vec<usize>,
}

impl Ff1Column {
    pub(crate) fn new(
        table: &Table,
        column: &Column,
        format: &Format,
        keyed: &Keyed,
        permuter: &dyn Permuter,
    ) -> Result<Self, FieldsError> {
        let cipher = table.cipher;
        if !takes(cipher) {
            return Err(FieldsError::NoFf1 { column: column.name.clone(), cipher: cipher.name });
        }
        if let Some(module) = keyed.provider(Backend::auto()).module() {
            // nor does a device compute it then
            let (module, what, cipher) = (module.name(), Mode::Ff1.word(), cipher.name);
            return Err(FieldsError::Module(Error::Lacks { module, what, cipher }));
        }
        let mut key = Zeroizing::new(vec![0; cipher.key_bytes]);
        let id = cipher.id.to_be_bytes();
        let everywhere: &[&[u8]] = &[b"everywhere", b"", b"", format.text().as_bytes(), &id];
        let here: &[&[u8]] = &[
            b"column",
            table.name.as_bytes(),
            column.name.as_bytes(),
            format.text().as_bytes(),
            &id,
        ];
        keyed.subkey(
            "field ff1",
            if column.tweak == Tweak::None { everywhere } else { here },
            &mut key,
        )?;
        let domain = match format.allows_small() {
            true => Domain::AllowSmall { least_values: 2 },
            false => Domain::Standard,
        };
        let words = format
            .radices()
            .map(|radix| permuter.permutation(&column.name, cipher, &key, radix, domain));
        Ok(Self { format: format.clone(), words: words.collect::<Result<_, _>>()? })
    }

    /// Appends to `out` each of `values` sealed or opened; an empty text where `misfits` names a
    /// reason.
    ///
    /// - `rows`: the row that each value is bound to, if any
    /// - `keeps_empty`: whether an empty value stays one
    pub(crate) fn crypt<V: Values + ?Sized>(
        &self,
        direction: Direction,
        values: &V,
        rows: Option<&Texts>,
        keeps_empty: bool,
        out: &mut Texts,
        misfits: &mut Vec<(usize, Misfit)>,
    ) -> Result<(), FieldsError> {
        let mut groups: Vec<Group> = Vec::new();
        // which group a value is in, and where
        let mut places: Vec<Option<(usize, usize)>> = Vec::with_capacity(values.len());
        let mut taken = Taken::default();
        for index in 0..values.len() {
            let value = values.get(index);
            if value.is_empty() && keeps_empty {
                places.push(None);
                continue;
            }
            match self.take(value, &mut taken) {
                Ok(word) => {
                    let at = group(&mut groups, word, taken.numerals.len());
                    places.push(Some((at, groups[at].members.len())));
                    groups[at].add(index, &taken, rows.map(|rows| rows.get(index)));
                }
                Err(misfit) => {
                    misfits.push((index, misfit));
                    places.push(None);
                }
            }
        }
        for group in &mut groups {
            self.permute(direction, group, values)?;
        }
        for (index, place) in places.into_iter().enumerate() {
            out.push_with(|text| {
                if let Some((at, member)) = place {
                    let group = &groups[at];
                    self.format.shape().put(
                        values.get(index),
                        group.word,
                        group.numerals_of(member),
                        text,
                    );
                }
            });
        }
        Ok(())
    }

    fn take(&self, value: &str, taken: &mut Taken) -> Result<usize, Misfit> {
        let word = self.format.take(value, taken)?;
        if taken.numerals.len() > LENGTH_MAX {
            let expected = format!("at most {LENGTH_MAX}").into();
            return Err(Misfit::Length {
                found: taken.numerals.len(),
                what: "characters",
                expected,
            });
        }
        Ok(word)
    }

    /// Permutes the values of `group`, and again those values that left the format, until none has
    /// (cycle-walking; a value is in the format to begin with, so its walk ends). A walk takes as
    /// many steps as there are numerals for each value of the format, on average.
    fn permute<V: Values + ?Sized>(
        &self,
        direction: Direction,
        group: &mut Group,
        values: &V,
    ) -> Result<(), FieldsError> {
        let shape = self.format.shape();
        let permuted = &*self.words[group.word];
        group.apply(permuted, direction)?;
        let left = |group: &Group, member: &usize, index: usize| {
            !shape.accepts(values.get(index), group.word, group.numerals_of(*member))
        };
        let mut walking: Vec<usize> = (0..group.members.len())
            .filter(|member| left(group, member, group.members[*member]))
            .collect();
        while !walking.is_empty() {
            let mut part = group.part(&walking);
            part.apply(permuted, direction)?;
            let mut still = Vec::with_capacity(walking.len());
            for (at, &member) in walking.iter().enumerate() {
                let (start, length) = (member * group.length, group.length);
                group.numerals[start..start + length].copy_from_slice(part.numerals_of(at));
                if left(&part, &at, part.members[at]) {
                    still.push(member);
                }
            }
            walking = still;
        }
        Ok(())
    }
}

/// Returns the group of values of `word` with `length` numerals.
fn group(groups: &mut Vec<Group>, word: usize, length: usize) -> usize {
    let known = groups.iter().rposition(|group| (group.word, group.length) == (word, length));
    known.unwrap_or_else(|| {
        let (numerals, tweaks) = (Vec::new(), Vec::new());
        groups.push(Group {
            word,
            length,
            numerals,
            members: Vec::new(),
            tweaks,
            tweak_ends: Vec::new(),
        });
        groups.len() - 1
    })
}

impl Group {
    /// Adds a value. Its tweak is its part in the clear; with a row, the length of that part (u32,
    /// big-endian), the part, and the row.
    fn add(&mut self, index: usize, taken: &Taken, row: Option<&str>) {
        self.numerals.extend_from_slice(&taken.numerals);
        self.members.push(index);
        if row.is_some() {
            self.tweaks.extend_from_slice(&(taken.kept.len() as u32).to_be_bytes());
        }
        self.tweaks.extend_from_slice(taken.kept.as_bytes());
        self.tweaks.extend_from_slice(row.unwrap_or_default().as_bytes());
        self.tweak_ends.push(self.tweaks.len());
    }

    fn numerals_of(&self, member: usize) -> &[u16] {
        &self.numerals[member * self.length..][..self.length]
    }

    fn tweak_of(&self, member: usize) -> &[u8] {
        let start = if member == 0 { 0 } else { self.tweak_ends[member - 1] };
        &self.tweaks[start..self.tweak_ends[member]]
    }

    /// Returns the values at `members` alone.
    fn part(&self, members: &[usize]) -> Self {
        let mut part = Self {
            word: self.word,
            length: self.length,
            numerals: Vec::with_capacity(members.len() * self.length),
            members: Vec::with_capacity(members.len()),
            tweaks: Vec::new(),
            tweak_ends: Vec::with_capacity(members.len()),
        };
        for &member in members {
            part.numerals.extend_from_slice(self.numerals_of(member));
            part.members.push(self.members[member]);
            part.tweaks.extend_from_slice(self.tweak_of(member));
            part.tweak_ends.push(part.tweaks.len());
        }
        part
    }

    fn apply(
        &mut self,
        permuted: &dyn Permutation,
        direction: Direction,
    ) -> Result<(), FieldsError> {
        let mut numerals = std::mem::take(&mut self.numerals);
        let each: Vec<&[u8]>;
        let count = self.members.len();
        let tweaks = match self.tweaks.len().checked_div(count) {
            None | Some(0) if self.tweaks.is_empty() => Tweaks::One(b""),
            Some(tweak_bytes) if self.are_as_long(tweak_bytes) => {
                Tweaks::Packed { bytes: &self.tweaks, tweak_bytes }
            }
            _ => {
                each = (0..count).map(|member| self.tweak_of(member)).collect();
                Tweaks::Each(&each)
            }
        };
        let outcome = match direction {
            Direction::Seal => permuted.seal_batch(tweaks, &mut numerals, self.length),
            Direction::Open => permuted.open_batch(tweaks, &mut numerals, self.length),
        };
        self.numerals = numerals;
        outcome
    }

    /// Returns whether every tweak has `tweak_bytes` bytes.
    fn are_as_long(&self, tweak_bytes: usize) -> bool {
        self.tweak_ends.iter().zip(1..).all(|(end, count)| *end == tweak_bytes * count)
    }
}
