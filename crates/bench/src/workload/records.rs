//! Sources of the values of records: YCSB's own random fields, or the rows of a CSV file. Keys are
//! the workload's business.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use rand::rngs::SmallRng;
use rand::{Rng, RngExt};
use sealstone_csv::Delimiter;
use sealstone_store::{Field, Kind, Record};

use super::csv_records::CsvRecords;
pub(crate) use super::csv_records::Error;
use super::distribution::stream;
use super::lengths::Lengths;

/// Fields of a YCSB record.
const YCSB_FIELDS: usize = 10;
/// Bytes of a field of a YCSB record: whole words, as [`printable`] makes them, and a half.
const YCSB_FIELD_BYTES: u64 = 100;
/// Bytes up to which making a value needs no separate memory.
const SHORT_BYTES: usize = 128;

/// A source of record values.
#[derive(Debug)]
pub(crate) struct Records {
    fields: Vec<Field>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Drawn { seed: u64, lengths: Lengths },
    Csv(CsvRecords),
}

impl Records {
    /// Makes YCSB's own: ten fields `field0` to `field9` of 100 random printable ASCII characters.
    pub(crate) fn ycsb(seed: u64) -> Self {
        Self::drawn(seed, YCSB_FIELDS, Lengths::Constant(YCSB_FIELD_BYTES))
    }

    /// As YCSB's own, with `count` fields `field0` and so on, each as long as drawn.
    pub(super) fn drawn(seed: u64, count: usize, lengths: Lengths) -> Self {
        let field = |number| Field { name: format!("field{number}"), kind: Kind::Bytes };
        Self { fields: (0..count).map(field).collect(), source: Source::Drawn { seed, lengths } }
    }

    /// Returns the rows of a CSV file in UTF-8 or CP949 with a header line, repeated without end.
    /// The kind of each column is inferred from all its values. The whole file is kept in memory.
    ///
    /// - `delimiter`: separator of the fields; detected if absent
    /// - `stop`: ends the reading once it is set
    ///
    /// # Errors
    /// A file that cannot be read, is empty, in another encoding, without rows, ragged, with a
    /// quote that is not closed, or with a header that does not name its columns; with the line
    /// number if there is one. [`Error::Stopped`].
    pub(crate) fn from_csv(
        path: &Path,
        delimiter: Option<Delimiter>,
        stop: &AtomicBool,
    ) -> Result<Self, Error> {
        let csv = CsvRecords::read(path, delimiter, stop)?;
        Ok(Self { fields: csv.fields(), source: Source::Csv(csv) })
    }

    /// Returns the delimiter of the fields in the file, if the records come from a file.
    pub(crate) fn delimiter(&self) -> Option<Delimiter> {
        match &self.source {
            Source::Drawn { .. } => None,
            Source::Csv(csv) => Some(csv.delimiter()),
        }
    }

    /// Returns the name and kind of each field.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Puts record number `number` into `into`, cleared first: always the same values for the same
    /// number.
    pub(crate) fn fill(&self, number: u64, into: &mut Record) {
        into.clear();
        match &self.source {
            Source::Drawn { seed, lengths } => {
                let mut random = stream(*seed, "record", &[number]);
                let (mut short, mut long) = ([0; SHORT_BYTES], Vec::new());
                let most = lengths.most() as usize;
                let value = match short.get_mut(..most) {
                    Some(short) => short,
                    None => {
                        long.resize(most, 0);
                        long.as_mut_slice()
                    }
                };
                for _ in &self.fields {
                    let value = &mut value[..lengths.draw(&mut random) as usize];
                    printable(&mut random, value);
                    into.push(value);
                }
            }
            Source::Csv(csv) => {
                let row = number % csv.rows();
                (0..self.fields.len()).for_each(|field| into.push(csv.value(row, field)));
            }
        }
    }

    /// Puts a new value for field `field` into `into`, cleared first: random characters, or what
    /// the field holds in a uniformly chosen row of the CSV.
    pub(crate) fn draw_value(&self, field: usize, random: &mut SmallRng, into: &mut Vec<u8>) {
        into.clear();
        match &self.source {
            Source::Drawn { lengths, .. } => {
                into.resize(lengths.draw(random) as usize, 0);
                printable(random, into);
            }
            Source::Csv(csv) => {
                into.extend_from_slice(csv.value(random.random_range(0..csv.rows()), field))
            }
        }
    }

    /// Returns the mean bytes of the values of a record.
    pub(crate) fn mean_bytes(&self) -> f64 {
        match &self.source {
            Source::Drawn { lengths, .. } => self.fields.len() as f64 * lengths.mean(),
            Source::Csv(csv) => csv.mean_bytes(),
        }
    }
}

