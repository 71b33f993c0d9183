//! Data that our own code sealed opens in a module, and the other way round: every format that a
//! module can seal.

use std::sync::Arc;

use sealstone_cipher::module::{Module, title};
use sealstone_cipher::testing::bytes;
use sealstone_cipher::{Backend, Cipher, Provider, cipher};
use sealstone_keys::{InModule, KeyError, KeyFile, KeyRef, KeySource, Secret};
use sealstone_modules::testing::compiled;
use sealstone_seal::catalogue::{Catalogue, CatalogueWriter, Copy};
use sealstone_seal::engine_page::{EnginePages, OVERHEAD_BYTES};
use sealstone_seal::frame::{End, FrameReader, FrameWriter};
use sealstone_seal::paged::{PageWriter, Pages, Shape};
use sealstone_seal::tablespace::{CHECK_BYTES, PageMode, TablespaceError, TablespaceKeys};
use sealstone_seal::volume::{BlockPlace, VolumeKeys};
use sealstone_seal::{
    FieldOpener, FieldPlace, FieldSealer, FileKind, HEADER_BYTES, Identity, Layout, SealError,
    SealedFile, inspect, rewrap,
};

/// Ciphers of every module.
const CIPHERS: &[&str] = if cfg!(feature = "aws-lc-fips") {
    &["aes-128", "aes-192", "aes-256"]
} else {
    &["aes-128", "aes-192", "aes-256", "aria-128", "aria-192", "aria-256"]
};

/// The keys in a file, to be used by our own code and in each module.
struct Site {
    _dir: tempfile::TempDir,
    /// Title of who computes, and the keys to use with it.
    users: Vec<(String, Arc<dyn KeySource>)>,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let library = compiled(dir.path(), "reference.c", &[]);
        let openssl = sealstone_modules::load("openssl:default").unwrap();
        let shim = sealstone_modules::load(library.to_str().unwrap()).unwrap();
        let path = dir.path().join("orders.key");
        let keys: Arc<dyn KeySource> =
            Arc::new(KeyFile::create_by(Provider::Module(openssl), path, "orders").unwrap());
        let within = |module: &'static dyn Module| -> (String, Arc<dyn KeySource>) {
            (title(module), Arc::new(InModule::new(keys.clone(), module)))
        };
        let users = vec![
            ("ours".to_owned(), keys.clone()),
            within(openssl),
            within(shim),
            #[cfg(feature = "aws-lc-fips")]
            within(sealstone_modules::load("aws-lc-fips").unwrap()),
        ];
        Self { _dir: dir, users }
    }

    /// Calls `check` with every cipher, and every pair of who seals and who opens.
    fn pairs(
        &self,
        check: impl Fn(&'static Cipher, &Arc<dyn KeySource>, &Arc<dyn KeySource>, &str),
    ) {
        for name in CIPHERS {
            for (one, sealer) in &self.users {
                for (other, opener) in &self.users {
                    let what = format!("{name}: {one} sealed, {other} opens");
                    check(cipher(name).unwrap(), sealer, opener, &what);
                }
            }
        }
    }
}

fn backend() -> Backend {
    Backend::auto()
}

#[test]
fn pages_open_whoever_sealed_them() {
    let data = bytes("pages", 10_000);
    Site::new().pairs(|cipher, sealer, opener, what| {
        let layout = Layout::Paged { page_bytes: 1024 };
        let (file, header) = SealedFile::create(&**sealer, cipher, backend(), layout).unwrap();
        let mut stored = header.to_vec();
        let mut writer = PageWriter::new(&file).unwrap();
        writer.append(&data, &mut stored).unwrap();
        writer.finish(&mut stored).unwrap();

        let file = SealedFile::open(&**opener, backend(), &stored).unwrap();
        let last = Shape::of(&file, stored.len() as u64).unwrap().last_page();
        let mut buffer = stored[last.offset as usize..][..last.bytes].to_vec();
        let (pages, _) = Pages::open(&file, stored.len() as u64, &mut buffer).unwrap();
        for (from, length) in [(0, usize::MAX), (1000, 50), (5000, 3000)] {
            let span = pages.locate(from, length).unwrap();
            let mut out = vec![0; span.bytes];
            let place = span.stored.offset as usize..;
            pages.read(&span, &stored[place][..span.stored.bytes], &mut out).unwrap();
            let wanted = &data[from as usize..][..span.bytes];
            assert!(out == wanted, "{what}, from {from}");
        }
        // a changed byte is found by all
        let at = HEADER_BYTES + 3000;
        stored[at] ^= 1;
        let span = pages.locate(2000, 2000).unwrap();
        let mut out = vec![1; span.bytes];
        let place = span.stored.offset as usize..;
        let failed = pages.read(&span, &stored[place][..span.stored.bytes], &mut out);
        assert!(matches!(failed, Err(SealError::Page { .. })), "{what}: {failed:?}");
        assert!(out.iter().all(|byte| *byte == 0), "{what}");
    });
}

