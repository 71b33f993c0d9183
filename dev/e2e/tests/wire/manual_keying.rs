//! `sealstone wire up --associations` with files from elsewhere: keys that must not seal are
//! refused before a packet leaves. Not here: keys from strongSwan (`wire_strongswan`) or the kernel
//! (`wire_kernel`), all forms of a text (`adapters/wire/tests/manual_keying.rs`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::{Uid, chown, mkfifo};

use crate::ends::{BACK_WITHIN, Ends, stderr};

/// Keys with their salts, for GCM.
const KEYS: [&str; 2] = [
    "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
    "0x303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f50515253",
];
/// The first key with another salt.
const OTHER_SALT: &str =
    "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212224";
/// For AES in CBC, with HMAC-SHA1.
const CBC: &str = "auth-trunc hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213 96
\tenc cbc(aes) 0x000102030405060708090a0b0c0d0e0f";

/// Returns an association as iproute2 6.1 prints it, with extended sequence numbers.
fn state(from: u8, to: u8, spi: u32, algorithms: &str) -> String {
    format!(
        "src 10.77.0.{from} dst 10.77.0.{to}
\tproto esp spi {spi:#010x} reqid 1 mode tunnel
\treplay-window 0 flag af-unspec esn
\t{algorithms}
\tencap type espinudp sport 4500 dport 4500 addr 0.0.0.0
\tanti-replay esn context:
\t seq-hi 0x0, seq 0x0, oseq-hi 0x0, oseq 0x0
\t replay_window 32, bitmap-length 1
\t 00000000 
\tsel src 0.0.0.0/0 dst 0.0.0.0/0 
"
    )
}

fn gcm(key: &str) -> String {
    format!("aead rfc4106(gcm(aes)) {key} 128")
}

/// Returns a pair between the two ends.
fn pair(algorithms: [&str; 2]) -> String {
    state(1, 2, 0xc100_0001, algorithms[0]) + &state(2, 1, 0xc200_0002, algorithms[1])
}

fn write(ends: &Ends, name: &str, text: &str) {
    let path = ends.dir.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Starts tunnel `name` of an end with `file`; records of how far keys have gone are in
/// `state_dir`.
fn up(ends: &Ends, end: usize, [name, file, state_dir]: [&str; 3], more: &[&str]) -> Output {
    let (_, four, _) = ends.of(end);
    let mut given =
        vec!["wire", "up", "--name", name, "--associations", file, "--state-dir", state_dir];
    if !more.contains(&"--address") {
        given.extend(["--address", &four]);
    }
    given.extend(more);
    ends.run(end, &given)
}

fn refused(output: &Output, words: &[&str]) {
    assert_eq!(output.status.code(), Some(2), "{}", stderr(output));
    for word in words {
        assert!(stderr(output).contains(word), "{word}:\n{}", stderr(output));
    }
}

#[test]
fn associations_of_iproute2_carry_packets_for_one_tunnel_alone() {
    let Some(ends) = Ends::new("associations_of_iproute2_carry_packets_for_one_tunnel_alone")
    else {
        return;
    };
    let text = pair([&gcm(KEYS[0]), &gcm(KEYS[1])]);
    write(&ends, "states", &text);
    for (end, name) in [(0, "one"), (1, "two")] {
        let output = up(&ends, end, [name, "states", name], &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!stderr(&output).contains("warning"), "{}", stderr(&output));
    }
    assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN), "{}", ends.events(0));
    // the same file, and a copy of it under another name
    write(&ends, "copy", &text);
    let elsewhere = ["--listen", "10.77.0.1:4501", "--address", "10.8.0.1/24"];
    for file in ["states", "copy"] {
        let second = up(&ends, 0, ["three", file, "one"], &elsewhere);
        refused(&second, &["another tunnel uses the same association: ", "end it first"]);
    }
    // where both ends are on one machine, and share the records of keys
    let other_end = up(
        &ends,
        1,
        ["three", "states", "one"],
        &["--listen", "10.77.0.2:4501", "--address", "10.8.0.2/24"],
    );
    refused(
        &other_end,
        &[
            "states: line 11: the key of association 0xc2000002 from 10.77.0.2 to 10.77.0.1 is to \
             seal here, and a tunnel of this machine opens by it",
            "give each a --state-dir of its own",
        ],
    );
    assert!(!ends.devices(0).contains(": three:") && !ends.devices(1).contains(": three:"));
    ends.down(0);
    ends.down(1);
    // nor once it has ended
    let other_end = up(&ends, 1, ["three", "states", "one"], &[]);
    refused(&other_end, &["is to seal here, and a tunnel of this machine opened by it"]);
    // the right way round it goes on
    assert!((0..2).all(|end| {
        up(&ends, end, [["one", "two"][end], "states", ["one", "two"][end]], &[]).status.success()
    }));
    assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN), "{}", ends.events(0));
    ends.down(0);
    ends.down(1);
}

