//! Engine pages: blocks for a storage engine that hands over bytes without their place of storage.
//! Each block is self-contained: it names its cipher, key and salt, and is sealed under its
//! writer's own subkey. Byte by byte in `docs/formats.md`.
//!
//! If the engine puts its own header in the clear before a block, the block is bound to it: a
//! [`Place`].
//!
//! Not here: the engine (`adapters/wiredtiger`), and formats bound to a place in a file: `paged`,
//! `frame`. A block does not record its place, so a swap of two blocks of the same key, including
//! their headers, goes unnoticed here; see SECURITY.md.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use sealstone_cipher::memory::{Generation, Protected};
use sealstone_cipher::{
    Aead, Cipher, Context, Ctr, Error as CipherError, Nonce, Part, PartError, Provider, aead, ctr,
};
use sealstone_keys::{KeyError, KeyRef, Secret, subkey};
use zeroize::Zeroizing;

use crate::file::KEY_BYTES_MAX;
use crate::fingerprint::Fingerprint;

mod draw;
mod error;
mod header;
mod version;

pub use error::EnginePageError;
pub use header::{
    EnginePageInfo, HEADER_BYTES, OVERHEAD_BYTES, PADDING_BYTES_MAX, PLACE_TAG_BYTES, PlaceKind,
    SALT_BYTES, inspect,
};
pub use version::{FORMAT_VERSION, MAGIC};

/// Most bytes of an engine's header that a block is bound to.
pub const BOUND_BYTES_MAX: usize = 32;

/// Most subkeys kept for reading. Each opening of the data directory makes one, and a cipher with
/// tight limits another whenever they are spent: 1,024 cover 8 GiB under 3DES.
const OPENED_MAX: usize = 1024;

/// Use that an engine makes of a block, and the data that it stores there in the clear, to which
/// the block is bound.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    kind: PlaceKind,
    bound: &'a [u8],
    tagged: bool,
    kept: bool,
}

impl<'a> Place<'a> {
    /// An unknown place: the block is not bound to any kind of place.
    pub const UNKNOWN: Self =
        Self { kind: PlaceKind::Unknown, bound: &[], tagged: false, kept: false };

    /// Returns a place of the kind `kind` with `bound` in the engine's own header, at most
    /// [`BOUND_BYTES_MAX`] bytes: everything that the engine leaves unchanged between sealing and
    /// opening.
    ///
    /// # Panics
    /// If `bound` is longer.
    #[must_use]
    pub fn new(kind: PlaceKind, bound: &'a [u8]) -> Self {
        assert!(bound.len() <= BOUND_BYTES_MAX, "{} bytes to be bound to", bound.len());
        Self { kind, bound, tagged: false, kept: false }
    }

    /// Returns the same, with room for [`PLACE_TAG_BYTES`] after the tag of the block. When a block
    /// is opened, its header decides.
    #[must_use]
    pub fn with_place_tag(self) -> Self {
        Self { tagged: true, ..self }
    }

    /// Returns the same, in a database that keeps an account of its journal if `kept`. When a block
    /// is opened, its header decides.
    #[must_use]
    pub fn with_journal_kept(self, kept: bool) -> Self {
        Self { kept, ..self }
    }
}

/// One key version, in memory for as long as the engine is open.
struct Kek {
    key: KeyRef,
    secret: Secret,
    fingerprint: Fingerprint,
}

/// The writer of a block: its key, and the salt that was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Writer {
    fingerprint: Fingerprint,
    salt: [u8; SALT_BYTES],
}

/// A subkey under a fresh salt, which seals until its limits are spent, and how much of it was
/// used.
struct Sealing {
    salt: [u8; SALT_BYTES],
    keyed: Protected<dyn Aead>,
    next: AtomicU64,
}

/// Seals pages and opens blocks, for one opening of one data directory. Serves many threads at
/// once. Keys are zeroed on drop, and `Debug` shows none.
pub struct EnginePages {
    cipher: &'static Cipher,
    provider: Provider,
    place: String,
    keys: Vec<Kek>,
    current: usize,
    /// The process it was opened in: a child has the same counter and would seal under the same
    /// nonces.
    opened_in: Generation,
    sealing: RwLock<Sealing>,
    /// Subkeys of other openings that have opened a block.
    opened: RwLock<HashMap<Writer, Protected<dyn Aead>>>,
}

