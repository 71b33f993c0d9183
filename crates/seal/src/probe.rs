//! Test that a key can be obtained and used, and how long that takes: the requirements of sealing
//! and reopening a file on a key source.

use std::time::{Duration, Instant};

use sealstone_cipher::{Backend, Cipher};
use sealstone_keys::{KeyRef, KeySource};

use crate::header::Layout;
use crate::{SealError, SealedFile};

/// Findings of [`probe`].
#[derive(Clone, Debug)]
pub struct Probe {
    /// The key that new files are sealed under.
    pub key: KeyRef,
    /// Time taken to get the key.
    pub get: Duration,
    /// Time taken to wrap a data key.
    pub wrap: Duration,
    /// Time taken to get the key by its version and unwrap the data key.
    pub unwrap: Duration,
}

/// Wraps a data key of a file under `cipher` with the current key of `keys` and unwraps it. Nothing
/// is stored.
///
/// # Errors
/// The reason why the key cannot be used, as [`SealedFile::create`] and [`SealedFile::open`] report
/// it.
pub fn probe(keys: &dyn KeySource, cipher: &'static Cipher) -> Result<Probe, SealError> {
    let begin = Instant::now();
    let (key, _) = keys.current()?;
    let get = begin.elapsed();
    let begin = Instant::now();
    let (_, header) = SealedFile::create(keys, cipher, Backend::auto(), Layout::Frames)?;
    let wrap = begin.elapsed();
    let begin = Instant::now();
    SealedFile::open(keys, Backend::auto(), &header)?;
    Ok(Probe { key, get, wrap, unwrap: begin.elapsed() })
}
