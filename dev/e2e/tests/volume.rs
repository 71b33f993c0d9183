//! Sealed volumes by the command: made, mounted, copied, grown, rotated and checked, and what is
//! left after the process that serves one was killed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_e2e::promtool;
use sealstone_e2e::transcript::{plain, run};
use sealstone_e2e::volume_place::{VolumePlace, holds, is_skipped, tool};
use sealstone_servers::testing::{SmallDisk, reachable};

/// Kills of the process that serves a volume; `SEALSTONE_KILLS` overrides it.
const KILLS: u64 = 12;

fn place(cipher: &str) -> VolumePlace {
    VolumePlace::new(tempfile::tempdir().unwrap(), cipher, "256MiB")
}

/// A user without root reads which two steps need it, and who does them then.
#[test]
fn without_root_the_steps_that_need_it_are_named() {
    const NOBODY: u32 = 65534;
    let home = reachable();
    let dir = home.path();
    // a program in a home directory that others may not enter
    let program = dir.join("sealstone");
    let built = sealstone_e2e::binary::sealstone();
    if fs::hard_link(built, &program).is_err() {
        fs::copy(built, &program).unwrap();
    }
    let commands = [
        "attach vol --key k.key",
        "mount vol m --key k.key",
        "create vol --size 64MiB --key k.key --from m",
        "unseal vol --key k.key --out clear",
        "unmount m",
        "freeze vol",
    ];
    for command in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        let mut command = plain(&program, dir, &[&["volume"], &arguments[..]].concat());
        if nix::unistd::geteuid().is_root() {
            // it could write there
            chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY);
        }
        run(&mut command).fails_with(
            "sealstone: two steps need root: losetup makes a block device of the volume, and \
             mount mounts it\n  \
             run it with sudo, or let systemd do it: sealstone volume unit DIR PATH --key KEY\n",
        );
    }
    assert_eq!(fs::read_dir(dir).unwrap().count(), 1, "the program alone");
}

#[test]
fn a_volume_is_mounted_copied_grown_rotated_and_whole() {
    let place = place("aria-256");
    if !place.mounts_new("a_volume_is_mounted_copied_grown_rotated_and_whole") {
        return;
    }
    let status = place.status();
    assert_eq!((&status["attached"], &status["cipher"]), (&"served".into(), &"aria-256".into()));
    assert_eq!(status["mounts"][0], place.at("m").to_str().unwrap());
    keeps_its_memory_out_of_swap(place.process().as_raw());
    let marker = b"the marker of a table, and not of anything else";
    for number in 0..40 {
        let mut file = File::create(place.at(&format!("m/table-name-{number}"))).unwrap();
        file.write_all(&marker.repeat(2000)).unwrap();
        file.sync_all().unwrap();
    }
    place.verify().fails_with(
        "sealstone: cannot verify vol: in use: another process has it open\n  \
         detach it there first\n",
    );
    place.volume(&["detach", "vol"]).fails_with(&format!(
        "sealstone: vol: {0} is mounted from it\n  \
         end what uses it, then: sealstone volume unmount {0}\n",
        place.at("m").display()
    ));

    place.volume(&["freeze", "vol"]).done();
    tool("cp", &["-a", place.at("vol").to_str().unwrap(), place.at("copy").to_str().unwrap()]);
    place.volume(&["freeze", "vol", "--thaw"]).done();
    let copied = place.sealstone(&["volume", "verify", "copy", "--key", "k.key"]).done();
    assert!(copied.starts_with("copy is whole: "), "{copied}");
    place.volume(&["grow", "vol", "--size", "320MiB"]).done();
    let device = place.status()["devices"][0].as_str().unwrap().to_owned();
    assert_eq!(tool("blockdev", &["--getsize64", &device]).trim(), (320u64 << 20).to_string());
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    place.sealstone(&["volume", "rotate", "vol", "--key", "k.key"]).done();
    assert_eq!(place.status()["key_version"], 2);

    place.volume(&["unmount", "m"]).done();
    assert_eq!(place.status()["attached"], "no");
    for leak in [&marker[..], b"table-name-7"] {
        assert!(!holds(&place.at("vol"), leak), "{}", String::from_utf8_lossy(leak));
        assert!(!holds(&place.at("copy"), leak), "{}", String::from_utf8_lossy(leak));
    }
    assert!(place.verify().done().starts_with("vol is whole: "));
    place.mount(&[]).done();
    for number in 0..40 {
        let found = fs::read(place.at(&format!("m/table-name-{number}"))).unwrap();
        assert_eq!(found, marker.repeat(2000));
    }
    place.volume(&["unmount", "m"]).done();

    // one byte anywhere that is used is found by the check
    let data = place.at("vol/sealstone.data");
    let mut bytes = fs::read(&data).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[used] ^= 1;
    fs::write(&data, bytes).unwrap();
    let damaged = place.verify();
    assert_eq!(damaged.code, Some(1), "{}", damaged.stderr);
    assert!(damaged.stdout.contains("failed authentication"), "{}", damaged.stdout);
}