impl fmt::Debug for EnginePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cipher, key) = (self.cipher.name, self.key());
        f.debug_struct("EnginePages")
            .field("cipher", &cipher)
            .field("key", key)
            .finish_non_exhaustive()
    }
}

impl EnginePages {
    /// Takes the keys and draws the salt for this opening.
    ///
    /// - `keys`: every version there is, as [`sealstone_keys::KeySource::all`] returns them
    /// - `current`: the version that seals
    /// - `place`: where they came from, for messages, as [`sealstone_keys::KeySource::describe`]
    ///   returns it
    /// - `cipher`, `provider`: what seals, and what every block must be sealed with
    ///
    /// # Errors
    /// [`EnginePageError::Key`] if `current` is not among `keys`; [`EnginePageError::Random`];
    /// [`EnginePageError::Cipher`].
    pub fn new(
        keys: Vec<(KeyRef, Secret)>,
        current: &KeyRef,
        place: &str,
        cipher: &'static Cipher,
        provider: impl Into<Provider>,
    ) -> Result<Self, EnginePageError> {
        let provider = provider.into();
        let Some(at) = keys.iter().position(|(key, _)| key == current) else {
            let available = keys.iter().map(|(key, _)| key.version).collect();
            return Err(KeyError::MissingVersion {
                wanted: current.clone(),
                place: place.into(),
                available,
            }
            .into());
        };
        let kek = |(key, secret)| {
            let fingerprint = Fingerprint::of(&key, &secret, provider)?;
            Ok::<_, EnginePageError>(Kek { fingerprint, key, secret })
        };
        let keys: Vec<Kek> = keys.into_iter().map(kek).collect::<Result<_, _>>()?;
        let opened_in = Generation::current();
        let sealing = RwLock::new(Sealing::new(&keys[at], cipher, provider)?);
        let opened = RwLock::default();
        Ok(Self {
            cipher,
            provider,
            place: place.into(),
            keys,
            current: at,
            opened_in,
            sealing,
            opened,
        })
    }

    /// Returns the key that seals.
    #[must_use]
    pub fn key(&self) -> &KeyRef {
        &self.keys[self.current].key
    }

    /// Returns every key that opens, with its fingerprint.
    pub fn keys(&self) -> impl Iterator<Item = (&KeyRef, Fingerprint)> {
        self.keys.iter().map(|kek| (&kek.key, kek.fingerprint))
    }

