//! The link between the ends: readable data on it, loss, and the packet size that fits.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};
use sealstone_seal::esp::{suite, suites, udp};
use sealstone_wire::WireError;
use sealstone_wire::links::{Links, link};
use sealstone_wire::path::{Associations, Count, Path, Sources};

use crate::attack::{PORT, sealed};
use crate::capture::frames;
use crate::lab::{
    Stream, both, device, end, inbound, inner, outbound, socket, tcp_both_ways, with_namespaces,
};

pub(crate) const MARKER: &[u8; 16] = b"MARKER-IN-BLOCK:";
pub(crate) const BLOCK: usize = 256;

/// Sends `count` blocks of [`BLOCK`] bytes that begin with the marker, and the rest of which is the
/// same as well.
pub(crate) fn send_blocks(links: &Links, to: IpAddr, count: usize) {
    let listener = links.ends[1].run(|| Ok(TcpListener::bind((to, 0)).unwrap())).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut all = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
            assert_eq!(all.len(), count * BLOCK);
        });
        let client = || {
            let mut block = [b'.'; BLOCK];
            block[..MARKER.len()].copy_from_slice(MARKER);
            TcpStream::connect(address).unwrap().write_all(&block.repeat(count)).unwrap();
            Ok(())
        };
        links.ends[0].run(client).unwrap();
        server.join().unwrap();
    });
}

fn markers(frames: &[Vec<u8>]) -> usize {
    let of_frame =
        |frame: &Vec<u8>| frame.windows(8).filter(|window| *window == &MARKER[4..12]).count();
    frames.iter().map(of_frame).sum()
}

#[test]
fn no_block_can_be_read_on_the_link() {
    with_namespaces("link::no_block_can_be_read_on_the_link", || {
        let count = 1_000;
        for suite in suites().iter().filter(|suite| suite.cipher().is_some()) {
            let (links, _ends) = both(suite, false);
            if suite.name == "aes-256-gcm" {
                let plain = frames(&links, || send_blocks(&links, links.address(1, false), count));
                // a marker between two segments is cut in two
                assert!(markers(&plain) > count * 9 / 10, "{} of {count}", markers(&plain));
            }
            let sealed = frames(&links, || send_blocks(&links, inner(1, false), count));
            let bytes: usize = sealed.iter().map(Vec::len).sum();
            assert!(bytes > count * BLOCK, "{}: {bytes} bytes on the link", suite.name);
            assert_eq!(markers(&sealed), 0, "{}", suite.name);
            let longest = sealed.iter().map(Vec::len).max().unwrap();
            assert!(longest <= 1_514, "{}: a frame of {longest} bytes", suite.name);
        }
    });
}

/// Relays between the ends: loses one datagram of a hundred, and makes every twentieth wait for up
/// to eight others.
fn relay(socket: &UdpSocket, ends: [SocketAddr; 2], done: &AtomicBool) -> [usize; 2] {
    let (mut random, mut held, mut buffer) = (Stream(17), Vec::new(), vec![0; 1 << 16]);
    let (mut lost, mut late) = (0, 0);
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    while !done.load(Ordering::Relaxed) {
        let mut drawn = [0; 8];
        random.fill(&mut drawn);
        if let Ok((bytes, from)) = socket.recv_from(&mut buffer) {
            let datagram =
                (buffer[..bytes].to_vec(), if from == ends[0] { ends[1] } else { ends[0] });
            match (drawn[0], drawn[1] % 20) {
                (0 | 100, _) => lost += 1,
                (_, 0) => {
                    late += 1;
                    held.push(datagram);
                }
                _ => drop(socket.send_to(&datagram.0, datagram.1)),
            }
            if held.len() < 8 && drawn[2] > 40 {
                continue;
            }
        }
        for (datagram, to) in held.drain(..).rev() {
            let _ = socket.send_to(&datagram, to);
        }
    }
    [lost, late]
}

#[test]
fn data_are_whole_where_the_link_loses_and_reorders() {
    with_namespaces("link::data_are_whole_where_the_link_loses_and_reorders", || {
        let suite = suite("aes-256-gcm").unwrap();
        let links = Links::new(link("unlimited").unwrap()).unwrap();
        let addresses = [0, 1].map(|end| SocketAddr::new(links.address(end, false), udp::PORT));
        let between = SocketAddr::new(links.address(1, false), 4_600);
        let socket = links.ends[1].run(|| Ok(UdpSocket::bind(between).unwrap())).unwrap();
        let ends = [0, 1].map(|at| end(&links, at, suite, between));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let relay = scope.spawn(|| relay(&socket, addresses, &done));
            tcp_both_ways(&links, [0, 1].map(|end| inner(end, false)), 2 << 20);
            done.store(true, Ordering::Relaxed);
            let [lost, late] = relay.join().unwrap();
            assert!(lost > 10 && late > 30, "{lost} lost, {late} late");
        });
        for end in ends {
            assert!(end.path.counters().get(Count::PacketsIn) > 1_000);
            assert!(end.path.failure().is_none());
        }
    });
}

