//! Ratios between the cells of one group, from slices that were measured side by side: of each
//! variant to the baseline, and of each cipher to each other cipher. They are made of the samples
//! alone, so results of earlier versions are judged like new results.

use std::collections::BTreeMap;

use crate::conclude::judgement::{Judgement, judge, judge_as, not_met};
use crate::conclude::saturation;
use crate::conclude::statistics::{Estimate, MANY_LOADS, by_load, median, trimmed_mean};
use crate::conclude::sustained_rate;
use crate::results::{Between, Cell, Overhead, Sample, Variant};
use crate::words::verdict::FEWEST_PAIRS;
use crate::words::verdict::{CONFIDENCE, Quantity, Verdict};

/// Share of the bytes of records that must pass the cipher for a cell to be informative about it.
const CIPHER_SHARE_MIN: f64 = 0.01;

/// Logarithms of the ratios of one slice to the other variant's slice of the same block.
struct Pair {
    /// The load that left both stores.
    load: usize,
    log_throughput: f64,
    log_cpu: f64,
}

/// Logarithms of ratios, by the load on which they were measured.
type ByLoad = BTreeMap<usize, Vec<f64>>;

/// Figure by which two cells are compared.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    /// The figure of the second cell as a multiple of that of the first.
    pub(crate) ratio: fn(&Cell, &Cell) -> Option<Estimate>,
    /// Logarithms of the ratios by the load on which they were measured, where they can be had one
    /// by one.
    pub(crate) by_load: Option<fn(&Cell, &Cell) -> ByLoad>,
}

/// Throughputs, or the highest rates that were found.
const THROUGHPUT: Figure = Figure { ratio: estimate, by_load: Some(throughput_by_load) };

/// CPU seconds for the same work.
const CPU: Figure = Figure {
    ratio: cpu_ratio,
    by_load: Some(|base, cell| {
        by_load(paired(base, cell).iter().map(|pair| (pair.load, pair.log_cpu)))
    }),
};

/// Sets the overhead of every cell that is not the baseline's, all of them judged as one family.
pub(crate) fn judge_overheads(cells: &mut [Cell], margin: f64) {
    let mut pairs: Vec<(usize, Vec<Pair>)> = Vec::new();
    for (number, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.variant != 0) {
        let baseline =
            cells.iter().find(|other| other.variant == 0 && other.workload == cell.workload);
        pairs.push((number, baseline.map_or_else(Vec::new, |baseline| paired(baseline, cell))));
    }
    let of_searches = |cell: &Cell| {
        let base =
            cells.iter().find(|other| other.variant == 0 && other.workload == cell.workload)?;
        searched(base, cell)
    };
    let estimates: Vec<Option<Estimate>> = pairs
        .iter()
        .map(|(number, pairs)| match &cells[*number] {
            cell if sustained_rate::is_searched(cell) => of_searches(cell),
            _ => estimated(pairs, |pair| pair.log_throughput),
        })
        .collect();
    // a ratio under which no cipher had anything to do is no question, and in no family
    let met = headline(cells);
    let is_met: Vec<bool> =
        pairs.iter().map(|(number, _)| met.contains(&cells[*number].workload.as_str())).collect();
    let asked: Vec<Option<Estimate>> = estimates
        .iter()
        .zip(&is_met)
        .filter(|(_, is_met)| **is_met)
        .map(|(estimate, _)| *estimate)
        .collect();
    let mut asked = judge(&asked, margin).into_iter();
    let judgements: Vec<Judgement> = is_met
        .iter()
        .map(|is_met| if *is_met { asked.next().expect("one for each") } else { not_met() })
        .collect();
    for (((number, pairs), estimate), judgement) in pairs.iter().zip(&estimates).zip(judgements) {
        let made = overhead(pairs, *estimate, judgement, &cells[*number]);
        cells[*number].overhead = Some(made);
    }
    for cell in cells.iter_mut().filter(|cell| cell.variant == 0) {
        cell.overhead = None;
    }
}

/// Compares every cipher with every other by throughput, or by the rates sustained, under each
/// workload and over all of them.
pub(crate) fn between_ciphers(variants: &[Variant], cells: &[Cell], margin: f64) -> Vec<Between> {
    between_by(Quantity::Throughput, variants, cells, margin, THROUGHPUT)
}

