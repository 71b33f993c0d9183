//! Blocks for engines that do not report their place: sealed data opens again, only under the right
//! key and cipher, and no writer uses a nonce twice.

use std::collections::HashSet;

use sealstone_cipher::{Backend, Mode, Provider, aead, cipher, ciphers};
use sealstone_keys::{KeyRef, Secret, subkey};
use sealstone_seal::Fingerprint;
use sealstone_seal::engine_page::{
    EnginePageError, EnginePages, HEADER_BYTES, OVERHEAD_BYTES, Place, PlaceKind, inspect,
    page_bytes,
};

use crate::fixture::data;

/// Returns a key named `orders` in versions whose secrets repeat the byte.
fn keys(versions: &[(u32, u8)]) -> Vec<(KeyRef, Secret)> {
    let key = |version| KeyRef { id: "orders".into(), version };
    versions
        .iter()
        .map(|(version, byte)| (key(*version), Secret::from_bytes(&[*byte; 32])))
        .collect()
}

fn pages(versions: &[(u32, u8)], name: &str) -> EnginePages {
    let keys = keys(versions);
    let current = keys.last().unwrap().0.clone();
    EnginePages::new(keys, &current, "the test keys", cipher(name).unwrap(), Backend::auto())
        .unwrap()
}

fn seal(pages: &EnginePages, page: &[u8]) -> Vec<u8> {
    let mut block = vec![0xEE; page.len() + OVERHEAD_BYTES];
    pages.seal(page, &mut block).unwrap();
    block
}

fn open(pages: &EnginePages, block: &[u8]) -> Result<Vec<u8>, EnginePageError> {
    let mut page = vec![0xEE; page_bytes(block).unwrap_or(0)];
    let opened = pages.open(block, &mut page);
    if opened.is_err() {
        assert!(page.iter().all(|byte| *byte == 0), "a page that failed is not empty");
    }
    opened.map(|()| page)
}

#[test]
fn what_is_sealed_opens_in_this_opening_and_in_later_ones() {
    for cipher in ciphers() {
        let writer = pages(&[(1, 0x11)], cipher.name);
        let reader = pages(&[(1, 0x11)], cipher.name);
        for bytes in [0, 1, 7, 100, 4096, 30000] {
            let page = data(bytes);
            let block = seal(&writer, &page);
            let info = inspect(&block).unwrap();
            assert_eq!((info.cipher, info.key_version, info.in_parts), (cipher, 1, false));
            assert_eq!(info.fingerprint, writer.keys().next().unwrap().1);
            assert_eq!(inspect(&block[..HEADER_BYTES]).unwrap(), info);
            for by in [&writer, &reader, &reader] {
                assert_eq!(open(by, &block).unwrap(), page, "{}, {bytes} bytes", cipher.name);
            }
        }
    }
}

/// The chain of keys, the nonce and the associated data are as specified in `docs/formats.md`:
/// redone by hand.
#[test]
fn a_block_is_what_the_document_says() {
    for cipher in ciphers() {
        let writer = pages(&[(7, 0x22)], cipher.name);
        let page = data(1000);
        seal(&writer, &page);
        let mut block = vec![0xEE; page.len() + OVERHEAD_BYTES + 5];
        block[HEADER_BYTES..][..page.len()].copy_from_slice(&page);
        writer.seal_in_place(&mut block, 5, Place::new(PlaceKind::Page, b"around")).unwrap();
        let mut header = b"\x89SP\x01".to_vec();
        header.extend(cipher.id.to_be_bytes());
        header.extend([2, 0]);
        header.extend(7u32.to_be_bytes());
        let mut fingerprint = [0; 8];
        let own = Provider::own();
        subkey(own, &[0x22; 32], "engine page key", &[b"orders"], &mut fingerprint).unwrap();
        header.extend(fingerprint);
        let salt: [u8; 16] = block[20..36].try_into().unwrap();
        header.extend(salt);
        header.extend(5u16.to_be_bytes());
        header.extend(&block[38..44]);
        let counter: u32 = if cipher.mode == Mode::Gcm { 1 } else { 1000 / 8 };
        header.extend(counter.to_be_bytes());
        assert_eq!(block[..HEADER_BYTES], header, "{}", cipher.name);
        let mut key = vec![0; cipher.key_bytes];
        let context: [&[u8]; 2] = [&salt, &cipher.id.to_be_bytes()];
        subkey(own, &[0x22; 32], "engine page", &context, &mut key).unwrap();
        let keyed = aead(cipher, &key, Backend::portable()).unwrap();
        let (sealed, tag) = block[HEADER_BYTES..].split_last_chunk().unwrap();
        let (sealed, padding) = sealed.split_at(1000);
        assert_eq!(padding, [0; 5]);
        let mut opened = sealed.to_vec();
        let associated = [&header, b"around".as_slice()].concat();
        keyed.open(&header[48 - keyed.nonce_bytes()..], &associated, &mut opened, tag).unwrap();
        assert_eq!(opened, page);
    }
}

