//! Sizes in bytes, as people write and read them.

/// Reads a number of bytes: `4096`, `512MiB`, `2GB` (powers of ten), `1.5 GiB` (powers of two).
///
/// # Errors
/// Text that is not such a number, with the text and the accepted values.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let size: bytesize::ByteSize = text.trim().parse().map_err(|_| {
        format!("{text:?} is not a size; write bytes, or a number with kB, MB, GB, KiB, MiB, GiB")
    })?;
    Ok(size.as_u64())
}

/// Formats a number of bytes for people, such as `2.0 GB` (powers of ten).
pub fn human_bytes(bytes: u64) -> String {
    bytesize::ByteSize(bytes).display().si().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("4096", 4_096), ("2GB", 2_000_000_000), ("512MiB", 512 << 20), (" 1.5 GiB ", 3 << 29)]
        {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "-1", "2 parsecs", "1e99999"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
        assert_eq!(human_bytes(2_000_000_000), "2.0 GB");
    }
}