/// Compares every cipher with every other by `figure`, which is of `quantity`, under each workload
/// and over all of them.
pub(crate) fn between_by(
    quantity: Quantity,
    variants: &[Variant],
    cells: &[Cell],
    margin: f64,
    figure: Figure,
) -> Vec<Between> {
    let sealed: Vec<usize> =
        (0..variants.len()).filter(|at| !variants[*at].is_baseline()).collect();
    let mut workloads: Vec<&str> = Vec::new();
    for cell in cells {
        if !workloads.contains(&cell.workload.as_str()) {
            workloads.push(&cell.workload);
        }
    }
    let met = headline(cells);
    let mut found = Vec::new();
    for (at, &variant) in sealed.iter().enumerate() {
        for &other in &sealed[..at] {
            for workload in workloads.iter().filter(|workload| met.contains(workload)) {
                let cell_of = |variant| {
                    cells.iter().find(|cell| cell.variant == variant && cell.workload == *workload)
                };
                if let (Some(cell), Some(base)) = (cell_of(variant), cell_of(other)) {
                    found.push((
                        variant,
                        other,
                        Some((*workload).to_owned()),
                        (figure.ratio)(base, cell),
                    ));
                }
            }
        }
    }
    let mut judged = described(quantity, found, margin);
    let mut overall = Vec::new();
    for (at, &variant) in sealed.iter().enumerate() {
        for &other in &sealed[..at] {
            overall.push((variant, other, None, over_headline(cells, variant, other, figure)));
        }
    }
    judged.extend(described(quantity, overall, margin));
    judged
}

fn described(
    quantity: Quantity,
    found: Vec<(usize, usize, Option<String>, Option<Estimate>)>,
    margin: f64,
) -> Vec<Between> {
    let estimates: Vec<Option<Estimate>> = found.iter().map(|(.., estimate)| *estimate).collect();
    let judgements = judge_as(quantity, &estimates, margin);
    let made = found.into_iter().zip(judgements).filter_map(
        |((variant, other, workload, estimate), judgement)| {
            let estimate = estimate?;
            let (low, high) = estimate.interval(CONFIDENCE);
            let Judgement { verdict, words, .. } = judgement;
            Some(Between {
                variant,
                other,
                workload,
                ratio: estimate.ratio(),
                low,
                high,
                verdict,
                words,
            })
        },
    );
    made.collect()
}

/// Returns the geometric mean, over the workloads that met a cipher, of the throughput of `variant`
/// to that of `other`.
pub(crate) fn overall_estimate(cells: &[Cell], variant: usize, other: usize) -> Option<Estimate> {
    over_headline(cells, variant, other, THROUGHPUT)
}

/// Returns the same over the workloads called `names` alone, whether or not they met a cipher.
pub(crate) fn overall_of(
    cells: &[Cell],
    variant: usize,
    other: usize,
    names: &[&str],
) -> Option<Estimate> {
    over(cells, variant, other, names, THROUGHPUT)
}

/// Returns the same for CPU seconds, background work after the slices included: above 1 is more CPU
/// time for the same work.
pub(crate) fn overall_cpu(cells: &[Cell], variant: usize, other: usize) -> Option<Estimate> {
    over_headline(cells, variant, other, CPU)
}

/// Returns the CPU seconds for the same work of `cell` to those of `base`, background work after
/// the slices included.
pub(crate) fn cpu_ratio(base: &Cell, cell: &Cell) -> Option<Estimate> {
    estimated(&paired(base, cell), |pair| pair.log_cpu)
}

/// Returns the geometric mean of `figure` of the cells of `other` and `variant`, over the workloads
/// that met a cipher.
pub(crate) fn over_headline(
    cells: &[Cell],
    variant: usize,
    other: usize,
    figure: Figure,
) -> Option<Estimate> {
    over(cells, variant, other, &headline(cells), figure)
}

