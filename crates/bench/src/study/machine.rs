//! Facts about the machine that measured, read from Linux' `/proc`. No user name: results are meant
//! for other readers.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use sealstone_cipher::Backend;
use serde::{Deserialize, Serialize};

/// Machine facts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// A short name for merged reports: CPU model and cores, or what the user called it.
    pub label: String,
    /// Host name, which distinguishes machines of one model.
    pub host: String,
    /// CPU model name.
    pub cpu: String,
    /// Logical CPUs available to the process.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Operating system name.
    pub os: String,
    /// File system type and device of the data directory.
    pub file_system: String,
    /// CPU features that matter to ciphers.
    pub cpu_features: Vec<String>,
    /// Backends this CPU can run.
    pub backends: Vec<String>,
    /// True if a hypervisor is reported.
    pub virtualised: bool,
}

/// Returns the facts of this machine, for data kept in `dir` (which need not exist yet). Facts that
/// cannot be determined are empty.
pub fn facts(dir: &Path) -> Machine {
    let cpuinfo = read("/proc/cpuinfo");
    let cpu = cpuinfo_field(&cpuinfo, "model name")
        .or_else(|| cpuinfo_field(&cpuinfo, "Model"))
        .unwrap_or_default();
    let cores = cores();
    let flags = cpuinfo_field(&cpuinfo, "flags").unwrap_or_default();
    let name = if cpu.is_empty() { std::env::consts::ARCH.to_owned() } else { cpu.clone() };
    Machine {
        label: format!("{name}, {cores} {}", if cores == 1 { "core" } else { "cores" }),
        host: read("/proc/sys/kernel/hostname").trim().to_owned(),
        cpu,
        cores,
        memory_bytes: meminfo_bytes(&read("/proc/meminfo"), "MemTotal").unwrap_or(0),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        os: os_name(&read("/etc/os-release")),
        file_system: file_system(&read("/proc/self/mountinfo"), &existing(dir)),
        cpu_features: Backend::cpu_features()
            .iter()
            .map(|feature| String::from(*feature))
            .collect(),
        backends: Backend::available().iter().map(|backend| backend.name().to_owned()).collect(),
        virtualised: flags.split_whitespace().any(|flag| flag == "hypervisor"),
    }
}

/// Returns the number of logical CPUs that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Bytes free to this user on the file system of `dir`, or of its nearest parent that exists.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = statvfs(&existing(dir)).ok()?;
    Some((stat.blocks_available() as u64).saturating_mul(stat.fragment_size() as u64))
}

/// Bytes of memory that programs can still take: the least of what the kernel has available and
/// what the control group of this process may use.
pub(crate) fn memory_available_bytes() -> Option<u64> {
    let kernel = meminfo_bytes(&read("/proc/meminfo"), "MemAvailable");
    let group = || {
        let limit: u64 = read("/sys/fs/cgroup/memory.max").trim().parse().ok()?;
        let used: u64 = read("/sys/fs/cgroup/memory.current").trim().parse().ok()?;
        Some(limit.saturating_sub(used))
    };
    match (kernel, group()) {
        (Some(kernel), Some(group)) => Some(kernel.min(group)),
        (kernel, group) => kernel.or(group),
    }
}

/// Busy time of the whole machine since it started, in ticks of all CPUs together (proc(5),
/// `/proc/stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    /// Ticks in which a CPU did something.
    pub busy: u64,
    /// Ticks in which a CPU of this virtual machine had to wait for the host.
    pub stolen: u64,
    /// All ticks.
    pub all: u64,
    /// CPUs of the machine.
    pub cpus: usize,
    /// Seconds since it started.
    pub up_s: f64,
}

impl Busy {
    /// Reads how busy the machine has been until now; all zero if that cannot be read.
    pub fn now() -> Self {
        let up = read("/proc/uptime");
        let up_s =
            up.split_whitespace().next().and_then(|seconds| seconds.parse().ok()).unwrap_or(0.0);
        Self { up_s, ..Self::parse(&read("/proc/stat")) }
    }

    fn parse(stat: &str) -> Self {
        let mut lines = stat.lines().filter(|line| line.starts_with("cpu"));
        // user nice system idle iowait irq softirq steal; guest time is in user already
        let ticks: Vec<u64> = lines
            .next()
            .unwrap_or("")
            .split_whitespace()
            .skip(1)
            .take(8)
            .map(|tick| tick.parse().unwrap_or(0))
            .collect();
        let at = |field: usize| ticks.get(field).copied().unwrap_or(0);
        let all = ticks.iter().sum();
        let stolen = at(7);
        Self { busy: all - at(3) - at(4) - stolen, stolen, all, cpus: lines.count(), up_s: 0.0 }
    }

