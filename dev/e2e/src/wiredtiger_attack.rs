//! Changes that an attacker who can write WiredTiger's files makes to them: fields of its own
//! headers changed, checksums repaired to hide that, units put in the place of others. And the
//! outcome of each change, in one word.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use crate::wiredtiger_files::{crc32c, files};
use crate::wiredtiger_program::{Database, said};

/// A field of a header, in the clear.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// As WiredTiger's source calls it.
    pub name: &'static str,
    /// Start of the field in the page or record, in bytes.
    pub at: usize,
    /// Its length, in bytes.
    pub bytes: usize,
}

const fn field(name: &'static str, at: usize, bytes: usize) -> Field {
    Field { name, at, bytes }
}

/// Page header, block header, and the length of the encrypted part. Not the checksum, which is
/// repaired.
pub const PAGE_FIELDS: [Field; 12] = [
    field("page.recno", 0, 8),
    field("page.write_gen", 8, 8),
    field("page.mem_size", 16, 4),
    field("page.entries", 20, 4),
    field("page.type", 24, 1),
    field("page.flags", 25, 1),
    field("page.unused", 26, 1),
    field("page.version", 27, 1),
    field("block.disk_size", 28, 4),
    field("block.flags", 36, 1),
    field("block.unused", 37, 3),
    field("encrypted length", 40, 4),
];

/// Offset of the checksum in a page.
const PAGE_CHECKSUM_AT: usize = 32;

/// Header of a journal record, and the length of the encrypted part.
pub const RECORD_FIELDS: [Field; 5] = [
    field("record.len", 0, 4),
    field("record.flags", 8, 2),
    field("record.unused", 10, 2),
    field("record.mem_len", 12, 4),
    field("encrypted length", 16, 4),
];

/// Offset of the checksum in a record.
const RECORD_CHECKSUM_AT: usize = 4;

/// Kind of a unit of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A page in a data file.
    Page,
    /// A record in a journal file.
    Record,
}

/// A page or a record: the scope of one checksum.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The file, below the data directory.
    pub file: PathBuf,
    /// Start of the unit, in bytes.
    pub at: usize,
    /// Its length, in bytes.
    pub bytes: usize,
    /// Kind of the unit.
    pub kind: Kind,
}

impl Unit {
    /// Returns the fields of its headers.
    #[must_use]
    pub fn fields(&self) -> &'static [Field] {
        match self.kind {
            Kind::Page => &PAGE_FIELDS,
            Kind::Record => &RECORD_FIELDS,
        }
    }
}

/// Returns the encrypted units in the files of `db`.
///
/// # Panics
/// If a file cannot be read.
#[must_use]
pub fn units(db: &Path) -> Vec<Unit> {
    let mut found = Vec::new();
    for path in files(db) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).expect("a file");
        let file = path.strip_prefix(db).expect("a file below it").to_owned();
        let number = |at: usize| {
            bytes
                .get(at..at + 4)
                .map_or(0, |at| u32::from_le_bytes(at.try_into().unwrap()) as usize)
        };
        if name.ends_with(".wt") {
            let mut at = 4096;
            while at + 4096 <= bytes.len() {
                let size = number(at + 28);
                let page = bytes[at + 25] & 8 != 0
                    && size >= 4096
                    && size % 4096 == 0
                    && at + size <= bytes.len();
                if page
                    && checksum_of(&bytes[at..at + size], PAGE_CHECKSUM_AT)
                        == number(at + 32) as u32
                {
                    found.push(Unit { file: file.clone(), at, bytes: size, kind: Kind::Page });
                }
                at += 4096;
            }
        } else if name.starts_with("WiredTigerLog.") {
            let mut at = 128;
            while at + 128 <= bytes.len() && number(at) > 0 && at + number(at) <= bytes.len() {
                let size = number(at);
                if bytes[at + 8] & 2 != 0 {
                    found.push(Unit { file: file.clone(), at, bytes: size, kind: Kind::Record });
                }
                at += size.next_multiple_of(128);
            }
        }
    }
    found
}

/// Returns CRC-32C of `unit` as WiredTiger computes it: with zeros in its place.
fn checksum_of(unit: &[u8], at: usize) -> u32 {
    let mut unit = unit.to_vec();
    unit[at..at + 4].fill(0);
    crc32c(&unit)
}

