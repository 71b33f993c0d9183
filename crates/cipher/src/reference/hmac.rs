//! HMAC of the crate `hmac` over the hash functions of the crates `md-5`, `sha1` and `sha2`, under
//! keys of any length.

use hmac::{Hmac, KeyInit, Mac};

fn tag<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut running = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    running.update(message);
    running.finalize().into_bytes().to_vec()
}

pub(crate) fn hmac_md5(key: &[u8], message: &[u8]) -> Vec<u8> {
    tag::<Hmac<md5::Md5>>(key, message)
}

pub(crate) fn hmac_sha1(key: &[u8], message: &[u8]) -> Vec<u8> {
    tag::<Hmac<sha1::Sha1>>(key, message)
}

pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    tag::<Hmac<sha2::Sha256>>(key, message)
}
