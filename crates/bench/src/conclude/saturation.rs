//! Causes that hold a run back: the CPUs, the disk, a queue of the engine, servers, the fixed rate,
//! or no visible cause. Each is a rule with a figure; `docs/method.md` lists them.

use crate::results::{Sample, Saturation};
use crate::words::Bottleneck;

/// Share of the CPUs in use from which a run counts as limited by them.
const CPU_FULL: f64 = 0.9;

/// Share of that which the load generator takes from which it is what held the run back.
const GENERATOR_FULL: f64 = 0.5;

/// Share of the time from which one thing that is waited for counts as what held a run back.
const WAIT_FULL: f64 = 0.5;

/// Evidence needed to judge a cell.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Its samples.
    pub samples: &'a [Sample],
    /// Clients.
    pub clients: usize,
    /// Logical CPUs.
    pub cores: usize,
    /// The requested operations a second.
    pub target: Option<f64>,
    /// Share of the CPU time that the load generator itself takes, 0 to 1, if known.
    pub generator_share: Option<f64>,
    /// Share of the machine's CPUs in use, other programs included, 0 to 1; 0 if unknown.
    pub machine_share: f64,
    /// Set when other processes do the store's work.
    pub has_servers: bool,
    /// Set when a search found that more clients do no more work.
    pub peak: bool,
}

/// Sums and shares of them.
struct Figures {
    elapsed_s: f64,
    operations: f64,
    /// The share of all cores that was busy.
    cpu_share: f64,
    /// The same share of the cores that the clients can keep busy.
    client_share: f64,
    /// The share of the time spent in a sync of any file.
    sync_share: f64,
    syncs: f64,
    sync_wall_s: f64,
    /// The share of the clients' time spent waiting for files.
    file_share: f64,
    /// The share of the clients' time asleep for something else; none where it is unknown.
    asleep_share: Option<f64>,
    sleeps: f64,
}

impl Figures {
    fn of(evidence: &Evidence) -> Self {
        let Evidence { samples, clients, cores, .. } = *evidence;
        let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
        let elapsed_s = sum(|sample| sample.elapsed_s);
        let cpu_s = sum(|sample| sample.cpu_user_s + sample.cpu_system_s);
        let file_s = sum(|sample| sample.io_wall_s - sample.io_cpu_s).max(0.0);
        let share = |seconds: f64, of: usize| (seconds / (elapsed_s * of.max(1) as f64)).min(1.0);
        let client_wall_s = sum(|sample| sample.client_wall_s);
        let asleep_s = client_wall_s - sum(|sample| sample.client_cpu_s + sample.queued_s) - file_s;
        Self {
            elapsed_s,
            operations: sum(|sample| sample.operations as f64),
            cpu_share: share(cpu_s, cores),
            // fewer clients than CPUs can keep no more of them busy than there are clients
            client_share: share(cpu_s, clients.min(cores)),
            sync_share: share(sum(|sample| sample.sync_wall_s), 1),
            syncs: sum(|sample| sample.syncs as f64),
            sync_wall_s: sum(|sample| sample.sync_wall_s),
            file_share: share(file_s, clients),
            asleep_share: (client_wall_s > 0.0).then(|| (asleep_s / client_wall_s).clamp(0.0, 1.0)),
            sleeps: sum(|sample| sample.client_sleeps as f64),
        }
    }
}

