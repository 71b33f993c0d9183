//! Crates linked by a program that embeds the sealed file system for RocksDB, or loads it as a
//! plug-in: lists that change on purpose only.
//!
//! Not here: the direction of dependencies in the workspace (`dependencies`).

use std::collections::BTreeSet;

/// A member that others embed or load.
pub(crate) struct Embedded {
    package: &'static str,
    /// Description of the member for the person who reads a finding.
    who: &'static str,
    /// The lists of what it links.
    linked: &'static [&'static str],
}

/// Every one of them.
pub(crate) const EMBEDDED: [Embedded; 2] = [
    Embedded {
        package: "sealstone-rocksdb",
        who: "an embedder of adapters/rocksdb",
        linked: &[LINKED],
    },
    Embedded {
        package: "sealstone-rocksdb-plugin",
        who: "a program that loads adapters/rocksdb-plugin",
        linked: &[LINKED, PLUGIN],
    },
];

/// Arguments of cargo that print the crates that `embedded` links as it comes, one on each line, on
/// the platform that it is built for first. Not `cargo metadata`, which enables the features that
/// the rest of the workspace requests.
pub(crate) fn tree(embedded: &Embedded) -> [&'static str; 13] {
    [
        "tree",
        "--locked",
        "--package",
        embedded.package,
        "--edges",
        "normal,no-proc-macro",
        "--target",
        "x86_64-unknown-linux-gnu",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{lib}",
    ]
}

/// The crates by the names of their libraries: ours, then third-party crates.
const LINKED: &str = "
    sealstone_anchor sealstone_cipher sealstone_file sealstone_keys sealstone_message
    sealstone_rocksdb sealstone_seal

    aead aes aes_gcm argon2 arrayvec base64ct bitflags blake2 blake3 block_buffer bytesize
    cfg_if cipher cmov const_oid constant_time_eq cpubits cpufeatures crc32c crypto_common ctr
    ctutils curve25519_dalek digest getrandom ghash hkdf hmac hpke hybrid_array inout jiff
    jiff_core libc memchr nix object percent_encoding polyval rand_core serde serde_core serde_spanned sha2
    strsim subtle thiserror toml toml_datetime toml_parser toml_writer typenum universal_hash
    winnow x25519_dalek zeroize
";

/// Additional crates that the plug-in links: itself, and crates that communicate with key servers,
/// with tokens, and with cryptographic modules.
const PLUGIN: &str = "
    sealstone_modules sealstone_rocksdb_plugin

    cryptoki cryptoki_sys libloading log once_cell ring rustls rustls_pki_types secrecy untrusted
    webpki
";

/// Returns one line for each crate that is linked and not in the lists, or the reverse; `tree` is
/// cargo's output.
pub(crate) fn findings(embedded: &Embedded, tree: &str) -> Vec<String> {
    let linked: BTreeSet<&str> = tree.split_whitespace().collect();
    let listed: BTreeSet<&str> =
        embedded.linked.iter().flat_map(|list| list.split_whitespace()).collect();
    let who = embedded.who;
    let new = linked.difference(&listed).map(|name| {
        format!("{who} links {name} now: avoid it, or add it to dev/xtask/src/embedder.rs")
    });
    let gone = listed.difference(&linked).map(|name| {
        format!("{who} no longer links {name}: take it out of dev/xtask/src/embedder.rs")
    });
    new.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_must_match() {
        let findings = |tree: &str| super::findings(&EMBEDDED[0], tree);
        assert_eq!(findings(LINKED), [""; 0]);
        let more = findings(&format!("{LINKED}\nplotters\nplotters\n"));
        assert_eq!(
            more,
            ["an embedder of adapters/rocksdb links plotters now: avoid it, or add it to \
              dev/xtask/src/embedder.rs"]
        );
        let fewer = findings(&LINKED.replace("winnow", ""));
        assert_eq!(
            fewer,
            ["an embedder of adapters/rocksdb no longer links winnow: take it out of \
              dev/xtask/src/embedder.rs"]
        );
        let plugin = super::findings(&EMBEDDED[1], LINKED);
        let gone = |name: &str| {
            format!(
                "a program that loads adapters/rocksdb-plugin no longer links {name}: take it out \
                 of dev/xtask/src/embedder.rs"
            )
        };
        let mut names: Vec<&str> = PLUGIN.split_whitespace().collect();
        names.sort_unstable();
        assert_eq!(plugin, names.into_iter().map(gone).collect::<Vec<_>>());
    }
}
