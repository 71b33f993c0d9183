//! Units of a server that leaves no room for a tag in its files: pages of tablespaces and records
//! of logs, as MariaDB hands them to a plug-in. Confidentiality alone; byte by byte in
//! `docs/formats.md`.
//!
//! A page is enciphered as a whole (HCTR2), so that a repeated nonce shows no more than that a
//! whole page is the same, and a change garbles all of it; or, where a module computes, in CBC with
//! ciphertext stealing, which requires no more of a module than CBC and which shows more
//! ([`PageMode`]). A record of the redo log is chained ([`cbc_feistel`]): the server uses one nonce
//! for thousands of them. The binary log is written and read in pieces of any length, under nonces
//! that do not repeat, and takes a counter mode. A block of a temporary file may grow, and has a
//! check at its end that shows a change.
//!
//! Not here: which of the four a call of the server is (`adapters/mariadb`); formats that
//! authenticate what they hold (`engine_page`, `volume`).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use sealstone_cipher::cbc_feistel::{CbcFeistel, Chain, cbc_feistel};
use sealstone_cipher::memory::Protected;
use sealstone_cipher::{
    CbcCs1, Cipher, Ctr, Error as CipherError, Hctr2, Mode, Provider, cbc_cs1, cipher_by_id, ctr,
    hctr2,
};
use sealstone_keys::{HmacSha256, KeyError, KeyRef, Secret, subkey};
use sealstone_message::Unknown;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::file::KEY_BYTES_MAX;
use crate::fingerprint::Fingerprint;

/// Length of the nonce that the server gives for a unit, in bytes.
pub const NONCE_BYTES: usize = 16;

/// Length of the key that the server is given, in bytes.
pub(crate) const SERVER_KEY_BYTES: usize = 32;

/// Number of bytes by which a block of a temporary file grows.
pub const CHECK_BYTES: usize = 16;

/// Number of bytes of the shortest unit that is enciphered as a whole.
pub const WHOLE_BYTES_MIN: usize = 16;

/// Longest key that a server passes for a unit, in bytes.
const PASSED_KEY_BYTES_MAX: usize = 32;

/// Versions of a key take 24 bits of the server's number, mode and cipher the others.
const CIPHER_BITS: u32 = 8;

/// Bit of the server's number that is set where pages are in CBC-CS1.
const CBC_CS1_BIT: u32 = 0x80;

/// Length of the key of checks in CBC-CS1, in bytes.
const CHECK_KEY_BYTES: usize = 32;

/// Most keys of units that are kept. A server has one for each tablespace, and one for each
/// temporary file.
const UNITS_MAX: usize = 4096;

/// Checks that `provider` has all that units under `cipher` need.
///
/// # Errors
/// [`TablespaceError::Blocks`]; [`TablespaceError::Cipher`] for what a module lacks.
pub fn probe(cipher: &'static Cipher, provider: Provider) -> Result<(), TablespaceError> {
    let key = KeyRef { id: "probe".into(), version: 1 };
    let keys = vec![(key.clone(), Secret::from_bytes(&[0; 32]))];
    let mode = PageMode::of(provider);
    TablespaceKeys::new(keys, &key, "a probe", cipher, mode, provider).map(drop)
}

/// Mode in which pages are enciphered as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageMode {
    /// HCTR2, which no module has.
    #[default]
    Hctr2,
    /// CBC with ciphertext stealing.
    CbcCs1,
}

impl PageMode {
    /// All of them; the first is the one of our own code.
    pub const ALL: [Self; 2] = [Self::Hctr2, Self::CbcCs1];

    /// Returns the row in the table of modes.
    #[must_use]
    pub fn mode(self) -> Mode {
        match self {
            Self::Hctr2 => Mode::Hctr2,
            Self::CbcCs1 => Mode::CbcCs1,
        }
    }

    /// Returns the modes in which everything of a server is whose pages are in this one: those of
    /// pages, of the binary log, and of records of the redo log.
    #[must_use]
    pub fn modes(self) -> [Mode; 3] {
        [self.mode(), Mode::Ctr, Mode::CbcFeistel]
    }

    /// Returns the mode in which `provider` enciphers, unless another is asked for.
    #[must_use]
    pub fn of(provider: Provider) -> Self {
        if provider.module().is_some() { Self::CbcCs1 } else { Self::Hctr2 }
    }