#[test]
fn frames_open_whoever_sealed_them() {
    Site::new().pairs(|cipher, sealer, opener, what| {
        let (file, header) =
            SealedFile::create(&**sealer, cipher, backend(), Layout::Frames).unwrap();
        let mut stored = header.to_vec();
        let mut writer = FrameWriter::new(&file).unwrap();
        let parts: Vec<Vec<u8>> =
            (0..40).map(|i| bytes(&format!("frame {i}"), 1 + i * 97)).collect();
        for part in &parts {
            writer.append(part, &mut stored).unwrap();
        }
        let mark = file.synced_mark().unwrap();
        stored[mark.offset as usize..][..mark.bytes.len()].copy_from_slice(&mark.bytes);

        let file = SealedFile::open(&**opener, backend(), &stored).unwrap();
        assert!(file.was_synced(), "{what}");
        let mut reader = FrameReader::new(&file, stored.len() as u64).unwrap();
        reader.push(&stored[HEADER_BYTES..]);
        for part in &parts {
            assert_eq!(reader.next_frame().unwrap().unwrap().data, part, "{what}");
        }
        assert!(reader.next_frame().unwrap().is_none());
        assert_eq!(reader.end().unwrap(), End::Clean, "{what}");
    });
}

#[test]
fn catalogues_open_whoever_sealed_them() {
    Site::new().pairs(|cipher, sealer, opener, what| {
        let catalogue = Catalogue::new(sealer.provider(backend())).unwrap();
        let mut stored = Vec::new();
        CatalogueWriter::begin(&catalogue, &[], &**sealer, cipher, backend(), &mut stored).unwrap();
        let copy = Copy::read(&**opener, backend(), &stored).unwrap();
        assert_eq!(copy.changes, 0, "{what}");
    });
}

#[test]
fn blocks_of_volumes_open_whoever_sealed_them() {
    Site::new().pairs(|cipher, sealer, opener, what| {
        let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
        let layout = Layout::Volume { block_bytes: 4096 };
        let (_, header) =
            SealedFile::create_as(&identity, &**sealer, cipher, backend(), layout).unwrap();
        let file = SealedFile::open(&**sealer, backend(), &header).unwrap();
        let epoch = VolumeKeys::new(file, Vec::new()).unwrap().begin().unwrap();
        let plain = bytes("blocks", 3 * 4096);
        let mut sealed = plain.clone();
        let entries = epoch.seal_blocks(&[5, 6, 7], &mut sealed).unwrap();
        let salts = epoch.keys().salts().to_vec();

        let file = SealedFile::open(&**opener, backend(), &header).unwrap();
        let keys = VolumeKeys::new(file, salts).unwrap();
        let blocks: Vec<BlockPlace> = (5..8)
            .zip(&entries)
            .map(|(number, entry)| BlockPlace { number, entry: *entry })
            .collect();
        let mut out = vec![0; plain.len()];
        keys.open_blocks(&blocks, &sealed, &mut out).unwrap();
        assert!(out == plain, "{what}");
    });
}

#[test]
fn values_of_fields_open_whoever_sealed_them() {
    let place = || FieldPlace { table: "orders".into(), column: "memo".into() };
    Site::new().pairs(|cipher, sealer, opener, what| {
        let (key, secret) = sealer.current().unwrap();
        let provider = sealer.provider(backend());
        let sealing = FieldSealer::new(place(), cipher, key, secret, provider).unwrap();
        let opening = FieldOpener::new(place(), opener.clone(), backend());
        for value in [&b""[..], b"call before noon", &[7; 5000]] {
            let mut record = Vec::new();
            sealing.seal(Some(b"17"), value, &mut record).unwrap();
            opening.open(Some(b"17"), &mut record).unwrap();
            assert_eq!(record, value, "{what}");
        }
    });
}

