//! Engine pages: blocks for a storage engine that hands over bytes and tells nothing of where they will lie. Each block
//! stands alone: it names cipher, key and salt, and is sealed under a subkey of its own writer. Byte by byte in
//! `docs/formats.md`.
//!
//! Not here: the engine (`adapters/wiredtiger`), and what knows its place: `paged`, `frame`. A block says nothing of its
//! place, so one that was swapped with another of the same key goes unnoticed here; see SECURITY.md.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use sealstone_cipher::aead::{Aead, Error as CipherError, aead};
use sealstone_cipher::backend::Backend;
use sealstone_cipher::ctr::{Ctr, ctr};
use sealstone_cipher::memory::{Forked, Generation};
use sealstone_cipher::registry::{self, Cipher, Mode};
use sealstone_keys::{KeyError, KeyRef, Secret, subkey};
use zeroize::Zeroizing;

use crate::TAG_BYTES;
use crate::file::KEY_BYTES_MAX;
use crate::segment::nonce;

/// What every block begins with; the first byte is no text.
pub const MAGIC: [u8; 3] = *b"\x89SP";

/// The format version written, and the newest that is read.
pub const FORMAT_VERSION: u8 = 1;

/// Length of what stands before the ciphertext, in bytes.
pub const HEADER_BYTES: usize = 44;

/// How much longer a block is than the page in it, in bytes.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;

/// Length of the salt that a writer draws, in bytes.
pub const SALT_BYTES: usize = 16;

/// Most opened subkeys that are kept for reading. An opening of the data directory makes one, a cipher with tight
/// limits one more whenever they are spent: 1,024 are 8 GiB under 3DES.
const OPENED_MAX: usize = 1024;

const VERSION_AT: usize = 3;
const CIPHER_AT: usize = 4;
const FLAGS_AT: usize = 6;
const RESERVED_AT: usize = 7;
const KEY_VERSION_AT: usize = 8;
const FINGERPRINT_AT: usize = 12;
const SALT_AT: usize = 20;
const COUNTER_AT: usize = 36;

/// Set where the page is longer than its cipher allows under one key, and so sealed in parts.
const IN_PARTS: u8 = 1;

/// Eight bytes that tell one key version from all others and nothing about its secret, from which they are derived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 8]);