/// Describes what held the run back, with the figures.
pub fn judge(evidence: &Evidence) -> Saturation {
    let Evidence { samples, cores, target, peak, .. } = *evidence;
    if samples.iter().all(|sample| sample.elapsed_s <= 0.0) {
        let reason = "nothing was measured".into();
        return Saturation { by: Bottleneck::None, peak: false, cpu_share: 0.0, reason };
    }
    let figures = Figures::of(evidence);
    let all_cores = match cores {
        1 => "the one core was".to_owned(),
        _ => format!("the {cores} cores were"),
    };
    let rate = figures.operations / figures.elapsed_s;
    let (by, mut reason) = if let Some(target) = target.filter(|target| rate >= 0.95 * target) {
        let reason = format!(
            "held at {target:.0} operations a second as asked; {all_cores} {} busy, so part of a \
             cost goes into idle time: read latency and CPU, not throughput",
            percent(figures.cpu_share)
        );
        (Bottleneck::Target, reason)
    } else {
        by_cpu(evidence, &figures, &all_cores)
            .unwrap_or_else(|| by_waiting(evidence, &figures, &all_cores))
    };
    if peak && matches!(by, Bottleneck::Engine | Bottleneck::Servers | Bottleneck::None) {
        reason.push_str("; more clients did no more");
    }
    if let Some(target) = target.filter(|target| rate < 0.95 * target) {
        reason.push_str(&format!(
            "; the {target:.0} operations a second asked for were not reached ({rate:.0})"
        ));
    }
    if let Some(share) = evidence.generator_share.filter(|_| by != Bottleneck::Generator) {
        reason.push_str(&format!(
            "; the load generator itself took {} of the CPU time",
            percent(share)
        ));
    }
    Saturation { by, peak, cpu_share: figures.cpu_share, reason }
}

/// Returns the CPUs as the cause, if they held the run back.
fn by_cpu(evidence: &Evidence, figures: &Figures, all_cores: &str) -> Option<(Bottleneck, String)> {
    let Evidence { clients, cores, .. } = *evidence;
    let busy = percent(figures.cpu_share);
    let full = figures.cpu_share >= CPU_FULL || figures.client_share >= CPU_FULL;
    if let Some(share) = evidence.generator_share.filter(|share| full && *share >= GENERATOR_FULL) {
        return Some((
            Bottleneck::Generator,
            format!(
                "{all_cores} {busy} busy, and the load generator itself took {} of that",
                percent(share)
            ),
        ));
    }
    if figures.cpu_share >= CPU_FULL {
        return Some((Bottleneck::Cpu, format!("{all_cores} {busy} busy")));
    }
    if evidence.machine_share >= CPU_FULL {
        let machine = percent(evidence.machine_share);
        return Some((
            Bottleneck::Cpu,
            format!(
                "{all_cores} {machine} busy, {busy} by this run and the rest by other programs"
            ),
        ));
    }
    if figures.client_share >= CPU_FULL {
        let who = if clients == 1 {
            "the one client".to_owned()
        } else {
            format!("the {clients} clients")
        };
        let (usable, share) = (clients.min(cores), percent(figures.client_share));
        let reason = format!(
            "{who} kept {usable} of {cores} cores {share} busy; more clients could use the rest"
        );
        return Some((Bottleneck::Cpu, reason));
    }
    None
}

