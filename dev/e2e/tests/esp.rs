//! Packets that another program opens, and packets of another program that we open: scapy's ESP, every suite that it
//! has, with its integrity checked. Not here: packets among ourselves (`crates/seal/tests/esp.rs`).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sealstone_cipher::backend::Backend;
use sealstone_cipher::testing::bytes;
use sealstone_seal::esp::{Association, Encryption, Inbound, Outbound, Sealed, Suite, suites};
use serde_json::{Value, json};

/// A Python that has scapy: on Debian that of the system.
fn python_with_scapy(name: &str) -> Option<PathBuf> {
    let has_scapy = |python: &&str| {
        let mut probe = Command::new(python);
        let probe = probe.args(["-W", "ignore", "-c", "import scapy.layers.ipsec"]);
        probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let found = ["/usr/bin/python3", "python3"].into_iter().find(has_scapy);
    if found.is_none() {
        println!("SKIP: {name}: no Python has scapy; make setup-esp installs it");
    }
    found.map(PathBuf::from)
}

/// What scapy calls the parts of a suite; `None` for one that it does not have.
fn theirs(suite: &Suite) -> Option<(&'static str, &'static str)> {
    let crypt = match suite.encryption {
        Encryption::Cbc("3des") => "3DES",
        Encryption::Cbc("blowfish") => "Blowfish",
        Encryption::Cbc("aes-128" | "aes-256") => "AES-CBC",
        Encryption::Gcm("aes-128" | "aes-256") => "AES-GCM",
        Encryption::Null => "NULL",
        Encryption::Cbc(_) | Encryption::Gcm(_) => return None,
    };
    let auth = match suite.mac {
        None => "NULL",
        Some("hmac-md5-96") => "HMAC-MD5-96",
        Some("hmac-sha1-96") => "HMAC-SHA1-96",
        Some("hmac-sha-256-128") => "SHA2-256-128",
        Some(_) => return None,
    };
    Some((crypt, auth))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &Value) -> Vec<u8> {
    let text = text.as_str().expect("a text");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal")).collect()
}

/// A UDP datagram with `length` bytes in an IPv4 packet. The header's checksum is right, the datagram has none.
fn packet(length: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0, 0, 64, 17, 0, 0, 192, 168, 1, 1, 192, 168, 1, 2];
    packet[2..4].copy_from_slice(&(28 + length).to_be_bytes());
    let sum: u32 = packet.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
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
    let Some(python) = python_with_scapy("scapy_opens_our_packets_and_we_open_scapys") else { return };
    let packets: Vec<Vec<u8>> = [0, 1, 7, 8, 9, 100, 1_372].map(packet).into();
    let mut cases = Vec::new();
    for suite in suites() {
        let Some((crypt, auth)) = theirs(suite) else { continue };
        for extended in [false, true] {
            // scapy has extended numbers with AEAD alone
            if extended && !matches!(suite.encryption, Encryption::Gcm(_)) {
                continue;
            }
            let association = Association { spi: 0x0bad_cafe, suite, extended, backend: Backend::auto() };
            let (key, auth_key) = (bytes("key", suite.key_bytes()), bytes("auth", suite.integrity_key_bytes()));
            let mut sealed = Sealed::default();
            let borrowed: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            Outbound::new(&association, &key, &auth_key).unwrap().seal(&borrowed, &mut sealed).unwrap();
            let line = json!({
                "spi": association.spi, "crypt": crypt, "auth": auth, "extended": extended,
                "key": hex(&key), "auth_key": hex(&auth_key),
                "packets": sealed.packets().map(hex).collect::<Vec<_>>(),
            });
            cases.push((association, key, auth_key, line.to_string()));
        }
    }
    assert!(cases.len() > 15, "{}", cases.len());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/esp/scapy_peer.py");
    let mut peer = Command::new(python);
    let peer = peer.args(["-W", "ignore"]).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut peer = peer.spawn().expect("Python starts");
    let lines: String = cases.iter().map(|(.., line)| format!("{line}\n")).collect();
    let mut stdin = peer.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = peer.wait_with_output().expect("Python ends");
    writer.join().unwrap().expect("Python reads");
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), cases.len(), "{answers}");
    for ((association, key, auth_key, _), answer) in cases.iter().zip(answers.lines()) {
        let name = association.suite.name;
        let answer: Value = serde_json::from_str(answer).unwrap();
        let mut inbound = Inbound::new(association, key, auth_key, 64).unwrap();
        for (at, packet) in packets.iter().enumerate() {
            assert!(unhex(&answer["inner"][at]) == *packet, "{name}: scapy read another packet");
            let mut theirs = unhex(&answer["theirs"][at]);
            let opened = inbound.open(&mut theirs).unwrap_or_else(|refused| panic!("{name}: {refused}"));
            let inner = &theirs[opened.expect("it is no dummy")];
            assert!(inner == packet, "{name}: {}", hex(inner));
        }
    }
}
