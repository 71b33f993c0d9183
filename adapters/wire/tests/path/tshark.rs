//! Checks by tshark of our path's packets on the link, once opened: integrity of every packet, and
//! the checksum of the TCP segment inside.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use sealstone_cipher::Backend;
use sealstone_cipher::suites::{Encryption, Hash};
use sealstone_seal::esp::{Association, Inbound, Outbound, Suite, suites};
use sealstone_wire::path::Associations;

use crate::capture::frames;
use crate::lab::{WINDOW, both, inner, keys, tcp_both_ways, with_namespaces};
use crate::scapy::hex;

/// Returns tshark's names for the parts of a suite; `None` for a suite that it does not have.
fn theirs(suite: &Suite) -> Option<(&'static str, &'static str)> {
    let encryption = match (suite.cipher()?.name, suite.encryption) {
        ("3des", Encryption::Cbc(_)) => "TripleDES-CBC [RFC2451]",
        ("blowfish", Encryption::Cbc(_)) => "BLOWFISH-CBC [RFC2451]",
        ("aes-128" | "aes-256", Encryption::Cbc(_)) => "AES-CBC [RFC3602]",
        ("aes-128" | "aes-256", Encryption::Gcm(_)) => "AES-GCM with 16 octet ICV [RFC4106]",
        _ => return None,
    };
    let integrity = match suite.mac.map(|mac| mac.hash) {
        None => "NULL",
        Some(Hash::Md5) => "HMAC-MD5-96 [RFC2403]",
        Some(Hash::Sha1) => "HMAC-SHA-1-96 [RFC2404]",
        Some(Hash::Sha256) => "HMAC-SHA-256-128 [RFC4868]",
    };
    Some((encryption, integrity))
}

/// Returns the association by which end `from` seals once [`agree`] was called: tshark has no
/// sequence numbers of 64 bits.
pub(crate) fn narrow(suite: &'static Suite, from: usize) -> Association {
    Association { spi: 0x2000 + from as u32, suite, extended: false, backend: Backend::auto() }
}

/// Has both ends seal and open by [`narrow`] associations.
pub(crate) fn agree(associations: [&Arc<Associations>; 2], suite: &'static Suite) {
    for from in [0, 1] {
        let (association, (key, mac_key)) = (narrow(suite, from), keys(suite, from));
        associations[1 - from]
            .add_inbound(Inbound::new(&association, &key, &mac_key, WINDOW).unwrap());
        let peer = associations[from].outbound_status().unwrap().peer;
        associations[from].set_outbound(Outbound::new(&association, &key, &mac_key).unwrap(), peer);
    }
}

/// Writes frames of Ethernet to a file in the form of pcap.
pub(crate) fn save(frames: &[Vec<u8>], path: &Path) {
    let numbers = |numbers: &[u32]| {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()
    };
    let mut file = numbers(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1]);
    for (at, frame) in frames.iter().enumerate() {
        file.extend(numbers(&[at as u32, 0, frame.len() as u32, frame.len() as u32]));
        file.extend(frame);
    }
    std::fs::write(path, file).unwrap();
}

/// Result of tshark for a sealed packet.
#[derive(Debug)]
pub(crate) struct Opened {
    /// True if its integrity is good.
    pub(crate) is_good: bool,
    /// The state of the checksum of the TCP segment in it: 1 good, 0 bad.
    checksum: String,
    /// Payload of that segment, in hexadecimal.
    pub(crate) payload: String,
}

/// Returns what tshark finds in each sealed packet of `file`, which [`narrow`] associations of
/// `suite` sealed; `None` for a suite that it does not have.
pub(crate) fn opened(file: &Path, suite: &Suite) -> Option<Vec<Opened>> {
    let names = theirs(suite)?;
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args([
        "-o",
        "esp.enable_encryption_decode:TRUE",
        "-o",
        "tcp.check_checksum:TRUE",
    ]);
    tshark.args(["-o", "esp.enable_authentication_check:TRUE"]);
    for from in [0, 1] {
        let (key, mac_key) = keys(suite, from);
        let mac_key =
            if mac_key.is_empty() { String::new() } else { format!("0x{}", hex(&mac_key)) };
        let (spi, key) = (0x2000 + from, hex(&key));
        let row = format!(
            "uat:esp_sa:\"IPv4\",\"*\",\"*\",\"{spi:#010x}\",\"{}\",\"0x{key}\",\"{}\",\
             \"{mac_key}\"",
            names.0, names.1
        );
        tshark.args(["-o", &row]);
    }
    tshark.args(["-Y", "esp", "-T", "fields", "-e", "esp.icv_good", "-e", "tcp.checksum.status"]);
    tshark.args(["-e", "tcp.payload"]);
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}: {}", suite.name, String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let packet = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut next = || fields.next().unwrap_or_default();
        let is_good = matches!(next().as_str(), "1" | "True");
        Opened { is_good, checksum: next(), payload: next().replace(':', "") }
    };
    Some(text.lines().map(packet).collect())
}

/// Returns whether tshark is installed; prints SKIP for the test `name` if not.
pub(crate) fn is_installed(name: &str) -> bool {
    let probe = Command::new("tshark")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if probe.is_err() {
        println!("SKIP: {name}: tshark is not installed; make setup-strongswan installs it");
    }
    probe.is_ok()
}

#[test]
fn tshark_opens_what_is_on_the_link() {
    if !is_installed("tshark_opens_what_is_on_the_link") {
        return;
    }
    with_namespaces("tshark::tshark_opens_what_is_on_the_link", || {
        let folder = tempfile::tempdir().unwrap();
        for suite in suites().iter().filter(|suite| theirs(suite).is_some()) {
            let (links, ends) = both(suite, false);
            agree(ends.each_ref().map(|end| &end.associations), suite);
            let tunnel = [0, 1].map(|end| inner(end, false));
            let captured = frames(&links, || tcp_both_ways(&links, tunnel, 1 << 17));
            let file = folder.path().join(suite.name);
            save(&captured, &file);
            let packets = opened(&file, suite).expect("a suite that tshark has");
            assert!(packets.len() > 180, "{}: {} packets", suite.name, packets.len());
            let good = packets.iter().filter(|packet| packet.is_good).count();
            // packets sealed before the keys of this test
            assert!(good + 4 >= packets.len(), "{}: {good} of {}", suite.name, packets.len());
            let [intact, broken] =
                ["1", "0"].map(|state| packets.iter().filter(move |one| one.checksum == state));
            assert!(intact.count() > 180, "{}: {packets:?}", suite.name);
            assert_eq!(broken.count(), 0, "{}", suite.name);
        }
    });
}
