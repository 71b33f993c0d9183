//! Packets through every suite and back, and attacks on them on the wire.

use sealstone_cipher::Backend;
use sealstone_cipher::testing::bytes;
use sealstone_seal::esp::{
    Association, Encryption, EspError, Inbound, Lifetime, Outbound, Refusal, Sealed, Suite, suite,
    suites,
};

fn association(suite: &'static Suite, extended: bool) -> Association {
    Association { spi: 0x1234_5678, suite, extended, backend: Backend::auto() }
}

fn ends(association: &Association) -> (Outbound, Inbound) {
    let suite = association.suite;
    let (key, mac_key) =
        (bytes("esp key", suite.key_bytes()), bytes("esp mac key", suite.integrity_key_bytes()));
    let outbound = Outbound::new(association, &key, &mac_key).unwrap();
    (outbound, Inbound::new(association, &key, &mac_key, 1024).unwrap())
}

/// Returns an IPv4 packet, or an IPv6 one, with `length` bytes behind its header.
fn packet(version: u8, length: usize) -> Vec<u8> {
    let mut packet = match version {
        4 => vec![0x45; 20],
        _ => vec![0x60; 40],
    };
    let total = u16::try_from(20 + length).unwrap().to_be_bytes();
    match version {
        4 => packet[2..4].copy_from_slice(&total),
        _ => packet[4..6].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes()),
    }
    packet.extend(bytes("packet", length));
    packet
}

fn sealed_one(outbound: &mut Outbound, packet: &[u8]) -> Vec<u8> {
    let mut sealed = Sealed::default();
    outbound.seal(&[packet], &mut sealed).unwrap();
    sealed.bytes().to_vec()
}

#[test]
fn every_suite_carries_packets_of_every_length() {
    for suite in suites() {
        for extended in [false, true] {
            let (mut outbound, mut inbound) = ends(&association(suite, extended));
            let packets: Vec<Vec<u8>> = (0..70)
                .flat_map(|length| [packet(4, length), packet(6, length)])
                .chain([packet(4, 1_400), packet(6, 1_400), packet(4, 65_515)])
                .collect();
            let borrowed: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            let mut sealed = Sealed::default();
            outbound.seal(&borrowed[..100], &mut sealed).unwrap();
            outbound.seal(&borrowed[100..], &mut sealed).unwrap();
            assert_eq!(sealed.packets().len(), packets.len());
            assert_eq!(sealed.packets().map(<[u8]>::len).sum::<usize>(), sealed.bytes().len());
            for (packet, sealed) in packets.iter().zip(sealed.packets()) {
                assert_eq!(sealed.len(), packet.len() + outbound.overhead_bytes(packet.len()));
                let mut arrived = sealed.to_vec();
                let opened = inbound.open(&mut arrived).unwrap().unwrap();
                assert!(arrived[opened] == packet[..], "{} of {} bytes", suite.name, packet.len());
                if suite.encryption != Encryption::Null && packet.len() > 60 {
                    assert!(
                        !sealed.windows(16).any(|window| window == &packet[40..56]),
                        "{}",
                        suite.name
                    );
                }
            }
            let counters = inbound.counters();
            assert_eq!((counters.packets, counters.dummies), (packets.len() as u64, 0));
            assert_eq!(counters.bytes, packets.iter().map(Vec::len).sum::<usize>() as u64);
            assert_eq!(outbound.used().packets, packets.len() as u64);
        }
    }
}

#[test]
fn initialisation_vectors_differ_and_nonces_count() {
    for suite in suites().iter().filter(|suite| suite.iv_bytes() > 0) {
        let (mut outbound, _) = ends(&association(suite, true));
        let data = packet(4, 10);
        let packets: Vec<Vec<u8>> = (0..200).map(|_| sealed_one(&mut outbound, &data)).collect();
        let mut ivs: Vec<&[u8]> =
            packets.iter().map(|packet| &packet[8..8 + suite.iv_bytes()]).collect();
        ivs.sort_unstable();
        ivs.dedup();
        assert_eq!(ivs.len(), packets.len(), "{}", suite.name);
        // under CBC two vectors in a row differ in about half of their bits
        if matches!(suite.encryption, Encryption::Cbc(_)) {
            let distance = |a: &[u8], b: &[u8]| {
                a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
            };
            let apart: u32 =
                packets.windows(2).map(|pair| distance(&pair[0][8..16], &pair[1][8..16])).sum();
            assert!(
                (199 * 28..199 * 36).contains(&apart),
                "{}: {apart} of {} bits",
                suite.name,
                199 * 64
            );
        }
    }
}

