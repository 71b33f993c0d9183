//! The traits of the RustCrypto crates `cipher` and `aead` on types of ours, one block cipher and
//! one AEAD for each line of the table of ciphers, so that modes and protocols written over these
//! traits run on our backends.
//!
//! Keys are set on [`Backend::auto`]; a clone shares the key schedule, which is zeroed with the
//! last clone. Where the choice of backend or the limits of a key matter, call [`crate::blocks`]
//! and [`crate::aead`] themselves.
//!
//! ```
//! use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
//! use sealstone_cipher::rustcrypto::Aria256;
//!
//! let aria = Aria256::new(&[7; 32].into());
//! let mut blocks = [[1; 16].into(), [2; 16].into()];
//! aria.encrypt_blocks(&mut blocks);
//! aria.decrypt_blocks(&mut blocks);
//! assert_eq!(blocks, [[1; 16], [2; 16]]);
//! ```

use std::fmt;
use std::sync::Arc;

use ::aead::{AeadCore, AeadInOut, Nonce, Tag, TagPosition};
use cipher::array::{Array, ArraySize};
use cipher::consts::{U8, U12, U16, U24, U32, U64, U128, U512};
use cipher::inout::{InOut, InOutBuf};
use cipher::{
    Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, Key, KeyInit, KeySizeUser, ParBlocks,
    ParBlocksSizeUser,
};

use crate::aead::{Aead, aead};
use crate::backend::Backend;
use crate::blocks::{Blocks, blocks};
use crate::memory::Protected;
use crate::registry::cipher;

/// A keyed cipher as the traits hand it to their users: blocks of `B` bytes, `P` of them at a time.
struct Handed<'a, B, P> {
    blocks: &'a dyn Blocks,
    sizes: std::marker::PhantomData<(B, P)>,
}

impl<'a, B, P> Handed<'a, B, P> {
    fn new(blocks: &'a dyn Blocks) -> Self {
        Self { blocks, sizes: std::marker::PhantomData }
    }
}

impl<B: ArraySize, P> Handed<'_, B, P> {
    fn encrypt(&self, blocks: &mut [Array<u8, B>]) {
        self.blocks.encrypt(Array::slice_as_flattened_mut(blocks)).expect("whole blocks");
    }

    fn decrypt(&self, blocks: &mut [Array<u8, B>]) {
        self.blocks.decrypt(Array::slice_as_flattened_mut(blocks)).expect("whole blocks");
    }
}

impl<B: ArraySize, P> BlockSizeUser for Handed<'_, B, P> {
    type BlockSize = B;
}

impl<B: ArraySize, P: ArraySize> ParBlocksSizeUser for Handed<'_, B, P> {
    type ParBlocksSize = P;
}

impl<B, P> BlockCipherEncBackend for Handed<'_, B, P>
where
    B: ArraySize<ArrayType<u8>: Copy>,
    P: ArraySize<ArrayType<Array<u8, B>>: Copy>,
{
    fn encrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.encrypt(std::slice::from_mut(block.into_out_with_copied_in()));
    }

    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.encrypt(blocks.into_out_with_copied_in());
    }

    fn encrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.encrypt(blocks.into_out_with_copied_in());
    }
}

impl<B, P> BlockCipherDecBackend for Handed<'_, B, P>
where
    B: ArraySize<ArrayType<u8>: Copy>,
    P: ArraySize<ArrayType<Array<u8, B>>: Copy>,
{
    fn decrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.decrypt(std::slice::from_mut(block.into_out_with_copied_in()));
    }

    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.decrypt(blocks.into_out_with_copied_in());
    }

    fn decrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.decrypt(blocks.into_out_with_copied_in());
    }
}

