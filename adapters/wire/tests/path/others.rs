//! Tests of a path against other programs: scapy and tshark open packets that a running path puts
//! on the link, and the path opens scapy's packets. Not here: single packets of every suite
//! (`dev/e2e/tests/esp.rs`), another end that agrees on keys (`strongswan`).

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_seal::esp::{Association, Inbound, Outbound, Sealed, Suite, suite, udp};

use crate::attack::{PORT, packet};
use crate::capture::frames;
use crate::lab::{WINDOW, both, inner, keys, with_namespaces};
use crate::link::{BLOCK, MARKER, send_blocks};
use crate::scapy::{Answer, Case, Scapy, hex};
use crate::tshark::{self, agree, narrow, opened, save};

/// One suite of each kind: a cipher that authenticates, and three with a MAC, of which two have
/// blocks of 64 bits.
const SUITES: [&str; 4] = ["aes-256-gcm", "aes-128-sha1", "3des-md5", "blowfish-sha1"];

/// Blocks with the marker that are sent.
const BLOCKS: usize = 40;

/// Returns the sealed packet of a frame of Ethernet, if it holds one of the association with the
/// index `spi`: after the headers of IPv4 and UDP.
fn sealed_packet(frame: &[u8], spi: u32) -> Option<&[u8]> {
    let (header, datagram) = (frame.get(14..34)?, frame.get(34..)?);
    let is_udp = frame[12..14] == [8, 0] && header[0] == 0x45 && header[9] == 17;
    let payload =
        datagram.get(8..).filter(|_| is_udp && datagram[2..4] == udp::PORT.to_be_bytes())?;
    payload.starts_with(&spi.to_be_bytes()).then_some(payload)
}

/// Returns the number of times that the marker occurs in `bytes`.
fn markers(bytes: &[u8]) -> usize {
    bytes.windows(MARKER.len()).filter(|window| *window == MARKER).count()
}

/// Returns the TCP stream that came from end 0, out of the packets that `answer` has opened,
/// whatever was sent again left out.
fn stream(answer: &Answer) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut next = None;
    for packet in answer.inner.iter().filter(|packet| packet[0] >> 4 == 4 && packet[9] == 6) {
        let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        assert_eq!(length, packet.len(), "padding is no part of a packet");
        let segment = &packet[20..];
        let number = u32::from_be_bytes(segment[4..8].try_into().unwrap());
        let data = &segment[usize::from(segment[12] >> 4) * 4..];
        // the first one opens the connection, which takes a number
        let want = *next.get_or_insert(number.wrapping_add(1));
        if number == want {
            stream.extend_from_slice(data);
            next = Some(number.wrapping_add(data.len() as u32));
        }
    }
    stream
}

/// Packets that scapy sealed, sent to a path: their content comes out of its device.
struct Made {
    suite: &'static Suite,
    association: Association,
    packets: Vec<Vec<u8>>,
}

impl Made {
    fn data(at: usize) -> Vec<u8> {
        [MARKER, &b" made by scapy "[..], &[at as u8]].concat()
    }

    /// Builds the request to scapy: it opens packets of ours, and seals their content.
    fn case(suite: &'static Suite) -> (Association, Case) {
        let association =
            Association { spi: 0x3000, suite, extended: false, backend: Backend::auto() };
        let (key, mac_key) = keys(suite, 0);
        let mut sealed = Sealed::default();
        let packets: Vec<Vec<u8>> = (0..5).map(|at| packet(&Self::data(at))).collect();
        let borrowed: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        Outbound::new(&association, &key, &mac_key).unwrap().seal(&borrowed, &mut sealed).unwrap();
        let case = Case::new(&association, &keys(suite, 0), sealed.packets());
        (association, case)
    }

