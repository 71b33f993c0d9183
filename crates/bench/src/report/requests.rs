//! The table of requests to a block device or over a link: bytes and requests a second, response
//! times, and the CPU time of both ends.

use super::index::Run;
use super::tables::{Datum, Table, by_workload, figure, missing};
use crate::conclude::figures;
use crate::conclude::statistics;
use crate::results::{Cell, Latency, Sample};
use crate::workload::Unit;

/// Returns the table; none where no workload is one of a block device.
pub(super) fn requests(run: &Run) -> Option<Table> {
    let on_device =
        |workload: &&str| run.results.plan.workload(workload).is_ok_and(|spec| spec.device);
    if !run.workloads.iter().any(on_device) {
        return None;
    }
    let note = "Medians over all slices; response times over all requests, of reads and writes \
                apart where there are both. CPU: of one core, while slices ran; at this end that \
                of the client and of what it runs in its own process.";
    let heads = [
        "#Bytes a second",
        "#Requests a second",
        "#p50",
        "#p99",
        "#CPU at this end",
        "#CPU at the other end",
    ];
    Some(by_workload(run, "Requests", note, &heads, |_, cell| {
        let median = |of: fn(&Sample) -> f64| {
            let values: Vec<f64> =
                cell.samples.iter().filter(|sample| sample.elapsed_s > 0.0).map(of).collect();
            (!values.is_empty()).then(|| statistics::median(&values))
        };
        let share = |value: Option<f64>| {
            value.map_or_else(missing, |value| figure(figures::share(value), value))
        };
        let bytes = median(|sample| sample.bytes as f64 / sample.elapsed_s);
        let requests = median(|sample| sample.operations as f64 / sample.elapsed_s);
        // server times are precise to a hundredth of a second, so the sum is over all slices
        let sum = |of: fn(&Sample) -> f64| cell.samples.iter().map(of).sum::<f64>();
        let elapsed_s = sum(|sample| sample.elapsed_s).max(1e-9);
        let servers_s = sum(|sample| sample.servers_cpu_s);
        let here_s = (sum(|sample| sample.cpu_user_s + sample.cpu_system_s) - servers_s).max(0.0);
        vec![
            bytes.map_or_else(missing, |rate| figure(figures::rate(rate, Unit::Bytes), rate)),
            requests
                .map_or_else(missing, |rate| figure(figures::rate(rate, Unit::Operations), rate)),
            times(cell, |latency| latency.p50_us),
            times(cell, |latency| latency.p99_us),
            share(Some(here_s / elapsed_s)),
            share((servers_s > 0.0).then_some(servers_s / elapsed_s)),
        ]
    }))
}

/// Returns a percentile of every operation, one after the other.
fn times(cell: &Cell, of: fn(&Latency) -> f64) -> Datum {
    let several = cell.latency.len() > 1;
    let time = |(name, latency): (&String, &Latency)| match several {
        true => format!("{name} {}", figures::micros(of(latency))),
        false => figures::micros(of(latency)),
    };
    let text: Vec<String> = cell.latency.iter().map(time).collect();
    let longest = cell.latency.values().map(of).fold(0.0, f64::max);
    if text.is_empty() { missing() } else { figure(text.join(", "), longest) }
}
