//! What our path put on the link, opened and checked by tshark: integrity of every packet, and the checksum of the TCP
//! segment inside. Not here: capturing (`capture`).

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use sealstone_cipher::backend::Backend;
use sealstone_seal::esp::{Association, Encryption, Inbound, Outbound, Suite, suites};
use sealstone_wire::associations::Associations;

use crate::capture::frames;
use crate::lab::{WINDOW, both, inner, keys, tcp_both_ways, with_namespaces};

/// What tshark calls the parts of a suite; `None` for one that it does not have.
fn theirs(suite: &Suite) -> Option<(&'static str, &'static str)> {
    let encryption = match suite.encryption {
        Encryption::Cbc("3des") => "TripleDES-CBC [RFC2451]",
        Encryption::Cbc("blowfish") => "BLOWFISH-CBC [RFC2451]",
        Encryption::Cbc("aes-128" | "aes-256") => "AES-CBC [RFC3602]",
        Encryption::Gcm("aes-128" | "aes-256") => "AES-GCM with 16 octet ICV [RFC4106]",
        _ => return None,
    };
    let integrity = match suite.mac {
        None => "NULL",
        Some("hmac-md5-96") => "HMAC-MD5-96 [RFC2403]",
        Some("hmac-sha1-96") => "HMAC-SHA-1-96 [RFC2404]",
        Some("hmac-sha-256-128") => "HMAC-SHA-256-128 [RFC4868]",
        Some(_) => return None,
    };
    Some((encryption, integrity))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// tshark has no sequence numbers of 64 bits.
fn narrow(suite: &'static Suite, from: usize) -> Association {
    Association { spi: 0x2000 + from as u32, suite, extended: false, backend: Backend::auto() }
}

fn agree(associations: [&Arc<Associations>; 2], suite: &'static Suite) {
    for from in [0, 1] {
        let (association, (key, mac_key)) = (narrow(suite, from), keys(suite, from));
        associations[1 - from].add_inbound(Inbound::new(&association, &key, &mac_key, WINDOW).unwrap());
        let peer = associations[from].outbound_status().unwrap().peer;
        associations[from].set_outbound(Outbound::new(&association, &key, &mac_key).unwrap(), peer);
    }
}

/// A file of frames of Ethernet in the form of pcap.
fn save(frames: &[Vec<u8>], path: &Path) {
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = numbers(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1]);
    for (at, frame) in frames.iter().enumerate() {
        file.extend(numbers(&[at as u32, 0, frame.len() as u32, frame.len() as u32]));
        file.extend(frame);
    }
    std::fs::write(path, file).unwrap();
}

/// For each sealed packet of `file`: whether its integrity is good, and the state of the checksum inside.
fn opened(file: &Path, suite: &Suite, names: (&str, &str)) -> Vec<(String, String)> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).args(["-o", "esp.enable_encryption_decode:TRUE", "-o", "tcp.check_checksum:TRUE"]);
    tshark.args(["-o", "esp.enable_authentication_check:TRUE"]);
    for from in [0, 1] {
        let (key, mac_key) = keys(suite, from);
        let mac_key = if mac_key.is_empty() { String::new() } else { format!("0x{}", hex(&mac_key)) };
        let (spi, key) = (0x2000 + from, hex(&key));
        let row = format!(
            "uat:esp_sa:\"IPv4\",\"*\",\"*\",\"{spi:#010x}\",\"{}\",\"0x{key}\",\"{}\",\"{mac_key}\"",
            names.0, names.1
        );
        tshark.args(["-o", &row]);
    }
    tshark.args(["-Y", "esp", "-T", "fields", "-e", "esp.icv_good", "-e", "tcp.checksum.status"]);
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}: {}", suite.name, String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split_once('\t').map(|(icv, tcp)| (icv.to_owned(), tcp.to_owned())).unwrap()).collect()
}

#[test]
fn tshark_opens_what_is_on_the_link() {
    let probe = Command::new("tshark").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if probe.is_err() {
        println!("SKIP: tshark_opens_what_is_on_the_link: tshark is not installed; make setup-strongswan installs it");
        return;
    }
    with_namespaces("tshark::tshark_opens_what_is_on_the_link", || {
        let folder = tempfile::tempdir().unwrap();
        for suite in suites() {
            let Some(names) = theirs(suite) else { continue };
            let (links, ends) = both(suite, false);
            agree(ends.each_ref().map(|end| &end.associations), suite);
            let tunnel = [0, 1].map(|end| inner(end, false));
            let captured = frames(&links, || tcp_both_ways(&links, tunnel, 1 << 17));
            let file = folder.path().join(suite.name);
            save(&captured, &file);
            let packets = opened(&file, suite, names);
            assert!(packets.len() > 180, "{}: {} packets", suite.name, packets.len());
            let is_good = |(icv, _): &&(String, String)| matches!(icv.as_str(), "1" | "True");
            let good = packets.iter().filter(is_good).count();
            // what was sealed before the keys of this test
            assert!(good + 4 >= packets.len(), "{}: {good} of {}", suite.name, packets.len());
            let (intact, broken) =
                (packets.iter().filter(|one| one.1 == "1"), packets.iter().filter(|one| one.1 == "0"));
            assert!(intact.count() > 180, "{}: {packets:?}", suite.name);
            assert_eq!(broken.count(), 0, "{}", suite.name);
        }
    });
}