impl Fingerprint {
    /// The fingerprint of `key` with the secret `secret`.
    #[must_use]
    pub fn of(key: &KeyRef, secret: &Secret) -> Self {
        let mut fingerprint = [0; 8];
        subkey(secret.as_bytes(), "engine page key", &[key.id.as_bytes()], &mut fingerprint);
        Self(fingerprint)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// What a block says of itself, not yet authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnginePageInfo {
    /// Version of the format.
    pub format_version: u8,
    /// The cipher.
    pub cipher: &'static Cipher,
    /// Version of the key.
    pub key_version: u32,
    /// Which key it is.
    pub fingerprint: Fingerprint,
    /// What the writer drew when it opened the data directory, or when the limits of its subkey were spent.
    pub salt: [u8; SALT_BYTES],
    /// Where the page began in what was sealed under that salt: never twice the same.
    pub counter: u64,
    /// Whether the page is longer than its cipher allows under one key.
    pub in_parts: bool,
}

/// Why a page was not sealed, or a block not opened. Never holds key bytes or data.
#[derive(Debug, thiserror::Error)]
pub enum EnginePageError {
    /// The block does not begin as one.
    #[error(
        "a block of {bytes} bytes is not sealed by sealstone\n\
         its file is in the clear, or sealed by another program; nothing in the clear is read where sealed blocks are expected"
    )]
    NotSealed {
        /// Length of the block, in bytes.
        bytes: usize,
    },
    /// The block was written by a newer program.
    #[error(
        "a block is sealed in format version {found}, this program knows version {FORMAT_VERSION}\n\
         use the version of sealstone that wrote it, or a newer one"
    )]
    UnsupportedVersion {
        /// Version found.
        found: u8,
    },
    /// The block names a cipher that this build lacks.
    #[error(
        "a block is sealed with cipher number {id}, which this program does not know\n\
         use the version of sealstone that wrote it, or a newer one"
    )]
    UnknownCipher {
        /// The number in the block.
        id: u16,
    },
    /// The block cannot be one that this program wrote.
    #[error("a damaged block: {found}\nrestore the file from a backup, or resync this member")]
    Damaged {
        /// What was found.
        found: String,
    },
    /// The block is sealed with another cipher than this opening uses.
    #[error(
        "a block is sealed with {found}, and this opening is set to {wanted}\n\
         start with cipher {found}; to change the cipher, let an empty data directory be filled anew (initial sync)"
    )]
    OtherCipher {
        /// Cipher of the block.
        found: &'static str,
        /// Cipher of this opening.
        wanted: &'static str,
    },
    /// No key of the source has the version that the block names.
    #[error(
        "a block is sealed under key version {version} (fingerprint {fingerprint}), not found in {place}, which has {held}\n\
         give the key source that still holds this version, or the one this data was sealed with"
    )]
    MissingVersion {
        /// Version that the block names.
        version: u32,
        /// Fingerprint that the block names.
        fingerprint: Fingerprint,
        /// Where the keys came from.
        place: String,
        /// What is there instead.
        held: String,
    },
    /// The source has a key of that version, and it is another one.
    #[error(
        "wrong key: a block is sealed under fingerprint {fingerprint}, and key {key} from {place} has {own}\n\
         another key bears this version; give the key source this data was sealed with"
    )]
    OtherKey {
        /// The key that is there.
        key: KeyRef,
        /// Where the keys came from.
        place: String,
        /// Fingerprint that the block names.
        fingerprint: Fingerprint,
        /// Fingerprint of the key that is there.
        own: Fingerprint,
    },
    /// The block is not what was sealed.
    #[error(
        "a block of {bytes} bytes under key {key} ({cipher}, from {place}) failed authentication: it was changed after it was sealed\n\
         restore the file from a backup, or resync this member"
    )]
    Changed {
        /// Length of the block, in bytes.
        bytes: usize,
        /// The key that it names.
        key: KeyRef,
        /// Where the key came from.
        place: String,
        /// Name of the cipher.
        cipher: &'static str,
    },
    /// The buffer for the result has not the length of the result.
    #[error("a buffer of {found} bytes for {wanted}\nthis is a bug in sealstone; please report it")]
    Buffer {
        /// Length of the buffer, in bytes.
        found: usize,
        /// Length wanted, in bytes.
        wanted: usize,
    },
    /// A page longer than the format can hold.
    #[error("a page of {bytes} bytes is too long for cipher {cipher}\nstore smaller records, or take another cipher")]
    TooLong {
        /// Length of the page, in bytes.
        bytes: usize,
        /// Name of the cipher.
        cipher: &'static str,
    },
    /// The operating system gave no randomness.
    #[error("no randomness from the operating system: {0}\nnothing was sealed")]
    Random(String),
    /// The keys were taken before this process was forked.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// The current key is not among the keys.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The cipher refused its key or input: a bug of ours.
    #[error("cipher call failed: {0}\nthis is a bug in sealstone; please report it")]
    Cipher(CipherError),
}

/// Reads what a block says without any key, and so without knowing that it is genuine.
///
/// `block`: the block, or its first [`HEADER_BYTES`] bytes.
///
/// # Errors
/// [`EnginePageError::NotSealed`], [`EnginePageError::UnsupportedVersion`], [`EnginePageError::UnknownCipher`],
/// [`EnginePageError::Damaged`].
pub fn inspect(block: &[u8]) -> Result<EnginePageInfo, EnginePageError> {
    let (Some(header), true) = (block.first_chunk::<HEADER_BYTES>(), block.starts_with(&MAGIC)) else {
        return Err(EnginePageError::NotSealed { bytes: block.len() });
    };
    let damaged = |found: &str| Err(EnginePageError::Damaged { found: found.into() });
    let format_version = header[VERSION_AT];
    if format_version == 0 {
        return damaged("format version 0 was never used");
    }
    if format_version > FORMAT_VERSION {
        return Err(EnginePageError::UnsupportedVersion { found: format_version });
    }
    if header[FLAGS_AT] & !IN_PARTS != 0 || header[RESERVED_AT] != 0 {
        return damaged("bits that version 1 leaves zero are not");
    }
    let id = u16::from_be_bytes(take(header, CIPHER_AT));
    let Some(cipher) = registry::by_id(id) else { return Err(EnginePageError::UnknownCipher { id }) };
    Ok(EnginePageInfo {
        format_version,
        cipher,
        key_version: u32::from_be_bytes(take(header, KEY_VERSION_AT)),
        fingerprint: Fingerprint(take(header, FINGERPRINT_AT)),
        salt: take(header, SALT_AT),
        counter: u64::from_be_bytes(take(header, COUNTER_AT)),
        in_parts: header[FLAGS_AT] & IN_PARTS != 0,
    })
}

