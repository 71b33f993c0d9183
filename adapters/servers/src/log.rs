//! Text that a server has written to its log since it was started, for errors that quote it.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Returns the content of the file at `path` from byte `start` on; nothing if it is not there yet.
#[must_use]
pub(crate) fn read_from(path: &Path, start: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = OpenOptions::new().read(true).open(path)
        && file.seek(SeekFrom::Start(start)).is_ok()
    {
        // data read before an error is useless
        let _ = file.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the last lines of `text` that are not empty, `most` at most.
#[must_use]
pub fn tail(text: &str, most: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(most)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_leaves_empty_lines_out() {
        assert_eq!(tail("a\n\n b \n\nc\n", 2), ["b", "c"]);
        assert_eq!(tail("", 2), Vec::<String>::new());
    }

    #[test]
    fn a_log_is_read_from_where_the_start_began() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        assert_eq!(read_from(&path, 0), "");
        std::fs::write(&path, "before\nsince\n").unwrap();
        assert_eq!(read_from(&path, 7), "since\n");
        assert_eq!(read_from(&path, 100), "");
    }
}
