//! Data pass through the path unchanged.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sealstone_cipher::Backend;
use sealstone_cipher::testing::bytes;
use sealstone_seal::esp::{Association, Inbound, Lifetime, Outbound, Refusal, suite, suites, udp};
use sealstone_wire::path::Count;

use crate::lab::{WINDOW, both, inner, keys, tcp_both_ways, with_namespaces};

const MEBIBYTE: usize = 1 << 20;

#[test]
fn tcp_passes_under_every_suite() {
    with_namespaces("transfer::tcp_passes_under_every_suite", || {
        for (at, suite) in suites().iter().enumerate() {
            // of IPv4 within IPv4 and three others, each suite takes one
            let (outer_6, inner_6) = (at % 2 == 1, at / 2 % 2 == 1);
            let (links, ends) = both(suite, outer_6);
            tcp_both_ways(&links, [0, 1].map(|end| inner(end, inner_6)), 2 * MEBIBYTE);
            for end in ends {
                let status = end.associations.outbound_status().unwrap();
                assert_eq!((status.suite.name, status.peer.is_ipv6()), (suite.name, outer_6));
                assert!(end.associations.heard().is_some());
                let counters = end.path.stop();
                assert!(
                    counters.get(Count::BytesOut) > 2 * MEBIBYTE as u64,
                    "{}: {counters}",
                    suite.name
                );
                assert!(
                    counters.get(Count::BytesIn) > 2 * MEBIBYTE as u64,
                    "{}: {counters}",
                    suite.name
                );
                let refused: u64 =
                    Refusal::ALL.iter().map(|reason| counters.refused(*reason)).sum();
                assert_eq!(
                    refused + counters.get(Count::Malformed) + counters.get(Count::NotTaken),
                    0,
                    "{counters}"
                );
            }
        }
    });
}

/// Keys that last for a few hundred packets, and successors that both ends know before.
#[test]
fn successors_follow_without_losing_a_packet() {
    with_namespaces("transfer::successors_follow_without_losing_a_packet", || {
        let suite = suite("3des-md5").unwrap();
        let (links, ends) = both(suite, false);
        let shared = ends.each_ref().map(|end| end.associations.clone());
        let agree = |from: usize, number: u32| {
            let spi = 0x1_0000 * (1 + from as u32) + number;
            let association = Association { spi, suite, extended: true, backend: Backend::auto() };
            let (key, mac_key) = keys(suite, from);
            shared[1 - from]
                .add_inbound(Inbound::new(&association, &key, &mac_key, WINDOW).unwrap());
            // as another key would be: here it is only used up sooner
            let short = Lifetime { packets: 1_000, blocks: 1 << 18 };
            shared[from].add_successor(
                Outbound::new(&association, &key, &mac_key).unwrap().with_lifetime(short),
            );
        };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut numbers = [0_u32; 2];
                while !done.load(Ordering::Relaxed) {
                    for from in [0, 1] {
                        while shared[from].outbound_status().unwrap().successors < 4 {
                            agree(from, numbers[from]);
                            numbers[from] += 1;
                        }
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            // more than one 3DES key may seal: 8 MiB
            tcp_both_ways(&links, [0, 1].map(|end| inner(end, false)), 12 * MEBIBYTE);
            done.store(true, Ordering::Relaxed);
        });
        for end in &ends {
            let counters = end.path.counters();
            assert_eq!(
                counters.get(Count::Exhausted) + counters.get(Count::UnknownSpi),
                0,
                "{counters}"
            );
            assert!(end.associations.outbound_status().unwrap().spi >= 0x1_0000);
        }
    });
}

/// Segments of different flows come mixed, and only segments of one flow are joined.
#[test]
fn many_connections_share_the_path() {
    with_namespaces("transfer::many_connections_share_the_path", || {
        let (links, ends) = both(suite("aes-128-sha1").unwrap(), false);
        std::thread::scope(|scope| {
            for at in 0..8 {
                let links = &links;
                scope.spawn(move || {
                    tcp_both_ways(links, [0, 1].map(|end| inner(end, at % 2 == 0)), MEBIBYTE / 2)
                });
            }
        });
        assert!(ends.iter().all(|end| end.path.counters().get(Count::NotTaken) == 0));
    });
}

/// Receives a datagram; a signal may end the waiting.
fn received(socket: &UdpSocket, buffer: &mut [u8]) -> std::io::Result<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