#[test]
fn pages_of_an_engine_open_whoever_sealed_them() {
    Site::new().pairs(|cipher, sealer, opener, what| {
        let pages = |keys: &Arc<dyn KeySource>| {
            let (current, _) = keys.current().unwrap();
            let provider = keys.provider(backend());
            EnginePages::new(keys.all().unwrap(), &current, "here", cipher, provider).unwrap()
        };
        let (sealing, opening) = (pages(sealer), pages(opener));
        for length in [0, 1, 4096, 30_000] {
            let page = bytes("engine page", length);
            let mut block = vec![0; length + OVERHEAD_BYTES];
            sealing.seal(&page, &mut block).unwrap();
            let mut out = vec![0; length];
            opening.open(&block, &mut out).unwrap();
            assert!(out == page, "{what}, {length} bytes");
        }
    });
}

/// Pages, logs and temporary files of MariaDB: in the mode that modules have, which our own code
/// has, too, and in no other.
#[test]
fn units_of_mariadb_open_whoever_enciphered_them() {
    let site = Site::new();
    site.pairs(|cipher, sealer, opener, what| {
        let keyed = |keys: &Arc<dyn KeySource>| {
            let (current, _) = keys.current().unwrap();
            let (all, provider) = (keys.all().unwrap(), keys.provider(backend()));
            let mode = PageMode::CbcCs1;
            TablespaceKeys::new(all, &current, "here", cipher, mode, provider).unwrap()
        };
        let (sealing, opening) = (keyed(sealer), keyed(opener));
        let version = sealing.current().number();
        let passed = sealing.server_key(100, version).unwrap();
        assert_eq!(passed, opening.server_key(100, version).unwrap(), "{what}");
        let sealed = || sealing.unit(100, version, &passed[..16], &[9; 16]).unwrap();
        let opened = || opening.unit(100, version, &passed[..16], &[9; 16]).unwrap();
        for length in [16, 17, 226, 4096, 16_354] {
            let page = bytes("unit", length);
            let mut data = page.clone();
            sealed().encrypt_whole(&mut data).unwrap();
            assert!(data != page);
            opened().decrypt_whole(&mut data).unwrap();
            assert!(data == page, "{what}, {length} bytes");

            let mut unit = sealed();
            data.chunks_mut(33).for_each(|piece| unit.crypt_next(piece).unwrap());
            opened().crypt_next(&mut data).unwrap();
            assert!(data == page, "{what}, a log of {length} bytes");

            let mut unit = sealed();
            data.chunks_mut(48).for_each(|piece| unit.encrypt_record(piece).unwrap());
            opened().decrypt_record(&mut data).unwrap();
            assert!(data == page, "{what}, a record of {length} bytes");

            let mut block = [&page[..], &[0; CHECK_BYTES]].concat();
            sealed().seal_block(&mut block).unwrap();
            let mut changed = block.clone();
            changed[length / 2] ^= 1;
            assert!(matches!(opened().open_block(&mut changed), Err(TablespaceError::Changed)));
            opened().open_block(&mut block).unwrap();
            assert!(block[..length] == page, "{what}, a block of {length} bytes");
        }
    });
    // a mode that no module has is refused, when it is asked for and when it is met
    let aes = cipher("aes-256").unwrap();
    let (_, keys) = &site.users[1];
    let (current, _) = keys.current().unwrap();
    let made = |mode| {
        let (all, provider) = (keys.all().unwrap(), keys.provider(backend()));
        TablespaceKeys::new(all, &current, "here", aes, mode, provider)
    };
    let error = made(PageMode::Hctr2).unwrap_err().to_string();
    let wanted = "version 1 of the key is that of pages in hctr2, which module openssl:default ";
    assert!(error.starts_with(wanted), "{error}");
    let keyed = made(PageMode::CbcCs1).unwrap();
    let wide = keyed.current().number() & !0x80;
    let error = keyed.unit(100, wide, &[1; 16], &[9; 16]).unwrap_err();
    assert!(matches!(error, TablespaceError::NotInModule { .. }), "{error}");
    assert!(keyed.server_key(100, wide).is_err());
}