/// A block opens at the place it was sealed for, with the same bytes around it; a block bound to
/// nothing opens anywhere.
#[test]
fn a_block_is_bound_to_its_place() {
    for cipher in ["aes-256", "hight"] {
        let writer = pages(&[(1, 0x11)], cipher);
        let sealed = |place| {
            let mut block = vec![0; 20 + OVERHEAD_BYTES];
            block[HEADER_BYTES..][..20].fill(7);
            writer.seal_in_place(&mut block, 0, place).map(|()| block).unwrap()
        };
        let opens = |block: &[u8], place| {
            let mut page = vec![0xEE; page_bytes(block).unwrap()];
            let opened = writer.open_at(block, &mut page, place);
            assert_eq!(page, if opened.is_ok() { [7; 20] } else { [0; 20] });
            opened
        };
        let (one, two) = (Place::new(PlaceKind::Page, b"one"), Place::new(PlaceKind::Page, b"two"));
        let record = Place::new(PlaceKind::Record, b"one");
        let block = sealed(one);
        opens(&block, one).unwrap();
        assert!(matches!(opens(&block, two), Err(EnginePageError::Changed { .. })));
        assert!(matches!(
            opens(&block, Place::new(PlaceKind::Page, b"")),
            Err(EnginePageError::Changed { .. })
        ));
        assert_eq!(
            opens(&block, record).unwrap_err().to_string(),
            format!(
                "a block under key orders version 1 ({cipher}) was sealed as a page and is in the \
                 place of a journal record: files were changed\n\
                 restore the files from a backup, or resync this member"
            )
        );
        assert!(matches!(opens(&block, Place::UNKNOWN), Err(EnginePageError::OtherPlace { .. })));
        let anywhere = sealed(Place::UNKNOWN);
        for place in [one, two, record, Place::UNKNOWN] {
            opens(&anywhere, place).unwrap();
        }
    }
}

/// Room for the tag of a place: after everything that is authenticated, and declared in it.
#[test]
fn room_for_the_tag_of_a_place_follows() {
    for cipher in ["aes-256", "3des"] {
        let writer = pages(&[(1, 0x11)], cipher);
        let place = Place::new(PlaceKind::Record, b"one");
        for (place, room, kept) in [
            (place, 0, false),
            (place.with_place_tag(), 16, false),
            (place.with_journal_kept(true), 0, true),
        ] {
            let mut block = vec![0xEE; 20 + OVERHEAD_BYTES + room];
            block[HEADER_BYTES..][..20].fill(7);
            writer.seal_in_place(&mut block, 0, place).unwrap();
            let info = inspect(&block).unwrap();
            assert_eq!(
                (info.place_tag, info.journal_kept, info.format_version),
                (room > 0, kept, 1)
            );
            let end = 20 + OVERHEAD_BYTES;
            assert_eq!(block[end..], [0; 16][..room]);
            for at in 0..block.len() {
                let mut changed = block.clone();
                changed[at] ^= 0x08;
                let mut page = vec![0xEE; page_bytes(&changed).unwrap_or(0)];
                let opened = writer.open_at(&changed, &mut page, place);
                assert_eq!(opened.is_ok(), at >= end, "{cipher}, byte {at}");
            }
        }
        let mut short = [0; OVERHEAD_BYTES + 15];
        let refused = writer.seal_in_place(&mut short, 0, place.with_place_tag());
        assert!(matches!(refused, Err(EnginePageError::Buffer { .. })));
    }
}

/// Every byte of a block counts, including the padding.
#[test]
fn padding_is_zeros_and_of_its_length() {
    let writer = pages(&[(1, 0x11)], "lea-128");
    let mut block = vec![0xEE; 10 + OVERHEAD_BYTES + 500];
    writer.seal_in_place(&mut block, 500, Place::UNKNOWN).unwrap();
    let info = inspect(&block).unwrap();
    assert_eq!((info.padding_bytes, info.ciphertext(block.len()).unwrap()), (500, 48..58));
    let opened = open(&writer, &block).unwrap();
    assert_eq!(opened, [0xEE; 10]);
    for at in 0..block.len() {
        let mut changed = block.clone();
        changed[at] ^= 0x10;
        open(&writer, &changed).unwrap_err();
    }
    for bytes in [0, 40, 48, 63, 563] {
        assert!(info.ciphertext(bytes).is_err());
    }
    let mut short = vec![0xEE; 100];
    for padding in [37, 65_536, usize::MAX] {
        assert!(matches!(
            writer.seal_in_place(&mut short, padding, Place::UNKNOWN),
            Err(EnginePageError::Buffer { .. })
        ));
    }
}

