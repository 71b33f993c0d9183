//! The root of a volume: what a checkpoint made true, and where the log goes on from there. It is
//! written whole, to one of two files in turn, under a key that is drawn each time.

use super::entry::{ENTRY_BYTES, Entry};
use super::error::VolumeError;
use super::keys::{EPOCHS_MAX, SALT_BYTES, Salt};
use super::place::Places;
use crate::header::{FILE_ID_BYTES, FORMAT_VERSION};
use crate::random::fill_random;
use crate::{SealError, SealedFile, TAG_BYTES};

/// Beginning of the sealed part of a root, in bytes from the beginning of its file.
pub const ROOT_AT: u64 = 8192;

/// Longest sealed part, in bytes: that of the largest device with all epochs.
const SEALED_BYTES_MAX: u64 = 16 << 20;

/// Runs that a root can have: openings of a volume that were all cut off before a checkpoint.
const RUNS_MAX: usize = 1024;

/// Magic bytes at the beginning of the file. The first byte is not text; the last one is changed
/// by a transfer as text.
const MAGIC: [u8; 8] = *b"\x89SEALMP\n";

const VERSION_AT: usize = 8;
const VOLUME_AT: usize = 16;
const GENERATION_AT: usize = 32;
const SEALED_BYTES_AT: usize = 40;
const SALT_AT: usize = 48;
const TAG_AT: usize = SALT_AT + SALT_BYTES;
const TAG_END: usize = TAG_AT + TAG_BYTES;

/// Length of a run's record, in bytes.
const RUN_BYTES: usize = 4 + 8 + 8;

/// A part of the log: the frames that one epoch wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The epoch.
    pub epoch: u32,
    /// Segment in which its first frame is the first.
    pub segment: u64,
    /// Number of that frame.
    pub frame: u64,
}

/// State of a volume after a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Number of roots written before; only grows.
    pub generation: u64,
    /// Number of blocks of the device.
    pub blocks: u64,
    /// Salts of all epochs, the first one's first.
    pub salts: Vec<Salt>,
    /// Parts of the log that are not in place yet, the oldest first. Each but the last is whole: it
    /// ends where the next one begins.
    pub runs: Vec<Run>,
    /// Entries of all leaf pages.
    pub leaves: Vec<Entry>,
}

/// The beginning of a root's file, not authenticated.
#[derive(Clone, Debug)]
pub struct RootHead {
    bytes: [u8; Self::BYTES],
    /// Id of the volume.
    pub volume: [u8; FILE_ID_BYTES],
    /// Generation of the root.
    pub generation: u64,
    /// Length of the sealed part at [`ROOT_AT`], in bytes.
    pub sealed_bytes: usize,
}

fn damaged(found: &str) -> VolumeError {
    VolumeError::Root { found: found.into() }
}

impl RootHead {
    /// Length, in bytes.
    pub const BYTES: usize = 128;

    /// Reads the first bytes of a root's file.
    ///
    /// # Errors
    /// [`VolumeError::Root`] for anything else; [`SealError::UnsupportedVersion`].
    pub fn read(bytes: &[u8; Self::BYTES]) -> Result<Self, VolumeError> {
        if bytes[..MAGIC.len()] != MAGIC {
            return Err(damaged("it does not begin as one"));
        }
        let version = u16::from_be_bytes(take(bytes, VERSION_AT));
        if version > FORMAT_VERSION {
            let known = FORMAT_VERSION;
            return Err(SealError::UnsupportedVersion { found: version, known }.into());
        }
        let zeros = [&bytes[VERSION_AT + 2..VOLUME_AT], &bytes[TAG_END..]];
        if version == 0 || zeros.into_iter().flatten().any(|byte| *byte != 0) {
            return Err(damaged("bytes of its head are impossible"));
        }
        let sealed_bytes = u64::from_be_bytes(take(bytes, SEALED_BYTES_AT));
        if sealed_bytes > SEALED_BYTES_MAX {
            return Err(damaged("impossible length"));
        }
        Ok(Self {
            volume: take(bytes, VOLUME_AT),
            generation: u64::from_be_bytes(take(bytes, GENERATION_AT)),
            sealed_bytes: sealed_bytes as usize,
            bytes: *bytes,
        })
    }
}

impl Root {
    /// Returns the root of a new device of `blocks` blocks, all of them holes.
    #[must_use]
    pub fn new(places: Places, blocks: u64) -> Self {
        let leaves = vec![Entry::HOLE; places.leaves(blocks) as usize];
        Self { generation: 0, blocks, salts: Vec::new(), runs: Vec::new(), leaves }
    }

