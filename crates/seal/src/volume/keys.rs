//! Keys of a volume: one for every opening for writing (an epoch) and stretch of its counters; and
//! what is sealed and opened with them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use sealstone_cipher::memory::{Generation, Protected};
use sealstone_cipher::{Aead, Context, PARTS_MAX, Part, Unsealed};
use subtle::ConstantTimeEq;

use super::binding::{Piece, binding};
use super::counters::Counters;
use super::entry::{ENTRY_BYTES, Entry};
use super::error::VolumeError;
use crate::file::check_module;
use crate::header::Layout;
use crate::random::{fill_random, nonce_bits};
use crate::{SealError, SealedFile, TAG_BYTES};

/// Length of an epoch's salt, in bytes.
pub const SALT_BYTES: usize = 32;

/// Random bytes from which the keys of one epoch are derived. Not secret.
pub type Salt = [u8; SALT_BYTES];

/// Openings for writing that a volume can have: their salts are 2 MiB then.
pub const EPOCHS_MAX: usize = 1 << 16;

/// Keyed ciphers that are kept at once. A cipher with roomy keys needs one for each epoch that
/// still has blocks; Triple DES one for every 8 MiB that is read.
const KEPT_MAX: usize = 256;

type Keyed = Arc<Protected<dyn Aead>>;

/// The keys of a volume, to open what is in it.
pub struct VolumeKeys {
    file: SealedFile,
    block_bytes: u32,
    salts: Vec<Salt>,
    /// The process they were made in: see [`Epoch`].
    made_in: Generation,
    kept: RwLock<HashMap<(u32, u64), Keyed>>,
}

/// A block of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Its number, from 0.
    pub number: u64,
    /// Its entry.
    pub entry: Entry,
}

impl VolumeKeys {
    /// Returns the keys of the volume whose header is that of `file`.
    ///
    /// - `salts`: of its epochs, the first one's first
    ///
    /// # Errors
    /// [`SealError::WrongLayout`] for any other file.
    pub fn new(file: SealedFile, salts: Vec<Salt>) -> Result<Self, VolumeError> {
        let Layout::Volume { block_bytes } = file.info().layout else {
            let (found, want) = (file.info().layout.name(), Layout::Volume { block_bytes: 0 });
            return Err(SealError::WrongLayout { found, want: want.name() }.into());
        };
        let (made_in, kept) = (Generation::current(), RwLock::default());
        Ok(Self { file, block_bytes, salts, made_in, kept })
    }

    /// Begins an epoch: draws its salt, and returns what seals in it. The salt must be durable
    /// before anything that is sealed is: see [`VolumeKeys::salts`].
    ///
    /// # Errors
    /// [`SealError::Random`]; [`SealError::OtherModule`] if a module made the volume, and its key
    /// is not used in it; [`VolumeError::Epochs`].
    pub fn begin(mut self) -> Result<Epoch, VolumeError> {
        check_module(self.file.info(), self.file.provider())?;
        if self.salts.len() >= EPOCHS_MAX {
            return Err(VolumeError::Epochs { epochs: self.salts.len() });
        }
        let mut salt = [0; SALT_BYTES];
        fill_random(self.file.provider(), &mut salt)?;
        self.salts.push(salt);
        let counters = Counters::new(self.file.info().segment_units);
        Ok(Epoch { number: self.salts.len() as u32, counters, keys: self })
    }

    /// Returns the salts of all epochs, the first one's first.
    #[must_use]
    pub fn salts(&self) -> &[Salt] {
        &self.salts
    }

    /// Returns the file with the header.
    #[must_use]
    pub fn file(&self) -> &SealedFile {
        &self.file
    }

    /// Returns the length of a block, in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Returns the id of the volume.
    #[must_use]
    pub fn id(&self) -> &[u8; 16] {
        &self.file.info().file_id
    }