#[test]
fn no_changed_bit_opens() {
    for name in ["aes-256", "aria-256", "3des"] {
        let writer = pages(&[(1, 0x11)], name);
        let block = seal(&writer, &data(33));
        for bit in 0..block.len() * 8 {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            open(&writer, &damaged).unwrap_err();
        }
        for bytes in 0..block.len() {
            open(&writer, &block[..bytes]).unwrap_err();
        }
        let longer = [&block[..], b"x"].concat();
        assert!(matches!(open(&writer, &longer), Err(EnginePageError::Changed { .. })));
        open(&writer, &block).unwrap();
    }
}

#[test]
fn keys_are_told_apart() {
    let old = pages(&[(1, 0x11)], "aria-256");
    let rotated = pages(&[(1, 0x11), (2, 0x22)], "aria-256");
    let (first, second) = (seal(&old, b"first"), seal(&rotated, b"second"));
    assert_eq!(open(&rotated, &first).unwrap(), b"first");
    assert_eq!(open(&rotated, &second).unwrap(), b"second");
    assert_eq!(inspect(&second).unwrap().key_version, 2);
    let fingerprint = inspect(&second).unwrap().fingerprint;
    let missing = open(&old, &second).unwrap_err().to_string();
    assert_eq!(
        missing,
        format!(
            "a block is sealed under key version 2 (fingerprint {fingerprint}), not found in the \
             test keys, which has orders version 1\n\
             give the key source that still holds this version, or the one this data was sealed \
             with"
        )
    );
    let wrong = pages(&[(1, 0x99), (2, 0x98)], "aria-256");
    let own = wrong.keys().nth(1).unwrap().1;
    assert_eq!(
        open(&wrong, &second).unwrap_err().to_string(),
        format!(
            "wrong key: a block is sealed under fingerprint {fingerprint}, and key orders version \
             2 from the test keys has {own}\n\
             another key has this version; give the key source this data was sealed with"
        )
    );
    let other = pages(&[(1, 0x11), (2, 0x22)], "aes-256");
    assert_eq!(
        open(&other, &first).unwrap_err().to_string(),
        "a block is sealed with aria-256, and this opening is set to aes-256\n\
         start with cipher aria-256; to change the cipher, start again with an empty \
         data directory (initial sync)"
    );
    let mut changed = first.clone();
    changed[HEADER_BYTES] ^= 1;
    assert_eq!(
        open(&rotated, &changed).unwrap_err().to_string(),
        "a block of 69 bytes under key orders version 1 (aria-256, from the test keys) failed \
         authentication: it was changed after it was sealed\n\
         restore the file from a backup, or resync this member"
    );
}

#[test]
fn anything_but_a_block_is_refused() {
    let reader = pages(&[(1, 0x11)], "aes-256");
    let block = seal(&reader, b"page");
    for other in [
        &b""[..],
        b"plain text that is long enough to be a block of some page of data",
        &block[..47],
    ] {
        assert!(matches!(open(&reader, other), Err(EnginePageError::NotSealed { .. })));
    }
    let with = |at: usize, byte: u8| {
        let mut changed = block.clone();
        changed[at] = byte;
        inspect(&changed).unwrap_err()
    };
    assert!(matches!(with(3, 2), EnginePageError::UnsupportedVersion { found: 2 }));
    assert!(matches!(with(3, 0), EnginePageError::Damaged { .. }));
    assert!(matches!(with(4, 0xFF), EnginePageError::UnknownCipher { .. }));
    assert!(matches!(with(6, 0x20), EnginePageError::Damaged { .. }));
    assert!(matches!(with(7, 1), EnginePageError::Damaged { .. }));
    assert!(matches!(open(&reader, &block[..HEADER_BYTES]), Err(EnginePageError::Damaged { .. })));
    let mut short = [0xEE; 8];
    assert!(matches!(
        reader.seal(b"page", &mut short),
        Err(EnginePageError::Buffer { found: 8, wanted: 68 })
    ));
    assert_eq!(short, [0; 8]);
    assert!(matches!(
        reader.seal_in_place(&mut short, 0, Place::UNKNOWN),
        Err(EnginePageError::Buffer { .. })
    ));
    let absent = KeyRef { id: "orders".into(), version: 3 };
    let refused = EnginePages::new(
        keys(&[(1, 1)]),
        &absent,
        "x",
        cipher("aes-256").unwrap(),
        Backend::auto(),
    );
    assert!(matches!(refused, Err(EnginePageError::Key(_))));
}

