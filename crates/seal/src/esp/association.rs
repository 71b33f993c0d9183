//! Parameters that both ends of a security association agree on, and how long its keys may be used.

use sealstone_cipher::cbc::{Cbc, cbc};
use sealstone_cipher::hmac::{Hmac, hmac};
use sealstone_cipher::memory::Protected;
use sealstone_cipher::{Aead, Backend, aead};

use super::error::EspError;
use sealstone_cipher::suites::{Encryption, GCM_SALT_BYTES as SALT_BYTES, Suite};

/// Length of index and sequence number, which begin a packet, in bytes.
pub(super) const HEADER_BYTES: usize = 8;
/// The first index that is not reserved.
const SPI_MIN: u32 = 0x100;

/// Parameters that both ends agree on, apart from keys. An association protects packets in one
/// direction.
#[derive(Clone, Copy, Debug)]
pub struct Association {
    /// Its index (SPI), which begins each of its packets: 0x100 or more.
    pub spi: u32,
    /// Suite that seals the packets.
    pub suite: &'static Suite,
    /// True if sequence numbers have 64 bits, of which packets carry the lower 32.
    pub extended: bool,
    /// On what ciphers run here; the other end may choose another.
    pub backend: Backend,
}

/// Amount that the keys of an association may seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Packets.
    pub packets: u64,
    /// Blocks of the cipher.
    pub blocks: u64,
}

impl Lifetime {
    /// As much as the cipher's limits and the sequence numbers allow.
    #[must_use]
    pub fn longest(association: &Association) -> Self {
        let numbers = if association.extended { u64::MAX } else { u64::from(u32::MAX) };
        association.suite.cipher().map_or(Self { packets: numbers, blocks: u64::MAX }, |cipher| {
            Self {
                packets: numbers.min(cipher.limits.messages_per_key),
                blocks: cipher.blocks_per_key(),
            }
        })
    }
}

/// Keys, set for what a suite does with them.
pub(super) enum Keyed {
    Null,
    Cbc { cbc: Cbc, hmac: Hmac },
    Gcm { aead: Protected<dyn Aead>, salt: Protected<[u8; SALT_BYTES]> },
}

/// Lengths of a suite, in bytes, looked up in the tables once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    /// Length of what a packet begins with, in the clear: index, sequence number, and what the
    /// decryption needs.
    pub(super) head: usize,
    /// Number of bytes of which the length of the encrypted part is a multiple.
    pub(super) block: usize,
    /// Length of the cipher's block; 1 where nothing encrypts.
    pub(super) cipher_block: usize,
    /// Length of what authenticates a packet.
    pub(super) tag: usize,
}

impl Lengths {
    pub(super) fn of(suite: &Suite) -> Self {
        Self {
            head: HEADER_BYTES + suite.iv_bytes(),
            block: suite.block_bytes(),
            cipher_block: suite.cipher().map_or(1, |cipher| cipher.block_bytes),
            tag: suite.tag_bytes(),
        }
    }
}

impl Association {
    /// Sets the keys.
    pub(super) fn keyed(&self, key: &[u8], integrity_key: &[u8]) -> Result<Keyed, EspError> {
        let Self { spi, suite, backend, .. } = *self;
        if spi < SPI_MIN {
            return Err(EspError::ReservedSpi { spi });
        }
        let check = |what, found: usize, want: usize| match found == want {
            true => Ok(()),
            false => Err(EspError::KeyLength { what, suite: suite.name, found, want }),
        };
        check("an encryption key", key.len(), suite.key_bytes())?;
        check("an integrity key", integrity_key.len(), suite.integrity_key_bytes())?;
        let failed = |source| EspError::Cipher { spi, source };
        Ok(match (suite.encryption, suite.mac) {
            (Encryption::Gcm(cipher), _) => {
                let (key, salt) = key.split_at(cipher.key_bytes);
                let mut kept = Protected::new([0; SALT_BYTES]);
                kept.copy_from_slice(salt);
                Keyed::Gcm { aead: aead(cipher, key, backend).map_err(failed)?, salt: kept }
            }
            (Encryption::Cbc(cipher), Some(mac)) => Keyed::Cbc {
                cbc: cbc(cipher, key, backend).map_err(failed)?,
                hmac: hmac(mac, integrity_key, backend).map_err(failed)?,
            },
            // no row has CBC without a MAC
            (Encryption::Cbc(_), None) => unreachable!("{} authenticates nothing", suite.name),
            (Encryption::Null, _) => Keyed::Null,
        })
    }

    /// Returns the data to be authenticated besides a packet's own bytes, in the place where GCM
    /// expects it: the index and the sequence number.
    pub(super) fn gcm_associated(&self, number: u64) -> ([u8; 12], usize) {
        let mut associated = [0; 12];
        associated[..4].copy_from_slice(&self.spi.to_be_bytes());
        if self.extended {
            associated[4..].copy_from_slice(&number.to_be_bytes());
            (associated, 12)
        } else {
            associated[4..8].copy_from_slice(&(number as u32).to_be_bytes());
            (associated, 8)
        }
    }

    /// Returns the bytes that a MAC covers after a packet's own bytes: the upper half of an
    /// extended sequence number, of which [`Self::mac_tail_bytes`] gives the number of bytes to
    /// use.
    pub(super) fn mac_tail(number: u64) -> [u8; 4] {
        ((number >> 32) as u32).to_be_bytes()
    }

    pub(super) fn mac_tail_bytes(&self) -> usize {
        if self.extended { 4 } else { 0 }
    }
}