    /// Returns the cipher that seals.
    #[must_use]
    pub fn cipher(&self) -> &'static Cipher {
        self.cipher
    }

    /// Returns who seals and opens.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Seals `page` into `block`, which is [`OVERHEAD_BYTES`] longer, for no known place.
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
        self.seal_in_place(block, 0, Place::UNKNOWN)
    }

    /// Seals the page in `block` for `place`. Around it is room: before it for the header
    /// ([`HEADER_BYTES`]), after it for `padding_bytes` zeros, the tag, and the tag of the place if
    /// `place` has one.
    ///
    /// # Errors
    /// [`EnginePageError::Buffer`], [`EnginePageError::TooLong`], [`EnginePageError::Random`],
    /// [`EnginePageError::Cipher`], [`EnginePageError::Forked`]. `block` then contains none of the
    /// page.
    pub fn seal_in_place(
        &self,
        block: &mut [u8],
        padding_bytes: usize,
        place: Place<'_>,
    ) -> Result<(), EnginePageError> {
        self.seal_somewhere(block, padding_bytes, place).inspect_err(|_| block.fill(0))
    }

    fn seal_somewhere(
        &self,
        block: &mut [u8],
        padding_bytes: usize,
        place: Place<'_>,
    ) -> Result<(), EnginePageError> {
        self.opened_in.check()?;
        let place_tag_bytes = if place.tagged { PLACE_TAG_BYTES } else { 0 };
        let around = OVERHEAD_BYTES + padding_bytes.min(PADDING_BYTES_MAX) + place_tag_bytes;
        let bytes = match block.len().checked_sub(around) {
            Some(bytes) if padding_bytes <= PADDING_BYTES_MAX => bytes,
            _ => return Err(EnginePageError::Buffer { found: block.len(), wanted: around }),
        };
        let in_parts = bytes as u64 > self.cipher.limits.message_bytes;
        if in_parts && !nonces_count_blocks(self.cipher) {
            return Err(EnginePageError::TooLong { bytes, cipher: self.cipher.name });
        }
        let units = if in_parts { 1 } else { units(self.cipher, bytes) };
        loop {
            let sealing = self.sealing.read().unwrap_or_else(PoisonError::into_inner);
            let counter = sealing.next.fetch_add(units, Ordering::Relaxed);
            if counter.saturating_add(units) <= units_per_key(self.cipher) {
                let kek = &self.keys[self.current];
                let info = EnginePageInfo {
                    format_version: FORMAT_VERSION,
                    cipher: self.cipher,
                    key_version: kek.key.version,
                    fingerprint: kek.fingerprint,
                    salt: sealing.salt,
                    counter,
                    drawn: draw::draw(self.provider)?,
                    padding_bytes,
                    kind: place.kind,
                    in_parts,
                    place_tag: place.tagged,
                    journal_kept: place.kept,
                };
                return self.seal_at(&*sealing.keyed, &info, place, block);
            }
            drop(sealing);
            self.renew(units)?;
        }
    }

    fn seal_at(
        &self,
        keyed: &dyn Aead,
        info: &EnginePageInfo,
        place: Place<'_>,
        block: &mut [u8],
    ) -> Result<(), EnginePageError> {
        let header = info.bytes();
        let ciphertext = info.ciphertext(block.len())?;
        block[..HEADER_BYTES].copy_from_slice(&header);
        block[ciphertext.end..].fill(0);
        let data = &mut block[ciphertext];
        let nonce = &header[HEADER_BYTES - keyed.nonce_bytes()..];
        let tag = if info.in_parts {
            self.crypt_parts(&self.keys[self.current], info, data)?;
            keyed.seal(nonce, &[&header, place.bound, data].concat(), &mut [])
        } else {
            keyed.seal(nonce, Associated::of(&header, place).bytes(), data)
        };
        let tag = tag.map_err(EnginePageError::from)?;
        let end = block.len() - info.place_tag_bytes();
        *block[..end].last_chunk_mut().expect("room for the tag") = tag;
        Ok(())
    }

    /// Draws a new salt, unless another thread just did.
    fn renew(&self, units: u64) -> Result<(), EnginePageError> {
        let mut sealing = self.sealing.write().unwrap_or_else(PoisonError::into_inner);
        if sealing.next.load(Ordering::Relaxed).saturating_add(units) > units_per_key(self.cipher) {
            *sealing = Sealing::new(&self.keys[self.current], self.cipher, self.provider)?;
        }
        Ok(())
    }

    /// Opens `block` into `page`, which is as long as the page in it, where no place is known.
    ///
    /// # Errors
    /// As [`EnginePages::open_at`].
    pub fn open(&self, block: &[u8], page: &mut [u8]) -> Result<(), EnginePageError> {
        self.open_at(block, page, Place::UNKNOWN)
    }

    /// Opens `block` at `place` into `page`, which is as long as [`page_bytes`] returns and is only
    /// written: tags are compared first, so it never holds data that is not authenticated.
    ///
    /// A block that was sealed for no known place opens at any place.
    ///
    /// # Errors
    /// Errors of [`inspect`]; [`EnginePageError::OtherCipher`],
    /// [`EnginePageError::MissingVersion`], [`EnginePageError::OtherKey`],
    /// [`EnginePageError::OtherPlace`], [`EnginePageError::Changed`], [`EnginePageError::Buffer`],
    /// [`EnginePageError::Forked`]. `page` is then zeros.
    pub fn open_at(
        &self,
        block: &[u8],
        page: &mut [u8],
        place: Place<'_>,
    ) -> Result<(), EnginePageError> {
        let info = inspect(block).inspect_err(|_| page.fill(0))?;
        self.open_inspected(block, &info, page, place)
    }

    /// As [`EnginePages::open_at`], for a caller that has already looked at the block: `info`
    /// is what [`inspect`] returned for it. With that of another block, nothing opens.
    ///
    /// # Errors
    /// As [`EnginePages::open_at`].
    pub fn open_inspected(
        &self,
        block: &[u8],
        info: &EnginePageInfo,
        page: &mut [u8],
        place: Place<'_>,
    ) -> Result<(), EnginePageError> {
        self.open_somewhere(block, info, page, place).inspect_err(|_| page.fill(0))
    }

    fn open_somewhere(
        &self,
        block: &[u8],
        info: &EnginePageInfo,
        page: &mut [u8],
        place: Place<'_>,
    ) -> Result<(), EnginePageError> {
        self.opened_in.check()?;
        let wanted = info.ciphertext(block.len())?.len();
        if page.len() != wanted {
            return Err(EnginePageError::Buffer { found: page.len(), wanted });
        }
        if info.cipher != self.cipher {
            return Err(EnginePageError::OtherCipher {
                found: info.cipher.name,
                wanted: self.cipher.name,
            });
        }
        let kek = self.kek(info)?;
        {
            let sealing = self.sealing.read().unwrap_or_else(PoisonError::into_inner);
            if sealing.salt == info.salt && kek.fingerprint == self.keys[self.current].fingerprint {
                return self.open_under(&*sealing.keyed, kek, info, block, page, place);
            }
        }
        let writer = Writer { fingerprint: kek.fingerprint, salt: info.salt };
        if let Some(keyed) = self.opened.read().unwrap_or_else(PoisonError::into_inner).get(&writer)
        {
            return self.open_under(keyed.as_ref(), kek, info, block, page, place);
        }
        let keyed = page_key(kek, &info.salt, self.cipher, self.provider)?;
        self.open_under(keyed.as_ref(), kek, info, block, page, place)?;
        // kept only now that a block proved it: made-up salts push no others out
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if opened.len() >= OPENED_MAX && !opened.contains_key(&writer) {
            // any one: they are hashed with a random key, so the first is as good as one drawn at
            // random
            let one = opened.keys().next().copied();
            one.and_then(|one| opened.remove(&one));
        }
        opened.insert(writer, keyed);
        Ok(())
    }

    /// Returns the key that `info` names.
    fn kek(&self, info: &EnginePageInfo) -> Result<&Kek, EnginePageError> {
        let current = &self.keys[self.current];
        if current.fingerprint == info.fingerprint {
            return Ok(current);
        }
        let (version, fingerprint, place) =
            (info.key_version, info.fingerprint, self.place.clone());
        if let Some(kek) = self.keys.iter().find(|kek| kek.fingerprint == fingerprint) {
            return Ok(kek);
        }
        if let Some(Kek { key, fingerprint: own, .. }) =
            self.keys.iter().find(|kek| kek.key.version == version)
        {
            return Err(EnginePageError::OtherKey {
                key: key.clone(),
                place,
                fingerprint,
                own: *own,
            });
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
        place: Place<'_>,
    ) -> Result<(), EnginePageError> {
        let place = match info.kind {
            PlaceKind::Unknown => Place::UNKNOWN,
            kind if kind == place.kind => place,
            kind => {
                return Err(EnginePageError::OtherPlace {
                    key: kek.key.clone(),
                    cipher: self.cipher.name,
                    sealed: kind.word(),
                    found: place.kind.word(),
                });
            }
        };
        let changed = || EnginePageError::Changed {
            bytes: block.len(),
            key: kek.key.clone(),
            place: self.place.clone(),
            cipher: self.cipher.name,
        };
        let (block, _) = block.split_at(block.len() - info.place_tag_bytes());
        let (sealed, tag) = block.split_last_chunk().expect("the length was checked");
        let (sealed, padding) = sealed.split_at(sealed.len() - info.padding_bytes);
        // how many is in the header, which the tag covers; all are checked at once, which is
        // quicker than stopping at the first that is not zero
        if padding.iter().fold(0, |all, byte| all | byte) != 0 {
            return Err(changed());
        }
        let nonce = info.nonce();
        let nonce = &nonce[12 - keyed.nonce_bytes()..];
        let (header, sealed) = sealed.split_at(HEADER_BYTES);
        let opened = if info.in_parts {
            keyed.open(nonce, &[header, place.bound, sealed].concat(), &mut [], tag)
        } else {
            let associated = Associated::of(header, place);
            let context = Context { nonce, associated: associated.bytes() };
            let whole = Part { context, sealed, tag, skip: 0, bytes: sealed.len() };
            keyed.open_parts(&[whole], page).map_err(|PartError { error, .. }| error)
        };
        opened.map_err(|error| match error {
            CipherError::Authentication | CipherError::MessageTooLong { .. } => changed(),
            other => other.into(),
        })?;
        if info.in_parts {
            page.copy_from_slice(sealed);
            self.crypt_parts(kek, info, page)?;
        }
        Ok(())
    }

    /// Encrypts or decrypts a page that is longer than its cipher allows under one key: each part
    /// in counter mode under its own key. The tag of the block covers the ciphertext.
    fn crypt_parts(
        &self,
        kek: &Kek,
        info: &EnginePageInfo,
        data: &mut [u8],
    ) -> Result<(), EnginePageError> {
        let part_bytes = usize::try_from(self.cipher.limits.message_bytes).unwrap_or(usize::MAX);
        let (id, nonce) = (self.cipher.id.to_be_bytes(), info.nonce());
        for (number, part) in data.chunks_mut(part_bytes).enumerate() {
            let context: [&[u8]; 4] = [&info.salt, &id, &nonce, &(number as u64).to_be_bytes()];
            let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
            let key = &mut key[..self.cipher.key_bytes];
            subkey(self.provider, kek.secret.as_bytes(), "engine page part", &context, key)?;
            let keyed: Protected<dyn Ctr> =
                ctr(self.cipher, key, self.provider).map_err(EnginePageError::from)?;
            keyed.apply(&[0; 16][..keyed.block_bytes()], 0, part).map_err(EnginePageError::from)?;
        }
        Ok(())
    }
}

