//! Record of the checks that a run of the suite made, and of the checks that the table of ciphers
//! prevented.

use super::vectors::Vector;
use crate::facts::Cipher;

/// Record of what a run of the suite checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Known answers compared.
    pub vectors: usize,
    /// Messages compared with the reference.
    pub messages: usize,
    /// Forgeries refused.
    pub forgeries: usize,
    /// Vectors for which the table offers nothing, such as another key length: each with its place
    /// and the reason.
    pub not_offered: Vec<String>,
}

/// Returns the key of `vector` at the length the row offers.
pub(super) fn offered_key(
    cipher: &Cipher,
    vector: &Vector,
    summary: &mut Summary,
) -> Option<Vec<u8>> {
    let (found, want) = (vector.key.len(), cipher.key_bytes);
    if found == want {
        Some(vector.key.clone())
    } else if cipher.evidence.repeats_keys && want.is_multiple_of(found) {
        Some(vector.key.repeat(want / found))
    } else {
        assert!(
            cipher.takes_key_bits(8 * found),
            "{}: no key of {} has {found} bytes",
            vector.place,
            cipher.name
        );
        summary.not_offered.push(format!("{}: key of {found} bytes is not offered", vector.place));
        None
    }
}
