//! In a build in which every use of our own ciphers, derivation and random bytes panics, a module
//! makes keys and seals and opens every format: so nothing of ours touches a key or data.
//!
//! `make test-modules` runs it: cargo test --package sealstone-modules --features no-own --test
//! alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sealstone_cipher::cbc_feistel::cbc_feistel;
use sealstone_cipher::{Ahead, Backend, Provider, aead, blocks, cbc_cs1, cipher, ctr, hctr2};
use sealstone_keys::{InModule, KeyFile, KeySource, Secret, source, subkey};
use sealstone_seal::catalogue::{Catalogue, CatalogueWriter, Copy};
use sealstone_seal::engine_page::{EnginePages, OVERHEAD_BYTES};
use sealstone_seal::frame::{FrameReader, FrameWriter};
use sealstone_seal::paged::{PageWriter, Pages, Shape};
use sealstone_seal::volume::{BlockPlace, Root, VolumeKeys};
use sealstone_seal::{
    FieldOpener, FieldPlace, FieldSealer, FileKind, HEADER_BYTES, Identity, Layout, SealedFile,
    probe, rewrap,
};

fn module() -> &'static dyn sealstone_cipher::module::Module {
    sealstone_modules::load("openssl:default").unwrap()
}

/// The build is what it is meant to be: everything of ours panics.
#[test]
fn our_own_code_panics_in_this_build() {
    let aes = cipher("aes-256").unwrap();
    let own = Backend::auto();
    let uses: [(&str, &dyn Fn()); 10] = [
        ("aead", &|| drop(aead(aes, &[7; 32], own))),
        ("ctr", &|| drop(ctr(aes, &[7; 32], own))),
        ("blocks", &|| drop(blocks(aes, &[7; 32], own))),
        ("hctr2", &|| drop(hctr2(aes, &[7; 32], own))),
        ("cbc-cs1", &|| drop(cbc_cs1(aes, &[7; 32], own))),
        ("cbc-feistel", &|| drop(cbc_feistel(aes, [&[7; 32], &[8; 32]], own))),
        ("ahead", &|| drop(Ahead::new(aes, &[7; 32], own))),
        ("hkdf", &|| subkey(own, &[7; 32], "pages", &[], &mut [0; 32]).unwrap()),
        ("random", &|| drop(Secret::random(own))),
        ("64 bits", &|| drop(aead(cipher("hight").unwrap(), &[7; 16], own))),
    ];
    for (what, used) in uses {
        assert!(catch_unwind(AssertUnwindSafe(used)).is_err(), "{what} of ours works");
    }
}

#[test]
fn a_module_alone_makes_keys_and_seals_and_opens_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    let key = KeyFile::create_by(Provider::Module(module()), &path, "orders").unwrap();
    let spec = path.to_str().unwrap();
    let opened = || source::open(spec, &|_| unreachable!("no passphrase"), Some(module())).unwrap();
    for name in ["aes-256", "aria-256"] {
        let keys = opened();
        probe(&*keys, cipher(name).unwrap()).unwrap();
        pages_and_frames(&*keys, name);
        catalogue_and_volume(&*keys, name);
        fields_and_engine(&keys, name);
    }
    // rotation: a new version, and an old header under it
    let keys = opened();
    let aria = cipher("aria-256").unwrap();
    let (_, header) = SealedFile::create(&*keys, aria, Backend::auto(), Layout::Frames).unwrap();
    key.rotate_by(Provider::Module(module())).unwrap();
    let keys = opened();
    let (current, secret) = keys.current().unwrap();
    assert_eq!(current.version, 2);
    rewrap(&*keys, (&current, &secret), Backend::auto(), &header).unwrap().unwrap();
    let _ = InModule::new(keys, module());
}