/// A file system's discards come through the loop device and FUSE: what was there is zeros then,
/// and its space is the disk's again.
#[test]
fn what_is_trimmed_is_zeros_and_takes_no_space() {
    let place = place("lea-256");
    if !place.mounts_new("what_is_trimmed_is_zeros_and_takes_no_space") {
        return;
    }
    let at = place.at("m");
    let at = at.to_str().unwrap();
    let marker = b"the marker of a file that goes, ";
    let kept = b"and that of one that stays, ".repeat(100_000);
    for (name, content) in [("gone", marker.repeat(2 << 20)), ("kept", kept.clone())] {
        let mut file = File::create(place.at("m").join(name)).unwrap();
        file.write_all(&content).unwrap();
        file.sync_all().unwrap();
    }
    let taken = || fs::metadata(place.at("vol/sealstone.data")).unwrap().blocks() * 512;
    // detaching puts the log in place
    place.volume(&["unmount", "m"]).done();
    let before = taken();
    place.mount(&[]).done();
    fs::remove_file(place.at("m/gone")).unwrap();
    tool("sync", &["-f", at]);
    tool("fstrim", &[at]);
    place.unmount();
    let device = place.status()["devices"][0].as_str().unwrap().to_owned();
    let found = memchr::memmem::find(&fs::read(device).unwrap(), marker);
    assert_eq!(found, None, "still there");
    place.is_whole();
    let after = taken();
    assert!(after + (60 << 20) < before, "{after} bytes of {before}");
    place.mount(&[]).done();
    assert!(fs::read(place.at("m/kept")).unwrap() == kept);
    place.volume(&["unmount", "m"]).done();
}

/// The other file system that `--mkfs` accepts: after a kill of the process below it, and on a
/// device that grew.
#[test]
fn a_volume_with_xfs_is_mounted_recovered_and_grown() {
    let test = "a_volume_with_xfs_is_mounted_recovered_and_grown";
    if std::process::Command::new("mkfs.xfs").arg("-V").output().is_err() {
        return println!("SKIP: {test}: no mkfs.xfs here: install it with: sh dev/setup.sh xfs");
    }
    // xfs takes 300 MiB at least
    let place = VolumePlace::new(tempfile::tempdir().unwrap(), "aria-256", "384MiB");
    let mounted = place.mount(&["--mkfs", "xfs"]);
    if is_skipped(test, &mounted) {
        return;
    }
    mounted.done();
    let at = place.at("m");
    let at = at.to_str().unwrap();
    let room = || tool("stat", &["-f", "-c", "%T %b", at]).trim().to_owned();
    let before = room();
    let blocks = |room: &str| -> u64 { room.strip_prefix("xfs ").unwrap().parse().unwrap() };
    assert!(blocks(&before) > 0, "{before}");
    let text = |number: usize| format!("file {number} of a volume\n").repeat(5000);
    let write = |numbers: std::ops::Range<usize>| {
        for number in numbers {
            let mut file = File::create(place.at(&format!("m/{number}"))).unwrap();
            file.write_all(text(number).as_bytes()).unwrap();
            file.sync_all().unwrap();
        }
    };
    write(0..20);
    place.kill();
    let seen = place.sealstone(&["status", "vol", "--runtime-dir", "run", "--prometheus"]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("the process that served it is gone"), "{}", seen.stderr);
    assert!(promtool::sample(&seen.stdout, "sealstone_scrape_success", &[]).abs() < 1e-9);
    place.unmount();
    // one that is there is not written over
    let again = place.mount(&["--mkfs", "xfs"]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("existing filesystem"), "{}", again.stderr);
    place.mount(&[]).done();
    place.volume(&["grow", "vol", "--size", "512MiB"]).done();
    tool("xfs_growfs", &[at]);
    assert!(blocks(&room()) > blocks(&before), "{} after {before}", room());
    write(20..40);
    for number in 0..40 {
        let found = fs::read_to_string(place.at(&format!("m/{number}"))).unwrap();
        assert_eq!(found, text(number), "{number}");
    }
    place.unmount();
    let device = place.status()["devices"][0].as_str().unwrap().to_owned();
    tool("xfs_repair", &["-n", &device]);
    place.volume(&["detach", "vol"]).done();
    assert!(place.verify().done().starts_with("vol is whole: "));
    assert!(!holds(&place.at("vol"), b" of a volume\n"));
}