/// Returns the geometric mean of `figure` of the cells of `other` and `variant`, over the workloads
/// called `names`. Workloads on the same loaded stores share the luck of these, so they are no
/// separate evidence of it: of each load the mean over them is one value.
fn over(
    cells: &[Cell],
    variant: usize,
    other: usize,
    names: &[&str],
    figure: Figure,
) -> Option<Estimate> {
    let of = |number: usize| cells.iter().filter(move |cell| cell.variant == number);
    let mut sharing: Vec<Vec<(&Cell, &Cell, Estimate)>> = Vec::new();
    for cell in of(variant).filter(|cell| names.contains(&cell.workload.as_str())) {
        let Some(base) = of(other).find(|base| base.workload == cell.workload) else { continue };
        let Some(ratio) = (figure.ratio)(base, cell) else { continue };
        match sharing.iter_mut().find(|known| shares_loads(known[0].1, cell)) {
            Some(known) => known.push((base, cell, ratio)),
            None => sharing.push(vec![(base, cell, ratio)]),
        }
    }
    let estimates =
        sharing.iter().filter_map(|known| Some((together(known, figure)?, known.len())));
    Estimate::weighted_mean_of(&estimates.collect::<Vec<_>>())
}

/// Returns whether a slice of each cell ran on the same loaded stores.
fn shares_loads(one: &Cell, other: &Cell) -> bool {
    one.samples.iter().any(|sample| other.samples.iter().any(|beside| beside.load == sample.load))
}

/// Returns the geometric mean of the ratios of pairs of cells that were measured on the same loads.
fn together(cells: &[(&Cell, &Cell, Estimate)], figure: Figure) -> Option<Estimate> {
    let estimates: Vec<Estimate> = cells.iter().map(|(.., ratio)| *ratio).collect();
    if estimates.len() == 1 || estimates.iter().any(|one| one.loads == 1) {
        // the error of a single load is that of its slices, of which each workload has its own
        return Estimate::mean_of(&estimates);
    }
    let Some(by_load) = figure.by_load else { return Estimate::mean_of_dependent(&estimates) };
    let of_cells: Vec<BTreeMap<usize, Vec<f64>>> =
        cells.iter().map(|(base, cell, _)| by_load(base, cell)).collect();
    let of_load = |load: &usize| {
        let means: Option<Vec<f64>> =
            of_cells.iter().map(|cell| Some(trimmed_mean(cell.get(load)?))).collect();
        means.map(|means| means.iter().sum::<f64>() / means.len() as f64)
    };
    let means: Vec<f64> = of_cells[0].keys().filter_map(of_load).collect();
    let pairs = estimates.iter().map(|one| one.pairs).sum();
    let apart = Estimate::mean_of_dependent(&estimates)?;
    let by_loads = Estimate::from_load_means(&means, pairs).unwrap_or(apart);
    // slices are apart also where loads are shared
    Some(Estimate { slices: apart.slices.filter(|_| means.len() < MANY_LOADS), ..by_loads })
}

/// Returns the throughput of `variant` to that of the baseline under `workload`; none if one of the
/// two was not measured.
pub(crate) fn to_baseline(cells: &[Cell], variant: usize, workload: &str) -> Option<Estimate> {
    if variant == 0 {
        return None;
    }
    let of = |number: usize| {
        cells.iter().find(|cell| cell.variant == number && cell.workload == workload)
    };
    estimate(of(0)?, of(variant)?)
}

/// Returns the workloads under which a cipher had something to do, in their order. A store that
/// does not report how much passed its cipher counts as if everything did.
pub(crate) fn headline(cells: &[Cell]) -> Vec<&str> {
    let knows = cells.iter().any(|cell| cipher_bytes(cell) > 0);
    let mut workloads: Vec<&str> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.variant != 0) {
        let moved: u64 = cell.samples.iter().map(|sample| sample.bytes).sum();
        let met = !knows
            || cipher_bytes(cell) as f64 >= CIPHER_SHARE_MIN * moved as f64
                && cipher_bytes(cell) > 0;
        if met && !workloads.contains(&cell.workload.as_str()) {
            workloads.push(&cell.workload);
        }
    }
    workloads
}

/// Returns the workloads that no cipher had anything to do under, in their order.
pub(crate) fn left_out(cells: &[Cell]) -> Vec<String> {
    let met = headline(cells);
    let mut workloads: Vec<String> = Vec::new();
    for cell in
        cells.iter().filter(|cell| cell.variant != 0 && !met.contains(&cell.workload.as_str()))
    {
        if !workloads.contains(&cell.workload) {
            workloads.push(cell.workload.clone());
        }
    }
    workloads
}