fn take<const N: usize>(header: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    *header[at..].first_chunk().expect("the field lies in the header")
}

/// One key version, in memory for as long as the engine is open.
struct Kek {
    key: KeyRef,
    secret: Secret,
    fingerprint: Fingerprint,
}

/// Who sealed a block: the key, and the salt that was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Writer {
    fingerprint: Fingerprint,
    salt: [u8; SALT_BYTES],
}

/// What seals until its limits are spent: a subkey under a fresh salt, and how much of it was used.
struct Sealing {
    salt: [u8; SALT_BYTES],
    keyed: Box<dyn Aead>,
    next: AtomicU64,
}

/// Seals pages and opens blocks, for one opening of one data directory. Serves many threads at once. Keys are zeroed on
/// drop, and `Debug` shows none.
pub struct EnginePages {
    cipher: &'static Cipher,
    backend: Backend,
    place: String,
    keys: Vec<Kek>,
    current: usize,
    /// In which process: a child has the same counter and would seal under the same nonces.
    opened_in: Generation,
    sealing: RwLock<Sealing>,
    /// Subkeys of other openings that opened a block.
    opened: RwLock<HashMap<Writer, Box<dyn Aead>>>,
}

impl fmt::Debug for EnginePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cipher, key) = (self.cipher.name, self.key());
        f.debug_struct("EnginePages").field("cipher", &cipher).field("key", key).finish_non_exhaustive()
    }
}

impl EnginePages {
    /// Takes the keys and draws the salt of this opening.
    ///
    /// - `keys`: every version there is, as [`sealstone_keys::KeySource::all`] gives them
    /// - `current`: the one of them that seals
    /// - `place`: where they came from, for messages, as [`sealstone_keys::KeySource::describe`] tells it
    /// - `cipher`, `backend`: what seals, and what every block must be sealed with
    ///
    /// # Errors
    /// [`EnginePageError::Key`] if `current` is not among `keys`; [`EnginePageError::Random`];
    /// [`EnginePageError::Cipher`].
    pub fn new(
        keys: Vec<(KeyRef, Secret)>,
        current: &KeyRef,
        place: &str,
        cipher: &'static Cipher,
        backend: Backend,
    ) -> Result<Self, EnginePageError> {
        let Some(at) = keys.iter().position(|(key, _)| key == current) else {
            let available = keys.iter().map(|(key, _)| key.version).collect();
            return Err(KeyError::MissingVersion { wanted: current.clone(), place: place.into(), available }.into());
        };
        let keys: Vec<Kek> = keys
            .into_iter()
            .map(|(key, secret)| Kek { fingerprint: Fingerprint::of(&key, &secret), key, secret })
            .collect();
        let sealing = RwLock::new(Sealing::new(&keys[at], cipher, backend)?);
        let opened = RwLock::default();
        let (opened_in, place) = (Generation::current(), place.into());
        Ok(Self { cipher, backend, place, keys, current: at, opened_in, sealing, opened })
    }

    /// The key that seals.
    #[must_use]
    pub fn key(&self) -> &KeyRef {
        &self.keys[self.current].key
    }

    /// Every key that opens, with its fingerprint.
    pub fn keys(&self) -> impl Iterator<Item = (&KeyRef, Fingerprint)> {
        self.keys.iter().map(|kek| (&kek.key, kek.fingerprint))
    }