/// With an anchor, which an older copy of everything is older than.
#[test]
fn an_older_copy_of_an_anchored_volume_is_not_mounted() {
    let place = place("lea-128");
    let anchored = ["--anchor", "pg.anchor"];
    let verify = |dir: &str| {
        place.sealstone(&["volume", "verify", dir, "--key", "k.key", "--anchor", "pg.anchor"])
    };
    let said = verify("vol").done();
    assert!(said.contains("the anchor pg.anchor remembers this state from now on: 1.0"), "{said}");
    place.sealstone(&["volume", "verify", "vol", "--key", "k.key", "--anchor", "vol/a"]).fails_with(
        "sealstone: the anchor vol/a is in the store itself, and would be rolled back with it\n  \
         give a file on other storage\n",
    );
    let unit = ["volume", "unit", "vol", "m", "--key", "k.key"];
    let unit = place.sealstone(&[&unit[..], &anchored].concat()).done();
    let absolute = place.at("pg.anchor").display().to_string();
    assert!(unit.contains(&format!(" --anchor {absolute}")), "{unit}");
    if !place.mounts_new("an_older_copy_of_an_anchored_volume_is_not_mounted") {
        return;
    }
    place.volume(&["unmount", "m"]).done();
    let said = verify("vol").done();
    assert!(said.contains("newer than the anchor pg.anchor remembered: "), "{said}");
    tool("cp", &["-a", place.at("vol").to_str().unwrap(), place.at("older").to_str().unwrap()]);
    place
        .mount(&["--log", "m"])
        .fails_with("sealstone: cannot open m: Is a directory (os error 21)\n");
    place.mount(&[&anchored[..], &["--log", "v.log"]].concat()).done();
    let served = &place.status()["served"];
    assert_eq!(served["anchored_generation"], served["generation"]);
    assert!(place.volume(&["status", "vol"]).done().contains("\nthe anchor remembers generation "));
    // what fails is in the log
    fs::rename(place.at("pg.anchor"), place.at("kept")).unwrap();
    fs::create_dir(place.at("pg.anchor")).unwrap();
    fs::write(place.at("m/file"), "text").unwrap();
    let frozen = place.volume(&["freeze", "vol"]);
    assert_eq!(frozen.code, Some(2), "{}", frozen.stderr);
    fs::remove_dir(place.at("pg.anchor")).unwrap();
    fs::rename(place.at("kept"), place.at("pg.anchor")).unwrap();
    // and in the state, with its age
    let failure_s = || {
        let served = place.status()["served"].clone();
        let said = served["last_failure"].as_str().unwrap();
        assert!(said.contains("pg.anchor"), "{said}");
        served["last_failure_s"].as_u64().unwrap()
    };
    let first = failure_s();
    std::thread::sleep(Duration::from_millis(2100));
    let (later, said) = (failure_s(), place.volume(&["status", "vol"]).done());
    assert!((first + 2..first + 60).contains(&later), "{later} s after {first} s");
    let told = said.lines().find_map(|line| line.strip_prefix("last failure, ")).unwrap();
    let (age, failure) = told.split_once(" s ago: ").unwrap();
    let age: u64 = age.parse().unwrap();
    assert!((later..later + 60).contains(&age) && failure.contains("pg.anchor"), "{told}");
    let log = fs::read_to_string(place.at("v.log")).unwrap();
    let is_told = |line: &str| line.starts_with("20") && line.contains("Z vol: ");
    assert!(log.lines().all(is_told) && log.contains("pg.anchor"), "{log}");
    assert_eq!(fs::metadata(place.at("v.log")).unwrap().permissions().mode() & 0o777, 0o600);
    place.volume(&["unmount", "m"]).done();
    assert_eq!(verify("vol").code, Some(0));

    fs::rename(place.at("vol"), place.at("newest")).unwrap();
    fs::rename(place.at("older"), place.at("vol")).unwrap();
    let refused = place.mount(&anchored);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("older than its anchor pg.anchor remembers"), "{refused:?}");
    let found = verify("vol");
    assert_eq!(found.code, Some(1), "{}", found.stderr);
    assert!(found.stdout.starts_with("vol is not as it was sealed: 1 failure\n"), "{found:?}");
}

