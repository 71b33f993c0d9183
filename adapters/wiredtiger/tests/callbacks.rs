//! The encryptor through its callbacks, as WiredTiger calls it: lengths, headers, failures, many
//! threads at once.

use std::path::Path;

use sealstone_cipher::ciphers;
use sealstone_keys::KeyFile;
use sealstone_seal::engine_page::{HEADER_BYTES, OVERHEAD_BYTES, PlaceKind, inspect};
use sealstone_wiredtiger::{Callbacks, Encryptor, PAGE_SKIP_BYTES, RECORD_SKIP_BYTES, Settings};

/// Headers alone, without the length that follows them.
const PAGE: usize = PAGE_SKIP_BYTES - 4;
const RECORD: usize = RECORD_SKIP_BYTES - 4;

fn callbacks(key: &Path, cipher: &str) -> Callbacks {
    let settings =
        Settings::parse(&format!("(key=\"{}\",cipher={cipher})", key.display())).unwrap();
    Callbacks::new(Encryptor::open(&settings).unwrap())
}

/// Returns a page, a record or (without a header) a text as WiredTiger has it before it is sealed:
/// `skip` bytes of header and `bytes` of content.
fn item(skip: usize, bytes: usize) -> Vec<u8> {
    if skip == 0 {
        return b"access_pattern_hint=none,".iter().copied().cycle().take(bytes).collect();
    }
    let mut item: Vec<u8> = (0..skip + bytes).map(|n| n as u8 | 0x80).collect();
    item[..skip].fill(0);
    if skip == PAGE {
        item[8] = 9;
        item[16..20].copy_from_slice(&((skip + bytes) as u32).to_le_bytes());
        item[24] = 7;
    }
    item
}

/// Seals it, and sets what WiredTiger sets in the header afterwards.
fn stored(callbacks: &Callbacks, item: &[u8], skip: usize) -> Vec<u8> {
    let mut stored = vec![0xEE; skip + 4 + item.len() + callbacks.expansion_bytes().unwrap()];
    let bytes = callbacks.encrypt(item, skip, &mut stored).unwrap();
    stored.truncate(bytes);
    if skip == PAGE {
        stored[25] |= 8;
        stored[28..32].copy_from_slice(&(bytes.next_multiple_of(4096) as u32).to_le_bytes());
        stored[36] = 1;
    } else if skip == RECORD {
        stored[8] |= 2;
        stored[..4].copy_from_slice(&(bytes.next_multiple_of(128) as u32).to_le_bytes());
        stored.resize(bytes.next_multiple_of(128), 0);
    }
    stored
}

fn open(callbacks: &Callbacks, stored: &[u8], skip: usize) -> Result<Vec<u8>, i32> {
    // WiredTiger's buffer is as long as the stored data
    let mut item = vec![0xEE; stored.len()];
    let bytes = callbacks.decrypt(stored, skip, &mut item)?;
    item.truncate(bytes);
    Ok(item)
}

#[test]
fn what_is_encrypted_decrypts_with_every_cipher() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    for cipher in ciphers() {
        let encryptor = callbacks(&path, cipher.name);
        for (skip, kind) in [(PAGE, PlaceKind::Page), (RECORD, PlaceKind::Record)] {
            for bytes in [0, 1, 100, 3900, 4096] {
                let item = item(skip, bytes);
                let stored = stored(&encryptor, &item, skip);
                let info = inspect(&stored[skip + 4..]).unwrap();
                assert_eq!(info.kind, kind, "{}, {bytes} bytes", cipher.name);
                if kind == PlaceKind::Page {
                    assert_eq!(stored.len() % 4096, 0);
                }
                assert_eq!(
                    open(&encryptor, &stored, skip).unwrap()[skip..],
                    item[skip..],
                    "{}",
                    cipher.name
                );
            }
        }
        // a text without a header
        let text = item(0, 700);
        let stored = stored(&encryptor, &text, 0);
        assert_eq!(inspect(&stored[4..]).unwrap().kind, PlaceKind::Text);
        assert_eq!(open(&encryptor, &stored, 0).unwrap(), text);
    }
}

