//! scapy as the other end: it opens sealed packets with their integrity checked, and seals their
//! content again.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sealstone_cipher::suites::{Encryption, Hash, Suite};
use sealstone_seal::esp::Association;
use serde_json::{Value, json};

/// Returns scapy's names for the parts of a suite; `None` for a suite that it does not have.
pub(crate) fn theirs(suite: &Suite) -> Option<(&'static str, &'static str)> {
    let crypt = match (suite.cipher().map(|cipher| cipher.name), suite.encryption) {
        (Some("3des"), Encryption::Cbc(_)) => "3DES",
        (Some("blowfish"), Encryption::Cbc(_)) => "Blowfish",
        (Some("aes-128" | "aes-256"), Encryption::Cbc(_)) => "AES-CBC",
        (Some("aes-128" | "aes-256"), Encryption::Gcm(_)) => "AES-GCM",
        (None, _) => "NULL",
        (Some(_), _) => return None,
    };
    let auth = match suite.mac.map(|mac| mac.hash) {
        None => "NULL",
        Some(Hash::Md5) => "HMAC-MD5-96",
        Some(Hash::Sha1) => "HMAC-SHA1-96",
        Some(Hash::Sha256) => "SHA2-256-128",
    };
    Some((crypt, auth))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &Value) -> Vec<u8> {
    let text = text.as_str().expect("a text");
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

/// Sealed packets of one association, as scapy is to open them.
pub(crate) struct Case {
    line: String,
    packets: usize,
}

impl Case {
    /// Returns `packets`, each from its index on, sealed under `keys` (of encryption, of
    /// integrity).
    pub(crate) fn new<'a>(
        association: &Association,
        keys: &(Vec<u8>, Vec<u8>),
        packets: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        let (crypt, auth) = theirs(association.suite).expect("a suite that scapy has");
        let packets: Vec<String> = packets.into_iter().map(hex).collect();
        let count = packets.len();
        let line = json!({
            "spi": association.spi, "crypt": crypt, "auth": auth, "extended": association.extended,
            "key": hex(&keys.0), "auth_key": hex(&keys.1), "packets": packets,
        });
        Self { line: line.to_string(), packets: count }
    }
}

/// Result of scapy for one case.
pub(crate) struct Answer {
    /// Content of each packet.
    pub(crate) inner: Vec<Vec<u8>>,
    /// Packets sealed by scapy that hold the same, with numbers from 1 on.
    pub(crate) theirs: Vec<Vec<u8>>,
}

/// A Python that has scapy.
pub(crate) struct Scapy(PathBuf);

impl Scapy {
    /// Finds scapy, on Debian in the system's Python; prints SKIP for the test `name` where it is
    /// missing.
    pub(crate) fn found(name: &str) -> Option<Self> {
        let has_scapy = |python: &&str| {
            let mut probe = Command::new(python);
            let probe = probe.args(["-W", "ignore", "-c", "import scapy.layers.ipsec"]);
            probe
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        let found = ["/usr/bin/python3", "python3"].into_iter().find(has_scapy);
        if found.is_none() {
            println!("SKIP: {name}: no Python has scapy; make setup-esp installs it");
        }
        found.map(|python| Self(python.into()))
    }

    /// Has all packets of `cases` opened; panics if a single one is refused.
    pub(crate) fn open(&self, cases: &[Case]) -> Vec<Answer> {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/wire/tests/scapy/peer.py");
        let mut peer = Command::new(&self.0);
        let peer =
            peer.args(["-W", "ignore"]).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut peer = peer.spawn().expect("Python starts");
        let lines: String = cases.iter().map(|case| format!("{}\n", case.line)).collect();
        let mut stdin = peer.stdin.take().expect("a pipe");
        let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let output = peer.wait_with_output().expect("Python ends");
        let answers = String::from_utf8(output.stdout).expect("JSON");
        let refused = answers.lines().count();
        assert_eq!(refused, cases.len(), "scapy refused a packet of case {refused}");
        writer.join().expect("it writes").expect("Python reads");
        let answer = |(case, line): (&Case, &str)| {
            let answer: Value = serde_json::from_str(line).expect("a line of JSON");
            let list = |name: &str| -> Vec<Vec<u8>> {
                answer[name].as_array().expect("a list").iter().map(unhex).collect()
            };
            let answer = Answer { inner: list("inner"), theirs: list("theirs") };
            assert_eq!((answer.inner.len(), answer.theirs.len()), (case.packets, case.packets));
            answer
        };
        cases.iter().zip(answers.lines()).map(answer).collect()
    }
}
