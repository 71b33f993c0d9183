//! The system's OpenSSL, through its EVP interface; ciphers that it calls legacy come from its
//! legacy provider.

use std::sync::LazyLock;

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::provider::Provider;

use crate::ffi::OpensslHmac;
use crate::{Blocks, FromBlocks, Library, Rival, RivalAead, RivalCbc, RivalMac};

/// OpenSSL as it is installed.
pub fn library() -> Library {
    let version = openssl::version::version();
    Library {
        name: version
            .split(" (")
            .next()
            .unwrap_or(version)
            .split_whitespace()
            .take(2)
            .collect::<Vec<_>>()
            .join(" "),
        ctr,
        gcm,
        cbc,
        mac,
    }
}

/// The providers, which must live as long as what they provide.
static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    ["default", "legacy"]
        .into_iter()
        .filter_map(|name| Provider::try_load(None, name, true).ok())
        .collect()
});

fn fetch(name: &str) -> Option<Cipher> {
    LazyLock::force(&PROVIDERS);
    Cipher::fetch(None, name, None).ok()
}

fn ctr(cipher: &str, key: &[u8]) -> Option<Box<dyn Rival>> {
    let family = cipher.to_ascii_uppercase();
    if let Some(found) = fetch(&format!("{family}-CTR")) {
        let mut context = CipherCtx::new().ok()?;
        context.encrypt_init(Some(&found), Some(key), None).ok()?;
        return Some(Box::new(Native { context }));
    }
    let (name, block_bytes) = match cipher {
        "seed-128" => ("SEED-ECB", 16),
        "3des" => ("DES-EDE3-ECB", 8),
        "blowfish" => ("BF-ECB", 8),
        _ => return None,
    };
    let found = fetch(name)?;
    let mut context = CipherCtx::new().ok()?;
    context.encrypt_init(Some(&found), Some(key), None).ok()?;
    context.set_padding(false);
    Some(Box::new(FromBlocks::new(
        block_bytes,
        WholeBlocks { context, block_bytes, encrypted: Vec::new() },
    )))
}

struct WholeBlocks {
    context: CipherCtx,
    block_bytes: usize,
    encrypted: Vec<u8>,
}

impl Blocks for WholeBlocks {
    fn set_key(&mut self, key: &[u8]) {
        self.context.encrypt_init(None, Some(key), None).expect("a key as long as the first");
        self.context.set_padding(false);
    }

    fn encrypt(&mut self, blocks: &mut [u8]) {
        // the interface needs room for a block more than it writes
        self.encrypted.resize(blocks.len() + self.block_bytes, 0);
        self.context.cipher_update(blocks, Some(&mut self.encrypted)).expect("whole blocks");
        blocks.copy_from_slice(&self.encrypted[..blocks.len()]);
    }
}

struct Native {
    context: CipherCtx,
}

impl Rival for Native {
    fn set_key(&mut self, key: &[u8]) {
        self.context.encrypt_init(None, Some(key), None).expect("a key as long as the first");
    }

    fn ctr(&mut self, counter: &[u8], data: &mut [u8]) {
        self.context.encrypt_init(None, None, Some(counter)).expect("a counter block");
        let bytes = data.len();
        self.context.cipher_update_inplace(data, bytes).expect("a stream cipher takes any length");
    }
}

fn gcm(cipher: &str, key: &[u8]) -> Option<Box<dyn RivalAead>> {
    let found = fetch(&format!("{}-GCM", cipher.to_ascii_uppercase()))?;
    let mut context = CipherCtx::new().ok()?;
    context.encrypt_init(Some(&found), Some(key), None).ok()?;
    Some(Box::new(Gcm { context }))
}

struct Gcm {
    context: CipherCtx,
}

impl RivalAead for Gcm {
    fn set_key(&mut self, key: &[u8]) {
        self.context.encrypt_init(None, Some(key), None).expect("a key as long as the first");
    }

    fn seal(&mut self, nonce: &[u8; 12], data: &mut [u8]) -> [u8; 16] {
        self.context.encrypt_init(None, None, Some(nonce)).expect("a nonce");
        let bytes = data.len();
        self.context.cipher_update_inplace(data, bytes).expect("a stream cipher takes any length");
        self.context.cipher_final(&mut []).expect("nothing is left over");
        let mut tag = [0; 16];
        self.context.tag(&mut tag).expect("the tag of a sealed message");
        tag
    }
}

fn cbc(cipher: &str, key: &[u8]) -> Option<Box<dyn RivalCbc>> {
    let name = match cipher {
        "3des" => "DES-EDE3-CBC".to_owned(),
        "blowfish" => "BF-CBC".to_owned(),
        _ => format!("{}-CBC", cipher.to_ascii_uppercase()),
    };
    let found = fetch(&name)?;
    let mut context = CipherCtx::new().ok()?;
    context.encrypt_init(Some(&found), Some(key), None).ok()?;
    Some(Box::new(Chained { context, encrypted: Vec::new() }))
}

struct Chained {
    context: CipherCtx,
    encrypted: Vec<u8>,
}

impl RivalCbc for Chained {
    fn encrypt(&mut self, iv: &[u8], data: &mut [u8]) {
        self.context.encrypt_init(None, None, Some(iv)).expect("a block");
        self.context.set_padding(false);
        // the interface needs room for a block more than it writes
        self.encrypted.resize(data.len() + iv.len(), 0);
        self.context.cipher_update(data, Some(&mut self.encrypted)).expect("whole blocks");
        data.copy_from_slice(&self.encrypted[..data.len()]);
    }
}

fn mac(name: &str, key: &[u8]) -> Option<Box<dyn RivalMac>> {
    let digest = match name {
        "hmac-md5-96" => openssl::hash::MessageDigest::md5(),
        "hmac-sha1-96" => openssl::hash::MessageDigest::sha1(),
        "hmac-sha-256-128" => openssl::hash::MessageDigest::sha256(),
        _ => return None,
    };
    OpensslHmac::new(digest, key).map(|keyed| Box::new(keyed) as Box<dyn RivalMac>)
}

impl RivalMac for OpensslHmac {
    fn tag(&mut self, message: &[u8], tag: &mut [u8]) {
        let whole = self.whole(message);
        tag.copy_from_slice(&whole[..tag.len()]);
    }
}
