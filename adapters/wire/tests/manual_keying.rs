//! Associations from other programs: read in their notations; any other text is refused with the
//! line.

use sealstone_seal::esp::{Sealed, suites};
use sealstone_wire::path::{ManualAssociation, Unreadable, charon, xfrm};

const PRINTED: &str = "src 10.77.0.1 dst 10.77.0.2
\tproto esp spi 0xc0de0001 reqid 1 mode tunnel
\treplay-window 32 flag af-unspec esn
\taead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1fa0a1a2a3 128
\tencap type espinudp sport 4500 dport 4501 addr 0.0.0.0
\tanti-replay context: seq 0x0, oseq 0x0, bitmap 0x00000000
\tsel src 0.0.0.0/0 dst 0.0.0.0/0 
src fd77::2 dst fd77::1
\tproto esp spi 0xc0de0002(3235774466) reqid 1 mode tunnel
\treplay-window 0 flag noecn
\tauth-trunc hmac(sha256) 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128
\tenc cbc(aes) 0x000102030405060708090a0b0c0d0e0f
\tsel src 10.78.0.0/16 dst 10.78.0.1/32 proto tcp sport 1 dport 2
";

const ADDED: &str = "# as root
ip xfrm state add src 10.77.0.1 dst 10.77.0.2 proto esp spi 4096 mode tunnel \\
  auth 'hmac(sha1)' 0x000102030405060708090a0b0c0d0e0f10111213 enc 'cbc(blowfish)' 0x000102030405060708090a0b0c0d0e0f \\
  encap espinudp 4500 4500 0.0.0.0
ip xfrm state add src 10.77.0.2 dst 10.77.0.1 proto esp spi 0x1001 mode tunnel auth-trunc \"hmac(md5)\" \\
  0x000102030405060708090a0b0c0d0e0f 96 enc cbc(des3_ede) 0x000102030405060708090a0b0c0d0e0f1011121314151617
";

#[test]
fn what_iproute2_writes_is_read() {
    let printed = xfrm::read(PRINTED).unwrap();
    let [first, second] = &printed[..] else { panic!("{printed:?}") };
    assert_eq!((first.association.spi, first.association.suite.name), (0xc0de_0001, "aes-256-gcm"));
    assert!(first.association.extended && !second.association.extended);
    assert_eq!((first.ports, second.ports), (Some((4_500, 4_501)), None));
    assert_eq!(
        (first.source.to_string(), second.destination.to_string()),
        ("10.77.0.1".into(), "fd77::1".into())
    );
    assert_eq!(second.association.suite.name, "aes-128-sha256");
    let added = xfrm::read(ADDED).unwrap();
    let named: Vec<_> = added
        .iter()
        .map(|one| (one.association.spi, one.association.suite.name, one.ports))
        .collect();
    assert_eq!(named, [(4_096, "blowfish-sha1", Some((4_500, 4_500))), (4_097, "3des-md5", None)]);
    for one in printed.iter().chain(&added) {
        let packet = [&[0x45, 0, 0, 24][..], &[0; 16], b"data"].concat();
        let mut sealed = Sealed::default();
        one.outbound().unwrap().seal(&[&packet], &mut sealed).unwrap();
        let mut arrived = sealed.bytes().to_vec();
        let opened = one.inbound(64).unwrap().open(&mut arrived).unwrap().unwrap();
        assert_eq!(arrived[opened], packet);
        assert!(!format!("{one:?}").contains("key"), "{one:?}");
    }
}

