//! Somebody between the ends repeats, changes and makes up datagrams: each is dropped and counted
//! by its reason, and the window does not move.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use sealstone_seal::esp::{Association, Outbound, Refusal, Sealed, suite, udp};
use sealstone_wire::links::{Links, link};
use sealstone_wire::path::{Count, Path, PathCounters};

use crate::lab::{association, end, inner, keys, outbound, with_namespaces};

/// Port to which the content of the packets is sent.
pub(crate) const PORT: u16 = 7_000;

/// Returns a UDP datagram of IPv4 to the far end of the tunnel, as its host would make it.
pub(crate) fn packet(data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 17, 0, 0, 10, 78, 0, 1, 10, 78, 0, 2];
    packet[2..4].copy_from_slice(&(28 + data.len() as u16).to_be_bytes());
    let sum: u32 =
        packet.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    packet.extend(9_u16.to_be_bytes());
    packet.extend(PORT.to_be_bytes());
    packet.extend((8 + data.len() as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(data);
    packet
}

/// Returns a datagram to the far end with that in it, as the other end would seal it.
pub(crate) fn sealed(outbound: &mut Outbound, data: &[u8]) -> Vec<u8> {
    let mut sealed = Sealed::default();
    outbound.seal(&[&packet(data)], &mut sealed).unwrap();
    sealed.bytes().to_vec()
}

/// Waits until the path has the expected counts, and reports its counts otherwise.
fn wait_for(path: &Path, what: &str, is_so: impl Fn(&PathCounters) -> bool) {
    let since = Instant::now();
    while !is_so(&path.counters()) {
        assert!(since.elapsed() < Duration::from_secs(20), "{what}:\n{}", path.counters());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_an_attacker_sends_is_counted_and_has_no_effect() {
    with_namespaces("attack::what_an_attacker_sends_is_counted_and_has_no_effect", || {
        for name in ["aes-256-gcm", "aes-128-sha1", "3des-md5", "blowfish-sha256"] {
            attack(name);
        }
    });
}

fn attack(name: &str) {
    let suite = suite(name).unwrap();
    let links = Links::new(link("unlimited").unwrap()).unwrap();
    let there = SocketAddr::new(links.address(1, false), udp::PORT);
    let here = SocketAddr::new(links.address(0, false), udp::PORT);
    let target = end(&links, 1, suite, here);
    let path = &target.path;
    let attacker = links.ends[0].run(|| Ok(UdpSocket::bind(here).unwrap())).unwrap();
    let arrived =
        links.ends[1].run(|| Ok(UdpSocket::bind((inner(1, false), PORT)).unwrap())).unwrap();
    arrived.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let send =
        |datagram: &[u8]| assert_eq!(attacker.send_to(datagram, there).unwrap(), datagram.len());
    let arrives = |want: &[u8]| {
        let mut buffer = [0; 2_000];
        // a signal may end the waiting
        let received = (0..100).find_map(|_| arrived.recv(&mut buffer).ok());
        let bytes = received.unwrap_or_else(|| panic!("{name}: nothing came"));
        assert_eq!(&buffer[..bytes], want, "{name}");
    };

    let mut genuine = outbound(suite, 0);
    let packets: Vec<Vec<u8>> = (0..40_u8).map(|at| sealed(&mut genuine, &[at; 100])).collect();
    // reordered within the window
    for at in [0, 9, 4, 2, 20] {
        send(&packets[at]);
        arrives(&[at as u8; 100]);
    }
    for at in [0, 9, 4, 9, 20] {
        send(&packets[at]);
    }
    wait_for(path, "repeated", |counters| counters.refused(Refusal::Replayed) == 5);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut datagram = packets[30].clone();
        change(&mut datagram);
        send(&datagram);
    };
    let last = packets[30].len() - 1;
    for at in [4, 7, 8, 16, 40, last - 20, last] {
        changed(&|datagram| datagram[at] ^= 0x10);
    }
    let refused = |reason| move |counters: &PathCounters| counters.refused(reason) == 7;
    wait_for(path, "changed", refused(Refusal::Authentication));
    changed(&|datagram| datagram.truncate(9));
    wait_for(path, "torn", |counters| counters.refused(Refusal::Length) == 1);
    let bad = |counters: &PathCounters| {
        counters.refused(Refusal::Authentication) + counters.refused(Refusal::Length)
    };
    changed(&|datagram| datagram.truncate(last - 1));
    changed(&|datagram| datagram.extend([0; 16]));
    wait_for(path, "of another length", |counters| bad(counters) == 10);
    changed(&|datagram| datagram[1] ^= 1);
    wait_for(path, "of another index", |counters| counters.get(Count::UnknownSpi) == 1);
    // the keys of the other direction, and its own packets sent back
    let (key, mac_key) = keys(suite, 1);
    let wrong: &Association = &association(suite, 0);
    send(&sealed(&mut Outbound::new(wrong, &key, &mac_key).unwrap(), b"wrong key"));
    wait_for(path, "under another key", |counters| {
        bad(counters) + counters.refused(Refusal::Replayed) == 16
    });
    send(&sealed(&mut outbound(suite, 1), b"mirrored"));
    wait_for(path, "mirrored", |counters| counters.get(Count::UnknownSpi) == 2);
    send(&[]);
    send(&[1, 2, 3]);
    send(&[0xff]);
    wait_for(path, "short", |counters| {
        counters.get(Count::Nothing) == 2 && counters.get(Count::Keepalives) == 1
    });
    // far beyond the window, and then one from before it
    let mut last = Vec::new();
    (0..2_000).for_each(|_| last = sealed(&mut genuine, b"far ahead"));
    send(&last);
    arrives(b"far ahead");
    send(&packets[31]);
    wait_for(path, "too old", |counters| bad(counters) + counters.refused(Refusal::TooOld) == 11);
    // none of it came through
    send(&sealed(&mut genuine, b"the last"));
    arrives(b"the last");
    assert_eq!(path.counters().get(Count::PacketsIn), 7, "{name}");
    let heard = target.associations.heard().unwrap();
    assert_eq!(heard.from, here);
    let status = target.associations.inbound_status();
    assert_eq!((status.len(), status[0].suite.name, status[0].counters.packets), (1, name, 7));
}