    /// The cipher that seals.
    #[must_use]
    pub fn cipher(&self) -> &'static Cipher {
        self.cipher
    }

    /// The backend that seals and opens.
    #[must_use]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Seals `page` into `block`, which is [`OVERHEAD_BYTES`] longer.
    ///
    /// # Errors
    /// As [`EnginePages::seal_in_place`].
    pub fn seal(&self, page: &[u8], block: &mut [u8]) -> Result<(), EnginePageError> {
        let wanted = page.len() + OVERHEAD_BYTES;
        if block.len() != wanted {
            block.fill(0);
            return Err(EnginePageError::Buffer { found: block.len(), wanted });
        }
        block[HEADER_BYTES..][..page.len()].copy_from_slice(page);
        self.seal_in_place(block)
    }

    /// Seals the page that lies in `block` between room for the header ([`HEADER_BYTES`]) and room for the tag.
    ///
    /// # Errors
    /// [`EnginePageError::Buffer`], [`EnginePageError::TooLong`], [`EnginePageError::Random`], [`EnginePageError::Forked`],
    /// [`EnginePageError::Cipher`]. `block` then holds nothing of the page.
    pub fn seal_in_place(&self, block: &mut [u8]) -> Result<(), EnginePageError> {
        self.seal_somewhere(block).inspect_err(|_| block.fill(0))
    }

    fn seal_somewhere(&self, block: &mut [u8]) -> Result<(), EnginePageError> {
        self.opened_in.check()?;
        let Some(bytes) = block.len().checked_sub(OVERHEAD_BYTES) else {
            return Err(EnginePageError::Buffer { found: block.len(), wanted: OVERHEAD_BYTES });
        };
        let in_parts = bytes as u64 > self.cipher.limits.message_bytes;
        if in_parts && self.cipher.mode == Mode::Gcm {
            return Err(EnginePageError::TooLong { bytes, cipher: self.cipher.name });
        }
        let units = if in_parts { 1 } else { units(self.cipher, bytes) };
        loop {
            let sealing = self.sealing.read().unwrap_or_else(PoisonError::into_inner);
            let counter = sealing.next.fetch_add(units, Ordering::Relaxed);
            if counter.saturating_add(units) <= units_per_key(self.cipher) {
                return self.seal_at(&sealing, counter, in_parts, block);
            }
            drop(sealing);
            self.renew(units)?;
        }
    }

    fn seal_at(
        &self,
        sealing: &Sealing,
        counter: u64,
        in_parts: bool,
        block: &mut [u8],
    ) -> Result<(), EnginePageError> {
        let kek = &self.keys[self.current];
        let info = EnginePageInfo {
            format_version: FORMAT_VERSION,
            cipher: self.cipher,
            key_version: kek.key.version,
            fingerprint: kek.fingerprint,
            salt: sealing.salt,
            counter,
            in_parts,
        };
        let (sealed, tag_place) = block.split_last_chunk_mut().expect("the length was checked");
        let (header, data) = sealed.split_first_chunk_mut().expect("the length was checked");
        put(header, &info);
        let nonce = nonce(counter);
        let nonce = &nonce[12 - sealing.keyed.nonce_bytes()..];
        let tag = if in_parts {
            self.crypt_parts(kek, &info, data)?;
            sealing.keyed.seal(nonce, sealed, &mut [])
        } else {
            sealing.keyed.seal(nonce, header, data)
        };
        *tag_place = tag.map_err(EnginePageError::Cipher)?;
        Ok(())
    }

    /// Draws a new salt, unless another thread just did.
    fn renew(&self, units: u64) -> Result<(), EnginePageError> {
        let mut sealing = self.sealing.write().unwrap_or_else(PoisonError::into_inner);
        if sealing.next.load(Ordering::Relaxed).saturating_add(units) > units_per_key(self.cipher) {
            *sealing = Sealing::new(&self.keys[self.current], self.cipher, self.backend)?;
        }
        Ok(())
    }

    /// Opens `block` into `page`, which is [`OVERHEAD_BYTES`] shorter.
    ///
    /// # Errors
    /// As [`EnginePages::open_in_place`].
    pub fn open(&self, block: &[u8], page: &mut [u8]) -> Result<(), EnginePageError> {
        if let Some(ciphertext) = block.get(HEADER_BYTES..HEADER_BYTES + page.len()) {
            page.copy_from_slice(ciphertext);
        }
        self.open_in_place(block, page)
    }

    /// Opens `block`, whose ciphertext (all of it but [`HEADER_BYTES`] before and the tag after it) was copied to `page`.
    ///
    /// # Errors
    /// Those of [`inspect`]; [`EnginePageError::OtherCipher`], [`EnginePageError::MissingVersion`],
    /// [`EnginePageError::OtherKey`], [`EnginePageError::Changed`], [`EnginePageError::Buffer`],
    /// [`EnginePageError::Forked`]. `page` then holds
    /// nothing of the data.
    pub fn open_in_place(&self, block: &[u8], page: &mut [u8]) -> Result<(), EnginePageError> {
        self.open_somewhere(block, page).inspect_err(|_| page.fill(0))
    }

    fn open_somewhere(&self, block: &[u8], page: &mut [u8]) -> Result<(), EnginePageError> {
        self.opened_in.check()?;
        let info = inspect(block)?;
        if block.len() < OVERHEAD_BYTES {
            return Err(EnginePageError::Damaged { found: format!("it ends after {} bytes", block.len()) });
        }
        let wanted = block.len() - OVERHEAD_BYTES;
        if page.len() != wanted {
            return Err(EnginePageError::Buffer { found: page.len(), wanted });
        }
        if info.cipher != self.cipher {
            return Err(EnginePageError::OtherCipher { found: info.cipher.name, wanted: self.cipher.name });
        }
        let kek = self.kek(&info)?;
        {
            let sealing = self.sealing.read().unwrap_or_else(PoisonError::into_inner);
            if sealing.salt == info.salt && kek.fingerprint == self.keys[self.current].fingerprint {
                return self.open_under(&*sealing.keyed, kek, &info, block, page);
            }
        }
        let writer = Writer { fingerprint: kek.fingerprint, salt: info.salt };
        if let Some(keyed) = self.opened.read().unwrap_or_else(PoisonError::into_inner).get(&writer) {
            return self.open_under(keyed.as_ref(), kek, &info, block, page);
        }
        let keyed = page_key(kek, &info.salt, self.cipher, self.backend)?;
        self.open_under(keyed.as_ref(), kek, &info, block, page)?;
        // kept now that a block proved it: salts that somebody made up push no others out
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if opened.len() >= OPENED_MAX && !opened.contains_key(&writer) {
            // any one: they are hashed with a random key, so the first is as good as drawn
            let one = opened.keys().next().copied();
            one.and_then(|one| opened.remove(&one));
        }
        opened.insert(writer, keyed);
        Ok(())
    }

    /// The key that `info` names.
    fn kek(&self, info: &EnginePageInfo) -> Result<&Kek, EnginePageError> {
        let current = &self.keys[self.current];
        if current.fingerprint == info.fingerprint {
            return Ok(current);
        }
        let (version, fingerprint, place) = (info.key_version, info.fingerprint, self.place.clone());
        if let Some(kek) = self.keys.iter().find(|kek| kek.fingerprint == fingerprint) {
            return Ok(kek);
        }
        if let Some(Kek { key, fingerprint: own, .. }) = self.keys.iter().find(|kek| kek.key.version == version) {
            return Err(EnginePageError::OtherKey { key: key.clone(), place, fingerprint, own: *own });
        }
        let held: Vec<String> = self.keys.iter().map(|kek| kek.key.to_string()).collect();
        Err(EnginePageError::MissingVersion { version, fingerprint, place, held: held.join(", ") })
    }

    fn open_under(
        &self,
        keyed: &dyn Aead,
        kek: &Kek,
        info: &EnginePageInfo,
        block: &[u8],
        page: &mut [u8],
    ) -> Result<(), EnginePageError> {
        let (sealed, tag) = block.split_last_chunk().expect("the length was checked");
        let nonce = nonce(info.counter);
        let nonce = &nonce[12 - keyed.nonce_bytes()..];
        let opened = if info.in_parts {
            keyed.open(nonce, sealed, &mut [], tag)
        } else {
            keyed.open(nonce, &sealed[..HEADER_BYTES], page, tag)
        };
        opened.map_err(|error| match error {
            CipherError::Authentication | CipherError::MessageTooLong { .. } => EnginePageError::Changed {
                bytes: block.len(),
                key: kek.key.clone(),
                place: self.place.clone(),
                cipher: self.cipher.name,
            },
            other => EnginePageError::Cipher(other),
        })?;
        if info.in_parts { self.crypt_parts(kek, info, page) } else { Ok(()) }
    }

    /// Encrypts or decrypts a page that is longer than its cipher allows under one key: each part in counter mode under
    /// a key of its own. The tag of the block covers the ciphertext.
    fn crypt_parts(&self, kek: &Kek, info: &EnginePageInfo, data: &mut [u8]) -> Result<(), EnginePageError> {
        let part_bytes = usize::try_from(self.cipher.limits.message_bytes).unwrap_or(usize::MAX);
        for (number, part) in data.chunks_mut(part_bytes).enumerate() {
            let (id, counter) = (self.cipher.id.to_be_bytes(), info.counter.to_be_bytes());
            let context: [&[u8]; 4] = [&info.salt, &id, &counter, &(number as u64).to_be_bytes()];
            let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
            let key = &mut key[..self.cipher.key_bytes];
            subkey(kek.secret.as_bytes(), "engine page part", &context, key);
            let keyed: Box<dyn Ctr> = ctr(self.cipher, key, self.backend).map_err(EnginePageError::Cipher)?;
            keyed.apply(&[0; 16][..keyed.block_bytes()], 0, part).map_err(EnginePageError::Cipher)?;
        }
        Ok(())
    }
}

