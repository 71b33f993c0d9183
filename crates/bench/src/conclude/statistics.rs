//! From paired slices to a ratio and its confidence interval. It is independent of stores and
//! clocks.
//!
//! A pair is one slice of a variant and the slice of the baseline that ran next to it; the input
//! here is the logarithm of the ratio of their throughputs. The estimate is their 20 % trimmed mean
//! with the standard error of Tukey and McLaughlin (Yuen 1974, Biometrika 61; Wilcox, Introduction
//! to Robust Estimation and Hypothesis Testing, 4.3): a hiccup of the machine in a few slices moves
//! neither. Slices that follow each other resemble each other, so the standard error is widened by
//! sqrt((1 + r) / (1 - r)), the large-sample factor for a first-order autoregressive series (Zwiers
//! and von Storch 1995, Journal of Climate 8, section 2), where r is the lag-one autocorrelation,
//! corrected for its bias of -(1 + 4 r) / n in short series (Marriott and Pope 1954, Biometrika 41)
//! and never below zero. The interval uses Student's t. The tests below simulate the results.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::words::verdict::{CONFIDENCE, FEWEST_PAIRS};

/// Share of the pairs set aside at each end.
const TRIM: f64 = 0.2;

/// Fewest loads whose means are trimmed, and looked at for autocorrelation; of fewer, neither can
/// be afforded.
pub(crate) const MANY_LOADS: usize = 12;

/// Autocorrelation above this cannot be distinguished from a trend in such a short series.
const MOST_AUTOCORRELATION: f64 = 0.8;

/// Uncertainty of a ratio, on the scale of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// Standard error.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

impl Scatter {
    /// Returns the error of the sum of several that are independent, each multiplied by `scale`:
    /// degrees of freedom after Welch and Satterthwaite. None for none.
    fn of_sum(all: &[Self], scale: f64) -> Option<Self> {
        let first = all.first()?;
        let squares = all.iter().map(|one| (one.standard_error * scale).powi(2));
        let sum: f64 = squares.clone().sum();
        let spread: f64 = squares.zip(all).map(|(square, one)| square.powi(2) / one.freedom).sum();
        let freedom = if spread > 0.0 { sum.powi(2) / spread } else { first.freedom };
        Some(Self { standard_error: sum.sqrt(), freedom })
    }

    /// Returns the probability of a value at least `beyond` above zero if the truth were zero.
    fn p(self, beyond: f64) -> f64 {
        match self.standard_error {
            error if error > 0.0 => self.student().sf(beyond / error),
            _ => 0.0,
        }
    }

    fn student(self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.freedom).expect("there is at least one degree of freedom")
    }
}

/// A ratio as estimated from pairs, on the scale of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Logarithm of the ratio.
    pub log_ratio: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// Separately loaded stores that the error is over: 1 if it is that of a single load.
    pub loads: usize,
    /// Error that the slices would give if loads made no difference, if the error is that of a few
    /// loads. By luck a few loads are closer to each other than their slices allow, and then a
    /// claim would rest on that luck; so it must hold by this error, too. The interval does not use
    /// it, which covers the truth as it should without it.
    pub slices: Option<Scatter>,
}

impl Estimate {
    /// Estimates a ratio from `log_ratios`: the logarithm of each pair's ratio, in the order of
    /// time. None if there are fewer than `FEWEST_PAIRS` or one is not a number.
    pub fn from_pairs(log_ratios: &[f64]) -> Option<Self> {
        let pairs = log_ratios.len();
        if pairs < FEWEST_PAIRS || !log_ratios.iter().all(|value| value.is_finite()) {
            return None;
        }
        let n = pairs as f64;
        let (sorted, trimmed) = trimmed(log_ratios);
        let kept = &sorted[trimmed..pairs - trimmed];
        let log_ratio = mean(kept);

        let (least, most) = (kept[0], kept[kept.len() - 1]);
        let winsorised: Vec<f64> =
            log_ratios.iter().map(|value| value.clamp(least, most)).collect();
        let centre = mean(&winsorised);
        let squares: f64 = winsorised.iter().map(|value| (value - centre).powi(2)).sum();
        let share_kept = 1.0 - 2.0 * trimmed as f64 / n;
        let alone = (squares / (n - 1.0)).sqrt() / (share_kept * n.sqrt());
        let correlation = autocorrelation(&winsorised, centre, squares);
        let standard_error = alone * ((1.0 + correlation) / (1.0 - correlation)).sqrt();
        let freedom = kept.len() as f64 - 1.0;
        Some(Self { log_ratio, standard_error, freedom, pairs, loads: 1, slices: None })
    }

