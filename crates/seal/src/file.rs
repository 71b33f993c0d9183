//! One sealed file: its data key, and the chain from the key-encryption key to the subkey of a
//! segment.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_cipher::memory::Protected;
use sealstone_cipher::module::{self, TITLE_BYTES_MAX};
use sealstone_cipher::{Aead, Ahead, Backend, Cipher, Provider, aead};
use sealstone_keys::{KeyRef, KeySource, Secret, check_key_id, subkey};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::header::{
    self, FILE_ID_BYTES, FORMAT_VERSION, HEADER_BYTES, HeaderInfo, Layout, MARK_AT, MARK_BYTES,
    Parts, SALT_BYTES, SLOT_BYTES,
};
use crate::identity::{Identity, Kind};
use crate::limits::{FRAME_BYTES_MAX, PAGE_BYTES_MAX, PAGE_BYTES_MIN, VOLUME_BLOCK_BYTES};
use crate::random::fill_random;
use crate::segment::{SEGMENTS_MAX, SegmentKeys, nonce};
use crate::{SealError, TAG_BYTES};

/// Longest key of any cipher that may seal files, in bytes.
pub(crate) const KEY_BYTES_MAX: usize = 64;

/// Records that some of a file of frames was synced: to be written into its header area once, after
/// the first sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncedMark {
    /// Offset at which to write the mark, in stored bytes from the beginning of the file.
    pub offset: u64,
    /// The mark.
    pub bytes: [u8; MARK_BYTES],
}

/// The keys of one sealed file, ready to seal or open its pages or frames. Cheap to clone; clones
/// share everything.
#[derive(Clone)]
pub struct SealedFile(Arc<Inner>);

struct Inner {
    info: HeaderInfo,
    dek: Secret,
    provider: Provider,
    segments: SegmentKeys,
    /// True if the header records that some of the file was synced; the catalogue records how much.
    synced: bool,
    /// Set while a writer may still be taken: after `create`, until the first one is.
    writable: AtomicBool,
}

impl SealedFile {
    /// Makes the keys of a new file that belongs to no store, and the header area that the file
    /// must begin with.
    ///
    /// - `keys`: its current key wraps the file's data key
    /// - `cipher`: seals header and data alike
    /// - `layout`: pages or frames
    ///
    /// Every call draws a fresh data key and file id; nothing of an older file of the same name
    /// fits the new one.
    ///
    /// # Errors
    /// [`SealError::Key`], [`SealError::Random`], [`SealError::PageBytes`],
    /// [`SealError::LimitReached`] if the cipher's limits have no room for a single page or frame.
    pub fn create(
        keys: &dyn KeySource,
        cipher: &'static Cipher,
        backend: Backend,
        layout: Layout,
    ) -> Result<(Self, [u8; HEADER_BYTES]), SealError> {
        Self::create_as(&Identity::LOOSE, keys, cipher, backend, layout)
    }

    /// As [`SealedFile::create`], for a file that is `identity` within its store.
    ///
    /// # Errors
    /// As [`SealedFile::create`]; [`SealError::WrongLayout`] if a file of that kind has the other
    /// layout.
    pub fn create_as(
        identity: &Identity,
        keys: &dyn KeySource,
        cipher: &'static Cipher,
        backend: Backend,
        layout: Layout,
    ) -> Result<(Self, [u8; HEADER_BYTES]), SealError> {
        if !layout.suits(identity.kind) {
            let want = match identity.kind {
                kind if kind.grows() => Layout::Frames,
                Kind::Volume => Layout::Volume { block_bytes: 0 },
                _ => Layout::Paged { page_bytes: 0 },
            };
            return Err(SealError::WrongLayout { found: layout.name(), want: want.name() });
        }
        let segment_units = segment_units(cipher, layout)?;
        let provider = keys.provider(backend);
        let (key, kek) = keys.current()?;
        check_key_id(&key.id)?;
        let mut file_id = [0; FILE_ID_BYTES];
        let mut salt = [0; SALT_BYTES];
        fill_random(provider, &mut file_id)?;
        fill_random(provider, &mut salt)?;
        let dek = Secret::random(provider)?;
        let info = HeaderInfo {
            format_version: FORMAT_VERSION,
            layout,
            cipher,
            key,
            file_id,
            identity: *identity,
            segment_units,
            wrapping: 0,
            module: module_title(provider)?,
        };
        let slot = wrap(&info, &salt, &kek, &dek, provider)?;
        Ok((Self::with(info, dek, provider, true), header::area(&slot)))
    }

