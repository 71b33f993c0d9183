//! Trial of keys on the pages of a data directory that has no record of its keys, as a copy that
//! left it out: an encrypted page holds the number of its tablespace, which a wrong key makes
//! rubbish of. Places of bytes were read off files of MariaDB 10.11.19 and 11.4.5.
//!
//! Not here: the record (`fingerprints`).

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sealstone_cipher::{Error as CipherError, Provider, cipher, ctr};
use sealstone_file::walk;
use sealstone_seal::tablespace::{NONCE_BYTES, ServerVersion, TablespaceError, TablespaceKeys};
use zeroize::Zeroizing;

use super::{ends_with, units};

/// Outcome of a trial.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    /// A page was opened.
    Opened,
    /// None was, of those that were tried: the first of them.
    Failed {
        /// Its file, as a path below the data directory.
        file: PathBuf,
        /// The version of the key that it names.
        version: u32,
    },
    /// There was no page to try.
    NoPage,
}

/// Most tablespaces that are looked at: where one page opens, the others need not be.
const TABLESPACES_MAX: usize = 64;
/// Most pages of a tablespace that are looked at for one to try.
const PAGES_MAX: u64 = 64;

/// Tablespaces of the server itself that are tried first, and the database of its own tables.
const SYSTEM: [&str; 4] = ["ibdata1", "undo001", "undo002", "undo003"];
const SYSTEM_DATABASE: &str = "mysql";

/// Beginning of what a tablespace's first page records about its key: a mark, a kind, a length. The
/// seed of the key, a version and the server's number of the key follow.
const CRYPT_MARK: &[u8] = b"s\x0e\x0cREt\x01\x10";
const SEED_BYTES: usize = 16;
/// Place of the server's number of the key, from the seed on.
const KEY_ID: usize = SEED_BYTES + 4;

/// Places in a page: its number, when it was written, its type, the number of its tablespace, and
/// the bytes that are enciphered, but for a checksum at the end.
const PAGE_NUMBER: usize = 4;
const WRITTEN_AT: usize = 16;
const SPACE: usize = 34;
const ENCIPHERED: usize = 26;
const CHECKSUM_BYTES: usize = 4;
/// Bit of a page's type that says that the page is compressed.
const COMPRESSED: u16 = 0x8000;

/// Tries `keys`, whose provider is `provider`, on pages in the data directory `dir`: those of the
/// newer form that are whole and not compressed, under a version that is among the keys.
///
/// # Errors
/// [`TablespaceError::Cipher`] where a module fails. Files that cannot be read are passed over, and
/// so is what a module lacks the cipher for.
pub(crate) fn try_on(
    dir: &Path,
    keys: &TablespaceKeys,
    provider: Provider,
) -> Result<Trial, TablespaceError> {
    let mut failed = None;
    for name in tablespaces(dir).take(TABLESPACES_MAX) {
        let Ok(Some(space)) = Tablespace::open(&dir.join(&name)) else { continue };
        match space.is_opened_by(keys, provider)? {
            Some((_, true)) => return Ok(Trial::Opened),
            Some((version, false)) => {
                failed.get_or_insert(Trial::Failed { file: name, version });
            }
            None => {}
        }
    }
    Ok(failed.unwrap_or(Trial::NoPage))
}

/// Returns the tablespaces of the server, its own first: those of tables have a definition beside
/// them, which one that lies ready to be imported, or was left behind, lacks.
fn tablespaces(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let mut databases = names(dir);
    databases.sort_by_key(|name| (name != SYSTEM_DATABASE, name.clone()));
    let dir = dir.to_owned();
    let tables = databases.into_iter().flat_map(move |database| {
        let dir = dir.join(&database);
        let mut tables = names(&dir);
        tables.retain(|name| {
            ends_with(name.as_ref(), ".ibd") && dir.join(name).with_extension("frm").is_file()
        });
        tables.sort();
        tables.into_iter().map(move |name| Path::new(&database).join(name))
    });
    SYSTEM.map(PathBuf::from).into_iter().chain(tables)
}

/// Returns the names in `dir`; none where it cannot be listed, or is no directory.
fn names(dir: &Path) -> Vec<OsString> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}