/// Each line is synced before the next one, as a log of a database is.
#[test]
fn a_killed_process_loses_nothing_that_was_synced() {
    let place = place("aes-256");
    if !place.mounts_new("a_killed_process_loses_nothing_that_was_synced") {
        return;
    }
    let kills = std::env::var("SEALSTONE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut random = SmallRng::seed_from_u64(11);
    let mut acknowledged: u64 = 0;
    for round in 0..kills {
        let log = fs::OpenOptions::new().create(true).append(true).open(place.at("m/log")).unwrap();
        let writer = std::thread::spawn(move || {
            let mut log = log;
            let mut line = acknowledged;
            while log.write_all(format!("{line:020}\n").as_bytes()).is_ok()
                && log.sync_data().is_ok()
            {
                line += 1;
            }
            line
        });
        std::thread::sleep(Duration::from_millis(random.random_range(1..400)));
        place.kill();
        let synced = writer.join().unwrap();
        place.unmount();
        place.mount(&[]).done();
        let found = fs::read_to_string(place.at("m/log")).unwrap();
        let lines = found.lines().count() as u64;
        // one more may have reached the disk before its sync failed
        assert!((synced..=synced + 1).contains(&lines), "round {round}: {lines} of {synced}");
        let numbered = found.lines().zip(0u64..).all(|(line, number)| line.parse() == Ok(number));
        assert!(numbered, "round {round}: {found}");
        acknowledged = lines;
    }
    assert!(acknowledged > kills, "{acknowledged}");
    place.unmount();
    place.is_whole();
}

#[test]
fn mistakes_are_said_and_change_nothing() {
    let place = place("aes-256");
    let create = |dir: &str, more: &[&str]| {
        let base = ["volume", "create", dir, "--key", "k.key"];
        place.sealstone(&[&base[..], more].concat())
    };
    create("vol", &["--size", "1GiB"]).fails_with(
        "sealstone: cannot make a volume in vol: there is a volume already: sealstone.volume\n  \
         name an empty directory, or remove that volume if nobody needs it\n",
    );
    let said = create("other", &["--size", "1000"]).stderr;
    assert!(said.contains("a device of 1000 bytes; a device has 4096 to 17592186044416"), "{said}");
    let said = create("other", &["--size", "1GiB", "--block", "5000"]).stderr;
    assert!(said.contains("blocks of 5000 bytes"), "{said}");
    place.sealstone(&["volume", "status", "m"]).fails_with(
        "sealstone: m: no volume here: sealstone.volume is missing\n  \
         name a directory that sealstone volume create made\n",
    );
    // a volume is no collection of sealed files, and its key is in use
    for command in [&["status", "vol"][..], &["verify", "vol", "--key", "k.key"]] {
        let said = place.sealstone(&[&["rest"], command].concat());
        said.fails_with(
            "sealstone: no RocksDB store in vol: it is a sealed volume\n  \
             see what is sealed in it with: sealstone volume status vol\n",
        );
    }
    let header = place.at("vol/sealstone.volume");
    let before = std::fs::read(&header).unwrap();
    let version = place.status()["key_version"].to_string();
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let retire = ["keys", "retire", "k.key", "--version", &version, "--store", "vol"];
    let kept = place.sealstone(&retire);
    assert_eq!(kept.code, Some(1), "{kept:?}");
    assert!(kept.stderr.contains("1 volume is still under it in vol"), "{}", kept.stderr);
    assert!(kept.stderr.contains("sealstone volume rotate vol --key k.key"), "{}", kept.stderr);
    place.sealstone(&["volume", "rotate", "vol", "--key", "k.key"]).done();
    // a copy of the header that a rotation did not come to
    let now = std::fs::read(&header).unwrap();
    std::fs::write(&header, [&now[..4096], &before[4096..8192], &now[8192..]].concat()).unwrap();
    let kept = place.sealstone(&retire);
    assert_eq!(kept.code, Some(1), "{}", kept.stderr);
    std::fs::write(&header, now).unwrap();
    place.sealstone(&retire).done();
    place.sealstone(&["keys", "new", "wrong.key"]).done();
    let said = place.sealstone(&["volume", "verify", "vol", "--key", "wrong.key"]);
    assert_eq!(said.code, Some(2), "{}", said.stdout);
    place.volume(&["detach", "vol"]).fails_with("sealstone: vol is not attached\n");
    place.volume(&["grow", "vol", "--size", "1GiB"]).fails_with(
        "sealstone: vol is not attached\n  \
         attach it first: sealstone volume attach vol --key KEY\n",
    );
    assert!(place.verify().done().starts_with("vol is whole: "));
    let unit = place.sealstone(&["volume", "unit", "vol", "m", "--key", "k.key"]).done();
    assert!(unit.contains("BindsTo=sealstone-volume.service"), "{unit}");
}

/// All of its memory is locked, where this user may do that.
fn keeps_its_memory_out_of_swap(process: i32) {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap()
    };
    let kib = |name: &str| field(name).parse::<u64>().unwrap();
    if u64::from_str_radix(field("CapEff:"), 16).unwrap() & CAP_IPC_LOCK != 0 {
        let (locked, all) = (kib("VmLck:"), kib("VmSize:"));
        assert!(locked * 2 > all, "{locked} of {all} KiB");
    }
}