    /// Opens blocks that follow each other on the device.
    ///
    /// - `blocks`: their numbers and entries, none of them a hole
    /// - `sealed`: the blocks as they are stored, one after the other
    /// - `out`: as long; receives the data
    ///
    /// # Errors
    /// [`VolumeError::Block`] for the first one that is not what was sealed there; all of `out` is
    /// zeros then, as after any other error.
    ///
    /// # Panics
    /// If `sealed` or `out` is not as long as the blocks are.
    pub fn open_blocks(
        &self,
        blocks: &[BlockPlace],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<(), VolumeError> {
        assert!(sealed.len() == out.len() && out.len() == blocks.len() * self.block_bytes as usize);
        let result = self.open_runs(blocks, sealed, out);
        if result.is_err() {
            out.fill(0);
        }
        result
    }

    fn open_runs(
        &self,
        blocks: &[BlockPlace],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<(), VolumeError> {
        let bytes = self.block_bytes as usize;
        let mut begin = 0;
        while let Some(first) = blocks.get(begin) {
            let key = self.key_of(&first.entry);
            let run = blocks[begin..].iter().take(PARTS_MAX);
            let count = run.take_while(|block| self.key_of(&block.entry) == key).count();
            let run = &blocks[begin..begin + count];
            let keyed = self.keyed(&first.entry).map_err(|_| self.refused(first.number))?;
            self.open_run(&keyed, run, &sealed[begin * bytes..], &mut out[begin * bytes..])?;
            begin += count;
        }
        Ok(())
    }

    /// Opens blocks under one key.
    fn open_run(
        &self,
        keyed: &Keyed,
        run: &[BlockPlace],
        sealed: &[u8],
        out: &mut [u8],
    ) -> Result<(), VolumeError> {
        let bytes = self.block_bytes as usize;
        let skip = 12 - keyed.nonce_bytes();
        let mut nonces = [[0; 12]; PARTS_MAX];
        let mut bindings = [[0; ENTRY_BYTES]; PARTS_MAX];
        for (index, block) in run.iter().enumerate() {
            nonces[index] = block.entry.nonce();
            bindings[index] = self.binding(Piece::Block, block.entry.epoch, block.number);
        }
        let parts: arrayvec::ArrayVec<Part<'_>, PARTS_MAX> = run
            .iter()
            .zip(sealed.chunks_exact(bytes))
            .enumerate()
            .map(|(index, (block, sealed))| Part {
                context: Context { nonce: &nonces[index][skip..], associated: &bindings[index] },
                sealed,
                tag: &block.entry.tag,
                skip: 0,
                bytes,
            })
            .collect();
        keyed.open_parts(&parts, &mut out[..run.len() * bytes]).map_err(|failed| {
            match failed.error {
                sealstone_cipher::Error::Authentication => self.refused(run[failed.index].number),
                other => SealError::from(other).into(),
            }
        })
    }

    fn refused(&self, block: u64) -> VolumeError {
        VolumeError::Block { block, offset: block.saturating_mul(self.block_bytes.into()) }
    }

    /// Returns whether `entry` is the one that belongs to `associated`, of which it tags all.
    pub(super) fn is_genuine(&self, entry: &Entry, associated: &[u8]) -> Result<bool, VolumeError> {
        if entry.epoch == 0 || entry.epoch as usize > self.salts.len() {
            return Ok(false);
        }
        let keyed = self.keyed(entry)?;
        let tag = self.tag(&keyed, entry, associated)?;
        Ok(tag.ct_eq(&entry.tag).into())
    }

    fn tag(
        &self,
        keyed: &Keyed,
        entry: &Entry,
        associated: &[u8],
    ) -> Result<[u8; TAG_BYTES], VolumeError> {
        let nonce = &entry.nonce()[12 - keyed.nonce_bytes()..];
        Ok(keyed.seal(nonce, associated, &mut []).map_err(SealError::from)?)
    }

    pub(super) fn binding(&self, piece: Piece, epoch: u32, number: u64) -> [u8; ENTRY_BYTES] {
        binding(self.id(), piece, epoch, number)
    }

    /// Returns what tags the marks of the newest epoch, or of an older one.
    pub(super) fn marker(&self, epoch: u32) -> Result<Option<Keyed>, VolumeError> {
        let salt = (epoch as usize).checked_sub(1).and_then(|index| self.salts.get(index));
        let Some(salt) = salt else { return Ok(None) };
        let cipher_id = self.file.info().cipher.id.to_be_bytes();
        let keyed = self.file.tagger("volume synced", &[self.id(), &cipher_id, salt])?;
        Ok(Some(Arc::new(keyed)))
    }

    /// Epoch and stretch of counters, which have one key.
    fn key_of(&self, entry: &Entry) -> (u32, u64) {
        (entry.epoch, entry.counter / self.file.info().segment_units)
    }

    fn keyed(&self, entry: &Entry) -> Result<Keyed, VolumeError> {
        self.made_in.check()?;
        let key = self.key_of(entry);
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(keyed) = kept {
            return Ok(keyed);
        }
        let salt = (key.0 as usize).checked_sub(1).and_then(|index| self.salts.get(index));
        let Some(salt) = salt else {
            let found = format!("it names opening {} of {}", key.0, self.salts.len());
            return Err(VolumeError::Root { found });
        };
        let cipher_id = self.file.info().cipher.id.to_be_bytes();
        let context: [&[u8]; 4] = [self.id(), &cipher_id, salt, &key.1.to_be_bytes()];
        let keyed: Keyed = Arc::new(self.file.tagger("volume blocks", &context)?);
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            // a call that still seals or opens with one keeps it until it is done
            kept.clear();
        }
        kept.insert(key, Arc::clone(&keyed));
        Ok(keyed)
    }
}

impl fmt::Debug for VolumeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VolumeKeys").field("file", &self.file).finish_non_exhaustive()
    }
}