/// Sets the checksum of a journal record to what it must be.
pub fn repair_record(record: &mut [u8]) {
    let sum = checksum_of(record, RECORD_CHECKSUM_AT);
    record[RECORD_CHECKSUM_AT..][..4].copy_from_slice(&sum.to_le_bytes());
}

/// Values for a field of `bytes` bytes that has the value `now`: ends of ranges, neighbours, single
/// bits, and for lengths everything around the headers they include.
#[must_use]
pub fn hostile_values(field: Field, now: u64) -> Vec<u64> {
    let all = if field.bytes == 8 { u64::MAX } else { (1 << (8 * field.bytes)) - 1 };
    let mut values = vec![
        0,
        1,
        now.wrapping_sub(1),
        now.wrapping_add(1),
        now << 1,
        now >> 1,
        all,
        all >> 1,
        (all >> 1) + 1,
    ];
    match field.name {
        "page.type" => values.extend(0..=16),
        "page.flags" | "block.flags" | "record.flags" => {
            values.extend((0..8).map(|bit| now ^ 1 << bit))
        }
        "encrypted length" => {
            values.extend([
                4, 16, 19, 20, 21, 39, 40, 43, 44, 45, 63, 64, 80, 87, 88, 91, 92, 103, 104, 107,
                108, 109,
            ]);
            values.extend([
                now - 16,
                now + 16,
                now + 60,
                now + 64,
                4096,
                8192,
                1 << 20,
                1 << 31,
                (1 << 31) - 1,
            ]);
        }
        "record.len" | "page.mem_size" | "block.disk_size" | "record.mem_len" => {
            values.extend([
                8,
                16,
                17,
                28,
                40,
                64,
                127,
                128,
                129,
                256,
                4096,
                now + 128,
                now + 4096,
                1 << 20,
                1 << 30,
            ]);
        }
        _ => {}
    }
    values.iter_mut().for_each(|value| *value &= all);
    values.sort_unstable();
    values.dedup();
    values.retain(|value| *value != now);
    values
}

/// One change of a copy of the files.
#[derive(Clone, Debug)]
pub struct Attack {
    /// Class under which the table counts the attack.
    pub class: String,
    /// Description of the change: the file, the place and the fields with their new values.
    pub what: String,
    /// The unit it is done to.
    pub unit: Unit,
    /// The new bytes of the unit, without its checksum.
    pub bytes: Vec<u8>,
}

impl Attack {
    /// Sets `fields` of `unit`, whose bytes are `now`.
    #[must_use]
    pub fn on_fields(unit: &Unit, now: &[u8], fields: &[(Field, u64)]) -> Self {
        let mut bytes = now.to_vec();
        let mut what = format!("{} at {}:", unit.file.display(), unit.at);
        for (field, value) in fields {
            bytes[field.at..][..field.bytes].copy_from_slice(&value.to_le_bytes()[..field.bytes]);
            let _ = write!(what, " {} = {value:#x}", field.name);
        }
        let names: Vec<&str> = fields.iter().map(|(field, _)| field.name).collect();
        let class = match names.as_slice() {
            [one] => (*one).to_owned(),
            _ if unit.kind == Kind::Page => "two fields of a page".to_owned(),
            _ => "two fields of a record".to_owned(),
        };
        Self { class, what, unit: unit.clone(), bytes }
    }

    /// Puts `other`, another unit with the bytes `with`, in the place of `unit`.
    #[must_use]
    pub fn in_place(class: &str, unit: &Unit, other: &Unit, with: &[u8]) -> Self {
        let from = format!("{} at {}", other.file.display(), other.at);
        let what = format!("{} at {}: instead of it {from}", unit.file.display(), unit.at);
        Self { class: class.to_owned(), what, unit: unit.clone(), bytes: with.to_vec() }
    }

