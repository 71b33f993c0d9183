//! The known name that a mistyped one was probably meant to be, for every "did you mean" of the program.
//!
//! Not here: the tables of names, and the errors that quote the result.

/// The name among `known` that is most like `name`. Case does not matter, and neither does `_` for `-`.
///
/// The measure is the Jaro-Winkler similarity, which favours a common beginning: `aes` is nearer to `aes-256` than to
/// `3des`. Of names that are equally near the last is returned; it is empty where `known` is.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> &'a str {
    let wanted = name.to_lowercase().replace('_', "-");
    let likeness = |candidate: &str| strsim::jaro_winkler(&wanted, candidate);
    known.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_beginnings_lead_to_the_name() {
        let known = ["3des", "aes-128", "aes-256", "records", "records-from", "batch-load", "rocksdb"];
        for (name, want) in [
            ("aes", "aes-256"),
            ("AES_128", "aes-128"),
            ("tdes", "3des"),
            ("recods", "records"),
            ("records_form", "records-from"),
            ("bach-load", "batch-load"),
            ("rocks", "rocksdb"),
        ] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
        assert_eq!(nearest("aes", []), "");
        assert!(!nearest("", known).is_empty(), "something is always suggested");
    }
}
