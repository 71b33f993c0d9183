//! The system's libgcrypt, where there is one. A handle is opened once; keys are set on it
//! repeatedly, which is its cheapest way.

use std::ffi::c_int;

use crate::ffi::{self, Cipher, Mac};
use crate::{Library, Rival, RivalAead, RivalCbc, RivalMac};

/// libgcrypt as it is installed.
pub fn library() -> Option<Library> {
    Some(Library { name: format!("libgcrypt {}", ffi::version()?), ctr, gcm, cbc, mac })
}

// Numbers of gcrypt.h.
const MODE_CBC: c_int = 3;
const MODE_CTR: c_int = 6;
const MODE_GCM: c_int = 9;

/// Its number for one of our ciphers.
fn number(cipher: &str) -> Option<c_int> {
    Some(match cipher {
        "3des" => 2,
        "blowfish" => 4,
        "aes-128" => 7,
        "aes-192" => 8,
        "aes-256" => 9,
        "seed-128" => 309,
        "aria-128" => 319,
        "aria-192" => 320,
        "aria-256" => 321,
        _ => return None,
    })
}

fn ctr(cipher: &str, key: &[u8]) -> Option<Box<dyn Rival>> {
    let mut cipher = Cipher::open(number(cipher)?, MODE_CTR)?;
    cipher.set_key(key).then(|| Box::new(Ctr(cipher)) as Box<dyn Rival>)
}

fn gcm(cipher: &str, key: &[u8]) -> Option<Box<dyn RivalAead>> {
    let mut cipher = Cipher::open(number(cipher)?, MODE_GCM)?;
    cipher.set_key(key).then(|| Box::new(Gcm(cipher)) as Box<dyn RivalAead>)
}

struct Ctr(Cipher);

impl Rival for Ctr {
    fn set_key(&mut self, key: &[u8]) {
        assert!(self.0.set_key(key), "a key as long as the first");
    }

    fn ctr(&mut self, counter: &[u8], data: &mut [u8]) {
        assert!(self.0.set_counter(counter), "a counter block");
        assert!(self.0.encrypt(data), "a stream cipher takes any length");
    }
}

struct Gcm(Cipher);

impl RivalAead for Gcm {
    fn set_key(&mut self, key: &[u8]) {
        assert!(self.0.set_key(key), "a key as long as the first");
    }

    fn seal(&mut self, nonce: &[u8; 12], data: &mut [u8]) -> [u8; 16] {
        assert!(self.0.set_nonce(nonce), "a nonce of twelve bytes");
        assert!(self.0.encrypt(data), "a message of any length");
        let mut tag = [0; 16];
        assert!(self.0.tag(&mut tag), "the tag of a sealed message");
        tag
    }
}

fn cbc(cipher: &str, key: &[u8]) -> Option<Box<dyn RivalCbc>> {
    let mut cipher = Cipher::open(number(cipher)?, MODE_CBC)?;
    cipher.set_key(key).then(|| Box::new(Cbc(cipher)) as Box<dyn RivalCbc>)
}

struct Cbc(Cipher);

impl RivalCbc for Cbc {
    fn encrypt(&mut self, iv: &[u8], data: &mut [u8]) {
        assert!(self.0.set_nonce(iv), "a block");
        assert!(self.0.encrypt(data), "whole blocks");
    }
}

fn mac(name: &str, key: &[u8]) -> Option<Box<dyn RivalMac>> {
    let number = match name {
        "hmac-md5-96" => 106,
        "hmac-sha1-96" => 105,
        "hmac-sha-256-128" => 101,
        _ => return None,
    };
    let mut mac = Mac::open(number)?;
    mac.set_key(key).then(|| Box::new(mac) as Box<dyn RivalMac>)
}

impl RivalMac for Mac {
    fn tag(&mut self, message: &[u8], tag: &mut [u8]) {
        assert!(self.begin() && self.write(message) && self.read(tag), "a message of any length");
    }
}
