//! Performance of variants at a fixed rate: whether they kept up, how long their requests took, and
//! their CPU time. The throughput is fixed by the plan, so nothing is concluded from it. Made from
//! the recorded slices alone.

use crate::conclude::judgement::{Judgement, judge, judge_as};
use crate::conclude::quantile::Quantile;
use crate::conclude::ratios::{self, Figure};
use crate::conclude::statistics::{Estimate, median};
use crate::measure::slice_latency::SliceLatency;
use crate::results::open_loop::{AtRate, Longer, Percentile, Ratio};
use crate::results::{Cell, Sample};
use crate::words::verdict::{CONFIDENCE, Quantity};

/// Share of the rate that must be kept up with for it to count as kept.
pub(crate) const KEPT_MIN: f64 = 0.98;

/// The percentiles that are compared.
const SHARES: [f64; 2] = [0.5, 0.99];

/// Sets the conclusions from the slices of every cell at `target_per_s` operations a second; the
/// ratios of all percentiles to the baseline are judged as one family, the ratios of CPU time as
/// another.
pub(crate) fn judge_at_rate(cells: &mut [Cell], target_per_s: f64, margin: f64) {
    let base = |cell: &Cell| {
        cells.iter().position(|other| other.variant == 0 && other.workload == cell.workload)
    };
    let bases: Vec<Option<usize>> =
        cells.iter().map(|cell| if cell.variant == 0 { None } else { base(cell) }).collect();
    let kept: Vec<f64> = cells.iter().map(kept_per_s).collect();
    let is_kept = |number: usize| kept[number] >= KEPT_MIN * target_per_s;
    let found: Vec<[Option<Quantile>; 2]> = cells
        .iter()
        .map(|cell| SHARES.map(|share| Quantile::new(&slices(cell), &loads(cell), share)))
        .collect();

    // which cell, which percentile, and its ratio to the baseline's
    let mut ratios: Vec<(usize, usize, &Quantile, &Quantile, Estimate)> = Vec::new();
    let mut cpu: Vec<(usize, Estimate)> = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let Some(base) = bases[number] else { continue };
        if let Some(ratio) = ratios::cpu_ratio(&cells[base], cell) {
            cpu.push((number, ratio));
        }
        if !(is_kept(number) && is_kept(base) && is_side_by_side(&cells[base], cell)) {
            continue;
        }
        for (at, pair) in found[number].iter().zip(&found[base]).enumerate() {
            if let (Some(own), Some(of_base)) = pair
                && let Some(ratio) = own.against(of_base)
            {
                ratios.push((number, at, own, of_base, ratio));
            }
        }
    }
    let estimates: Vec<Option<Estimate>> = ratios.iter().map(|(.., ratio)| Some(*ratio)).collect();
    let judged = judge_as(Quantity::Latency, &estimates, margin);
    let mut longer: Vec<[Option<Longer>; 2]> = cells.iter().map(|_| [None, None]).collect();
    for ((number, at, own, of_base, estimate), judgement) in ratios.into_iter().zip(judged) {
        let Some((difference_us, difference_low_us, difference_high_us)) =
            own.difference_us(of_base, CONFIDENCE)
        else {
            continue;
        };
        let ratio = ratio(&estimate, judgement);
        longer[number][at] =
            Some(Longer { ratio, difference_us, difference_low_us, difference_high_us });
    }
    // more CPU time is a cost, as less throughput is
    let estimates: Vec<Option<Estimate>> =
        cpu.iter().map(|(_, ratio)| Some(ratio.inverse())).collect();
    let mut more_cpu: Vec<Option<Ratio>> = cells.iter().map(|_| None).collect();
    for ((number, estimate), judgement) in cpu.iter().zip(judge(&estimates, margin)) {
        more_cpu[*number] = Some(ratio(estimate, judgement));
    }

    for (number, cell) in cells.iter_mut().enumerate() {
        cell.overhead = None;
        let percentile = |at: usize, against: Option<Longer>| {
            let quantile = found[number][at].as_ref()?;
            let (low_us, high_us) = quantile.estimate()?.interval(CONFIDENCE);
            Some(Percentile { us: quantile.us(), low_us, high_us, against })
        };
        let [of_p50, of_p99] = std::mem::take(&mut longer[number]);
        let (p50, p99) = (percentile(0, of_p50), percentile(1, of_p99));
        cell.open_loop.get_or_insert_default().at_rate = Some(AtRate {
            target_per_s,
            kept_per_s: kept[number],
            is_kept: is_kept(number),
            requests: cell.samples.iter().map(|sample| sample.operations).sum(),
            p50,
            p99,
            cpu: more_cpu[number].take(),
        });
    }
}

fn ratio(estimate: &Estimate, judgement: Judgement) -> Ratio {
    let (low, high) = estimate.interval(CONFIDENCE);
    Ratio { ratio: estimate.ratio(), low, high, verdict: judgement.verdict, words: judgement.words }
}