    /// Estimates a ratio from the pairs of each load: a store that is loaded again lays out its
    /// files and its memory again, and everything measured on it until the next load shares that
    /// layout. The unit of repetition is the level with the variance, so the interval is Student's
    /// t over the means of loads (Kalibera and Jones 2013, Rigorous Benchmarking in Reasonable
    /// Time, ISMM: the highest level of a hierarchy), each trimmed as in [`Self::from_pairs`],
    /// which ignores a hiccup within a load. With `MANY_LOADS` and more, the means are trimmed,
    /// too. Pairs of a single load give the interval of that load alone, as the number of loads
    /// shows. None as in [`Self::from_pairs`].
    ///
    /// - `loads`: the logarithms of the ratios of each load's pairs, in the order of time
    pub fn from_loads(loads: &[Vec<f64>]) -> Option<Self> {
        let all = Self::from_pairs(&loads.concat())?;
        let means: Vec<f64> = loads
            .iter()
            .filter(|pairs| !pairs.is_empty())
            .map(|pairs| trimmed_mean(pairs))
            .collect();
        match means.len() {
            0 | 1 => Some(all),
            few => Some(Self {
                slices: (few < MANY_LOADS).then_some(all.scatter()),
                ..Self::from_load_means(&means, all.pairs)?
            }),
        }
    }

    /// As [`Self::from_loads`], of the means of loads, which `pairs` pairs are behind. None for
    /// fewer than two.
    pub(crate) fn from_load_means(means: &[f64], pairs: usize) -> Option<Self> {
        let n = means.len();
        match n {
            0 | 1 => None,
            2..MANY_LOADS => {
                let centre = mean(means);
                let squares: f64 = means.iter().map(|one| (one - centre).powi(2)).sum();
                let freedom = n as f64 - 1.0;
                let standard_error = (squares / freedom / n as f64).sqrt();
                let (log_ratio, loads) = (centre, n);
                Some(Self { log_ratio, standard_error, freedom, pairs, loads, slices: None })
            }
            _ => Some(Self { pairs, loads: n, ..Self::from_pairs(means)? }),
        }
    }

    /// Returns an estimate whose error follows from the contribution of each slice: `influences`
    /// sum to about zero, in the order of time, and `loads` holds the load of each slice. The
    /// contributions of one load are one term, if there are several loads. Where few terms
    /// contribute most of the error, they hold all information about it, so the degrees of freedom
    /// follow Satterthwaite (1946, Biometrics Bulletin 2) for terms of unequal variance, of which
    /// each is estimated by its own square; a third of the fourth power of a normal term is its
    /// variance squared. None as in [`Self::from_pairs`].
    pub(crate) fn from_influences(
        log_ratio: f64,
        influences: &[f64],
        loads: &[usize],
    ) -> Option<Self> {
        let pairs = influences.len();
        if pairs < FEWEST_PAIRS
            || !log_ratio.is_finite()
            || !influences.iter().all(|value| value.is_finite())
        {
            return None;
        }
        let mut of_loads: BTreeMap<usize, f64> = BTreeMap::new();
        for (influence, load) in influences.iter().zip(loads) {
            *of_loads.entry(*load).or_default() += influence;
        }
        let several = of_loads.len() > 1;
        let sums: Vec<f64> = of_loads.into_values().collect();
        let (terms, loads) = if several { (&sums[..], sums.len()) } else { (influences, 1) };
        let n = terms.len() as f64;
        let centre = mean(terms);
        let squares: f64 = terms.iter().map(|value| (value - centre).powi(2)).sum();
        let fourths: f64 = terms.iter().map(|value| (value - centre).powi(4)).sum();
        // too few loads to estimate whether one resembles the next
        let correlation = if several && loads < MANY_LOADS {
            0.0
        } else {
            autocorrelation(terms, centre, squares)
        };
        let widened = (1.0 + correlation) / (1.0 - correlation);
        let freedom = if fourths > 0.0 { 3.0 * squares.powi(2) / fourths - 1.0 } else { n };
        let standard_error = (squares * n / (n - 1.0) * widened).sqrt();
        let freedom = freedom.clamp(f64::min(2.0, n - 1.0), n - 1.0);
        let slices = match several && loads < MANY_LOADS {
            true => Self::from_influences(log_ratio, influences, &vec![0; pairs])
                .map(|alone| alone.scatter()),
            false => None,
        };
        Some(Self { log_ratio, standard_error, freedom, pairs, loads, slices })
    }

    /// Returns the same the other way round: the ratio of the second to the first.
    #[must_use]
    pub fn inverse(self) -> Self {
        Self { log_ratio: -self.log_ratio, ..self }
    }

