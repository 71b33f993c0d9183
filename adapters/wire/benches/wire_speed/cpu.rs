//! CPU time of this process, of its helper processes, and of the kernel's threads for interrupts.

use std::fs;

/// Ticks a second in `/proc`; Linux has had no other for programs.
const TICKS: f64 = 100.0;

/// Fields of `/proc/ID/stat` behind the name: user and system time.
const USER: usize = 11;
const SYSTEM: usize = 12;

fn of_process(id: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 =
        [USER, SYSTEM].iter().filter_map(|at| fields.get(*at)?.parse::<f64>().ok()).sum();
    Some(ticks / TICKS)
}

/// Lists the kernel threads that carry packets between interrupts when there are many packets.
fn kernel_threads() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_one = |id: &String| {
        fs::read_to_string(format!("/proc/{id}/comm"))
            .is_ok_and(|comm| comm.starts_with("ksoftirqd"))
    };
    names.filter(|id| id.parse::<u32>().is_ok()).filter(is_one).collect()
}

/// A clock of CPU time.
pub(crate) struct Cpu {
    ids: Vec<String>,
}

impl Cpu {
    /// Reads the time of this process and of `others`.
    pub(crate) fn of(others: &[u32]) -> Self {
        let mut ids = kernel_threads();
        ids.push("self".to_owned());
        ids.extend(others.iter().map(u32::to_string));
        Self { ids }
    }

    /// Returns the seconds used so far.
    pub(crate) fn seconds(&self) -> f64 {
        self.ids.iter().filter_map(|id| of_process(id)).sum()
    }
}