#[test]
fn systemd_takes_the_unit_of_a_volume() {
    let version = std::process::Command::new("systemd-analyze").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return println!("SKIP: systemd_takes_the_unit_of_a_volume: no systemd-analyze here");
    }
    let place = place("aria-256");
    let unit = |path: &str| {
        let unit = place.sealstone(&["volume", "unit", "vol", path, "--key", "k.key"]).done();
        fs::write(place.at("sealstone-volume.service"), &unit).unwrap();
        (unit, verified(&place))
    };
    let (text, said) = unit("/srv/a place of 100% pure data");
    // messages about other units of this machine do not matter
    assert!(!said.contains("sealstone-volume"), "{said}");
    assert!(text.contains("'/srv/a place of 100%% pure data'"), "{text}");
    // and it would not take whatever it is given
    fs::write(place.at("sealstone-volume.service"), text.replace("Type=", "Tipe=")).unwrap();
    let said = verified(&place);
    assert!(said.contains("Tipe"), "{said}");
}

/// Returns what systemd reports about the unit there.
fn verified(place: &VolumePlace) -> String {
    let unit = place.at("sealstone-volume.service");
    let mut command = std::process::Command::new("systemd-analyze");
    let output = command.arg("verify").arg(unit).output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The disk below a volume is full: what was synced stays, the rest is refused, and with more room
/// everything goes on.
#[test]
fn a_full_disk_below_a_volume_loses_nothing_that_was_synced() {
    let test = "a_full_disk_below_a_volume_loses_nothing_that_was_synced";
    let place = VolumePlace::without_volume(tempfile::tempdir().unwrap());
    let small = match SmallDisk::mount(&place.at("vol"), "size=600m,mode=0700") {
        Ok(small) => small,
        Err(why) => return println!("SKIP: {test}: no small disk: {why}"),
    };
    place.volume(&["create", "vol", "--size", "1GiB", "--key", "k.key"]).done();
    if !place.mounts_new(test) {
        return;
    }
    let content =
        |number: usize| [format!("file {number}\n").into_bytes(), vec![7; 4 << 20]].concat();
    let write = |number: usize| -> std::io::Result<()> {
        let mut file = File::create(place.at(&format!("m/{number}")))?;
        file.write_all(&content(number))?;
        file.sync_all()
    };
    let mut kept = 0;
    let refused = loop {
        match write(kept) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 200, "a disk of 600 MiB takes everything");
    };
    println!("{kept} files, then: {refused}");
    assert!(kept > 20, "{kept}");
    place.unmount();
    place.volume(&["detach", "vol"]).done();
    tool("mount", &["-o", "remount,size=1200m", small.path().to_str().unwrap()]);
    place.mount(&[]).done();
    for number in 0..kept {
        let found = fs::read(place.at(&format!("m/{number}"))).unwrap();
        assert!(found == content(number), "file {number}");
    }
    write(kept).unwrap();
    place.unmount();
    place.is_whole();
    drop(small);
}