fn pages_and_frames(keys: &dyn KeySource, name: &str) {
    let (backend, cipher) = (Backend::auto(), cipher(name).unwrap());
    let layout = Layout::Paged { page_bytes: 1024 };
    let (file, header) = SealedFile::create(keys, cipher, backend, layout).unwrap();
    let mut stored = header.to_vec();
    let mut writer = PageWriter::new(&file).unwrap();
    writer.append(&[7; 5000], &mut stored).unwrap();
    writer.finish(&mut stored).unwrap();
    let file = SealedFile::open(keys, backend, &stored).unwrap();
    let last = Shape::of(&file, stored.len() as u64).unwrap().last_page();
    let mut buffer = stored[last.offset as usize..][..last.bytes].to_vec();
    let (pages, _) = Pages::open(&file, stored.len() as u64, &mut buffer).unwrap();
    let span = pages.locate(0, usize::MAX).unwrap();
    let mut out = vec![0; span.bytes];
    let place = span.stored.offset as usize..;
    pages.read(&span, &stored[place][..span.stored.bytes], &mut out).unwrap();
    assert_eq!(out, [7; 5000]);

    let (file, header) = SealedFile::create(keys, cipher, backend, Layout::Frames).unwrap();
    let mut stored = header.to_vec();
    let mut writer = FrameWriter::new(&file).unwrap();
    assert!(writer.make_ahead(Arc::default()).unwrap().is_none());
    for length in [1, 100, 5000] {
        writer.append(&vec![9; length], &mut stored).unwrap();
    }
    let mark = file.synced_mark().unwrap();
    stored[mark.offset as usize..][..mark.bytes.len()].copy_from_slice(&mark.bytes);
    let file = SealedFile::open(keys, backend, &stored).unwrap();
    let mut reader = FrameReader::new(&file, stored.len() as u64).unwrap();
    reader.push(&stored[HEADER_BYTES..]);
    let mut frames = 0;
    while reader.next_frame().unwrap().is_some() {
        frames += 1;
    }
    assert_eq!(frames, 3);
}

fn catalogue_and_volume(keys: &dyn KeySource, name: &str) {
    let (backend, cipher) = (Backend::auto(), cipher(name).unwrap());
    let mut stored = Vec::new();
    let catalogue = Catalogue::new(keys.provider(backend)).unwrap();
    CatalogueWriter::begin(&catalogue, &[], keys, cipher, backend, &mut stored).unwrap();
    Copy::read(keys, backend, &stored).unwrap();

    let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
    let layout = Layout::Volume { block_bytes: 4096 };
    let (_, header) = SealedFile::create_as(&identity, keys, cipher, backend, layout).unwrap();
    let file = SealedFile::open(keys, backend, &header).unwrap();
    let epoch = VolumeKeys::new(file.clone(), Vec::new()).unwrap().begin().unwrap();
    let mut sealed = vec![3; 2 * 4096];
    let entries = epoch.seal_blocks(&[1, 2], &mut sealed).unwrap();
    let blocks: Vec<BlockPlace> = [1, 2]
        .into_iter()
        .zip(&entries)
        .map(|(number, entry)| BlockPlace { number, entry: *entry })
        .collect();
    let mut out = vec![0; sealed.len()];
    epoch.keys().open_blocks(&blocks, &sealed, &mut out).unwrap();
    assert_eq!(out, vec![3; 2 * 4096]);
    let places = sealstone_seal::volume::Places::new(4096);
    Root::new(places, 8).seal(&file).unwrap();
}

fn fields_and_engine(keys: &Arc<dyn KeySource>, name: &str) {
    let (backend, cipher) = (Backend::auto(), cipher(name).unwrap());
    let place = || FieldPlace { table: "orders".into(), column: "memo".into() };
    let (key, secret) = keys.current().unwrap();
    let sealer =
        FieldSealer::new(place(), cipher, key.clone(), secret, keys.provider(backend)).unwrap();
    let mut record = Vec::new();
    sealer.seal(None, b"call before noon", &mut record).unwrap();
    FieldOpener::new(place(), keys.clone(), backend).open(None, &mut record).unwrap();
    assert_eq!(record, b"call before noon");

    let all = keys.all().unwrap();
    let pages = EnginePages::new(all, &key, "here", cipher, keys.provider(backend)).unwrap();
    let mut block = vec![0; 4096 + OVERHEAD_BYTES];
    pages.seal(&[5; 4096], &mut block).unwrap();
    let mut out = vec![0; 4096];
    pages.open(&block, &mut out).unwrap();
    assert_eq!(out, [5; 4096]);
}
