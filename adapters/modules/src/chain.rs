//! CBC of whole blocks in a module, with blocks of 16 bytes.

use sealstone_cipher::Error;
use sealstone_cipher::module::KeyedCbc;

/// A key in a module, set for CBC without padding. Serves many threads at once.
pub(crate) trait ChainCalls: Send + Sync {
    /// Encrypts `data`, whole blocks, in place; its content is of no use after an error.
    fn encrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error>;

    /// Decrypts `data`, whole blocks, in place; its content is of no use after an error.
    fn decrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error>;
}

/// CBC over the calls of a module.
struct Chain<C>(C);

/// Returns the key in `calls` as CBC.
pub(crate) fn boxed<C: ChainCalls + 'static>(calls: C) -> Box<dyn KeyedCbc> {
    Box::new(Chain(calls))
}

impl<C: ChainCalls> KeyedCbc for Chain<C> {
    fn encrypt(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.0.encrypt(&block(iv)?, data)
    }

    fn decrypt(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
        self.0.decrypt(&block(iv)?, data)
    }
}

fn block(iv: &[u8]) -> Result<[u8; 16], Error> {
    iv.try_into().map_err(|_| Error::NonceLength { found: iv.len(), want: 16 })
}
