//! Re-wrapping: the header goes under another key, and nothing else of the file changes. A mixture of an old and a new
//! header opens nothing.

use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry::ciphers;
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};
use sealstone_seal::frame::{End, FrameWriter};
use sealstone_seal::{HEADER_BYTES, Layout, Rewrapped, SealError, SealedFile, inspect, rewrap};

use crate::fixture::{FixedKeys, aes, create, data, open, read_frames_of, read_paged_of, seal_frames, seal_paged};

/// Both versions, the second of them current.
fn rotated() -> FixedKeys {
    FixedKeys(vec![("orders", 1, 0x11), ("orders", 2, 0x22)])
}

/// The second version alone.
fn newest() -> FixedKeys {
    FixedKeys(vec![("orders", 2, 0x22)])
}

fn to_current(keys: &dyn KeySource, stored: &[u8]) -> Result<Option<Rewrapped>, SealError> {
    let (key, kek) = keys.current().unwrap();
    rewrap(keys, (&key, &kek), Backend::auto(), stored)
}

fn apply(stored: &mut [u8], rewrapped: &Rewrapped) {
    stored[rewrapped.offset as usize..][..rewrapped.bytes.len()].copy_from_slice(&rewrapped.bytes);
}

#[test]
fn the_file_opens_under_the_new_key_and_no_longer_under_the_old() {
    for cipher in ciphers() {
        let content = data(10_000);
        let mut pages = seal_paged(cipher, &content);
        let mut frames = seal_frames(cipher, &[&content[..100], &content[100..]]);
        for stored in [&mut pages, &mut frames] {
            let before = stored.clone();
            let rewrapped = to_current(&rotated(), stored).unwrap().expect("it is under the first version");
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
            }
            // a reader that opened it before goes on
            let earlier = open(&before).unwrap();
            if let Layout::Paged { .. } = was.layout {
                assert_eq!(read_paged_of(&earlier, stored).unwrap(), content);
            }
        }
    }
}

#[test]
fn what_is_under_the_key_already_stays_as_it_is() {
    let (_, header) = SealedFile::create(&rotated(), aes(), Backend::auto(), Layout::Frames).unwrap();
    assert_eq!(to_current(&rotated(), &header).unwrap(), None);
}

#[test]
fn each_wrapping_has_a_salt_of_its_own() {
    let stored = seal_paged(aes(), b"data");
    let one = to_current(&rotated(), &stored).unwrap().unwrap();
    let two = to_current(&rotated(), &stored).unwrap().unwrap();
    assert_eq!((one.offset, one.bytes.len()), (40, 144));
    // salt, wrapped key, tag
    for field in [0..16, 96..128, 128..144] {
        assert_ne!(one.bytes[field.clone()], two.bytes[field]);
    }
    assert_eq!(one.bytes[16..96], two.bytes[16..96]);
}

#[test]
fn the_record_of_what_was_synced_is_left_to_its_writer() {
    let (file, mut stored) = create(aes(), Layout::Frames);
    let mut writer = FrameWriter::new(&file).unwrap();
    let mut appended = Vec::new();
    writer.append(&[7; 1000], &mut appended).unwrap();
    stored.extend_from_slice(&appended);
    let rewrapped = to_current(&rotated(), &stored).unwrap().unwrap();
    assert!(rewrapped.offset as usize + rewrapped.bytes.len() <= 480);
    // between reading and writing the header, the writer syncs
    let record = file.synced_record(stored.len() as u64).unwrap();
    stored[record.offset as usize..][..record.bytes.len()].copy_from_slice(&record.bytes);
    apply(&mut stored, &rewrapped);
    let opened = SealedFile::open(&newest(), Backend::auto(), &stored).unwrap();
    assert_eq!(opened.synced_bytes(), stored.len() as u64);
    assert_eq!(read_frames_of(&opened, &stored, usize::MAX).unwrap().0, [vec![7; 1000]]);
}

/// A reader in the middle of the write sees this. It must fail, whatever the keys at hand, so that it reads again.
#[test]
fn no_mixture_of_old_and_new_opens() {
    for layout in [Layout::Paged { page_bytes: 4096 }, Layout::Frames] {
        let (_, old) = create(aes(), layout);
        let mut new = old.clone();
        let rewrapped = to_current(&rotated(), &old).unwrap().unwrap();
        apply(&mut new, &rewrapped);
        let first = old.iter().zip(&new).position(|(old, new)| old != new).unwrap();
        let last = old.iter().zip(&new).rposition(|(old, new)| old != new).unwrap();
        for at in first + 1..=last {
            for mixed in [[&new[..at], &old[at..]].concat(), [&old[..at], &new[at..]].concat()] {
                if mixed == old || mixed == new {
                    continue;
                }
                let error = SealedFile::open(&rotated(), Backend::auto(), &mixed).unwrap_err();
                assert!(matches!(error, SealError::WrongKey { .. } | SealError::Damaged { .. } | SealError::Key(_)));
                // nor is one taken for a header to be wrapped again
                if inspect(&mixed).is_ok_and(|info| info.key.version == 1) {
                    assert!(to_current(&rotated(), &mixed).is_err());
                }
            }
        }
    }
}

#[test]
fn a_longer_or_shorter_key_id_fits_too() {
    let stored = seal_paged(aes(), b"data");
    for id in ["o", "k".repeat(64).leak()] {
        let mut moved = stored.clone();
        let key = KeyRef { id: id.to_owned(), version: 9 };
        let rewrapped =
            rewrap(&FixedKeys::usual(), (&key, &Secret::from_bytes(&[9; 32])), Backend::auto(), &stored).unwrap();
        apply(&mut moved, &rewrapped.unwrap());
        let keys = FixedKeys(vec![(id.to_owned().leak(), 9, 9)]);
        SealedFile::open(&keys, Backend::auto(), &moved).unwrap();
    }
    let key = KeyRef { id: "two words".into(), version: 9 };
    let refused = rewrap(&FixedKeys::usual(), (&key, &Secret::from_bytes(&[9; 32])), Backend::auto(), &stored);
    assert!(matches!(refused, Err(SealError::Key(KeyError::BadId { .. }))));
}

#[test]
fn what_cannot_be_opened_is_not_wrapped_again() {
    let stored = seal_paged(aes(), b"data");
    let wrong = FixedKeys(vec![("orders", 1, 0x12), ("orders", 2, 0x22)]);
    assert!(matches!(to_current(&wrong, &stored), Err(SealError::WrongKey { .. })));
    assert!(matches!(to_current(&newest(), &stored), Err(SealError::Key(KeyError::MissingVersion { .. }))));
    assert!(matches!(to_current(&rotated(), b"plain data"), Err(SealError::NotSealed)));
    let mut damaged = stored.clone();
    damaged[140] ^= 1;
    assert!(matches!(to_current(&rotated(), &damaged), Err(SealError::WrongKey { .. })));
}
