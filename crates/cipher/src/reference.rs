//! Reference block ciphers and MACs, which the conformance suite checks ours against: the
//! RustCrypto crates, or plain code of our own where there is no crate of their generation. They
//! share no code with the code they check.
//!
//! Slow, not constant time in every part, and for tests only. Not here: the modes
//! (`testing::reference`).

mod hight;
#[cfg(feature = "hmac")]
mod hmac;
mod lea;
mod pipo;
mod seed;

use cipher::{Array, BlockCipherEncrypt, BlockSizeUser, KeyInit};

#[cfg(feature = "hmac")]
pub(crate) use hmac::{hmac_md5, hmac_sha1, hmac_sha256};
pub(crate) use {
    hight::keyed as hight, lea::keyed as lea, pipo::keyed as pipo, seed::keyed as seed,
};

/// Encrypts one block in place.
pub type EncryptBlock = Box<dyn Fn(&mut [u8])>;

fn keyed<C: BlockCipherEncrypt + KeyInit + BlockSizeUser + 'static>(key: &[u8]) -> EncryptBlock {
    let cipher = C::new_from_slice(key).expect("key length from the table of ciphers");
    Box::new(move |block| {
        let mut copy = Array::try_from(&*block).expect("block length from the table of ciphers");
        cipher.encrypt_block(&mut copy);
        block.copy_from_slice(&copy);
    })
}

/// AES of the crate `aes`.
pub(crate) fn aes(key: &[u8]) -> EncryptBlock {
    match key.len() {
        16 => keyed::<aes::Aes128>(key),
        24 => keyed::<aes::Aes192>(key),
        _ => keyed::<aes::Aes256>(key),
    }
}

/// ARIA of the crate `aria`.
pub(crate) fn aria(key: &[u8]) -> EncryptBlock {
    match key.len() {
        16 => keyed::<aria::Aria128>(key),
        24 => keyed::<aria::Aria192>(key),
        _ => keyed::<aria::Aria256>(key),
    }
}

/// Triple DES of the crate `des`.
pub(crate) fn tdes(key: &[u8]) -> EncryptBlock {
    keyed::<des::TdesEde3>(key)
}

/// Blowfish of the crate `blowfish`.
pub(crate) fn blowfish(key: &[u8]) -> EncryptBlock {
    keyed::<blowfish::Blowfish>(key)
}
