//! Cost of binding the journal to its place and keeping an account of it: a record, a sync, and the
//! check of all of it when a database is opened, compared with the same on plain files. A
//! measurement, not a test.
//!
//! `cargo bench -p sealstone-wiredtiger --bench journal_cost -- [DIRECTORY]`: the directory
//! decides which disk is used

use std::error::Error;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use sealstone_keys::KeyFile;
use sealstone_wiredtiger::Settings;
use sealstone_wiredtiger::engine_calls::Opening;

/// Syncs of each kind, alternating.
const SYNCS: u64 = 600;
/// Writes of each kind, alternating.
const WRITES: u64 = 20_000;
/// Position of the first record after a new file's own records, in bytes.
const FIRST_AT: u64 = 256;
/// Length of the files that are written to, in bytes.
const FILE_BYTES: u64 = 64 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let within = std::env::args()
        .filter(|argument| argument != "--bench")
        .nth(1)
        .unwrap_or_else(|| ".".into());
    let dir = tempfile::tempdir_in(within)?;
    let key = dir.path().join("cost.key");
    KeyFile::create(&key, "cost")?;
    let open = |name: &str, more: &str| -> Result<Opening, Box<dyn Error>> {
        let settings = Settings::parse(&format!("key=\"{}\",cipher=aes-256{more}", key.display()))?;
        let path = dir.path().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(Opening::new(&path, &settings)?)
    };
    writes_and_syncs(
        &open("soon", "")?,
        &open("synced", ",account=synced")?,
        &dir.path().join("plain"),
    )?;
    looks(|| open("looked-at", ""))
}

/// Alternates between a plain file and journals of both kinds.
fn writes_and_syncs(soon: &Opening, synced: &Opening, plain: &Path) -> Result<(), Box<dyn Error>> {
    let plain = OpenOptions::new().create_new(true).write(true).open(plain)?;
    nix::fcntl::fallocate(&plain, nix::fcntl::FallocateFlags::empty(), 0, FILE_BYTES as i64)?;
    let files = [soon.file(1)?, synced.file(1)?];
    for file in &files {
        file.extend(FILE_BYTES as i64)?;
    }
    let mut at = FIRST_AT;
    for bytes in [30, 200, 1000] {
        let record = soon.record(bytes)?;
        let mut took = [vec![], vec![]];
        for _ in 0..WRITES {
            took[0].push(us(|| plain.write_all_at(&record, at))?);
            took[1].push(us(|| files[0].write(at, &record))?);
            at += record.len() as u64;
        }
        let [plain, bound] = took.map(|took| quantile(took, 0.5) * 1e3);
        println!(
            "write a record of {} bytes: a plain file {plain:.0} ns, the journal {bound:.0} ns",
            record.len()
        );
    }
    let record = soon.record(300)?;
    let mut took = [vec![], vec![], vec![]];
    // the second journal holds nothing yet, and what follows a gap is not accounted for
    let mut ends = [at, FIRST_AT];
    for _ in 0..SYNCS {
        took[0].push(us(|| plain.write_all_at(&record, ends[0]).and_then(|()| plain.sync_data()))?);
        for ((file, at), took) in files.iter().zip(&mut ends).zip(&mut took[1..]) {
            took.push(us(|| file.write(*at, &record).and_then(|()| file.sync()))?);
            *at += record.len() as u64;
        }
    }
    for (what, took) in ["a plain file", "account=soon", "account=synced"].iter().zip(took) {
        let (median, high) = (quantile(took.clone(), 0.5), quantile(took, 0.95));
        println!(
            "a record of {} bytes and a sync, {what}: median {median:.0} us, 95 % {high:.0} us",
            record.len()
        );
    }
    Ok(())
}

/// Measures the time that a look at a journal of 50 MiB takes.
fn looks(open: impl Fn() -> Result<Opening, Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    let opening = open()?;
    let file = opening.file(1)?;
    let record = opening.record(300)?;
    let many = record.repeat(200);
    for n in 0..500 {
        file.write(FIRST_AT + n * many.len() as u64, &many)?;
    }
    file.sync()?;
    let took = (0..5)
        .map(|_| open().and_then(|opening| us(|| opening.look().map(drop))))
        .collect::<Result<_, _>>()?;
    println!(
        "look at {} MiB of journal: {:.0} ms",
        (many.len() * 500) >> 20,
        quantile(took, 0.5) / 1e3
    );
    Ok(())
}

/// Microseconds that `call` takes.
fn us<E: Error + 'static>(call: impl FnOnce() -> Result<(), E>) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    call()?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

fn quantile(mut took: Vec<f64>, share: f64) -> f64 {
    took.sort_by(f64::total_cmp);
    took[(took.len() as f64 * share) as usize]
}