    /// Estimates the ratio of two quantities that were not measured side by side, each given by the
    /// estimate of its own logarithm: degrees of freedom after Welch (1947, Biometrika 34). Drift
    /// between the two is included.
    #[must_use]
    pub(crate) fn of_two(one: &Self, other: &Self) -> Self {
        let both = Scatter::of_sum(&[one.scatter(), other.scatter()], 1.0).expect("two");
        let narrower = one.freedom.min(other.freedom);
        Self {
            log_ratio: one.log_ratio - other.log_ratio,
            standard_error: both.standard_error,
            freedom: if both.standard_error > 0.0 { both.freedom } else { narrower },
            pairs: one.pairs.min(other.pairs),
            loads: one.loads.min(other.loads),
            slices: Self::slices_of(&[*one, *other], 1.0),
        }
    }

    /// Returns the geometric mean of several ratios that were measured apart, each with its own
    /// error: degrees of freedom after Welch and Satterthwaite (Satterthwaite 1946, Biometrics
    /// Bulletin 2). None for none.
    #[must_use]
    pub fn mean_of(estimates: &[Self]) -> Option<Self> {
        let n = estimates.len() as f64;
        let scatters: Vec<Scatter> = estimates.iter().map(Self::scatter).collect();
        let Scatter { standard_error, freedom } = Scatter::of_sum(&scatters, 1.0 / n)?;
        Some(Self {
            log_ratio: estimates.iter().map(|one| one.log_ratio).sum::<f64>() / n,
            standard_error,
            freedom,
            pairs: estimates.iter().map(|one| one.pairs).sum(),
            loads: estimates.iter().map(|one| one.loads).min().unwrap_or(1),
            slices: Self::slices_of(estimates, 1.0 / n),
        })
    }

    /// Returns the geometric mean of several ratios that share their loads, so that a load affects
    /// all of them alike: the error is at most the mean of their errors, and equals it where they
    /// go up and down together. None for none.
    #[must_use]
    pub(crate) fn mean_of_dependent(estimates: &[Self]) -> Option<Self> {
        let (alone, n) = (Self::mean_of(estimates)?, estimates.len() as f64);
        Some(Self {
            standard_error: estimates.iter().map(|one| one.standard_error).sum::<f64>() / n,
            freedom: estimates.iter().map(|one| one.freedom).fold(f64::INFINITY, f64::min),
            ..alone
        })
    }

    /// Returns the geometric mean of ratios of which each is itself one of several, given with
    /// their number: as [`Self::mean_of`], each counted as often. None for none.
    #[must_use]
    pub(crate) fn weighted_mean_of(estimates: &[(Self, usize)]) -> Option<Self> {
        let all: usize = estimates.iter().map(|(_, count)| count).sum();
        let scaled = estimates
            .iter()
            .map(|(one, count)| one.scaled(*count as f64 * estimates.len() as f64 / all as f64));
        Self::mean_of(&scaled.collect::<Vec<_>>())
    }

    /// Returns the error of the slices alone of the sum of `estimates`, each multiplied by `scale`;
    /// none unless each has it.
    fn slices_of(estimates: &[Self], scale: f64) -> Option<Scatter> {
        let all: Option<Vec<Scatter>> = estimates.iter().map(|one| one.slices).collect();
        Scatter::of_sum(&all?, scale)
    }

    /// Returns its error.
    fn scatter(&self) -> Scatter {
        Scatter { standard_error: self.standard_error, freedom: self.freedom }
    }

    /// Returns the same with its logarithm and its errors multiplied by `factor`.
    #[must_use]
    pub(crate) fn scaled(self, factor: f64) -> Self {
        let of = |scatter: Scatter| Scatter {
            standard_error: factor * scatter.standard_error,
            ..scatter
        };
        Self {
            log_ratio: factor * self.log_ratio,
            standard_error: factor * self.standard_error,
            slices: self.slices.map(of),
            ..self
        }
    }

    /// Returns the ratio.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// Returns the interval of the ratio at `confidence`, such as 0.95.
    pub fn interval(&self, confidence: f64) -> (f64, f64) {
        let half = self.half_width(confidence);
        ((self.log_ratio - half).exp(), (self.log_ratio + half).exp())
    }

    /// Returns half the width of the interval of the logarithm at `confidence`.
    pub fn half_width(&self, confidence: f64) -> f64 {
        self.standard_error * self.scatter().student().inverse_cdf(0.5 + confidence / 2.0)
    }