    /// Returns the time passed since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            all: self.all.saturating_sub(earlier.all),
            cpus: self.cpus,
            up_s: (self.up_s - earlier.up_s).max(0.0),
        }
    }

    /// Adds two stretches of time.
    pub fn plus(self, other: Self) -> Self {
        Self {
            busy: self.busy + other.busy,
            stolen: self.stolen + other.stolen,
            all: self.all + other.all,
            cpus: self.cpus.max(other.cpus),
            up_s: self.up_s + other.up_s,
        }
    }

    /// Returns the share of the CPUs that was not idle, the host's part of a virtual machine
    /// included; 0 if unknown.
    pub fn share(self) -> f64 {
        if self.all == 0 { 0.0 } else { (self.busy + self.stolen) as f64 / self.all as f64 }
    }

    /// Warns of what disturbed this process in this stretch of time, in which it used `cpu_s` CPU
    /// seconds.
    pub fn warnings(self, cpu_s: f64) -> Vec<String> {
        let (all, capacity_s) = (self.all as f64, self.up_s * self.cpus as f64);
        if all <= 0.0 || capacity_s <= 0.0 {
            return Vec::new();
        }
        let others = self.busy as f64 / all - cpu_s / capacity_s;
        let stolen = self.stolen as f64 / all;
        let mut warnings = Vec::new();
        if others > 0.1 {
            warnings.push(format!(
                "other programs used {:.0} % of the CPU during the run: intervals are wider than \
                 on a quiet machine",
                others * 100.0
            ));
        }
        if stolen > 0.02 {
            warnings.push(format!(
                "the host took {:.0} % of the CPU time from this virtual machine: intervals are \
                 wider than necessary",
                stolen * 100.0
            ));
        }
        warnings
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns the nearest ancestor of `dir` that exists, as an absolute path without links.
fn existing(dir: &Path) -> PathBuf {
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    absolute.ancestors().find_map(|path| path.canonicalize().ok()).unwrap_or_else(|| "/".into())
}

fn cpuinfo_field(cpuinfo: &str, field: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == field).then(|| value.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

fn meminfo_bytes(meminfo: &str, field: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.split(':').next() == Some(field))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn os_name(os_release: &str) -> String {
    let line = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    line.map_or_else(|| std::env::consts::OS.to_owned(), |name| name.trim_matches('"').to_owned())
}

/// Returns the file system type and device of `path`, from the text of `/proc/self/mountinfo`
/// (proc(5)): the mount point that is the longest prefix of the path; of several on one point, the
/// last covers the others.
fn file_system(mountinfo: &str, path: &Path) -> String {
    let mut best: Option<(usize, String)> = None;
    for line in mountinfo.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let Some(point) = before.split(' ').nth(4).map(unescape) else { continue };
        let mut after = after.split(' ');
        let (Some(kind), Some(device)) = (after.next(), after.next()) else { continue };
        if path.starts_with(&point)
            && best.as_ref().is_none_or(|(length, _)| point.len() >= *length)
        {
            best = Some((point.len(), format!("{kind} on {}", unescape(device))));
        }
    }
    best.map_or_else(String::new, |(_, words)| words)
}

/// Decodes mountinfo, in which space, tab, newline and backslash are written as `\040`, `\011`,
/// `\012`, `\134`.
fn unescape(text: &str) -> String {
    let pairs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    pairs.iter().fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw
30 22 0:26 / /srv/my\\040data rw shared:5 - xfs /dev/sdb rw
31 22 0:27 / /srv rw - btrfs /dev/sdc rw
32 22 0:28 / /srv rw master:1 - zfs tank/srv rw
";

    #[test]
    fn the_longest_mount_point_wins_and_the_last_of_equals() {
        assert_eq!(file_system(MOUNTS, Path::new("/opt/x")), "ext4 on /dev/vda1");
        assert_eq!(file_system(MOUNTS, Path::new("/srv/my data/db")), "xfs on /dev/sdb");
        assert_eq!(file_system(MOUNTS, Path::new("/srv/other")), "zfs on tank/srv");
        assert_eq!(file_system(MOUNTS, Path::new("/srvx")), "ext4 on /dev/vda1");
        assert_eq!(file_system("", Path::new("/")), "");
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let cpuinfo =
            "processor\t: 0\nmodel name\t: Some  CPU @ 2.0GHz\nflags\t\t: fpu aes hypervisor\n";
        assert_eq!(cpuinfo_field(cpuinfo, "model name").as_deref(), Some("Some CPU @ 2.0GHz"));
        assert_eq!(cpuinfo_field(cpuinfo, "model"), None);
        let meminfo = "MemTotal:       24000 kB\nMemAvailable:   1000 kB\n";
        assert_eq!(meminfo_bytes(meminfo, "MemAvailable"), Some(1_024_000));
        assert_eq!(meminfo_bytes(meminfo, "Mem"), None);
    }

    #[test]
    fn other_programs_and_the_host_are_noticed() {
        let stat = "cpu  100 0 50 800 20 5 5 20 0 0\ncpu0 1 2\ncpu1 3 4\nintr 5\n";
        let begin = Busy::parse(stat);
        assert_eq!((begin.busy, begin.stolen, begin.all, begin.cpus), (160, 20, 1_000, 2));
        // ten seconds of two CPUs: 2,000 ticks, 1,000 of them busy; this process used 5 of the 10
        // busy seconds
        let later = Busy { busy: 1_160, stolen: 120, all: 3_000, up_s: 10.0, ..begin };
        let warnings = later.since(begin).warnings(5.0);
        assert!(warnings[0].contains("25 %") && warnings[1].contains("5 %"), "{warnings:?}");
        assert!(later.since(Busy { stolen: 119, ..begin }).warnings(10.0).is_empty());
        assert!(Busy::default().warnings(1.0).is_empty());
        assert_eq!(later.since(begin).share(), 0.55);
        assert_eq!(later.since(begin).plus(later.since(begin)).all, 4_000);
    }

    #[test]
    fn this_machine_has_cores_memory_and_room() {
        let facts = facts(Path::new("does/not/exist/yet"));
        assert!(facts.cores >= 1 && facts.memory_bytes > 0 && !facts.kernel.is_empty());
        assert!(facts.backends.iter().any(|name| name == "portable"));
        assert!(free_bytes(Path::new("does/not/exist/yet")).is_some());
        assert!(memory_available_bytes().is_some());
    }
}
