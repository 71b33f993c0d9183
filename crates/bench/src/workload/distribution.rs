//! Distributions from which keys are drawn: YCSB 0.17's, with the same formulas draw for draw, and
//! the streams of random numbers behind them. The use of draws (operations, values) is the
//! workload's business.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Hashes a number as YCSB does: 64-bit FNV-1a over its eight bytes, low byte first, then the
/// absolute value of the result as a signed number.
///
/// Source: YCSB 0.17, `site.ycsb.Utils.fnvhash64`.
pub fn fnv(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(1_099_511_628_211)
    });
    hash.cast_signed().unsigned_abs()
}

/// Returns a stream of random numbers that depends on `seed`, `name` and `place` and on nothing
/// else.
pub(crate) fn stream(seed: u64, name: &str, place: &[u64]) -> SmallRng {
    let name = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(1_099_511_628_211)
    });
    let mixed = place.iter().fold(mix(seed ^ mix(name)), |state, &number| mix(state ^ mix(number)));
    SmallRng::seed_from_u64(mixed)
}

/// Spreads every bit of `number` over all bits: the output function of SplitMix64 (Steele, Lea and
/// Flood 2014).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The skew of YCSB's zipfian distributions.
pub(crate) const THETA: f64 = 0.99;

/// Ranks from 0, each about `(rank + 1)^-theta` as frequent as rank 0.
///
/// Source: Gray, Sundaresan, Englert, Baclawski, Weinberger, "Quickly Generating Billion-Record
/// Synthetic Databases", SIGMOD 1994; YCSB 0.17, `ZipfianGenerator`. As there, `eta` keeps the item
/// count of the beginning when the number of items grows.
#[derive(Clone, Debug)]
pub(crate) struct Zipfian {
    theta: f64,
    first_items: u64,
    items: u64,
    alpha: f64,
    zetan: f64,
    eta: f64,
    second: f64,
}

impl Zipfian {
    /// Makes the distribution over `items` items, with the skew `theta` between 0 and 1. Sums
    /// `items` terms: 30 ns each.
    pub(crate) fn new(items: u64, theta: f64) -> Self {
        Self::with_zetan(items, theta, zeta(0, items, theta, 0.0))
    }

    /// Makes the distribution over `items` items, whose sum of `i^-theta` is `zetan`.
    pub(crate) fn with_zetan(items: u64, theta: f64, zetan: f64) -> Self {
        let mut zipfian = Self {
            theta,
            first_items: items,
            items,
            alpha: 1.0 / (1.0 - theta),
            zetan,
            eta: 0.0,
            second: 1.0 + 0.5_f64.powf(theta),
        };
        zipfian.set_eta();
        zipfian
    }

    fn set_eta(&mut self) {
        let zeta2 = zeta(0, 2, self.theta, 0.0);
        self.eta = (1.0 - (2.0 / self.first_items as f64).powf(1.0 - self.theta))
            / (1.0 - zeta2 / self.zetan);
    }

    /// Takes in items up to `items`; fewer than before change nothing.
    pub(crate) fn grow(&mut self, items: u64) {
        if items > self.items {
            self.zetan = zeta(self.items, items, self.theta, self.zetan);
            self.items = items;
            self.set_eta();
        }
    }

