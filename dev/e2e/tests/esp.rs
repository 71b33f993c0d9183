//! Packets that another program opens, and packets of another program that we open: scapy's ESP,
//! every suite that it has, with its integrity checked. Not here: our own packets on both sides
//! (`crates/seal/tests/esp.rs`), packets of a running path (`adapters/wire/tests/path/others.rs`).

use sealstone_cipher::Backend;
use sealstone_cipher::testing::bytes;
use sealstone_seal::esp::{Association, Encryption, Inbound, Outbound, Sealed, suites};

use crate::scapy::{Case, Scapy, hex, theirs};

#[path = "../../../adapters/wire/tests/scapy/mod.rs"]
mod scapy;

/// Returns a UDP datagram with `length` bytes in an IPv4 packet. The header's checksum is right,
/// the datagram has none.
fn packet(length: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0, 0, 64, 17, 0, 0, 192, 168, 1, 1, 192, 168, 1, 2];
    packet[2..4].copy_from_slice(&(28 + length).to_be_bytes());
    let sum: u32 =
        packet.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    packet.extend([0x30, 0x39, 0xd4, 0x31]);
    packet.extend((8 + length).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(bytes("datagram", usize::from(length)));
    packet
}

#[test]
fn scapy_opens_our_packets_and_we_open_scapys() {
    let Some(scapy) = Scapy::found("scapy_opens_our_packets_and_we_open_scapys") else { return };
    let packets: Vec<Vec<u8>> = [0, 1, 7, 8, 9, 100, 1_372].map(packet).into();
    let (mut associations, mut cases) = (Vec::new(), Vec::new());
    for suite in suites().iter().filter(|suite| theirs(suite).is_some()) {
        for extended in [false, true] {
            // scapy has extended numbers with AEAD alone
            if extended && !matches!(suite.encryption, Encryption::Gcm(_)) {
                continue;
            }
            let association =
                Association { spi: 0x0bad_cafe, suite, extended, backend: Backend::auto() };
            let keys =
                (bytes("key", suite.key_bytes()), bytes("auth", suite.integrity_key_bytes()));
            let mut sealed = Sealed::default();
            let borrowed: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            Outbound::new(&association, &keys.0, &keys.1)
                .unwrap()
                .seal(&borrowed, &mut sealed)
                .unwrap();
            cases.push(Case::new(&association, &keys, sealed.packets()));
            associations.push((association, keys));
        }
    }
    assert!(cases.len() > 15, "{}", cases.len());
    for ((association, (key, auth_key)), answer) in associations.iter().zip(scapy.open(&cases)) {
        let name = association.suite.name;
        let mut inbound = Inbound::new(association, key, auth_key, 64).unwrap();
        assert!(answer.inner == packets, "{name}: scapy read other packets");
        for (mut theirs, packet) in answer.theirs.into_iter().zip(&packets) {
            let opened =
                inbound.open(&mut theirs).unwrap_or_else(|refused| panic!("{name}: {refused}"));
            let inner = &theirs[opened.expect("it is no dummy")];
            assert!(inner == packet, "{name}: {}", hex(inner));
        }
    }
}