#[test]
fn what_was_repeated_reordered_or_is_not_for_it_has_no_effect() {
    for name in ["aes-256-gcm", "3des-md5", "aes-128-sha256"] {
        for extended in [false, true] {
            let here = association(suite(name).unwrap(), extended);
            let (mut outbound, mut inbound) = ends(&here);
            let data = packet(6, 90);
            let packets: Vec<Vec<u8>> =
                (0..3_000).map(|_| sealed_one(&mut outbound, &data)).collect();
            let mut open =
                |at: usize| inbound.open(&mut packets[at].clone()).map(|opened| opened.is_some());
            // within the window in any order, beyond it none
            for at in [5, 3, 4, 0, 1_023] {
                assert_eq!(open(at), Ok(true), "{name} {at}");
            }
            assert_eq!((open(3), open(1_023)), (Err(Refusal::Replayed), Err(Refusal::Replayed)));
            assert_eq!(open(2_999), Ok(true));
            // an extended number is taken for one of the next 2^32, with which the packet is not
            // authenticated
            let too_old = if extended { Refusal::Authentication } else { Refusal::TooOld };
            assert_eq!((open(1_975), open(2_000)), (Err(too_old), Ok(true)));

            let mut foreign = packets[2_100].clone();
            foreign[3] ^= 1;
            assert_eq!(inbound.open(&mut foreign), Err(Refusal::OtherSpi));
            let (mut other, _) = {
                let suite = here.suite;
                let (key, mac_key) =
                    (vec![9; suite.key_bytes()], vec![8; suite.integrity_key_bytes()]);
                (Outbound::new(&here, &key, &mac_key).unwrap(), ())
            };
            let mut high = sealed_one(&mut other, &data);
            high[4..8].copy_from_slice(&4_000_u32.to_be_bytes());
            assert_eq!(inbound.open(&mut high), Err(Refusal::Authentication), "{name}");
            assert!(high.iter().skip(50).any(|byte| *byte != 0) || name.ends_with("gcm"));
            for length in 0..packets[2_200].len() {
                let mut torn = packets[2_200][..length].to_vec();
                let refused = inbound.open(&mut torn).unwrap_err();
                assert!(
                    matches!(refused, Refusal::Length | Refusal::Authentication),
                    "{name} {length}: {refused}"
                );
            }
            // none of it moved the window
            assert_eq!(
                inbound.open(&mut packets[2_200].clone()).map(|opened| opened.is_some()),
                Ok(true)
            );
            let counters = inbound.counters();
            assert_eq!(counters.packets, 8);
            let old = u64::from(!extended);
            assert_eq!(
                (counters.refused(Refusal::Replayed), counters.refused(Refusal::TooOld)),
                (2, old)
            );
            assert_eq!(counters.refused(Refusal::OtherSpi), 1);
            let torn =
                counters.refused(Refusal::Length) + counters.refused(Refusal::Authentication);
            assert_eq!(torn, packets[2_200].len() as u64 + 1 + u64::from(extended));
        }
    }
}

/// A million changes to genuine packets, of one to four bytes: none is accepted.
#[test]
fn no_mutation_is_accepted() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let authenticated: Vec<&'static Suite> =
        suites().iter().filter(|suite| suite.tag_bytes() > 0).collect();
    let each = 1_000_000 / authenticated.len() + 1;
    for suite in authenticated {
        let (mut outbound, mut inbound) = ends(&association(suite, true));
        let genuine: Vec<Vec<u8>> =
            (0..16).map(|length| sealed_one(&mut outbound, &packet(4, length * 4))).collect();
        let mut changed = Vec::new();
        let (_, mut many) = ends(&association(suite, true));
        let (mut batch, mut opened) = (Vec::new(), Vec::new());
        for _ in 0..each {
            let packet = &genuine[random(genuine.len())];
            changed.clear();
            changed.extend_from_slice(packet);
            for _ in 0..=random(4) {
                let at = random(changed.len());
                changed[at] ^= 1 << random(8);
            }
            if changed != *packet {
                batch.push(changed.clone());
                assert!(inbound.open(&mut changed).is_err(), "{}", suite.name);
            }
            if batch.len() == 50 {
                many.open_many(
                    &mut batch.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>(),
                    &mut opened,
                );
                assert!(opened.len() == 50 && opened.iter().all(Result::is_err), "{}", suite.name);
                batch.clear();
            }
        }
        assert_eq!((inbound.counters().packets, many.counters().packets), (0, 0));
        for mut packet in genuine {
            assert!(inbound.open(&mut packet).is_ok(), "{}", suite.name);
        }
    }
}

