//! Pages, tables and logs of MariaDB as they are in files, as far as they say what they are
//! encrypted with. Places of bytes were read off files of MariaDB 10.11.19 and 11.4.5.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use sealstone_cipher::Mode;
use sealstone_seal::account::Share;
use sealstone_seal::tablespace::{PageMode, ServerVersion};

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Pages of InnoDB.
    Tablespace,
    /// Pages of Aria with records.
    AriaData,
    /// Pages of Aria with keys.
    AriaIndex,
    /// InnoDB's redo log.
    Redo,
    /// A binary log.
    Binlog,
    /// Records of an engine that the server never encrypts: MyISAM, CSV.
    Clear,
}

/// Units that were found in a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Units by the server's number of their version.
    pub(super) shares: BTreeMap<u32, Share>,
    pub(super) clear_blocks: u64,
    pub(super) clear_bytes: u64,
    pub(super) other_blocks: u64,
    pub(super) other: Option<String>,
}

/// Number of a version for what is not encrypted.
const CLEAR: u32 = 0;

/// Longest header of a unit that is looked at, in bytes.
const HEADER_BYTES: usize = 64;

/// Places in a page of InnoDB: its type, and the number of the version in both forms of pages.
pub(super) const PAGE_TYPE: usize = 24;
const PAGE_VERSION: usize = 0;
const OLD_PAGE_VERSION: usize = 26;
/// Types of pages that the server leaves in the clear, and that hold no records: numbers of pages
/// and places in logs. 10.11.19 encrypts those of type 6 (headers of rollback segments, of the
/// dictionary and of the change buffer); 11.4.5 was seen to leave headers of rollback segments.
const STRUCTURE: [u16; 4] = [6, 7, 8, 9];
/// Type of a page that is allocated and not in use: what was freed and overwritten, or never used.
pub(super) const UNUSED: u16 = 0;
/// Bytes before and behind the content of a page of InnoDB.
const PAGE_HEAD_BYTES: usize = 38;
const PAGE_TAIL_BYTES: usize = 8;
/// Place of the flags of a tablespace in its first page.
const FLAGS: u64 = 54;
/// Flag of the newer form of pages.
const NEWER: u32 = 0x10;
const PAGE_BYTES_USUAL: u64 = 16 << 10;

/// Number of the page of the system tablespace that records where the doublewrite buffer is, and
/// its type.
const SYSTEM_PAGE: u64 = 5;
const SYSTEM_PAGE_TYPE: u16 = 7;
/// Place of that in it, counted from its end: a mark, then the first pages of two extents.
const DOUBLEWRITE_FROM_END: u64 = 200 - 10;
const DOUBLEWRITE_MARK: u32 = 536_853_855;
/// Pages of an extent, and its length in bytes: the longer of the two.
const EXTENT_PAGES: u64 = 64;
const EXTENT_BYTES: u64 = 1 << 20;

/// Length of Aria's pages, in bytes, and places in them.
const ARIA_PAGE_BYTES: u64 = 8192;
const ARIA_TYPE: usize = 7;
const ARIA_ROWS_VERSION: usize = 12;
const ARIA_BLOB_VERSION: usize = 8;
/// Places of the version in pages with keys: in a table without transactions, and in one with them.
const ARIA_KEYS_VERSIONS: [usize; 2] = [7, 13];

/// Latest version of a key that is looked for where something else may be instead.
const LIKELY_VERSION_MAX: u32 = u16::MAX as u32;

/// Place of the description of a redo log's key: 1, and the number of the version.
const REDO_KEY: u64 = 48;

const BINLOG_MAGIC: [u8; 4] = [0xfe, b'b', b'i', b'n'];
const EVENT_HEADER_BYTES: u64 = 19;
const START_ENCRYPTION: u8 = 164;

impl Found {
    /// Adds a unit of `bytes` bytes of a file of the kind `kind`, under the server's number
    /// `number`.
    fn add(&mut self, kind: Kind, number: u32, bytes: u64) {
        match (number, ServerVersion::from_number(number)) {
            (CLEAR, _) => {
                self.clear_blocks += 1;
                self.clear_bytes += bytes;
            }
            (_, Some(version)) => {
                let share = self.shares.entry(number).or_insert_with(|| Share {
                    cipher: version.cipher(),
                    mode: mode_of(kind, version.mode()),
                    key_version: version.version(),
                    // a page does not say which key
                    fingerprint: "–".into(),
                    blocks: 0,
                    bytes: 0,
                });
                share.blocks += 1;
                share.bytes += bytes;
            }
            (_, None) => {
                self.other_blocks += 1;
                self.other
                    .get_or_insert_with(|| format!("under version {number} of another plug-in"));
            }
        }
    }
}