    /// Returns the mode with the name `name`, as the table of modes has it.
    ///
    /// # Errors
    /// No mode of pages has this name.
    pub fn by_name(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|one| one.mode().word() == name);
        let names = || Self::ALL.map(|one| one.mode().word());
        found.ok_or_else(|| Unknown::new("mode of pages", name, names()))
    }
}

/// Version of a key as the server counts them: a later version of ours has a larger number, and it
/// names cipher and mode, so that a page records what it was enciphered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerVersion(u32);

impl ServerVersion {
    /// Returns the number for version `version` of a key, `cipher` and `mode`; none for a version
    /// beyond 24 bits or a cipher with blocks of 8 bytes.
    #[must_use]
    pub fn new(version: u32, cipher: &Cipher, mode: PageMode) -> Option<Self> {
        let id = Some(u32::from(cipher.id)).filter(|id| *id < CBC_CS1_BIT)?;
        let fits = version > 0 && version < (1 << (u32::BITS - CIPHER_BITS)) - 1;
        let mode = if mode == PageMode::CbcCs1 { CBC_CS1_BIT } else { 0 };
        let number = version << CIPHER_BITS | mode | id;
        (fits && cipher.block_bytes == NONCE_BYTES).then_some(Self(number))
    }

    /// Reads the number `number` of a server; none if it is not one of ours.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        let found = Self(number);
        Self::new(found.version(), cipher_by_id(found.cipher_id())?, found.mode())
    }

    /// Returns the number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns the version of our key.
    #[must_use]
    pub fn version(self) -> u32 {
        self.0 >> CIPHER_BITS
    }

    /// Returns the mode of pages.
    #[must_use]
    pub fn mode(self) -> PageMode {
        if self.0 & CBC_CS1_BIT == 0 { PageMode::Hctr2 } else { PageMode::CbcCs1 }
    }

    fn cipher_id(self) -> u16 {
        (self.0 & (CBC_CS1_BIT - 1)) as u16
    }

    /// Returns the cipher.
    #[must_use]
    pub fn cipher(self) -> &'static Cipher {
        cipher_by_id(self.cipher_id()).expect("it was known when this was made")
    }
}

/// Reason why a unit is not enciphered or deciphered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TablespaceError {
    /// The cipher has blocks that are too short.
    #[error(
        "{name} has blocks of {bytes} bytes; pages need a cipher with blocks of 16\nchoose \
             another one, such as aria-256"
    )]
    Blocks {
        /// Name of the cipher.
        name: &'static str,
        /// Length of its blocks, in bytes.
        bytes: usize,
    },
    /// A version of the key that the server's numbers cannot hold.
    #[error("version {version} of key {id} is beyond what the server can count\nmake a new key")]
    TooManyVersions {
        /// Name of the key.
        id: String,
        /// The version.
        version: u32,
    },
    /// A mode that the module does not have.
    #[error(
        "version {version} of the key is that of pages in {mode}, which module {module} does not \
         have\n\
         without the module, with sealstone_pages={other}, the server rewrites them under a newer \
         version: docs/guide/mariadb.md"
    )]
    NotInModule {
        /// Version of the key.
        version: u32,
        /// Mode of the pages.
        mode: &'static str,
        /// Mode that modules have.
        other: &'static str,
        /// Name of the module.
        module: &'static str,
    },
    /// A version that is not among the keys.
    #[error("no version {wanted} of key {id} from {place}; there are: {available}")]
    MissingVersion {
        /// Version that was asked for; 0 if the number is none of ours.
        wanted: u32,
        /// Name of the key.
        id: String,
        /// Place where the keys came from.
        place: String,
        /// The versions that there are.
        available: String,
    },
    /// A key or a nonce of a length that no server has.
    #[error("a {what} of {found} bytes")]
    Length {
        /// `key` or `nonce`.
        what: &'static str,
        /// Its length.
        found: usize,
    },
    /// A block of a temporary file that was changed.
    #[error("a block of a temporary file was changed")]
    Changed,
    /// A record that goes on after a piece that was no whole blocks.
    #[error(
        "the server passed a record in pieces that are not whole blocks of 16 bytes, which this \
         plug-in does not know"
    )]
    Pieces,
    /// The keys cannot be had.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The cipher refused.
    #[error(transparent)]
    Cipher(CipherError),
}

impl From<CipherError> for TablespaceError {
    fn from(error: CipherError) -> Self {
        if error == CipherError::AfterEnd { Self::Pieces } else { Self::Cipher(error) }
    }
}