    /// Applies it to the files in `db`, with the checksum repaired. A page's checksum in its parent
    /// cannot be changed, so other bytes of the page are, such that the checksum stays the same;
    /// `changed` are the bytes that must stay as the attack set them.
    ///
    /// # Panics
    /// If the file cannot be changed.
    pub fn apply(&self, db: &Path) {
        let path = db.join(&self.unit.file);
        let mut file = fs::read(&path).expect("a file");
        let place = &mut file[self.unit.at..][..self.unit.bytes];
        let mut bytes = self.bytes.clone();
        match self.unit.kind {
            Kind::Page => {
                let wanted = &place[PAGE_CHECKSUM_AT..][..4];
                bytes[PAGE_CHECKSUM_AT..][..4].copy_from_slice(wanted);
                let wanted = u32::from_le_bytes(wanted.try_into().expect("four bytes"));
                let free = free_bytes(place, &bytes);
                force_checksum(&mut bytes, PAGE_CHECKSUM_AT, free, wanted);
                place.copy_from_slice(&bytes);
            }
            Kind::Record => {
                // as many bytes as the record claims, which may be more than there are
                let said = u32::from_le_bytes(*bytes.first_chunk().expect("a header")) as usize;
                place.copy_from_slice(&bytes);
                if let Some(record) =
                    file.get_mut(self.unit.at..self.unit.at.saturating_add(said.max(16)))
                {
                    repair_record(record);
                }
            }
        }
        fs::write(path, file).expect("written");
    }
}

/// Returns the offset of four bytes of a page that may have any value: after the encrypted part; or
/// otherwise in a header, in a field that the attack leaves alone.
fn free_bytes(before: &[u8], bytes: &[u8]) -> usize {
    let length = u32::from_le_bytes(before[40..44].try_into().expect("four bytes")) as usize;
    // with the flag cleared the checksum is of the first 64 bytes
    if bytes[36] & 1 != 0 && length + 4 <= bytes.len() {
        return bytes.len() - 4;
    }
    [0, 8, 4, 28, 20, 16]
        .into_iter()
        .find(|at| before[*at..at + 4] == bytes[*at..at + 4])
        .unwrap_or(0)
}

/// Sets the four bytes at `free` such that the checksum of the unit is `wanted`: CRCs are linear,
/// so each bit adds what it adds alone.
fn force_checksum(unit: &mut [u8], checksum_at: usize, free: usize, wanted: u32) {
    let covered = if unit[36] & 1 != 0 { unit.len() } else { 64 };
    let sum = |unit: &[u8]| checksum_of(&unit[..covered], checksum_at);
    unit[free..free + 4].fill(0);
    let base = sum(unit);
    // rows of the system: the effect of a bit, and the bits it takes
    let mut rows: Vec<(u32, u32)> = (0..32)
        .map(|bit| {
            unit[free + bit / 8] = 1 << (bit % 8);
            let effect = sum(unit) ^ base;
            unit[free + bit / 8] = 0;
            (effect, 1 << bit)
        })
        .collect();
    let (mut rest, mut chosen) = (wanted ^ base, 0);
    for column in 0..32 {
        let Some(pivot) = rows.iter().position(|(effect, _)| effect >> column & 1 == 1) else {
            continue;
        };
        let (effect, bits) = rows.swap_remove(pivot);
        for row in &mut rows {
            if row.0 >> column & 1 == 1 {
                *row = (row.0 ^ effect, row.1 ^ bits);
            }
        }
        if rest >> column & 1 == 1 {
            (rest, chosen) = (rest ^ effect, chosen ^ bits);
        }
    }
    unit[free..free + 4].copy_from_slice(&u32::to_le_bytes(chosen));
    assert_eq!(sum(unit), wanted, "four bytes give any checksum");
}

/// The outcome of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// An error, and no data.
    Refused,
    /// The data that was there before.
    Harmless,
    /// No error, and data that was there at another time.
    Stale,
    /// No error, and data is missing.
    Lost,
    /// No error, and data that was never stored.
    Forged,
    /// The program was ended by a signal.
    Crashed,
    /// The program did not end.
    Hung,
}

impl Outcome {
    const ALL: [Self; 7] = [
        Self::Refused,
        Self::Harmless,
        Self::Stale,
        Self::Lost,
        Self::Forged,
        Self::Crashed,
        Self::Hung,
    ];
}