/// Bytes that were encrypted or decrypted while `cell` was measured.
pub(crate) fn cipher_bytes(cell: &Cell) -> u64 {
    cell.samples.iter().map(|sample| sample.encrypted_bytes + sample.decrypted_bytes).sum()
}

/// Returns the throughput of `cell` to that of `base`, which ran in alternation with it; where the
/// highest rate was searched for, the ratio of the rates found.
fn estimate(base: &Cell, cell: &Cell) -> Option<Estimate> {
    if sustained_rate::is_searched(cell) {
        searched(base, cell)
    } else {
        estimated(&paired(base, cell), |pair| pair.log_throughput)
    }
}

/// Returns the logarithms behind [`estimate`].
fn throughput_by_load(base: &Cell, cell: &Cell) -> BTreeMap<usize, Vec<f64>> {
    match sustained_rate::is_searched(cell) {
        true => searches_by_load(base, cell).unwrap_or_default(),
        false => by_load(paired(base, cell).iter().map(|pair| (pair.load, pair.log_throughput))),
    }
}

/// Returns the rate that `cell` sustains to that of `base`, by searches that ran at the same time.
fn searched(base: &Cell, cell: &Cell) -> Option<Estimate> {
    Estimate::from_loads(&searches_by_load(base, cell)?.into_values().collect::<Vec<_>>())
}

fn searches_by_load(base: &Cell, cell: &Cell) -> Option<BTreeMap<usize, Vec<f64>>> {
    let (own, base) = (sustained_rate::log_rates(cell)?, sustained_rate::log_rates(base)?);
    Some(by_load(own.iter().zip(&base).map(|((load, own), (_, base))| (*load, own - base))))
}

fn estimated(pairs: &[Pair], of: fn(&Pair) -> f64) -> Option<Estimate> {
    Estimate::from_loads(
        &by_load(pairs.iter().map(|pair| (pair.load, of(pair)))).into_values().collect::<Vec<_>>(),
    )
}

fn paired(base: &Cell, cell: &Cell) -> Vec<Pair> {
    let place = |sample: &Sample| (sample.round, sample.slice);
    let of_base: BTreeMap<_, _> =
        base.samples.iter().map(|sample| (place(sample), sample)).collect();
    let unit = cell.unit;
    // a slice in which nothing was finished, for example during a stall of the server, counts as
    // one unit: its logarithm is finite, and far from the others
    let rate = |sample: &Sample| sample.throughput(unit).max(1.0 / sample.elapsed_s);
    let pairs =
        cell.samples.iter().filter_map(|sample| Some((of_base.get(&place(sample))?, sample)));
    pairs
        .map(|(base, sample)| Pair {
            load: sample.load,
            log_throughput: (rate(sample) / rate(base)).ln(),
            log_cpu: (sample.cpu_s_a_unit(unit) / base.cpu_s_a_unit(unit)).ln(),
        })
        .collect()
}