    /// Returns the probability of an estimate at least this far from equality (in either direction)
    /// if the true ratio were within `margin` of it; by its loads or by their slices, whichever
    /// makes it more probable.
    pub(crate) fn p_beyond(&self, margin: f64) -> f64 {
        match self.log_ratio.abs() - margin.ln_1p() {
            beyond if beyond <= 0.0 => 1.0,
            beyond => (2.0 * self.p(beyond)).min(1.0),
        }
    }

    /// Returns the probability of an estimate at least this far below `ratio` if the true ratio
    /// were `ratio`; by its loads or by their slices, whichever makes it more probable.
    pub(crate) fn p_below(&self, ratio: f64) -> f64 {
        match ratio.ln() - self.log_ratio {
            below if below <= 0.0 => 1.0,
            below => self.p(below),
        }
    }

    fn p(&self, beyond: f64) -> f64 {
        let by_slices = self.slices.map_or(0.0, |slices| slices.p(beyond));
        self.scatter().p(beyond).max(by_slices)
    }
}

/// Returns the lag-one autocorrelation of `values` around `centre`, where `squares` is the sum of
/// their squared deviations; corrected for bias, between 0 and `MOST_AUTOCORRELATION`.
fn autocorrelation(values: &[f64], centre: f64, squares: f64) -> f64 {
    if squares <= 0.0 {
        return 0.0;
    }
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    let n = values.len() as f64;
    // solves found = r - (1 + 4 r) / n for r
    let corrected =
        if n > 4.0 { (products / squares * n + 1.0) / (n - 4.0) } else { products / squares };
    corrected.clamp(0.0, MOST_AUTOCORRELATION)
}

/// Applies Holm's step-down correction: for each of `p`, the smallest family-wise error rate at
/// which it is rejected.
pub(crate) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut corrected = vec![1.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        most = most.max(p[at] * (p.len() - rank) as f64).min(1.0);
        corrected[at] = most;
    }
    corrected
}

/// Returns the median of `values`; 0 for none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Returns `values` by the load that each belongs to.
pub(crate) fn by_load(values: impl IntoIterator<Item = (usize, f64)>) -> BTreeMap<usize, Vec<f64>> {
    let mut loads: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (load, value) in values {
        loads.entry(load).or_default().push(value);
    }
    loads
}

/// Returns `values` in ascending order, and how many are set aside at each end.
fn trimmed(values: &[f64]) -> (Vec<f64>, usize) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted, (values.len() as f64 * TRIM) as usize)
}

/// Fewest loads after which a run may end because its intervals are narrow: of fewer, the spread of
/// loads is too often small by chance.
pub(crate) const FEWEST_LOADS: usize = 6;

/// Computes the total number of loads once intervals were narrow after `narrow` of them: a quarter
/// as many more, which are measured whatever they show, make up for the coverage lost by stopping.
#[must_use]
pub(crate) fn loads_in_all(narrow: usize) -> usize {
    narrow + narrow.div_ceil(4)
}

/// Returns whether a run that goes on until its intervals are narrow has got there: each of
/// `estimates` is over at least [`FEWEST_LOADS`] loads, and half of its interval, with a little to
/// spare, is at most the share `until`. The rule considers widths alone, never the positions of the
/// intervals (Chow and Robbins 1965, Annals of Mathematical Statistics 36); a test counts how often
/// such intervals cover the truth.
pub(crate) fn is_narrow(estimates: &[Estimate], until: f64) -> bool {
    let is_one = |estimate: &Estimate| {
        let n = estimate.loads as f64;
        // a spread that is small by chance stops too early (Anscombe 1953): the rule requires a
        // little more
        let wary = (1.0 + 4.0 / n).sqrt();
        estimate.loads >= FEWEST_LOADS && wary * estimate.half_width(CONFIDENCE) <= until.ln_1p()
    };
    !estimates.is_empty() && estimates.iter().all(is_one)
}

