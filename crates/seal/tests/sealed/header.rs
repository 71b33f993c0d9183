//! The header: no bit may change in both copies of it, and every refusal names its kind.

use sealstone_cipher::{Backend, cipher, ciphers};
use sealstone_keys::KeyError;
use sealstone_seal::frame::{FrameReader, FrameWriter};
use sealstone_seal::paged::{PageWriter, Shape};
use sealstone_seal::{
    FORMAT_VERSION, FileKind, HEADER_BYTES, Identity, Layout, SealError, SealedFile, inspect,
    is_sealed,
};

use crate::fixture::{FixedKeys, PAGE_BYTES, aes, create, each_flip, open, read_paged, seal_paged};

const PAGED: Layout = Layout::Paged { page_bytes: PAGE_BYTES };

#[test]
fn it_says_what_it_was_given() {
    for cipher in ciphers() {
        for layout in [PAGED, Layout::Paged { page_bytes: 65536 }, Layout::Frames] {
            let (file, header) = create(cipher, layout);
            assert_eq!(header.len(), HEADER_BYTES);
            assert!(is_sealed(&header) && is_sealed(&header[..8]) && !is_sealed(&header[..7]));
            let opened = open(&header).unwrap();
            for info in [file.info(), opened.info(), &inspect(&header).unwrap()] {
                assert_eq!(info.format_version, FORMAT_VERSION);
                assert_eq!(info.layout, layout);
                assert_eq!(info.cipher.id, cipher.id);
                assert_eq!((info.key.id.as_str(), info.key.version), ("orders", 1));
                assert_eq!(info.file_id, file.info().file_id);
                let unit_bytes = match layout {
                    Layout::Paged { page_bytes } => u64::from(page_bytes),
                    Layout::Frames => cipher.block_bytes as u64,
                    Layout::Volume { .. } => unreachable!("see volume.rs"),
                };
                assert!(info.segment_units * unit_bytes <= cipher.limits.bytes_per_key);
                assert!(info.segment_units <= cipher.limits.messages_per_key);
            }
        }
    }
}

#[test]
fn a_3des_segment_is_eight_megabytes() {
    let tdes = cipher("3des").unwrap();
    assert_eq!(create(tdes, Layout::Paged { page_bytes: 16384 }).0.info().segment_units, 512);
    assert_eq!(create(tdes, Layout::Frames).0.info().segment_units, 1 << 20);
}

#[test]
fn two_headers_of_one_key_share_nothing_random() {
    let (one, two) = (create(aes(), PAGED).1, create(aes(), PAGED).1);
    // file id, salt, wrapped key, tag
    for field in [24..40, 40..56, 136..168, 168..184] {
        assert_ne!(one[field.clone()], two[field]);
    }
}

/// Changes both copies of the header alike.
fn both(header: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut changed = header.to_vec();
    for copy in [at, 4096 + at] {
        changed[copy..copy + bytes.len()].copy_from_slice(bytes);
    }
    changed
}

#[test]
fn no_bit_of_it_may_change() {
    for cipher in ciphers() {
        for layout in [PAGED, Layout::Frames] {
            let (_, header) = create(cipher, layout);
            open(&header).unwrap();
            each_flip(&header[..512], 0, true, |at, first| {
                let changed = &both(&header, at, &first[at..=at]);
                let error = open(changed)
                    .err()
                    .unwrap_or_else(|| panic!("byte {at} of a {} header", cipher.name));
                let expected = match at {
                    0..8 => matches!(error, SealError::NotSealed),
                    8..10 => matches!(
                        error,
                        SealError::UnsupportedVersion { .. } | SealError::Damaged { .. }
                    ),
                    24..64 | 136..184 => {
                        matches!(error, SealError::WrongKey { .. } | SealError::Damaged { .. })
                            && at != 136
                            || matches!(error, SealError::WrongKey { .. })
                    }
                    64..68 => matches!(error, SealError::Key(KeyError::MissingVersion { .. })),
                    _ => !matches!(error, SealError::NotSealed | SealError::Unfinished { .. }),
                };
                assert!(expected, "byte {at}: {error}");
            });
        }
    }
}

#[test]
fn one_whole_copy_is_enough() {
    for cipher in ciphers() {
        for layout in [PAGED, Layout::Frames] {
            let (file, header) = create(cipher, layout);
            for slot in [0..512, 4096..4608] {
                for lost in [slot.clone(), slot.start..slot.start + 4096] {
                    let mut torn = header.clone();
                    torn[lost].fill(0);
                    assert!(is_sealed(&torn));
                    assert_eq!(open(&torn).unwrap().info().file_id, file.info().file_id);
                    assert_eq!(inspect(&torn).unwrap().key, file.info().key);
                }
                for at in slot {
                    let mut changed = header.clone();
                    changed[at] ^= 0x20;
                    assert!(open(&changed).is_ok(), "byte {at}");
                }
            }
            for at in (512..4096).chain(4608..HEADER_BYTES) {
                let mut changed = header.clone();
                changed[at] ^= 0x20;
                assert!(matches!(open(&changed), Err(SealError::Damaged { .. })), "byte {at}");
            }
        }
    }
}

