//! In a build in which every use of our own ciphers, derivation and random bytes panics, the
//! plug-in starts with a module, and pages, logs and temporary files are enciphered: nothing of
//! ours touches a key or data.
//!
//! `make test-modules` runs it: cargo test --package sealstone-mariadb --features no-own --test
//! alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sealstone_cipher::Provider;
use sealstone_keys::KeyFile;
use sealstone_mariadb::{Context, Occasion, Plugin, Settings, Texts};

/// Flags of the server for what is encrypted and for what is decrypted, where the length stays.
const ENCRYPT: u32 = 3;
const DECRYPT: u32 = 2;

#[test]
fn a_module_alone_enciphers_all_that_a_server_writes() {
    let module = sealstone_modules::load("openssl:default").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create_by(Provider::Module(module), &path, "orders").unwrap();
    let key = path.to_str().unwrap();
    for cipher in ["aes-256", "aria-256"] {
        let texts = Texts { key, cipher, module: "openssl:default", ..Texts::default() };
        let settings = Settings::new(texts, 60).unwrap();
        let start = Occasion::ServerStart;
        let plugin = Plugin::start(&settings, start, dir.path(), Arc::new(|_, _| {})).unwrap();
        let keys = plugin.keys();
        let passed = keys.server_key(100, plugin.current()).unwrap();
        let (short, long) = (&passed[..16], &passed[..]);
        // a page, a log in pieces, and a block of a temporary file, which grows
        for (key_id, passed, bytes, pieces, grows) in [
            (100, short, 16354, vec![16354], 0),
            (1, short, 300, vec![32, 256, 12], 0),
            (1, long, 300, vec![100, 200], 0),
            (2, short, 1000, vec![1016], 1),
        ] {
            let unit = || keys.unit(key_id, plugin.current(), passed, &[7; 16]).unwrap();
            let clear: Vec<u8> = (0..bytes).map(|at: u32| (at / 5) as u8).collect();
            let crypt = |data: &mut Vec<u8>, flags: u32| {
                let mut context = Context::new(unit(), key_id, passed.len(), flags & !(grows << 1));
                let mut rest = &mut data[..];
                for length in &pieces {
                    let (piece, after) = rest.split_at_mut(*length);
                    context.update(piece).unwrap();
                    rest = after;
                }
            };
            let mut data = clear.clone();
            data.resize(pieces.iter().sum(), 0);
            crypt(&mut data, ENCRYPT);
            assert_ne!(data[..clear.len()], clear);
            crypt(&mut data, DECRYPT);
            assert_eq!(data[..clear.len()], clear);
        }
    }
    // the build is what it is meant to be
    let texts = Texts { key, cipher: "aes-256", pages: "cbc-cs1", ..Texts::default() };
    let settings = Settings::new(texts, 60).unwrap();
    let started = catch_unwind(AssertUnwindSafe(|| {
        let start = Occasion::ServerStart;
        let plugin = Plugin::start(&settings, start, dir.path(), Arc::new(|_, _| {})).unwrap();
        plugin.keys().server_key(100, plugin.current()).map(drop)
    }));
    assert!(started.is_err(), "our own code computes");
}
