//! Passphrases, and the key that a passphrase is stretched into. Not here: the data under that key
//! (`file`), and prompts for a passphrase (`sealstone-cli`).

use std::fmt;
use std::io::Read;
use std::path::Path;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use sealstone_file::input;
use zeroize::{Zeroize, Zeroizing};

use crate::{KeyError, Secret};

/// Longest passphrase, in bytes.
pub const PASSPHRASE_BYTES_MAX: usize = 1024;

/// Length of the salt, in bytes (RFC 9106, 4).
pub(crate) const SALT_BYTES: usize = 16;

/// The most memory that a key file may require, in KiB: 2 GiB, the largest that RFC 9106
/// recommends.
const MEMORY_KIB_MAX: u32 = 1 << 21;
/// The most lanes that a key file may require.
const LANES_MAX: u32 = 64;
/// The most work that a key file may require, in KiB written: four passes over all of that memory,
/// some seconds.
pub(crate) const WORK_KIB_MAX: u64 = 4 * MEMORY_KIB_MAX as u64;

/// Returns the passphrase of the key file at the path, when one is needed.
pub type Ask<'a> = &'a dyn Fn(&Path) -> Result<Passphrase, KeyError>;

/// A passphrase. Zeroed on drop; `Debug` shows nothing of it.
pub struct Passphrase {
    bytes: Zeroizing<Vec<u8>>,
    holder: Option<String>,
}

impl Passphrase {
    /// Takes ownership of `bytes`; `place` names their origin in messages, such as `the terminal`.
    ///
    /// # Errors
    /// [`KeyError::BadPassphrase`] if there are none, more than [`PASSPHRASE_BYTES_MAX`], or more
    /// than one line.
    pub fn new(bytes: Vec<u8>, place: &str) -> Result<Self, KeyError> {
        let bytes = Zeroizing::new(bytes);
        let bad = |found: String| Err(KeyError::BadPassphrase { place: place.to_owned(), found });
        if bytes.is_empty() {
            return bad("it is empty".into());
        }
        if bytes.len() > PASSPHRASE_BYTES_MAX {
            return bad(format!("more than {PASSPHRASE_BYTES_MAX} bytes"));
        }
        if bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
            return bad("more than one line of text".into());
        }
        Ok(Self { bytes, holder: None })
    }

    /// Marks it as the passphrase of `holder`, of a key file with several. Without this, the entry
    /// of each holder is tried.
    #[must_use]
    pub fn of(self, holder: Option<String>) -> Self {
        Self { holder, ..self }
    }

    /// Returns its bytes. Never log, print or compare them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the holder it belongs to, if one was named.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.holder.as_deref()
    }

    /// Reads the passphrase, the only line of the file at `path`; the end of the line is not part
    /// of it. A pipe works too, so that a password manager can pass it: `--passphrase-file <(pass
    /// show orders)`.
    ///
    /// # Errors
    /// [`KeyError::PassphraseFile`], [`KeyError::PassphraseOpen`] if a file is open to users other
    /// than its owner, [`KeyError::BadPassphrase`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let io_error = |source| KeyError::PassphraseFile { path: path.to_owned(), source };
        let file = input::open_given(path).map_err(io_error)?;
        check_private(path, &file.metadata().map_err(io_error)?)?;
        // room for all of it at once: a growing vector leaves copies behind
        let most = PASSPHRASE_BYTES_MAX + 2;
        let mut bytes = Zeroizing::new(Vec::with_capacity(most + 1));
        file.take(most as u64).read_to_end(&mut bytes).map_err(io_error)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
            }
        }
        Self::new(std::mem::take(&mut *bytes), &format!("passphrase file {}", path.display()))
    }

    /// Returns whether `other` is the same passphrase; for asking a person twice.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        *self.bytes == *other.bytes
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

/// Cost of opening a key file, for its owner once and for an attacker with each guess at a
/// passphrase: Argon2id, RFC 9106.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Memory, in KiB; at least 8 for each lane.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Parts of the memory that could be worked on side by side.
    pub lanes: u32,
}

impl Default for Cost {
    /// Returns the cost that RFC 9106, section 4, recommends where memory is scarce: 64 MiB, 3
    /// passes, 4 lanes.
    fn default() -> Self {
        Self { memory_kib: 1 << 16, passes: 3, lanes: 4 }
    }
}

impl Cost {
    /// Computes the amount of memory that one try writes, in KiB.
    pub(crate) fn work_kib(&self) -> u64 {
        u64::from(self.memory_kib) * u64::from(self.passes)
    }