/// Packets of which the later were on the link first, all of them before the path looks.
#[test]
fn what_comes_out_of_order_is_handed_over_in_order() {
    with_namespaces("link::what_comes_out_of_order_is_handed_over_in_order", || {
        for name in ["aes-256-gcm", "aes-128-sha1", "3des-md5"] {
            let suite = suite(name).unwrap();
            let links = Links::new(link("unlimited").unwrap()).unwrap();
            let addresses = [0, 1].map(|end| SocketAddr::new(links.address(end, false), udp::PORT));
            let here = links.ends[0].run(|| Ok(UdpSocket::bind(addresses[0]).unwrap())).unwrap();
            let (tun, there, arrived) = links.ends[1]
                .run(|| {
                    let tun = device(1, suite, addresses[0])?;
                    let arrived = UdpSocket::bind((inner(1, false), PORT)).unwrap();
                    Ok((tun, socket(&links, 1, addresses[0]), arrived))
                })
                .unwrap();
            arrived.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut genuine = outbound(suite, 0);
            let mut packets: Vec<Vec<u8>> =
                (0..6_u8).map(|at| sealed(&mut genuine, &[at; 100])).collect();
            // a made-up packet has no place in the order
            packets.push(packets[5].clone());
            packets[6][7] = 200;
            for at in [3, 6, 0, 1, 5, 4, 2] {
                assert_eq!(here.send_to(&packets[at], addresses[1]).unwrap(), packets[at].len());
            }
            let associations = Arc::new(Associations::new());
            associations.add_inbound(inbound(suite, 0));
            let (sender, _exchange) = mpsc::channel();
            let path = links.ends[1]
                .run(|| Path::start(tun, there, associations, Sources::any(), sender))
                .unwrap();
            let mut came = [0; 200];
            let order: Vec<u8> = (0..6)
                .map(|_| {
                    assert_eq!(arrived.recv(&mut came).unwrap(), 100, "{name}");
                    came[0]
                })
                .collect();
            assert_eq!(order, [0, 1, 2, 3, 4, 5], "{name}");
            let counters = path.stop();
            assert_eq!(
                (counters.get(Count::PacketsIn), counters.get(Count::Reordered)),
                (6, 4),
                "{name}: {counters}"
            );
        }
    });
}

/// With an algorithm that every kernel permits; a machine may reserve others, such as cubic.
#[test]
fn both_ends_have_the_congestion_control_that_is_chosen() {
    with_namespaces("link::both_ends_have_the_congestion_control_that_is_chosen", || {
        let links = Links::new(link("unlimited").unwrap()).unwrap();
        let machines =
            std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
        assert_eq!(links.congestion().unwrap(), [machines.trim(), machines.trim()]);
        for name in ["reno", "cubic"] {
            match links.set_congestion(name) {
                Ok(()) => assert_eq!(links.congestion().unwrap(), [name, name]),
                Err(error @ WireError::CongestionNotAllowed { .. }) if name == "cubic" => {
                    let step = "as root, until the machine starts again: sysctl -w \
                                net.ipv4.tcp_allowed_congestion_control=\"";
                    assert!(error.to_string().contains(step), "{error}");
                    assert_eq!(
                        links.congestion().unwrap(),
                        ["reno", "reno"],
                        "what was there stays"
                    );
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
        // and connections between them use it
        links.set_congestion("reno").unwrap();
        let listener = links.ends[1]
            .run(|| Ok(TcpListener::bind((links.address(1, false), 0)).unwrap()))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let near = links.ends[0].run(|| Ok(TcpStream::connect(address).unwrap())).unwrap();
        let far = listener.accept().unwrap().0;
        assert_eq!(
            [near, far].map(|end| getsockopt(&end, sockopt::TcpCongestion).unwrap()),
            ["reno", "reno"]
        );
        // the machine keeps its own
        assert_eq!(
            std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap(),
            machines
        );
    });
}

#[test]
fn a_link_that_carries_less_is_found_out() {
    with_namespaces("link::a_link_that_carries_less_is_found_out", || {
        for is_ipv6 in [false, true] {
            let (links, ends) = both(suite("aes-128-sha256").unwrap(), is_ipv6);
            let tunnel = [0, 1].map(|end| inner(end, false));
            tcp_both_ways(&links, tunnel, 1 << 20);
            let before = ends[0].path.mtu().unwrap();
            links.set_mtu(1_300).unwrap();
            let since = Instant::now();
            tcp_both_ways(&links, tunnel, 1 << 20);
            assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
            for end in &ends {
                let (now, counters) = (end.path.mtu().unwrap(), end.path.counters());
                assert!(before - now >= 192 && now > 1_150, "{before}, {now}");
                assert!(counters.get(Count::TooBig) > 0, "{counters}");
            }
            // no more is lost once it is known
            let known = ends.each_ref().map(|end| end.path.counters().get(Count::TooBig));
            tcp_both_ways(&links, tunnel, 1 << 20);
            assert_eq!(ends.each_ref().map(|end| end.path.counters().get(Count::TooBig)), known);
            // and the previous value comes back
            links.set_mtu(1_500).unwrap();
            let since = Instant::now();
            while ends.iter().any(|end| end.path.mtu().unwrap() < before) {
                assert!(since.elapsed() < Duration::from_secs(10), "the MTU stays small");
                tcp_both_ways(&links, tunnel, 1 << 16);
            }
        }
    });
}
