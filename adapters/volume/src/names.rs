//! Names of a volume's files within its directory.

/// The file with the header, and a copy of the marks.
pub(crate) const HEADER: &str = "sealstone.volume";
/// The header while its volume is being made.
pub(crate) const HEADER_NEW: &str = "sealstone.volume.new";
/// The file with the blocks and the pages of entries.
pub(crate) const DATA: &str = "sealstone.data";
/// The two files that roots are written to in turn, each with a copy of the marks: a root of an
/// even generation to the first.
pub(crate) const MAPS: [&str; 2] = ["sealstone.map-0", "sealstone.map-1"];
/// The directory of the log.
pub(crate) const LOG: &str = "sealstone.log";

/// Begins the names of segments that were made beforehand.
const SPARE: &str = "spare-";

/// Returns whether a file of a volume has `name`, a path within the volume's directory.
#[must_use]
pub fn is_of_volume(name: &str) -> bool {
    let in_log = name.strip_prefix(LOG).and_then(|rest| rest.strip_prefix('/'));
    match in_log {
        Some(inner) => segment_number(inner).or_else(|| spare_number(inner)).is_some(),
        None => [HEADER, HEADER_NEW, DATA].contains(&name) || MAPS.contains(&name),
    }
}

/// Returns the name of the segment with `number`.
pub(crate) fn segment(number: u64) -> String {
    format!("{LOG}/{number:08}")
}

/// Returns the name of a segment that was made beforehand, the one with `number` of these.
pub(crate) fn spare(number: u64) -> String {
    format!("{LOG}/{SPARE}{number:08}")
}

/// Returns the number of the spare segment that has `name` within the directory of the log.
pub(crate) fn spare_number(name: &str) -> Option<u64> {
    name.strip_prefix(SPARE).and_then(segment_number)
}

/// Returns the number of the segment that has `name` within the directory of the log.
pub(crate) fn segment_number(name: &str) -> Option<u64> {
    let number = name.parse().ok()?;
    (segment(number).strip_prefix(LOG)?.strip_prefix('/')? == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_one_name() {
        for number in [0, 7, 99_999_999, 100_000_000, u64::MAX] {
            let name = segment(number);
            assert_eq!(segment_number(name.split_once('/').unwrap().1), Some(number));
        }
        assert_eq!(spare_number(spare(7).split_once('/').unwrap().1), Some(7));
        for name in ["sealstone.data", "sealstone.map-1", &segment(8), &spare(9)] {
            assert!(is_of_volume(name), "{name}");
        }
        for name in ["backup.sql", "sealstone.data.old", "sealstone.log/x", "sealstone.log", ""] {
            assert!(!is_of_volume(name), "{name}");
        }
        for name in
            ["7", "spare-00000007", "+0000007", "000000007", "", "00000007.tmp", "lost+found"]
        {
            assert_eq!(segment_number(name), None, "{name}");
        }
    }
}