/// Determines the reason for waiting while CPUs were idle.
fn by_waiting(evidence: &Evidence, figures: &Figures, all_cores: &str) -> (Bottleneck, String) {
    let busy = percent(figures.cpu_share);
    if figures.sync_share >= WAIT_FULL {
        let reason = format!(
            "the disk: {} of the time a file was being synced ({:.0} syncs a second, {:.2} ms \
             each); {all_cores} {busy} busy",
            percent(figures.sync_share),
            figures.syncs / figures.elapsed_s,
            1e3 * figures.sync_wall_s / figures.syncs.max(1.0)
        );
        return (Bottleneck::Disk, reason);
    }
    if figures.file_share >= WAIT_FULL {
        let share = percent(figures.file_share);
        return (
            Bottleneck::Io,
            format!("clients waited for files {share} of the time; {all_cores} {busy} busy"),
        );
    }
    let asleep = figures.asleep_share.unwrap_or(0.0);
    if asleep >= WAIT_FULL && evidence.has_servers {
        let share = percent(asleep);
        return (
            Bottleneck::Servers,
            format!("clients waited for replies {share} of the time; {all_cores} {busy} busy"),
        );
    }
    if asleep >= WAIT_FULL {
        let reason = format!(
            "a lock or queue of the engine: clients slept {} of the time, {:.1} times an \
             operation, and for files only {}; {all_cores} {busy} busy",
            percent(asleep),
            figures.sleeps / figures.operations.max(1.0),
            percent(figures.file_share)
        );
        return (Bottleneck::Engine, reason);
    }
    let sleep = match figures.asleep_share {
        Some(share) => {
            format!(
                ", no file ({} of the clients' time) and no lock ({})",
                percent(figures.file_share),
                percent(share)
            )
        }
        None => format!(" and no file ({} of the clients' time)", percent(figures.file_share)),
    };
    let reason = format!(
        "no CPU ({busy} of all cores){sleep} held it back, so part of a cost may have gone into \
         idle time"
    );
    (Bottleneck::None, reason)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Returns whether a cost measured in such a run may be understated, because part of it went into
/// idle time. Where the engine itself is saturated, and more clients do no more work, the
/// throughput is the maximum, and the cost is the cost at that throughput.
pub fn is_below(saturation: &Saturation) -> bool {
    match saturation.by {
        Bottleneck::None | Bottleneck::Target => true,
        Bottleneck::Engine | Bottleneck::Servers => !saturation.peak,
        Bottleneck::Cpu | Bottleneck::Generator | Bottleneck::Disk | Bottleneck::Io => false,
    }
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
            has_servers: false,
            peak: false,
        })
    }

    #[test]
    fn each_cause_is_named_with_its_figure() {
        let cpu = judged(3.9, 0.0, 8, None);
        assert_eq!(cpu.by, Bottleneck::Cpu);
        assert!(cpu.reason.starts_with("the 4 cores were 98 % busy"), "{}", cpu.reason);
        assert!(
            cpu.reason.ends_with("the load generator itself took 3 % of the CPU time"),
            "{}",
            cpu.reason
        );
        let one = judged(0.97, 0.0, 1, None);
        assert_eq!((one.by, one.cpu_share), (Bottleneck::Cpu, 0.97 / 4.0));
        assert!(
            one.reason.contains("the one client kept 1 of 4 cores 97 % busy"),
            "{}",
            one.reason
        );
        let io = judged(0.4, 6.0, 8, None);
        assert_eq!(io.by, Bottleneck::Io);
        assert!(io.reason.contains("75 % of the time"), "{}", io.reason);
        let none = judged(1.0, 0.5, 8, None);
        assert_eq!(none.by, Bottleneck::None);
        assert!(is_below(&none) && !is_below(&io) && !is_below(&cpu));
    }

    #[test]
    fn cpu_that_other_programs_take_holds_back_too() {
        let samples =
            [Sample { operations: 1, elapsed_s: 1.0, cpu_user_s: 0.5, ..Sample::default() }];
        let evidence = Evidence {
            samples: &samples,
            clients: 8,
            cores: 2,
            target: None,
            generator_share: None,
            machine_share: 0.99,
            has_servers: false,
            peak: false,
        };
        let found = judge(&evidence);
        assert_eq!(found.by, Bottleneck::Cpu);
        assert_eq!(
            found.reason,
            "the 2 cores were 99 % busy, 25 % by this run and the rest by other programs"
        );
    }

    #[test]
    fn a_target_holds_back_only_if_it_was_reached() {
        let held = judged(1.0, 0.0, 8, Some(1_000.0));
        assert_eq!(held.by, Bottleneck::Target);
        assert!(is_below(&held));
        let missed = judged(3.9, 0.0, 8, Some(5_000.0));
        assert_eq!(missed.by, Bottleneck::Cpu);
        assert!(
            missed
                .reason
                .contains("the 5000 operations a second asked for were not reached (1000)"),
            "{}",
            missed.reason
        );
    }

    /// Returns a second of eight clients that were on a CPU, ready, and in files for so long, and
    /// slept for the rest of it.
    fn clients(
        cpu_s: f64,
        queued_s: f64,
        file_s: f64,
        has_servers: bool,
        peak: bool,
    ) -> Saturation {
        let sample = Sample {
            operations: 1_000,
            elapsed_s: 1.0,
            cpu_user_s: cpu_s,
            io_wall_s: file_s,
            client_wall_s: 8.0,
            client_cpu_s: cpu_s,
            queued_s,
            client_sleeps: 2_500,
            ..Sample::default()
        };
        let (samples, generator_share) = ([sample], None);
        let (clients, cores, target, machine_share) = (8, 4, None, 0.0);
        judge(&Evidence {
            samples: &samples,
            clients,
            cores,
            target,
            generator_share,
            machine_share,
            has_servers,
            peak,
        })
    }

    #[test]
    fn sleep_outside_files_is_a_lock_of_the_engine_or_a_server() {
        let lock = clients(1.0, 0.2, 0.8, false, false);
        assert_eq!(lock.by, Bottleneck::Engine);
        let words = "a lock or queue of the engine: clients slept 75 % of the time, 2.5 times an \
                     operation, and for files only 10 %; the 4 cores were 25 % busy";
        assert_eq!(lock.reason, words);
        assert!(is_below(&lock), "more clients might do more");
        let full = clients(1.0, 0.2, 0.8, false, true);
        assert!(
            !is_below(&full) && full.reason.ends_with("; more clients did no more"),
            "{}",
            full.reason
        );
        let servers = clients(1.0, 0.2, 0.8, true, false);
        assert_eq!(servers.by, Bottleneck::Servers);
        assert!(
            servers.reason.starts_with("clients waited for replies 75 % of the time"),
            "{}",
            servers.reason
        );
        // ready to run is not asleep
        let ready = clients(3.0, 4.5, 0.0, false, false);
        assert_eq!(ready.by, Bottleneck::None);
        assert!(ready.reason.starts_with(
            "no CPU (75 % of all cores), no file (0 % of the clients' time) and no lock (6 %)"
        ));
    }

    #[test]
    fn a_log_that_is_always_being_synced_is_the_disk() {
        // one client syncs for all of them, and the others sleep
        let sample = Sample {
            operations: 1_000,
            elapsed_s: 1.0,
            cpu_user_s: 0.4,
            io_wall_s: 0.75,
            syncs: 250,
            sync_wall_s: 0.71,
            client_wall_s: 8.0,
            client_cpu_s: 0.4,
            client_sleeps: 2_000,
            ..Sample::default()
        };
        let evidence = Evidence {
            samples: &[sample],
            clients: 8,
            cores: 4,
            target: None,
            generator_share: None,
            machine_share: 0.0,
            has_servers: false,
            peak: true,
        };
        let disk = judge(&evidence);
        assert_eq!((disk.by, is_below(&disk)), (Bottleneck::Disk, false));
        let words = "the disk: 71 % of the time a file was being synced (250 syncs a second, 2.84 \
                     ms each); the 4 cores were 10 % busy";
        assert_eq!(disk.reason, words);
    }

    #[test]
    fn a_generator_that_takes_most_of_the_cpu_is_named() {
        let sample = Sample { operations: 1, elapsed_s: 1.0, cpu_user_s: 3.9, ..Sample::default() };
        let evidence = Evidence {
            samples: &[sample],
            clients: 8,
            cores: 4,
            target: None,
            generator_share: Some(0.6),
            machine_share: 1.0,
            has_servers: false,
            peak: false,
        };
        let found = judge(&evidence);
        assert_eq!(found.by, Bottleneck::Generator);
        assert_eq!(
            found.reason,
            "the 4 cores were 98 % busy, and the load generator itself took 60 % of that"
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
            has_servers: false,
            peak: false,
        });
        assert_eq!((none.by, none.cpu_share), (Bottleneck::None, 0.0));
    }
}
