//! `sealstone wire`: two tunnels in two network namespaces with a link between them, as their users
//! see them. They are started, ended and killed; another count is set by `SEALSTONE_WIRE_STARTS`
//! and `SEALSTONE_WIRE_KILLS`. Not here: the path (`adapters/wire/tests`), and effects of networks
//! on the exchange of keys (its simulation).

mod ends;
mod guard;
mod manual_keying;

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use sealstone_e2e::binary;
use sealstone_e2e::kmip_server::{Certificates, Kind, Server};
use sealstone_servers::testing::SmallDisk;
use sealstone_wire::WireError;
use serde_json::Value;

use self::ends::{BACK_WITHIN, Ends, stderr};

fn number(variable: &str, usual: u32) -> u32 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn data_pass_and_status_says_so() {
    let Some(ends) = Ends::new("data_pass_and_status_says_so") else { return };
    for end in [0, 1] {
        let output = ends.up(end, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("to end it: sealstone wire down"), "{}", stderr(&output));
    }
    assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN), "{}", ends.events(0));
    assert!(ends.passes("[fd00:9::2]:7002", BACK_WITHIN), "{}", ends.events(0));
    for end in [0, 1] {
        let status = ends.status(end);
        assert_eq!(
            (status["state"].as_str(), status["suite"].as_str()),
            (Some("up"), Some("aes-256-gcm"))
        );
        assert_eq!(
            (status["session"]["key"].as_str(), status["session"]["key_version"].as_u64()),
            (Some("wire"), Some(1))
        );
        for counter in ["packets_in", "packets_out", "bytes_in", "bytes_out"] {
            assert!(status["traffic"][counter].as_u64().unwrap() > 50, "{status}");
        }
    }
    let text = ends.run(0, &["wire", "status"]);
    assert!(text.status.success());
    let text = String::from_utf8(text.stdout).unwrap();
    for words in [
        "one: up\n",
        "two: up\n",
        "suite       aes-256-gcm",
        "guard       nothing goes to 10.9.0.0/24, fd00:9::/64 without the tunnel\n",
        "key         wire version 1",
        "up: handshake with 10.77.0.",
    ] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    // once more, under the same name
    let again = ends.up(0, &[]);
    assert!(
        stderr(&again).starts_with("sealstone: tunnel one is up already, process "),
        "{}",
        stderr(&again)
    );
    assert_eq!(again.status.code(), Some(2));
    ends.down(0);
    let until = Instant::now() + BACK_WITHIN;
    while !ends.events(1).contains("taken down") {
        assert!(Instant::now() < until, "{}", ends.events(1));
    }
    ends.down(1);
    assert!(
        (0..2)
            .all(|end| !ends.devices(end).contains(": one:")
                && !ends.devices(end).contains(": two:"))
    );
    let left: Vec<_> = std::fs::read_dir(ends.dir.path().join("run")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let none = ends.run(0, &["wire", "down", "one"]);
    assert_eq!(
        stderr(&none),
        "sealstone: no tunnel one is up\n  start it with: sealstone wire up\n"
    );
}

#[test]
fn what_does_not_match_is_said_and_nothing_passes() {
    let Some(ends) = Ends::new("what_does_not_match_is_said_and_nothing_passes") else { return };
    let cases: [(&[&str], &str); 4] = [
        (&["--key", "other/wire.key"], "names key wire version 1 and was not made with it"),
        (&["--key", "other.key"], "the other end has key "),
        (&["--suite", "3des-md5"], "the other end has suite "),
        (&["--key", "newer.key"], "only version"),
    ];
    std::fs::create_dir(ends.dir.path().join("other")).unwrap();
    for (file, id) in [("other/wire.key", "wire"), ("other.key", "other")] {
        assert!(ends.run(0, &["keys", "new", file, "--id", id]).status.success());
    }
    std::fs::copy(ends.dir.path().join("wire.key"), ends.dir.path().join("newer.key")).unwrap();
    assert!(ends.run(0, &["keys", "rotate", "newer.key"]).status.success());
    assert!(ends.up(0, &[]).status.success());
    for (differs, want) in cases {
        let (name, four, _) = ends.of(1);
        let peer = ends.links.address(0, false).to_string();
        let mut given = vec!["wire", "up", "--peer", &peer, "--name", name, "--address", &four];
        if !differs.contains(&"--key") {
            given.extend(["--key", "wire.key"]);
        }
        given.extend(differs);
        let output = ends.run(1, &given);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(
            stderr(&output).contains("warning: suite 3des-md5: "),
            differs.contains(&"3des-md5")
        );
        let until = Instant::now() + BACK_WITHIN;
        while !ends.events(0).contains(want) {
            assert!(Instant::now() < until, "{want}:\n{}", ends.events(0));
            std::thread::sleep(Duration::from_millis(20));
        }
        // a newer version is no reason not to use the common version
        let version_alone = differs.contains(&"newer.key");
        assert_eq!(
            ends.passes("10.9.0.2:7001", Duration::from_secs(if version_alone { 5 } else { 1 })),
            version_alone
        );
        if !version_alone {
            let status = ends.status(0);
            assert_eq!(
                (status["traffic"]["packets_in"].as_u64(), &status["session"]),
                (Some(0), &Value::Null)
            );
        }
        ends.down(1);
    }
}