/// Many threads seal at once; every unit of every salt is used once, and no salt beyond what its
/// cipher allows.
#[test]
fn no_nonce_is_used_twice() {
    for (name, page_bytes, pages_each) in
        [("aes-256", 100, 2000), ("3des", 20_000, 250), ("hight", 999, 200)]
    {
        let writer = pages(&[(1, 0x11)], name);
        let page = data(page_bytes);
        let blocks: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..pages_each)
                            .map(|_| seal(&writer, &page)[..HEADER_BYTES].to_vec())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let line = cipher(name).unwrap();
        let units = if line.mode == Mode::Gcm { 1 } else { page_bytes.div_ceil(8) as u64 };
        let mut used: Vec<([u8; 16], u64)> = Vec::new();
        for block in &blocks {
            let info = inspect(block).unwrap();
            used.push((info.salt, info.counter));
        }
        used.sort_unstable();
        for pair in used.windows(2) {
            assert!(
                pair[0].0 != pair[1].0 || pair[0].1 + units <= pair[1].1,
                "{name}: {pair:?} overlap"
            );
        }
        let salts: HashSet<[u8; 16]> = used.iter().map(|(salt, _)| *salt).collect();
        if name == "3des" {
            // 20 MB at 8 MiB a key
            assert_eq!(salts.len(), 3, "{name}");
            assert!(used.iter().all(|(_, counter)| counter + units <= 1 << 20));
        } else {
            assert_eq!(salts.len(), 1, "{name}");
        }
    }
}

/// A page longer than its cipher allows under one key: sealed in parts under separate keys.
#[test]
fn long_pages_are_sealed_in_parts() {
    let writer = pages(&[(1, 0x11)], "3des");
    let reader = pages(&[(1, 0x11)], "3des");
    let page = data((8 << 20) + 4097);
    let block = seal(&writer, &page);
    assert!(inspect(&block).unwrap().in_parts);
    assert!(open(&reader, &block).unwrap() == page);
    // the same data under the next counter shares no part of the ciphertext
    let again = seal(&writer, &page);
    for at in [0, 8 << 20] {
        let range = HEADER_BYTES + at..HEADER_BYTES + at + 4096;
        assert_ne!(block[range.clone()], again[range.clone()]);
        assert_ne!(block[range.clone()], page[at..at + 4096]);
    }
    for at in [HEADER_BYTES, HEADER_BYTES + (8 << 20) + 5, block.len() - 1, 6] {
        let mut damaged = block.clone();
        damaged[at] ^= 1;
        open(&reader, &damaged).unwrap_err();
    }
    // a page that fits a key is not
    assert!(!inspect(&seal(&writer, &page[..8 << 20])).unwrap().in_parts);
}

/// One reader meets more salts than it keeps keys for.
#[test]
fn blocks_of_very_many_openings_open() {
    let reader = pages(&[(1, 0x11)], "aes-128");
    let blocks: Vec<Vec<u8>> =
        (0..1100u32).map(|n| seal(&pages(&[(1, 0x11)], "aes-128"), &n.to_be_bytes())).collect();
    for _ in 0..2 {
        for (n, block) in blocks.iter().enumerate() {
            assert_eq!(open(&reader, block).unwrap(), (n as u32).to_be_bytes());
        }
    }
}

#[test]
fn fingerprints_tell_keys_apart_and_print_as_hexadecimal() {
    let [one, two] = [0x11, 0x12].map(|byte| {
        let key = KeyRef { id: "orders".into(), version: 1 };
        Fingerprint::of(&key, &Secret::from_bytes(&[byte; 32]), Provider::own()).unwrap()
    });
    assert_ne!(one, two);
    assert_eq!(Fingerprint([0, 1, 2, 3, 4, 5, 254, 255]).to_string(), "000102030405feff");
    let debugged = format!("{:?}", pages(&[(1, 0x11)], "aes-256"));
    assert_eq!(
        debugged,
        "EnginePages { cipher: \"aes-256\", key: KeyRef { id: \"orders\", version: 1 }, .. }"
    );
}
