//! Files sealed by earlier builds still open. They are kept in `vectors/formats` as hexadecimal
//! text, with the key that sealed them; the example `golden` makes them for new ciphers and never
//! replaces a file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealstone_cipher::{Backend, cipher, cipher_by_id, ciphers};
use sealstone_keys::{KeyFile, KeyRef, KeySource};
use sealstone_seal::catalogue::Copy;
use sealstone_seal::engine_page::{self, EnginePages, Place, PlaceKind, page_bytes};
use sealstone_seal::frame::End;
use sealstone_seal::volume::{
    BlockPlace, Entry, EntryPage, Level, Mark, Places, ROOT_AT, Root, RootHead, Run, VolumeKeys,
    frame,
};
use sealstone_seal::{FORMAT_VERSION, HEADER_BYTES, Layout, SealedFile, inspect};

use crate::fixture::{read_frames_of, read_paged_of};

fn content(bytes: usize) -> Vec<u8> {
    (0..).flat_map(|number| format!("{number:07}\n").into_bytes()).take(bytes).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// Returns the golden key, copied to where its mode can be 0600: version control does not keep
/// modes.
fn golden_key(dir: &Path, name: &str) -> KeyFile {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join(name);
    fs::copy(dir.join(name), &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    KeyFile::open(&path).unwrap()
}

#[test]
fn files_of_every_format_version_open() {
    for version in 1..=FORMAT_VERSION {
        files_open(version);
    }
}

fn files_open(version: u16) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/formats");
    let keys = golden_key(&dir, &format!("v{version}.key"));
    let mut seen = Vec::new();
    for entry in fs::read_dir(&dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) =
            name.strip_prefix(&format!("v{version}-")).and_then(|name| name.strip_suffix(".hex"))
        else {
            continue;
        };
        let (cipher_name, layout) = name.rsplit_once('-').unwrap();
        let stored =
            from_hex(&fs::read_to_string(dir.join(format!("v{version}-{name}.hex"))).unwrap());
        assert_eq!(
            inspect(&stored).unwrap().cipher.name,
            cipher(cipher_name).unwrap().name,
            "{name}"
        );
        if layout == "catalogue" {
            let copy = Copy::read(&keys, Backend::auto(), &stored).unwrap();
            let names: Vec<&str> = copy.catalogue.entries().map(|(name, _)| name).collect();
            assert_eq!(names, ["000004.log", "000008.sst", "CURRENT", "MANIFEST-000005"], "{name}");
            let log = copy.catalogue.get("000004.log").unwrap();
            assert_eq!(
                (copy.synced[&log.file_id], copy.catalogue.highest, copy.changes),
                (9000, 8, 1),
                "{name}"
            );
            seen.push(name.to_owned());
            continue;
        }
        if layout == "volume" {
            volume_opens(&keys, &stored, name);
            seen.push(name.to_owned());
            continue;
        }
        let file = SealedFile::open(&keys, Backend::auto(), &stored).unwrap();
        assert_eq!(file.info().format_version, version);
        assert_eq!(cipher_by_id(file.info().cipher.id).unwrap().name, cipher_name);
        assert_eq!((file.info().key.id.as_str(), file.info().key.version), ("golden", 1));
        match layout {
            "paged" => {
                assert_eq!(file.info().layout, Layout::Paged { page_bytes: 4096 });
                assert_eq!(read_paged_of(&file, &stored).unwrap(), content(9000), "{name}");
            }
            "frames" => {
                let (frames, end) = read_frames_of(&file, &stored, usize::MAX).unwrap();
                assert_eq!(
                    frames.iter().map(Vec::len).collect::<Vec<_>>(),
                    [1, 8, 100, 3000, 1],
                    "{name}"
                );
                assert_eq!((frames.concat(), end), (content(3110), End::Clean), "{name}");
            }
            other => panic!("{other}"),
        }
        seen.push(name.to_owned());
    }
    for cipher in ciphers() {
        let large = ["aes-256", "3des"].contains(&cipher.name);
        for layout in
            ["paged", "frames", "catalogue", "volume"].into_iter().take(if large { 4 } else { 2 })
        {
            let name = format!("{}-{layout}", cipher.name);
            assert!(
                seen.contains(&name),
                "{name} of version {version} has no golden file, or lost it: see \
                 vectors/formats/README.md"
            );
        }
    }
}