fn overhead(
    pairs: &[Pair],
    estimate: Option<Estimate>,
    judgement: Judgement,
    cell: &Cell,
) -> Overhead {
    let ratios: Vec<f64> =
        pairs.iter().map(|pair| pair.log_throughput.exp().clamp(1e-9, 1e9)).collect();
    let searches = sustained_rate::is_searched(cell).then(|| sustained_rate::log_rates(cell));
    let cpu: Vec<f64> =
        pairs.iter().map(|pair| pair.log_cpu).filter(|value| value.is_finite()).collect();
    let mut words = judgement.words;
    let is_met = judgement.verdict != Verdict::NotMet;
    if let (Some(rates), None, true) = (&searches, estimate, is_met) {
        let why = match rates {
            None => "there is no rate under the limit".into(),
            Some(_) => format!("fewer than {FEWEST_PAIRS} searches; more rounds would help"),
        };
        words = format!("{} ({why})", Verdict::CannotConclude.word());
    }
    // where something else held the run back, the throughput alone would mislead
    if is_met
        && judgement.verdict != Verdict::CannotConclude
        && searches.is_none()
        && saturation::is_below(&cell.saturation)
    {
        words.push_str("; below saturation");
    }
    Overhead {
        ratio: estimate.map_or_else(|| median(&ratios), |estimate| estimate.ratio()),
        interval: estimate.map(|estimate| estimate.interval(CONFIDENCE).into()),
        pairs: searches.map_or(pairs.len(), |rates| rates.map_or(0, |rates| rates.len())),
        loads: estimate.map_or(1, |estimate| estimate.loads),
        verdict: judgement.verdict,
        words,
        cpu_ratio: median(&cpu).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::testing::{cell, cells_of};

    /// The defect that a user saw: intervals against the shared baseline touch, but the slices
    /// separate the two.
    #[test]
    fn two_ciphers_are_compared_by_their_own_pairs() {
        // a machine that drifts: all three slices of a block go up and down together
        let drift: Vec<f64> = (0..24).map(|at| 1.0 + 0.2 * f64::from(at % 6) / 6.0).collect();
        let slices = |ratio: f64| -> Vec<f64> {
            drift
                .iter()
                .enumerate()
                .map(|(at, drift)| ratio * drift * (1.0 + 0.002 * (at % 3) as f64))
                .collect()
        };
        let swing = |at: usize| if (at / 2).is_multiple_of(2) { 0.88 } else { 1.12 };
        let noisy: Vec<f64> =
            slices(1.0).iter().enumerate().map(|(at, value)| value * swing(at)).collect();
        let mut cells = cells_of("a", &[noisy, slices(0.90), slices(0.867)]);
        judge_overheads(&mut cells, 0.02);
        let [one, other] = [1, 2].map(|at| cells[at].overhead.clone().unwrap());
        assert!(
            other.interval.unwrap().high > one.interval.unwrap().low,
            "against the baseline they overlap: {one:?} {other:?}"
        );
        let variants = crate::conclude::testing::variants(&["none", "aes-256", "aria-256"]);
        let between = between_ciphers(&variants, &cells, 0.02);
        assert_eq!(between.len(), 2, "under a, and over all");
        for found in between {
            assert_eq!(
                (found.variant, found.other, found.verdict),
                (2, 1, Verdict::Costs),
                "{}",
                found.words
            );
            assert!((found.ratio - 0.867 / 0.90).abs() < 1e-3);
        }
    }

    #[test]
    fn a_slice_in_which_nothing_was_done_is_one_of_many() {
        let alike = |ratio: f64| {
            (0..12).map(|at| ratio * (1.0 + 0.002 * f64::from(at % 3))).collect::<Vec<f64>>()
        };
        let mut stood = alike(0.8);
        stood[5] = 0.0;
        let mut cells = cells_of("a", &[alike(1.0), stood]);
        judge_overheads(&mut cells, 0.02);
        let found = cells[1].overhead.clone().unwrap();
        assert_eq!((found.verdict, found.pairs), (Verdict::Costs, 12), "{found:?}");
        assert!((found.ratio - 0.8).abs() < 0.01, "{found:?}");
        // where many did, nothing can be concluded
        let mut often = alike(0.8);
        often[..6].fill(0.0);
        let mut cells = cells_of("a", &[alike(1.0), often]);
        judge_overheads(&mut cells, 0.02);
        let found = cells[1].overhead.clone().unwrap();
        assert_eq!(found.verdict, Verdict::CannotConclude, "{found:?}");
        assert!(found.words.starts_with("cannot conclude (between "), "{found:?}");
    }

    #[test]
    fn what_never_met_the_cipher_is_left_out() {
        let met = |mut cell: Cell, bytes: u64| {
            for sample in &mut cell.samples {
                (sample.bytes, sample.encrypted_bytes, sample.decrypted_bytes) =
                    (1_000_000, 0, bytes);
            }
            cell
        };
        let cells = [
            met(cell(0, "a", &[1.0; 12]), 0),
            met(cell(1, "a", &[0.9; 12]), 500_000),
            met(cell(1, "c", &[1.0; 12]), 0),
        ];
        assert_eq!((headline(&cells), left_out(&cells)), (vec!["a"], vec!["c".to_owned()]));
        // a store that does not count: the share is unknown, so nothing is left out
        let unknown = [met(cell(1, "a", &[0.9; 12]), 0), met(cell(1, "c", &[1.0; 12]), 0)];
        assert_eq!((headline(&unknown), left_out(&unknown)), (vec!["a", "c"], Vec::new()));
    }
}
