//! Tests of traffic that bypasses the tunnel: there must be none, in either direction, while the
//! tunnel is up, ended, killed or not there yet.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

use sealstone_wire::WireError;
use serde_json::Value;

use crate::ends::{BACK_WITHIN, Ends, stderr};

/// Networks behind end 1, and hosts there.
const ROUTES: [&str; 4] = ["--route", "10.20.0.0/16", "--route", "fd00:20::/64"];
const HOSTS: [&str; 2] = ["10.20.0.1", "fd00:20::1"];
/// The tunnel's address of end 1.
const INNER: [&str; 2] = ["10.9.0.2", "fd00:9::2"];
/// Longest time that a datagram may take over a link that is in memory.
const SOON: Duration = Duration::from_millis(300);

/// Runs `ip` at one end and returns what it printed.
fn ip(ends: &Ends, end: usize, arguments: &str) -> String {
    let words: Vec<&str> = arguments.split(' ').collect();
    let output =
        ends.links.ends[end].run(|| Ok(Command::new("ip").args(&words).output().unwrap())).unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the tables of routes and rules of one end, without entries of devices that do not exist
/// yet.
fn tables(ends: &Ends, end: usize) -> String {
    ["-4 route", "-6 route", "-4 rule", "-6 rule"]
        .map(|table| ip(ends, end, &format!("{table} show")))
        .concat()
}

/// Both ends reach each other's networks over the bare link, with nothing in the way: end 1 has
/// hosts behind it, and end 0 routes to these and to the tunnel's address of end 1. The routes of
/// IPv4 have the metric of DHCP.
fn open_to_the_link(ends: &Ends) {
    for (host, bits) in HOSTS.into_iter().zip([32, 128]) {
        ip(ends, 1, &format!("address add {host}/{bits} dev lo"));
    }
    let [four, six] = [false, true].map(|is_ipv6| ends.links.address(1, is_ipv6));
    for net in ["10.20.0.0/16", "10.9.0.0/24"] {
        ip(ends, 0, &format!("-4 route add {net} via {four} metric 100"));
    }
    for net in ["fd00:20::/64", "fd00:9::/64"] {
        ip(ends, 0, &format!("-6 route add {net} via {six}"));
    }
}

/// Returns whether a datagram from end 0 to `to` at end 1 arrives; an error of the system is an
/// answer, too.
fn reaches(ends: &Ends, to: &str) -> bool {
    let to: IpAddr = to.parse().unwrap();
    let failed = |found: io::Error| WireError::Path { attempted: "pass a datagram", found };
    let any: SocketAddr = if to.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" }.parse().unwrap();
    let there = ends.links.ends[1].run(|| UdpSocket::bind(any).map_err(failed)).unwrap();
    there.set_read_timeout(Some(SOON)).unwrap();
    let port = there.local_addr().unwrap().port();
    let send = || {
        UdpSocket::bind(any).map_err(failed).map(|socket| socket.send_to(b"a secret", (to, port)))
    };
    let sent = ends.links.ends[0].run(send).unwrap();
    sent.is_ok() && there.recv(&mut [0; 100]).is_ok()
}

fn all_reach(ends: &Ends, what: &str, want: bool) {
    for host in HOSTS.into_iter().chain(INNER) {
        // the first question for a neighbour may be lost, and is repeated after a second
        let until = Instant::now() + BACK_WITHIN;
        let mut found = reaches(ends, host);
        while want && !found && Instant::now() < until {
            found = reaches(ends, host);
        }
        assert_eq!(found, want, "{what}: {host}\n{}\n{}", tables(ends, 0), tables(ends, 1));
    }
}

fn wait_until_up(ends: &Ends) {
    let until = Instant::now() + BACK_WITHIN;
    while (0..2).any(|end| ends.status(end)["state"] != "up") {
        assert!(Instant::now() < until, "{}", ends.events(0));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn kill(ends: &Ends, end: usize) {
    let pid = ends.status(end)["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let until = Instant::now() + BACK_WITHIN;
    while ends.devices(end).contains(&format!(": {}:", ends.of(end).0)) {
        assert!(Instant::now() < until, "the device of a killed process stays");
    }
}

#[test]
fn nothing_leaves_in_the_clear_when_a_tunnel_is_gone() {
    let Some(ends) = Ends::new("nothing_leaves_in_the_clear_when_a_tunnel_is_gone") else { return };
    let before = tables(&ends, 0);
    open_to_the_link(&ends);
    // end 1 has its tunnel's address without a tunnel, so that what leaves is seen whatever it is
    for (address, bits) in INNER.into_iter().zip([32, 128]) {
        ip(&ends, 1, &format!("address add {address}/{bits} dev lo"));
    }
    let open = tables(&ends, 0);
    all_reach(&ends, "without a tunnel all of it passes in the clear", true);

    // before the tunnel
    let (name, four, six) = ends.of(0);
    let given = ["wire", "guard", "--name", name, "--address", &four, "--address", &six];
    let guard = ends.run(0, &[&given[..], &ROUTES].concat());
    assert!(guard.status.success(), "{}", stderr(&guard));
    let said = String::from_utf8_lossy(&guard.stdout).into_owned();
    assert!(
        said.starts_with(
            "guard of tunnel one is set up: nothing goes to 10.20.0.0/16, fd00:20::/64, "
        ),
        "{said}"
    );
    all_reach(&ends, "before the tunnel", false);
    let waiting = ends.run(0, &["wire", "status"]);
    let text = String::from_utf8_lossy(&waiting.stdout).into_owned();
    assert!(text.contains("one: not up\n") && text.contains("--remove-guard\n"), "{text}");
    assert_eq!(waiting.status.code(), Some(1));

    // up, killed, up again, taken down: the other end never answers
    let guarded = tables(&ends, 0);
    for ending in ["killed", "down", "signal"] {
        let up = ends.up(0, &ROUTES);
        assert!(up.status.success(), "{}", stderr(&up));
        assert!(stderr(&up).contains("guard: nothing goes to 10.20.0.0/16, "), "{}", stderr(&up));
        assert_eq!(
            ends.status(0)["guard"]["missing"].as_array().map(Vec::len),
            Some(0),
            "{}",
            ends.status(0)
        );
        all_reach(&ends, "while the other end does not answer", false);
        if ending == "down" {
            // somebody flushes a route in the meantime: that is reported, the tunnel's own route
            // still works, and it can be restored
            ip(&ends, 0, "-4 route delete unreachable 10.20.0.0/16");
            assert_eq!(
                ends.status(0)["guard"]["missing"].to_string(),
                r#"["route unreachable 10.20.0.0/16"]"#
            );
            let text = String::from_utf8_lossy(&ends.run(0, &["wire", "status", name]).stdout)
                .into_owned();
            assert!(
                text.contains("INCOMPLETE") && text.contains("route unreachable 10.20.0.0/16"),
                "{text}"
            );
            all_reach(&ends, "without a route of the guard", false);
            let again = ends.run(0, &[&given[..], &ROUTES].concat());
            assert!(again.status.success(), "{}", stderr(&again));
            assert_eq!(ends.status(0)["guard"]["missing"].as_array().map(Vec::len), Some(0));
        }
        match ending {
            "killed" => kill(&ends, 0),
            "down" => {
                let down = ends.run(0, &["wire", "down", name]);
                let said = String::from_utf8_lossy(&down.stdout).into_owned();
                assert!(
                    said.starts_with(
                        "tunnel one is down\nits guard stays: nothing goes to 10.20.0.0/16, "
                    ),
                    "{said}"
                );
            }
            _ => {
                let pid = ends.status(0)["pid"].to_string();
                assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
                while ends.devices(0).contains(": one:") {}
            }
        }
        all_reach(&ends, ending, false);
        assert_eq!(tables(&ends, 0), guarded, "{ending}");
    }

    // a start that fails keeps it
    let given =
        ["wire", "up", "--name", name, "--key", "none.key", "--address", &four, "--address", &six];
    let failed = ends.run(0, &[&given[..], &ROUTES].concat());
    assert!(stderr(&failed).contains("no key file at none.key"), "{}", stderr(&failed));
    all_reach(&ends, "after a start that failed", false);

    let removed = ends.run(0, &["wire", "down", name, "--remove-guard"]);
    let said = String::from_utf8_lossy(&removed.stdout).into_owned();
    assert!(
        removed.status.success() && said.contains("guard of tunnel one is removed: 10.20.0.0/16, "),
        "{said}"
    );
    assert_eq!(tables(&ends, 0), open);
    all_reach(&ends, "without the guard", true);
    assert!(
        before.contains("0:\tfrom all lookup local") && open.contains("0:\tfrom all lookup local"),
        "{open}"
    );
}

#[test]
fn a_start_that_failed_leaves_what_it_found() {
    let Some(ends) = Ends::new("a_start_that_failed_leaves_what_it_found") else { return };
    open_to_the_link(&ends);
    let before = tables(&ends, 0);
    for wrong in [
        &["--key", "none.key"][..],
        &["--peer", "no-such-host.invalid"],
        &["--route", "10.77.0.0/24"],
    ] {
        let peer = ends.links.address(1, false).to_string();
        let mut given = vec!["wire", "up", "--name", "one", "--address", "10.9.0.1/24"];
        for usual in [["--key", "wire.key"], ["--peer", &peer]] {
            if !wrong.contains(&usual[0]) {
                given.extend(usual);
            }
        }
        let failed = ends.run(0, &[&given[..], &ROUTES, wrong].concat());
        assert_eq!(failed.status.code(), Some(2), "{}", stderr(&failed));
        assert_eq!(tables(&ends, 0), before, "{wrong:?}");
    }
    // an address of another device is never cut off
    for command in [&["wire", "guard"][..], &["wire", "up", "--key", "wire.key"]] {
        let refused = ends.run(0, &[command, &["--address", "10.77.0.1/24"]].concat());
        assert_eq!(refused.status.code(), Some(2));
        assert!(
            stderr(&refused).contains("10.77.0.1/24 is on this machine already: device link0"),
            "{}",
            stderr(&refused)
        );
        assert!(tables(&ends, 0).contains("0:\tfrom all lookup local"), "{}", tables(&ends, 0));
    }
}

#[test]
fn the_tunnel_s_address_is_not_reached_over_the_bare_link() {
    let Some(ends) = Ends::new("the_tunnel_s_address_is_not_reached_over_the_bare_link") else {
        return;
    };
    let bare = tables(&ends, 1);
    open_to_the_link(&ends);
    let reached = || INNER.map(|address| reaches(&ends, address));
    // Linux's default behaviour
    let up = ends.up(1, &["--no-guard"]);
    assert!(up.status.success(), "{}", stderr(&up));
    assert_eq!(reached(), [true, true]);
    assert_eq!(ends.status(1)["guard"], Value::Null);
    let text = ends.run(1, &["wire", "status", "two"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("guard       none: "), "{text:?}");
    ends.down(1);

    assert!(ends.up(1, &[]).status.success());
    assert_eq!(reached(), [false, false], "{}", tables(&ends, 1));
    // through the tunnel, and from the machine itself, it is
    assert!(ends.up(0, &[]).status.success());
    assert!(
        ends.passes("10.9.0.2:7001", BACK_WITHIN) && ends.passes("[fd00:9::2]:7002", BACK_WITHIN)
    );
    let own = ends.links.ends[1].run(|| {
        let pairs =
            ["10.9.0.2:0", "[fd00:9::2]:0"].map(|address| UdpSocket::bind(address).unwrap());
        Ok(pairs.map(|socket| {
            socket.set_read_timeout(Some(SOON)).unwrap();
            socket.send_to(b"own", socket.local_addr().unwrap()).unwrap();
            socket.recv(&mut [0; 10]).is_ok()
        }))
    });
    assert_eq!(own.unwrap(), [true, true]);
    // somebody flushes the rules: status reports it, and the next start restores them
    ip(&ends, 1, "-4 rule del pref 0 to 10.9.0.2 blackhole");
    let missing = ends.status(1)["guard"]["missing"].to_string();
    assert!(missing.contains("rules for 10.9.0.2"), "{missing}");
    assert_eq!(ends.run(1, &["wire", "down", "two"]).status.code(), Some(0));
    assert!(ends.up(1, &[]).status.success());
    ends.down(0);
    assert_eq!(reached(), [false, false]);
    ends.down(1);
    ip(&ends, 1, "address delete 10.20.0.1/32 dev lo");
    ip(&ends, 1, "address delete fd00:20::1/128 dev lo");
    assert_eq!(tables(&ends, 1), bare);
}

/// Two tunnels of a machine share what they have in common until the last of them is gone.
#[test]
fn guards_of_two_tunnels_do_not_disturb_each_other() {
    let Some(ends) = Ends::new("guards_of_two_tunnels_do_not_disturb_each_other") else { return };
    let before = tables(&ends, 0);
    let guard = |name: &str, more: &[&str]| {
        let output = ends.run(0, &[&["wire", "guard", "--name", name][..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    };
    guard("a", &["--address", "10.9.0.1/24", "--route", "10.20.0.0/16"]);
    guard("b", &["--address", "10.9.1.1/24", "--route", "10.20.0.0/16", "--route", "10.21.0.0/16"]);
    // the same one again, with other settings
    guard("b", &["--address", "10.9.1.1/24", "--route", "10.20.0.0/16"]);
    let both = tables(&ends, 0);
    assert!(both.contains("unreachable 10.20.0.0/16 ") && !both.contains("10.21.0.0/16"), "{both}");
    let remove = |name: &str| {
        assert!(ends.run(0, &["wire", "down", name, "--remove-guard"]).status.success())
    };
    remove("a");
    let one = tables(&ends, 0);
    assert!(one.contains("unreachable 10.20.0.0/16 ") && !one.contains("10.9.0."), "{one}");
    assert!(one.contains("from all to 10.9.1.1 blackhole"), "{one}");
    // an address goes to another tunnel
    guard("c", &["--address", "10.9.1.1/24"]);
    remove("b");
    let moved = tables(&ends, 0);
    assert!(moved.contains("to 10.9.1.1 iif c ") && !moved.contains("iif b "), "{moved}");
    remove("c");
    assert_eq!(tables(&ends, 0), before);
    let none = ends.run(0, &["wire", "down", "c", "--remove-guard"]);
    assert_eq!(stderr(&none), "sealstone: no tunnel c is up\n  start it with: sealstone wire up\n");
}

#[test]
fn a_peer_speaks_for_nobody_else() {
    let Some(ends) = Ends::new("a_peer_speaks_for_nobody_else") else { return };
    for end in [0, 1] {
        let up = ends.up(end, &[]);
        assert!(up.status.success(), "{}", stderr(&up));
    }
    wait_until_up(&ends);
    // addresses to which end 1 has no route
    for address in ["172.16.0.1/32", "fd00:66::1/128"] {
        ip(&ends, 0, &format!("address add {address} dev lo"));
    }
    let passes = |from: &str, to: &str| {
        let [from, to]: [IpAddr; 2] = [from, to].map(|address| address.parse().unwrap());
        let there = ends.links.ends[1].run(|| Ok(UdpSocket::bind((to, 0)).unwrap())).unwrap();
        there.set_read_timeout(Some(SOON)).unwrap();
        let port = there.local_addr().unwrap().port();
        let send =
            || Ok(UdpSocket::bind((from, 0)).unwrap().send_to(b"it is me", (to, port)).unwrap());
        ends.links.ends[0].run(send).unwrap();
        there.recv(&mut [0; 100]).is_ok()
    };
    let refused = || {
        let status = ends.status(1);
        let counted = status["packets_refused"].as_object().unwrap().clone();
        let is_it = |(what, _): &(&String, &Value)| what.contains("source not in a route");
        counted.iter().find(is_it).and_then(|(_, times)| times.as_u64()).unwrap_or(0)
    };
    assert_eq!(refused(), 0, "{}", ends.status(1));
    assert!(passes("10.9.0.1", "10.9.0.2") && passes("fd00:9::1", "fd00:9::2"));
    for (count, from, to) in [(1, "172.16.0.1", "10.9.0.2"), (2, "fd00:66::1", "fd00:9::2")] {
        assert!(!passes(from, to), "{from}");
        assert_eq!(refused(), count, "{from}");
    }
    let text = ends.run(1, &["wire", "status", "two"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("refused: source not in a route or the prefix of an address 2"),
        "{text}"
    );
    // with a route it is somebody that it speaks for
    ends.down(1);
    assert!(ends.up(1, &["--route", "172.16.0.0/24"]).status.success());
    wait_until_up(&ends);
    assert!(passes("172.16.0.1", "10.9.0.2"));
    for end in [0, 1] {
        ends.down(end);
    }
}
