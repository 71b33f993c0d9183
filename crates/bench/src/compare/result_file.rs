//! Reading the bytes of a recorded result set: as they are, or compressed by gzip. What people give
//! in place of one, such as the CSV beside it, is recognised by its content, never by its name.
//! Not here: their meaning (`merge`).

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::results::files::{FINDINGS_HEAD, SAMPLE_HEAD};

/// Most bytes of a result set, unpacked: some thirty times those of a long comparison.
const BYTES_MAX: u64 = 64 << 20;

/// Error of a file that holds no result set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// It cannot be opened or read.
    #[error("cannot read results {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// It is compressed, and damaged.
    #[error("cannot unpack results {}: {source}\nname an undamaged copy", path.display())]
    Unpack {
        /// The file.
        path: PathBuf,
        /// Error of the decoder.
        source: std::io::Error,
    },
    /// It is larger than any result set.
    #[error(
        "cannot read results {}: they are larger than {}\nname a results.json that sealstone \
         compare wrote",
        path.display(),
        crate::words::size::human_bytes(BYTES_MAX)
    )]
    Large {
        /// The file.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{} is not a result set: it is {found}\n{instead}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// A description of its content.
        found: &'static str,
        /// The file to give in its place.
        instead: &'static str,
    },
}

/// Reads the result set `path` whole, unpacked.
///
/// # Errors
/// [`RecordedError`].
pub(super) fn read(path: &Path) -> Result<Vec<u8>, RecordedError> {
    let owned = || path.to_owned();
    let read = sealstone_file::input::read_at_most(path, BYTES_MAX as usize);
    let bytes = read.map_err(|source| match source.kind() {
        ErrorKind::FileTooLarge => RecordedError::Large { path: owned() },
        _ => RecordedError::Read { path: owned(), source },
    })?;
    let bytes = match bytes.starts_with(GZIP) {
        true => unpacked(&bytes, path)?,
        false => bytes,
    };
    match other(&bytes) {
        Some((found, instead)) => Err(RecordedError::Other { path: owned(), found, instead }),
        None => Ok(bytes),
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z'];
const ZIP: &[u8] = b"PK\x03\x04";

fn unpacked(bytes: &[u8], path: &Path) -> Result<Vec<u8>, RecordedError> {
    let mut text = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(|source| RecordedError::Unpack { path: path.to_owned(), source })?;
    match text.len() as u64 > BYTES_MAX {
        true => Err(RecordedError::Large { path: path.to_owned() }),
        false => Ok(text),
    }
}

/// Returns a description of `bytes` that are no JSON at all, and what to give instead.
fn other(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const BESIDE: &str = "name the results.json beside it";
    const ANY: &str = "name a results.json that sealstone compare wrote";
    const UNPACK: &str = "unpack it first, or compress the results.json by gzip";
    let text = bytes.trim_ascii_start();
    let has = |head: &[u8]| text.starts_with(head);
    if bytes.starts_with(ZSTD) || bytes.starts_with(XZ) || bytes.starts_with(ZIP) {
        return Some(("compressed, and not by gzip", UNPACK));
    }
    if has(SAMPLE_HEAD.as_bytes()) {
        return Some((
            "a results.csv: the samples of a run, without its settings and conclusions",
            BESIDE,
        ));
    }
    if has(FINDINGS_HEAD.as_bytes()) {
        return Some(("a table of findings, which a report on a results.json wrote", ANY));
    }
    match text.first() {
        None => Some(("empty", ANY)),
        Some(b'<') => Some(("a page, such as a report that was drawn already", BESIDE)),
        Some(b'{') => None,
        Some(_) if is_csv(text) => {
            Some(("a CSV, which has neither settings nor conclusions", BESIDE))
        }
        Some(_) => Some(("no JSON", ANY)),
    }
}

/// Returns whether the first two lines of `text` have as many fields, more than one.
fn is_csv(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n');
    let fields = |line: &[u8]| line.iter().filter(|&&byte| byte == b',').count();
    let [first, second] = [lines.next(), lines.next()].map(|line| line.map_or(0, fields));
    first > 0 && first == second
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut writer = GzEncoder::new(Vec::new(), Compression::default());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_read_is_unpacked_and_what_is_no_result_set_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.csv");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            super::read(&path).map_err(|error| error.to_string())
        };
        let json = br#"{"schema":1}"#;
        assert_eq!(read(json).unwrap(), json);
        assert_eq!(read(&gzip(json)).unwrap(), json);
        assert_eq!(read(&[gzip(&json[..5]), gzip(&json[5..])].concat()).unwrap(), json);
        let cut = gzip(&[b'{'; 9_000]);
        let error = read(&cut[..cut.len() - 9]).unwrap_err();
        assert!(error.starts_with("cannot unpack results ") && error.contains("undamaged"));
        let samples = format!("{SAMPLE_HEAD},rest\n");
        for (bytes, found) in [
            (samples.as_bytes(), "it is a results.csv: the samples of a run"),
            (&gzip(samples.as_bytes()), "it is a results.csv"),
            (FINDINGS_HEAD.as_bytes(), "it is a table of findings"),
            (b"\n<!doctype html>", "it is a page"),
            (b"\x28\xb5\x2f\xfdabc", "it is compressed, and not by gzip\nunpack it first"),
            (b"  ", "it is empty\nname a results.json"),
            (b"a,b\n1,2\n", "it is a CSV, which has neither settings nor conclusions\nname the"),
            (b"a, b\nc\n", "it is no JSON\nname a results.json"),
        ] {
            let error = read(bytes).unwrap_err();
            assert!(error.contains(found), "{error}");
        }
        std::fs::File::create(&path).unwrap().set_len(BYTES_MAX + 1).unwrap();
        let error = super::read(&path).unwrap_err().to_string();
        assert!(error.contains("they are larger than 67.1 MB"), "{error}");
    }
}