/// Opens the files of a volume of two blocks, from its root down and from its log.
fn volume_opens(keys: &KeyFile, stored: &[u8], name: &str) {
    let file = SealedFile::open(keys, Backend::auto(), &stored[..HEADER_BYTES]).unwrap();
    assert_eq!(file.info().layout, Layout::Volume { block_bytes: 4096 }, "{name}");
    let mark = *stored[8192 + 2048..].first_chunk().unwrap();
    let map = &stored[16384..];
    assert_eq!(map[2048..2080], mark, "{name}");
    let head = RootHead::read(map.first_chunk().unwrap()).unwrap();
    let (sealed, rest) = map[ROOT_AT as usize..].split_at(head.sealed_bytes);
    let root = Root::open(&file, &head, sealed.to_vec()).unwrap();
    assert_eq!((root.generation, root.blocks, root.leaves.len()), (2, 2, 1), "{name}");
    assert_eq!(root.runs, [Run { epoch: 1, segment: 0, frame: 0 }], "{name}");
    let keys = VolumeKeys::new(file, root.salts.clone()).unwrap();
    assert_eq!(Mark::open(&keys, &mark).unwrap(), Some(Mark { frames: 1, epoch: 1 }), "{name}");

    let places = Places::new(4096);
    let (data, log) = rest.split_at(places.file_bytes(2) as usize);
    let page = |place: (Level, u64), own: &Entry| {
        let at = places.page(place.0, place.1, own);
        let bytes = data[at as usize..].first_chunk().unwrap();
        EntryPage::open(&keys, place, own, bytes, at).unwrap()
    };
    let leaf = page((Level::Leaf, 0), &root.leaves[0]);
    let tags = page((Level::Tags, 0), &leaf.get(0));
    let open = |number, entry, sealed: &[u8]| {
        let mut out = vec![0; 4096];
        keys.open_blocks(&[BlockPlace { number, entry }], sealed, &mut out).unwrap();
        out
    };
    let first = open(0, tags.get(0), &data[places.block(0) as usize..][..4096]);
    assert!(tags.get(1).is_hole(), "{name}");
    let (frame, second) = log.split_at(log.len() - 4096);
    let records = frame::open(&keys, 1, 0, frame).unwrap().unwrap();
    assert_eq!((records.len(), records[0].block), (1, 1), "{name}");
    assert_eq!(records[0].data, frame::Data::Logged, "{name}");
    let second = open(1, records[0].entry, second);
    assert_eq!([first, second].concat(), content(8192), "{name}");
}

#[test]
fn engine_pages_of_every_format_version_open() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/formats");
    let keys = golden_key(&dir, "v1.key");
    let current = KeyRef { id: "golden".into(), version: 1 };
    for cipher in ciphers() {
        let key = (current.clone(), keys.get(&current).unwrap());
        let pages = EnginePages::new(vec![key], &current, "x", cipher, Backend::auto()).unwrap();
        for version in 1..=engine_page::FORMAT_VERSION {
            let path = dir.join(format!("engine-page-v{version}-{}.hex", cipher.name));
            let text = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let block = from_hex(&text);
            let info = engine_page::inspect(&block).unwrap();
            assert_eq!((info.format_version, info.cipher, info.key_version), (version, cipher, 1));
            assert_eq!((info.padding_bytes, info.kind), (36, PlaceKind::Record));
            assert!(info.place_tag && info.journal_kept, "{}", cipher.name);
            let mut page = vec![0; page_bytes(&block).unwrap()];
            let place = Place::new(PlaceKind::Record, b"01234567");
            pages.open_at(&block, &mut page, place).unwrap();
            assert_eq!(page, content(3000), "{}", cipher.name);
        }
    }
}