#[test]
fn of_two_starts_at_once_one_has_the_key() {
    let Some(ends) = Ends::new("of_two_starts_at_once_one_has_the_key") else { return };
    write(&ends, "states", &pair([&gcm(KEYS[0]), &gcm(KEYS[1])]));
    fs::copy(ends.dir.path().join("states"), ends.dir.path().join("copy")).unwrap();
    for round in 0..5 {
        let outputs = std::thread::scope(|scope| {
            let starts = [
                ("one", "states", ":4500", "10.9.0.1/24"),
                ("two", "copy", ":4501", "10.8.0.1/24"),
            ];
            let started = starts.map(|(name, file, port, address)| {
                let ends = &ends;
                scope.spawn(move || {
                    let listen = format!("10.77.0.1{port}");
                    let given = [
                        "wire",
                        "up",
                        "--name",
                        name,
                        "--associations",
                        file,
                        "--state-dir",
                        "state",
                    ];
                    ends.run(
                        0,
                        &[&given[..], &["--listen", &listen, "--address", address]].concat(),
                    )
                })
            });
            started.map(|start| start.join().unwrap())
        });
        let started = outputs.iter().filter(|output| output.status.success()).count();
        assert_eq!(started, 1, "round {round}: {}{}", stderr(&outputs[0]), stderr(&outputs[1]));
        for (name, output) in ["one", "two"].into_iter().zip(&outputs) {
            if output.status.success() {
                assert!(ends.run(0, &["wire", "down", name, "--remove-guard"]).status.success());
            } else {
                assert!(
                    stderr(output).contains("another tunnel uses the same association"),
                    "{}",
                    stderr(output)
                );
            }
        }
    }
}

#[test]
fn one_key_is_for_one_direction_and_one_peer() {
    let Some(ends) = Ends::new("one_key_is_for_one_direction_and_one_peer") else { return };
    let [first, second] = KEYS.map(gcm);
    let to_another = pair([&first, &second])
        + &state(1, 3, 0xc300_0003, &first)
        + &state(3, 1, 0xc400_0004, &second);
    let anew = pair([&first, &second]) + &state(1, 2, 0xc500_0005, &first);
    for (text, lines, pair_of) in [
        (
            pair([&first, &first]),
            "line 1 and line 11",
            "0xc1000001 from 10.77.0.1 to 10.77.0.2 and 0xc2000002",
        ),
        (to_another, "line 1 and line 21", "0xc1000001 from 10.77.0.1 to 10.77.0.2 and 0xc3000003"),
        (anew, "line 1 and line 21", "0xc1000001 from 10.77.0.1 to 10.77.0.2 and 0xc5000005"),
    ] {
        write(&ends, "states", &text);
        let output = up(&ends, 0, ["one", "states", "state"], &[]);
        refused(
            &output,
            &["states: ", lines, pair_of, "same key and salt", "agree on new associations"],
        );
        assert!(!ends.devices(0).contains(": one:"));
        assert!(!ends.dir.path().join("state").exists(), "nothing was recorded of keys");
    }
    let mirrored = state(1, 2, 0xc100_0001, CBC) + &state(2, 1, 0xc100_0001, CBC);
    write(&ends, "states", &mirrored);
    let output = up(&ends, 0, ["one", "states", "state"], &[]);
    refused(
        &output,
        &["line 1 and line 12", "the same index and the same keys", "sent back to it"],
    );

    // another salt makes other nonces; CBC draws its initialisation vectors, and reports the cost
    // of a single key
    let cases = [
        (pair([&first, &gcm(OTHER_SALT)]), true),
        (pair([CBC, CBC]), true),
        (pair([CBC, &first]), false),
    ];
    for (at, (text, is_carried)) in cases.into_iter().enumerate() {
        write(&ends, "states", &text);
        let states = [0, 1].map(|end| format!("state{at}{end}"));
        for end in [0, 1] {
            let name = ["one", "two"][end];
            let output = up(&ends, end, [name, "states", &states[end]], &[]);
            assert!(output.status.success(), "{}", stderr(&output));
            assert_eq!(
                stderr(&output).contains("warning: both directions have one key"),
                at == 1,
                "{}",
                stderr(&output)
            );
        }
        if is_carried {
            assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN), "{}", ends.events(0));
        }
        (0..2).for_each(|end| ends.down(end));
    }
}

#[test]
fn a_file_that_is_not_this_user_s_alone_is_refused() {
    let Some(ends) = Ends::new("a_file_that_is_not_this_user_s_alone_is_refused") else { return };
    write(&ends, "states", &pair([&gcm(KEYS[0]), &gcm(KEYS[1])]));
    let path = ends.dir.path().join("states");
    for mode in [0o644, 0o640, 0o602] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let output = up(&ends, 0, ["one", "states", "state"], &[]);
        let want = format!("states has keys in the clear, and others may use it (mode {mode:04o})");
        refused(&output, &[&want, "chmod 600 states", "agree on new associations"]);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if Uid::effective().is_root() {
        chown(&path, Some(Uid::from_raw(65_534)), None).unwrap();
        refused(
            &up(&ends, 0, ["one", "states", "state"], &[]),
            &["states belongs to user 65534", "chown 0 states"],
        );
    }
    // nothing is waited for that nobody writes
    mkfifo(&ends.dir.path().join("pipe"), Mode::S_IRWXU).unwrap();
    let since = Instant::now();
    refused(
        &up(&ends, 0, ["one", "pipe", "state"], &[]),
        &["pipe is a FIFO (a pipe), and associations are read from a file"],
    );
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    refused(&up(&ends, 0, ["one", "run", "state"], &[]), &["run is a directory"]);
    refused(
        &up(&ends, 0, ["one", "/dev/zero", "state"], &[]),
        &["/dev/zero is a character device"],
    );
    assert!(!ends.dir.path().join("state").exists() && !ends.devices(0).contains(": one:"));
}