#[test]
fn a_sequence_number_beyond_32_bits_is_found_again() {
    // the window has the same in its own tests, near 2^32 and beyond; here with packets
    let here = association(suite("aes-128-sha1").unwrap(), true);
    let (mut outbound, mut inbound) = ends(&here);
    let data = packet(4, 8);
    for _ in 0..3 {
        let mut packet = sealed_one(&mut outbound, &data);
        assert!(inbound.open(&mut packet).is_ok());
    }
    // a packet authenticated with another upper half is not genuine
    let narrow = association(suite("aes-128-sha1").unwrap(), false);
    let (mut other, _) = ends(&narrow);
    (0..3).for_each(|_| drop(sealed_one(&mut other, &data)));
    assert_eq!(inbound.open(&mut sealed_one(&mut other, &data)), Err(Refusal::Authentication));
}

#[test]
fn keys_end_before_they_must() {
    let here = association(suite("3des-sha1").unwrap(), true);
    assert_eq!(Lifetime::longest(&here).blocks, 1 << 20);
    let (outbound, _) = ends(&here);
    let mut outbound = outbound.with_lifetime(Lifetime { packets: 1_000, blocks: 96 });
    let data = packet(4, 236);
    let mut sealed = Sealed::default();
    assert!(!outbound.is_due());
    // 256 bytes, pad length and next header: 33 blocks of 8 bytes
    outbound.seal(&[&data, &data], &mut sealed).unwrap();
    assert_eq!(outbound.used(), Lifetime { packets: 2, blocks: 66 });
    let before = sealed.bytes().to_vec();
    let error = outbound.seal(&[&data], &mut sealed).unwrap_err();
    assert_eq!(
        error,
        EspError::Exhausted { spi: here.spi, suite: "3des-sha1", packets: 2, blocks: 66 }
    );
    assert!(error.to_string().ends_with("agree on a successor"));
    assert!(sealed.bytes() == before && sealed.packets().len() == 2);
    // a smaller one still fits, and then it is due
    outbound.seal(&[&packet(4, 120)], &mut sealed).unwrap();
    assert!(outbound.is_due());
    let whole = Lifetime::longest(&association(suite("aes-256-gcm").unwrap(), false));
    assert_eq!(whole.packets, u64::from(u32::MAX));
}

/// Keys that have sealed before continue behind that, no further than is reserved, and what came is
/// not taken again.
#[test]
fn keys_continue_where_they_were() {
    for suite in suites().iter().filter(|suite| suite.cipher().is_some()) {
        let association = association(suite, true);
        let (mut first, mut inbound) = ends(&association);
        let data = packet(4, 100);
        let mut before: Vec<Vec<u8>> = (0..20).map(|_| sealed_one(&mut first, &data)).collect();
        for packet in &mut before.clone() {
            inbound.open(packet).unwrap();
        }
        let used = first.used();
        assert_eq!(used.packets, 20);
        let mut again = ends(&association).0.after(used);
        let mut sealed = Sealed::default();
        let refused = again.seal(&[&data], &mut sealed).unwrap_err();
        assert!(matches!(refused, EspError::Unreserved { packets: 21, .. }), "{refused}");
        assert!(sealed.bytes().is_empty() && again.used() == used);
        again.reserve(Lifetime { packets: 22, blocks: u64::MAX });
        let after: Vec<Vec<u8>> = (0..2).map(|_| sealed_one(&mut again, &data)).collect();
        assert!(again.seal(&[&data], &mut sealed).is_err(), "no more than is reserved");
        // index, number and initialisation vector: none comes twice
        let heads: std::collections::BTreeSet<&[u8]> =
            before.iter().chain(&after).map(|one| &one[..16]).collect();
        assert_eq!(heads.len(), 22, "{}", suite.name);
        let mut restarted = ends(&association).1.after(inbound.newest());
        assert!(before.iter_mut().all(|old| restarted.open(old).is_err()), "{}", suite.name);
        assert!(
            after.into_iter().all(|mut new| restarted.open(&mut new).is_ok()),
            "{}",
            suite.name
        );
    }
}