impl Sealing {
    fn new(
        kek: &Kek,
        cipher: &'static Cipher,
        provider: Provider,
    ) -> Result<Self, EnginePageError> {
        let mut salt = [0; SALT_BYTES];
        draw::random(provider, &mut salt)?;
        let keyed = page_key(kek, &salt, cipher, provider)?;
        Ok(Self { salt, keyed, next: AtomicU64::new(0) })
    }
}

/// Computes how much a page of `bytes` bytes uses of what one key may protect: for a 64-bit block
/// cipher its blocks, which are its nonces; in GCM, pieces of the length that each message has if
/// bytes and messages run out together.
fn units(cipher: &Cipher, bytes: usize) -> u64 {
    (bytes as u64).div_ceil(unit_bytes(cipher)).max(1)
}

fn unit_bytes(cipher: &Cipher) -> u64 {
    if nonces_count_blocks(cipher) {
        cipher.block_bytes as u64
    } else {
        (cipher.limits.bytes_per_key / cipher.limits.messages_per_key).max(1)
    }
}

/// Returns whether each block of a page uses up a nonce, so that a page may be sealed in parts.
fn nonces_count_blocks(cipher: &Cipher) -> bool {
    cipher.mode.facts().nonce == Nonce::CounterBlock
}

/// Computes the number of units that one key may protect: within its bytes, and within its messages
/// if each takes a single unit.
fn units_per_key(cipher: &Cipher) -> u64 {
    (cipher.limits.bytes_per_key / unit_bytes(cipher)).min(cipher.limits.messages_per_key)
}

