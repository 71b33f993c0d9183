//! Bytes for keys and messages of tests.

/// Pseudorandom bytes that are the same in every run.
pub fn bytes(label: &str, count: usize) -> Vec<u8> {
    let mut output = vec![0; count];
    blake3::Hasher::new_derive_key("sealstone conformance suite 2026-11")
        .update(label.as_bytes())
        .finalize_xof()
        .fill(&mut output);
    output
}