/// The keys of a server's files, for as long as it runs. Serves many threads at once.
pub struct TablespaceKeys {
    keys: Vec<(KeyRef, Secret)>,
    current: ServerVersion,
    place: String,
    provider: Provider,
    units: RwLock<HashMap<Name, Arc<UnitKey>>>,
}

impl fmt::Debug for TablespaceKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (current, place) = (self.current, &self.place);
        f.debug_struct("TablespaceKeys")
            .field("current", &current)
            .field("place", place)
            .finish_non_exhaustive()
    }
}

/// Name of a key for units: the version, the server's key id, and the key that it passed.
#[derive(PartialEq, Eq, Hash)]
struct Name {
    version: ServerVersion,
    key_id: u32,
    passed: [u8; PASSED_KEY_BYTES_MAX],
    passed_bytes: usize,
}

impl Name {
    /// Returns the name for the key `passed` of the server, at most [`PASSED_KEY_BYTES_MAX`] long.
    fn new(version: ServerVersion, key_id: u32, passed: &[u8]) -> Self {
        let mut name =
            Self { version, key_id, passed: [0; PASSED_KEY_BYTES_MAX], passed_bytes: passed.len() };
        name.passed[..passed.len()].copy_from_slice(passed);
        name
    }

    fn passed(&self) -> &[u8] {
        &self.passed[..self.passed_bytes]
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        self.passed.zeroize();
    }
}

/// A key for units, set for the modes that were asked of it.
struct UnitKey {
    whole: Whole,
    stream: OnceLock<Protected<dyn Ctr>>,
    stream_key: Zeroizing<Vec<u8>>,
    record: OnceLock<CbcFeistel>,
    /// Keys of records: of whole blocks, and of ends.
    record_keys: [Zeroizing<Vec<u8>>; 2],
    cipher: &'static Cipher,
}

/// A key for whole units.
enum Whole {
    Hctr2(Hctr2),
    CbcCs1 {
        cbc: CbcCs1,
        /// Key of checks, for HMAC-SHA-256.
        check_key: Zeroizing<[u8; CHECK_KEY_BYTES]>,
    },
}

/// One unit: a page, a record of a log, a block of a temporary file.
pub struct Unit {
    key: Arc<UnitKey>,
    nonce: [u8; NONCE_BYTES],
    /// Block from which a stream counts, and the bytes of it that are done.
    stream: Option<([u8; NONCE_BYTES], u64)>,
    /// State of a record, once it has begun.
    record: Option<Chain>,
    provider: Provider,
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unit").finish_non_exhaustive()
    }
}

impl TablespaceKeys {
    /// Takes the keys.
    ///
    /// - `keys`: every version there is, as [`sealstone_keys::KeySource::all`] returns them
    /// - `current`: the version for what is written
    /// - `place`: where they came from, for messages
    /// - `cipher`, `mode`: those of what is written; what is read names its own
    /// - `provider`: who computes; in a module every algorithm that is needed is tried
    ///
    /// # Errors
    /// [`TablespaceError::Blocks`], [`TablespaceError::TooManyVersions`];
    /// [`TablespaceError::MissingVersion`] if `current` is not among `keys`;
    /// [`TablespaceError::NotInModule`], and [`TablespaceError::Cipher`] for what a module lacks.
    pub fn new(
        keys: Vec<(KeyRef, Secret)>,
        current: &KeyRef,
        place: &str,
        cipher: &'static Cipher,
        mode: PageMode,
        provider: impl Into<Provider>,
    ) -> Result<Self, TablespaceError> {
        if cipher.block_bytes != NONCE_BYTES {
            let bytes = cipher.block_bytes;
            return Err(TablespaceError::Blocks { name: cipher.name, bytes });
        }
        let (id, version) = (current.id.clone(), current.version);
        let number = ServerVersion::new(version, cipher, mode)
            .ok_or(TablespaceError::TooManyVersions { id, version })?;
        let (place, provider) = (place.to_owned(), provider.into());
        let made = Self { keys, current: number, place, provider, units: RwLock::default() };
        made.secret(made.known(number.number())?.version())?;
        if provider.module().is_some() {
            made.try_all(number)?;
        }
        Ok(made)
    }

    /// Uses every algorithm once, so that what a module lacks is known before anything is written.
    fn try_all(&self, version: ServerVersion) -> Result<(), TablespaceError> {
        let mut unit = self.unit(0, version.number(), &[0; SERVER_KEY_BYTES], &[0; NONCE_BYTES])?;
        unit.crypt_next(&mut [0; 1])?;
        unit.encrypt_record(&mut [0; NONCE_BYTES + 1])?;
        unit.seal_block(&mut [0; CHECK_BYTES + 1])?;
        self.units.write().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// Returns the version for what is written.
    #[must_use]
    pub fn current(&self) -> ServerVersion {
        self.current
    }

    /// Returns the versions of the key that there are.
    pub fn versions(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|(key, _)| key.version)
    }