/// Longest time that a program may take if it normally takes a fraction of a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads all of the table `t` in `db`, where the data should be `now` and was `before` at some
/// time.
///
/// # Panics
/// If the program does not start.
#[must_use]
pub fn outcome(
    database: &Database,
    db: &Path,
    config: &str,
    now: &str,
    before: &[&str],
) -> (Outcome, String) {
    let mut command = database.command(database.program(), db, config, &["dump", "table:t"]);
    // no cores, which a crash would write
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("wt starts");
    let Some(output) = within_patience(child) else { return (Outcome::Hung, String::new()) };
    if let Some(signal) = output.status.signal() {
        return (Outcome::Crashed, format!("signal {signal}\n{}", said(&output)));
    }
    if !output.status.success() {
        return (Outcome::Refused, said(&output));
    }
    let read = String::from_utf8_lossy(&output.stdout);
    if read == now {
        return (Outcome::Harmless, String::new());
    }
    let rows = |text: &str| -> BTreeMap<String, String> {
        let lines: Vec<&str> = text.lines().skip_while(|line| *line != "Data").skip(1).collect();
        lines
            .chunks(2)
            .map(|row| (row[0].to_owned(), row.get(1).unwrap_or(&"").to_string()))
            .collect()
    };
    let (now, read) = (rows(now), rows(&read));
    let before: Vec<BTreeMap<String, String>> = before.iter().map(|text| rows(text)).collect();
    let genuine = |(key, value): (&String, &String)| {
        now.get(key) == Some(value) || before.iter().any(|rows| rows.get(key) == Some(value))
    };
    let what = format!("{} rows of {}", read.len(), now.len());
    if !read.iter().all(genuine) {
        (Outcome::Forged, what)
    } else if now.keys().any(|key| !read.contains_key(key)) {
        (Outcome::Lost, what)
    } else {
        (Outcome::Stale, what)
    }
}

/// Returns the output of `child`, or `None` if it had to be ended.
fn within_patience(mut child: Child) -> Option<Output> {
    let id = i32::try_from(child.id()).expect("a process id");
    let (done, wait) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let start = Instant::now();
        let hung = wait.recv_timeout(PATIENCE).is_err() && start.elapsed() >= PATIENCE;
        if hung {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(id),
                nix::sys::signal::Signal::SIGKILL,
            );
        }
        hung
    });
    let (mut out, mut err) =
        (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut err, &mut text).map(|_| text)
    });
    let mut stdout = Vec::new();
    std::io::Read::read_to_end(&mut out, &mut stdout).expect("a pipe");
    let stderr = errors.join().expect("no panic").expect("a pipe");
    let _ = done.send(());
    let hung = watch.join().expect("no panic");
    let status = child.wait().expect("an end");
    (!hung).then_some(Output { status, stdout, stderr })
}

/// Number of times that each class of attacks had each outcome.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<String, BTreeMap<Outcome, u32>>,
    examples: Vec<String>,
}

impl Tally {
    /// Counts an outcome. `what` and `said` are kept where it was bad.
    pub fn add(&mut self, class: &str, outcome: Outcome, what: &str, said: &str) {
        *self.counts.entry(class.to_owned()).or_default().entry(outcome).or_default() += 1;
        if outcome > Outcome::Harmless {
            self.examples.push(format!(
                "{outcome:?}: {class}: {what}\n    {}",
                said.replace('\n', "\n    ")
            ));
        }
    }

    /// Returns the number of attacks with the outcome `outcome`.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> u32 {
        self.counts.values().filter_map(|counts| counts.get(&outcome)).sum()
    }

    /// Returns the bad cases, one after another.
    #[must_use]
    pub fn examples(&self) -> String {
        self.examples.join("\n")
    }

    /// Returns the table, a line for each class.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!("{:<34}", "");
        for outcome in Outcome::ALL {
            let _ = write!(text, "{:>10}", format!("{outcome:?}").to_lowercase());
        }
        text.push('\n');
        let mut line = |name: &str, count: &dyn Fn(Outcome) -> u32| {
            let _ = write!(text, "{name:<34}");
            for outcome in Outcome::ALL {
                let _ = write!(text, "{:>10}", count(outcome));
            }
            text.push('\n');
        };
        for (class, counts) in &self.counts {
            line(class, &|outcome| counts.get(&outcome).copied().unwrap_or(0));
        }
        line("all", &|outcome| self.count(outcome));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_can_be_forced_anywhere() {
        let mut page: Vec<u8> = (0..8192u32).map(|n| (n * 7) as u8).collect();
        for (flags, free) in [(1, 8188), (1, 0), (0, 8), (0, 28)] {
            page[36] = flags;
            force_checksum(&mut page, PAGE_CHECKSUM_AT, free, 0x1234_5678);
            let covered = if flags == 1 { page.len() } else { 64 };
            assert_eq!(checksum_of(&page[..covered], PAGE_CHECKSUM_AT), 0x1234_5678);
        }
    }
}
