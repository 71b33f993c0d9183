//! Re-wrapping: the header is put under another key, and nothing else in the file changes. A
//! mixture of an old and a new header opens nothing.

use sealstone_cipher::{Backend, ciphers};
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};
use sealstone_seal::frame::End;
use sealstone_seal::{
    HEADER_BYTES, Layout, Rewrapped, SealError, SealedFile, inspect, keys_named, rewrap,
};

use crate::fixture::{
    FixedKeys, aes, create, data, open, read_frames_of, read_paged_of, seal_frames, seal_paged,
};

/// Returns both versions, with the second current.
fn rotated() -> FixedKeys {
    FixedKeys(vec![("orders", 1, 0x11), ("orders", 2, 0x22)])
}

/// Returns the second version alone.
fn newest() -> FixedKeys {
    FixedKeys(vec![("orders", 2, 0x22)])
}

fn to_current(keys: &dyn KeySource, stored: &[u8]) -> Result<Option<Rewrapped>, SealError> {
    let (key, kek) = keys.current().unwrap();
    rewrap(keys, (&key, &kek), Backend::auto(), stored)
}

fn apply(stored: &mut [u8], rewrapped: &Rewrapped) {
    for offset in &rewrapped.offsets {
        stored[*offset as usize..][..rewrapped.bytes().len()].copy_from_slice(rewrapped.bytes());
    }
}

#[test]
fn the_file_opens_under_the_new_key_and_no_longer_under_the_old() {
    for cipher in ciphers() {
        let content = data(10_000);
        let mut pages = seal_paged(cipher, &content);
        let mut frames = seal_frames(cipher, &[&content[..100], &content[100..]]);
        for stored in [&mut pages, &mut frames] {
            let before = stored.clone();
            let rewrapped =
                to_current(&rotated(), stored).unwrap().expect("it is under the first version");
            apply(stored, &rewrapped);
            assert_eq!(before[HEADER_BYTES..], stored[HEADER_BYTES..]);
            let (was, is) = (inspect(&before).unwrap(), inspect(stored).unwrap());
            assert_eq!((was.key.version, is.key.version), (1, 2));
            assert_eq!(
                (was.file_id, was.layout, was.cipher.id, was.segment_units, was.format_version),
                (is.file_id, is.layout, is.cipher.id, is.segment_units, is.format_version)
            );
            assert!(matches!(open(stored), Err(SealError::Key(KeyError::MissingVersion { .. }))));
            let file = SealedFile::open(&newest(), Backend::auto(), stored).unwrap();
            match file.info().layout {
                Layout::Paged { .. } => assert_eq!(read_paged_of(&file, stored).unwrap(), content),
                Layout::Frames => {
                    let (found, end) = read_frames_of(&file, stored, usize::MAX).unwrap();
                    assert_eq!((found.concat(), end), (content.clone(), End::Clean));
                }
                Layout::Volume { .. } => unreachable!("it has only a header"),
            }
            // a reader that opened it before carries on
            let earlier = open(&before).unwrap();
            if let Layout::Paged { .. } = was.layout {
                assert_eq!(read_paged_of(&earlier, stored).unwrap(), content);
            }
        }
    }
}

#[test]
fn a_file_already_under_the_key_stays_as_it_is() {
    let (_, header) =
        SealedFile::create(&rotated(), aes(), Backend::auto(), Layout::Frames).unwrap();
    assert_eq!(to_current(&rotated(), &header).unwrap(), None);
}

#[test]
fn each_wrapping_has_its_own_salt() {
    let stored = seal_paged(aes(), b"data");
    let one = to_current(&rotated(), &stored).unwrap().unwrap();
    let two = to_current(&rotated(), &stored).unwrap().unwrap();
    assert_eq!((one.offsets.as_slice(), one.bytes().len()), (&[4096, 0][..], 512));
    // salt, wrapped key, tag
    for field in [40..56, 136..168, 168..184] {
        assert_ne!(one.bytes()[field.clone()], two.bytes()[field]);
    }
    assert_eq!(one.bytes()[56..136], two.bytes()[56..136]);
}

