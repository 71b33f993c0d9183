//! Choice of the record of a request: YCSB's distributions over the existing records. Not here: the
//! formulas (`distribution`).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::RngExt;
use rand::rngs::SmallRng;

use super::distribution::{Latest, ScrambledZipfian};

/// Number of times that a number that is not there is drawn again before another is taken for it.
const REDRAWS: u32 = 1_000;

/// Distribution from which numbers of records are drawn.
pub(super) enum Requests {
    /// Below so many.
    Uniform(u64),
    Zipfian(ScrambledZipfian),
    Latest(Latest),
    /// Below `items`: a share of the draws below `hot_items`, the others above.
    Hotspot {
        items: u64,
        hot_items: u64,
        hot_share: f64,
    },
    /// One after the other.
    Sequential,
    /// The newest less a number with this mean.
    Exponential {
        mean: f64,
    },
}

/// The records of one store that are there.
pub(super) struct There<'a> {
    /// Their numbers.
    pub(super) numbers: Range<u64>,
    /// Numbers that are drawn stand for places, each held by the newest record of the same
    /// remainder; without, for themselves. For stores whose oldest records are deleted.
    pub(super) places: Option<u64>,
    /// Next number in sequence.
    pub(super) sequence: &'a AtomicU64,
    /// Part of the records that is requested, if not all are.
    pub(super) part: Option<Asked>,
}

/// A part of the records that were loaded, and all that are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// Number of its first record.
    pub(super) first: u64,
    /// Number of its records.
    pub(super) records: u64,
    /// Number of records loaded in all: numbers from there on are new records.
    pub(super) loaded: u64,
}

impl Asked {
    /// Returns the number of the record that `drawn` stands for, from 0: first the records of the
    /// part, then new records.
    fn number(self, drawn: u64) -> u64 {
        match drawn.checked_sub(self.records) {
            None => self.first + drawn,
            Some(new) => self.loaded + new,
        }
    }
}

impl Requests {
    /// Returns the number of a record that is there. `redraws` is used if the first is not: how
    /// often that happens depends on what other clients do, and what follows in `random` must not.
    pub(super) fn draw(
        &mut self,
        there: &There,
        random: &mut SmallRng,
        redraws: &mut SmallRng,
    ) -> u64 {
        let mut number = self.draw_once(there, random);
        let mut times = 0;
        while !there.numbers.contains(&number) && times < REDRAWS {
            number = self.draw_once(there, redraws);
            times += 1;
        }
        match there.numbers.contains(&number) {
            true => number,
            false => match there.part {
                Some(part) => part.first + number % part.records,
                None => {
                    there.numbers.start + number % (there.numbers.end - there.numbers.start).max(1)
                }
            },
        }
    }

    #[inline]
    fn draw_once(&mut self, there: &There, random: &mut SmallRng) -> u64 {
        let last = there.numbers.end - 1;
        let drawn = match self {
            Self::Latest(latest) => return latest.draw(last, random),
            Self::Exponential { mean } => {
                // 1 - u is never 0
                let back = -(1.0 - random.random::<f64>()).ln() * *mean;
                return last.checked_sub(back as u64).unwrap_or(u64::MAX);
            }
            Self::Sequential => {
                let whole = (there.numbers.start, there.numbers.end - there.numbers.start);
                let (first, places) = there.part.map_or(whole, |part| (part.first, part.records));
                return first + there.sequence.fetch_add(1, Ordering::Relaxed) % places;
            }
            Self::Uniform(items) => random.random_range(0..*items),
            Self::Zipfian(zipfian) => zipfian.draw(random),
            Self::Hotspot { items, hot_items, hot_share } => {
                let is_hot = random.random::<f64>() < *hot_share || hot_items == items;
                if is_hot {
                    random.random_range(0..*hot_items)
                } else {
                    random.random_range(*hot_items..*items)
                }
            }
        };
        if let Some(part) = there.part {
            return part.number(drawn);
        }
        match there.places {
            Some(places) if drawn <= last => drawn + (last - drawn) / places * places,
            _ => drawn,
        }
    }
}