/// Fills `value` with random printable ASCII, six random bits a character: ' ' to '_'. Eight
/// characters at a time, since this is most of what the load generator does.
pub(super) fn printable(random: &mut SmallRng, value: &mut [u8]) {
    const SIX_BITS: u64 = 0x3F3F_3F3F_3F3F_3F3F;
    const SPACES: u64 = 0x2020_2020_2020_2020;
    let mut word = || ((random.next_u64() & SIX_BITS) + SPACES).to_le_bytes();
    let mut words = value.chunks_exact_mut(8);
    for octets in &mut words {
        octets.copy_from_slice(&word());
    }
    let rest = words.into_remainder();
    rest.copy_from_slice(&word()[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::study::plan::Plan;
    use crate::workload::build;
    use crate::workload::distribution::stream;
    use crate::workload::testing::{
        Journal, alone, assert_distributed, health_checks, load, make, plan, run, tally,
    };
    use sealstone_store::Store;

    fn csv_file() -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all("name,age\nann,31\nbob,\nchris,7\n".as_bytes()).unwrap();
        file
    }

    #[test]
    fn ycsb_records_depend_on_seed_and_number_alone() {
        let fill = |seed, number| {
            let mut record = Record::new();
            record.push(b"left over");
            Records::ycsb(seed).fill(number, &mut record);
            record
        };
        assert_eq!(fill(1, 5), fill(1, 5));
        assert_ne!(fill(1, 5), fill(1, 6));
        assert_ne!(fill(1, 5), fill(2, 5));
        assert_eq!((fill(1, 5).len(), fill(1, 5).bytes()), (10, 1_000));
    }

    #[test]
    fn printable_characters_are_even() {
        let mut value = vec![0; 99_999];
        printable(&mut stream(1, "test", &[]), &mut value);
        let counts = tally(value.iter().map(|octet| u64::from(octet - b' ')), 64);
        assert_distributed(&counts, &[1.0 / 64.0; 64]);
    }

    #[test]
    fn csv_rows_repeat_under_fresh_keys() {
        let file = csv_file();
        let plan = Plan { records: vec![7], records_from: Some(file.path().into()), ..plan() };
        let (store, workload) = (Journal::default(), make(&plan, "a"));
        assert_eq!(load(&*workload, &store, 2), 7);
        let mut rows: Vec<String> = store
            .take()
            .iter()
            .map(|call| call.splitn(4, ' ').nth(3).unwrap().to_owned())
            .collect();
        // loaded in the order of their keys, which are hashes
        rows.sort_unstable();
        assert_eq!(rows, ["ann|31", "ann|31", "ann|31", "bob|", "bob|", "chris|7", "chris|7"]);
        let mut keys = 0;
        store.scan(&workload.tables()[0], b"user", 100, &mut |_, _| keys += 1).unwrap();
        assert_eq!(keys, 7);
        let kinds: Vec<_> = workload.tables()[0].fields.iter().map(|field| field.kind).collect();
        assert_eq!(kinds, [Kind::Text, Kind::Integer]);
    }

    #[test]
    fn updates_write_what_the_column_holds_elsewhere() {
        let file = csv_file();
        let plan = Plan { records: vec![50], records_from: Some(file.path().into()), ..plan() };
        let (store, workload) = (Journal::default(), make(&plan, "a"));
        load(&*workload, &store, 1);
        store.take();
        run(&mut *workload.client(alone(0, 0)), &store, 12_000);
        let columns = [["ann", "bob", "chris"], ["31", "", "7"]];
        let mut cells = Vec::new();
        for call in store.take().iter().filter(|call| call.starts_with("update ")) {
            let words: Vec<&str> = call.splitn(5, ' ').collect();
            let field: usize = words[3].parse().unwrap();
            let value = columns[field]
                .iter()
                .position(|value| *value == words[4])
                .expect("a value of that column");
            cells.push((field * 3 + value) as u64);
        }
        assert_distributed(&tally(cells, 6), &[1.0 / 6.0; 6]);
    }

    #[test]
    fn a_csv_that_cannot_be_used_stops_every_workload_that_needs_it() {
        let plan = Plan { records_from: Some("/no/such.csv".into()), ..plan() };
        for name in ["a", "batch-load", "batch-scan"] {
            let error = build(&plan.data(), &[name]).err().unwrap().to_string();
            assert_eq!(
                error,
                "cannot read records from /no/such.csv: No such file or directory (os error 2)"
            );
        }
        assert!(build(&plan.data(), &["oltp"]).is_ok());
    }

    #[test]
    fn records_of_a_file_pass_through_every_workload_that_takes_them() {
        let records_from = Some(health_checks());
        let plan = Plan {
            records: vec![40_000],
            operations: 2_000,
            bytes: 500_000,
            records_from,
            ..plan()
        };
        let names = ["a", "b", "c", "d", "e", "f", "batch-load", "batch-scan"];
        let (ycsb, batch) = (Journal::default(), Journal::default());
        for workload in build(&plan.data(), &names).unwrap() {
            let store = if workload.spec().dataset == "ycsb" { &ycsb } else { &batch };
            if workload.spec().name == "a" {
                load(&*workload, store, 2);
            }
            run(&mut *workload.client(alone(0, 0)), store, workload.operations());
        }
    }
}