/// A reader in the middle of the write, or after a write that was torn, sees this: one copy is
/// whole, and the file opens under one of the two keys.
#[test]
fn a_rotation_cut_off_anywhere_leaves_a_file_that_opens() {
    for layout in [Layout::Paged { page_bytes: 4096 }, Layout::Frames] {
        let (file, old) = create(aes(), layout);
        let rewrapped = to_current(&rotated(), &old).unwrap().unwrap();
        let mut stored = old.clone();
        for offset in &rewrapped.offsets {
            let whole = stored.clone();
            for cut in 0..=rewrapped.bytes().len() {
                for garbage in [None, Some(0x00), Some(0xEE)] {
                    stored.copy_from_slice(&whole);
                    let (written, rest) = stored[*offset as usize..][..512].split_at_mut(cut);
                    written.copy_from_slice(&rewrapped.bytes()[..cut]);
                    if let Some(byte) = garbage {
                        rest.fill(byte);
                    }
                    let opened = SealedFile::open(&rotated(), Backend::auto(), &stored).unwrap();
                    assert_eq!(opened.info().file_id, file.info().file_id);
                    // a later run puts all of it under the new key
                    let mut again = stored.clone();
                    if let Some(rewrapped) = to_current(&rotated(), &stored).unwrap() {
                        apply(&mut again, &rewrapped);
                    }
                    SealedFile::open(&newest(), Backend::auto(), &again).unwrap();
                    assert_eq!(
                        keys_named(&again).unwrap(),
                        [KeyRef { id: "orders".into(), version: 2 }]
                    );
                }
            }
            stored.copy_from_slice(&whole);
            stored[*offset as usize..][..512].copy_from_slice(rewrapped.bytes());
        }
    }
}

#[test]
fn a_key_that_any_copy_names_is_still_needed() {
    let (_, mut stored) = create(aes(), Layout::Frames);
    let rewrapped = to_current(&rotated(), &stored).unwrap().unwrap();
    let first = rewrapped.offsets[0] as usize;
    stored[first..first + 512].copy_from_slice(rewrapped.bytes());
    let versions: Vec<u32> = keys_named(&stored).unwrap().iter().map(|key| key.version).collect();
    assert_eq!(versions, [2, 1]);
}

#[test]
fn a_longer_or_shorter_key_id_fits_too() {
    let stored = seal_paged(aes(), b"data");
    for id in ["o", "k".repeat(64).leak()] {
        let mut moved = stored.clone();
        let key = KeyRef { id: id.to_owned(), version: 9 };
        let rewrapped = rewrap(
            &FixedKeys::usual(),
            (&key, &Secret::from_bytes(&[9; 32])),
            Backend::auto(),
            &stored,
        )
        .unwrap();
        apply(&mut moved, &rewrapped.unwrap());
        let keys = FixedKeys(vec![(id.to_owned().leak(), 9, 9)]);
        SealedFile::open(&keys, Backend::auto(), &moved).unwrap();
    }
    let key = KeyRef { id: "two words".into(), version: 9 };
    let refused = rewrap(
        &FixedKeys::usual(),
        (&key, &Secret::from_bytes(&[9; 32])),
        Backend::auto(),
        &stored,
    );
    assert!(matches!(refused, Err(SealError::Key(KeyError::BadId { .. }))));
}

#[test]
fn what_cannot_be_opened_is_not_wrapped_again() {
    let stored = seal_paged(aes(), b"data");
    let wrong = FixedKeys(vec![("orders", 1, 0x12), ("orders", 2, 0x22)]);
    assert!(matches!(to_current(&wrong, &stored), Err(SealError::WrongKey { .. })));
    assert!(matches!(
        to_current(&newest(), &stored),
        Err(SealError::Key(KeyError::MissingVersion { .. }))
    ));
    assert!(matches!(to_current(&rotated(), b"plain data"), Err(SealError::NotSealed)));
    let mut damaged = stored.clone();
    damaged[140] ^= 1;
    damaged[4096 + 140] ^= 1;
    assert!(matches!(to_current(&rotated(), &damaged), Err(SealError::WrongKey { .. })));
}