/// Defines the types: for each name in the table of ciphers the block cipher (key, block and blocks
/// at a time) and the AEAD (nonce).
macro_rules! types {
    ($($name:literal: $block:ident($key_size:ty, $block_size:ty, $par_size:ty),
        $aead:ident($nonce_size:ty);)*) => {
        $(
            #[doc = concat!("The block cipher `", $name, "`.")]
            #[derive(Clone)]
            pub struct $block(Arc<Protected<dyn Blocks>>);

            impl KeySizeUser for $block {
                type KeySize = $key_size;
            }

            impl BlockSizeUser for $block {
                type BlockSize = $block_size;
            }

            impl KeyInit for $block {
                fn new(key: &Key<Self>) -> Self {
                    let cipher = cipher($name).expect("a name in the table");
                    let blocks = blocks(cipher, key, Backend::auto());
                    Self(blocks.expect("a key of the right length").into())
                }
            }

            impl BlockCipherEncrypt for $block {
                fn encrypt_with_backend(
                    &self,
                    f: impl BlockCipherEncClosure<BlockSize = $block_size>,
                ) {
                    f.call(&Handed::<$block_size, $par_size>::new(&**self.0));
                }
            }

            impl BlockCipherDecrypt for $block {
                fn decrypt_with_backend(
                    &self,
                    f: impl BlockCipherDecClosure<BlockSize = $block_size>,
                ) {
                    f.call(&Handed::<$block_size, $par_size>::new(&**self.0));
                }
            }

            impl fmt::Debug for $block {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($block)).finish_non_exhaustive()
                }
            }

            #[doc = concat!("The authenticated mode of `", $name, "`, as [`crate::aead()`]")]
            /// sets it up.
            #[derive(Clone)]
            pub struct $aead(Arc<Protected<dyn Aead>>);

            impl KeySizeUser for $aead {
                type KeySize = $key_size;
            }

            impl KeyInit for $aead {
                fn new(key: &Key<Self>) -> Self {
                    let cipher = cipher($name).expect("a name in the table");
                    let aead = aead(cipher, key, Backend::auto());
                    Self(aead.expect("a key of the right length").into())
                }
            }

            impl AeadCore for $aead {
                type NonceSize = $nonce_size;
                type TagSize = U16;
                const TAG_POSITION: TagPosition = TagPosition::Postfix;
            }

            impl AeadInOut for $aead {
                fn encrypt_inout_detached(
                    &self,
                    nonce: &Nonce<Self>,
                    associated_data: &[u8],
                    buffer: InOutBuf<'_, '_, u8>,
                ) -> ::aead::Result<Tag<Self>> {
                    let data = buffer.into_out_with_copied_in();
                    Ok(self.0.seal(nonce, associated_data, data).map_err(|_| ::aead::Error)?.into())
                }

                fn decrypt_inout_detached(
                    &self,
                    nonce: &Nonce<Self>,
                    associated_data: &[u8],
                    buffer: InOutBuf<'_, '_, u8>,
                    tag: &Tag<Self>,
                ) -> ::aead::Result<()> {
                    let data = buffer.into_out_with_copied_in();
                    let opened = self.0.open(nonce, associated_data, data, tag.as_ref());
                    opened.map_err(|_| ::aead::Error)
                }
            }

            impl fmt::Debug for $aead {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($aead)).finish_non_exhaustive()
                }
            }
        )*

        /// Calls `check` of the tests for each of the types.
        #[cfg(test)]
        fn check_every_type() -> Vec<&'static str> {
            $(tests::check::<$block, $aead>($name);)*
            vec![$($name),*]
        }
    };
}

// A kibibyte at a time fills the widest passes of all but Triple DES, which takes 512 blocks in
// one.
types! {
    "aes-128": Aes128(U16, U16, U64), Aes128Gcm(U12);
    "aes-192": Aes192(U24, U16, U64), Aes192Gcm(U12);
    "aes-256": Aes256(U32, U16, U64), Aes256Gcm(U12);
    "aria-128": Aria128(U16, U16, U64), Aria128Gcm(U12);
    "aria-192": Aria192(U24, U16, U64), Aria192Gcm(U12);
    "aria-256": Aria256(U32, U16, U64), Aria256Gcm(U12);
    "seed-128": Seed128(U16, U16, U64), Seed128Gcm(U12);
    "lea-128": Lea128(U16, U16, U64), Lea128Gcm(U12);
    "lea-192": Lea192(U24, U16, U64), Lea192Gcm(U12);
    "lea-256": Lea256(U32, U16, U64), Lea256Gcm(U12);
    "hight": Hight(U16, U8, U128), HightCtrMac(U8);
    "pipo-128": Pipo128(U16, U8, U128), Pipo128CtrMac(U8);
    "pipo-256": Pipo256(U32, U8, U128), Pipo256CtrMac(U8);
    "3des": TripleDes(U24, U8, U512), TripleDesCtrMac(U8);
    "blowfish": Blowfish(U16, U8, U128), BlowfishCtrMac(U8);
}

#[cfg(test)]
mod tests {
    use cipher::{BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyIvInit, StreamCipher};

    use super::*;
    use crate::registry::ciphers;
    use crate::testing::bytes;