/// A tablespace with pages of the newer form, and what their key is made from.
struct Tablespace {
    file: File,
    page_bytes: u64,
    copies: Vec<Range<u64>>,
    number: u32,
    seed: [u8; SEED_BYTES],
    key_id: u32,
}

impl Tablespace {
    /// Opens the file at `path`; None if it is something else, or was never encrypted.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let Some(file) = walk::open(path)? else { return Ok(None) };
        let Some(page_bytes) = units::bytes_of_newer_pages(&file)? else { return Ok(None) };
        let first = page_at(&file, 0, page_bytes)?;
        let mark = first.windows(CRYPT_MARK.len()).position(|found| found == CRYPT_MARK);
        let described = mark.map(|at| &first[at + CRYPT_MARK.len()..]);
        let Some(described) = described else { return Ok(None) };
        let Some(seed) = described.first_chunk().copied() else { return Ok(None) };
        let (number, key_id) = (big_endian(&first, SPACE), big_endian(described, KEY_ID));
        let copies = units::doublewrite_buffer(&file, page_bytes)?;
        Ok(Some(Self { file, page_bytes, copies, number, seed, key_id }))
    }

    /// Returns the version of the first page that can be tried, and whether `keys` open it; None if
    /// there is none.
    fn is_opened_by(
        &self,
        keys: &TablespaceKeys,
        provider: Provider,
    ) -> Result<Option<(u32, bool)>, TablespaceError> {
        for index in 1..PAGES_MAX {
            let Ok(page) = page_at(&self.file, index, self.page_bytes) else { break };
            let Some(version) = self.version_of(&page, index) else { continue };
            match self.opens(&page, version, keys, provider) {
                Err(
                    TablespaceError::MissingVersion { .. }
                    | TablespaceError::NotInModule { .. }
                    | TablespaceError::Cipher(CipherError::Lacks { .. }),
                ) => {}
                outcome => return Ok(Some((version.version(), outcome?))),
            }
        }
        Ok(None)
    }

    /// Returns the version of ours under which the page `index` is, if it can be tried.
    fn version_of(&self, page: &[u8], index: u64) -> Option<ServerVersion> {
        let version = ServerVersion::from_number(big_endian(page, 0))?;
        let kind = u16::from_be_bytes([page[units::PAGE_TYPE], page[units::PAGE_TYPE + 1]]);
        let end = page.len() - CHECKSUM_BYTES;
        let is_whole = crc32c::crc32c(&page[..end]) == big_endian(page, end);
        let is_own = u64::from(big_endian(page, PAGE_NUMBER)) == index
            && !self.copies.iter().any(|extent| extent.contains(&index));
        let is_plain = kind != units::UNUSED && kind & COMPRESSED == 0;
        (is_whole && is_own && is_plain).then_some(version)
    }

    /// Returns whether `keys` open `page`.
    fn opens(
        &self,
        page: &[u8],
        version: ServerVersion,
        keys: &TablespaceKeys,
        provider: Provider,
    ) -> Result<bool, TablespaceError> {
        let server_key = keys.server_key(self.key_id, version.number())?;
        // the server makes the key of a tablespace by encrypting the seed with AES, block by block:
        // what counter mode adds to its first block, with the seed for a counter
        let aes = cipher("aes-256").expect("a cipher of the table");
        let mut passed = Zeroizing::new([0; SEED_BYTES]);
        ctr(aes, &*server_key, provider)?.apply(&self.seed, 0, &mut *passed)?;
        let mut nonce = [0; NONCE_BYTES];
        nonce[..4].copy_from_slice(&self.number.to_le_bytes());
        nonce[4..8].copy_from_slice(&big_endian(page, PAGE_NUMBER).to_le_bytes());
        let written_at = &page[WRITTEN_AT..WRITTEN_AT + 8];
        nonce[8..].iter_mut().zip(written_at.iter().rev()).for_each(|(to, from)| *to = *from);
        let unit = keys.unit(self.key_id, version.number(), &*passed, &nonce)?;
        let content = &page[ENCIPHERED..page.len() - CHECKSUM_BYTES];
        let mut content = Zeroizing::new(content.to_vec());
        unit.decrypt_whole(&mut content)?;
        Ok(big_endian(&content, SPACE - ENCIPHERED) == self.number)
    }
}