    /// Takes the keys of an existing file from its header. Where the copy that was wrapped last
    /// does not open, the other one does if it is whole: after a rotation that was killed, or a
    /// power cut that tore a sector.
    ///
    /// - `keys`: must hold a key that the header names
    /// - `header`: the first [`HEADER_BYTES`] bytes of the file, or all of a shorter file
    ///
    /// # Errors
    /// Errors of [`crate::inspect`]; [`SealError::Key`] if the key is missing;
    /// [`SealError::WrongKey`] if it does not fit or any bit of the header was changed.
    pub fn open(keys: &dyn KeySource, backend: Backend, header: &[u8]) -> Result<Self, SealError> {
        let provider = keys.provider(backend);
        let (parts, dek) = unwrap_any(keys, header::parse(header)?, provider)?;
        let mut file = Self::with(parts.info, dek, provider, false);
        let frames = file.info().layout == Layout::Frames;
        let synced = frames && file.synced_of_mark(&header[MARK_AT..MARK_AT + MARK_BYTES])?;
        Arc::get_mut(&mut file.0).expect("it is not shared yet").synced = synced;
        Ok(file)
    }

    /// Returns whether the header records that some of the file was synced. False for a paged file,
    /// which proves its own end.
    #[must_use]
    pub fn was_synced(&self) -> bool {
        self.0.synced
    }

    /// Returns the mark that the writer of a file of frames must write into the header area once
    /// any of the file is on stable storage.
    ///
    /// # Errors
    /// [`SealError::Cipher`].
    pub fn synced_mark(&self) -> Result<SyncedMark, SealError> {
        let file_id = &self.info().file_id;
        let keyed = self.tagger("synced", &[file_id])?;
        // its subkey makes this one tag
        let nonce = &nonce(0)[12 - keyed.nonce_bytes()..];
        let bytes = keyed.seal(nonce, file_id, &mut []).map_err(SealError::from)?;
        Ok(SyncedMark { offset: MARK_AT as u64, bytes })
    }

    /// Returns whether `mark` is the mark of this file; false for none, and an error for any other.
    fn synced_of_mark(&self, mark: &[u8]) -> Result<bool, SealError> {
        if mark.iter().all(|byte| *byte == 0) {
            return Ok(false);
        }
        if bool::from(self.synced_mark()?.bytes.ct_eq(mark)) {
            Ok(true)
        } else {
            Err(SealError::Damaged {
                found: "the mark of a file that was synced was changed".into(),
            })
        }
    }

    /// Returns a keyed cipher for tags over `context`, under a subkey of this file with purpose
    /// `purpose`.
    pub(crate) fn tagger(
        &self,
        purpose: &str,
        context: &[&[u8]],
    ) -> Result<Protected<dyn Aead>, SealError> {
        keyed(self.info().cipher, self.0.dek.as_bytes(), purpose, context, self.0.provider)
    }

    /// Returns the contents of the header.
    #[must_use]
    pub fn info(&self) -> &HeaderInfo {
        &self.0.info
    }

    /// Returns who seals and opens.
    #[must_use]
    pub fn provider(&self) -> Provider {
        self.0.provider
    }

    fn with(info: HeaderInfo, dek: Secret, provider: Provider, writable: bool) -> Self {
        let segments = SegmentKeys::new();
        let writable = AtomicBool::new(writable);
        Self(Arc::new(Inner { info, dek, provider, segments, synced: false, writable }))
    }

    /// Claims the single writer that a new file may have.
    pub(crate) fn claim_writer(&self) -> Result<(), SealError> {
        if self.0.writable.swap(false, Ordering::AcqRel) {
            Ok(())
        } else {
            Err(SealError::WrittenOnce)
        }
    }

