//! How keys are drawn: the distributions of YCSB 0.17, draw for draw the same formulas, and the streams of random
//! numbers behind them. What is drawn for (operations, values) is the workload's business.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Hashes a number as YCSB does: 64-bit FNV-1a over its eight bytes, low byte first, then the absolute value of the
/// result as a signed number.
///
/// Source: YCSB 0.17, `site.ycsb.Utils.fnvhash64`.
pub fn fnv(number: u64) -> u64 {
    let hash = number
        .to_le_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, &octet| (hash ^ u64::from(octet)).wrapping_mul(1_099_511_628_211));
    hash.cast_signed().unsigned_abs()
}

/// A stream of random numbers that depends on `seed`, `name` and `place` and on nothing else.
pub fn stream(seed: u64, name: &str, place: &[u64]) -> SmallRng {
    let name = name
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(1_099_511_628_211));
    let mixed = place.iter().fold(mix(seed ^ mix(name)), |state, &number| mix(state ^ mix(number)));
    SmallRng::seed_from_u64(mixed)
}

/// Spreads every bit of `number` over all bits: the output function of SplitMix64 (Steele, Lea and Flood 2014).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The skew of YCSB's zipfian distributions.
pub const THETA: f64 = 0.99;

/// Ranks from 0, each about `(rank + 1)^-0.99` as frequent as rank 0.
///
/// Source: Gray, Sundaresan, Englert, Baclawski, Weinberger, "Quickly Generating Billion-Record Synthetic
/// Databases", SIGMOD 1994; YCSB 0.17, `ZipfianGenerator`. As there, `eta` keeps the item count of the beginning when
/// the number of items grows.
#[derive(Clone, Debug)]
pub struct Zipfian {
    first_items: u64,
    items: u64,
    alpha: f64,
    zetan: f64,
    eta: f64,
    second: f64,
}

impl Zipfian {
    /// Over `items` items. Sums `items` terms: 30 ns each.
    pub fn new(items: u64) -> Self {
        Self::with_zetan(items, zeta(0, items, 0.0))
    }

    /// Over `items` items, whose sum of `i^-0.99` is already known to be `zetan`.
    pub fn with_zetan(items: u64, zetan: f64) -> Self {
        let mut zipfian = Self {
            first_items: items,
            items,
            alpha: 1.0 / (1.0 - THETA),
            zetan,
            eta: 0.0,
            second: 1.0 + 0.5_f64.powf(THETA),
        };
        zipfian.set_eta();
        zipfian
    }

    fn set_eta(&mut self) {
        let zeta2 = zeta(0, 2, 0.0);
        self.eta = (1.0 - (2.0 / self.first_items as f64).powf(1.0 - THETA)) / (1.0 - zeta2 / self.zetan);
    }

    /// Takes in items up to `items`; fewer than before change nothing.
    pub fn grow(&mut self, items: u64) {
        if items > self.items {
            self.zetan = zeta(self.items, items, self.zetan);
            self.items = items;
            self.set_eta();
        }
    }

    /// The rank that belongs to `u`, uniform in [0, 1): below the number of items.
    #[inline]
    pub fn rank(&self, u: f64) -> u64 {
        let uz = u * self.zetan;
        if uz < 1.0 {
            return 0;
        }
        if uz < self.second {
            return 1;
        }
        let rank = (self.items as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha)) as u64;
        // the formula itself stays below `items`; with fewer than three items `eta` has no meaning
        rank.min(self.items.saturating_sub(1))
    }
}

/// Adds the terms `(from + 1)^-0.99` to `to^-0.99` to `sum`.
fn zeta(from: u64, to: u64, sum: f64) -> f64 {
    (from..to).fold(sum, |sum, i| sum + 1.0 / ((i + 1) as f64).powf(THETA))
}