/// Each bit of page, block and record headers: fields that a block is bound to are as safe as
/// sealed data. The rest is the checksum, which WiredTiger checks, and the flag that it covers the
/// whole page.
#[test]
fn no_changed_header_opens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    for cipher in ["aes-256", "3des"] {
        let encryptor = callbacks(&path, cipher);
        for (skip, free) in [(PAGE, 32 * 8..36 * 8 + 1), (RECORD, 4 * 8..8 * 8)] {
            let stored = stored(&encryptor, &item(skip, 500), skip);
            for bit in 0..(skip + 4) * 8 {
                // the flags for encryption: without them the callback is not called
                let marks =
                    (skip == PAGE && bit == 25 * 8 + 3) || (skip == RECORD && bit == 8 * 8 + 1);
                if marks || free.contains(&bit) {
                    continue;
                }
                let mut changed = stored.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                open(&encryptor, &changed, skip).unwrap_err();
            }
            open(&encryptor, &stored, skip).unwrap();
        }
    }
}

/// Every value that the length before a block may have, in a stored page and a stored record.
#[test]
fn no_other_length_opens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    let encryptor = callbacks(&path, "aria-256");
    for skip in [PAGE, RECORD, 0] {
        let mut stored = stored(&encryptor, &item(skip, 500), skip);
        let right = u32::from_le_bytes(stored[skip..skip + 4].try_into().unwrap());
        for length in (0..stored.len() as u32 + 1)
            .chain([1 << 31, u32::MAX - 1, u32::MAX])
            .filter(|length| *length != right)
        {
            stored[skip..skip + 4].copy_from_slice(&length.to_le_bytes());
            open(&encryptor, &stored, skip).unwrap_err();
        }
    }
}

#[test]
fn what_fails_leaves_no_data() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    for cipher in ciphers() {
        let encryptor = callbacks(&path, cipher.name);
        for (skip, bytes) in [(RECORD, 500), (PAGE, 32_000)] {
            let stored = stored(&encryptor, &item(skip, bytes), skip);
            let begin = skip + 4;
            let info = inspect(&stored[begin..]).unwrap();
            let end = begin + bytes + OVERHEAD_BYTES + info.padding_bytes;
            for at in [begin, begin + 50, begin + HEADER_BYTES + bytes - 1, end - 16, end - 1] {
                let mut changed = stored.clone();
                changed[at] ^= 1;
                let mut opened = vec![0xEE; stored.len()];
                encryptor.decrypt(&changed, skip, &mut opened).unwrap_err();
                // untouched, or wiped: neither the data nor what is stored
                let is_clean = opened.iter().all(|byte| [0, 0xEE].contains(byte));
                assert!(is_clean, "{}, {bytes} bytes, changed at {at}", cipher.name);
            }
        }
    }
}

/// A block is opened as the kind it was sealed as.
#[test]
fn kinds_are_not_exchanged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    let encryptor = callbacks(&path, "aes-256");
    for sealed in [PAGE, RECORD, 0] {
        let block =
            stored(&encryptor, &item(sealed, 4096 - PAGE_SKIP_BYTES - OVERHEAD_BYTES), sealed)
                [sealed + 4..]
                .to_vec();
        let block = &block[..4096 - PAGE_SKIP_BYTES];
        for asked in [PAGE, RECORD, 0].into_iter().filter(|asked| *asked != sealed) {
            let mut moved = item(asked, 0);
            moved.extend(((asked + 4 + block.len()) as u32).to_le_bytes());
            moved.extend(block);
            if asked == PAGE {
                moved[28..32].copy_from_slice(&4096u32.to_le_bytes());
            } else if asked == RECORD {
                let length = moved.len().next_multiple_of(128);
                moved[..4].copy_from_slice(&(length as u32).to_le_bytes());
                moved.resize(length, 0);
            }
            open(&encryptor, &moved, asked).unwrap_err();
        }
    }
}

#[test]
fn many_threads_share_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    let key = KeyFile::create(&path, "orders").unwrap();
    let old = callbacks(&path, "lea-256");
    let record = |n: u32| [&[0; RECORD], n.to_be_bytes().as_slice(), &[0x80; 60]].concat();
    let before: Vec<Vec<u8>> = (0..50u32).map(|n| stored(&old, &record(n), RECORD)).collect();
    drop(old);
    key.rotate().unwrap();
    let encryptor = callbacks(&path, "lea-256");
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (encryptor, before) = (&encryptor, &before);
            scope.spawn(move || {
                for n in 0..50u32 {
                    let item = record(thread << 16 | n);
                    let block = stored(encryptor, &item, RECORD);
                    assert_eq!(open(encryptor, &block, RECORD).unwrap()[RECORD..], item[RECORD..]);
                    assert_eq!(
                        open(encryptor, &before[n as usize], RECORD).unwrap()[RECORD..],
                        record(n)[RECORD..]
                    );
                }
            });
        }
    });
}