/// Returns the mode of what is in files of the kind `kind`, by that of pages. A record of more than
/// 256 bytes in the redo log of 11.4 is in that of pages, too.
fn mode_of(kind: Kind, pages: PageMode) -> Mode {
    let [page, stream, record] = pages.modes();
    match kind {
        Kind::Tablespace | Kind::AriaData | Kind::AriaIndex | Kind::Clear => page,
        Kind::Redo => record,
        Kind::Binlog => stream,
    }
}

/// Looks at every unit of `file`, which is `bytes` long and of the kind `kind`.
pub(super) fn scan(
    kind: Kind,
    file: &File,
    bytes: u64,
    copies: Copies,
    found: &mut Found,
) -> io::Result<()> {
    match kind {
        Kind::Tablespace => scan_tablespace(file, bytes, copies, found),
        Kind::AriaData | Kind::AriaIndex => scan_aria(kind, file, bytes, found),
        Kind::Redo => scan_redo(file, bytes, found),
        Kind::Binlog => scan_binlog(file, bytes, found),
        Kind::Clear => {
            if bytes > 0 {
                found.add(kind, CLEAR, bytes);
            }
            Ok(())
        }
    }
}

/// Returns the newest version of ours in the first `bytes` of `file`, but for copies of pages of
/// other files, which may be old.
pub(super) fn newest(kind: Kind, file: &File, bytes: u64) -> io::Result<Option<ServerVersion>> {
    let mut found = Found::default();
    scan(kind, file, bytes, Copies::LeftOut, &mut found)?;
    Ok(found.shares.keys().next_back().copied().and_then(ServerVersion::from_number))
}

/// Treatment of pages in the doublewrite buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    LookedAt,
    LeftOut,
}

/// Returns the header at `at`, with zeros where the file ends.
fn header(file: &File, at: u64) -> io::Result<[u8; HEADER_BYTES]> {
    let mut header = [0; HEADER_BYTES];
    let mut done = 0;
    while done < header.len() {
        match file.read_at(&mut header[done..], at + done as u64)? {
            0 => break,
            read => done += read,
        }
    }
    Ok(header)
}

