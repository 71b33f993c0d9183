//! The table of kernels: the ciphers that a device can run, in each mode. A cipher is one file of
//! the dialect in `kernels/`, one file with its rows and round keys in `ciphers/`, and one line
//! here.

use sealstone_cipher::Cipher;

use crate::ciphers::{aes, aria, pipo};
use crate::error::Error;
pub use crate::kernel::{Bounds, Kernel, Mode};

const TABLE: &[&[Kernel]] = &[aes::KERNELS, aria::KERNELS, pipo::KERNELS];

/// Returns all rows, in the order in which to show them.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    TABLE.iter().copied().flatten()
}

/// Returns the names of the ciphers that have a kernel.
#[must_use]
pub fn names() -> Vec<&'static str> {
    kernels().map(|kernel| kernel.cipher).collect()
}

/// Returns the kernel of `cipher`.
///
/// # Errors
/// `Error::NoKernel`.
pub fn kernel(cipher: &Cipher) -> Result<&'static Kernel, Error> {
    kernels()
        .find(|row| row.cipher == cipher.name)
        .ok_or_else(|| Error::NoKernel { cipher: cipher.name, known: names() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealstone_cipher::cipher;

    #[test]
    fn rows_name_ciphers_and_keys_have_the_length_they_say() {
        for row in kernels() {
            assert_eq!(
                row.block_bytes as usize,
                cipher(row.cipher).unwrap().block_bytes,
                "{}",
                row.cipher
            );
            let key = vec![7; cipher(row.cipher).unwrap().key_bytes];
            assert_eq!((row.keys)(&key).len(), row.key_words, "{}", row.cipher);
        }
        let error = kernel(cipher("3des").unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("3des has no kernel for devices\n"), "{error}");
    }
}