    /// Returns the fingerprint of version `version` of the key.
    ///
    /// # Errors
    /// [`TablespaceError::MissingVersion`]; [`TablespaceError::Cipher`] where a module fails.
    pub fn fingerprint(&self, version: u32) -> Result<Fingerprint, TablespaceError> {
        Ok(Fingerprint::of_tablespaces(self.secret(version)?, self.provider)?)
    }

    /// Returns the key that the server itself is given for its number `key_id` and `version`: a
    /// child of ours, since the server shows it to its own code.
    ///
    /// # Errors
    /// [`TablespaceError::MissingVersion`].
    pub fn server_key(
        &self,
        key_id: u32,
        version: u32,
    ) -> Result<Zeroizing<[u8; SERVER_KEY_BYTES]>, TablespaceError> {
        let version = self.known(version)?;
        let mut key = Zeroizing::new([0; SERVER_KEY_BYTES]);
        let context: [&[u8]; 2] = [version.cipher().name.as_bytes(), &key_id.to_be_bytes()];
        let secret = self.secret(version.version())?.as_bytes();
        subkey(self.provider, secret, "tablespace server key", &context, &mut *key)?;
        Ok(key)
    }

    /// Begins a unit.
    ///
    /// - `key_id`, `version`: the server's numbers
    /// - `passed`: the key that the server passes, from [`server_key`](Self::server_key) or made
    ///   from it
    /// - `nonce`: [`NONCE_BYTES`] bytes
    ///
    /// # Errors
    /// [`TablespaceError::MissingVersion`], [`TablespaceError::Length`],
    /// [`TablespaceError::Cipher`].
    pub fn unit(
        &self,
        key_id: u32,
        version: u32,
        passed: &[u8],
        nonce: &[u8],
    ) -> Result<Unit, TablespaceError> {
        let version = self.known(version)?;
        if passed.is_empty() || passed.len() > PASSED_KEY_BYTES_MAX {
            return Err(TablespaceError::Length { what: "key", found: passed.len() });
        }
        let wrong = |_| TablespaceError::Length { what: "nonce", found: nonce.len() };
        let nonce = nonce.try_into().map_err(wrong)?;
        let name = Name::new(version, key_id, passed);
        let found = self.units.read().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        let key = match found {
            Some(key) => key,
            None => self.keep(name)?,
        };
        Ok(Unit { key, nonce, stream: None, record: None, provider: self.provider })
    }

    /// Sets the key named `name`, and keeps it for the next unit.
    fn keep(&self, name: Name) -> Result<Arc<UnitKey>, TablespaceError> {
        let cipher = name.version.cipher();
        let secret = self.secret(name.version.version())?.as_bytes();
        let key_id = name.key_id.to_be_bytes();
        let context: [&[u8]; 3] = [cipher.name.as_bytes(), &key_id, name.passed()];
        let derive =
            |purpose, key: &mut [u8]| subkey(self.provider, secret, purpose, &context, key);
        let derived = |purpose| {
            let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
            derive(purpose, &mut key[..cipher.key_bytes])?;
            Ok::<_, CipherError>(Zeroizing::new(key[..cipher.key_bytes].to_vec()))
        };
        let (whole, stream_key) = match name.version.mode() {
            PageMode::Hctr2 => {
                let keyed = hctr2(cipher, &derived("tablespace pages")?, self.provider)?;
                (Whole::Hctr2(keyed), derived("tablespace streams")?)
            }
            PageMode::CbcCs1 => {
                let keyed = derived("tablespace pages cbc-cs1")?;
                let cbc = cbc_cs1(cipher, &keyed, self.provider)?;
                let mut check_key = Zeroizing::new([0; CHECK_KEY_BYTES]);
                derive("tablespace checks cbc-cs1", &mut *check_key)?;
                (Whole::CbcCs1 { cbc, check_key }, derived("tablespace streams cbc-cs1")?)
            }
        };
        let (stream, record) = (OnceLock::new(), OnceLock::new());
        let record_keys = match name.version.mode() {
            PageMode::Hctr2 => ["tablespace records", "tablespace record ends"],
            PageMode::CbcCs1 => ["tablespace records cbc-cs1", "tablespace record ends cbc-cs1"],
        };
        let [blocks, ends] = record_keys.map(derived);
        let record_keys = [blocks?, ends?];
        let key = UnitKey { whole, stream, stream_key, record, record_keys, cipher };
        let key = Arc::new(key);
        let mut units = self.units.write().unwrap_or_else(PoisonError::into_inner);
        if units.len() >= UNITS_MAX {
            // what is still in use is set again
            units.clear();
        }
        units.insert(name, Arc::clone(&key));
        Ok(key)
    }