#[test]
fn a_killed_end_is_back_and_leaves_nothing() {
    let Some(ends) = Ends::new("a_killed_end_is_back_and_leaves_nothing") else { return };
    assert!((0..2).all(|end| ends.up(end, &[]).status.success()));
    assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN));
    for round in 0..number("SEALSTONE_WIRE_KILLS", 50) {
        let end = round as usize % 2;
        let (name, _, _) = ends.of(end);
        let pid = ends.status(end)["pid"].to_string();
        assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        let until = Instant::now() + BACK_WITHIN;
        while ends.devices(end).contains(&format!(": {name}:")) {
            assert!(Instant::now() < until, "the device of a killed process stays");
        }
        let started = Instant::now();
        let output = ends.up(end, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            ends.passes("10.9.0.2:7001", BACK_WITHIN),
            "{}\n{}",
            ends.events(0),
            ends.events(1)
        );
        assert!(started.elapsed() < BACK_WITHIN, "back after {:?}", started.elapsed());
        assert!(
            ends.events(1 - end).contains("the other end started again"),
            "{}",
            ends.events(1 - end)
        );
    }
    // leftovers of a kill are removed by the next query
    let pid = ends.status(0)["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let until = Instant::now() + BACK_WITHIN;
    while ends.run(0, &["wire", "status", "one"]).status.success() && Instant::now() < until {}
    let output = ends.run(0, &["wire", "down", "one", "--remove-guard"]);
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("its process had been killed"),
        "{}",
        stderr(&output)
    );
    ends.down(1);
    assert!(std::fs::read_dir(ends.dir.path().join("run")).unwrap().next().is_none());
}

#[test]
fn starts_and_ends_leave_nothing() {
    let Some(ends) = Ends::new("starts_and_ends_leave_nothing") else { return };
    for _ in 0..number("SEALSTONE_WIRE_STARTS", 100) {
        assert!((0..2).all(|end| ends.up(end, &["--route", "10.20.0.0/16"]).status.success()));
        (0..2).for_each(|end| ends.down(end));
        assert!(
            (0..2).all(|end| !ends.devices(end).contains(&format!(": {}:", ends.of(end).0))),
            "{}",
            ends.devices(0)
        );
    }
    assert!(std::fs::read_dir(ends.dir.path().join("run")).unwrap().next().is_none());
}

#[test]
fn errors_say_what_to_do() {
    let Some(ends) = Ends::new("errors_say_what_to_do") else { return };
    let held = ends.links.ends[0].run(|| {
        std::net::UdpSocket::bind("0.0.0.0:4501")
            .map_err(|found| WireError::Path { attempted: "bind", found })
    });
    let _held = held.unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["--suite", "aes-256-gmc"], "unknown suite \"aes-256-gmc\"; did you mean aes-256-gcm?"),
        (&["--key", "none.key"], "no key file at none.key"),
        (&["--peer", "no-such-host.invalid"], "cannot find the other end no-such-host.invalid: "),
        (
            &["--peer", "fd77::2"],
            "cannot be reached from 0.0.0.0:4500: one is IPv4, the other IPv6",
        ),
        (&["--listen", ":4501"], "UDP port 4501 is in use"),
        (
            &["--address", "10.77.0.1/24"],
            "address 10.77.0.1/24 is on this machine already: device link0 has it",
        ),
    ];
    for (differs, want) in cases {
        let mut given = vec!["wire", "up", "--name", "one"];
        let usual = [("--key", "wire.key"), ("--address", "10.9.0.1/24"), ("--peer", "10.77.0.2")];
        for (flag, value) in usual.into_iter().filter(|(flag, _)| !differs.contains(flag)) {
            given.extend([flag, value]);
        }
        given.extend(differs);
        let output = ends.run(0, &given);
        assert_eq!(output.status.code(), Some(2), "{want}");
        assert!(stderr(&output).contains(want), "{want}:\n{}", stderr(&output));
    }
    assert!(!ends.devices(0).contains(": one:"), "{}", ends.devices(0));
    assert!(std::fs::read_dir(ends.dir.path().join("run")).unwrap().next().is_none());
}

/// A door of end 1 to the key server of end 0: both ends reach it at the same address.
fn open_door(ends: &Ends, port: u16) {
    let failed = |found| WireError::Path { attempted: "open a door", found };
    let near =
        ends.links.ends[1].run(|| TcpListener::bind(("127.0.0.1", port)).map_err(failed)).unwrap();
    let (asks, asked) = std::sync::mpsc::channel::<TcpStream>();
    std::thread::spawn(move || near.incoming().flatten().try_for_each(|stream| asks.send(stream)));
    let forward = move || {
        std::thread::spawn(move || {
            for from in asked {
                let Ok(to) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                for (mut read, mut write) in
                    [(from.try_clone().unwrap(), to.try_clone().unwrap()), (to, from)]
                {
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut read, &mut write);
                        let _ = write.shutdown(std::net::Shutdown::Write);
                    });
                }
            }
        });
        Ok(())
    };
    // a thread is where it was started
    ends.links.ends[0].run(forward).unwrap();
}

