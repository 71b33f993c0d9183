//! Marks: how many frames of the log are known to be on stable storage. A log that ends before was
//! cut. They are written after each flush, unsynced, at two places in turn in several files; the
//! newest genuine one counts.

use subtle::ConstantTimeEq;

use super::binding::Piece;
use super::error::VolumeError;
use super::keys::{Epoch, VolumeKeys};
use crate::{SealError, TAG_BYTES};

/// Length of a mark, in bytes.
pub const MARK_BYTES: usize = 32;

/// A number of frames, all of them on stable storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Number of frames since the volume was made.
    pub frames: u64,
    /// The epoch that wrote the mark.
    pub epoch: u32,
}

impl Mark {
    /// Returns the stored bytes of the mark that the first `frames` frames are on stable storage.
    /// It must not be written before they are.
    ///
    /// # Errors
    /// [`SealError::Cipher`].
    pub fn seal(epoch: &Epoch, frames: u64) -> Result<[u8; MARK_BYTES], VolumeError> {
        let mark = Self { frames, epoch: epoch.number() };
        let mut bytes = [0; MARK_BYTES];
        bytes[..8].copy_from_slice(&frames.to_be_bytes());
        bytes[8..12].copy_from_slice(&mark.epoch.to_be_bytes());
        let tag = mark.tag(epoch.keys())?.expect("an epoch has its own salt");
        bytes[16..].copy_from_slice(&tag);
        Ok(bytes)
    }

    /// Takes a mark that was stored. None if no epoch of the volume wrote it.
    ///
    /// # Errors
    /// [`SealError::Cipher`].
    pub fn open(keys: &VolumeKeys, bytes: &[u8; MARK_BYTES]) -> Result<Option<Self>, VolumeError> {
        let frames = u64::from_be_bytes(*bytes.first_chunk().expect("32 bytes"));
        let epoch = u32::from_be_bytes(*bytes[8..].first_chunk().expect("32 bytes"));
        let mark = Self { frames, epoch };
        let Some(tag) = mark.tag(keys)? else { return Ok(None) };
        Ok(bool::from(tag.ct_eq(&bytes[16..])).then_some(mark))
    }

    /// Returns its tag: each number of frames is its own nonce, and always gets the same tag, since
    /// nothing is encrypted. None if there is no such epoch.
    fn tag(&self, keys: &VolumeKeys) -> Result<Option<[u8; TAG_BYTES]>, VolumeError> {
        let Some(keyed) = keys.marker(self.epoch)? else { return Ok(None) };
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.frames.to_be_bytes());
        let nonce = &nonce[12 - keyed.nonce_bytes()..];
        let binding = keys.binding(Piece::Mark, self.epoch, self.frames);
        Ok(Some(keyed.seal(nonce, &binding, &mut []).map_err(SealError::from)?))
    }
}
