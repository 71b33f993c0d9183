//! Where the values of records come from: YCSB's own random fields, or the rows of a CSV file. Keys are the
//! workload's business.

use std::path::Path;

use rand::rngs::SmallRng;
use rand::{Rng, RngExt};

use super::csv_records::CsvRecords;
pub use super::csv_records::Error;
use super::distribution::stream;
use crate::store::{Field, Kind, Record};

/// Fields of a YCSB record.
const YCSB_FIELDS: usize = 10;
/// Bytes of a field of a YCSB record: whole words, as [`printable`] makes them, and a half.
const YCSB_FIELD_BYTES: usize = 100;

/// A source of record values.
#[derive(Debug)]
pub struct Records {
    fields: Vec<Field>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Ycsb { seed: u64 },
    Csv(CsvRecords),
}

impl Records {
    /// YCSB's own: ten text fields `field0` to `field9` of 100 random printable ASCII characters.
    pub fn ycsb(seed: u64) -> Self {
        let field = |number| Field { name: format!("field{number}"), kind: Kind::Text };
        Self { fields: (0..YCSB_FIELDS).map(field).collect(), source: Source::Ycsb { seed } }
    }

    /// The rows of a CSV file in UTF-8 or CP949 with a header line, repeated without end. The kind of each column is
    /// inferred from all its values. The whole file is kept in memory.
    ///
    /// # Errors
    /// A file that cannot be read, is empty, in another encoding, without rows, ragged, or with a header that does
    /// not name its columns; with the line number where there is one.
    pub fn from_csv(path: &Path) -> Result<Self, Error> {
        let csv = CsvRecords::read(path)?;
        Ok(Self { fields: csv.fields(), source: Source::Csv(csv) })
    }

    /// Name and kind of each field.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Puts record number `number` into `into`, cleared first: always the same values for the same number.
    pub fn fill(&self, number: u64, into: &mut Record) {
        into.clear();
        match &self.source {
            Source::Ycsb { seed } => {
                let mut random = stream(*seed, "record", &[number]);
                let mut value = [0; YCSB_FIELD_BYTES];
                for _ in 0..YCSB_FIELDS {
                    printable(&mut random, &mut value);
                    into.push(&value);
                }
            }
            Source::Csv(csv) => {
                let row = number % csv.rows();
                (0..self.fields.len()).for_each(|field| into.push(csv.value(row, field)));
            }
        }
    }

    /// Puts a new value for field `field` into `into`, cleared first: random characters, or what the field holds in
    /// a uniformly chosen row of the CSV.
    pub fn draw_value(&self, field: usize, random: &mut SmallRng, into: &mut Vec<u8>) {
        into.clear();
        match &self.source {
            Source::Ycsb { .. } => {
                into.resize(YCSB_FIELD_BYTES, 0);
                printable(random, into);
            }
            Source::Csv(csv) => into.extend_from_slice(csv.value(random.random_range(0..csv.rows()), field)),
        }
    }

    /// Mean bytes of the values of a record.
    pub fn mean_bytes(&self) -> f64 {
        match &self.source {
            Source::Ycsb { .. } => (YCSB_FIELDS * YCSB_FIELD_BYTES) as f64,
            Source::Csv(csv) => csv.mean_bytes(),
        }
    }
}

/// Fills `value` with random printable ASCII, six random bits a character: ' ' to '_'. Eight characters at a time,
/// since this is most of what the load generator does.
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