    fn known(&self, number: u32) -> Result<ServerVersion, TablespaceError> {
        let found = ServerVersion::from_number(number);
        let found = found.ok_or_else(|| self.missing(number >> CIPHER_BITS))?;
        match self.provider.module() {
            Some(module) if found.mode() == PageMode::Hctr2 => Err(TablespaceError::NotInModule {
                version: found.version(),
                mode: found.mode().mode().word(),
                other: PageMode::CbcCs1.mode().word(),
                module: module.name(),
            }),
            _ => Ok(found),
        }
    }

    fn secret(&self, version: u32) -> Result<&Secret, TablespaceError> {
        let named = |(key, _): &&(KeyRef, Secret)| key.version == version;
        let found = self.keys.iter().find(named).map(|(_, secret)| secret);
        found.ok_or_else(|| self.missing(version))
    }

    fn missing(&self, wanted: u32) -> TablespaceError {
        let available: Vec<String> = self.versions().map(|version| version.to_string()).collect();
        TablespaceError::MissingVersion {
            wanted,
            id: self.keys.first().map(|(key, _)| key.id.clone()).unwrap_or_default(),
            place: self.place.clone(),
            available: available.join(", "),
        }
    }
}

impl Unit {
    /// Enciphers all of `data`, [`WHOLE_BYTES_MIN`] bytes or more, in place.
    ///
    /// # Errors
    /// [`TablespaceError::Cipher`] if it is shorter; `data` is untouched. The same if a module
    /// failed; it is zeros then.
    pub fn encrypt_whole(&self, data: &mut [u8]) -> Result<(), TablespaceError> {
        Ok(match &self.key.whole {
            Whole::Hctr2(keyed) => keyed.encrypt(&self.nonce, data),
            Whole::CbcCs1 { cbc, .. } => cbc.iv(&self.nonce).and_then(|iv| cbc.encrypt(&iv, data)),
        }?)
    }

    /// Deciphers all of `data`, as [`encrypt_whole`](Self::encrypt_whole) left it.
    ///
    /// # Errors
    /// [`TablespaceError::Cipher`] if it is too short; `data` is untouched. The same if a module
    /// failed; it is zeros then.
    pub fn decrypt_whole(&self, data: &mut [u8]) -> Result<(), TablespaceError> {
        Ok(match &self.key.whole {
            Whole::Hctr2(keyed) => keyed.decrypt(&self.nonce, data),
            Whole::CbcCs1 { cbc, .. } => cbc.iv(&self.nonce).and_then(|iv| cbc.decrypt(&iv, data)),
        }?)
    }

    /// Enciphers or deciphers the next piece of a stream, of any length, in place.
    ///
    /// # Errors
    /// [`TablespaceError::Cipher`]; `data` is untouched.
    pub fn crypt_next(&mut self, data: &mut [u8]) -> Result<(), TablespaceError> {
        let (start, done) = match self.stream {
            Some(stream) => stream,
            None => {
                // nonces of a server may be next to each other, and so would its counters be
                let mut start = self.nonce;
                match &self.key.whole {
                    Whole::Hctr2(keyed) => keyed.encrypt(b"stream", &mut start)?,
                    Whole::CbcCs1 { cbc, .. } => start = cbc.iv(&self.nonce)?,
                }
                (start, 0)
            }
        };
        self.key.stream(self.provider)?.apply(&start, done, data)?;
        self.stream = Some((start, done + data.len() as u64));
        Ok(())
    }

    /// Enciphers the next piece of a record in place: whole blocks of 16 bytes, or the last piece,
    /// of any length.
    ///
    /// # Errors
    /// [`TablespaceError::Pieces`] after a piece that was no whole blocks, and
    /// [`TablespaceError::Cipher`] if a module failed: `data` is of no use then.
    pub fn encrypt_record(&mut self, data: &mut [u8]) -> Result<(), TablespaceError> {
        let (key, chain) = self.chain()?;
        Ok(key.encrypt(chain, data)?)
    }