#[test]
fn a_key_server_that_dies_takes_no_running_tunnel_with_it() {
    let name = "a_key_server_that_dies_takes_no_running_tunnel_with_it";
    let program = match Kind::PyKmip.find() {
        Ok(program) => program,
        Err(reason) => return println!("SKIP: {name}: {reason}"),
    };
    let Some(ends) = Ends::new(name) else { return };
    let certificates = Certificates::make();
    let mut server = ends.links.ends[0]
        .run(|| Ok(Server::start(Kind::PyKmip, &program, &certificates)))
        .unwrap();
    open_door(&ends, server.port);
    let url = certificates.url(server.port, "wire", "&retries=0");
    assert!(ends.run(0, &["keys", "new", &url]).status.success());
    let up = |end: usize| {
        let peer = ends.links.address(1 - end, false).to_string();
        let (name, four, _) = ends.of(end);
        let given =
            ["wire", "up", "--key", &url, "--peer", &peer, "--name", name, "--address", &four];
        ends.run(end, &[&given[..], &["--rekey-after-s", "10"]].concat())
    };
    for end in [0, 1] {
        let output = up(end);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN), "{}", ends.events(0));

    server.kill();
    // keys are renewed all the same
    let until = Instant::now() + Duration::from_secs(25);
    while ends.status(0)["handshakes"].as_u64() < Some(2) {
        assert!(Instant::now() < until, "{}", ends.events(0));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(ends.status(0)["state"], "up");
    assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN), "{}", ends.events(0));
    // who starts now has no key, and nothing is left of the attempt
    ends.down(1);
    let refused = up(1);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("key server"), "{}", stderr(&refused));
    assert!(!ends.devices(1).contains(": two:"), "{}", ends.devices(1));
    ends.down(0);
}

#[test]
fn a_full_disk_stops_no_tunnel_and_starts_none() {
    let name = "a_full_disk_stops_no_tunnel_and_starts_none";
    let Some(ends) = Ends::new(name) else { return };
    let disk = match SmallDisk::mount(&ends.dir.path().join("small"), "size=32k,mode=0700") {
        Ok(disk) => disk,
        Err(reason) => return println!("SKIP: {name}: nothing can be mounted here: {reason}"),
    };
    let fill = || {
        std::fs::write(disk.path().join("filler"), vec![0; 64 << 10]).expect_err("it is smaller")
    };
    let on_it = ["--runtime-dir", disk.path().to_str().unwrap()];
    let output = ends.up(0, &on_it);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(ends.up(1, &[]).status.success());
    fill();
    assert!(ends.passes("10.9.0.2:7001", BACK_WITHIN));
    let status = ends.run(0, &[&["wire", "status", "one"], &on_it[..]].concat());
    assert!(status.status.success(), "{}", stderr(&status));
    let down = ends.run(0, &[&["wire", "down", "one"], &on_it[..]].concat());
    assert!(down.status.success(), "{}", stderr(&down));
    assert!(!disk.path().join("one.pid").exists() && !disk.path().join("one.sock").exists());

    fill();
    let refused = ends.up(0, &on_it);
    assert_eq!(refused.status.code(), Some(2));
    let want = format!(
        "cannot use {} for running tunnels: No space left on device",
        disk.path().display()
    );
    assert!(stderr(&refused).contains(&want), "{}", stderr(&refused));
    assert!(!ends.devices(0).contains(": one:"), "{}", ends.devices(0));
    ends.down(1);
}

#[test]
fn systemd_takes_the_unit() {
    let version = Command::new("systemd-analyze").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return println!("SKIP: systemd_takes_the_unit: no systemd-analyze here");
    }
    let dir = tempfile::tempdir().unwrap();
    let unit = Command::new(binary::sealstone()).args(["wire", "unit"]).output().unwrap();
    let guard =
        Command::new(binary::sealstone()).args(["wire", "unit", "--guard"]).output().unwrap();
    let path = dir.path().join("sealstone-wire.service");
    let guard_path = dir.path().join("sealstone-wire-guard.service");
    for (path, unit) in [(&guard_path, &guard), (&path, &unit)] {
        std::fs::write(path, &unit.stdout).unwrap();
        let verified = Command::new("systemd-analyze").arg("verify").arg(path).output().unwrap();
        let said = stderr(&verified);
        // messages about other units of this machine do not matter
        assert!(verified.status.success() && !said.contains("sealstone-wire"), "{said}");
    }
    // and it would not take whatever it is given
    let text = String::from_utf8(unit.stdout).unwrap();
    std::fs::write(&path, text.replace("NoNewPrivileges=yes", "NoNewPrivilege=yes")).unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg(&path).output().unwrap();
    assert!(stderr(&verified).contains("NoNewPrivilege"), "{}", stderr(&verified));
}
