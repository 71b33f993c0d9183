//! What a program links that embeds the sealed file system for RocksDB: a list that changes on purpose only.
//!
//! Not here: in which direction the members of the workspace depend on each other (`dependencies`).

use std::collections::BTreeSet;

/// Arguments of cargo that print the crates, one on each line: `adapters/rocksdb` as it comes, on the platform that it
/// is built for first. Not `cargo metadata`, which switches on what the rest of the workspace asks of a crate.
pub(crate) const TREE: [&str; 13] = [
    "tree",
    "--locked",
    "--package",
    "sealstone-rocksdb",
    "--edges",
    "normal,no-proc-macro",
    "--target",
    "x86_64-unknown-linux-gnu",
    "--prefix",
    "none",
    "--no-dedupe",
    "--format",
    "{lib}",
];

/// The crates by the names of their libraries: ours, then those of others.
const LINKED: &str = "
    sealstone_cipher sealstone_keys sealstone_rocksdb sealstone_seal

    argon2 arrayvec base64ct bitflags blake2 blake3 block_buffer bytesize cfg_if cmov const_oid constant_time_eq
    cpufeatures crc32c crypto_common ctutils digest getrandom hkdf hmac hybrid_array jiff jiff_core libc memchr nix
    object once_cell percent_encoding ring rustls rustls_pki_types serde serde_core serde_spanned sha2 strsim subtle
    thiserror toml toml_datetime toml_parser toml_writer typenum untrusted webpki winnow zeroize
";

/// One line for each crate that is linked and not in the list, or the other way round; `tree` is what cargo printed.
pub(crate) fn findings(tree: &str) -> Vec<String> {
    let linked: BTreeSet<&str> = tree.split_whitespace().collect();
    let listed: BTreeSet<&str> = LINKED.split_whitespace().collect();
    let new = linked.difference(&listed).map(|name| {
        format!("an embedder of adapters/rocksdb links {name} now: avoid it, or add it to dev/xtask/src/embedder.rs")
    });
    let gone = listed.difference(&linked).map(|name| {
        format!("an embedder of adapters/rocksdb no longer links {name}: take it out of dev/xtask/src/embedder.rs")
    });
    new.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_must_match() {
        assert_eq!(findings(LINKED), [""; 0]);
        let more = findings(&format!("{LINKED}\nplotters\nplotters\n"));
        assert_eq!(
            more,
            ["an embedder of adapters/rocksdb links plotters now: avoid it, or add it to dev/xtask/src/embedder.rs"]
        );
        let fewer = findings(&LINKED.replace("winnow", ""));
        assert_eq!(
            fewer,
            ["an embedder of adapters/rocksdb no longer links winnow: take it out of dev/xtask/src/embedder.rs"]
        );
    }
}
