//! Made-up cells for the tests of conclusions.

use std::collections::BTreeMap;

use sealstone_store::{EngineFacts, Layer};

use crate::results::{
    Cell, Choice, Comparison, Group, Machine, Means, Recommendation, SCHEMA, Sample, Saturation,
    TimeSplit, Variant,
};
use crate::study::plan::Plan;
use crate::words::Bottleneck;
use crate::workload::Unit;

/// Returns a cell of `variant` with one slice for each of `throughputs`, relative to 1,000
/// operations a second.
pub(crate) fn cell(variant: usize, workload: &str, throughputs: &[f64]) -> Cell {
    let sample = |(slice, throughput): (usize, &f64)| Sample {
        slice,
        operations: (throughput * 1e9).round() as u64,
        elapsed_s: 1e6,
        cpu_user_s: 1.0,
        encrypted_bytes: if variant > 0 { 10_000_000 } else { 0 },
        ..Sample::default()
    };
    Cell {
        variant,
        workload: workload.into(),
        unit: Unit::Operations,
        clients: 8,
        samples: throughputs.iter().enumerate().map(sample).collect(),
        throughput: 1_000.0 * throughputs[0],
        latency: BTreeMap::new(),
        service: BTreeMap::new(),
        cpu: Vec::new(),
        time: TimeSplit::default(),
        cache_hit_rate: None,
        disk_bytes: 100_000_000,
        stored_rows: None,
        conditions: None,
        generator_share: None,
        saturation: Saturation {
            by: Bottleneck::Cpu,
            peak: false,
            cpu_share: 0.95,
            reason: String::new(),
        },
        overhead: None,
        open_loop: None,
        failed: BTreeMap::new(),
        histograms: BTreeMap::new(),
        service_histograms: BTreeMap::new(),
    }
}

/// Returns a cell for each variant, the baseline first.
pub(crate) fn cells_of(workload: &str, throughputs: &[Vec<f64>]) -> Vec<Cell> {
    throughputs
        .iter()
        .enumerate()
        .map(|(variant, values)| cell(variant, workload, values))
        .collect()
}

/// Variants called `labels`, each with the cipher that its first word names; `none` is a baseline.
pub(crate) fn variants(labels: &[&str]) -> Vec<Variant> {
    let variant = |label: &&str| {
        let mut words = label.split(' ');
        let cipher = words.next().expect("a label has a word");
        let accel = words.next().unwrap_or("auto");
        let backend = if accel == "auto" { "avx2" } else { accel };
        let means = Means::of(Layer::Rest, cipher);
        let choice = Choice {
            means,
            accel: accel.into(),
            backend: backend.into(),
            modes: Vec::new(),
            module: String::new(),
            seal: String::new(),
        };
        let layers = if cipher == "none" {
            BTreeMap::new()
        } else {
            BTreeMap::from([(Layer::Rest, choice)])
        };
        Variant { label: (*label).into(), layers }
    };
    labels.iter().map(variant).collect()
}

/// Returns a comparison with one group of `cells`, judged.
pub(crate) fn comparison(labels: &[&str], mut cells: Vec<Cell>) -> Comparison {
    let plan = Plan::default();
    crate::conclude::ratios::judge_overheads(&mut cells, plan.margin);
    let engine = EngineFacts {
        name: "rocksdb".into(),
        version: "7.8.3".into(),
        build: "system library".into(),
        assertions: false,
        settings: BTreeMap::new(),
    };
    let group = Group {
        point: plan.point(),
        started_at: "2026-03-02T09:14:05Z".into(),
        elapsed_s: 1.0,
        interrupted: false,
        failure: None,
        engine,
        workloads: plan.workloads.clone(),
        variants: Vec::new(),
        cells,
        between: Vec::new(),
        recommendation: Recommendation::default(),
        warnings: Vec::new(),
    };
    Comparison {
        schema: SCHEMA,
        version: "0.1.0".into(),
        started_at: group.started_at.clone(),
        elapsed_s: 1.0,
        interrupted: false,
        command: Vec::new(),
        plan,
        machine: Machine::default(),
        variants: variants(labels),
        groups: vec![group],
        against: Vec::new(),
        missing: Vec::new(),
        client: None,
    }
}
