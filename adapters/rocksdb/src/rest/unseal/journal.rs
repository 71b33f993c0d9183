//! Record of an unfinished copy: the original store, and the complete files. It is kept as the file
//! `CURRENT` of the copy, so that RocksDB refuses to open the directory, and also to make a new
//! store in it, until the real one takes its place. Pure: text in, text out.
//!
//! One line that identifies the format, `store` and the store's id, `from` and its path, then one
//! line for each complete file: name, id under which it was sealed, bytes and CRC-32C of the
//! content, each after a space. A line that was cut off does not count.

use std::collections::BTreeMap;
use std::fmt::Write;

use sealstone_seal::STORE_ID_BYTES;
use sealstone_seal::catalogue::FileId;

/// The first line.
const TITLE: &str = "an unfinished copy of a sealed store; `sealstone rest unseal` resumes it, \
                     nothing else opens it";

/// A file of the copy that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    /// Id under which its source was sealed.
    pub(super) file_id: FileId,
    pub(super) bytes: u64,
    pub(super) crc32c: u32,
}

/// Record of an unfinished copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) store: [u8; STORE_ID_BYTES],
    /// Location of the store, for people.
    pub(super) from: String,
    pub(super) files: BTreeMap<String, Copied>,
}

impl Journal {
    /// Parses the content of the file `CURRENT`; returns nothing if it is not a journal.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        if lines.next() != Some(TITLE) {
            return None;
        }
        let store = bytes(lines.next()?.strip_prefix("store ")?)?;
        let from = lines.next()?.strip_prefix("from ")?.to_owned();
        let file = |line: &str| {
            let [name, id, bytes_text, crc] =
                line.split(' ').collect::<Vec<_>>().try_into().ok()?;
            let (length, crc32c) = (bytes_text.parse().ok()?, u32::from_str_radix(crc, 16).ok()?);
            Some((name.to_owned(), Copied { file_id: bytes(id)?, bytes: length, crc32c }))
        };
        Some(Self { store, from, files: lines.filter_map(file).collect() })
    }

    pub(super) fn text(&self) -> String {
        let mut text =
            format!("{TITLE}\nstore {}\nfrom {}\n", hex(&self.store), self.from.replace('\n', " "));
        self.files.iter().for_each(|(name, copied)| text.push_str(&line(name, copied)));
        text
    }
}

/// Returns the line of one file.
pub(super) fn line(name: &str, copied: &Copied) -> String {
    let Copied { file_id, bytes, crc32c } = copied;
    format!("{name} {} {bytes} {crc32c:08x}\n", hex(file_id))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    })
}

fn bytes(hex: &str) -> Option<[u8; 16]> {
    if hex.len() != 32 || !hex.is_ascii() {
        return None;
    }
    let mut bytes = [0; 16];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&hex[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_comes_back_and_a_torn_line_does_not_count() {
        let copied =
            |n: u8| Copied { file_id: [n; 16], bytes: 1000 + u64::from(n), crc32c: u32::from(n) };
        let mut journal =
            Journal { store: [0xab; 16], from: "/data/my orders".into(), files: BTreeMap::new() };
        for (n, name) in (1..).zip(["000012.sst", "000013.blob"]) {
            journal.files.insert(name.into(), copied(n));
        }
        let text = journal.text();
        assert_eq!(Journal::parse(&text), Some(journal.clone()));
        let torn = format!("{text}000014.sst 0303");
        assert_eq!(Journal::parse(&torn), Some(journal.clone()));
        // cut before its end, a number would be another one
        assert_eq!(Journal::parse(&text[..text.len() - 1]).map(|torn| torn.files.len()), Some(1));
        assert_eq!(
            Journal::parse(&format!("{text}{}", line("000014.sst", &copied(9))))
                .unwrap()
                .files
                .len(),
            3
        );
        for other in ["", "MANIFEST-000005\n", "an unfinished copy\n"] {
            assert_eq!(Journal::parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn rocksdb_does_not_take_it_for_the_name_of_a_manifest() {
        let journal =
            Journal { store: [1; 16], from: "/data/orders".into(), files: BTreeMap::new() };
        assert!(crate::manifest::named_by_current(journal.text().as_bytes()).is_err());
    }
}
