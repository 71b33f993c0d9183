//! The simulator over a fixed number of seeds, and over the effects of a power cut on a single
//! disk. More seeds: `make soak`.

use std::collections::BTreeSet;
use std::process::Command;

use sealstone_simulator::disk::{Disk, Loss};
use sealstone_simulator::random::Random;

/// About a minute on two cores.
const SEEDS: &str = "600";

#[test]
fn plain_and_sealed_reach_states_that_the_recovery_mode_allows() {
    let output = Command::new(env!("CARGO_BIN_EXE_sealstone-simulator"))
        .args(["--seeds", SEEDS])
        .output()
        .expect("the simulator can be started");
    let said = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    println!("{said}");
    // behind the table, which is long: which seeds to replay, and which class of fault was never
    // met
    let faults =
        said.lines().filter(|line| line.starts_with("seed ") || line.starts_with("never met: "));
    let faults = faults.collect::<Vec<_>>().join("\n");
    assert!(output.status.success(), "{}\n{faults}", output.status);
}

/// Returns a synced file `old` of 1,000 bytes, with writes that were not synced, and entries that
/// were not synced.
fn disk(journal: bool) -> Disk {
    let mut disk = Disk::new(journal);
    disk.make_directory("/d").unwrap();
    let old = disk.create("/d/old").unwrap();
    disk.append(old, &[1; 1000], true);
    disk.sync(old);
    disk.sync_directory("/d").unwrap();
    disk.append(old, &[2; 3000], true);
    disk.append(old, &[3; 3000], true);
    disk.write(old, 10, &[4; 20]);
    disk.create("/d/new").unwrap();
    disk.rename("/d/new", "/d/renamed").unwrap();
    disk.create("/d/other").unwrap();
    disk
}

#[test]
fn a_power_cut_loses_nothing_that_was_synced_and_anything_else() {
    let mut losses = Vec::new();
    let mut entries = BTreeSet::new();
    for seed in 0..2000 {
        let (after, cut) = disk(false).cut_off(&mut Random::new(seed));
        let old = after.content(after.find("/d/old").unwrap());
        assert!(old.len() >= 1000 && old.len() <= 8192, "seed {seed}: {} bytes", old.len());
        assert!(
            old[..10].iter().chain(&old[30..1000]).all(|byte| *byte == 1),
            "seed {seed}: a synced byte was lost"
        );
        assert!(
            old[10..30].iter().all(|byte| *byte == old[10]) && matches!(old[10], 1 | 4),
            "seed {seed}: torn in a unit"
        );
        let mut units = old.get(1024..).unwrap_or_default().chunks(512);
        assert!(units.all(|unit| unit.iter().all(|byte| matches!(byte, 0 | 2 | 3))), "seed {seed}");
        losses.push(cut.files.iter().find(|fate| fate.path == "/d/old").unwrap().loss);
        entries.insert(after.list("/d").unwrap());
    }
    for loss in [
        Loss::Nothing,
        Loss::All,
        Loss::Tail,
        Loss::Cut,
        Loss::Holes,
        Loss::ZeroTail,
        Loss::FirstUnit,
    ] {
        assert!(losses.contains(&loss), "{loss:?} never happened");
    }
    // each of `new`, `renamed` and none, with and without `other`
    let wanted = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let all = [
        wanted(&["old"]),
        wanted(&["new", "old"]),
        wanted(&["old", "renamed"]),
        wanted(&["old", "other"]),
        wanted(&["new", "old", "other"]),
        wanted(&["old", "other", "renamed"]),
    ];
    assert_eq!(entries, BTreeSet::from(all));
}

#[test]
fn a_journal_keeps_the_order_of_entries() {
    for seed in 0..500 {
        let (after, cut) = disk(true).cut_off(&mut Random::new(seed));
        assert!(!cut.entries.reordered);
        let names = after.list("/d").unwrap();
        assert!(
            !names.contains(&"other".into()) || names.contains(&"renamed".into()),
            "seed {seed}: {names:?}"
        );
    }
}

#[test]
fn syncing_a_file_keeps_its_name_and_a_killed_process_loses_nothing() {
    for seed in 0..200 {
        let mut disk = disk(false);
        disk.sync(disk.find("/d/renamed").unwrap());
        let (after, _) = disk.cut_off(&mut Random::new(seed));
        assert!(after.find("/d/renamed").is_ok() && after.find("/d/new").is_err(), "seed {seed}");
    }
    let disk = disk(false);
    let (after, _) = disk.killed();
    assert_eq!(after.paths().len(), disk.paths().len());
    assert_eq!(
        after.content(after.find("/d/old").unwrap()),
        disk.content(disk.find("/d/old").unwrap())
    );
}
