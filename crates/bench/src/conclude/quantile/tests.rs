//! Percentiles by hand, and how often the verdicts on them are wrong with a known truth.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::conclude::judgement::judge_as;
use crate::words::verdict::REQUESTS_P99;
use crate::words::verdict::{CONFIDENCE, MARGIN, Quantity, Verdict};

#[test]
fn a_stall_in_few_slices_is_in_the_percentile_and_makes_it_cautious() {
    // two of 24 slices stall, with 3 % of all requests
    let quick = SliceLatency::new((0..1_000).map(|at| (100.0 + f64::from(at % 50), 1)));
    let stalled =
        SliceLatency::new((0..1_000).map(|at| (if at < 360 { 50_000.0 } else { 120.0 }, 1)));
    let slices: Vec<&SliceLatency> =
        (0..24).map(|at| if at % 12 == 5 { &stalled } else { &quick }).collect();
    let p99 = Quantile::new(&slices, &[0; 24], 0.99).unwrap();
    assert!(p99.us() > 40_000.0, "{}", p99.us());
    let (low, high) = p99.estimate().unwrap().interval(CONFIDENCE);
    assert!(
        low < 10_000.0 && high > 50_000.0,
        "two slices say little about how often it stalls: {low} to {high}"
    );
    let p50 = Quantile::new(&slices, &[0; 24], 0.5).unwrap();
    let (low, high) = p50.estimate().unwrap().interval(CONFIDENCE);
    assert!(low > 110.0 && high < 140.0, "{low} to {high}");
}

#[test]
fn too_few_requests_say_nothing() {
    let slice = SliceLatency::new([(100.0, 400)]);
    let slices = [&slice; 24];
    assert!(Quantile::new(&slices, &[0; 24], 0.99).is_none());
    assert!(Quantile::new(&slices, &[0; 24], 0.5).is_some());
    assert!(
        Quantile::new(&[&SliceLatency::new([(100.0, REQUESTS_P99)]); 1], &[0], 0.99).is_none(),
        "one slice"
    );
    let enough = SliceLatency::new([(100.0, REQUESTS_P99 / 20)]);
    assert!(Quantile::new(&[&enough; 20], &[0; 20], 0.99).is_some());
}

#[test]
fn what_hits_both_cancels_out() {
    let mut random = SmallRng::seed_from_u64(5);
    let (mut own, mut base) = (Vec::new(), Vec::new());
    for block in 0..24 {
        // a machine that is up to three times slower for a while
        let machine = 1.0 + 2.0 * f64::from(block % 6) / 6.0;
        for (slices, store) in [(&mut own, 1.2), (&mut base, 1.0)] {
            let us = (0..1_000)
                .map(|_| store * machine * 100.0 * (-random.random::<f64>().ln()).max(0.05));
            slices.push(SliceLatency::new(us.map(|us| (us, 1)).collect::<Vec<_>>()));
        }
    }
    let quantile = |slices: &[SliceLatency]| {
        Quantile::new(&slices.iter().collect::<Vec<_>>(), &[0; 24], 0.99).unwrap()
    };
    let (own, base) = (quantile(&own), quantile(&base));
    let ratio = own.against(&base).unwrap();
    let (low, high) = ratio.interval(CONFIDENCE);
    assert!(low > 1.05 && high < 1.35, "{low} to {high}");
    assert!(ratio.standard_error < own.estimate().unwrap().standard_error / 2.0);
    let (difference, low, high) = own.difference_us(&base, CONFIDENCE).unwrap();
    assert!(
        (difference - (own.us() - base.us())).abs() < 1e-6 && low > 0.0 && high < 2.0 * difference
    );
}

/// Returns the log ratios of neighbouring slices, less their mean, as they were recorded: how far
/// two stores that ran side by side were apart by chance.
fn recorded() -> Vec<Vec<f64>> {
    let mut found = std::collections::BTreeMap::<
        (String, String),
        std::collections::BTreeMap<(u32, u32), f64>,
    >::new();
    let text = include_str!("../../../../../results/main-job.csv");
    let heads: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let [workload, variant, round, slice] = ["workload", "variant", "round", "slice"].map(column);
    let [operations, elapsed] = ["operations", "elapsed_s"].map(column);
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[workload].starts_with("batch") {
            continue;
        }
        let place = (fields[round].parse().unwrap(), fields[slice].parse().unwrap());
        let rate =
            fields[operations].parse::<f64>().unwrap() / fields[elapsed].parse::<f64>().unwrap();
        let key = (fields[workload].to_owned(), fields[variant].to_owned());
        found.entry(key).or_default().insert(place, rate.ln());
    }
    let mut series = Vec::new();
    for ((workload, variant), slices) in &found {
        let base = &found[&(workload.clone(), "none".to_owned())];
        if variant != "none" {
            let ratios: Vec<f64> = slices.iter().map(|(place, rate)| rate - base[place]).collect();
            let middle = crate::conclude::statistics::median(&ratios);
            series.push(ratios.iter().map(|ratio| ratio - middle).collect());
        }
    }
    series
}

/// Makes up the latencies of the requests of a slice: most are quick, a twentieth waits for
/// something and has a long tail, and now and then the machine stalls for a while. `slower`
/// multiplies everything.
fn slice(random: &mut SmallRng, requests: usize, slower: f64, stall: bool) -> SliceLatency {
    let draw = |random: &mut SmallRng| -> f64 {
        let exponential = -random.random::<f64>().max(1e-12).ln();
        match random.random::<f64>() {
            waits if waits < 0.05 => 300.0 * (1.0 - random.random::<f64>()).max(1e-6).powf(-0.4),
            _ => 24.0 * (0.5 + 0.5 * exponential),
        }
    };
    let held_up = if stall { requests / 20 } else { 0 };
    let us = |at: usize, random: &mut SmallRng| {
        if at < held_up { 20_000.0 * random.random::<f64>() } else { draw(random) }
    };
    SliceLatency::new((0..requests).map(|at| (slower * us(at, random), 1)).collect::<Vec<_>>())
}

