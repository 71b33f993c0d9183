//! Units in both modes of pages: whole and in pieces, changed, refused, and as they are written
//! down.

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::{EphemeralKey, KeySource};

use super::*;

fn keys_of(versions: &[(u32, u8)], cipher_name: &str, mode: PageMode) -> TablespaceKeys {
    let named = |version| KeyRef { id: "orders".into(), version };
    let keys =
        versions.iter().map(|(version, byte)| (named(*version), Secret::from_bytes(&[*byte; 32])));
    let current = named(versions.last().unwrap().0);
    let cipher = cipher(cipher_name).unwrap();
    let (keys, place) = (keys.collect(), "the test");
    TablespaceKeys::new(keys, &current, place, cipher, mode, Backend::auto()).unwrap()
}

fn number(version: u32, name: &str, mode: PageMode) -> u32 {
    ServerVersion::new(version, cipher(name).unwrap(), mode).unwrap().number()
}

#[test]
fn a_number_names_version_mode_and_cipher_and_grows_with_the_version() {
    for (mode, wanted) in [(PageMode::Hctr2, 0x704), (PageMode::CbcCs1, 0x784)] {
        let aria = ServerVersion::new(7, cipher("aria-256").unwrap(), mode).unwrap();
        assert_eq!((aria.number(), aria.mode()), (wanted, mode));
        assert_eq!((aria.version(), aria.cipher().name), (7, "aria-256"));
        assert_eq!(ServerVersion::from_number(wanted), Some(aria));
        assert_eq!(PageMode::by_name(mode.mode().word()).unwrap(), mode);
    }
    let error = PageMode::by_name("cbc").unwrap_err().to_string();
    assert!(error.starts_with("unknown mode of pages \"cbc\""), "{error}");
    assert!(sealstone_cipher::ciphers().iter().all(|cipher| cipher.id < 0x80));
    let [wide, chained] = PageMode::ALL;
    assert!(number(8, "aes-128", wide) > number(7, "lea-256", chained));
    let aes = cipher("aes-256").unwrap();
    assert!(ServerVersion::new((1 << 24) - 2, aes, wide).is_some());
    for version in [0, (1 << 24) - 1, u32::MAX] {
        assert_eq!(ServerVersion::new(version, aes, chained), None, "{version}");
    }
    // a cipher that is none, blocks of 8 bytes, not encrypted, the server's own "invalid"
    for wrong in [0x7ff, 0x77f, 0x705, 0x785, 0, 4, 0x84, u32::MAX] {
        assert_eq!(ServerVersion::from_number(wrong), None, "{wrong:#x}");
    }
}

#[test]
fn pages_streams_and_blocks_come_back_and_differ_by_all_that_names_them() {
    let [wide, chained] = PageMode::ALL;
    let keys = keys_of(&[(1, 1), (2, 2)], "aria-256", wide);
    assert_eq!(keys.current().number(), number(2, "aria-256", wide));
    let page: Vec<u8> = (0..16354_u32).map(|at| (at / 7) as u8).collect();
    let passed = keys.server_key(100, number(2, "aria-256", wide)).unwrap();
    let mut seen = std::collections::HashSet::new();
    let (one, other) = ([1; 16], [2; 16]);
    // whatever is written in, all of it is read
    for version in [
        number(1, "aria-256", wide),
        number(2, "aria-256", wide),
        number(2, "aes-256", wide),
        number(2, "aria-256", chained),
        number(2, "aes-256", chained),
    ] {
        for key_id in [100, 101] {
            for passed in [&passed[..], &passed[..16]] {
                for nonce in [one, other] {
                    let unit = keys.unit(key_id, version, passed, &nonce).unwrap();
                    let mut data = page.clone();
                    unit.encrypt_whole(&mut data).unwrap();
                    assert!(seen.insert(data.clone()));
                    unit.decrypt_whole(&mut data).unwrap();
                    assert_eq!(data, page);

                    let mut block = [&page[..], &[9; CHECK_BYTES]].concat();
                    unit.seal_block(&mut block).unwrap();
                    assert!(seen.insert(block.clone()));
                    unit.open_block(&mut block).unwrap();
                    assert_eq!(block[..page.len()], page);

                    let mut stream = page.clone();
                    let mut unit = keys.unit(key_id, version, passed, &nonce).unwrap();
                    unit.crypt_next(&mut stream).unwrap();
                    assert!(seen.insert(stream.clone()));
                    // in other pieces
                    let mut unit = keys.unit(key_id, version, passed, &nonce).unwrap();
                    let mut rest = &mut stream[..];
                    for bytes in [1, 15, 17, 0, 4000] {
                        let (piece, more) = rest.split_at_mut(bytes);
                        unit.crypt_next(piece).unwrap();
                        rest = more;
                    }
                    unit.crypt_next(rest).unwrap();
                    assert_eq!(stream, page);

                    let mut record = page.clone();
                    let mut unit = keys.unit(key_id, version, passed, &nonce).unwrap();
                    unit.encrypt_record(&mut record).unwrap();
                    assert!(seen.insert(record.clone()));
                    let mut unit = keys.unit(key_id, version, passed, &nonce).unwrap();
                    unit.decrypt_record(&mut record).unwrap();
                    assert_eq!(record, page);
                }
            }
        }
    }
}