#[test]
fn it_says_what_the_file_is_within_its_store() {
    for (kind, layout) in
        [(FileKind::Log, Layout::Frames), (FileKind::Table, PAGED), (FileKind::Control, PAGED)]
    {
        let identity = Identity { kind, number: 0x0102_0304_0506, store: [7; 16] };
        let keys = FixedKeys::usual();
        let (file, header) =
            SealedFile::create_as(&identity, &keys, aes(), Backend::auto(), layout).unwrap();
        assert_eq!(file.info().identity, identity);
        assert_eq!(open(&header).unwrap().info().identity, identity);
        let other = if layout == PAGED { Layout::Frames } else { PAGED };
        let refused = SealedFile::create_as(&identity, &keys, aes(), Backend::auto(), other);
        assert!(matches!(refused, Err(SealError::WrongLayout { .. })));
        // store, number, kind: all under the tag
        for at in [192, 207, 208, 215] {
            let changed = both(&header, at, &[0xEE]);
            assert!(matches!(open(&changed), Err(SealError::WrongKey { .. })), "byte {at}");
        }
    }
}

#[test]
fn every_shorter_header_is_unfinished() {
    let (_, header) = create(aes(), PAGED);
    for bytes in 0..HEADER_BYTES {
        for look in [inspect(&header[..bytes]).err(), open(&header[..bytes]).err()] {
            assert!(matches!(look, Some(SealError::Unfinished { .. })), "{bytes} bytes");
        }
    }
}

#[test]
fn zeros_are_a_header_that_never_reached_the_disk() {
    for bytes in [0, 1, 8, 511, 512, 5000, 9000] {
        assert!(
            matches!(inspect(&vec![0; bytes]), Err(SealError::Unfinished { .. })),
            "{bytes} bytes"
        );
    }
}

#[test]
fn other_files_are_not_sealed() {
    for start in [b"MANIFEST-000005\n".as_slice(), b"x", &[0xff; 600], b"\x89PNG\r\n\x1a\n"] {
        assert!(matches!(inspect(start), Err(SealError::NotSealed)), "{start:?}");
        assert!(!is_sealed(start));
    }
}

#[test]
fn forged_fields_are_refused() {
    let (_, header) = create(aes(), PAGED);
    let forged = |at: usize, bytes: &[u8]| {
        let forged = both(&header, at, bytes);
        // with a second version available, so that naming it does not fail for lack of the key
        let keys = FixedKeys(vec![("orders", 2, 0x22), ("orders", 1, 0x11)]);
        SealedFile::open(&keys, Backend::auto(), &forged).unwrap_err()
    };
    let wrong_key =
        |error: SealError| assert!(matches!(error, SealError::WrongKey { .. }), "{error}");
    assert!(matches!(forged(8, &[0, 2]), SealError::UnsupportedVersion { found: 2, known: 1 }));
    assert!(matches!(forged(8, &[0, 0]), SealError::Damaged { .. }));
    assert!(matches!(forged(12, &[0x7f, 0xff]), SealError::UnknownCipher { id: 0x7fff }));
    for other in ciphers().iter().filter(|other| other.id != aes().id) {
        wrong_key(forged(12, &other.id.to_be_bytes()));
    }
    wrong_key(forged(16, &8192u32.to_be_bytes()));
    assert!(matches!(forged(16, &5000u32.to_be_bytes()), SealError::Damaged { .. }));
    assert!(matches!(forged(16, &(1u32 << 31).to_be_bytes()), SealError::Damaged { .. }));
    wrong_key(forged(10, &[2, 0, 0, 2, 0, 0, 0, 0, 0, 0]));
    assert!(matches!(forged(11, &[99]), SealError::Damaged { .. }));
    assert!(matches!(forged(11, &[1]), SealError::Damaged { .. }));
    assert!(matches!(forged(10, &[3]), SealError::Damaged { .. }));
    wrong_key(forged(24, &[0; 16]));
    wrong_key(forged(40, &[0; 16]));
    wrong_key(forged(56, &7u64.to_be_bytes()));
    assert!(matches!(forged(56, &0u64.to_be_bytes()), SealError::Damaged { .. }));
    assert!(matches!(forged(56, &u64::MAX.to_be_bytes()), SealError::Damaged { .. }));
    wrong_key(forged(64, &2u32.to_be_bytes()));
    assert!(matches!(
        forged(64, &3u32.to_be_bytes()),
        SealError::Key(KeyError::MissingVersion { .. })
    ));
    assert!(matches!(forged(72, b"wages\0"), SealError::Damaged { .. }));
    assert!(matches!(
        forged(68, &[5, 0, 0, 0, b'w', b'a', b'g', b'e', b's', 0]),
        SealError::Key(_)
    ));
    assert!(matches!(forged(68, &[0]), SealError::Damaged { .. }));
    assert!(matches!(forged(68, &[65]), SealError::Damaged { .. }));
    assert!(matches!(forged(72, b"or\x1b[1m"), SealError::Damaged { .. }));
    assert!(matches!(forged(72, b"or\xff\xffrs"), SealError::Damaged { .. }));
    assert!(matches!(forged(511, &[1]), SealError::Damaged { .. }));
}