#[test]
fn what_is_no_ip_packet_is_not_sealed() {
    let (mut outbound, _) = ends(&association(suite("aes-256-gcm").unwrap(), true));
    let good = packet(4, 10);
    let mut sealed = Sealed::default();
    let longer = [good.as_slice(), &[0]].concat();
    for wrong in [b"".as_slice(), &good[..29], &longer, &[0x55; 40]] {
        assert_eq!(outbound.seal(&[&good, wrong], &mut sealed), Err(EspError::NotIp { index: 1 }));
        assert!(sealed.bytes().is_empty() && sealed.packets().len() == 0);
    }
    assert_eq!(outbound.used().packets, 0);
}

/// A holder of the keys may still send nonsense: packets put together by hand, under the suite that
/// authenticates nothing.
#[test]
fn what_a_careless_sender_sealed_is_refused_or_thrown_away() {
    let here = association(suite("null").unwrap(), false);
    let (_, mut inbound) = ends(&here);
    let mut number = 0_u32;
    let mut open = |data: &[u8], padding: &[u8], length: u8, protocol: u8| {
        number += 1;
        let head = [here.spi.to_be_bytes(), number.to_be_bytes()].concat();
        let mut packet = [&head, data, padding, &[length, protocol]].concat();
        let opened = inbound.open(&mut packet);
        (opened.clone(), opened.is_err() && packet.iter().all(|byte| *byte == 0))
    };
    let inner = packet(4, 2);
    // 22 bytes, which need no padding
    assert_eq!(open(&inner, &[], 0, 4), (Ok(Some(8..30)), false));
    assert_eq!(open(&inner, &[1, 2, 3, 4], 4, 4), (Ok(Some(8..30)), false));
    for (padding, length) in [(&[1, 2, 3, 5][..], 4), (&[0, 1, 2, 3], 4), (&[], 23), (&[], 255)] {
        assert_eq!(
            open(&inner, padding, length, 4),
            (Err(Refusal::Padding), true),
            "{padding:?} {length}"
        );
    }
    // the bytes after the packet hide its length; a number of another protocol, a torn packet, no
    // packet
    assert_eq!(open(&inner, &[9; 8], 0, 4), (Ok(Some(8..30)), false));
    for (data, protocol) in [(&inner[..], 41), (&inner[..], 6), (&inner[..18], 4), (&[0x15; 22], 4)]
    {
        assert_eq!(open(data, &[], 0, protocol), (Err(Refusal::Inner), true), "{protocol}");
    }
    assert_eq!(open(&[0; 22], &[], 0, 59), (Ok(None), false));
    let counters = inbound.counters();
    assert_eq!((counters.packets, counters.dummies), (3, 1));
    assert_eq!((counters.refused(Refusal::Padding), counters.refused(Refusal::Inner)), (4, 4));
}

#[test]
fn wrong_keys_and_indices_are_refused() {
    let gcm = suite("aes-256-gcm").unwrap();
    let reserved = Association { spi: 255, ..association(gcm, true) };
    assert_eq!(
        Outbound::new(&reserved, &[0; 36], &[]).unwrap_err(),
        EspError::ReservedSpi { spi: 255 }
    );
    let error = Inbound::new(&association(gcm, true), &[0; 32], &[], 64).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("an encryption key of 32 bytes for suite aes-256-gcm, which takes 36\n")
    );
    let error = Inbound::new(&association(gcm, true), &[0; 36], &[0; 1], 64).unwrap_err();
    assert!(error.to_string().starts_with("an integrity key of 1 bytes"));
    let (outbound, inbound) = ends(&association(gcm, true));
    let shown = format!("{outbound:?} {inbound:?}");
    assert!(shown.contains("aes-256-gcm") && !shown.contains("salt"), "{shown}");
}