/// As iproute2 6.1 prints it, with extended sequence numbers; the second one with -statistics.
const EXTENDED: &str = "src 127.0.0.1 dst 127.0.0.2
\tproto esp spi 0xc1000001 reqid 1 mode tunnel
\treplay-window 0 flag af-unspec esn
\taead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223 128
\tencap type espinudp sport 45999 dport 4500 addr 0.0.0.0
\tanti-replay esn context:
\t seq-hi 0x0, seq 0x0, oseq-hi 0x2, oseq 0x7
\t replay_window 32, bitmap-length 1
\t 00000000 
\tsel src 0.0.0.0/0 dst 0.0.0.0/0 
src 127.0.0.2 dst 127.0.0.1
\tproto esp spi 0xc2000002(3254779906) reqid 1(0x00000001) mode tunnel
\treplay-window 0 seq 0x00000099 flag af-unspec esn (0x00100080)
\tlastused 2026-11-25 18:00:00
\tmark 0x10/0xff
\taead rfc4106(gcm(aes)) 0x303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f50515253 (288 bits) 128
\tencap type espinudp sport 4500 dport 45999 addr 0.0.0.0
\tanti-replay esn context:
\t seq-hi 0x1, seq 0x25, oseq-hi 0x0, oseq 0x0
\t replay_window 96, bitmap-length 3
\t ffffffff 0000001f 00000000 
\tcrypto offload parameters: dev eth0 dir in mode packet
\tif_id 0x2a
\tsa direction that iproute2 will have: src 10.0.0.1 dst 10.0.0.2 spi 7 mode other
\tdir in
\tsel src 0.0.0.0/0 dst 0.0.0.0/0 
\tlifetime config:
\t  limit: soft (INF)(bytes), hard (INF)(bytes)
\t  limit: soft 10(packets), hard 1000(packets)
\t  expire add: soft 0(sec), hard 0(sec)
\t  expire use: soft 0(sec), hard 0(sec)
\tlifetime current:
\t  4321(bytes), 37(packets)
\t  add 2026-11-25 17:00:00 use 2026-11-25 17:00:01
\tstats:
\t  replay-window 0 replay 0 failed 0
\tsecurity context root:root
";

#[test]
fn numbers_of_64_bits_and_what_iproute2_says_beside_are_read() {
    let read = xfrm::read(EXTENDED).unwrap();
    let [first, second] = &read[..] else { panic!("{read:?}") };
    assert!(
        read.iter()
            .all(|one| one.association.extended && one.association.suite.name == "aes-256-gcm")
    );
    assert_eq!((first.association.spi, second.association.spi), (0xc100_0001, 0xc200_0002));
    assert_eq!((first.ports, second.ports), (Some((45_999, 4_500)), Some((4_500, 45_999))));
    assert_eq!(
        (second.source.to_string(), second.destination.to_string()),
        ("127.0.0.2".into(), "127.0.0.1".into())
    );
    assert_eq!((first.line, second.line), (1, 11));
    // the number of a request to a daemon is no packet count
    assert_eq!((first.sealed_before, first.came_before), ((2 << 32) + 7, 0));
    assert_eq!((second.sealed_before, second.came_before), (37, (1 << 32) + 0x25));

    // on one line each
    let (mut oneline, mut lines) = (String::new(), EXTENDED.lines().peekable());
    while let Some(line) = lines.next() {
        let ends = lines.peek().is_none_or(|next| next.starts_with("src "));
        oneline.push_str(&format!("{line}{}", if ends { "\n" } else { "\\" }));
    }
    let on_one = xfrm::read(&oneline).unwrap();
    assert_eq!(
        (on_one[1].line, on_one[1].sealed_before, on_one[1].came_before),
        (2, 37, (1 << 32) + 0x25)
    );

    // with options of every kind, and in any order
    let command = "ip -6 xfrm state add src fd77::1 dst fd77::2 proto esp spi 0x1000 reqid 7 seq 5 \
                   mark 1 mask 3 if_id 9 offload packet dev eth0 dir out flag noecn esn extra-flag \
                   oseq-may-wrap limit byte-hard 1000 limit packet-hard 5 coa fd77::3 tfcpad 9 \
                   output-mark 2 replay-window 64 replay-oseq 9 replay-oseq-hi 1 replay-seq 0x11 \
                   some-new-option 5 sel src fd78::1/128 dst fd78::2/128 mode tunnel auth-trunc \
                   hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213 96 enc cbc(aes) \
                   0x000102030405060708090a0b0c0d0e0f encap espinudp 4500 4501 0.0.0.0\n";
    let read = xfrm::read(&command.repeat(2)).unwrap();
    assert_eq!(read.len(), 2);
    for (at, one) in read.iter().enumerate() {
        assert_eq!(
            (one.association.suite.name, one.association.extended, one.line),
            ("aes-128-sha1", true, at + 1)
        );
        assert_eq!((one.ports, one.source.to_string()), (Some((4_500, 4_501)), "fd77::1".into()));
        assert_eq!((one.sealed_before, one.came_before), ((1 << 32) + 9, 0x11));
    }
}

/// Returns the keys of the texts above in any form must not be in `error`.
fn without_keys(error: &Unreadable) -> String {
    let said = error.to_string();
    assert!(!said.contains("0203") && !said.contains("02 03"), "{said}");
    said
}