    /// The types of `name` against our own modes, through the machinery of the traits: single
    /// blocks, many, from one buffer to another, CBC of the crate `cbc`, and the AEAD.
    pub(super) fn check<B, A>(name: &str)
    where
        B: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + Clone,
        A: KeyInit + AeadInOut,
    {
        let line = cipher(name).unwrap();
        assert_eq!(
            (B::key_size(), B::block_size(), A::key_size()),
            (line.key_bytes, line.block_bytes, line.key_bytes)
        );
        let key = bytes("rustcrypto key", line.key_bytes);
        let (theirs, ours) =
            (B::new_from_slice(&key).unwrap(), blocks(line, &key, Backend::auto()).unwrap());
        for count in (0..70).chain([127, 128, 129, 511, 512, 513, 1100]) {
            let text = bytes("rustcrypto text", count * line.block_bytes);
            let mut want = text.clone();
            ours.encrypt(&mut want).unwrap();
            let plain: Vec<Block<B>> =
                text.chunks(line.block_bytes).map(|block| block.try_into().unwrap()).collect();
            let mut found = plain.clone();
            theirs.encrypt_blocks(&mut found);
            assert_eq!(Array::slice_as_flattened(&found), want, "{name}, {count} blocks");
            theirs.clone().decrypt_blocks(&mut found);
            assert_eq!(found, plain, "{name}, {count} blocks back");
            theirs.encrypt_blocks_b2b(&plain, &mut found).unwrap();
            assert_eq!(
                Array::slice_as_flattened(&found),
                want,
                "{name}, {count} blocks to another buffer"
            );
            if let Some(first) = found.first_mut() {
                theirs.decrypt_block(first);
                assert_eq!(*first, plain[0], "{name}");
            }

            let iv = bytes("rustcrypto iv", line.block_bytes);
            let cbc = crate::cbc::cbc(line, &key, Backend::auto()).unwrap();
            let mut want = text.clone();
            cbc.encrypt(&iv, &mut want).unwrap();
            let mut found = plain.clone();
            cbc::Encryptor::<B>::inner_iv_slice_init(theirs.clone(), &iv)
                .unwrap()
                .encrypt_blocks(&mut found);
            assert_eq!(Array::slice_as_flattened(&found), want, "{name}, {count} blocks of CBC");
            cbc::Decryptor::<B>::inner_iv_slice_init(theirs.clone(), &iv)
                .unwrap()
                .decrypt_blocks(&mut found);
            assert_eq!(found, plain, "{name}, {count} blocks of CBC back");
        }

        let (theirs, ours) =
            (A::new_from_slice(&key).unwrap(), aead(line, &key, Backend::auto()).unwrap());
        let (nonce, text) =
            (bytes("rustcrypto nonce", line.nonce_bytes()), bytes("rustcrypto message", 1003));
        let mut want = text.clone();
        let tag = ours.seal(&nonce, b"associated", &mut want).unwrap();
        want.extend(tag);
        let (nonce, mut found) = (nonce[..].try_into().unwrap(), text.clone());
        theirs.encrypt_in_place(&nonce, b"associated", &mut found).unwrap();
        assert_eq!(found, want, "{name}");
        let mut forged = found.clone();
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(
            theirs.decrypt_in_place(&nonce, b"associated", &mut forged),
            Err(::aead::Error),
            "{name}"
        );
        theirs.decrypt_in_place(&nonce, b"associated", &mut found).unwrap();
        assert_eq!(found, text, "{name}");
    }

    #[test]
    fn every_cipher_has_its_types_and_they_agree_with_our_modes() {
        let checked = check_every_type();
        let names: Vec<_> = ciphers().iter().map(|cipher| cipher.name).collect();
        assert_eq!(checked, names);
    }

    /// Counter mode of the crate `ctr` over our blocks against ours.
    #[test]
    fn counter_mode_of_the_crate_ctr_agrees_with_ours() {
        fn compare<C: StreamCipher + KeyIvInit>(name: &str) {
            let line = cipher(name).unwrap();
            let (key, iv) = (bytes("ctr key", line.key_bytes), bytes("ctr iv", line.block_bytes));
            let ours = crate::ctr::ctr(line, &key, Backend::auto()).unwrap();
            for length in (0..300).chain([1023, 1024, 4095, 4096, 4097, 10_000]) {
                let mut want = bytes("ctr text", length);
                let mut found = want.clone();
                ours.apply(&iv, 0, &mut want).unwrap();
                C::new_from_slices(&key, &iv).unwrap().apply_keystream(&mut found);
                assert!(found == want, "{name}, {length} bytes");
            }
        }
        compare::<ctr::Ctr128BE<Aes256>>("aes-256");
        compare::<ctr::Ctr128BE<Aria192>>("aria-192");
        compare::<ctr::Ctr128BE<Seed128>>("seed-128");
        compare::<ctr::Ctr128BE<Lea256>>("lea-256");
        compare::<ctr::Ctr64BE<Hight>>("hight");
        compare::<ctr::Ctr64BE<Pipo128>>("pipo-128");
        compare::<ctr::Ctr64BE<TripleDes>>("3des");
        compare::<ctr::Ctr64BE<Blowfish>>("blowfish");
    }
}