/// One opening of a volume for writing. Serves many threads at once. In a child that was forked
/// since, it seals nothing: both would use the same nonces.
#[derive(Debug)]
pub struct Epoch {
    number: u32,
    counters: Counters,
    keys: VolumeKeys,
}

impl Epoch {
    /// Returns the keys of the volume, this epoch's among them.
    #[must_use]
    pub fn keys(&self) -> &VolumeKeys {
        &self.keys
    }

    /// Returns its number, from 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Seals blocks in place and returns their entries.
    ///
    /// - `numbers`: of the blocks
    /// - `data`: the blocks, one after the other
    ///
    /// # Errors
    /// [`SealError::LimitReached`], [`SealError::Random`], [`SealError::Forked`]: part of `data`
    /// may be sealed then, and must not be stored.
    ///
    /// # Panics
    /// If `data` is not as long as the blocks are.
    pub fn seal_blocks(&self, numbers: &[u64], data: &mut [u8]) -> Result<Vec<Entry>, VolumeError> {
        let bytes = self.keys.block_bytes as usize;
        assert_eq!(data.len(), numbers.len() * bytes, "whole blocks");
        let mut entries = numbers
            .iter()
            .map(|_| self.draw(bytes, None))
            .collect::<Result<Vec<Entry>, VolumeError>>()?;
        let mut begin = 0;
        while begin < numbers.len() {
            let key = self.keys.key_of(&entries[begin]);
            let rest = entries[begin..].iter().take(PARTS_MAX);
            let count = rest.take_while(|entry| self.keys.key_of(entry) == key).count();
            let run = begin..begin + count;
            self.seal_run(
                &numbers[run.clone()],
                &mut entries[run.clone()],
                &mut data[run.start * bytes..run.end * bytes],
            )?;
            begin = run.end;
        }
        Ok(entries)
    }

    /// Seals blocks under one key.
    fn seal_run(
        &self,
        numbers: &[u64],
        entries: &mut [Entry],
        data: &mut [u8],
    ) -> Result<(), VolumeError> {
        let keyed = self.keys.keyed(&entries[0])?;
        let skip = 12 - keyed.nonce_bytes();
        let mut nonces = [[0; 12]; PARTS_MAX];
        let mut bindings = [[0; ENTRY_BYTES]; PARTS_MAX];
        for (index, (number, entry)) in numbers.iter().zip(&*entries).enumerate() {
            nonces[index] = entry.nonce();
            bindings[index] = self.keys.binding(Piece::Block, self.number, *number);
        }
        let mut messages: arrayvec::ArrayVec<Unsealed<'_>, PARTS_MAX> = data
            .chunks_exact_mut(self.keys.block_bytes as usize)
            .zip(entries)
            .enumerate()
            .map(|(index, (data, entry))| Unsealed {
                context: Context { nonce: &nonces[index][skip..], associated: &bindings[index] },
                data,
                tag: &mut entry.tag,
            })
            .collect();
        keyed.seal_run(&mut messages).map_err(|failed| SealError::from(failed.error))?;
        Ok(())
    }

    /// Returns the entry that tags `associated`, into which its binding is put first, at
    /// `binding_at`.
    ///
    /// - `odd`: of the entry's counter, where it matters
    pub(super) fn tag(
        &self,
        piece: Piece,
        number: u64,
        odd: Option<bool>,
        associated: &mut [u8],
        binding_at: usize,
    ) -> Result<Entry, VolumeError> {
        let mut entry = self.draw(0, odd)?;
        let keyed = self.keys.keyed(&entry)?;
        let binding = self.keys.binding(piece, self.number, number);
        associated[binding_at..binding_at + ENTRY_BYTES].copy_from_slice(&binding);
        entry.tag = self.keys.tag(&keyed, &entry, associated)?;
        Ok(entry)
    }

    /// Returns an entry without a tag, whose nonce no other message has.
    fn draw(&self, bytes: usize, odd: Option<bool>) -> Result<Entry, VolumeError> {
        self.keys.made_in.check()?;
        let info = self.keys.file.info();
        let limit = |limit| self.keys.file.limit_reached(limit);
        let (count, random) = match info.cipher.block_bytes {
            16 => (1, nonce_bits(self.keys.file.provider())?),
            // the counter is that of the first block, and each block takes one
            block_bytes => (bytes.div_ceil(block_bytes).max(1) as u64, 0),
        };
        let counter = self.counters.draw(count, odd, limit)?;
        Ok(Entry { tag: [0; TAG_BYTES], epoch: self.number, random, counter })
    }
}