    /// Seals the root: the head for the beginning of the file, and the bytes at [`ROOT_AT`].
    ///
    /// # Errors
    /// [`SealError::Random`]; [`SealError::LimitReached`] if the cipher cannot seal that much under
    /// one key.
    pub fn seal(&self, file: &SealedFile) -> Result<([u8; RootHead::BYTES], Vec<u8>), VolumeError> {
        let mut sealed = self.encode();
        let limits = file.info().cipher.limits;
        if sealed.len() as u64 > limits.bytes_per_key.min(limits.message_bytes) {
            let limit = format!("{} bytes of a device's root", sealed.len());
            return Err(file.limit_reached(limit).into());
        }
        let mut salt = [0; SALT_BYTES];
        fill_random(file.provider(), &mut salt)?;
        let mut head = [0; RootHead::BYTES];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC);
        put(VERSION_AT, &FORMAT_VERSION.to_be_bytes());
        put(VOLUME_AT, &file.info().file_id);
        put(GENERATION_AT, &self.generation.to_be_bytes());
        put(SEALED_BYTES_AT, &(sealed.len() as u64).to_be_bytes());
        put(SALT_AT, &salt);
        let keyed = keyed(file, &salt)?;
        let nonce = &[0; 12][12 - keyed.nonce_bytes()..];
        let tag = keyed.seal(nonce, &head, &mut sealed).map_err(SealError::from)?;
        head[TAG_AT..TAG_END].copy_from_slice(&tag);
        Ok((head, sealed))
    }

    /// Opens a root.
    ///
    /// - `sealed`: the bytes at [`ROOT_AT`], as many as `head` states
    ///
    /// # Errors
    /// [`VolumeError::Root`] if it is not one of this volume, or was changed.
    pub fn open(
        file: &SealedFile,
        head: &RootHead,
        mut sealed: Vec<u8>,
    ) -> Result<Self, VolumeError> {
        if head.volume != file.info().file_id {
            return Err(damaged("it is that of another volume"));
        }
        let mut associated = head.bytes;
        associated[TAG_AT..TAG_END].fill(0);
        let keyed = keyed(file, &take(&head.bytes, SALT_AT))?;
        let nonce = &[0; 12][12 - keyed.nonce_bytes()..];
        keyed.open(nonce, &associated, &mut sealed, &take(&head.bytes, TAG_AT)).map_err(
            |error| match error {
                sealstone_cipher::Error::Authentication => damaged("it failed authentication"),
                other => SealError::from(other).into(),
            },
        )?;
        Self::decode(head.generation, &sealed).ok_or_else(|| damaged("its content is impossible"))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.blocks.to_be_bytes());
        for count in [self.salts.len(), self.runs.len(), self.leaves.len()] {
            bytes.extend_from_slice(&(count as u32).to_be_bytes());
        }
        self.salts.iter().for_each(|salt| bytes.extend_from_slice(salt));
        for run in &self.runs {
            bytes.extend_from_slice(&run.epoch.to_be_bytes());
            bytes.extend_from_slice(&run.segment.to_be_bytes());
            bytes.extend_from_slice(&run.frame.to_be_bytes());
        }
        self.leaves.iter().for_each(|leaf| bytes.extend_from_slice(&leaf.to_bytes()));
        bytes
    }

    fn decode(generation: u64, bytes: &[u8]) -> Option<Self> {
        let (blocks, bytes) = bytes.split_first_chunk()?;
        let (counts, bytes) = bytes.split_at_checked(12)?;
        let count = |index: usize| -> Option<usize> {
            Some(u32::from_be_bytes(*counts[index * 4..].first_chunk()?) as usize)
        };
        let (salts, bytes) = bytes.split_at_checked(count(0)?.checked_mul(SALT_BYTES)?)?;
        let (runs, leaves) = bytes.split_at_checked(count(1)?.checked_mul(RUN_BYTES)?)?;
        let root = Self {
            generation,
            blocks: u64::from_be_bytes(*blocks),
            salts: salts.chunks_exact(SALT_BYTES).map(|salt| take(salt, 0)).collect(),
            runs: runs
                .chunks_exact(RUN_BYTES)
                .map(|run| Run {
                    epoch: u32::from_be_bytes(take(run, 0)),
                    segment: u64::from_be_bytes(take(run, 4)),
                    frame: u64::from_be_bytes(take(run, 12)),
                })
                .collect(),
            leaves: leaves
                .chunks_exact(ENTRY_BYTES)
                .map(|leaf| Entry::from_bytes(&take(leaf, 0)))
                .collect(),
        };
        let whole = leaves.len() == count(2)?.checked_mul(ENTRY_BYTES)?;
        let known = |run: &Run| run.epoch > 0 && run.epoch as usize <= root.salts.len();
        let possible = root.salts.len() <= EPOCHS_MAX
            && root.runs.len() <= RUNS_MAX
            && root.runs.iter().all(known)
            && root.runs.is_sorted_by(|one, next| {
                one.epoch < next.epoch && one.segment < next.segment && one.frame <= next.frame
            });
        (whole && possible).then_some(root)
    }
}

fn keyed(
    file: &SealedFile,
    salt: &Salt,
) -> Result<sealstone_cipher::memory::Protected<dyn sealstone_cipher::Aead>, SealError> {
    let info = file.info();
    file.tagger("volume map", &[&info.file_id, &info.cipher.id.to_be_bytes(), salt])
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..].first_chunk().copied().expect("every field is within")
}