#[test]
fn datagrams_pass_whole_and_in_pieces() {
    with_namespaces("transfer::datagrams_pass_whole_and_in_pieces", || {
        let (links, ends) = both(suite("3des-sha1").unwrap(), false);
        for is_ipv6 in [false, true] {
            let bound = |end: usize| {
                let socket = links.ends[end]
                    .run(|| Ok(UdpSocket::bind((inner(end, is_ipv6), 0)).unwrap()))
                    .unwrap();
                socket.set_read_timeout(Some(Duration::from_secs(4))).unwrap();
                socket
            };
            let (here, there) = (bound(0), bound(1));
            // a host may still be about to take its address
            there.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let mut came = [0; 9];
            let ready = (0..100).any(|_| {
                here.send_to(b"ready", there.local_addr().unwrap()).unwrap();
                there.recv_from(&mut came).is_ok()
            });
            assert!(ready, "IPv6 {is_ipv6}");
            while there.recv_from(&mut came).is_ok() {}
            there.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            // within a packet, at the edge of one, and in pieces that the hosts make and put
            // together
            for length in [0, 1, 100, 1_373, 1_374, 1_394, 1_395, 4_000, 60_000] {
                let data = bytes("datagram", length);
                here.send_to(&data, there.local_addr().unwrap()).unwrap();
                let mut came = vec![0; 65_536];
                let (bytes, from) = received(&there, &mut came).unwrap_or_else(|error| {
                    let [here, there] = ends.each_ref().map(|end| end.path.counters());
                    panic!("{length} bytes, IPv6 {is_ipv6}: {error}\n{here}\n{there}")
                });
                assert!(
                    came[..bytes] == data && from == here.local_addr().unwrap(),
                    "{length} bytes, {from}"
                );
            }
        }
    });
}

#[test]
fn nothing_leaves_without_an_association() {
    with_namespaces("transfer::nothing_leaves_without_an_association", || {
        let (links, ends) = both(suite("aes-256-gcm").unwrap(), false);
        ends[0].associations.remove_outbound();
        // packets sent at this moment: the host looks for routers
        std::thread::sleep(Duration::from_millis(50));
        let sent = ends[0].path.counters().get(Count::PacketsOut);
        assert!(ends[0].associations.outbound_status().is_none());
        links.ends[0]
            .run(|| {
                let socket = UdpSocket::bind((inner(0, false), 0)).unwrap();
                for _ in 0..10 {
                    socket.send_to(b"in the clear?", (inner(1, false), 9)).unwrap();
                }
                Ok(())
            })
            .unwrap();
        let dropped = || ends[0].path.counters().get(Count::NoAssociation);
        let since = Instant::now();
        while dropped() < 10 && since.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(dropped() >= 10);
        assert_eq!(ends[0].path.counters().get(Count::PacketsOut), sent);
    });
}

#[test]
fn messages_of_a_key_exchange_share_the_port() {
    with_namespaces("transfer::messages_of_a_key_exchange_share_the_port", || {
        let (links, [left, right]) = both(suite("aes-256-gcm").unwrap(), false);
        let there = SocketAddr::new(links.address(1, false), udp::PORT);
        // the link may have come up just now
        let (from, message) = (0..100)
            .find_map(|_| {
                left.path.send_exchange(there, b"hello").unwrap();
                right.exchange.recv_timeout(Duration::from_millis(100)).ok()
            })
            .expect("a message comes");
        assert_eq!(
            (from, &message[..]),
            (SocketAddr::new(links.address(0, false), udp::PORT), &b"hello"[..])
        );
        left.path.send_keepalive(there).unwrap();
        // more than anybody means seriously are not passed on, and strangers do not keep the peer's
        // away
        let stranger = links.ends[0]
            .run(|| Ok(UdpSocket::bind((links.address(0, false), 0)).unwrap()))
            .unwrap();
        for _ in 0..500 {
            stranger.send_to(&[&[0; 4][..], &[7; 40]].concat(), there).unwrap();
        }
        left.path.send_exchange(there, b"last").unwrap();
        let since = Instant::now();
        while right.path.counters().get(Count::Exchange) < 502
            && since.elapsed() < Duration::from_secs(10)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let counters = right.path.stop();
        assert!(
            counters.get(Count::Exchange) >= 502 && counters.get(Count::Keepalives) == 1,
            "{counters}"
        );
        assert!(counters.get(Count::ExchangeDropped) > 300, "{counters}");
        let passed_on: Vec<Vec<u8>> = right.exchange.iter().map(|(_, message)| message).collect();
        assert!(passed_on.len() < 200 && passed_on.contains(&b"last".to_vec()));
    });
}