    fn arrive(&self) {
        let name = self.suite.name;
        let (links, [near, far]) = both(self.suite, false);
        // scapy takes the place of this end
        near.path.stop();
        let (key, mac_key) = keys(self.suite, 0);
        far.associations
            .add_inbound(Inbound::new(&self.association, &key, &mac_key, WINDOW).unwrap());
        let arrived =
            links.ends[1].run(|| Ok(UdpSocket::bind((inner(1, false), PORT)).unwrap())).unwrap();
        arrived.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let there = SocketAddr::new(links.address(1, false), udp::PORT);
        let send = || {
            let socket = UdpSocket::bind((links.address(0, false), 0)).unwrap();
            for packet in &self.packets {
                assert_eq!(socket.send_to(packet, there).unwrap(), packet.len());
            }
            Ok(())
        };
        links.ends[0].run(send).unwrap();
        let mut buffer = [0; 2_000];
        for at in 0..self.packets.len() {
            let (bytes, from) = arrived
                .recv_from(&mut buffer)
                .unwrap_or_else(|error| panic!("{name}: {at}: {error}"));
            assert_eq!(&buffer[..bytes], Self::data(at), "{name}");
            assert_eq!(from.ip(), inner(0, false), "{name}");
        }
    }
}

#[test]
fn scapy_and_tshark_open_what_the_path_sent_and_the_path_what_scapy_sent() {
    let test = "scapy_and_tshark_open_what_the_path_sent_and_the_path_what_scapy_sent";
    let Some(scapy) = Scapy::found(test) else { return };
    with_namespaces(&format!("others::{test}"), || {
        let has_tshark = tshark::is_installed(test);
        let folder = tempfile::tempdir().unwrap();
        let (mut cases, mut made) = (Vec::new(), Vec::new());
        for suite in SUITES.map(|name| suite(name).unwrap()) {
            let (links, ends) = both(suite, false);
            agree(ends.each_ref().map(|end| &end.associations), suite);
            let mut captured = frames(&links, || send_blocks(&links, inner(1, false), BLOCKS));
            // packets sealed before the ends agreed on these
            captured.retain(|frame| {
                [0, 1].iter().any(|from| sealed_packet(frame, narrow(suite, *from).spi).is_some())
            });
            assert_eq!(
                captured.iter().map(|frame| markers(frame)).sum::<usize>(),
                0,
                "{}",
                suite.name
            );
            // the other end acknowledges what came, once if all of it came together
            for (from, fewest) in [(0, 3), (1, 1)] {
                let association = narrow(suite, from);
                let packets: Vec<&[u8]> = captured
                    .iter()
                    .filter_map(|frame| sealed_packet(frame, association.spi))
                    .collect();
                assert!(
                    packets.len() >= fewest,
                    "{}: {} packets of end {from}",
                    suite.name,
                    packets.len()
                );
                cases.push(Case::new(&association, &keys(suite, from), packets));
            }
            let (association, case) = Made::case(suite);
            made.push((suite, association));
            cases.push(case);

            if has_tshark {
                let file = folder.path().join(suite.name);
                save(&captured, &file);
                let packets = opened(&file, suite).expect("a suite that tshark has");
                let carried: String = packets
                    .iter()
                    .map(|packet| {
                        assert!(packet.is_good, "{}: {packets:?}", suite.name);
                        packet.payload.as_str()
                    })
                    .collect();
                assert!(
                    carried.matches(&hex(MARKER)).count() >= BLOCKS,
                    "{}: {carried}",
                    suite.name
                );
            }
        }
        let mut answers = scapy.open(&cases).into_iter();
        for (suite, association) in made {
            let mut next = || answers.next().expect("an answer to each case");
            let (sent, back, own) = (next(), next(), next());
            let stream = stream(&sent);
            assert_eq!(
                (stream.len(), markers(&stream)),
                (BLOCKS * BLOCK, BLOCKS),
                "{}",
                suite.name
            );
            assert!(back.inner.iter().all(|packet| markers(packet) == 0), "{}", suite.name);
            Made { suite, association, packets: own.theirs }.arrive();
        }
    });
}
