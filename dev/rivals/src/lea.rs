//! The crate `lea`: the only library of the Rust ecosystem with that cipher, one block at a time.

use std::marker::PhantomData;

use lea::prelude::{GenericArray, NewCipher, StreamCipher};

use crate::{Library, Rival};

/// Returns the crate, in the version of the lock file.
pub fn library() -> Library {
    Library { name: "crate lea".into(), ctr, gcm: |_, _| None, cbc: |_, _| None, mac: |_, _| None }
}

fn ctr(cipher: &str, key: &[u8]) -> Option<Box<dyn Rival>> {
    match cipher {
        "lea-128" => Some(boxed::<lea::Lea128Ctr>(key)),
        "lea-192" => Some(boxed::<lea::Lea192Ctr>(key)),
        "lea-256" => Some(boxed::<lea::Lea256Ctr>(key)),
        _ => None,
    }
}

fn boxed<C: NewCipher + StreamCipher + 'static>(key: &[u8]) -> Box<dyn Rival> {
    Box::new(Lea::<C> { key: key.to_vec(), cipher: PhantomData })
}

struct Lea<C> {
    key: Vec<u8>,
    cipher: PhantomData<C>,
}

impl<C: NewCipher + StreamCipher> Rival for Lea<C> {
    fn set_key(&mut self, key: &[u8]) {
        self.key.copy_from_slice(key);
    }

    fn ctr(&mut self, counter: &[u8], data: &mut [u8]) {
        // the crate ties a key to its counter, so that its key schedule is part of every message
        let (key, counter) =
            (GenericArray::from_slice(&self.key), GenericArray::from_slice(counter));
        C::new(key, counter).apply_keystream(data);
    }
}