fn page_key(
    kek: &Kek,
    salt: &[u8; SALT_BYTES],
    cipher: &'static Cipher,
    provider: Provider,
) -> Result<Protected<dyn Aead>, EnginePageError> {
    let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
    let key = &mut key[..cipher.key_bytes];
    let context: [&[u8]; 2] = [salt, &cipher.id.to_be_bytes()];
    subkey(provider, kek.secret.as_bytes(), "engine page", &context, key)?;
    aead(cipher, key, provider).map_err(EnginePageError::from)
}

/// Data that the tag of a block covers besides the page: the block's header, and what the engine
/// stores in the clear.
struct Associated {
    bytes: [u8; HEADER_BYTES + BOUND_BYTES_MAX],
    len: usize,
}

impl Associated {
    fn of(header: &[u8], place: Place<'_>) -> Self {
        let mut bytes = [0; HEADER_BYTES + BOUND_BYTES_MAX];
        let len = header.len() + place.bound.len();
        bytes[..header.len()].copy_from_slice(header);
        bytes[header.len()..len].copy_from_slice(place.bound);
        Self { bytes, len }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Returns the length of the page in `block`, in bytes, according to its header.
///
/// # Errors
/// Errors of [`inspect`]; [`EnginePageError::Damaged`] if the block is shorter than stated in its
/// header.
pub fn page_bytes(block: &[u8]) -> Result<usize, EnginePageError> {
    Ok(inspect(block)?.ciphertext(block.len())?.len())
}
