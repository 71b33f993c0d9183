//! Field records as text: base64url without padding (RFC 4648, 5), which every file format and
//! database takes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::misfit::Misfit;

/// Appends `record` as text.
pub(crate) fn write(record: &[u8], out: &mut String) {
    URL_SAFE_NO_PAD.encode_string(record, out);
}

/// Computes the number of characters that a record of `bytes` bytes has as text.
pub(crate) fn chars(bytes: u64) -> u64 {
    (4 * bytes).div_ceil(3)
}

/// Replaces `record` by what `text` stands for.
///
/// # Errors
/// It is not base64url, or not in its one canonical spelling.
pub(crate) fn read(text: &str, record: &mut Vec<u8>) -> Result<(), Misfit> {
    record.clear();
    URL_SAFE_NO_PAD
        .decode_vec(text, record)
        .map_err(|_| Misfit::Record("it is not a sealed value: not base64url text".into()))
}