    /// Returns the keyed cipher of `segment`, set up on first use.
    #[inline]
    pub(crate) fn segment(&self, segment: u64) -> Result<&dyn Aead, SealError> {
        let inner = &*self.0;
        if segment >= SEGMENTS_MAX {
            return Err(self.limit_reached(format!(
                "{SEGMENTS_MAX} segments of {} units",
                inner.info.segment_units
            )));
        }
        inner.segments.get(segment, || {
            let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
            let key = &mut key[..inner.info.cipher.key_bytes];
            self.segment_key(segment, key)?;
            aead(inner.info.cipher, key, inner.provider).map_err(SealError::from)
        })
    }

    /// Returns another instance of the cipher of `segment`, for key stream that is made ahead. None
    /// where that is impossible.
    pub(crate) fn ahead(&self, segment: u64) -> Result<Option<Ahead>, SealError> {
        let inner = &*self.0;
        let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
        let key = &mut key[..inner.info.cipher.key_bytes];
        self.segment_key(segment, key)?;
        Ahead::new(inner.info.cipher, key, inner.provider).map_err(SealError::from)
    }

    /// Writes the subkey of `segment`.
    fn segment_key(&self, segment: u64, key: &mut [u8]) -> Result<(), SealError> {
        let info = &self.0.info;
        let context: [&[u8]; 3] =
            [&info.file_id, &info.cipher.id.to_be_bytes(), &segment.to_be_bytes()];
        let secret = self.0.dek.as_bytes();
        Ok(subkey(self.0.provider, secret, info.layout.name(), &context, key)?)
    }

    pub(crate) fn limit_reached(&self, limit: String) -> SealError {
        SealError::LimitReached { cipher: self.0.info.cipher.name, limit }
    }
}

impl fmt::Debug for SealedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedFile").field("info", &self.0.info).finish_non_exhaustive()
    }
}

/// Returns the title that the header of a file by `provider` has.
///
/// # Errors
/// [`SealError::ModuleTitle`] for a title that a header cannot hold.
fn module_title(provider: Provider) -> Result<Option<String>, SealError> {
    let Some(module) = provider.module() else { return Ok(None) };
    let title = module::title(module);
    let (name, version) = (module.name(), module.version());
    let printable = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let fits = title.len() <= TITLE_BYTES_MAX && !name.is_empty();
    if fits && printable(name) && printable(&version.replace(' ', "")) {
        Ok(Some(title))
    } else {
        Err(SealError::ModuleTitle { title })
    }
}

/// Checks that `provider` may go on with what `info` heads: a file that a module made is written
/// and rewrapped by that module alone, of whatever version, so that its title stays true.
///
/// # Errors
/// [`SealError::OtherModule`].
pub(crate) fn check_module(info: &HeaderInfo, provider: Provider) -> Result<(), SealError> {
    let Some(title) = &info.module else { return Ok(()) };
    let by = provider.module().map(|module| module.name());
    if by == info.module_name() {
        return Ok(());
    }
    Err(SealError::OtherModule { made_by: title.clone(), by: by.unwrap_or("none") })
}

/// Returns how much of a file may share one subkey under the limits of `cipher`: pages, or for
/// frames blocks.
fn segment_units(cipher: &'static Cipher, layout: Layout) -> Result<u64, SealError> {
    let limits = cipher.limits;
    let (unit_bytes, units_least) = match layout {
        Layout::Paged { page_bytes } if header::is_page_bytes(page_bytes) => {
            (u64::from(page_bytes), 1)
        }
        Layout::Paged { page_bytes } => {
            return Err(SealError::PageBytes {
                found: page_bytes,
                min: PAGE_BYTES_MIN,
                max: PAGE_BYTES_MAX,
            });
        }
        Layout::Volume { block_bytes } => return numbers_per_key(cipher, block_bytes),
        // a block of the cipher; every message takes at least one, so counting blocks counts
        // messages too
        Layout::Frames => {
            let block_bytes = cipher.block_bytes as u64;
            (block_bytes, 1 + u64::from(FRAME_BYTES_MAX).div_ceil(block_bytes))
        }
    };
    let message_bytes =
        if let Layout::Paged { page_bytes } = layout { page_bytes } else { FRAME_BYTES_MAX };
    let units = (limits.bytes_per_key / unit_bytes).min(limits.messages_per_key).min(1 << 40);
    if units < units_least || limits.message_bytes < u64::from(message_bytes) {
        let limit = format!("{} bytes under one key", limits.bytes_per_key);
        return Err(SealError::LimitReached { cipher: cipher.name, limit });
    }
    Ok(units)
}

