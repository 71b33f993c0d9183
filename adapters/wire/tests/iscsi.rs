//! A device over iSCSI on a real target: written data is read again, and one clear error for each
//! kind of failure.

use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_servers::{TGT_PROGRAM, Tgt, TgtOptions, start_tgt};
use sealstone_store::{Device, DeviceAccess, DeviceBuffer, DeviceQueue, DeviceRequest};
use sealstone_wire::iscsi::{Address, IscsiDevice, IscsiError, Options};

const BYTES: u64 = 8 << 20;

/// Returns a target, and its directory; prints SKIP where there is none.
fn target(name: &str, options: TgtOptions) -> Option<(Tgt, tempfile::TempDir)> {
    let skip =
        |reason: &str| println!("SKIP: {name}: {}", reason.lines().next().unwrap_or_default());
    if let Err(error) = TGT_PROGRAM.find(None) {
        skip(&error.to_string());
        return None;
    }
    // nothing listens there, so only the library can be missing
    let nowhere =
        IscsiDevice::open(&"iscsi://127.0.0.1:1/iqn.x/1".parse().unwrap(), &Options::default());
    if let Err(error @ IscsiError::NoLibrary { .. }) = nowhere {
        skip(&error.to_string());
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let target = start_tgt(dir.path(), TgtOptions { bytes: BYTES, ..options }).unwrap();
    Some((target, dir))
}

fn open(target: &Tgt) -> IscsiDevice {
    IscsiDevice::open(&target.uri().parse().unwrap(), &Options::default()).unwrap()
}

fn refused(address: &str) -> String {
    let options = Options { timeout_s: 5, ..Options::default() };
    IscsiDevice::open(&address.parse::<Address>().unwrap(), &options).unwrap_err().to_string()
}

fn request(access: DeviceAccess, offset: u64, tag: usize, length: usize) -> DeviceRequest {
    let mut buffer = DeviceBuffer::zeroed(length);
    buffer.iter_mut().enumerate().for_each(|(at, byte)| *byte = (tag * 31 + at * 7) as u8);
    DeviceRequest { access, offset, tag, buffer }
}

/// One request, alone.
fn ask(
    queue: &mut dyn DeviceQueue,
    access: DeviceAccess,
    offset: u64,
) -> Result<DeviceRequest, String> {
    queue
        .submit(request(access, offset, 1, 4_096))
        .and_then(|()| queue.complete())
        .map_err(|error| error.to_string())
}

#[test]
fn what_is_written_is_read_again_many_at_once() {
    let Some((target, _dir)) =
        target("what_is_written_is_read_again_many_at_once", TgtOptions::default())
    else {
        return;
    };
    let device = open(&target);
    assert_eq!((device.capacity_bytes(), device.sector_bytes()), (BYTES, 512));
    const BLOCK: usize = 65_536;
    for (round, access) in [DeviceAccess::Write, DeviceAccess::Read].into_iter().enumerate() {
        let mut queue = device.queue(16).unwrap();
        let mut done = 0;
        let mut next = 0;
        while done < 128 {
            while next < 128 && next - done < 16 {
                queue.submit(request(access, (next * BLOCK) as u64, next, BLOCK)).unwrap();
                next += 1;
            }
            if next < 128 {
                let full = queue.submit(request(access, 0, 0, BLOCK)).unwrap_err().to_string();
                assert_eq!(full, "the queue holds 16 requests already");
            }
            let back = queue.complete().unwrap();
            let as_written = request(access, 0, back.tag, BLOCK);
            assert!(
                back.offset == (back.tag * BLOCK) as u64
                    && back.buffer[..] == as_written.buffer[..],
                "{round}"
            );
            done += 1;
        }
        queue.flush().unwrap();
        assert_eq!(queue.complete().unwrap_err().to_string(), "no request is under way");
    }
    // the target's disk holds the written data, so the buffers are the requests' own
    let disk = std::fs::read(target.disk()).unwrap();
    assert!(
        (0..128).all(|tag| disk[tag * BLOCK..][..BLOCK]
            == request(DeviceAccess::Read, 0, tag, BLOCK).buffer[..])
    );
}

#[test]
fn queues_are_sessions_of_their_own_and_are_kept() {
    let Some((target, _dir)) =
        target("queues_are_sessions_of_their_own_and_are_kept", TgtOptions::default())
    else {
        return;
    };
    let device = open(&target);
    let sessions = || {
        let shown = target.tgtadm(&["--lld", "iscsi", "--op", "show", "--mode", "target"]).unwrap();
        shown.matches("I_T nexus:").count()
    };
    assert_eq!(sessions(), 1);
    let mut queues = [device.queue(4).unwrap(), device.queue(4).unwrap()];
    assert_eq!(sessions(), 2);
    // dropped with requests under way
    for queue in &mut queues {
        (0..4).for_each(|tag| {
            queue.submit(request(DeviceAccess::Write, tag * 4_096, tag as usize, 4_096)).unwrap()
        });
    }
    drop(queues);
    let mut again = device.queue(4).unwrap();
    ask(&mut *again, DeviceAccess::Read, 0).unwrap();
    assert_eq!(sessions(), 2, "no new one was made");
    drop(again);
    drop(device);
    assert_eq!(sessions(), 0, "all have said good-bye");
}

#[test]
fn what_cannot_be_opened_says_why() {
    let Some((target, _dir)) = target("what_cannot_be_opened_says_why", TgtOptions::default())
    else {
        return;
    };
    let uri = target.uri();
    let closed = refused("iscsi://127.0.0.1:1/iqn.2026-11.dev.sealstone:disk/1");
    assert!(
        closed.starts_with("cannot reach the iSCSI portal 127.0.0.1:1: Connection refused"),
        "{closed}"
    );
    let wrong = refused(&uri.replace(":disk", ":disc"));
    assert!(
        wrong.starts_with("cannot log in to iscsi://")
            && wrong.contains("check the name of the target"),
        "{wrong}"
    );
    let missing = refused(&uri.replace("disk/1", "disk/7"));
    assert!(
        missing.contains("disk/7: the target has no unit of this number\nsee which it has"),
        "{missing}"
    );
    let controller = refused(&uri.replace("disk/1", "disk/0"));
    assert!(
        controller.starts_with("cannot log in to iscsi://") || controller.contains("no unit"),
        "{controller}"
    );

    target
        .tgtadm(&[
            "--lld", "iscsi", "--op", "unbind", "--mode", "target", "--tid", "1", "-I", "ALL",
        ])
        .unwrap();
    target
        .tgtadm(&[
            "--lld", "iscsi", "--op", "bind", "--mode", "target", "--tid", "1", "-I", "10.9.9.9",
        ])
        .unwrap();
    let stranger = refused(&uri);
    assert!(stranger.starts_with("cannot log in to iscsi://"), "{stranger}");
}

#[test]
fn a_target_that_wants_a_password_gets_it() {
    let Some((target, _dir)) =
        target("a_target_that_wants_a_password_gets_it", TgtOptions::default())
    else {
        return;
    };
    let account = ["--lld", "iscsi", "--mode", "account", "--user", "ann"];
    target
        .tgtadm(&[&account[..], &["--op", "new", "--password", "geheimgeheim"]].concat())
        .unwrap();
    target.tgtadm(&[&account[..], &["--op", "bind", "--tid", "1"]].concat()).unwrap();
    let with = |login: &str| target.uri().replace("iscsi://", &format!("iscsi://{login}"));
    IscsiDevice::open(&with("ann%geheimgeheim@").parse().unwrap(), &Options::default()).unwrap();
    for wrong in [with("ann%falschfalsch@"), with("")] {
        let error = refused(&wrong);
        assert!(
            error.contains("\ncheck user and password") && !error.contains("falsch"),
            "{error}"
        );
    }
}

#[test]
fn a_unit_that_is_read_only_can_be_read() {
    let options = TgtOptions { read_only: true, ..TgtOptions::default() };
    let Some((target, _dir)) = target("a_unit_that_is_read_only_can_be_read", options) else {
        return;
    };
    let device = open(&target);
    let mut queue = device.queue(2).unwrap();
    ask(&mut *queue, DeviceAccess::Read, 0).unwrap();
    let error = ask(&mut *queue, DeviceAccess::Write, 4_096).unwrap_err();
    assert!(error.starts_with("cannot write 4096 bytes at offset 4096 of iscsi://"), "{error}");
    assert!(error.contains(": it is read-only\nmake it writable at the target"), "{error}");
}

#[test]
fn what_the_unit_lacks_is_an_error_with_its_place() {
    let Some((target, _dir)) =
        target("what_the_unit_lacks_is_an_error_with_its_place", TgtOptions::default())
    else {
        return;
    };
    let device = open(&target);
    let mut queue = device.queue(2).unwrap();
    let beyond = ask(&mut *queue, DeviceAccess::Read, BYTES).unwrap_err();
    assert!(
        beyond.contains(&format!("at offset {BYTES} of iscsi://"))
            && beyond.contains("it has 8388608"),
        "{beyond}"
    );
    // the disk below it loses its end
    OpenOptions::new().write(true).open(target.disk()).unwrap().set_len(4_096).unwrap();
    let lost = ask(&mut *queue, DeviceAccess::Read, 1 << 20).unwrap_err();
    assert!(
        lost.contains("at offset 1048576 of iscsi://")
            && lost.contains("its medium failed, or is full"),
        "{lost}"
    );
}

#[test]
fn a_target_that_goes_away_ends_what_is_under_way() {
    let Some((mut target, _dir)) =
        target("a_target_that_goes_away_ends_what_is_under_way", TgtOptions::default())
    else {
        return;
    };
    let device = open(&target);
    let mut queue = device.queue(8).unwrap();
    let pid = Pid::from_raw(target.pid().unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    (0..8).for_each(|tag| queue.submit(request(DeviceAccess::Read, 0, tag, 65_536)).unwrap());
    target.kill().unwrap();
    let begin = Instant::now();
    let gone = queue.complete().unwrap_err().to_string();
    assert!(gone.contains("the target is gone (") && gone.contains("iscsi://"), "{gone}");
    let again = queue.submit(request(DeviceAccess::Read, 0, 0, 4_096)).unwrap_err().to_string();
    assert!(again.contains("the target is gone"), "{again}");
    drop(queue);
    // an idle session has not noticed yet
    let next = device.queue(1).map_err(|error| error.to_string()).err();
    assert!(next.unwrap().starts_with("cannot reach the iSCSI portal 127.0.0.1:"));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}

#[test]
fn a_target_that_says_nothing_is_not_waited_for_forever() {
    let Some((target, _dir)) =
        target("a_target_that_says_nothing_is_not_waited_for_forever", TgtOptions::default())
    else {
        return;
    };
    let mut target = target;
    let options = Options { timeout_s: 1, ..Options::default() };
    let device = IscsiDevice::open(&target.uri().parse().unwrap(), &options).unwrap();
    let mut queue = device.queue(2).unwrap();
    kill(Pid::from_raw(target.pid().unwrap()), Signal::SIGSTOP).unwrap();
    let begin = Instant::now();
    let silent = ask(&mut *queue, DeviceAccess::Read, 0).unwrap_err();
    assert!(silent.contains("no answer in time\nsee whether the target still runs"), "{silent}");
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    kill(Pid::from_raw(target.pid().unwrap()), Signal::SIGCONT).unwrap();
}
