//! The results of several clients that loaded the same servers together, as the results of one:
//! their work in a slice is added up, and so are the histograms of their latencies; no percentile
//! is ever averaged.

use std::collections::BTreeMap;

use crate::compare::groups;
use crate::conclude::statistics;
use crate::measure::latency_histogram::LatencyHistogram;
use crate::results::{Cell, Comparison, Group, Latency, Sample, Saturation};
use crate::study::plan_difference;
use crate::words::share::ClientFacts;

/// Reason why results of clients cannot be joined. Nothing can be left out: the servers answered
/// all of them at once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Results of some clients were not named.
    #[error(
        "the results of client {} of the {of} that began at {start_at} are missing\nname the \
         results.json of every client",
        join(missing)
    )]
    Missing {
        /// Numbers of the clients.
        missing: Vec<usize>,
        /// Number of clients in all.
        of: usize,
        /// The time at which they began.
        start_at: String,
    },
    /// One client twice.
    #[error(
        "two of the results are of client {number} of the {of} that began at {start_at}\nname each \
         client once"
    )]
    Twice {
        /// Number of the client.
        number: usize,
        /// Number of clients in all.
        of: usize,
        /// The time at which they began.
        start_at: String,
    },
    /// The clients did not measure the same.
    #[error(
        "{what} was {was} on client {one} and {is} on client {other}\nstart all clients with the \
         same settings"
    )]
    Differs {
        /// Fact in which they differ.
        what: String,
        /// On the first.
        was: String,
        /// On the other.
        is: String,
        /// Number of the first.
        one: usize,
        /// Number of the other.
        other: usize,
    },
    /// A client did not measure everything.
    #[error(
        "client {number} of {of} ended early, so its slices are not those of the others\nstart all \
         clients again"
    )]
    Unfinished {
        /// Number of the client.
        number: usize,
        /// Number of clients in all.
        of: usize,
    },
}

fn join(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns `comparisons` with the clients of each common run joined, at the place of the first of
/// them.
///
/// # Errors
/// `JoinError`.
pub(crate) fn joined(comparisons: Vec<Comparison>) -> Result<Vec<Comparison>, JoinError> {
    let mut runs: Vec<Vec<Comparison>> = Vec::new();
    let key = |comparison: &Comparison| {
        comparison.client.as_ref().map(|client| (client.of, client.start_at.clone()))
    };
    for comparison in comparisons {
        let is_same =
            |run: &&mut Vec<Comparison>| key(&run[0]).is_some() && key(&run[0]) == key(&comparison);
        match runs.iter_mut().find(is_same) {
            Some(run) => run.push(comparison),
            None => runs.push(vec![comparison]),
        }
    }
    runs.into_iter().map(one).collect()
}

/// Returns the clients of one run, or a comparison that has none.
fn one(mut clients: Vec<Comparison>) -> Result<Comparison, JoinError> {
    let facts = |comparison: &Comparison| comparison.client.clone();
    let Some(ClientFacts { of, start_at, .. }) = facts(&clients[0]) else {
        return Ok(clients.remove(0));
    };
    clients.sort_by_key(|comparison| facts(comparison).map_or(0, |client| client.number));
    let numbers: Vec<usize> =
        clients.iter().filter_map(facts).map(|client| client.number).collect();
    if let Some(twice) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(JoinError::Twice { number: twice[0], of, start_at });
    }
    let missing: Vec<usize> = (1..=of).filter(|number| !numbers.contains(number)).collect();
    if !missing.is_empty() {
        return Err(JoinError::Missing { missing, of, start_at });
    }
    if let Some(at) = clients.iter().position(|client| client.interrupted) {
        return Err(JoinError::Unfinished { number: numbers[at], of });
    }
    for (at, other) in clients.iter().enumerate().skip(1) {
        let differs = |(what, was, is): (String, String, String)| JoinError::Differs {
            what,
            was,
            is,
            one: numbers[0],
            other: numbers[at],
        };
        if let Some(difference) = difference(&clients[0], other) {
            return Err(differs(difference));
        }
    }
    let groups = (0..clients[0].groups.len()).map(|at| group(&clients, at)).collect();
    let hosts: Vec<&str> = clients.iter().map(|client| client.machine.host.as_str()).collect();
    let mut whole = Comparison { groups, client: None, ..clients[0].clone() };
    whole.machine.label = format!("{of} clients ({})", hosts.join(", "));
    whole.elapsed_s = clients.iter().map(|client| client.elapsed_s).fold(0.0, f64::max);
    groups::judge_again(&mut whole);
    Ok(whole)
}

