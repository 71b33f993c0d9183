//! Cipher block chaining of whole blocks, and a Feistel network for what is left at the end, by the
//! name of the cipher: for records of any length, from a byte on, that have no room for a tag or a
//! padding, that come in pieces, and whose nonces repeat.
//!
//! Messages under one nonce show how many blocks they have in common at their beginning, and
//! nothing of the others; in a counter mode they would show the difference of all that they hold.
//! Ends of few bytes have few values, and equal ones behind equal blocks show. An attacker who
//! changes a block of the ciphertext changes the next block of the plaintext bit by bit and garbles
//! one, unnoticed. Where there is room for a tag, take [`crate::aead`]; for whole pages
//! [`crate::hctr2()`].
//!
//! The network is that of FF1, and not FF1 itself, which refuses so short a text and which no
//! module has. Not here: how it computes (`mode/cbc_feistel.rs`).

use crate::cbc::cbc;
use crate::error::Error;
use crate::facts::Cipher;
pub use crate::mode::cbc_feistel::{CbcFeistel, Chain};
use crate::modes::Mode;
use crate::provider::Provider;

/// Sets the keys (`cipher.key_bytes` long each) for whole blocks and for ends, by `provider`. All
/// choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`; `Error::BlockLength` for a cipher with blocks of 8 bytes; `Error::Lacks` for
/// a module without CBC.
///
/// Source: SP 800-38A, 6.2; docs/formats.md, section 19.
///
/// ```
/// use sealstone_cipher::cbc_feistel::cbc_feistel;
/// use sealstone_cipher::{Backend, cipher};
///
/// let aria = cbc_feistel(cipher("aria-256")?, [&[7; 32], &[8; 32]], Backend::auto())?;
/// let mut record = *b"of 21 bytes, in place";
/// let (first, last) = record.split_at_mut(16);
/// let mut chain = aria.begin(&[9; 16])?;
/// aria.encrypt(&mut chain, first)?;
/// aria.encrypt(&mut chain, last)?;
/// aria.decrypt(&mut aria.begin(&[9; 16])?, &mut record)?;
/// assert_eq!(&record, b"of 21 bytes, in place");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cbc_feistel(
    cipher: &'static Cipher,
    [blocks, ends]: [&[u8]; 2],
    provider: impl Into<Provider>,
) -> Result<CbcFeistel, Error> {
    cipher.check_key(blocks)?;
    if !Mode::CbcFeistel.facts().block_bytes.contains(&cipher.block_bytes) {
        return Err(Error::BlockLength { found: cipher.block_bytes, want: 16 });
    }
    let provider = provider.into();
    Ok(CbcFeistel::new(cbc(cipher, blocks, provider)?, cbc(cipher, ends, provider)?))
}