#[test]
fn what_is_no_association_is_refused_with_its_line() {
    let refused = |text: &str| without_keys(&xfrm::read(text).unwrap_err());
    assert!(refused("").contains("line 1: there is no association\n"));
    for (change, to, line, found) in [
        (
            "mode tunnel",
            "mode transport",
            2,
            "\"transport\" after \"mode\", where only tunnel can be used",
        ),
        ("proto esp", "proto ah", 2, "\"ah\" after \"proto\""),
        ("0xc0de0001", "0xc0de00010", 2, "\"0xc0de00010\" after \"spi\""),
        ("0xc0de0001", "0xff", 1, "the index (spi) 0xff, which is reserved"),
        ("spi 0xc0de0001", "", 1, "an association without an index (spi)"),
        (
            "a0a1a2a3 128",
            "a0a1a2a3 96",
            4,
            "\"96\" after \"the key of aead\", where only 128 can be used",
        ),
        (
            "a0a1a2a3 128",
            "a0a1a2 128",
            1,
            "no suite has aes in GCM with a key of 35 bytes and no integrity",
        ),
        (
            "a0a1a2a3 128",
            "a0a1a2a 128",
            4,
            "the key after \"aead\" is no hexadecimal number that begins with 0x",
        ),
        ("0x0001020304", "0001020304", 4, "the key after \"aead\""),
        (
            "rfc4106(gcm(aes)) 0x",
            "rfc4106(gcm(aes))0x",
            4,
            "a word of 91 characters after \"aead\"",
        ),
        ("src 10.77.0.1", "src 10.77.0.1.9", 1, "\"10.77.0.1.9\" after \"src\""),
        ("dst 10.77.0.2", "", 1, "an association without a destination"),
        ("type espinudp", "type espintcp", 5, "\"espintcp\" after \"encap\""),
        ("dport 4501", "dport 70000", 5, "\"70000\" after \"dport\""),
        // an unknown line may be the needed one: it is skipped
        (
            "reqid 1",
            "request 1",
            1,
            "an association without mode tunnel; without a mode, ip takes transport",
        ),
        ("mode tunnel", "", 1, "an association without mode tunnel"),
        (
            "replay-window 32",
            "comp deflate\n\treplay-window 32",
            3,
            "\"comp\": packets are compressed",
        ),
        (
            "rfc4106(gcm(aes)) 0x0001",
            "rfc4106(gcm(aes)) <<Keys 0x0001",
            4,
            "the key after \"aead\"",
        ),
        ("src 10.77.0.1 dst", "dst", 1, "\"dst\" where an association should begin with src"),
        ("hmac(sha256)", "hmac(sha512)", 11, "\"hmac(sha512)\" of 128 bits after \"auth-trunc\""),
        ("cbc(aes)", "cbc(camellia)", 12, "\"cbc(camellia)\" after \"enc\", where cbc(aes)"),
    ] {
        let said = refused(&PRINTED.replacen(change, to, 1));
        assert!(
            said.contains(&format!("line {line}: ")) && said.contains(found),
            "{change} to {to}: {said}"
        );
    }
    let said = refused(PRINTED.split_at(PRINTED.len() / 4).0);
    assert!(said.contains("line "), "{said}");
    for end in 0..PRINTED.len() {
        let _ = xfrm::read(&PRINTED[..end]).map_err(|error| without_keys(&error));
    }
}

/// As charon 5.9.8 logged it.
const LOG: &str = "\
11[CFG] selected proposal: IKE:AES_CBC_128/HMAC_SHA2_256_128/PRF_HMAC_SHA2_256/CURVE_25519
11[IKE] establishing CHILD_SA net{1}
16[CFG] selected proposal: ESP:AES_CBC_128/HMAC_SHA1_96/NO_EXT_SEQ
16[CHD] CHILD_SA net{1} state change: CREATED => INSTALLING
16[CHD]   using AES_CBC for encryption
16[CHD]   using HMAC_SHA1_96 for integrity
16[CHD] seed => 16 bytes @ 0x7f8fd93f7960
16[CHD]    0: E6 2A 60 B5 39 CC E7 3D 30 C2 58 E8 C2 A1 9F 43  .*`.9..=0.X....C
16[CHD] encryption initiator key => 16 bytes @ 0x7f8f980049f0
16[CHD]    0: 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F  .Z.R.q....sJO.g.
16[CHD] encryption responder key => 16 bytes @ 0x7f8f980059a0
16[CHD]    0: 10 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F  .G..~*.e....Bg.$
16[CHD] integrity initiator key => 20 bytes @ 0x7f8f98006750
16[CHD]    0: 20 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F  ...Nv....Z.H.x`.
16[CHD]   16: 10 11 12 13                                      ..;u
16[CHD] integrity responder key => 20 bytes @ 0x7f8f980059c0
16[CHD]    0: 30 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F  .=...X<....'...9
16[CHD]   16: 10 11 12 13                                      h.\"6
16[CHD] adding inbound ESP SA
16[CHD]   SPI 0xb2d76d32, src 10.77.0.2 dst 10.77.0.1
16[CHD] adding outbound ESP SA
16[CHD]   SPI 0x916d3cf9, src 10.77.0.1 dst 10.77.0.2
16[IKE] CHILD_SA net{1} established with SPIs b2d76d32_i 916d3cf9_o and TS 10.78.0.1/32 === 10.78.0.2/32
16[CHD] CHILD_SA net{1} state change: INSTALLING => INSTALLED
";