/// Zipfian over a space that is far larger than the items, folded onto them by a hash, so that the popular items lie
/// scattered.
///
/// Source: YCSB 0.17, `ScrambledZipfianGenerator`.
#[derive(Clone, Debug)]
pub struct ScrambledZipfian {
    inner: Zipfian,
    items: u64,
}

impl ScrambledZipfian {
    /// Largest rank of the inner distribution.
    pub const INNER_LAST: u64 = 10_000_000_000;
    /// Sum of `i^-0.99` over the inner distribution, as YCSB has it.
    pub const INNER_ZETAN: f64 = 26.469_028_201_783_02;

    /// Over `items` items, at least one.
    pub fn new(items: u64) -> Self {
        Self { inner: Zipfian::with_zetan(Self::INNER_LAST + 1, Self::INNER_ZETAN), items: items.max(1) }
    }

    /// Draws an item, 0 to `items - 1`.
    #[inline]
    pub fn draw(&self, random: &mut SmallRng) -> u64 {
        fnv(self.inner.rank(random.random())) % self.items
    }
}

/// The newest items are the most popular: the last one minus a zipfian rank.
///
/// Source: YCSB 0.17, `SkewedLatestGenerator`. As there, the zipfian runs over as many items as the last one's number
/// says, so item 0 is never drawn once there are two.
#[derive(Clone, Debug)]
pub struct Latest {
    zipfian: Zipfian,
}

impl Latest {
    /// Begins when `last` is the newest item.
    pub fn new(last: u64) -> Self {
        Self { zipfian: Zipfian::new(last) }
    }

    /// Takes in items up to `last`, so that a copy need not.
    pub fn grow(&mut self, last: u64) {
        self.zipfian.grow(last);
    }

    /// Draws an item, 0 to `last`, when `last` is the newest.
    #[inline]
    pub fn draw(&mut self, last: u64, random: &mut SmallRng) -> u64 {
        self.zipfian.grow(last);
        last.saturating_sub(self.zipfian.rank(random.random()))
    }
}

/// Most requests go to a part of the items: a share `hot_share` of the draws to the first `hot_items` of them, evenly,
/// the rest evenly to all.
#[derive(Clone, Copy, Debug)]
pub struct HotSpot {
    items: u64,
    hot_items: u64,
    hot_share: f64,
}

impl HotSpot {
    /// Over `items` items, at least one.
    pub fn new(items: u64, hot_items: u64, hot_share: f64) -> Self {
        let items = items.max(1);
        Self { items, hot_items: hot_items.clamp(1, items), hot_share }
    }

    /// Draws an item, 0 to `items - 1`.
    #[inline]
    pub fn draw(&self, random: &mut SmallRng) -> u64 {
        let hot = random.random::<f64>() < self.hot_share;
        random.random_range(0..if hot { self.hot_items } else { self.items })
    }
}

/// Gives out numbers, and knows up to which all have been acknowledged, in whatever order that happened.
///
/// Source: YCSB 0.17, `AcknowledgedCounterGenerator`; here the window of unacknowledged numbers has no bound.
#[derive(Debug)]
pub struct AcknowledgedCounter {
    next: AtomicU64,
    acknowledged: AtomicU64,
    ahead: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl AcknowledgedCounter {
    /// Gives out `first` next; all below are acknowledged.
    pub fn new(first: u64) -> Self {
        Self { next: AtomicU64::new(first), acknowledged: AtomicU64::new(first), ahead: Mutex::default() }
    }

    /// A number that nobody else has.
    pub fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Says that what `number` stands for is done.
    pub fn acknowledge(&self, number: u64) {
        let mut ahead = self.ahead.lock().expect("no code that holds this lock panics");
        ahead.push(Reverse(number));
        let mut acknowledged = self.acknowledged.load(Ordering::Relaxed);
        while ahead.peek() == Some(&Reverse(acknowledged)) {
            ahead.pop();
            acknowledged += 1;
        }
        self.acknowledged.store(acknowledged, Ordering::Release);
    }

    /// How many numbers, counted from 0, are acknowledged without a gap.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }
}