fn big_endian(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn little_endian(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Returns the length of pages and the place of the version in them, by the flags of a tablespace.
fn form(flags: u32) -> (u64, usize) {
    let shifted = |shift: u32| 512_u64 << shift.min(7);
    if flags & NEWER != 0 {
        return (shifted(flags & 0xf), PAGE_VERSION);
    }
    let (compressed, page) = (flags >> 1 & 0xf, flags >> 6 & 0xf);
    let bytes = match (compressed, page) {
        (0, 0) => PAGE_BYTES_USUAL,
        (0, page) => shifted(page),
        (compressed, _) => shifted(compressed),
    };
    (bytes.max(1024), OLD_PAGE_VERSION)
}

/// Returns the length of the pages of the tablespace `file`; None if they have the older form.
pub(super) fn bytes_of_newer_pages(file: &File) -> io::Result<Option<u64>> {
    let flags = big_endian(&header(file, 0)?, FLAGS as usize);
    Ok(Some(form(flags).0).filter(|_| flags & NEWER != 0))
}

fn scan_tablespace(file: &File, bytes: u64, copies: Copies, found: &mut Found) -> io::Result<()> {
    let first = header(file, 0)?;
    let (page_bytes, place) = form(big_endian(&first, FLAGS as usize));
    let buffer = doublewrite_buffer(file, page_bytes)?;
    // the first page is always in the clear
    for index in 1..bytes.div_ceil(page_bytes) {
        let at = index * page_bytes;
        let page = header(file, at)?;
        let is_copy = buffer.iter().any(|extent| extent.contains(&index));
        if is_copy && copies == Copies::LeftOut {
            continue;
        }
        let number = if is_copy { version_of_copy(&page) } else { big_endian(&page, place) };
        let kind = u16::from_be_bytes([page[PAGE_TYPE], page[PAGE_TYPE + 1]]);
        let is_structure = number == CLEAR && STRUCTURE.contains(&kind);
        if is_structure || page == [0; HEADER_BYTES] {
            continue;
        }
        // servers differ in whether they write one with a header
        if number == CLEAR && kind == UNUSED && is_empty(file, at, page_bytes)? {
            continue;
        }
        found.add(Kind::Tablespace, number, page_bytes);
    }
    Ok(())
}

/// Returns the pages of the doublewrite buffer, where `file` is the tablespace that has it: copies
/// of pages of all tablespaces, in the form that each of them has there.
pub(super) fn doublewrite_buffer(file: &File, page_bytes: u64) -> io::Result<Vec<Range<u64>>> {
    let system = header(file, SYSTEM_PAGE * page_bytes)?;
    let place = header(file, (SYSTEM_PAGE + 1) * page_bytes - DOUBLEWRITE_FROM_END)?;
    let kind = u16::from_be_bytes([system[PAGE_TYPE], system[PAGE_TYPE + 1]]);
    if kind != SYSTEM_PAGE_TYPE || big_endian(&place, 0) != DOUBLEWRITE_MARK {
        return Ok(Vec::new());
    }
    let pages = EXTENT_PAGES.max(EXTENT_BYTES / page_bytes);
    let extent = |at: usize| u64::from(big_endian(&place, at));
    Ok([4, 8].map(|at| extent(at)..extent(at) + pages).to_vec())
}

/// Returns the number of the version of a page that may be of either form. In the older form there
/// is a checksum in the place of the newer one, which hardly ever looks like a version of ours.
fn version_of_copy(page: &[u8]) -> u32 {
    let [newer, older] = [PAGE_VERSION, OLD_PAGE_VERSION].map(|place| big_endian(page, place));
    let may_be = |number: u32| number == CLEAR || is_likely_ours(number);
    if may_be(newer) || !may_be(older) { newer } else { older }
}

/// Returns whether `number`, where something else may be instead, is that of a version of ours.
fn is_likely_ours(number: u32) -> bool {
    let version = ServerVersion::from_number(number).map(ServerVersion::version);
    version.is_some_and(|version| version <= LIKELY_VERSION_MAX)
}

/// Returns whether the page of `bytes` bytes at `at` has zeros for a content.
fn is_empty(file: &File, at: u64, bytes: u64) -> io::Result<bool> {
    let mut content = vec![0; bytes as usize - PAGE_HEAD_BYTES - PAGE_TAIL_BYTES];
    match file.read_exact_at(&mut content, at + PAGE_HEAD_BYTES as u64) {
        // a page that is not whole is looked at as any other
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| content.iter().all(|byte| *byte == 0)),
    }
}

fn scan_aria(kind: Kind, file: &File, bytes: u64, found: &mut Found) -> io::Result<()> {
    for at in (1..bytes.div_ceil(ARIA_PAGE_BYTES)).map(|number| number * ARIA_PAGE_BYTES) {
        let page = header(file, at)?;
        let places: &[usize] = match (kind, page[ARIA_TYPE] & 7) {
            (Kind::AriaData, 1 | 2) => &[ARIA_ROWS_VERSION],
            (Kind::AriaData, 3) => &[ARIA_BLOB_VERSION],
            // a map of pages, or none
            (Kind::AriaData, _) => continue,
            _ if page == [0; HEADER_BYTES] => continue,
            _ => &ARIA_KEYS_VERSIONS,
        };
        // a table that is not encrypted has a record or a key there
        let numbers = places.iter().map(|place| little_endian(&page, *place));
        let mut ours = numbers.filter(|number| is_likely_ours(*number));
        found.add(kind, ours.next().unwrap_or(CLEAR), ARIA_PAGE_BYTES);
    }
    Ok(())
}

fn scan_redo(file: &File, bytes: u64, found: &mut Found) -> io::Result<()> {
    let description = header(file, REDO_KEY)?;
    let is_described = big_endian(&description, 0) == 1;
    let number = if is_described { big_endian(&description, 4) } else { CLEAR };
    found.add(Kind::Redo, number, bytes);
    Ok(())
}

/// Returns whether `file` is a binary log.
pub(super) fn is_binlog(file: &File) -> io::Result<bool> {
    Ok(header(file, 0)?.starts_with(&BINLOG_MAGIC))
}

/// Looks at the first two events: the second records that the others are encrypted.
fn scan_binlog(file: &File, bytes: u64, found: &mut Found) -> io::Result<()> {
    let first = header(file, BINLOG_MAGIC.len() as u64)?;
    let second = BINLOG_MAGIC.len() as u64 + u64::from(little_endian(&first, 9));
    let event = header(file, second)?;
    let is_encrypted = event[4] == START_ENCRYPTION;
    let number = little_endian(&event, EVENT_HEADER_BYTES as usize + 1);
    found.add(Kind::Binlog, if is_encrypted { number } else { CLEAR }, bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is found in a file with `content`.
    fn found(kind: Kind, content: &[u8]) -> (Vec<(u32, u64)>, u64, u64) {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, content).unwrap();
        let mut found = Found::default();
        scan(kind, &file, content.len() as u64, Copies::LookedAt, &mut found).unwrap();
        let shares = found.shares.iter().map(|(number, share)| (*number, share.blocks));
        (shares.collect(), found.clear_blocks, found.other_blocks)
    }

    fn at(content: &mut [u8], place: usize, bytes: &[u8]) {
        content[place..place + bytes.len()].copy_from_slice(bytes);
    }

    #[test]
    fn pages_of_both_forms_say_their_version() {
        for (flags, page_bytes, place) in
            [(0x15_u32, 16384, 0), (0x16, 32768, 0), (0x29, 8192, 26), (0, 16384, 26)]
        {
            let mut content = vec![0; 8 * page_bytes];
            at(&mut content, 54, &flags.to_be_bytes());
            at(&mut content, 24, &8_u16.to_be_bytes());
            for (page, number, kind) in [
                (1, 0x104_u32, 5_u16),
                (2, 0x104, 17855),
                (3, 0x20a, 2),
                (4, 0, 17855),
                (5, 0, 9),
                (6, 1, 2),
                (7, 0, 6),
            ] {
                at(&mut content, page * page_bytes + place, &number.to_be_bytes());
                at(&mut content, page * page_bytes + 24, &kind.to_be_bytes());
                if place == 26 && number != 0 {
                    at(&mut content, page * page_bytes + place, &number.to_be_bytes());
                }
            }
            let want = (vec![(0x104, 2), (0x20a, 1)], 1, 1);
            assert_eq!(found(Kind::Tablespace, &content), want, "{flags:#x}");
        }
    }

    /// The doublewrite buffer has pages of every form: those of compressed tables begin with a
    /// checksum.
    #[test]
    fn copies_of_pages_are_not_taken_for_the_tablespaces_own() {
        let mut content = vec![0; 200 * 16384];
        at(&mut content, 54, &0x15_u32.to_be_bytes());
        at(&mut content, 5 * 16384 + 24, &7_u16.to_be_bytes());
        let place = 6 * 16384 - 190;
        for (i, number) in [536_853_855, 64, 128].into_iter().enumerate() {
            at(&mut content, place + 4 * i, &u32::to_be_bytes(number));
        }
        for (page, newer, older) in [
            (64, 0x5742_1468_u32, 0x104_u32),
            (127, 0x104, 0x5742_1468),
            (128, 0x5742_1468, 0),
            (191, 0x104, 0x104),
            // beyond it
            (192, 0x5742_1468, 0x104),
        ] {
            at(&mut content, page * 16384, &newer.to_be_bytes());
            at(&mut content, page * 16384 + 24, &2_u16.to_be_bytes());
            at(&mut content, page * 16384 + 26, &older.to_be_bytes());
        }
        assert_eq!(found(Kind::Tablespace, &content), (vec![(0x104, 3)], 1, 1));
        let mut own = Found::default();
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &content).unwrap();
        let bytes = content.len() as u64;
        scan(Kind::Tablespace, &file, bytes, Copies::LeftOut, &mut own).unwrap();
        assert_eq!((own.shares.len(), own.clear_blocks, own.other_blocks), (0, 0, 1));
        // no such place is known
        at(&mut content, place, &[0; 4]);
        assert_eq!(found(Kind::Tablespace, &content), (vec![(0x104, 2)], 0, 3));
    }

    /// Mode and version of what was written last, from the server's own pages alone.
    #[test]
    fn the_newest_version_is_that_of_pages_and_not_of_copies() {
        let mut file = tempfile::tempfile().unwrap();
        let mut content = vec![0; 200 * 16384];
        at(&mut content, 54, &0x15_u32.to_be_bytes());
        at(&mut content, 5 * 16384 + 24, &7_u16.to_be_bytes());
        for (i, number) in [536_853_855, 64, 128].into_iter().enumerate() {
            at(&mut content, 6 * 16384 - 190 + 4 * i, &u32::to_be_bytes(number));
        }
        for (page, number) in [(2, 0x104_u32), (3, 0x284), (64, 0x304), (192, 0x204)] {
            at(&mut content, page * 16384, &number.to_be_bytes());
            at(&mut content, page * 16384 + 24, &2_u16.to_be_bytes());
        }
        io::Write::write_all(&mut file, &content).unwrap();
        let found = newest(Kind::Tablespace, &file, content.len() as u64).unwrap();
        assert_eq!(found, ServerVersion::from_number(0x284));
        let found = newest(Kind::Tablespace, &file, 3 * 16384).unwrap();
        assert_eq!(found, ServerVersion::from_number(0x104));
        assert_eq!(newest(Kind::Tablespace, &file, 16384).unwrap(), None);
    }

    /// MariaDB 11.4 writes a header for a page that is allocated and not used, and zeros behind it.
    #[test]
    fn an_unused_page_with_a_content_is_in_the_clear() {
        let mut content = vec![0; 3 * 16384];
        at(&mut content, 54, &0x15_u32.to_be_bytes());
        at(&mut content, 16384 + 4, &[0, 0, 0, 1]);
        at(&mut content, 2 * 16384 - 4, &[1, 2, 3, 4]);
        assert_eq!(found(Kind::Tablespace, &content), (vec![], 0, 0));
        at(&mut content, 16384 + 5000, b"text");
        assert_eq!(found(Kind::Tablespace, &content), (vec![], 1, 0));
        // the file ends within its last page
        at(&mut content, 2 * 16384 + 4, &[0, 0, 0, 2]);
        let torn = &content[..2 * 16384 + 100];
        assert_eq!(found(Kind::Tablespace, torn), (vec![], 2, 0));
    }

    #[test]
    fn tables_of_aria_and_logs_say_theirs() {
        let mut rows = vec![0; 5 * 8192];
        for (page, kind, place) in [(1, 1, 12), (2, 2, 12), (3, 3, 8)] {
            at(&mut rows, page * 8192 + 7, &[kind]);
            at(&mut rows, page * 8192 + place, &[4, 1, 0, 0]);
        }
        assert_eq!(found(Kind::AriaData, &rows), (vec![(0x104, 3)], 0, 0));
        at(&mut rows, 8192 + 12, b"text");
        assert_eq!(found(Kind::AriaData, &rows), (vec![(0x104, 2)], 1, 0));

        let mut keys = vec![0; 5 * 8192];
        for (page, place) in [(1, 7), (2, 13)] {
            at(&mut keys, page * 8192, &[0xee; 24]);
            at(&mut keys, page * 8192 + place, &[4, 1, 0, 0]);
        }
        assert_eq!(found(Kind::AriaIndex, &keys), (vec![(0x104, 2)], 0, 0));
        at(&mut keys, 3 * 8192, &[0xee; 24]);
        assert_eq!(found(Kind::AriaIndex, &keys), (vec![(0x104, 2)], 1, 0));

        assert_eq!(found(Kind::Clear, b""), (Vec::new(), 0, 0));
        assert_eq!(found(Kind::Clear, b"text"), (Vec::new(), 1, 0));

        let mut redo = vec![0; 12288];
        assert_eq!(found(Kind::Redo, &redo), (Vec::new(), 1, 0));
        at(&mut redo, 48, &[0, 0, 0, 1, 0, 0, 1, 10]);
        assert_eq!(found(Kind::Redo, &redo), (vec![(0x10a, 1)], 0, 0));

        let mut binlog = vec![0; 400];
        at(&mut binlog, 0, &BINLOG_MAGIC);
        at(&mut binlog, 4 + 4, &[15]);
        at(&mut binlog, 4 + 9, &252_u32.to_le_bytes());
        assert_eq!(found(Kind::Binlog, &binlog), (Vec::new(), 1, 0));
        at(&mut binlog, 256 + 4, &[164]);
        at(&mut binlog, 256 + 19, &[1, 4, 1, 0, 0]);
        assert_eq!(found(Kind::Binlog, &binlog), (vec![(0x104, 1)], 0, 0));
    }

    /// Logs are in modes of their own, whatever that of pages is.
    #[test]
    fn shares_have_the_mode_of_what_they_are_of() {
        for (number, page) in [(0x104, Mode::Hctr2), (0x184, Mode::CbcCs1)] {
            for (kind, mode) in [
                (Kind::Tablespace, page),
                (Kind::AriaData, page),
                (Kind::AriaIndex, page),
                (Kind::Redo, Mode::CbcFeistel),
                (Kind::Binlog, Mode::Ctr),
            ] {
                let mut found = Found::default();
                found.add(kind, number, 100);
                assert_eq!(found.shares[&number].mode, mode, "{kind:?}");
            }
        }
    }

    /// Whatever bytes a file has, it is looked at and nothing panics.
    #[test]
    fn any_bytes_are_looked_at() {
        for length in [0, 1, 3, 63, 64, 8191, 8193, 40000] {
            let content: Vec<u8> = (0..length).map(|at: usize| (at * 37 % 251) as u8).collect();
            for kind in
                [Kind::Tablespace, Kind::AriaData, Kind::AriaIndex, Kind::Redo, Kind::Binlog]
            {
                found(kind, &content);
            }
        }
    }
}
