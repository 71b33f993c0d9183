//! What held a run back: CPU, I/O, the rate that was set, or nothing that was seen.

use crate::results::{Sample, Saturation};

/// Share of the CPUs in use from which a run counts as held back by them.
const CPU_FULL: f64 = 0.9;

/// Share of the clients' time spent waiting for files from which a run counts as held back by I/O.
const IO_FULL: f64 = 0.5;

/// What is needed to judge a cell.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Its samples.
    pub samples: &'a [Sample],
    /// Clients.
    pub clients: usize,
    /// Logical CPUs.
    pub cores: usize,
    /// Operations a second asked for.
    pub target: Option<f64>,
    /// Share of the CPU time that the load generator takes itself, 0 to 1, if known.
    pub generator_share: Option<f64>,
    /// Share of the machine's CPUs in use, other programs included, 0 to 1; 0 if unknown.
    pub machine_share: f64,
}

/// Describes what held the run back, with the figures.
pub fn judge(evidence: &Evidence) -> Saturation {
    let Evidence { samples, clients, cores, target, .. } = *evidence;
    let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
    let elapsed_s = sum(|sample| sample.elapsed_s);
    if elapsed_s <= 0.0 {
        return Saturation { by: "none".into(), cpu_share: 0.0, reason: "nothing was measured".into() };
    }
    let cpu_s = sum(|sample| sample.cpu_user_s + sample.cpu_system_s);
    let wait_s = sum(|sample| sample.io_wall_s - sample.io_cpu_s).max(0.0);
    let cpu_share = (cpu_s / (elapsed_s * cores.max(1) as f64)).min(1.0);
    // fewer clients than CPUs can keep no more of them busy than there are clients
    let usable = clients.min(cores).max(1);
    let client_share = (cpu_s / (elapsed_s * usable as f64)).min(1.0);
    let wait_share = (wait_s / (elapsed_s * clients.max(1) as f64)).min(1.0);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let all_cores = match cores {
        1 => "the one core was".to_owned(),
        _ => format!("the {cores} cores were"),
    };

    let rate = sum(|sample| sample.operations as f64) / elapsed_s;
    let (by, mut reason) = if let Some(target) = target.filter(|target| rate >= 0.95 * target) {
        let reason = format!(
            "held at {target:.0} operations a second as asked; {all_cores} {} busy, so part of a cost goes into idle \
             time: read latency and CPU, not throughput",
            percent(cpu_share)
        );
        ("target", reason)
    } else if cpu_share >= CPU_FULL {
        ("cpu", format!("{all_cores} {} busy", percent(cpu_share)))
    } else if evidence.machine_share >= CPU_FULL {
        let machine = percent(evidence.machine_share);
        (
            "cpu",
            format!("{all_cores} {machine} busy, {} by this run and the rest by other programs", percent(cpu_share)),
        )
    } else if client_share >= CPU_FULL {
        let who = if clients == 1 { "the one client".to_owned() } else { format!("the {clients} clients") };
        let reason = format!(
            "{who} kept {usable} of {cores} cores {} busy; more clients could use the rest",
            percent(client_share)
        );
        ("cpu", reason)
    } else if wait_share >= IO_FULL {
        (
            "io",
            format!(
                "clients waited for files {} of the time; {all_cores} {} busy",
                percent(wait_share),
                percent(cpu_share)
            ),
        )
    } else {
        let reason = format!(
            "neither CPU ({} of all cores) nor files ({} of the clients' time) held it back, so part of a cost may \
             have \
             gone into idle time",
            percent(cpu_share),
            percent(wait_share)
        );
        ("none", reason)
    };
    if let Some(target) = target.filter(|target| rate < 0.95 * target) {
        reason.push_str(&format!("; the {target:.0} operations a second asked for were not reached ({rate:.0})"));
    }
    if let Some(share) = evidence.generator_share {
        reason.push_str(&format!("; the load generator itself took {} of the CPU time", percent(share)));
    }
    Saturation { by: by.into(), cpu_share, reason }
}

/// Whether a cost measured in such a run may be understated, because part of it went into idle time.
pub fn is_below(saturation: &Saturation) -> bool {
    matches!(saturation.by.as_str(), "none" | "target")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(cpu_s: f64, wait_s: f64, clients: usize, target: Option<f64>) -> Saturation {
        let sample = Sample {
            operations: 1_000,
            elapsed_s: 1.0,
            cpu_user_s: cpu_s * 0.75,
            cpu_system_s: cpu_s * 0.25,
            io_wall_s: wait_s + 0.1,
            io_cpu_s: 0.1,
            ..Sample::default()
        };
        let samples = [sample.clone(), sample];
        judge(&Evidence {
            samples: &samples,
            clients,
            cores: 4,
            target,
            generator_share: Some(0.03),
            machine_share: 0.0,
        })
    }

    #[test]
    fn each_cause_is_named_with_its_figure() {
        let cpu = judged(3.9, 0.0, 8, None);
        assert_eq!(cpu.by, "cpu");
        assert!(cpu.reason.starts_with("the 4 cores were 98 % busy"), "{}", cpu.reason);
        assert!(cpu.reason.ends_with("the load generator itself took 3 % of the CPU time"), "{}", cpu.reason);
        let one = judged(0.97, 0.0, 1, None);
        assert_eq!((one.by.as_str(), one.cpu_share), ("cpu", 0.97 / 4.0));
        assert!(one.reason.contains("the one client kept 1 of 4 cores 97 % busy"), "{}", one.reason);
        let io = judged(0.4, 6.0, 8, None);
        assert_eq!(io.by, "io");
        assert!(io.reason.contains("75 % of the time"), "{}", io.reason);
        let none = judged(1.0, 0.5, 8, None);
        assert_eq!(none.by, "none");
        assert!(is_below(&none) && !is_below(&io) && !is_below(&cpu));
    }

    #[test]
    fn cpu_that_other_programs_take_holds_back_too() {
        let samples = [Sample { operations: 1, elapsed_s: 1.0, cpu_user_s: 0.5, ..Sample::default() }];
        let evidence = Evidence {
            samples: &samples,
            clients: 8,
            cores: 2,
            target: None,
            generator_share: None,
            machine_share: 0.99,
        };
        let found = judge(&evidence);
        assert_eq!(found.by, "cpu");
        assert_eq!(found.reason, "the 2 cores were 99 % busy, 25 % by this run and the rest by other programs");
    }

    #[test]
    fn a_target_holds_back_only_if_it_was_reached() {
        let held = judged(1.0, 0.0, 8, Some(1_000.0));
        assert_eq!(held.by, "target");
        assert!(is_below(&held));
        let missed = judged(3.9, 0.0, 8, Some(5_000.0));
        assert_eq!(missed.by, "cpu");
        assert!(
            missed.reason.contains("the 5000 operations a second asked for were not reached (1000)"),
            "{}",
            missed.reason
        );
    }

    #[test]
    fn nothing_measured_is_no_division_by_zero() {
        let none = judge(&Evidence {
            samples: &[],
            clients: 1,
            cores: 1,
            target: None,
            generator_share: None,
            machine_share: 0.0,
        });
        assert_eq!((none.by.as_str(), none.cpu_share), ("none", 0.0));
    }
}