    /// Returns the rank that belongs to `u`, uniform in [0, 1): below the number of items.
    #[inline]
    pub(crate) fn rank(&self, u: f64) -> u64 {
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

/// Adds the terms `(from + 1)^-theta` to `to^-theta` to `sum`.
fn zeta(from: u64, to: u64, theta: f64, sum: f64) -> f64 {
    (from..to).fold(sum, |sum, i| sum + 1.0 / ((i + 1) as f64).powf(theta))
}

/// Returns the sum of the terms `1` to `items^-theta`, adding only the first terms one by one.
///
/// Source: the formula of Euler and Maclaurin, whose next term is below 1e-19 here.
fn zeta_of_many(items: u64, theta: f64) -> f64 {
    const ONE_BY_ONE: u64 = 10_000;
    let first = items.min(ONE_BY_ONE);
    let sum = zeta(0, first, theta, 0.0);
    if first == items {
        return sum;
    }
    let (low, high) = (first as f64, items as f64);
    let area = (high.powf(1.0 - theta) - low.powf(1.0 - theta)) / (1.0 - theta);
    let ends = (high.powf(-theta) - low.powf(-theta)) / 2.0;
    let slopes = theta / 12.0 * (low.powf(-theta - 1.0) - high.powf(-theta - 1.0));
    sum + area + ends + slopes
}

/// Zipfian over a space that is far larger than the items, folded onto them by a hash, so that the
/// popular items are scattered.
///
/// Source: YCSB 0.17, `ScrambledZipfianGenerator`.
#[derive(Clone, Debug)]
pub(crate) struct ScrambledZipfian {
    inner: Zipfian,
    items: u64,
}

impl ScrambledZipfian {
    /// Largest rank of the inner distribution.
    pub(crate) const INNER_LAST: u64 = 10_000_000_000;
    /// Sum of `i^-0.99` over the inner distribution, as YCSB has it.
    pub(crate) const INNER_ZETAN: f64 = 26.469_028_201_783_02;

    /// Makes the distribution over `items` items, at least one, with YCSB's skew.
    pub(crate) fn new(items: u64) -> Self {
        Self {
            inner: Zipfian::with_zetan(Self::INNER_LAST + 1, THETA, Self::INNER_ZETAN),
            items: items.max(1),
        }
    }

    /// Makes the distribution over `items` items, at least one, with the skew `theta` between 0
    /// and 1.
    pub(crate) fn with_skew(items: u64, theta: f64) -> Self {
        let inner = Zipfian::with_zetan(
            Self::INNER_LAST + 1,
            theta,
            zeta_of_many(Self::INNER_LAST + 1, theta),
        );
        Self { inner, items: items.max(1) }
    }

    /// Draws an item, 0 to `items - 1`.
    #[inline]
    pub(crate) fn draw(&self, random: &mut SmallRng) -> u64 {
        fnv(self.inner.rank(random.random())) % self.items
    }
}

/// The newest items are the most popular: the last one minus a zipfian rank.
///
/// Source: YCSB 0.17, `SkewedLatestGenerator`. As there, the zipfian runs over as many items as the
/// last item's number, so item 0 is never drawn once there are two.
#[derive(Clone, Debug)]
pub(crate) struct Latest {
    zipfian: Zipfian,
}

impl Latest {
    /// Begins when `last` is the newest item, with YCSB's skew.
    #[cfg(test)]
    pub(crate) fn new(last: u64) -> Self {
        Self { zipfian: Zipfian::new(last, THETA) }
    }

    /// Begins when `last` is the newest item, with the skew `theta` between 0 and 1; calls `go_on`
    /// regularly, since two thousand million items take a minute.
    ///
    /// # Errors
    /// Errors of `go_on`.
    pub(crate) fn until<E>(
        last: u64,
        theta: f64,
        go_on: impl Fn() -> Result<(), E>,
    ) -> Result<Self, E> {
        const PART: u64 = 1 << 16;
        let mut zetan = 0.0;
        for from in (0..last).step_by(PART as usize) {
            go_on()?;
            zetan = zeta(from, (from + PART).min(last), theta, zetan);
        }
        Ok(Self { zipfian: Zipfian::with_zetan(last, theta, zetan) })
    }

    /// Takes in items up to `last`, so that a copy need not.
    pub(crate) fn grow(&mut self, last: u64) {
        self.zipfian.grow(last);
    }

    /// Draws an item, 0 to `last`, when `last` is the newest.
    #[inline]
    pub(crate) fn draw(&mut self, last: u64, random: &mut SmallRng) -> u64 {
        self.zipfian.grow(last);
        last.saturating_sub(self.zipfian.rank(random.random()))
    }
}

/// Most requests go to a part of the items: a share `hot_share` of the draws to the first
/// `hot_items` of them, evenly, the rest evenly to all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HotSpot {
    items: u64,
    hot_items: u64,
    hot_share: f64,
}

impl HotSpot {
    /// Makes the distribution over `items` items, at least one.
    pub(crate) fn new(items: u64, hot_items: u64, hot_share: f64) -> Self {
        let items = items.max(1);
        Self { items, hot_items: hot_items.clamp(1, items), hot_share }
    }