    /// Reports impossible or excessive figures, which may come from a file written by somebody
    /// else.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { memory_kib, passes, lanes } = *self;
        if lanes == 0 || passes == 0 || u64::from(memory_kib) < 8 * u64::from(lanes) {
            return Err(format!(
                "Argon2id with {memory_kib} KiB, {passes} passes and {lanes} lanes is not possible"
            ));
        }
        if lanes > LANES_MAX {
            return Err(format!(
                "its passphrase asks for {lanes} lanes, at most {LANES_MAX} are allowed"
            ));
        }
        if memory_kib > MEMORY_KIB_MAX {
            return Err(format!(
                "its passphrase asks for {memory_kib} KiB of memory, at most {MEMORY_KIB_MAX} are \
                 allowed"
            ));
        }
        if self.work_kib() > WORK_KIB_MAX {
            return Err(format!(
                "its passphrase asks for {passes} passes over {memory_kib} KiB, at most \
                 {WORK_KIB_MAX} KiB in all are allowed"
            ));
        }
        Ok(())
    }
}

/// A stretched passphrase, and what went into it. Kept by who read a key file, so that it can be
/// read again without the passphrase.
#[derive(Debug)]
pub(crate) struct Stretched {
    pub(crate) cost: Cost,
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) key: Secret,
}

impl Stretched {
    /// Stretches with a fresh salt, for a new key file.
    pub(crate) fn fresh(passphrase: &Passphrase, cost: Cost) -> Result<Self, KeyError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|source| KeyError::Random(source.to_string()))?;
        Self::new(passphrase, cost, salt)
    }

    /// Stretches with the salt and cost of a key file, whose cost was checked.
    pub(crate) fn new(
        passphrase: &Passphrase,
        cost: Cost,
        salt: [u8; SALT_BYTES],
    ) -> Result<Self, KeyError> {
        let failed = |found: String| KeyError::Stretch { memory_kib: cost.memory_kib, found };
        cost.check().map_err(failed)?;
        let Cost { memory_kib, passes, lanes } = cost;
        let params = Params::new(memory_kib, passes, lanes, Some(Secret::BYTES))
            .map_err(|e| failed(e.to_string()))?;
        let mut memory: Vec<Block> = Vec::new();
        memory
            .try_reserve_exact(params.block_count())
            .map_err(|error| failed(error.to_string()))?;
        memory.resize(params.block_count(), Block::default());
        let mut key = Secret::zero();
        let stretched = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(
                &passphrase.bytes,
                &salt,
                key.as_bytes_mut(),
                &mut memory,
            );
        memory.iter_mut().for_each(Zeroize::zeroize);
        stretched.map_err(|error| failed(error.to_string()))?;
        Ok(Self { cost, salt, key })
    }
}

/// Pipes and terminals are their maker's alone.
#[cfg(unix)]
fn check_private(path: &Path, found: &std::fs::Metadata) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o7777;
    if found.is_file() && mode & 0o077 != 0 {
        return Err(KeyError::PassphraseOpen { path: path.to_owned(), mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &std::fs::Metadata) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9106, 5.3, has a secret and associated data, which we do not use; this is the reference
    /// implementation's own test of version 0x13 without them (`test.c`: 64 MiB, 2 passes, 1 lane,
    /// "password", "somesalt").
    #[test]
    fn the_stretching_is_argon2id() {
        let params = Params::new(65536, 2, 1, Some(32)).unwrap();
        let mut out = [0; 32];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(b"password", b"somesalt", &mut out)
            .unwrap();
        let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7");
    }

    #[test]
    fn passphrase_cost_and_salt_all_count() {
        let low = Cost { memory_kib: 64, passes: 1, lanes: 1 };
        let passphrase = |text: &str| Passphrase::new(text.into(), "the test").unwrap();
        let key = |text, cost, salt| {
            *Stretched::new(&passphrase(text), cost, [salt; 16]).unwrap().key.as_bytes()
        };
        let one = key("open", low, 1);
        assert_eq!(one, key("open", low, 1));
        for other in [
            key("opem", low, 1),
            key("open", low, 2),
            key("open", Cost { passes: 2, ..low }, 1),
            key("open", Cost { memory_kib: 72, ..low }, 1),
            key("open", Cost { lanes: 2, ..low }, 1),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn what_costs_too_much_is_refused_before_it_is_tried() {
        let cost = |memory_kib, passes, lanes| Cost { memory_kib, passes, lanes }.check();
        for good in [cost(65536, 3, 4), cost(1 << 21, 1, 4), cost(8, 1, 1)] {
            good.unwrap();
        }
        for bad in [
            cost(u32::MAX, 1, 1),
            cost((1 << 21) + 1, 1, 1),
            cost(65536, u32::MAX, 1),
            cost(65536, 129, 1),
            cost(1 << 20, 1, 65),
            cost(31, 1, 4),
            cost(8, 0, 1),
            cost(8, 1, 0),
            cost(0, 1, u32::MAX),
        ] {
            bad.unwrap_err();
        }
    }

    #[test]
    fn a_passphrase_is_one_line_and_never_shown() {
        for bad in [&b""[..], b"two\nlines", b"nul\0", &[b'x'; 1025]] {
            assert!(matches!(
                Passphrase::new(bad.to_vec(), "x"),
                Err(KeyError::BadPassphrase { .. })
            ));
        }
        let good = Passphrase::new("correct horse".into(), "x").unwrap();
        assert_eq!(format!("{good:?}"), "Passphrase(..)");
    }
}