fn page_at(file: &File, index: u64, page_bytes: u64) -> io::Result<Vec<u8>> {
    let mut page = vec![0; page_bytes as usize];
    file.read_exact_at(&mut page, index * page_bytes)?;
    Ok(page)
}

/// Returns the number at `at`, with zeros for what is beyond the end.
fn big_endian(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use sealstone_cipher::Backend;
    use sealstone_keys::{KeyRef, Secret};
    use sealstone_seal::tablespace::PageMode;

    use super::*;

    const SPACE_NUMBER: u32 = 7;
    const PAGE_BYTES: usize = 16384;

    fn keys(byte: u8, version: u32, mode: PageMode) -> TablespaceKeys {
        keys_of("aria-256", byte, version, mode, Backend::auto().into())
    }

    fn keys_of(
        name: &str,
        byte: u8,
        version: u32,
        mode: PageMode,
        provider: Provider,
    ) -> TablespaceKeys {
        let key = KeyRef { id: "orders".into(), version };
        let all = vec![(key.clone(), Secret::from_bytes(&[byte; 32]))];
        TablespaceKeys::new(all, &key, "a test", cipher(name).unwrap(), mode, provider).unwrap()
    }

    /// Returns a tablespace of four pages, of which the last is encrypted under `keys`.
    fn tablespace(keys: &TablespaceKeys) -> Vec<u8> {
        let provider = Provider::from(Backend::auto());
        let (seed, version) = ([3; SEED_BYTES], keys.current());
        let mut content = vec![0; 4 * PAGE_BYTES];
        let mut set = |at: usize, bytes: &[u8]| {
            content[at..at + bytes.len()].copy_from_slice(bytes);
        };
        set(SPACE, &SPACE_NUMBER.to_be_bytes());
        set(54, &0x15_u32.to_be_bytes());
        set(10_428, CRYPT_MARK);
        set(10_428 + CRYPT_MARK.len(), &seed);
        set(10_428 + CRYPT_MARK.len() + KEY_ID, &100_u32.to_be_bytes());
        let at = 3 * PAGE_BYTES;
        set(at, &version.number().to_be_bytes());
        set(at + PAGE_NUMBER, &3_u32.to_be_bytes());
        set(at + WRITTEN_AT, &0x0102_0304_0506_0708_u64.to_be_bytes());
        set(at + units::PAGE_TYPE, &17_855_u16.to_be_bytes());
        set(at + SPACE, &SPACE_NUMBER.to_be_bytes());
        let server_key = keys.server_key(100, version.number()).unwrap();
        let mut passed = [0; SEED_BYTES];
        let aes = ctr(cipher("aes-256").unwrap(), &*server_key, provider).unwrap();
        aes.apply(&seed, 0, &mut passed).unwrap();
        let nonce = [7, 0, 0, 0, 3, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1];
        let unit = keys.unit(100, version.number(), &passed, &nonce).unwrap();
        let end = content.len() - CHECKSUM_BYTES;
        unit.encrypt_whole(&mut content[at + ENCIPHERED..end]).unwrap();
        let checksum = crc32c::crc32c(&content[at..end]);
        content[end..].copy_from_slice(&checksum.to_be_bytes());
        content
    }

    /// Writes the tablespace of the table `name` in `dir`, and its definition.
    fn put(dir: &Path, name: &str, content: &[u8]) {
        let path = dir.join(name);
        fs::write(path.with_extension("ibd"), content).unwrap();
        fs::write(path.with_extension("frm"), "").unwrap();
    }

    fn tried(dir: &Path, keys: &TablespaceKeys) -> Trial {
        try_on(dir, keys, Backend::auto().into()).unwrap()
    }

    #[test]
    fn a_page_tells_its_key_from_another() {
        for mode in PageMode::ALL {
            let (right, wrong) = (keys(1, 5, mode), keys(2, 5, mode));
            let dir = tempfile::tempdir().unwrap();
            assert_eq!(tried(dir.path(), &right), Trial::NoPage);
            fs::create_dir(dir.path().join("shop")).unwrap();
            put(dir.path(), "shop/orders", &tablespace(&right));
            assert_eq!(tried(dir.path(), &right), Trial::Opened);
            let file = "shop/orders.ibd".into();
            assert_eq!(tried(dir.path(), &wrong), Trial::Failed { file, version: 5 });
            // of several tablespaces one page that opens is enough
            put(dir.path(), "shop/a", &tablespace(&wrong));
            assert_eq!(tried(dir.path(), &right), Trial::Opened);
            // another server's, that lies ready to be imported or is in a backup, is none of them
            for name in ["shop/a", "shop/orders"] {
                fs::remove_file(dir.path().join(name).with_extension("frm")).unwrap();
            }
            fs::create_dir_all(dir.path().join("old/shop")).unwrap();
            put(dir.path(), "old/shop/orders", &tablespace(&wrong));
            assert_eq!(tried(dir.path(), &wrong), Trial::NoPage);
            assert_eq!(tried(dir.path(), &right), Trial::NoPage);
            // a page under an unknown version is passed over
            put(dir.path(), "shop/orders", &tablespace(&right));
            assert_eq!(tried(dir.path(), &keys(1, 6, mode)), Trial::NoPage);
        }
    }

    /// A torn page, a copy of another file's, a compressed one and hostile files are no evidence.
    #[test]
    fn what_cannot_be_judged_is_no_evidence() {
        let (right, wrong) = (keys(1, 5, PageMode::Hctr2), keys(2, 5, PageMode::Hctr2));
        let whole = tablespace(&right);
        let checked = |mut content: Vec<u8>| {
            let end = content.len() - CHECKSUM_BYTES;
            let checksum = crc32c::crc32c(&content[3 * PAGE_BYTES..end]);
            content[end..].copy_from_slice(&checksum.to_be_bytes());
            content
        };
        let with = |at: usize, bytes: &[u8]| {
            let mut content = whole.clone();
            content[at..at + bytes.len()].copy_from_slice(bytes);
            content
        };
        let at = 3 * PAGE_BYTES;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("shop")).unwrap();
        put(dir.path(), "shop/orders", &whole);
        assert_ne!(tried(dir.path(), &wrong), Trial::NoPage);
        for content in [
            with(at + 5000, b"torn"),
            checked(with(at + PAGE_NUMBER, &[0, 0, 0, 4])),
            checked(with(at + units::PAGE_TYPE, &[0x90, 0])),
            checked(with(at + units::PAGE_TYPE, &[0, 0])),
            checked(with(at, &[0; 4])),
            with(10_428, b"no mark"),
            with(54, &[0; 4]),
            whole[..at].to_vec(),
            whole[..100].to_vec(),
            Vec::new(),
            // the first page ends behind the mark
            [&whole[..10_428], &[0; PAGE_BYTES - 10_436], CRYPT_MARK].concat(),
        ] {
            put(dir.path(), "shop/orders", &content);
            assert_eq!(tried(dir.path(), &wrong), Trial::NoPage);
        }
        fs::remove_file(dir.path().join("shop/orders.ibd")).unwrap();
        fs::create_dir(dir.path().join("shop/orders.ibd")).unwrap();
        assert_eq!(tried(dir.path(), &wrong), Trial::NoPage);
        assert_eq!(tried(&dir.path().join("nothing"), &wrong), Trial::NoPage);
    }

    #[test]
    fn what_a_module_lacks_the_cipher_for_is_no_evidence() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("shop")).unwrap();
        let (mode, own) = (PageMode::CbcCs1, Backend::auto().into());
        put(dir.path(), "shop/orders", &tablespace(&keys_of("lea-256", 1, 5, mode, own)));
        assert_ne!(tried(dir.path(), &keys(2, 5, mode)), Trial::NoPage);
        let module = Provider::Module(sealstone_modules::load("openssl:default").unwrap());
        let theirs = keys_of("aria-256", 2, 5, mode, module);
        assert_eq!(try_on(dir.path(), &theirs, module).unwrap(), Trial::NoPage);
    }
}
