//! Takes the keys of a sealed file from its header while others may be rewriting it: the writer of
//! a log, its synced length; a rotation, the wrapped key.

use std::thread;
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::{HEADER_BYTES, SealError, SealedFile};

/// Pauses before a header that did not open is read again: its writer copies a few hundred bytes,
/// unless it is preempted while doing so.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(3)];

/// The first bytes of a file.
pub(crate) struct Header {
    pub(crate) bytes: [u8; HEADER_BYTES],
    /// Number of these bytes that the file has.
    pub(crate) got: usize,
}

impl Header {
    /// Reads it with `read`, which fills a buffer from the beginning of the file and returns the
    /// number of bytes.
    pub(crate) fn read<E>(read: &mut impl FnMut(&mut [u8]) -> Result<usize, E>) -> Result<Self, E> {
        let mut bytes = [0; HEADER_BYTES];
        let got = read(&mut bytes)?;
        Ok(Self { bytes, got })
    }

    /// Returns the bytes that there are.
    pub(crate) fn stored(&self) -> &[u8] {
        &self.bytes[..self.got]
    }
}

/// Opens a file by `header`, and by what `read` returns later if that is a mixture of an older and
/// a newer header.
pub(crate) fn open<E>(
    keys: &dyn KeySource,
    backend: Backend,
    header: Header,
    read: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<Result<SealedFile, SealError>, E> {
    settled(header, read, |header| SealedFile::open(keys, backend, header.stored()))
}

/// Runs `attempt` with `header`, and again with the result of `read` as long as the header may be a
/// mixture. A permanent failure is retried once, which costs a millisecond.
pub(crate) fn settled<T, E>(
    mut header: Header,
    mut read: impl FnMut(&mut [u8]) -> Result<usize, E>,
    mut attempt: impl FnMut(&Header) -> Result<T, SealError>,
) -> Result<Result<T, SealError>, E> {
    let mut outcome = attempt(&header);
    for pause in PAUSES {
        if !outcome.as_ref().is_err_and(may_be_a_mixture) {
            break;
        }
        thread::sleep(pause);
        let again = Header::read(&mut read)?;
        if again.stored() == header.stored() {
            // they would give the same result again; and after a while they are not a mixture
            if pause.is_zero() {
                continue;
            }
            break;
        }
        header = again;
        outcome = attempt(&header);
    }
    Ok(outcome)
}

fn may_be_a_mixture(error: &SealError) -> bool {
    matches!(error, SealError::Damaged { .. } | SealError::WrongKey { .. } | SealError::Key(_))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use sealstone_cipher::cipher;
    use sealstone_keys::EphemeralKey;
    use sealstone_seal::Layout;

    use super::*;

    /// Opens a file whose header is read as each of `states` in turn, the last repeatedly.
    fn open_through(keys: &EphemeralKey, states: &[&[u8]]) -> (bool, usize) {
        let mut reads = 0;
        let mut read = |into: &mut [u8]| -> Result<usize, Infallible> {
            let state = states[reads.min(states.len() - 1)];
            reads += 1;
            into[..state.len()].copy_from_slice(state);
            Ok(state.len())
        };
        let Ok(header) = Header::read(&mut read);
        let Ok(opened) = open(keys, Backend::auto(), header, &mut read);
        (opened.is_ok(), reads)
    }

    #[test]
    fn a_mixture_is_read_again_and_damage_soon_given_up() {
        let keys = EphemeralKey::new().unwrap();
        let aes = cipher("aes-256").unwrap();
        let (_, good) = SealedFile::create(&keys, aes, Backend::auto(), Layout::Frames).unwrap();
        let mixture = |at: usize| {
            let mut mixture = good;
            mixture[at] ^= 1;
            // the other copy too: with one whole copy nothing is read again
            mixture[4096 + at] ^= 1;
            mixture
        };
        assert_eq!(open_through(&keys, &[&good]), (true, 1));
        // salt, key version, wrapped key, store id
        for at in [40, 67, 140, 200] {
            assert_eq!(open_through(&keys, &[&mixture(at), &good]), (true, 2));
            assert_eq!(open_through(&keys, &[&mixture(at), &mixture(at), &good]), (true, 3));
            assert_eq!(
                open_through(&keys, &[&mixture(at), &mixture(at + 1), &mixture(at + 2), &good]),
                (true, 4)
            );
            assert_eq!(open_through(&keys, &[&mixture(at)]), (false, 3));
        }
        // data that is not a header is not read twice
        assert_eq!(open_through(&keys, &[b"plain data", &good]), (false, 1));
        assert_eq!(open_through(&keys, &[&good[..100], &good]), (false, 1));
    }
}