/// Returns how many numbers of a volume's nonces may share one subkey under the limits of `cipher`:
/// one for a message, or for each block of a cipher with 64-bit blocks in one.
fn numbers_per_key(cipher: &'static Cipher, block_bytes: u32) -> Result<u64, SealError> {
    let limits = cipher.limits;
    if !header::is_volume_block(block_bytes) {
        let [min, .., max] = VOLUME_BLOCK_BYTES;
        return Err(SealError::PageBytes { found: block_bytes, min, max });
    }
    let number_bytes = if cipher.block_bytes == 16 { block_bytes.into() } else { 8 };
    let numbers = (limits.bytes_per_key / number_bytes).min(limits.messages_per_key);
    if limits.bytes_per_key.min(limits.message_bytes) < block_bytes.into() {
        let limit = format!("{} bytes under one key", limits.bytes_per_key);
        return Err(SealError::LimitReached { cipher: cipher.name, limit });
    }
    Ok(numbers)
}

/// Opens the data key with the first of `copies` that opens, and returns it with that copy.
pub(crate) fn unwrap_any(
    keys: &dyn KeySource,
    copies: Vec<Parts>,
    provider: Provider,
) -> Result<(Parts, Secret), SealError> {
    let mut failed = None;
    for parts in copies {
        match unwrap(keys, &parts, provider) {
            Ok(dek) => return Ok((parts, dek)),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    Err(failed.expect("a header that was parsed has a copy"))
}

/// Opens the data key that one copy of a header carries, and with it proves that copy.
pub(crate) fn unwrap(
    keys: &dyn KeySource,
    parts: &Parts,
    provider: Provider,
) -> Result<Secret, SealError> {
    let kek = keys.get(&parts.info.key)?;
    let mut dek = Secret::from_bytes(&parts.wrapped_dek);
    let wrapper = wrapper(&parts.info, &parts.salt, &kek, provider)?;
    wrapper
        .open(
            &nonce(0)[12 - wrapper.nonce_bytes()..],
            &parts.associated,
            dek.as_bytes_mut(),
            &parts.tag,
        )
        .map_err(|error| match error {
            sealstone_cipher::Error::Authentication => {
                SealError::WrongKey { key: parts.info.key.clone(), place: keys.describe() }
            }
            other => other.into(),
        })?;
    Ok(dek)
}

/// Writes the copy of a header of `info` that carries `dek` wrapped under `kek`.
pub(crate) fn wrap(
    info: &HeaderInfo,
    salt: &[u8; SALT_BYTES],
    kek: &Secret,
    dek: &Secret,
    provider: Provider,
) -> Result<[u8; SLOT_BYTES], SealError> {
    let wrapper = wrapper(info, salt, kek, provider)?;
    let mut header = header::unwrapped(info, salt);
    let mut wrapped = Zeroizing::new(*dek.as_bytes());
    let tag: [u8; TAG_BYTES] = wrapper
        .seal(&nonce(0)[12 - wrapper.nonce_bytes()..], &header, wrapped.as_mut_slice())
        .map_err(SealError::from)?;
    header::put_wrapped(&mut header, wrapped.as_slice(), &tag);
    Ok(header)
}

/// Sets up the cipher that wraps the data key. Its subkey is used for this wrapping only: the salt
/// is drawn again each time.
fn wrapper(
    info: &HeaderInfo,
    salt: &[u8; SALT_BYTES],
    kek: &Secret,
    provider: Provider,
) -> Result<Protected<dyn Aead>, SealError> {
    let KeyRef { id, version } = &info.key;
    let context: [&[u8]; 5] =
        [&info.file_id, salt, &info.cipher.id.to_be_bytes(), id.as_bytes(), &version.to_be_bytes()];
    keyed(info.cipher, kek.as_bytes(), "wrap", &context, provider)
}

fn keyed(
    cipher: &'static Cipher,
    secret: &[u8],
    purpose: &str,
    context: &[&[u8]],
    provider: Provider,
) -> Result<Protected<dyn Aead>, SealError> {
    let mut key = Zeroizing::new([0; KEY_BYTES_MAX]);
    let key = &mut key[..cipher.key_bytes];
    subkey(provider, secret, purpose, context, key)?;
    aead(cipher, key, provider).map_err(SealError::from)
}
