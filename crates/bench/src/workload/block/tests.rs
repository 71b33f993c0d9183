//! Tests of block workloads on a device in memory.

use sealstone_store::{DeviceAccess, MemoryDevice, MemoryStore, StoreError, Target};

use crate::study::plan::Plan;
use crate::workload::testing::{Names, alone, load, make, run};
use crate::workload::{Position, Workload, workloads};

/// Returns a plan of sixteen blocks of 4 KiB, four at once, everything checked.
fn plan() -> Plan {
    Plan {
        bytes: 65_536,
        block_bytes: 4_096,
        depth: 4,
        verify: true,
        operations: 64,
        seed: 42,
        ..Plan::default()
    }
}

fn target(device: &MemoryDevice) -> Target<'_> {
    Target::Device { device, stream: None }
}

/// Returns the workload called `name` on a device that it has loaded.
fn loaded(plan: &Plan, name: &str) -> (Box<dyn Workload>, MemoryDevice) {
    let (workload, device) = (make(plan, name), MemoryDevice::new(1 << 17));
    assert_eq!(load(&*workload, target(&device), 3), 16);
    device.medium().done.clear();
    (workload, device)
}

#[test]
fn every_row_does_what_its_name_says() {
    for spec in workloads().filter(|spec| spec.device && spec.name != "stream") {
        let (workload, device) = loaded(&plan(), spec.name);
        let (names, done) = run(&mut *workload.client(alone(0, 0)), target(&device), 64);
        assert_eq!((done.rows, done.bytes), (64, 64 * 4_096), "{}", spec.name);
        let medium = device.medium();
        assert!(
            medium.deepest == 4 && medium.done.len() == 64,
            "{}: {}",
            spec.name,
            medium.deepest
        );
        let writes =
            medium.done.iter().filter(|(access, ..)| *access == DeviceAccess::Write).count();
        assert_eq!((names.count("write"), names.count("read")), (writes, 64 - writes));
        match spec.name.split_once('-').unwrap().1 {
            "read" => assert_eq!(writes, 0),
            "write" => assert_eq!(writes, 64),
            _ => assert!((16..48).contains(&writes), "{writes}"),
        }
        let blocks: Vec<u64> = medium.done.iter().map(|(_, offset, _)| offset / 4_096).collect();
        match spec.name.split_once('-').unwrap().0 {
            "const" => assert!(blocks.iter().all(|block| *block == 0)),
            "seq" => assert!(blocks.iter().enumerate().all(|(at, block)| *block == at as u64 % 16)),
            _ => assert!(blocks.contains(&0) && blocks.contains(&15)),
        }
        drop(medium);
        workload.check(target(&device)).unwrap();
    }
}

#[test]
fn slices_continue_where_the_last_one_ended() {
    let (workload, device) = loaded(&plan(), "seq-read");
    for (round, slice) in [(0, 0), (0, 1), (1, 0)] {
        let at = Position { slice, slices: 2, ..alone(0, round) };
        let share = at.share(64);
        run(&mut *workload.client(at), target(&device), share.end - share.start);
    }
    let blocks: Vec<u64> =
        device.medium().done.iter().map(|(_, offset, _)| offset / 4_096).collect();
    assert!(blocks.iter().enumerate().all(|(at, block)| *block == at as u64 % 16), "{blocks:?}");
}

/// Returns what a workload reports after `spoil`.
fn error(name: &str, spoil: impl FnOnce(&MemoryDevice)) -> String {
    let (workload, device) = loaded(&plan(), name);
    spoil(&device);
    let mut client = workload.client(alone(0, 0));
    let results = (0..64).map(|_| client.next(target(&device), &mut Names::default()));
    let error = results.filter_map(Result::err).next().expect("an error");
    assert!(matches!(error, StoreError::Differs(_)), "{error}");
    error.to_string()
}

#[test]
fn what_was_not_written_is_not_believed() {
    let flipped = error("seq-read", |device| device.medium().bytes[4_096 * 3 + 100] ^= 1);
    assert!(
        flipped.starts_with("offset 12388 of memory is not what was written: expected "),
        "{flipped}"
    );
    let swapped = error("seq-read", |device| {
        let mut medium = device.medium();
        let block = medium.bytes[4_096 * 5..4_096 * 6].to_vec();
        medium.bytes[4_096 * 6..4_096 * 7].copy_from_slice(&block);
    });
    assert!(
        swapped.contains("offset 24576 of memory")
            && swapped.contains("found version 0 of block 5"),
        "{swapped}"
    );
    let zeroed = error("rand-mix", |device| device.medium().bytes.fill(0));
    assert!(zeroed.contains("found zeros"), "{zeroed}");
    // sixteen writes load the device
    let lost = error("const-mix", |device| device.medium().lost = (20..40).collect());
    assert!(lost.contains("a write that was acknowledged is not there"), "{lost}");
}

#[test]
fn a_check_reads_every_block_and_only_where_it_is_asked_for() {
    let (workload, device) = loaded(&plan(), "seq-write");
    device.medium().bytes[65_535] ^= 1;
    let error = workload.check(target(&device)).unwrap_err().to_string();
    assert!(error.starts_with("offset 65535 of memory is not what was written"), "{error}");
    let (workload, device) = loaded(&Plan { verify: false, ..plan() }, "seq-write");
    device.medium().bytes.fill(0);
    workload.check(target(&device)).unwrap();
    run(&mut *workload.client(alone(0, 0)), target(&device), 64);
    run(
        &mut *make(&Plan { verify: false, ..plan() }, "rand-read").client(alone(0, 0)),
        target(&device),
        64,
    );
}

#[test]
fn what_does_not_fit_is_said_before_anything_is_written() {
    let refused = |plan: &Plan, target: Target<'_>| {
        make(plan, "seq-read").load(target, 0, 1, &|_| {}).unwrap_err().to_string()
    };
    let device = MemoryDevice::new(1 << 17);
    let small = refused(&Plan { bytes: 1 << 20, ..plan() }, target(&device));
    assert!(
        small.starts_with("memory has 131.1 kB, and the workloads would use 1.0 MB\nuse fewer"),
        "{small}"
    );
    let odd = refused(&Plan { block_bytes: 1_000, ..plan() }, target(&device));
    assert!(
        odd.starts_with("blocks of 1000 bytes do not fit memory: its sectors have 512 bytes\n"),
        "{odd}"
    );
    assert!(device.medium().done.is_empty());
    let records = refused(&plan(), (&MemoryStore::new()).into());
    assert_eq!(records, "loading needs a block device, which this store lacks");
}

#[test]
fn a_client_that_is_dropped_leaves_a_device_that_can_be_used() {
    let (workload, device) = loaded(&plan(), "rand-mix");
    run(&mut *workload.client(alone(0, 0)), target(&device), 10);
    run(&mut *workload.client(alone(0, 1)), target(&device), 64);
    let mut one = workload.client(Position { slices: 64, ..alone(0, 0) });
    run(&mut *one, target(&device), 1);
    assert_eq!(
        one.next(target(&device), &mut Names::default()).unwrap_err().to_string(),
        "no request is under way"
    );
}