/// Finds something in which two clients differ: a setting, the version, the cells.
fn difference(one: &Comparison, other: &Comparison) -> Option<(String, String, String)> {
    if let Some(found) = plan_difference::differences(&one.plan, &other.plan).into_iter().next() {
        return Some((format!("setting {}", found.setting), found.was, found.is));
    }
    if one.version != other.version {
        return Some((
            "the version of Sealstone".into(),
            one.version.clone(),
            other.version.clone(),
        ));
    }
    let shape = |comparison: &Comparison| {
        let cells = comparison.groups.iter().flat_map(|group| &group.cells);
        let each: Vec<String> = cells
            .map(|cell| format!("{} {} x {}", cell.workload, cell.variant, cell.samples.len()))
            .collect();
        each.join(", ")
    };
    (shape(one) != shape(other)).then(|| ("what was measured".into(), shape(one), shape(other)))
}

fn group(clients: &[Comparison], at: usize) -> Group {
    let parts: Vec<&Group> = clients.iter().map(|client| &client.groups[at]).collect();
    let mut whole = parts[0].clone();
    whole.cells = (0..whole.cells.len())
        .map(|at| cell(&parts.iter().map(|part| &part.cells[at]).collect::<Vec<_>>()))
        .collect();
    whole.elapsed_s = parts.iter().map(|part| part.elapsed_s).fold(0.0, f64::max);
    for (number, (client, part)) in clients.iter().zip(&parts).enumerate() {
        let samples = || part.cells.iter().flat_map(|cell| &cell.samples);
        let cpu_s: f64 = samples().map(|sample| sample.cpu_user_s + sample.cpu_system_s).sum();
        let elapsed_s: f64 = samples().map(|sample| sample.elapsed_s).sum();
        let cores = client.machine.cores.max(1);
        let facts = format!(
            "{}: {:.0} % of its {cores} CPUs in use, {} operations",
            client.machine.host,
            100.0 * cpu_s / (elapsed_s * cores as f64).max(1e-9),
            samples().map(|sample| sample.operations).sum::<u64>()
        );
        whole.engine.settings.insert(format!("client {} of {}", number + 1, clients.len()), facts);
        for warning in &part.warnings {
            if number > 0 && !whole.warnings.contains(warning) {
                whole.warnings.push(format!("client {}: {warning}", number + 1));
            }
        }
    }
    whole
}

fn cell(parts: &[&Cell]) -> Cell {
    let first = parts[0];
    let samples: Vec<Sample> = (0..first.samples.len())
        .map(|at| sample(&parts.iter().map(|part| (*part, &part.samples[at])).collect::<Vec<_>>()))
        .collect();
    let rates: Vec<f64> = samples.iter().map(|sample| sample.throughput(first.unit)).collect();
    let mut histograms = BTreeMap::<String, LatencyHistogram>::new();
    let mut failed = BTreeMap::<String, u64>::new();
    for part in parts {
        for (operation, histogram) in &part.histograms {
            histograms.entry(operation.clone()).or_default().add(histogram);
        }
        for (operation, count) in &part.failed {
            *failed.entry(operation.clone()).or_default() += count;
        }
    }
    let latency: BTreeMap<String, Latency> = histograms
        .iter()
        .map(|(operation, histogram)| (operation.clone(), histogram.latency()))
        .collect();
    let mut time = first.time;
    for part in &parts[1..] {
        time.cipher_s += part.time.cipher_s;
        time.io_s += part.time.io_s;
        time.other_s += part.time.other_s;
        time.io_wait_s += part.time.io_wait_s;
    }
    Cell {
        clients: parts.iter().map(|part| part.clients).sum(),
        throughput: statistics::median(&rates),
        samples,
        latency,
        histograms: histograms
            .into_iter()
            .map(|(operation, one)| (operation, one.buckets()))
            .collect(),
        failed,
        time,
        // cores of different machines are no common time line
        cpu: Vec::new(),
        generator_share: parts.iter().filter_map(|part| part.generator_share).reduce(f64::max),
        saturation: saturation(parts),
        ..first.clone()
    }
}

/// Returns one slice of all clients: sums, and the length for which the throughput is the sum of
/// the clients' throughputs.
fn sample(parts: &[(&Cell, &Sample)]) -> Sample {
    let mut whole = parts[0].1.clone();
    let throughput: f64 = parts.iter().map(|(cell, sample)| sample.throughput(cell.unit)).sum();
    for (_, part) in &parts[1..] {
        whole.operations += part.operations;
        whole.rows += part.rows;
        whole.bytes += part.bytes;
        whole.cpu_user_s += part.cpu_user_s;
        whole.cpu_system_s += part.cpu_system_s;
        whole.servers_cpu_s += part.servers_cpu_s;
        whole.cipher_cpu_s += part.cipher_cpu_s;
        whole.io_cpu_s += part.io_cpu_s;
        whole.io_wall_s += part.io_wall_s;
        whole.settle_cpu_s += part.settle_cpu_s;
        whole.client_wall_s += part.client_wall_s;
        whole.client_cpu_s += part.client_cpu_s;
        whole.client_sleeps += part.client_sleeps;
        whole.queued_s += part.queued_s;
    }
    // every client saw the servers' counts; the rest comes from the first client
    if throughput > 0.0 {
        whole.elapsed_s = whole.operations as f64 / throughput;
    }
    whole
}