fn normal(random: &mut SmallRng) -> f64 {
    let (u, v) = (1.0 - random.random::<f64>(), random.random::<f64>());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// As for the throughput: a difference at or beyond the margin is called none in at most 5 % of the
/// ratios, and with equal stores any is claimed in at most 1 % of the comparisons.
#[test]
fn verdicts_on_percentiles_are_as_seldom_wrong_as_they_promise() {
    const RATIOS: usize = 5;
    const SLICES: usize = 24;
    const REQUESTS: usize = 420;
    let noise = recorded();
    assert!(noise.len() >= 8, "{} recorded series", noise.len());
    // slices to draw from, by how much slower than usual they are: the machine's noise in a latency
    let mut random = SmallRng::seed_from_u64(14);
    let stock: Vec<SliceLatency> =
        (0..4_000).map(|_| slice(&mut random, REQUESTS, 1.0, false)).collect();
    let stalled: Vec<SliceLatency> =
        (0..400).map(|_| slice(&mut random, REQUESTS, 1.0, true)).collect();
    let shifted = |slice: &SliceLatency, log_slower: f64| slice.slower_by(log_slower);
    // slices of one load, and of six, which make all latencies of a store longer or shorter by 3 %
    let of_one = [1.0, 1.05, 1.1, 1.12, 1.2, 1.5, 2.0].map(|longer| (1, 0.0, longer, 1_000));
    let of_six = [1.0, 1.1, 1.2, 2.0].map(|longer| (6, 0.03, longer, 1_000));
    for share in [0.5, 0.99] {
        for (loads, luck, longer, comparisons) in of_one.into_iter().chain(of_six) {
            let truth = f64::ln(longer);
            let load_of: Vec<usize> = (0..SLICES).map(|at| at * loads / SLICES).collect();
            let [mut same, mut longer_found, mut shorter, mut low_bounds, mut any, mut covered] =
                [0.0; 6];
            for _ in 0..comparisons {
                let estimates: Vec<Option<Estimate>> = (0..RATIOS)
                    .map(|_| {
                        let series = &noise[random.random_range(0..noise.len())];
                        let start = random.random_range(0..series.len());
                        let machine = |at: usize| series[(start + at) % series.len()];
                        let mut draw = |log: f64| -> Vec<SliceLatency> {
                            let lucks: Vec<f64> =
                                (0..loads).map(|_| luck * normal(&mut random)).collect();
                            (0..SLICES)
                                .map(|at| {
                                    let from = if random.random::<f64>() < 0.02 {
                                        &stalled
                                    } else {
                                        &stock
                                    };
                                    let slice = &from[random.random_range(0..from.len())];
                                    // a variant slower by a tenth has latencies that are longer by
                                    // more
                                    let log =
                                        if log.is_nan() { 0.0 } else { log - 2.0 * machine(at) };
                                    shifted(slice, log + lucks[load_of[at]])
                                })
                                .collect()
                        };
                        let (own, base) = (draw(truth), draw(f64::NAN));
                        let quantile = |slices: &[SliceLatency]| {
                            Quantile::new(&slices.iter().collect::<Vec<_>>(), &load_of, share)
                        };
                        quantile(&own)?.against(&quantile(&base)?)
                    })
                    .collect();
                let judged = judge_as(Quantity::Latency, &estimates, MARGIN);
                for (judgement, estimate) in judged.iter().zip(estimates.iter().flatten()) {
                    let (low, high) = estimate.interval(CONFIDENCE);
                    match judgement.verdict {
                        Verdict::NoDifference => same += 1.0,
                        Verdict::Costs => longer_found += 1.0,
                        Verdict::Gains => shorter += 1.0,
                        Verdict::AtMost => low_bounds += f64::from(high < longer),
                        Verdict::CannotConclude | Verdict::NotMet | Verdict::Toy => {}
                    }
                    covered += f64::from((low..=high).contains(&longer));
                }
                any += f64::from(judged.iter().any(|judgement| judgement.verdict.is_claim()));
            }
            let ratios = f64::from(comparisons) * RATIOS as f64;
            let [same, longer_found, shorter, low_bounds, covered] =
                [same, longer_found, shorter, low_bounds, covered].map(|count| count / ratios);
            let any = any / f64::from(comparisons);
            println!(
                "{loads} loads, p{:.0}, truly {:.0} % longer: no difference {same:.4}, longer \
                 {longer_found:.4}, shorter {shorter:.4}; bound too low {low_bounds:.4}, intervals \
                 cover {covered:.4}; any claim {any:.4}",
                share * 100.0,
                (longer - 1.0) * 100.0
            );
            if longer >= 1.0 + Quantity::Latency.scale() * MARGIN {
                assert!(same <= 0.05, "{longer} is called no difference in {same}");
            }
            if longer == 1.0 {
                assert!(
                    any <= 0.01,
                    "equal stores are claimed to differ in {any} of the comparisons"
                );
            }
            assert!(covered >= 0.93, "95 % intervals cover {covered}");
            assert!(shorter <= 0.005 && low_bounds <= 0.05, "{shorter}, {low_bounds}");
            if loads == 1 && (longer >= 2.0 || (longer >= 1.2 && share < 0.9)) {
                assert!(longer_found >= 0.5, "{longer} is found in {longer_found}");
            }
        }
    }
}
