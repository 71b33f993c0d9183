//! What is left of a path that ended: nothing. Not here: ends of processes (`dev/e2e`).

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sealstone_seal::esp::{suite, udp};
use sealstone_wire::associations::Associations;
use sealstone_wire::links::{Links, link};
use sealstone_wire::path::Path;
use sealstone_wire::tun::Tun;

use crate::lab::{both, end, inner, tcp_both_ways, with_namespaces};

fn devices(links: &Links, end: usize) -> Vec<String> {
    let named = || {
        let listed = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        Ok(listed.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect())
    };
    links.ends[end].run(named).unwrap()
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
            // a process that another test starts has its descriptor for a moment
            let since = Instant::now();
            while devices(&links, 0).contains(&"sealed0".to_owned()) {
                assert!(since.elapsed() < Duration::from_secs(2), "round {round}");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
}

#[test]
fn a_path_without_its_device_says_so_and_ends() {
    with_namespaces("ending::a_path_without_its_device_says_so_and_ends", || {
        let (links, [left, _right]) = both(suite("aes-128-gcm").unwrap(), false);
        tcp_both_ways(&links, [0, 1].map(|end| inner(end, false)), 1 << 16);
        let delete = || Ok(std::process::Command::new("ip").args(["link", "delete", "sealed0"]).status().unwrap());
        assert!(links.ends[0].run(delete).unwrap().success());
        let since = Instant::now();
        while left.path.failure().is_none() && since.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let failure = left.path.failure().unwrap();
        assert!(failure.starts_with("the path ended while it was to read packets of the device: "), "{failure}");
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
                assert!(error.starts_with("cannot make device sealed0: Device or resource busy"), "{error}");
                let error = Tun::create("longer than fifteen").unwrap_err().to_string();
                assert!(error.contains("Invalid argument"), "{error}");
                assert_eq!(tun.mtu()?, 1_500);
                assert!(tun.set_mtu(1).is_err());
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                let (sender, _) = mpsc::channel();
                let path = Path::start(tun, socket, Arc::new(Associations::new()), sender)?;
                assert_eq!((path.device(), path.mtu()?), ("sealed0", 1_500));
                Ok(())
            })
            .unwrap();
        assert_eq!(devices(&links, 0).len(), 2, "loopback and link");
    });
}