/// Returns what held the busiest client back, and the reason for each client.
fn saturation(parts: &[&Cell]) -> Saturation {
    let busiest =
        parts.iter().max_by(|a, b| a.saturation.cpu_share.total_cmp(&b.saturation.cpu_share));
    let reasons = parts
        .iter()
        .enumerate()
        .map(|(at, part)| format!("client {}: {}", at + 1, part.saturation.reason));
    let reason = reasons.collect::<Vec<_>>().join("; ");
    busiest.map_or_else(Saturation::default, |busiest| Saturation {
        reason,
        ..busiest.saturation.clone()
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::conclude::testing::{cells_of, comparison};

    /// Returns client `number` of two, with latencies `us` of reads, in as many slices as there are
    /// throughputs.
    fn client(number: usize, throughputs: &[f64], us: std::ops::Range<u64>) -> Comparison {
        let mut cells = cells_of(
            "a",
            &[throughputs.to_vec(), throughputs.iter().map(|one| one * 0.9).collect()],
        );
        let mut histogram = LatencyHistogram::default();
        us.for_each(|us| histogram.record(Duration::from_micros(us)));
        for cell in &mut cells {
            cell.histograms = BTreeMap::from([("read".to_owned(), histogram.buckets())]);
        }
        let start_at = "2026-03-02T12:00:00Z".into();
        let mut found = comparison(&["none", "aes-256"], cells);
        found.machine.host = format!("load-{number}");
        Comparison { client: Some(ClientFacts { number, of: 2, start_at }), ..found }
    }

    #[test]
    fn throughputs_add_up_and_percentiles_are_those_of_all_requests() {
        let (one, two) = (client(1, &[1.0; 8], 1..5_000), client(2, &[3.0; 8], 5_000..10_001));
        // as read from their files
        let again =
            |one: &Comparison| serde_json::from_str(&serde_json::to_string(one).unwrap()).unwrap();
        let found = joined(vec![again(&two), again(&one)]).unwrap().remove(0);
        let cell = &found.groups[0].cells[0];
        assert_eq!((cell.clients, cell.samples[0].operations), (16, 4_000_000_000));
        assert!((cell.throughput - 4_000.0).abs() < 1e-6, "{}", cell.throughput);
        let mut all = LatencyHistogram::default();
        (1..10_001).for_each(|us| all.record(Duration::from_micros(us)));
        let (want, got) = (all.latency(), &cell.latency["read"]);
        assert_eq!(
            (got.count, got.p99_us, got.p50_us, got.max_us),
            (10_000, want.p99_us, want.p50_us, want.max_us)
        );
        // that would be the mean of the two
        assert!((got.p99_us - (4_950.0 + 9_950.0) / 2.0).abs() > 1_000.0, "{}", got.p99_us);
        let overhead = found.groups[0].cells[1].overhead.as_ref().unwrap();
        assert!((overhead.ratio - 0.9).abs() < 1e-6, "{}", overhead.words);
        let facts = &found.groups[0].engine.settings;
        assert!(facts["client 2 of 2"].starts_with("load-2: "), "{facts:?}");
        assert_eq!(found.client, None);
        assert_eq!(found.machine.label, "2 clients (load-1, load-2)");
    }

    #[test]
    fn what_does_not_belong_together_is_named() {
        let fails = |clients: Vec<Comparison>| joined(clients).unwrap_err().to_string();
        let (one, two) = (client(1, &[1.0; 8], 1..9), client(2, &[1.0; 8], 1..9));
        assert!(
            fails(vec![one.clone()])
                .starts_with("the results of client 2 of the 2 that began at 2026-03-02T12")
        );
        assert!(
            fails(vec![one.clone(), one.clone()])
                .starts_with("two of the results are of client 1 ")
        );
        let mut other = two.clone();
        other.plan.records = vec![7];
        assert!(
            fails(vec![one.clone(), other])
                .starts_with("setting records was 100000 on client 1 and 7 on client 2\n")
        );
        let ended = Comparison { interrupted: true, ..two.clone() };
        assert!(fails(vec![one.clone(), ended]).starts_with("client 2 of 2 ended early"));
        // another start is another run, and results without clients stay unchanged
        let alone = comparison(&["none"], cells_of("a", &[vec![1.0; 8]]));
        assert_eq!(joined(vec![one, alone, two]).unwrap().len(), 2);
    }
}
