//! The command `judge`: ext4 on sealed volumes under programs that look for wrong bytes, beside
//! ext4 on a plain loop device under the same ones.

mod findings;
mod fio;
mod fsx;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::place::{Kind, Place};
use crate::place_flags::PlaceFlags;
use findings::Findings;
use fsx::Fsx;
use sealstone_turns::program::{self, run};

/// Bytes that are written and removed again before each trim.
const TRIMMED_BYTES: usize = 32 << 20;
/// Time between two trims.
const BETWEEN_TRIMS: Duration = Duration::from_millis(500);

#[derive(Args)]
pub(crate) struct Flags {
    #[command(flatten)]
    common: PlaceFlags,
    /// The program `fsx` of the crate of that name
    #[arg(long, value_name = "FILE", default_value = "fsx")]
    fsx: PathBuf,
    /// Operations of fsx in each place, over all seeds
    #[arg(long, default_value_t = 10_000_000)]
    operations: u64,
    /// Seeds of fsx
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// Rounds of fio, each over the files of the one before
    #[arg(long, default_value_t = 4)]
    rounds: u32,
    /// Length of each of fio's files, in MiB
    #[arg(long, default_value_t = 256)]
    mib: u32,
    /// File for the table [default: stdout]
    #[arg(long, value_name = "FILE.md")]
    out: Option<PathBuf>,
}

/// Judges all places at the same time, and reports whether the volumes give what the loop gives.
pub(crate) fn judge(flags: &Flags) -> Result<()> {
    if flags.rounds == 0 || flags.mib == 0 || flags.seeds == 0 || flags.operations < flags.seeds {
        bail!("nothing to judge: rounds, MiB, seeds and operations of each seed are at least 1");
    }
    let program = flags.common.program()?;
    let fio = program::run("fio", &["--version"])?;
    let fsx = Fsx::new(&flags.fsx, flags.operations / flags.seeds)?;
    let scratch = flags.common.scratch()?;
    let sealed = flags.common.ciphers.iter().map(|cipher| Kind::Sealed { cipher: cipher.clone() });
    let kinds: Vec<Kind> = [Kind::Loop].into_iter().chain(sealed).collect();
    let begin = Instant::now();
    let findings = thread::scope(|scope| {
        let judged = kinds.into_iter().map(|kind| {
            let (dir, program, fsx) = (scratch.path(), &program, &fsx);
            scope.spawn(move || judge_place(kind, dir, program, flags, fsx))
        });
        let judged: Vec<_> = judged.collect();
        judged.into_iter().map(|one| one.join().expect("judged without a panic")).collect()
    });
    let findings: Vec<Findings> = findings;
    let machine = sealstone_bench::study::machine::facts(scratch.path());
    let facts = format!(
        "- {}; Linux {}; {}; all places on {}, judged at the same time in {:.0} s\n\
         - {}: {} files of {} MiB, written {} times, alternately with crc32c and a pattern of the \
         round, in blocks of 512 B (direct: 4 KiB) to 1 MiB\n- {}: {} seeds of {} operations\n",
        machine.label,
        machine.kernel,
        machine.os,
        machine.file_system,
        begin.elapsed().as_secs_f64(),
        fio.trim(),
        fio::JOBS.len(),
        flags.mib,
        flags.rounds,
        fsx.version,
        flags.seeds,
        fsx.operations,
    );
    let (verdict, is_same) = findings::verdict(&findings);
    let text = format!("{verdict}\n\n{facts}\n{}", findings::table(&findings));
    match &flags.out {
        Some(path) => {
            fs::write(path, &text).with_context(|| format!("write {}", path.display()))?;
            println!("{verdict}\n{}", path.display());
        }
        None => print!("{text}"),
    }
    if !is_same {
        bail!("the judges found a difference or an error");
    }
    Ok(())
}

/// Judges one place, as far as that goes.
fn judge_place(kind: Kind, scratch: &Path, program: &Path, flags: &Flags, fsx: &Fsx) -> Findings {
    let mut findings = Findings::new(kind.name());
    if let Err(error) = judge_all(kind, scratch, program, flags, fsx, &mut findings) {
        findings.fail("the place itself", &format!("{error:#}"));
    }
    eprintln!("{}: done", findings.place);
    findings
}