    /// Draws an item, 0 to `items - 1`.
    #[inline]
    pub(crate) fn draw(&self, random: &mut SmallRng) -> u64 {
        let hot = random.random::<f64>() < self.hot_share;
        random.random_range(0..if hot { self.hot_items } else { self.items })
    }
}

/// Hands out numbers, and records up to which number all have been acknowledged, in any order.
///
/// Source: YCSB 0.17, `AcknowledgedCounterGenerator`; here the window of unacknowledged numbers has
/// no bound.
#[derive(Debug)]
pub(crate) struct AcknowledgedCounter {
    next: AtomicU64,
    acknowledged: AtomicU64,
    ahead: Mutex<BinaryHeap<Reverse<u64>>>,
}

impl AcknowledgedCounter {
    /// Hands out `first` next; all below are acknowledged.
    pub(crate) fn new(first: u64) -> Self {
        Self {
            next: AtomicU64::new(first),
            acknowledged: AtomicU64::new(first),
            ahead: Mutex::default(),
        }
    }

    /// Returns a number that no other caller has.
    pub(crate) fn take(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Reports that the operation of `number` is done.
    pub(crate) fn acknowledge(&self, number: u64) {
        let mut ahead = self.ahead.lock().expect("no code that holds this lock panics");
        ahead.push(Reverse(number));
        let mut acknowledged = self.acknowledged.load(Ordering::Relaxed);
        while ahead.peek() == Some(&Reverse(acknowledged)) {
            ahead.pop();
            acknowledged += 1;
        }
        self.acknowledged.store(acknowledged, Ordering::Release);
    }

    /// Returns how many numbers, counted from 0, are acknowledged without a gap.
    #[inline]
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::{assert_distributed, tally};

    const DRAWS: usize = 1_000_000;

    fn random() -> SmallRng {
        stream(7, "test", &[])
    }

    /// Returns the share of draws below `rank`, from the formula of the drawing solved for `u`.
    /// `items` are drawn from; `first` were there at the beginning; `zetan` is summed over `items`.
    fn share_below(rank: u64, items: u64, first: u64, zetan: f64) -> f64 {
        let (n, zeta2) = (items as f64, 1.0 + 0.5_f64.powf(0.99));
        let eta = (1.0 - (2.0 / first as f64).powf(0.01)) / (1.0 - zeta2 / zetan);
        match rank {
            0 => 0.0,
            1 => 1.0 / zetan,
            _ if rank >= items => 1.0,
            _ => (((rank as f64 / n).powf(0.01) - 1.0 + eta) / eta).clamp(zeta2 / zetan, 1.0),
        }
    }

    fn zipfian_shares(items: u64, first: u64) -> Vec<f64> {
        let zetan: f64 = (1..=items).map(|i| (i as f64).powf(-0.99)).sum();
        let below = |rank| share_below(rank, items, first, zetan);
        (0..items).map(|rank| below(rank + 1) - below(rank)).collect()
    }

    #[test]
    fn hashes_as_ycsb_does() {
        let known = [
            (0, 6_284_781_860_667_377_211),
            (1, 8_517_097_267_634_966_620),
            (2, 1_820_151_046_732_198_393),
            (3, 4_052_466_453_699_787_802),
            (999, 2_071_219_101_098_386_137),
        ];
        known.into_iter().for_each(|(number, hash)| assert_eq!(fnv(number), hash));
    }

    #[test]
    fn the_inner_sum_is_that_of_ten_billion_items() {
        let zetan = zeta_of_many(ScrambledZipfian::INNER_LAST, THETA);
        assert!((zetan - ScrambledZipfian::INNER_ZETAN).abs() < 1e-8, "{zetan}");
        // as one by one, at any skew
        for theta in [0.01, 0.5, 0.99, 0.999] {
            for items in [1, 9_999, 10_001, 300_000] {
                let (quick, summed) = (zeta_of_many(items, theta), zeta(0, items, theta, 0.0));
                assert!((quick / summed - 1.0).abs() < 1e-11, "{items} {theta}: {quick} {summed}");
            }
        }
    }

    #[test]
    fn the_latest_are_the_same_in_parts() {
        for last in [0, 1, 70_000, 200_000] {
            let (one, other) =
                (Latest::new(last), Latest::until(last, THETA, || Ok::<_, ()>(())).unwrap());
            assert_eq!(one.zipfian.zetan.to_bits(), other.zipfian.zetan.to_bits());
        }
        assert!(Latest::until(1 << 60, THETA, || Err(())).is_err());
    }

    #[test]
    fn ranks_follow_the_published_formula() {
        for items in [3_u64, 10, 1_000, 123_456] {
            let zipfian = Zipfian::new(items, THETA);
            let (n, theta) = (items as f64, 0.99_f64);
            let zetan: f64 = (1..=items).map(|i| 1.0 / (i as f64).powf(theta)).sum();
            let alpha = 1.0 / (1.0 - theta);
            let eta =
                (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - (1.0 + 0.5_f64.powf(theta)) / zetan);
            for step in 0..20_000 {
                let u = f64::from(step) / 20_000.0;
                let uz = u * zetan;
                let rank = match uz {
                    _ if uz < 1.0 => 0,
                    _ if uz < 1.0 + 0.5_f64.powf(theta) => 1,
                    _ => (n * (eta * u - eta + 1.0).powf(alpha)).floor() as u64,
                };
                assert_eq!(zipfian.rank(u), rank, "u = {u}, {items} items");
            }
            assert!(zipfian.rank(1.0 - f64::EPSILON / 2.0) < items);
        }
    }

    #[test]
    fn one_and_two_items_are_drawn_too() {
        let mut random = random();
        for items in [0, 1, 2] {
            let zipfian = Zipfian::new(items, THETA);
            assert!((0..1_000).all(|_| zipfian.rank(random.random()) < items.max(1)));
        }
        let mut latest = Latest::new(0);
        assert!(
            (0..10).flat_map(|last| [last; 100]).all(|last| latest.draw(last, &mut random) <= last)
        );
    }

    #[test]
    fn zipfian_ranks_have_their_shares() {
        let (zipfian, mut random) = (Zipfian::new(1_000, THETA), random());
        let counts = tally((0..DRAWS).map(|_| zipfian.rank(random.random())), 1_000);
        assert_distributed(&counts, &zipfian_shares(1_000, 1_000));
    }

    #[test]
    fn the_method_of_gray_is_close_to_the_zipf_law() {
        let zetan: f64 = (1..=1_000).map(|i| f64::from(i).powf(-0.99)).sum();
        let law = (1..=1_000).map(|i| f64::from(i).powf(-0.99) / zetan);
        let distance: f64 =
            zipfian_shares(1_000, 1_000).iter().zip(law).map(|(a, b)| (a - b).abs()).sum();
        assert!(distance / 2.0 < 0.03, "{distance}");
    }

    #[test]
    fn a_grown_zipfian_equals_a_fresh_one_except_for_eta() {
        let mut grown = Zipfian::new(1_000, THETA);
        grown.grow(1_500);
        grown.grow(1_200);
        assert_eq!(grown.items, 1_500);
        assert!((grown.zetan - Zipfian::new(1_500, THETA).zetan).abs() < 1e-12);
        let mut random = random();
        let counts = tally((0..DRAWS).map(|_| grown.rank(random.random())), 1_500);
        assert_distributed(&counts, &zipfian_shares(1_500, 1_000));
    }

    #[test]
    fn scrambled_zipfian_items_have_the_shares_of_the_ranks_that_hash_to_them() {
        const ITEMS: usize = 1_000;
        const RANKS: u64 = 1 << 20;
        let inner = ScrambledZipfian::INNER_LAST + 1;
        let below = |rank| share_below(rank, inner, inner, ScrambledZipfian::INNER_ZETAN);
        let mut shares = vec![0.0; ITEMS];
        for rank in 0..RANKS {
            shares[(fnv(rank) % ITEMS as u64) as usize] += below(rank + 1) - below(rank);
        }
        // the ten billion others, none above one in thirty million, spread evenly
        let rest = 1.0 - below(RANKS);
        shares.iter_mut().for_each(|share| *share += rest / ITEMS as f64);
        let (scrambled, mut random) = (ScrambledZipfian::new(ITEMS as u64), random());
        let counts = tally((0..DRAWS).map(|_| scrambled.draw(&mut random)), ITEMS);
        assert_distributed(&counts, &shares);
    }

    #[test]
    fn latest_is_the_last_minus_a_zipfian_rank() {
        let (mut latest, mut random) = (Latest::new(999), random());
        let mut shares = zipfian_shares(999, 999);
        shares.push(0.0);
        shares.reverse();
        let counts = tally((0..DRAWS).map(|_| latest.draw(999, &mut random)), 1_000);
        assert_eq!(counts[0], 0, "item 0 is never drawn, as in YCSB");
        assert_distributed(&counts, &shares);

        let mut shares = zipfian_shares(1_499, 999);
        shares.push(0.0);
        shares.reverse();
        let counts = tally((0..DRAWS).map(|_| latest.draw(1_499, &mut random)), 1_500);
        assert_distributed(&counts, &shares);
    }

    #[test]
    fn a_hot_spot_gets_its_share() {
        let (spot, mut random) = (HotSpot::new(100, 20, 0.9), random());
        let share = |item| if item < 20 { 0.9 / 20.0 + 0.1 / 100.0 } else { 0.1 / 100.0 };
        let counts = tally((0..DRAWS).map(|_| spot.draw(&mut random)), 100);
        assert_distributed(&counts, &(0..100).map(share).collect::<Vec<_>>());
    }

    #[test]
    fn streams_differ_by_seed_name_and_place_and_are_uniform() {
        let first = |seed, name, place: &[u64]| stream(seed, name, place).random::<u64>();
        assert_eq!(first(1, "a", &[1, 2]), first(1, "a", &[1, 2]));
        let others = [
            first(2, "a", &[1, 2]),
            first(1, "b", &[1, 2]),
            first(1, "a", &[2, 1]),
            first(1, "a", &[1]),
        ];
        assert!(others.iter().all(|&other| other != first(1, "a", &[1, 2])), "{others:?}");
        let counts = tally((0..100_000).map(|place| first(1, "a", &[place]) % 100), 100);
        assert_distributed(&counts, &[0.01; 100]);
    }

    #[test]
    fn a_counter_acknowledges_up_to_the_first_gap() {
        let counter = AcknowledgedCounter::new(10);
        assert_eq!((counter.take(), counter.take(), counter.take()), (10, 11, 12));
        assert_eq!(counter.acknowledged(), 10);
        counter.acknowledge(12);
        counter.acknowledge(11);
        assert_eq!(counter.acknowledged(), 10);
        counter.acknowledge(10);
        assert_eq!(counter.acknowledged(), 13);
    }

    #[test]
    fn a_counter_serves_many_threads() {
        let counter = AcknowledgedCounter::new(0);
        let work = || (0..10_000).for_each(|_| counter.acknowledge(counter.take()));
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
        assert_eq!((counter.acknowledged(), counter.take()), (40_000, 40_000));
    }
}