/// Returns the 20 % trimmed mean of `values`, which are not none.
pub(crate) fn trimmed_mean(values: &[f64]) -> f64 {
    let (sorted, aside) = trimmed(values);
    mean(&sorted[aside..sorted.len() - aside])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::conclude::judgement::judge;
    use crate::study::plan::Plan;
    use crate::words::verdict::{CONFIDENCE, MARGIN, Verdict};

    /// Scatter of the slices of a simulated machine.
    #[derive(Clone, Copy)]
    struct Noise {
        /// Standard deviation of a slice.
        sd: f64,
        /// Correlation of a slice with the previous slice.
        correlation: f64,
        /// Set when each store has its own series, instead of one for the whole machine.
        per_store: bool,
        /// Change of the machine's speed from begin to end.
        drift: f64,
        /// Share of slices that are held up, by 15 % on average.
        hiccups: f64,
    }

    const DEFAULT: Noise =
        Noise { sd: 0.03, correlation: 0.3, per_store: false, drift: 0.2, hiccups: 0.0 };

    fn normal(random: &mut SmallRng) -> f64 {
        let (u, v) = (1.0 - random.random::<f64>(), random.random::<f64>());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Returns the log ratios of `pairs` pairs, run in the order that comparisons use, where the
    /// truth is `log_ratio`.
    fn simulate(random: &mut SmallRng, noise: Noise, pairs: usize, log_ratio: f64) -> Vec<f64> {
        let fresh = (1.0 - noise.correlation * noise.correlation).sqrt();
        let mut state = [normal(random), normal(random)];
        let orders = crate::measure::schedule::orders(2, pairs, random.random());
        let mut ratios = Vec::new();
        for (pair, order) in orders.iter().enumerate() {
            let mut speed = [0.0; 2];
            for (position, &variant) in order.iter().enumerate() {
                let series = if noise.per_store { variant } else { 0 };
                state[series] = noise.correlation * state[series] + fresh * normal(random);
                let time = (2 * pair + position) as f64 / (2 * pairs) as f64;
                let hiccup = if random.random::<f64>() < noise.hiccups {
                    0.15 * random.random::<f64>().ln()
                } else {
                    0.0
                };
                speed[variant] = noise.sd * state[series] - noise.drift * time + hiccup;
            }
            ratios.push(speed[1] - speed[0] + log_ratio);
        }
        ratios
    }

    fn shares(noise: Noise, workloads: usize, rounds: usize, log_ratio: f64) -> [f64; 3] {
        let plan = Plan { rounds, ..Plan::default() };
        let mut random = SmallRng::seed_from_u64(7);
        let runs = 2_000;
        let (mut claimed, mut all_equal, mut covered) = (0, 0, 0);
        for _ in 0..runs {
            let estimates: Vec<Option<Estimate>> = (0..workloads)
                .map(|_| {
                    Estimate::from_pairs(&simulate(
                        &mut random,
                        noise,
                        plan.pairs * plan.rounds,
                        log_ratio,
                    ))
                })
                .collect();
            let judgements = judge(&estimates, MARGIN);
            let claims = |verdict| matches!(verdict, Verdict::Costs | Verdict::Gains);
            claimed += usize::from(judgements.iter().any(|judgement| claims(judgement.verdict)));
            all_equal += usize::from(
                judgements.iter().all(|judgement| judgement.verdict == Verdict::NoDifference),
            );
            for estimate in estimates.iter().flatten() {
                let (low, high) = estimate.interval(CONFIDENCE);
                covered += usize::from(low.ln() <= log_ratio && log_ratio <= high.ln());
            }
        }
        [
            claimed as f64 / runs as f64,
            all_equal as f64 / runs as f64,
            covered as f64 / (runs * workloads) as f64,
        ]
    }

    #[test]
    fn two_apart_differ_by_more_than_two_side_by_side() {
        let series =
            |shift: f64| (0..24).map(|n| shift + f64::from(n % 5) * 0.01).collect::<Vec<_>>();
        let [one, other] =
            [series(0.2), series(0.0)].map(|values| Estimate::from_pairs(&values).unwrap());
        let ratio = Estimate::of_two(&one, &other);
        assert!((ratio.log_ratio - 0.2).abs() < 1e-12);
        assert!((ratio.standard_error - one.standard_error * 2f64.sqrt()).abs() < 1e-12);
        assert!(
            (ratio.freedom - 2.0 * one.freedom).abs() < 1e-9,
            "alike, they have the freedom of both"
        );
        let same = Estimate { standard_error: 0.0, ..one };
        assert_eq!(Estimate::of_two(&same, &same).interval(CONFIDENCE), (1.0, 1.0));
    }

    #[test]
    fn the_baseline_against_itself_is_claimed_to_differ_in_fewer_than_one_of_twenty_runs() {
        for noise in
            [DEFAULT, Noise { correlation: 0.0, ..DEFAULT }, Noise { hiccups: 0.05, ..DEFAULT }]
        {
            // the default, which answers soon, and what shows equality under seven workloads at
            // once
            for rounds in [Plan::default().rounds, 15] {
                let [claimed, equal, covered] = shares(noise, 7, rounds, 0.0);
                assert!(claimed <= 0.05, "a difference is claimed in {claimed} of the runs");
                assert!(
                    rounds < 15 || equal >= 0.4,
                    "all workloads show no difference in {equal} of the runs"
                );
                assert!((0.93..=0.97).contains(&covered), "95 % intervals cover {covered}");
            }
        }
    }

    #[test]
    fn stores_that_stay_fast_or_slow_for_a_while_make_it_cautious_not_wrong() {
        let [claimed, _, covered] =
            shares(Noise { per_store: true, ..DEFAULT }, 7, Plan::default().rounds, 0.0);
        assert!(claimed <= 0.05, "a difference is claimed in {claimed} of the runs");
        assert!(covered >= 0.92, "95 % intervals cover {covered}");
    }

    /// Scatter of separately loaded stores: two components, of loads and of the slices within one
    /// load.
    #[derive(Clone, Copy, Debug)]
    struct Levels {
        loads: usize,
        /// Pairs of each load.
        pairs: usize,
        /// Standard deviation of what a load does to a store.
        between: f64,
        within: f64,
    }

    impl Levels {
        /// Returns the log ratios of one comparison where the truth is `log_ratio`, by load: each
        /// side is loaded again each time, so a load's ratio has the noise of two.
        fn draw(self, random: &mut SmallRng, log_ratio: f64) -> Vec<Vec<f64>> {
            let load = |random: &mut SmallRng| {
                let luck = self.between * (normal(random) - normal(random));
                (0..self.pairs).map(|_| log_ratio + luck + self.within * normal(random)).collect()
            };
            (0..self.loads).map(|_| load(random)).collect()
        }
    }

    /// Shares of intervals that cover the truth: of the pairs as if there were one load, and over
    /// loads; and of comparisons of equal stores, `ratios` each, in which a difference is claimed,
    /// likewise.
    fn covered_and_claimed(levels: Levels, ratios: usize, runs: usize) -> [f64; 4] {
        let mut random = SmallRng::seed_from_u64(33);
        let mut counts = [0_usize; 4];
        for _ in 0..runs {
            let drawn: Vec<Vec<Vec<f64>>> =
                (0..ratios).map(|_| levels.draw(&mut random, 0.0)).collect();
            let as_one: Vec<_> =
                drawn.iter().map(|loads| Estimate::from_pairs(&loads.concat())).collect();
            let over_loads: Vec<_> =
                drawn.iter().map(|loads| Estimate::from_loads(loads)).collect();
            for (at, estimates) in [as_one, over_loads].into_iter().enumerate() {
                for estimate in estimates.iter().flatten() {
                    let (low, high) = estimate.interval(CONFIDENCE);
                    counts[at] += usize::from(low <= 1.0 && 1.0 <= high);
                }
                let claims = |verdict| matches!(verdict, Verdict::Costs | Verdict::Gains);
                counts[2 + at] +=
                    usize::from(judge(&estimates, MARGIN).iter().any(|one| claims(one.verdict)));
            }
        }
        let all = [runs * ratios, runs * ratios, runs, runs];
        std::array::from_fn(|at| counts[at] as f64 / all[at] as f64)
    }

    /// Deviation between loads of 0 to 2 % of the throughput, where 0.4 to 1.7 were found, on a
    /// quiet machine and on a noisy one; the intervals from one load's slices are printed beside
    /// it.
    #[test]
    fn intervals_over_loads_cover_the_truth_whatever_loads_do() {
        for (loads, pairs) in [(3, 12), (5, 5), (6, 6), (8, 6), (11, 6), (12, 6), (18, 2), (36, 2)]
        {
            for between in [0.0, 0.004, 0.015, 0.02] {
                for within in [0.005, 0.03, 0.08] {
                    let levels = Levels { loads, pairs, between, within };
                    let [as_one, covered, claimed_as_one, claimed] =
                        covered_and_claimed(levels, 10, 400);
                    println!(
                        "{loads} loads of {pairs} pairs, {:.1} % between loads, {:.1} % between \
                         slices: 95 % intervals cover {covered:.3} (of slices alone {as_one:.3}); \
                         a difference is claimed in {claimed:.4} ({claimed_as_one:.4})",
                        1e2 * between,
                        1e2 * within
                    );
                    assert!((0.93..=0.97).contains(&covered), "{levels:?}: {covered}");
                    assert!(claimed <= 0.05, "{levels:?}: {claimed}");
                }
            }
        }
        // the effect of a load shows where slices alone would claim a difference; not where slices
        // scatter so little that their resemblance within a load is found as autocorrelation, which
        // also widens the interval of slices
        let levels = Levels { loads: 3, pairs: 12, between: 0.015, within: 0.03 };
        let [as_one, covered, ..] = covered_and_claimed(levels, 10, 400);
        assert!(as_one < 0.8 && covered >= 0.93, "{as_one} and {covered}");
    }

    /// Eight loads show that two stores are equal within 2 %, where slices scatter little.
    #[test]
    fn eight_loads_show_equality_on_a_quiet_machine() {
        let mut random = SmallRng::seed_from_u64(34);
        let mut share = |loads| {
            let levels = Levels { loads, pairs: 6, between: 0.013, within: 0.01 };
            let is_equal = |random: &mut SmallRng| {
                let estimate = Estimate::from_loads(&levels.draw(random, 0.0));
                judge(&[estimate], MARGIN)[0].verdict == Verdict::NoDifference
            };
            (0..1_000).filter(|_| is_equal(&mut random)).count() as f64 / 1e3
        };
        let [six, eight, eleven] = [6, 8, 11].map(&mut share);
        println!(
            "equality within 2 % is shown by 6, 8 and 11 loads in {six}, {eight} and {eleven} of \
             the comparisons"
        );
        // Student's t with a deviation of 1.9 % between the means of loads: eleven show it in 0.79
        assert!(eight > 0.5 && eleven > 0.75, "{six}, {eight}, {eleven}");
    }

    /// A run that goes on until its intervals are narrow, checked after every load.
    #[test]
    fn to_go_on_until_intervals_are_narrow_keeps_their_coverage() {
        for (between, within) in [(0.0, 0.03), (0.004, 0.02), (0.015, 0.01), (0.015, 0.05)] {
            for until in [0.01_f64, 0.02, 0.05] {
                let mut random = SmallRng::seed_from_u64(35);
                let (mut covered, mut used, runs) = (0, 0, 4_000);
                for _ in 0..runs {
                    let one = Levels { loads: 1, pairs: 6, between, within };
                    let mut loads: Vec<Vec<f64>> = Vec::new();
                    while loads.len() < 200
                        && !Estimate::from_loads(&loads)
                            .is_some_and(|found| is_narrow(&[found], until))
                    {
                        loads.extend(one.draw(&mut random, 0.0));
                    }
                    for _ in loads.len()..loads_in_all(loads.len()) {
                        loads.extend(one.draw(&mut random, 0.0));
                    }
                    let (low, high) =
                        Estimate::from_loads(&loads).expect("loads").interval(CONFIDENCE);
                    covered += usize::from(low <= 1.0 && 1.0 <= high);
                    used += loads.len();
                }
                let (covered, used) =
                    (f64::from(covered as u32) / f64::from(runs), used as f64 / f64::from(runs));
                println!(
                    "until ± {:.0} %, {:.1} % between loads, {:.1} % between slices: {used:.1} \
                     loads, covered {covered:.3}",
                    1e2 * until,
                    1e2 * between,
                    1e2 * within
                );
                // without the last quarter of the loads as little as 0.923
                assert!((0.93..=0.97).contains(&covered), "{until}: {covered}");
            }
        }
    }

    #[test]
    fn one_load_is_one_load_and_influences_are_summed_by_load() {
        let one = vec![vec![-0.1, -0.12, -0.08, -0.11, -0.09, -0.1]];
        assert_eq!(Estimate::from_loads(&one), Estimate::from_pairs(&one.concat()));
        assert_eq!(Estimate::from_loads(&one).unwrap().loads, 1);
        assert_eq!(Estimate::from_loads(&[]), None);
        // three loads of two pairs: means 1, 2, 3
        let three =
            Estimate::from_loads(&[vec![0.9, 1.1], vec![2.0, 2.0], vec![3.2, 2.8]]).unwrap();
        assert_eq!((three.loads, three.freedom, three.pairs), (3, 2.0, 6));
        assert!(
            (three.log_ratio - 2.0).abs() < 1e-12
                && (three.standard_error - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12
        );
        // slices of a load agree with each other, which is one observation and not three
        let influences = [0.01, 0.01, 0.01, -0.01, -0.01, -0.01];
        let [alone, of_loads] = [[0; 6], [0, 0, 0, 1, 1, 1]].map(|loads| {
            Estimate::from_influences(0.0, &influences, &loads).unwrap().half_width(CONFIDENCE)
        });
        // by how much depends on the autocorrelation found in six slices, which is the largest that
        // is believed
        assert!(of_loads > 3.0 * alone, "{of_loads} and {alone}");
    }

    #[test]
    fn a_tenth_is_found_and_named() {
        let truth = 0.9_f64.ln();
        let [claimed, _, covered] = shares(DEFAULT, 1, Plan::default().rounds, truth);
        assert!(claimed >= 0.95, "found in {claimed} of the runs");
        assert!((0.93..=0.97).contains(&covered), "95 % intervals cover {covered}");
        // and among fourteen questions, in each of them
        let mut random = SmallRng::seed_from_u64(8);
        let pairs = Plan::default().pairs * Plan::default().rounds;
        let (mut found, runs) = (0, 300);
        for _ in 0..runs {
            let estimates: Vec<_> = (0..14)
                .map(|at| {
                    Estimate::from_pairs(&simulate(
                        &mut random,
                        DEFAULT,
                        pairs,
                        if at == 0 { truth } else { 0.0 },
                    ))
                })
                .collect();
            found += usize::from(judge(&estimates, MARGIN)[0].verdict == Verdict::Costs);
        }
        assert!(found as f64 >= 0.95 * runs as f64, "found in {found} of {runs}");
    }

    #[test]
    fn trimming_ignores_a_few_wild_pairs() {
        let mut values =
            vec![-0.10, -0.11, -0.09, -0.10, -0.105, -0.095, -0.10, -0.11, -0.09, -0.10];
        let calm = Estimate::from_pairs(&values).unwrap();
        values[3] = 5.0;
        let wild = Estimate::from_pairs(&values).unwrap();
        assert!((calm.log_ratio - wild.log_ratio).abs() < 0.005 && wild.standard_error < 0.02);
    }

    #[test]
    fn known_t_interval() {
        // six pairs, one trimmed at each end: kept 2..5, winsorised 2,2,3,4,5,5; by hand
        let estimate = Estimate::from_pairs(&[1.0, 6.0, 3.0, 4.0, 2.0, 5.0]).unwrap();
        assert_eq!((estimate.log_ratio, estimate.freedom, estimate.pairs), (3.5, 3.0, 6));
        let variance = 9.5 / 5.0_f64;
        assert!(
            (estimate.standard_error - variance.sqrt() / (4.0 / 6.0 * 6.0_f64.sqrt())).abs()
                < 1e-12
        );
        let (low, high) = estimate.interval(0.95);
        // t with 3 degrees of freedom at 0.975, from the tables
        let half = 3.182_446 * estimate.standard_error;
        assert!((low.ln() - (3.5 - half)).abs() < 1e-5 && (high.ln() - (3.5 + half)).abs() < 1e-5);
    }

    #[test]
    fn holm_by_hand() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        let want = [0.03, 0.06, 0.06, 0.02];
        assert!(
            corrected.iter().zip(want).all(|(found, want)| (found - want).abs() < 1e-12),
            "{corrected:?}"
        );
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn identical_slices_and_broken_numbers() {
        let same = Estimate::from_pairs(&[0.0; 12]).unwrap();
        assert_eq!(same.interval(0.95), (1.0, 1.0));
        assert_eq!(judge(&[Some(same)], MARGIN)[0].verdict, Verdict::NoDifference);
        let slower = Estimate::from_pairs(&[-0.5; 12]).unwrap();
        assert_eq!(judge(&[Some(slower)], MARGIN)[0].verdict, Verdict::Costs);
        assert!(Estimate::from_pairs(&[f64::NAN; 12]).is_none());
        assert!(Estimate::from_pairs(&[0.0; FEWEST_PAIRS - 1]).is_none());
    }

    /// Five loads that are close to each other by luck, with slices that scatter, show nothing.
    #[test]
    fn a_claim_must_hold_by_loads_and_by_their_slices() {
        let loads: Vec<Vec<f64>> = (0..5)
            .map(|load| {
                let around = 0.05 + 0.001 * f64::from(load);
                [-0.12, -0.06, 0.0, 0.06, 0.12].map(|slice| around + slice).to_vec()
            })
            .collect();
        let found = Estimate::from_loads(&loads).unwrap();
        let by_loads = Estimate { slices: None, ..found };
        assert!(by_loads.p_beyond(0.0) < 1e-5 && found.p_beyond(0.0) > 0.01, "{found:?}");
        // the interval is that of the loads, which covers the truth as it should
        assert_eq!(found.interval(0.95), by_loads.interval(0.95));
        // slices that agree take nothing away
        let quiet: Vec<Vec<f64>> =
            loads.iter().map(|load| load.iter().map(|one| 0.05 + one / 1e4).collect()).collect();
        assert!(Estimate::from_loads(&quiet).unwrap().p_beyond(0.0) < 1e-5);
        // nor do the mean over workloads and the difference of two runs forget it
        let mean = Estimate::mean_of(&[found, found]).unwrap();
        assert!(mean.slices.unwrap().standard_error > 0.5 * found.slices.unwrap().standard_error);
        assert!(Estimate::of_two(&found, &found).slices.is_some());
        assert_eq!(found.scaled(2.0).scaled(0.5), found);
    }

    #[test]
    fn medians() {
        assert_eq!(
            (median(&[]), median(&[3.0]), median(&[4.0, 1.0]), median(&[9.0, 1.0, 2.0])),
            (0.0, 3.0, 2.5, 2.0)
        );
    }
}