fn judge_all(
    kind: Kind,
    scratch: &Path,
    program: &Path,
    flags: &Flags,
    fsx: &Fsx,
    findings: &mut Findings,
) -> Result<()> {
    let mut place = Place::make(kind, scratch, program)?;
    for round in 1..=flags.rounds {
        beside_trims(place.files(), findings, |findings| {
            for job in &fio::JOBS {
                job.write(place.files(), round, flags.mib, findings);
            }
        })?;
        remount(&mut place, findings)?;
        for job in &fio::JOBS {
            job.read_back(place.files(), round, flags.mib, findings);
        }
        eprintln!("{}: fio, round {round} of {}", place.name(), flags.rounds);
    }
    for job in &fio::JOBS {
        job.remove(place.files())?;
    }
    for seed in 1..=flags.seeds {
        beside_trims(place.files(), findings, |findings| {
            fsx.run(place.files(), place.dir(), seed, findings);
        })?;
        remount(&mut place, findings)?;
        eprintln!("{}: fsx, seed {seed} of {}", place.name(), flags.seeds);
    }
    findings.same("fsx, its files at the end", &fsx::sum(place.files())?);
    Ok(())
}

/// Unmounts the place, has the device and the volume checked, mounts it again, and compares all
/// files with what they were.
fn remount(place: &mut Place, findings: &mut Findings) -> Result<()> {
    let before = run("sh", &["-c", SUMS, "sh", &place.files().to_string_lossy()])?;
    place.unmount()?;
    match place.verify() {
        Ok(true) => findings.count("sealstone volume verify, whole", 1),
        Ok(false) => findings.same("sealstone volume verify, whole", "-"),
        Err(error) => findings.fail("sealstone volume verify, whole", &format!("{error:#}")),
    }
    match place.check_file_system() {
        Ok(()) => findings.count("e2fsck -fn, clean", 1),
        Err(error) => findings.fail("e2fsck -fn, clean", &format!("{error:#}")),
    }
    place.mount_again()?;
    let after = run("sh", &["-c", SUMS, "sh", &place.files().to_string_lossy()])?;
    let judge = "all files, the same bytes when mounted again";
    if before == after {
        findings.count(judge, before.lines().count() as u64);
    } else {
        let (before, after) = (changed(&before, &after), changed(&after, &before));
        findings.fail(judge, &format!("before:\n{before}\nafter:\n{after}"));
    }
    Ok(())
}

/// Returns the lines of `one` that `other` has not.
fn changed(one: &str, other: &str) -> String {
    let is_new = |line: &&str| !other.lines().any(|known| known == *line);
    one.lines().filter(is_new).collect::<Vec<_>>().join("\n")
}

/// The shell's line that prints the sums of all files of a directory.
const SUMS: &str = "cd \"$1\" && find . -type f | LC_ALL=C sort | xargs -r sha256sum";

/// Does `work` while what is free below is trimmed again and again.
fn beside_trims(
    files: &Path,
    findings: &mut Findings,
    work: impl FnOnce(&mut Findings),
) -> Result<()> {
    let is_done = AtomicBool::new(false);
    let trims = thread::scope(|scope| {
        let trims = scope.spawn(|| -> Result<u64> {
            let removed = files.join("removed");
            let bytes = vec![0xA5; TRIMMED_BYTES];
            let mut trims = 0;
            while !is_done.load(Ordering::Relaxed) {
                fs::write(&removed, &bytes)?;
                fs::File::open(&removed)?.sync_all()?;
                fs::remove_file(&removed)?;
                run("fstrim", &[&files.to_string_lossy()])?;
                trims += 1;
                thread::sleep(BETWEEN_TRIMS);
            }
            Ok(trims)
        });
        work(findings);
        is_done.store(true, Ordering::Relaxed);
        trims.join().expect("trimmed without a panic")
    });
    let judge = "concurrent fstrim (not compared)";
    match trims {
        Ok(trims) => findings.count(judge, trims),
        Err(error) => findings.fail(judge, &format!("{error:#}")),
    }
    Ok(())
}
