//! Explains a median in a gap: of operations that are either quick or wait for something, about
//! half wait, so that a few more or fewer move the median from one group to the other.

use crate::conclude::figures;
use crate::results::{Cell, Variant};

/// Factor by which the 60th percentile must exceed the 40th for the median to count as being in a
/// gap.
const GAP: f64 = 4.0;

/// Share of the clients' time spent waiting for one thing from which it explains the gap.
const EXPLAINS: f64 = 0.25;

/// Returns a note for each workload with a median in a gap.
///
/// - `cores`: logical CPUs of the machine
pub(crate) fn notes(variants: &[Variant], cells: &[Cell], cores: usize) -> Vec<String> {
    let mut workloads: Vec<&str> = Vec::new();
    for cell in cells {
        if !workloads.contains(&cell.workload.as_str()) {
            workloads.push(&cell.workload);
        }
    }
    workloads.into_iter().filter_map(|workload| note(variants, cells, workload, cores)).collect()
}

fn note(variants: &[Variant], cells: &[Cell], workload: &str, cores: usize) -> Option<String> {
    // operations with a gap, with the widest of each over the variants
    let mut found: Vec<(&str, &Cell, f64, f64)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.workload == workload) {
        for (operation, latency) in &cell.latency {
            let at = |share: f64| {
                latency.distribution.iter().find(|(of, _)| *of == share).map(|(_, us)| *us)
            };
            let (Some(low_us), Some(high_us)) = (at(0.4), at(0.6)) else { continue };
            if low_us <= 0.0 || high_us < GAP * low_us {
                continue;
            }
            match found.iter_mut().find(|(known, ..)| known == operation) {
                Some(known) if high_us / low_us > known.3 / known.2 => {
                    *known = (operation, cell, low_us, high_us)
                }
                Some(_) => {}
                None => found.push((operation, cell, low_us, high_us)),
            }
        }
    }
    let (operation, cell, low_us, high_us) =
        *found.iter().max_by(|one, other| (one.3 / one.2).total_cmp(&(other.3 / other.2)))?;
    let names: Vec<&str> = found.iter().map(|(operation, ..)| *operation).collect();
    Some(format!(
        "{workload}: the p50 of {} falls in a gap between quick operations and those that wait: \
         of {operation} with {}, 40 % took at most {}, and 60 % at most {}. A few more or fewer \
         that wait move such a p50 from one to the other; compare the throughput or the whole \
         distribution instead. {}",
        names.join(", "),
        variants[cell.variant].label,
        figures::micros(low_us),
        figures::micros(high_us),
        cause(cell, cores)
    ))
}

/// Returns what the slower operations waited for, as far as it was seen.
fn cause(cell: &Cell, cores: usize) -> String {
    let sum = |of: fn(&crate::results::Sample) -> f64| cell.samples.iter().map(of).sum::<f64>();
    let time_s = (sum(|sample| sample.elapsed_s) * cell.clients as f64).max(1e-9);
    let queued = sum(|sample| sample.queued_s) / time_s;
    let files = sum(|sample| sample.io_wall_s - sample.io_cpu_s).max(0.0) / time_s;
    let percent = |share: f64| format!("{:.0} %", share.min(1.0) * 100.0);
    if queued >= EXPLAINS && queued >= files {
        let all = figures::counted(cores, "core");
        format!(
            "Its {} were ready to run and waited for one of {all} {} of their time: an operation \
             is quick if it ends before its client has to give the core to another, and takes a \
             round of all clients if not.",
            figures::counted(cell.clients, "client"),
            percent(queued)
        )
    } else if files >= EXPLAINS {
        format!("Clients waited for files {} of their time.", percent(files))
    } else {
        "What they waited for was not seen: likely a lock or a commit that clients share.".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::testing::{cells_of, variants};
    use crate::results::Latency;

    #[test]
    fn a_median_that_tips_is_explained_and_others_are_not() {
        let variants = variants(&["none", "aria-256"]);
        let mut cells = cells_of("oltp", &[vec![1.0; 12], vec![1.0; 12]]);
        let latency = |low_us: f64, high_us: f64| Latency {
            count: 1_000,
            distribution: vec![(0.4, low_us), (0.5, low_us), (0.6, high_us)],
            ..Latency::default()
        };
        cells[0].latency.insert("payment".into(), latency(20.0, 60.0));
        assert!(notes(&variants, &cells, 2).is_empty());
        cells[0].latency.insert("order-status".into(), latency(24.0, 120.0));
        cells[1].latency.insert("order-status".into(), latency(24.0, 2_400.0));
        cells[1].clients = 80;
        for sample in &mut cells[1].samples {
            (sample.elapsed_s, sample.queued_s) = (1.0, 64.0);
        }
        let found = notes(&variants, &cells, 2);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains(
                "of order-status with aria-256, 40 % took at most 24.0 µs, and 60 % \
                 at most 2.40 ms."
            ),
            "{}",
            found[0]
        );
        assert!(found[0].contains(
            "Its 80 clients were ready to run and waited for one of 2 cores 80 % of their time"
        ));
        cells[1].samples.iter_mut().for_each(|sample| sample.queued_s = 0.0);
        assert!(notes(&variants, &cells, 2)[0].ends_with("a commit that clients share."));
    }
}