/// The header records which module made the file, and that is authenticated: another title, or
/// none, is a header that does not open.
#[test]
fn a_header_names_the_module_that_made_the_file() {
    let site = Site::new();
    for (name, keys) in &site.users {
        let aria = cipher(CIPHERS[CIPHERS.len() - 1]).unwrap();
        let (_, header) = SealedFile::create(&**keys, aria, backend(), Layout::Frames).unwrap();
        let found = inspect(&header).unwrap().module;
        assert_eq!(found.as_deref(), (name != "ours").then_some(name.as_str()));
        for forged in [None, Some("openssl:fips 3.0.9")] {
            let mut changed = header;
            for slot in [0, 4096] {
                let place = &mut changed[slot + 216..slot + 280];
                place.fill(0);
                if let Some(title) = forged {
                    place[0] = title.len() as u8;
                    place[1..=title.len()].copy_from_slice(title.as_bytes());
                }
            }
            if changed == header {
                continue;
            }
            assert_eq!(inspect(&changed).unwrap().module.as_deref(), forged);
            for (_, keys) in &site.users {
                let opened = SealedFile::open(&**keys, backend(), &changed);
                assert!(matches!(opened, Err(SealError::WrongKey { .. })), "{opened:?}");
            }
        }
        for bad in [64, 255] {
            let mut changed = header;
            (changed[216], changed[4096 + 216]) = (bad, bad);
            assert!(matches!(inspect(&changed), Err(SealError::Damaged { .. })));
        }
        for byte in [b'\n', 0xff, 0] {
            let mut changed = header;
            for slot in [0, 4096] {
                (changed[slot + 216], changed[slot + 217]) = (1, byte);
            }
            assert!(matches!(inspect(&changed), Err(SealError::Damaged { .. })), "{byte}");
        }
    }
}

/// A key source with one more version, used as another one is.
struct Rotated(Arc<dyn KeySource>, Secret);

impl KeySource for Rotated {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        Ok((KeyRef { id: "orders".into(), version: 2 }, self.1.duplicate()?))
    }

    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        if key.version == 2 { self.1.duplicate() } else { self.0.get(key) }
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn module(&self) -> Option<&'static dyn Module> {
        self.0.module()
    }
}

/// A file that a module made is continued by that module alone, so its title stays true. A file of
/// ours goes over to a module without a claim.
#[test]
fn a_file_of_a_module_is_rewrapped_and_written_by_that_module_alone() {
    let site = Site::new();
    let aria = cipher(CIPHERS[CIPHERS.len() - 1]).unwrap();
    for (maker, keys) in &site.users {
        let (_, header) = SealedFile::create(&**keys, aria, backend(), Layout::Frames).unwrap();
        let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
        let layout = Layout::Volume { block_bytes: 4096 };
        let (_, volume) =
            SealedFile::create_as(&identity, &**keys, aria, backend(), layout).unwrap();
        for (user, keys) in &site.users {
            let keys = Rotated(keys.clone(), Secret::from_bytes(&[9; 32]));
            let (key, secret) = keys.current().unwrap();
            let rewrapped = rewrap(&keys, (&key, &secret), backend(), &header);
            let file = SealedFile::open(&keys, backend(), &volume).unwrap();
            let begun = VolumeKeys::new(file, Vec::new()).unwrap().begin();
            if maker == "ours" || maker == user {
                let mut changed = header;
                let rewrapped = rewrapped.unwrap().unwrap();
                for offset in rewrapped.offsets {
                    changed[offset as usize..][..512].copy_from_slice(rewrapped.bytes());
                }
                assert_eq!(inspect(&changed).unwrap().module, inspect(&header).unwrap().module);
                SealedFile::open(&keys, backend(), &changed).unwrap();
                assert!(begun.is_ok(), "{user} writes what {maker} made");
            } else {
                let error = rewrapped.unwrap_err().to_string();
                let by = user.split(' ').next().unwrap().replace("ours", "none");
                let wanted =
                    format!("it was made by module {maker}, and the module at hand is {by}; ");
                assert!(error.starts_with(&wanted), "{error}");
                assert!(begun.is_err(), "{user} writes what {maker} made");
            }
        }
    }
}