/// Returns the 99th percentile of `cell` as a multiple of that of `base`; none where one of the two
/// did not keep up or has too few requests.
pub(crate) fn p99_ratio(base: &Cell, cell: &Cell) -> Option<Estimate> {
    let quantile = |cell: &Cell| Quantile::new(&slices(cell), &loads(cell), 0.99);
    let both_kept =
        [base, cell].into_iter().all(|cell| at_rate(cell).is_some_and(|at_rate| at_rate.is_kept));
    if !both_kept || !is_side_by_side(base, cell) {
        return None;
    }
    quantile(cell)?.against(&quantile(base)?)
}

/// The 99th percentiles of cells.
pub(crate) const P99: Figure = Figure { ratio: p99_ratio, by_load: None };

/// Returns the performance of `cell` at the rate that was requested, once that is judged.
pub(crate) fn at_rate(cell: &Cell) -> Option<&AtRate> {
    cell.open_loop.as_ref()?.at_rate.as_ref()
}

fn slices(cell: &Cell) -> Vec<&SliceLatency> {
    cell.open_loop.iter().flat_map(|open_loop| &open_loop.slices).collect()
}

/// Returns the load on which each of the slices ran.
fn loads(cell: &Cell) -> Vec<usize> {
    cell.samples.iter().map(|sample| sample.load).collect()
}

/// Returns whether the slices of both belong to the same blocks.
fn is_side_by_side(base: &Cell, cell: &Cell) -> bool {
    let place = |sample: &Sample| (sample.round, sample.slice);
    base.samples.iter().map(place).eq(cell.samples.iter().map(place))
}

/// Returns the operations a second that `cell` kept up with.
fn kept_per_s(cell: &Cell) -> f64 {
    median(&cell.samples.iter().map(|sample| sample.kept_per_s).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::testing::cells_of;
    use crate::results::open_loop::OpenLoop;
    use crate::words::verdict::Verdict;

    /// Returns cells of a baseline, and of variants with multiples of its latencies, all at 2000
    /// operations a second.
    fn cells(longer: &[f64], requests: u64) -> Vec<Cell> {
        let mut cells = cells_of("a", &vec![vec![2.0; 24]; longer.len()]);
        for (cell, longer) in cells.iter_mut().zip(longer) {
            let slices = (0..24).map(|block| {
                let machine = 1.0 + f64::from(block % 5) / 10.0;
                SliceLatency::new((1..=requests).map(|at| {
                    let share = at as f64 / (requests + 1) as f64;
                    (longer * machine * 100.0 * -(1.0 - share).ln(), 1)
                }))
            });
            cell.open_loop = Some(OpenLoop { slices: slices.collect(), ..OpenLoop::default() });
            cell.samples.iter_mut().for_each(|sample| sample.kept_per_s = 2_000.0);
        }
        cells
    }

    #[test]
    fn percentiles_are_compared_and_the_throughput_is_not() {
        let mut cells = cells(&[1.0, 1.3, 1.001], 500);
        judge_at_rate(&mut cells, 2_000.0, 0.02);
        let [base, longer, same] = [0, 1, 2].map(|at| at_rate(&cells[at]).unwrap());
        assert!(cells.iter().all(|cell| cell.overhead.is_none()));
        assert!(base.is_kept && base.p99.as_ref().unwrap().against.is_none());
        let p99 = longer.p99.as_ref().unwrap();
        assert!(p99.low_us < p99.us && p99.us < p99.high_us);
        let against = p99.against.as_ref().unwrap();
        assert_eq!(against.ratio.verdict, Verdict::Costs, "{}", against.ratio.words);
        assert!((against.ratio.ratio - 1.3).abs() < 0.03 && against.difference_us > 100.0);
        let equal = same.p50.as_ref().unwrap().against.as_ref().unwrap();
        assert_eq!(equal.ratio.verdict, Verdict::NoDifference, "{}", equal.ratio.words);
        assert!(p99_ratio(&cells[0], &cells[1]).is_some());
    }

    #[test]
    fn a_rate_that_is_not_reached_and_too_few_requests_are_compared_with_nothing() {
        let mut few = cells(&[1.0, 1.3], 100);
        judge_at_rate(&mut few, 2_000.0, 0.02);
        let found = at_rate(&few[1]).unwrap();
        assert!(found.p99.is_none() && found.p50.as_ref().unwrap().against.is_some());
        let mut behind = cells(&[1.0, 1.3], 500);
        behind[1].samples.iter_mut().for_each(|sample| sample.kept_per_s = 1_874.0);
        judge_at_rate(&mut behind, 2_000.0, 0.02);
        let found = at_rate(&behind[1]).unwrap();
        assert!(!found.is_kept && found.kept_per_s == 1_874.0);
        assert!(
            found.p99.as_ref().unwrap().against.is_none()
                && p99_ratio(&behind[0], &behind[1]).is_none()
        );
    }
}