#[test]
fn counters_of_neighbouring_nonces_do_not_meet() {
    for mode in PageMode::ALL {
        neighbouring_counters_do_not_meet(mode);
    }
}

fn neighbouring_counters_do_not_meet(mode: PageMode) {
    let keys = keys_of(&[(1, 1)], "aes-256", mode);
    let stream = |last: u8| {
        let mut nonce = [0; 16];
        nonce[15] = last;
        let mut data = [0; 64];
        let version = keys.current().number();
        keys.unit(1, version, &[5; 16], &nonce).unwrap().crypt_next(&mut data).unwrap();
        data
    };
    let blocks: std::collections::HashSet<Vec<u8>> = (0..8)
        .flat_map(|last| stream(last).chunks(16).map(Vec::from).collect::<Vec<_>>())
        .collect();
    assert_eq!(blocks.len(), 8 * 4);
}

#[test]
fn a_changed_block_is_refused_and_a_changed_page_is_garbled() {
    for mode in PageMode::ALL {
        changes(mode);
    }
}

fn changes(mode: PageMode) {
    let keys = keys_of(&[(1, 1)], "lea-256", mode);
    let unit = keys.unit(2, keys.current().number(), &[5; 16], &[7; 16]).unwrap();
    for at in [0, 15, 16, 100, 999, 1000, 1015] {
        let mut block = vec![3; 1000 + CHECK_BYTES];
        unit.seal_block(&mut block).unwrap();
        block[at] ^= 1;
        assert!(matches!(unit.open_block(&mut block), Err(TablespaceError::Changed)), "{at}");
        assert_eq!(block, [0; 1000 + CHECK_BYTES]);

        let mut page = vec![3; 1016];
        unit.encrypt_whole(&mut page).unwrap();
        page[at] ^= 1;
        unit.decrypt_whole(&mut page).unwrap();
        let same = page.iter().filter(|byte| **byte == 3).count();
        match mode {
            PageMode::Hctr2 => assert!(same < 40, "{same} of 1016 bytes are as before"),
            // a block, and one bit of the next, as SECURITY.md states
            PageMode::CbcCs1 => assert!(same >= 1016 - 32, "{same} of 1016 bytes"),
        }
    }
    for short in [0, CHECK_BYTES - 1] {
        assert!(unit.seal_block(&mut vec![0; short]).is_err());
        assert!(unit.open_block(&mut vec![0; short]).is_err());
        assert!(unit.encrypt_whole(&mut vec![0; short]).is_err());
    }
}

/// A record that was refused does not begin again.
#[test]
fn a_record_in_other_pieces_stays_refused() {
    for mode in PageMode::ALL {
        let keys = keys_of(&[(1, 1)], "aria-128", mode);
        let mut unit = keys.unit(1, keys.current().number(), &[5; 16], &[7; 16]).unwrap();
        unit.encrypt_record(&mut [1; 21]).unwrap();
        for bytes in [16, 1, 32] {
            let refused = unit.encrypt_record(&mut vec![2; bytes]).unwrap_err();
            assert!(matches!(refused, TablespaceError::Pieces), "{refused}");
        }
    }
}