impl Sealing {
    fn new(kek: &Kek, cipher: &'static Cipher, backend: Backend) -> Result<Self, EnginePageError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|source| EnginePageError::Random(source.to_string()))?;
        let keyed = page_key(kek, &salt, cipher, backend)?;
        Ok(Self { salt, keyed, next: AtomicU64::new(0) })
    }
}

/// How much a page of `bytes` bytes takes of what one key may protect: of a 64-bit block cipher the blocks, which are
/// its nonces; in GCM pieces of as many bytes as there are for one message, where all that are allowed are used up.
fn units(cipher: &Cipher, bytes: usize) -> u64 {
    (bytes as u64).div_ceil(unit_bytes(cipher)).max(1)
}

fn unit_bytes(cipher: &Cipher) -> u64 {
    match cipher.mode {
        Mode::Gcm => (cipher.limits.bytes_per_key / cipher.limits.messages_per_key).max(1),
        Mode::CtrMac => cipher.block_bytes as u64,
    }
}

/// How many units one key may protect: within its bytes, and within its messages if each takes a single unit.
fn units_per_key(cipher: &Cipher) -> u64 {
    (cipher.limits.bytes_per_key / unit_bytes(cipher)).min(cipher.limits.messages_per_key)
}

fn page_key(
    kek: &Kek,
    salt: &[u8; SALT_BYTES],
    cipher: &'static Cipher,
    backend: Backend,
) -> Result<Box<dyn Aead>, EnginePageError> {
    let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
    let key = &mut key[..cipher.key_bytes];
    subkey(kek.secret.as_bytes(), "engine page", &[salt, &cipher.id.to_be_bytes()], key);
    aead(cipher, key, backend).map_err(EnginePageError::Cipher)
}

fn put(header: &mut [u8; HEADER_BYTES], info: &EnginePageInfo) {
    header[..VERSION_AT].copy_from_slice(&MAGIC);
    header[VERSION_AT] = info.format_version;
    header[CIPHER_AT..FLAGS_AT].copy_from_slice(&info.cipher.id.to_be_bytes());
    header[FLAGS_AT] = if info.in_parts { IN_PARTS } else { 0 };
    header[RESERVED_AT] = 0;
    header[KEY_VERSION_AT..FINGERPRINT_AT].copy_from_slice(&info.key_version.to_be_bytes());
    header[FINGERPRINT_AT..SALT_AT].copy_from_slice(&info.fingerprint.0);
    header[SALT_AT..COUNTER_AT].copy_from_slice(&info.salt);
    header[COUNTER_AT..].copy_from_slice(&info.counter.to_be_bytes());
}