fn opens(by: &ManualAssociation, of: &ManualAssociation) -> bool {
    let packet = [&[0x45, 0, 0, 24][..], &[0; 16], b"data"].concat();
    let mut sealed = Sealed::default();
    of.outbound().unwrap().seal(&[&packet], &mut sealed).unwrap();
    by.inbound(64).unwrap().open(&mut sealed.bytes().to_vec()).is_ok()
}

#[test]
fn what_charon_logs_is_read() {
    let read = charon::read(LOG).unwrap();
    let [inbound, outbound] = &read[..] else { panic!("{read:?}") };
    assert_eq!((inbound.association.spi, outbound.association.spi), (0xb2d7_6d32, 0x916d_3cf9));
    assert_eq!(
        (inbound.association.suite.name, inbound.association.extended),
        ("aes-128-sha1", false)
    );
    assert_eq!(outbound.source.to_string(), "10.77.0.1");
    // the same keys written in the other form: the initiator sends by the initiator's keys
    let keys = "auth hmac(sha1) 0x200102030405060708090a0b0c0d0e0f10111213 enc cbc(aes) \
                0x000102030405060708090a0b0c0d0e0f";
    let same = xfrm::read(&format!(
        "src 10.77.0.1 dst 10.77.0.2 proto esp spi 0x916d3cf9 mode tunnel {keys}"
    ))
    .unwrap();
    assert!(opens(&same[0], outbound));
    // as the other end has it, and with the time before each line
    let there = LOG
        .replace("11[IKE] establishing CHILD_SA net{1}\n", "")
        .replace("16[", "Nov 23 11:00:00 16[");
    let there = charon::read(
        &there.replace("inbound", "X").replace("outbound", "inbound").replace(" X ", " outbound "),
    );
    assert!(opens(&there.unwrap()[1], outbound));
    let extended = charon::read(&LOG.replace("NO_EXT_SEQ", "EXT_SEQ")).unwrap();
    assert!(extended[0].association.extended);
}

#[test]
fn a_log_without_keys_is_refused_with_its_line() {
    let refused = |text: &str| without_keys(&charon::read(text).unwrap_err());
    assert!(refused("").contains("no association was in it with its keys\nlog keys by: filelog"));
    for (change, to, line, found) in [
        (
            "AES_CBC for",
            "CAMELLIA_CBC for",
            5,
            "\"CAMELLIA_CBC\" for encryption, which no suite has",
        ),
        ("HMAC_SHA1_96 for", "AES_XCBC_96 for", 6, "\"AES_XCBC_96\" for integrity"),
        (
            "key => 16 bytes",
            "key => 99 bytes",
            9,
            "encryption initiator key without a length of 1 to 64 bytes",
        ),
        ("0: 10 01 02 03", "0: 10 01 02", 12, "encryption responder key: 16 bytes are missing"),
        ("0: 10 01 02 03", "0: 10 01 02 0G", 12, "encryption responder key: 16 bytes are missing"),
        ("SPI 0xb2d76d32, src", "SPI 0xb2d76d32 from", 20, "an index without its addresses"),
        ("SPI 0xb2d76d32", "SPI 0xb2d76d329", 20, "an association without an index (spi)"),
        ("src 10.77.0.2", "src here", 20, "an association without a source"),
    ] {
        let said = refused(&LOG.replacen(change, to, 1));
        assert!(
            said.contains(&format!("line {line}: ")) && said.contains(found),
            "{change} to {to}: {said}"
        );
    }
    let without_keys_logged: Vec<&str> =
        LOG.lines().filter(|line| !line.contains("key") && !line.contains(": ")).collect();
    assert!(refused(&without_keys_logged.join("\n")).contains("line "));
    for end in 0..LOG.len() {
        let _ = charon::read(&LOG[..end]).map_err(|error| without_keys(&error));
    }
    assert!(suites().len() > 15);
}