    /// Deciphers the next piece of a record in place; its pieces may be others than those that
    /// [`encrypt_record`](Self::encrypt_record) was given, by the same rule.
    ///
    /// # Errors
    /// As [`encrypt_record`](Self::encrypt_record).
    pub fn decrypt_record(&mut self, data: &mut [u8]) -> Result<(), TablespaceError> {
        let (key, chain) = self.chain()?;
        Ok(key.decrypt(chain, data)?)
    }

    /// Returns the state of the record, which begins with the first piece.
    fn chain(&mut self) -> Result<(&CbcFeistel, &mut Chain), TablespaceError> {
        let key = self.key.record(self.provider)?;
        let chain = match &mut self.record {
            Some(chain) => chain,
            none => none.insert(key.begin(&self.nonce)?),
        };
        Ok((key, chain))
    }

    /// Enciphers a block of a temporary file in `block`, whose last [`CHECK_BYTES`] bytes are room.
    ///
    /// # Errors
    /// [`TablespaceError::Cipher`] if there is no room; `block` is untouched. The same if a module
    /// failed; it is of no use then.
    pub fn seal_block(&self, block: &mut [u8]) -> Result<(), TablespaceError> {
        let found = block.len();
        let short = CipherError::MessageTooShort { found, least: CHECK_BYTES };
        let (data, check) = block.split_last_chunk_mut::<CHECK_BYTES>().ok_or(short)?;
        *check = self.check(data)?;
        match &self.key.whole {
            Whole::Hctr2(keyed) => Ok(keyed.encrypt(&self.tweak_of_block(), block)?),
            Whole::CbcCs1 { .. } => self.encrypt_whole(block),
        }
    }

    /// Deciphers a block of a temporary file, all but whose last [`CHECK_BYTES`] bytes are data
    /// then.
    ///
    /// # Errors
    /// [`TablespaceError::Changed`], and [`TablespaceError::Cipher`] where a module failed after it
    /// deciphered: `block` is then zeros.
    pub fn open_block(&self, block: &mut [u8]) -> Result<(), TablespaceError> {
        match &self.key.whole {
            Whole::Hctr2(keyed) => keyed.decrypt(&self.tweak_of_block(), block)?,
            Whole::CbcCs1 { .. } => self.decrypt_whole(block)?,
        }
        let is_whole = match block.split_last_chunk::<CHECK_BYTES>() {
            Some((data, check)) => self.check(data).map(|own| own.ct_eq(check).into()),
            None => Ok(false),
        };
        match is_whole {
            Ok(true) => Ok(()),
            other => {
                block.zeroize();
                Err(other.err().unwrap_or(TablespaceError::Changed))
            }
        }
    }

    /// Returns what follows the data of a block before all of it is enciphered: zeros in a mode in
    /// which a change garbles everything, and otherwise a MAC.
    fn check(&self, data: &[u8]) -> Result<[u8; CHECK_BYTES], TablespaceError> {
        let mut check = [0; CHECK_BYTES];
        if let Whole::CbcCs1 { check_key, .. } = &self.key.whole {
            let mut mac = HmacSha256::new(self.provider, &check_key[..])?;
            mac.update(&self.nonce);
            mac.update(data);
            check.copy_from_slice(&mac.finish()?[..CHECK_BYTES]);
        }
        Ok(check)
    }

    /// Returns a tweak that no page has.
    fn tweak_of_block(&self) -> [u8; NONCE_BYTES + 1] {
        let mut tweak = [1; NONCE_BYTES + 1];
        tweak[..NONCE_BYTES].copy_from_slice(&self.nonce);
        tweak
    }
}

impl UnitKey {
    fn record(&self, provider: Provider) -> Result<&CbcFeistel, CipherError> {
        if self.record.get().is_none() {
            // of two threads that set it at once, one is kept
            let keys = self.record_keys.each_ref().map(|key| &key[..]);
            let _ = self.record.set(cbc_feistel(self.cipher, keys, provider)?);
        }
        Ok(self.record.get().expect("it was set"))
    }

    fn stream(&self, provider: Provider) -> Result<&dyn Ctr, CipherError> {
        if self.stream.get().is_none() {
            // of two threads that set it at once, one is kept
            let _ = self.stream.set(ctr(self.cipher, &self.stream_key, provider)?);
        }
        Ok(self.stream.get().expect("it was set").as_ref())
    }
}

#[cfg(test)]
mod tests;
