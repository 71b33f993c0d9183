//! The known name that a mistyped one was probably meant to be, for every "did you mean" of the program.
//!
//! Not here: the tables of names, and the errors that quote the result.

/// How alike two names are of which one is a whole part of the other: `ycsb-a` and `a`, `scan` and `batch-scan`.
const PART: f64 = 0.9;
/// How alike two names are of which one ends with the other: `workloada` and `a`.
const ENDING: f64 = 0.8;
/// Names less alike than this have nothing in common that a reader would see.
const SIMILAR: f64 = 0.7;

/// The name among `known` that is most like `name`. Case does not matter, and neither does `_` for `-`.
///
/// The measure is the Jaro-Winkler similarity, which favours a common beginning: `aes` is nearer to `aes-256` than to
/// `3des`. A name that is a whole part of the other is at least [`PART`] like it. Of names that are equally near the
/// last is returned; it is empty where `known` is.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> &'a str {
    most_like(name, known).map_or("", |(candidate, _)| candidate)
}

/// As [`nearest`]; `None` if not even that name is similar, where a message would better suggest nothing.
pub fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    most_like(name, known).filter(|(_, likeness)| *likeness >= SIMILAR).map(|(candidate, _)| candidate)
}

fn most_like<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(&'a str, f64)> {
    let wanted = name.to_lowercase().replace('_', "-");
    let likeness = |candidate: &'a str| {
        let is_part = |part: &str, of: &str| !part.is_empty() && of.split('-').any(|piece| piece == part);
        let least = match () {
            () if is_part(candidate, &wanted) || is_part(&wanted, candidate) => PART,
            () if wanted.ends_with(candidate) => ENDING,
            () => 0.0,
        };
        (candidate, strsim::jaro_winkler(&wanted, candidate).max(least))
    };
    known.into_iter().map(likeness).max_by(|(_, a), (_, b)| a.total_cmp(b))
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
            ("records-forms", "records-from"),
            ("bach-load", "batch-load"),
            ("load", "batch-load"),
            ("rocks", "rocksdb"),
        ] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
        assert_eq!(nearest("aes", []), "");
        assert!(!nearest("", known).is_empty(), "something is always suggested");
    }

    #[test]
    fn a_name_as_another_program_writes_it_leads_to_ours() {
        let known = ["a", "b", "c", "d", "e", "f", "oltp", "batch-load", "batch-scan"];
        for letter in ["a", "b", "c", "d", "e", "f"] {
            for name in ["ycsb-", "ycsb_", "YCSB-", "ycsb", "workload", "workload-"] {
                assert_eq!(nearest(&format!("{name}{letter}"), known), letter, "{name}{letter}");
            }
        }
        for (name, want) in [("scan", "batch-scan"), ("tpcc-oltp", "oltp"), ("oltpp", "oltp")] {
            assert_eq!(nearest(name, known), want, "{name}");
        }
    }

    #[test]
    fn a_name_like_no_other_is_similar_to_none() {
        let known = ["records", "records-from", "threads"];
        assert_eq!(similar("recors", known), Some("records"));
        assert_eq!(similar("zzz", known), None);
        assert_eq!(similar("x", []), None);
    }
}
