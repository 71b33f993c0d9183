//! Botan, built from the source in its crate.

use botan::{BlockCipher, Cipher, CipherDirection, Version};

use crate::{Blocks, FromBlocks, Library, Rival, RivalAead};

/// Botan of this build.
pub fn library() -> Library {
    let version = Version::current().map(|version| format!("{}.{}", version.major, version.minor));
    let name = format!("Botan {}", version.unwrap_or_default());
    Library { name, ctr, gcm, cbc: |_, _| None, mac: |_, _| None }
}

/// Its name and block length.
fn named(cipher: &str) -> Option<(&'static str, usize)> {
    Some(match cipher {
        "aes-128" => ("AES-128", 16),
        "aes-192" => ("AES-192", 16),
        "aes-256" => ("AES-256", 16),
        "aria-128" => ("ARIA-128", 16),
        "aria-192" => ("ARIA-192", 16),
        "aria-256" => ("ARIA-256", 16),
        "seed-128" => ("SEED", 16),
        "3des" => ("TripleDES", 8),
        "blowfish" => ("Blowfish", 8),
        _ => return None,
    })
}

/// Makes counter mode from its block ciphers, which take many blocks in one call: its counter mode
/// is a Botan `StreamCipher`, which has no interface in C and so none in Rust.
fn ctr(cipher: &str, key: &[u8]) -> Option<Box<dyn Rival>> {
    let (name, block_bytes) = named(cipher)?;
    let mut keyed = BlockCipher::new(name).ok()?;
    keyed.set_key(key).ok()?;
    Some(Box::new(FromBlocks::new(block_bytes, WholeBlocks(keyed))))
}

struct WholeBlocks(BlockCipher);

impl Blocks for WholeBlocks {
    fn set_key(&mut self, key: &[u8]) {
        self.0.set_key(key).expect("a key as long as the first");
    }

    fn encrypt(&mut self, blocks: &mut [u8]) {
        self.0.encrypt_in_place(blocks).expect("whole blocks");
    }
}

fn gcm(cipher: &str, key: &[u8]) -> Option<Box<dyn RivalAead>> {
    let (name, 16) = named(cipher)? else { return None };
    let mut keyed = Cipher::new(format!("{name}/GCM"), CipherDirection::Encrypt).ok()?;
    keyed.set_key(key).ok()?;
    Some(Box::new(Gcm { keyed }))
}

struct Gcm {
    keyed: Cipher,
}

impl RivalAead for Gcm {
    fn set_key(&mut self, key: &[u8]) {
        self.keyed.set_key(key).expect("a key as long as the first");
    }

    fn seal(&mut self, nonce: &[u8; 12], data: &mut [u8]) -> [u8; 16] {
        let sealed = self.keyed.process(nonce, data).expect("a nonce of twelve bytes");
        let (text, tag) = sealed.split_at(data.len());
        data.copy_from_slice(text);
        tag.try_into().expect("a tag of sixteen bytes")
    }
}
