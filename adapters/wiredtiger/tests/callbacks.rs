//! The encryptor through its callbacks, as WiredTiger calls it: lengths, failures, many threads at once.
//!
//! Not here: WiredTiger itself (`dev/e2e/tests/wiredtiger.rs`).

use std::path::Path;

use sealstone_cipher::registry::ciphers;
use sealstone_keys::file::KeyFile;
use sealstone_wiredtiger::settings::Settings;
use sealstone_wiredtiger::{Callbacks, Encryptor};

fn callbacks(key: &Path, cipher: &str) -> Callbacks {
    let settings = Settings::parse(&format!("(key=\"{}\",cipher={cipher})", key.display())).unwrap();
    Callbacks::new(Encryptor::open(&settings).unwrap())
}

#[test]
fn what_is_encrypted_decrypts_with_every_cipher() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    for cipher in ciphers() {
        let encryptor = callbacks(&path, cipher.name);
        let expansion = encryptor.expansion_bytes().unwrap();
        for bytes in [0, 1, 100, 4096] {
            let page: Vec<u8> = (0..bytes).map(|n| n as u8).collect();
            let mut block = vec![0xEE; bytes + expansion];
            assert_eq!(encryptor.encrypt(&page, &mut block), Ok(bytes + expansion), "{}", cipher.name);
            // WiredTiger's buffer is as long as the block
            let mut opened = vec![0xEE; block.len()];
            assert_eq!(encryptor.decrypt(&block, &mut opened), Ok(bytes), "{}", cipher.name);
            assert_eq!(opened[..bytes], page, "{}", cipher.name);
        }
    }
}

#[test]
fn what_fails_leaves_no_data() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    let encryptor = callbacks(&path, "aria-256");
    let expansion = encryptor.expansion_bytes().unwrap();
    let page = [7; 500];
    let mut block = vec![0; page.len() + expansion];
    encryptor.encrypt(&page, &mut block).unwrap();
    for at in [0, 50, block.len() - 1] {
        let mut changed = block.clone();
        changed[at] ^= 1;
        let mut opened = vec![0xEE; page.len()];
        encryptor.decrypt(&changed, &mut opened).unwrap_err();
        assert_eq!(opened, [0; 500]);
    }
    for bytes in [0, 10, 44, expansion - 1, expansion, block.len() - 1] {
        encryptor.decrypt(&block[..bytes], &mut vec![0; page.len()]).unwrap_err();
    }
    // a buffer that is too short is not written beyond its end, nor with data
    let mut short = vec![0; block.len() - 1];
    encryptor.encrypt(&page, &mut short).unwrap_err();
    assert!(!short.contains(&7));
    encryptor.decrypt(&block, &mut vec![0; page.len() - 1]).unwrap_err();
}

#[test]
fn many_threads_share_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    let key = KeyFile::create(&path, "orders").unwrap();
    let old = callbacks(&path, "lea-256");
    let expansion = old.expansion_bytes().unwrap();
    let before: Vec<Vec<u8>> = (0..50u32)
        .map(|n| {
            let mut block = vec![0; 4 + expansion];
            old.encrypt(&n.to_be_bytes(), &mut block).unwrap();
            block
        })
        .collect();
    drop(old);
    key.rotate().unwrap();
    let encryptor = callbacks(&path, "lea-256");
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (encryptor, before) = (&encryptor, &before);
            scope.spawn(move || {
                for n in 0..50u32 {
                    let mut block = [0; 200];
                    let mut opened = [0; 200];
                    let page = (thread << 16 | n).to_be_bytes();
                    let bytes = encryptor.encrypt(&page, &mut block).unwrap();
                    assert_eq!(encryptor.decrypt(&block[..bytes], &mut opened), Ok(4));
                    assert_eq!(opened[..4], page);
                    assert_eq!(encryptor.decrypt(&before[n as usize], &mut opened), Ok(4));
                    assert_eq!(opened[..4], n.to_be_bytes());
                }
            });
        }
    });
}