#[test]
fn another_file_s_wrapped_key_does_not_fit() {
    let ((_, mut one), (_, two)) = (create(aes(), PAGED), create(aes(), PAGED));
    one = both(&one, 136, &two[136..184]);
    assert!(matches!(open(&one), Err(SealError::WrongKey { .. })));
}

#[test]
fn the_wrong_key_is_named() {
    let stored = seal_paged(aes(), b"data");
    let message = |keys: FixedKeys| {
        SealedFile::open(&keys, Backend::auto(), &stored).unwrap_err().to_string()
    };
    assert_eq!(
        message(FixedKeys(vec![("orders", 1, 0x12)])),
        "key orders version 1 from the test keys does not open the header: another key bears the \
         same name, or the header was changed\n\
         give the key source that sealed this file; if it is the right one, restore the file from \
         a backup"
    );
    assert_eq!(
        message(FixedKeys(vec![("orders", 2, 0x11)])),
        "key orders version 1 not found in the test keys (it has version 2)\n\
         this version was removed; restore the key file that still holds it"
    );
    assert_eq!(
        message(FixedKeys(vec![("wages", 1, 0x11)])),
        "key orders version 1 not found in the test keys (it holds key wages)\n\
         give the key file or server that holds key orders"
    );
}

#[test]
fn older_versions_of_a_key_still_open() {
    let stored = seal_paged(aes(), b"data");
    let rotated = FixedKeys(vec![("orders", 1, 0x11), ("orders", 2, 0x22)]);
    let file = SealedFile::open(&rotated, Backend::auto(), &stored).unwrap();
    assert_eq!(file.info().key.version, 1);
    let (file, _) = SealedFile::create(&rotated, aes(), Backend::auto(), PAGED).unwrap();
    assert_eq!(file.info().key.version, 2);
}

#[test]
fn a_long_key_id_fills_its_field_and_a_longer_one_is_refused() {
    let long: &'static str = "k".repeat(64).leak();
    let keys = FixedKeys(vec![(long, u32::MAX, 1)]);
    let (_, header) = SealedFile::create(&keys, aes(), Backend::auto(), PAGED).unwrap();
    let file = SealedFile::open(&keys, Backend::auto(), &header).unwrap();
    assert_eq!((file.info().key.id.as_str(), file.info().key.version), (long, u32::MAX));

    let keys = FixedKeys(vec![("k".repeat(65).leak(), 1, 1)]);
    let refused = SealedFile::create(&keys, aes(), Backend::auto(), PAGED);
    assert!(matches!(refused, Err(SealError::Key(KeyError::BadId { .. }))));
}

#[test]
fn impossible_page_lengths_are_refused() {
    for page_bytes in [0, 1, 512, 1025, 5000, 12288, 131_072, u32::MAX] {
        let made = SealedFile::create(
            &FixedKeys::usual(),
            aes(),
            Backend::auto(),
            Layout::Paged { page_bytes },
        );
        assert!(matches!(made, Err(SealError::PageBytes { found, .. }) if found == page_bytes));
    }
}

#[test]
fn layouts_are_not_mixed_up() {
    let (pages, frames) = (create(aes(), PAGED).0, create(aes(), Layout::Frames).0);
    let message = Shape::of(&frames, 1000).unwrap_err().to_string();
    assert_eq!(
        message,
        "sealed as frames, expected pages\nthe file is not the one that belongs here"
    );
    assert!(matches!(PageWriter::new(&frames), Err(SealError::WrongLayout { .. })));
    assert!(matches!(FrameWriter::new(&pages), Err(SealError::WrongLayout { .. })));
    assert!(matches!(FrameReader::new(&pages, 0), Err(SealError::WrongLayout { .. })));
}

#[test]
fn a_file_has_one_writer_and_an_opened_file_none() {
    let (file, header) = create(aes(), PAGED);
    let _first = PageWriter::new(&file).unwrap();
    assert!(matches!(PageWriter::new(&file.clone()), Err(SealError::WrittenOnce)));
    assert!(matches!(PageWriter::new(&open(&header).unwrap()), Err(SealError::WrittenOnce)));

    let (file, header) = create(aes(), Layout::Frames);
    let _first = FrameWriter::new(&file).unwrap();
    assert!(matches!(FrameWriter::new(&file.clone()), Err(SealError::WrittenOnce)));
    assert!(matches!(FrameWriter::new(&open(&header).unwrap()), Err(SealError::WrittenOnce)));
}

#[test]
fn debug_output_shows_no_key() {
    let (file, _) = create(aes(), PAGED);
    let shown = format!("{file:?}");
    assert!(shown.contains("file_id") && !shown.contains("dek"), "{shown}");
    // the header alone is refused where a whole file is expected
    assert!(matches!(read_paged(&create(aes(), PAGED).1), Err(SealError::Unfinished { .. })));
}