#[test]
fn what_no_server_passes_is_refused() {
    let keys = keys_of(&[(3, 1)], "seed-128", PageMode::CbcCs1);
    let version = keys.current().number();
    for passed in [0, 33, 4096] {
        let error = keys.unit(1, version, &vec![0; passed], &[0; 16]).unwrap_err();
        assert!(matches!(error, TablespaceError::Length { what: "key", found } if found == passed));
    }
    for nonce in [0, 15, 17] {
        let error = keys.unit(1, version, &[0; 16], &vec![0; nonce]).unwrap_err();
        assert!(matches!(error, TablespaceError::Length { what: "nonce", .. }));
    }
    let error =
        keys.unit(1, number(2, "seed-128", PageMode::Hctr2), &[0; 16], &[0; 16]).unwrap_err();
    assert_eq!(error.to_string(), "no version 2 of key orders from the test; there are: 3");
    assert!(keys.server_key(1, 0).is_err());

    let source = EphemeralKey::new().unwrap();
    let (current, _) = source.current().unwrap();
    let made = |name| {
        let all = source.all().unwrap();
        let (cipher, mode) = (cipher(name).unwrap(), PageMode::Hctr2);
        TablespaceKeys::new(all, &current, "here", cipher, mode, Backend::auto())
    };
    let error = made("3des").unwrap_err().to_string();
    assert!(error.starts_with("3des has blocks of 8 bytes; pages need "), "{error}");
}

/// The format as it is written down: found once with the lines of
/// vectors/formats/examples-v1.py, and never to change.
#[test]
fn the_format_is_as_documented() {
    assert_eq!(
        found_in(PageMode::Hctr2),
        [
            "adffd1cf4417c52a6f583ab9f9249361fdbf4937677276f5d863ac3fdfeae4a5",
            "72ec4e6ea3aebd9819cbf80492beda6e044573d98f36ab462834cd7fb4acc87c20f47f23e0a761c8",
            "be10f06760fd619109d25524da084651a3e57ea2",
            "82d9f66b85f87cabf792af1dda62c0f5dacd071f",
            "10cca029eb5614560faa71c20aa104f1471fb2a17f0f099a",
            "8a8459b84be2a799",
        ]
    );
    assert_eq!(
        found_in(PageMode::CbcCs1),
        [
            "adffd1cf4417c52a6f583ab9f9249361fdbf4937677276f5d863ac3fdfeae4a5",
            "18ea01d55e50f5d44bb9920c6765f732bb47e51218ea4f85c9bb25a6d8f87dfc905ca03d41a0a268",
            "dcfde6f9bd5f2fcec9c5de9443998dbc49c4d6c5",
            "8ecdbc7ea666de75403006aca0cec68d4cd84abe",
            "4afe28f94bffe2e2a7fc081d3a43606b934d716e3376baff",
            "8a8459b84be2a799",
        ]
    );
}

/// Returns the key for the server, a page, a binary log, a record, a block and the key's
/// fingerprint in `mode`, in hexadecimal digits.
fn found_in(mode: PageMode) -> [String; 6] {
    let keys = keys_of(&[(1, 0x11)], "aes-256", mode);
    let version = keys.current().number();
    let key = keys.server_key(100, version).unwrap();
    let unit = || keys.unit(100, version, &key[..16], &[0x22; 16]).unwrap();
    let mut whole = [0x33; 40];
    unit().encrypt_whole(&mut whole).unwrap();
    let mut stream = [0x33; 20];
    unit().crypt_next(&mut stream).unwrap();
    let mut record = [0x33; 20];
    unit().encrypt_record(&mut record).unwrap();
    let mut block = [0x33; 24];
    unit().seal_block(&mut block).unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let fingerprint = keys.fingerprint(1).unwrap().to_string();
    [hex(&key[..]), hex(&whole), hex(&stream), hex(&record), hex(&block), fingerprint]
}
