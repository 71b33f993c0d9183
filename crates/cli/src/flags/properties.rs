//! Properties of YCSB as flags.

/// Reads `NAME=VALUE`.
pub(super) fn parse_property(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected a property and its value, such as readproportion=0.9".into()),
    }
}
