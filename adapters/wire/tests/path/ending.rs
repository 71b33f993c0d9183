//! Tests that a path that ended, or a killed run, leaves nothing.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sealstone_seal::esp::{suite, udp};
use sealstone_wire::links::{Links, command, link, remove_orphans};
use sealstone_wire::path::{Associations, Path, Sources, Tun};

use crate::lab::{both, end, inner, tcp_both_ways, with_namespaces};

fn devices(links: &Links, end: usize) -> Vec<String> {
    let named = || {
        let listed = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        Ok(listed
            .lines()
            .skip(2)
            .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
            .collect())
    };
    links.ends[end].run(named).unwrap()
}

/// Waits, since a process that another test starts has the descriptor of a device for a moment.
fn wait_until_gone(links: &Links, device: &str) {
    let since = Instant::now();
    while devices(links, 0).iter().any(|there| there == device) {
        assert!(since.elapsed() < Duration::from_secs(2), "{device} is still there");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_path_that_ended_leaves_no_device() {
    with_namespaces("ending::a_path_that_ended_leaves_no_device", || {
        let links = Links::new(link("unlimited").unwrap()).unwrap();
        let suite = suite("aes-128-gcm").unwrap();
        let peer = SocketAddr::new(links.address(1, false), udp::PORT);
        for round in 0..30 {
            let end = end(&links, 0, suite, peer);
            assert!(devices(&links, 0).contains(&"sealed0".to_owned()));
            if round % 2 == 0 {
                end.path.stop();
            } else {
                drop(end);
            }
            wait_until_gone(&links, "sealed0");
        }
    });
}

/// Set in the process that will be killed.
const TO_BE_KILLED: &str = "SEALSTONE_TEST_TO_BE_KILLED";

#[test]
fn a_killed_run_leaves_nothing_behind() {
    let name = "ending::a_killed_run_leaves_nothing_behind";
    if std::env::var_os(TO_BE_KILLED).is_some() {
        return wait_to_be_killed();
    }
    with_namespaces(name, || {
        for _ in 0..5 {
            let mut run = Command::new(std::env::current_exe().unwrap());
            run.args(["--exact", name, "--nocapture"])
                .env(TO_BE_KILLED, "1")
                .stdout(Stdio::piped());
            let mut run = run.spawn().unwrap();
            let mut said = BufReader::new(run.stdout.take().unwrap()).lines().map_while(Result::ok);
            let sleeper = said
                .find_map(|line| Some(line.rsplit_once("sleeper ")?.1.to_owned()))
                .expect("it started");
            // the namespace of its sleeper: while somebody is in it, its devices are there
            let inside = std::fs::read_link(format!("/proc/{sleeper}/ns/net")).unwrap();
            run.kill().unwrap();
            run.wait().unwrap();
            // another test may have done it a moment before
            remove_orphans();
            let since = Instant::now();
            while namespaces().contains(&inside) {
                assert!(
                    since.elapsed() < Duration::from_secs(5),
                    "somebody is still in {}",
                    inside.display()
                );
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
}

fn wait_to_be_killed() {
    let (links, _ends) = both(suite("aes-128-gcm").unwrap(), false);
    let sleeper = links.ends[0]
        .run(|| Ok(command("sleep").arg("1000").stdout(Stdio::null()).spawn().unwrap()));
    println!("sleeper {}", sleeper.unwrap().id());
    std::thread::sleep(Duration::from_secs(1_000));
}

/// Returns the network namespaces in which there is a process.
fn namespaces() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| std::fs::read_link(entry.path().join("ns/net")).ok()).collect()
}

#[test]
fn a_path_without_its_device_says_so_and_ends() {
    with_namespaces("ending::a_path_without_its_device_says_so_and_ends", || {
        let (links, [left, _right]) = both(suite("aes-128-gcm").unwrap(), false);
        tcp_both_ways(&links, [0, 1].map(|end| inner(end, false)), 1 << 16);
        let delete =
            || Ok(Command::new("ip").args(["link", "delete", "sealed0"]).status().unwrap());
        assert!(links.ends[0].run(delete).unwrap().success());
        let since = Instant::now();
        while left.path.failure().is_none() && since.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let failure = left.path.failure().unwrap();
        assert!(
            failure.starts_with("the path ended while it was to read packets of the device: "),
            "{failure}"
        );
    });
}

#[test]
fn a_second_device_of_one_name_is_refused() {
    with_namespaces("ending::a_second_device_of_one_name_is_refused", || {
        let links = Links::new(link("1000").unwrap()).unwrap();
        links.ends[0]
            .run(|| {
                let tun = Tun::create("sealed%d")?;
                assert_eq!(tun.name(), "sealed0");
                let error = Tun::create("sealed0").unwrap_err().to_string();
                assert!(
                    error.starts_with("cannot make device sealed0: Device or resource busy"),
                    "{error}"
                );
                let error = Tun::create("longer than fifteen").unwrap_err().to_string();
                assert!(error.contains("Invalid argument"), "{error}");
                assert_eq!(tun.mtu()?, 1_500);
                assert!(tun.set_mtu(1).is_err());
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                let (sender, _) = mpsc::channel();
                let path = Path::start(
                    tun,
                    socket,
                    Arc::new(Associations::new()),
                    Sources::any(),
                    sender,
                )?;
                assert_eq!((path.device(), path.mtu()?), ("sealed0", 1_500));
                Ok(())
            })
            .unwrap();
        wait_until_gone(&links, "sealed0");
        assert_eq!(devices(&links, 0).len(), 2, "loopback and link");
    });
}
