//! Volumes: blocks, pages of entries, frames, marks and roots, each with every cipher.

use sealstone_cipher::{Backend, Cipher, ciphers};
use sealstone_seal::volume::frame::{self, Data, Head, Record};
use sealstone_seal::volume::{
    BlockPlace, CHILDREN, Entry, EntryPage, Epoch, Level, Mark, Places, ROOT_AT, Root, RootHead,
    Run, Salt, VolumeError, VolumeKeys,
};
use sealstone_seal::{FileKind, HEADER_BYTES, Identity, Layout, SealError, SealedFile, inspect};

use crate::fixture::{FixedKeys, data};

const BLOCK_BYTES: u32 = 4096;

/// A volume's header, as it is stored.
fn created(cipher: &'static Cipher, block_bytes: u32) -> [u8; HEADER_BYTES] {
    let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
    let layout = Layout::Volume { block_bytes };
    SealedFile::create_as(&identity, &FixedKeys::usual(), cipher, Backend::auto(), layout)
        .unwrap()
        .1
}

fn keys(header: &[u8], salts: &[Salt]) -> VolumeKeys {
    let file = SealedFile::open(&FixedKeys::usual(), Backend::auto(), header).unwrap();
    VolumeKeys::new(file, salts.to_vec()).unwrap()
}

fn begun(header: &[u8]) -> Epoch {
    keys(header, &[]).begin().unwrap()
}

fn is_block(result: Result<(), VolumeError>, number: u64) -> bool {
    matches!(result, Err(VolumeError::Block { block, offset })
        if block == number && offset == number * u64::from(BLOCK_BYTES))
}

#[test]
fn blocks_open_where_they_were_sealed_and_nowhere_else() {
    for cipher in ciphers() {
        let epoch = begun(&created(cipher, BLOCK_BYTES));
        let numbers: Vec<u64> = (5..45).chain([1 << 33]).collect();
        let plain = data(numbers.len() * BLOCK_BYTES as usize);
        let mut sealed = plain.clone();
        let entries = epoch.seal_blocks(&numbers, &mut sealed).unwrap();
        let blocks: Vec<BlockPlace> = numbers
            .iter()
            .zip(&entries)
            .map(|(number, entry)| BlockPlace { number: *number, entry: *entry })
            .collect();
        let mut out = vec![1; plain.len()];
        epoch.keys().open_blocks(&blocks, &sealed, &mut out).unwrap();
        assert_eq!(out, plain, "{}", cipher.name);

        let one = |block: BlockPlace, sealed: &[u8]| {
            let mut out = vec![1; BLOCK_BYTES as usize];
            let result = epoch.keys().open_blocks(&[block], sealed, &mut out);
            assert!(result.is_ok() || out.iter().all(|byte| *byte == 0), "{}", cipher.name);
            result
        };
        let (first, second) = sealed.split_at(BLOCK_BYTES as usize);
        let second = &second[..BLOCK_BYTES as usize];
        one(blocks[0], first).unwrap();
        assert!(is_block(one(blocks[0], second), 5), "another block's data");
        let moved = BlockPlace { number: 6, ..blocks[0] };
        assert!(is_block(one(moved, first), 6), "another place");
        for bit in [0, 7, 8 * 2000 + 3, 8 * BLOCK_BYTES as usize - 1] {
            let mut changed = first.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(is_block(one(blocks[0], &changed), 5), "bit {bit}");
        }
        for byte in 0..32 {
            let mut entry = entries[0].to_bytes();
            entry[byte] ^= 1;
            let block = BlockPlace { number: 5, entry: Entry::from_bytes(&entry) };
            // of a cipher with 64-bit blocks no random bits go into a nonce
            if cipher.block_bytes == 16 || !(20..24).contains(&byte) {
                assert!(is_block(one(block, first), 5), "{}, byte {byte}", cipher.name);
            }
        }
        assert!(is_block(one(BlockPlace { number: 5, entry: Entry::HOLE }, first), 5), "a hole");
        // one bad block of many keeps all of them back, and is named
        sealed[20 * BLOCK_BYTES as usize] ^= 1;
        out.fill(1);
        assert!(is_block(epoch.keys().open_blocks(&blocks, &sealed, &mut out), 25));
        assert!(out.iter().all(|byte| *byte == 0));
    }
}

/// A copy of a volume, or a snapshot of it, that both go on must not share a nonce under one key.
#[test]
fn two_openings_seal_under_keys_of_their_own() {
    for cipher in ciphers() {
        let header = created(cipher, BLOCK_BYTES);
        let (one, other) = (begun(&header), begun(&header));
        let zeros = || vec![0; BLOCK_BYTES as usize];
        let (mut first, mut second) = (zeros(), zeros());
        let entry = one.seal_blocks(&[3], &mut first).unwrap()[0];
        other.seal_blocks(&[3], &mut second).unwrap();
        assert_ne!(first, second, "{}", cipher.name);
        let block = BlockPlace { number: 3, entry };
        let wrong = other.keys().open_blocks(&[block], &first, &mut zeros());
        assert!(is_block(wrong, 3));
        // the next opening of the same copy reads what the one before sealed
        let next = keys(&header, one.keys().salts()).begin().unwrap();
        assert_eq!((one.number(), next.number()), (1, 2));
        next.keys().open_blocks(&[block], &first, &mut zeros()).unwrap();
    }
}

/// Triple DES allows 2^20 blocks under one key: 8 MiB.
#[test]
fn no_key_seals_more_than_its_cipher_allows() {
    let tdes = sealstone_cipher::cipher("3des").unwrap();
    let header = created(tdes, BLOCK_BYTES);
    let per_key = inspect(&header).unwrap().segment_units;
    assert_eq!(per_key, 1 << 20);
    let epoch = begun(&header);
    let each = u64::from(BLOCK_BYTES) / 8;
    let mut counters = Vec::new();
    let mut last = (Vec::new(), Entry::HOLE);
    // pages of entries take counters too, so blocks do not fill a key evenly
    let mut page = EntryPage::new();
    page.seal(&epoch, (Level::Tags, 0)).unwrap();
    for _ in 0..2100 {
        let mut sealed = data(BLOCK_BYTES as usize);
        let entry = epoch.seal_blocks(&[9], &mut sealed).unwrap()[0];
        counters.push(entry.counter);
        last = (sealed, entry);
    }
    for pair in counters.windows(2) {
        assert!(pair[1] - pair[0] >= each, "{pair:?}");
    }
    for counter in &counters {
        assert_eq!(counter / per_key, (counter + each - 1) / per_key, "{counter}");
    }
    assert!(counters.iter().any(|counter| counter / per_key == 1));
    let mut out = vec![0; BLOCK_BYTES as usize];
    let block = BlockPlace { number: 9, entry: last.1 };
    epoch.keys().open_blocks(&[block], &last.0, &mut out).unwrap();
    assert_eq!(out, data(BLOCK_BYTES as usize));
}

#[test]
fn a_page_of_entries_is_the_one_that_the_page_above_names() {
    for cipher in ciphers() {
        let epoch = begun(&created(cipher, BLOCK_BYTES));
        let place = (Level::Tags, 77);
        let open = |own: &Entry, bytes: &[u8; 4096], place| {
            EntryPage::open(epoch.keys(), place, own, bytes, 0)
        };
        let child = |tag: u8| Entry { tag: [tag; 16], epoch: 1, random: 2, counter: 3 };
        let mut page = EntryPage::new();
        page.set(0, &child(1));
        page.set(CHILDREN - 1, &child(2));
        let first = page.seal(&epoch, place).unwrap();
        let before = page.clone();
        assert_eq!((first.counter % 2, page.own()), (0, first), "its first place");
        assert_eq!(open(&first, page.bytes(), place).unwrap(), page);
        page.set(5, &child(3));
        let second = page.seal(&epoch, place).unwrap();
        assert_eq!(second.counter % 2, 1, "the other place, so that the older one stays whole");
        assert_eq!(page.seal(&epoch, place).unwrap().counter % 2, 0);
        let third = page.own();

        let opened = open(&third, page.bytes(), place).unwrap();
        assert_eq!((opened.get(0), opened.get(5)), (child(1), child(3)));
        assert_eq!((opened.get(1), opened.get(CHILDREN - 1)), (Entry::HOLE, child(2)));
        let refused = |result: Result<EntryPage, VolumeError>| {
            matches!(result, Err(VolumeError::EntryPage { .. }))
        };
        assert!(refused(open(&third, before.bytes(), place)), "an older page");
        assert!(refused(open(&third, page.bytes(), (Level::Tags, 78))), "another page");
        assert!(refused(open(&third, page.bytes(), (Level::Leaf, 77))), "another level");
        for byte in (0..4096).step_by(97).chain([4064, 4080, 4095]) {
            let mut changed = *page.bytes();
            changed[byte] ^= 0x80;
            assert!(refused(open(&third, &changed, place)), "{}, byte {byte}", cipher.name);
        }
    }
}

fn records() -> Vec<Record> {
    let entry = Entry { tag: [7; 16], epoch: 1, random: 8, counter: 9 };
    vec![
        Record { block: 40, entry, data: Data::Logged },
        Record { block: 2, entry, data: Data::InPlace },
        Record { block: 3, entry: Entry::HOLE, data: Data::Hole },
        Record { block: (1 << 62) + 1, entry, data: Data::Logged },
    ]
}

#[test]
fn a_frame_opens_under_its_number_alone() {
    for cipher in ciphers() {
        let header = created(cipher, BLOCK_BYTES);
        let epoch = begun(&header);
        let sealed = frame::seal(&epoch, 17, &records()).unwrap();
        let head = Head::read(sealed.first_chunk().unwrap()).unwrap();
        assert_eq!(head.records_bytes(), sealed.len());
        assert_eq!(head.data_bytes(BLOCK_BYTES), 2 * 4096);
        let open = |epoch_number, number, bytes: &[u8]| {
            frame::open(epoch.keys(), epoch_number, number, bytes).unwrap()
        };
        assert_eq!(open(1, 17, &sealed), Some(records()), "{}", cipher.name);
        assert_eq!(open(1, 18, &sealed), None, "as the next frame");
        assert_eq!(open(2, 17, &sealed), None, "as one of another opening");
        assert_eq!(open(1, 17, &sealed[..sealed.len() - 40]), None, "cut");
        for byte in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[byte] ^= 4;
            let ignored = cipher.block_bytes == 8 && (20..24).contains(&byte);
            assert!(ignored || open(1, 17, &changed).is_none(), "{}, byte {byte}", cipher.name);
        }
        let other = keys(&header, epoch.keys().salts()).begin().unwrap();
        assert_eq!(frame::open(other.keys(), 1, 17, &sealed).unwrap(), Some(records()));
        assert_eq!(frame::open(other.keys(), 2, 17, &sealed).unwrap(), None);
    }
}

#[test]
fn no_head_is_read_from_what_is_none() {
    assert_eq!(Head::read(&[0; 40]), None);
    assert_eq!(Head::read(&[0xff; 40]), None);
    let epoch = begun(&created(sealstone_cipher::cipher("aes-256").unwrap(), BLOCK_BYTES));
    let sealed = frame::seal(&epoch, 0, &records()).unwrap();
    let head = |change: &dyn Fn(&mut [u8; 40])| {
        let mut head: [u8; 40] = *sealed.first_chunk().unwrap();
        change(&mut head);
        Head::read(&head)
    };
    assert!(head(&|_| ()).is_some());
    assert_eq!(head(&|head| head[35] = 0), None, "no records");
    assert_eq!(head(&|head| head[34] = 0x11), None, "too many records");
    assert_eq!(head(&|head| head[39] = 9), None, "more blocks than records");
}

#[test]
fn a_mark_is_of_its_opening_and_number() {
    for cipher in ciphers() {
        let header = created(cipher, BLOCK_BYTES);
        let epoch = begun(&header);
        let bytes = Mark::seal(&epoch, 1000).unwrap();
        let open = |bytes: &[u8; 32]| Mark::open(epoch.keys(), bytes).unwrap();
        assert_eq!(open(&bytes), Some(Mark { frames: 1000, epoch: 1 }));
        assert_eq!(open(&[0; 32]), None);
        for byte in (0..12).chain(16..32) {
            let mut changed = bytes;
            changed[byte] ^= 1;
            assert_eq!(open(&changed), None, "{}, byte {byte}", cipher.name);
        }
        let other = begun(&header);
        assert_eq!(Mark::open(other.keys(), &bytes).unwrap(), None, "a copy that went on");
        let next = keys(&header, epoch.keys().salts()).begin().unwrap();
        assert_eq!(Mark::open(next.keys(), &bytes).unwrap(), Some(Mark { frames: 1000, epoch: 1 }));
        assert!(Mark { frames: 1001, epoch: 1 } > Mark { frames: 1000, epoch: 2 });
    }
}

#[test]
fn a_root_is_read_back_and_any_change_is_found() {
    for cipher in ciphers() {
        let header = created(cipher, BLOCK_BYTES);
        let epoch = begun(&header);
        let places = Places::new(BLOCK_BYTES);
        let mut root = Root::new(places, places.blocks(1 << 30).unwrap());
        assert_eq!((root.blocks, root.leaves.len()), (1 << 18, 17));
        root.generation = 12;
        root.salts = epoch.keys().salts().to_vec();
        root.runs = vec![Run { epoch: 1, segment: 4, frame: 100 }];
        root.leaves[3] = Entry { tag: [3; 16], epoch: 1, random: 0, counter: 5 };
        let file = epoch.keys().file();
        let (head, sealed) = root.seal(file).unwrap();
        let read = RootHead::read(&head).unwrap();
        assert_eq!((read.generation, read.sealed_bytes), (12, sealed.len()));
        assert_eq!(Root::open(file, &read, sealed.clone()).unwrap(), root, "{}", cipher.name);
        for byte in 0..head.len() {
            let mut changed = head;
            changed[byte] ^= 1;
            let opened = RootHead::read(&changed).and_then(|head| {
                Root::open(file, &head, sealed[..head.sealed_bytes.min(sealed.len())].to_vec())
            });
            assert!(opened.is_err(), "{}, byte {byte}", cipher.name);
        }
        for byte in (0..sealed.len()).step_by(13) {
            let mut changed = sealed.clone();
            changed[byte] ^= 1;
            assert!(Root::open(file, &read, changed).is_err());
        }
        assert!(Root::open(file, &read, sealed[..sealed.len() - 1].to_vec()).is_err());
        let other = begun(&created(cipher, BLOCK_BYTES));
        assert!(Root::open(other.keys().file(), &read, sealed).is_err(), "another volume's");
        assert!(ROOT_AT as usize > head.len());
    }
}

#[test]
fn a_root_with_impossible_content_is_refused() {
    let epoch = begun(&created(sealstone_cipher::cipher("aes-256").unwrap(), BLOCK_BYTES));
    let file = epoch.keys().file();
    let run = |epoch, segment, frame| Run { epoch, segment, frame };
    for (runs, possible) in [
        (vec![run(1, 1, 0)], true),
        (vec![run(1, 1, 0), run(2, 2, 0), run(3, 3, 9)], true),
        (vec![run(0, 1, 0)], false),
        (vec![run(4, 1, 0)], false),
        (vec![run(2, 1, 0), run(1, 2, 0)], false),
        (vec![run(1, 2, 0), run(2, 2, 0)], false),
        (vec![run(1, 1, 5), run(2, 2, 4)], false),
    ] {
        let salts = vec![[1; 32]; 3];
        let root = Root { generation: 1, blocks: 1, salts, runs, leaves: vec![Entry::HOLE] };
        let (head, sealed) = root.seal(file).unwrap();
        let opened = Root::open(file, &RootHead::read(&head).unwrap(), sealed);
        assert_eq!(opened.is_ok(), possible, "{:?}", root.runs);
    }
}

/// Blocks and both places of every page of entries share no byte, and begin where direct I/O wants
/// them.
#[test]
fn places_do_not_overlap() {
    for block_bytes in [4096, 8192, 16384] {
        let places = Places::new(block_bytes);
        let children = CHILDREN as u64;
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for leaf in 0..3 {
            pieces.push((places.pair(Level::Leaf, leaf), 8192));
            for tags in [0, 1, children - 1].map(|index| leaf * children + index) {
                assert_eq!(places.leaf_page(tags).0, leaf);
                pieces.push((places.pair(Level::Tags, tags), 8192));
                for block in 0..children {
                    let block = tags * children + block;
                    assert_eq!(places.tag_page(block).0, tags);
                    pieces.push((places.block(block), block_bytes.into()));
                }
            }
        }
        pieces.sort_unstable();
        for pair in pieces.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?}");
        }
        assert!(pieces.iter().all(|(at, _)| at.is_multiple_of(4096)));
        assert_eq!(pieces[0], (0, 8192));
        assert_eq!(
            places.block(places.together(0, 1000) - 1) + u64::from(block_bytes),
            places.pair(Level::Tags, 1)
        );
    }
    let places = Places::new(8192);
    assert_eq!(places.blocks(8192).unwrap(), 1);
    for bytes in [0, 4096, 8191, (16 << 40) + 8192] {
        let error = places.blocks(bytes).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a device of {bytes} bytes; a device has")), "{error}");
    }
}

#[test]
fn only_a_volume_has_its_layout() {
    let aes = sealstone_cipher::cipher("aes-256").unwrap();
    let create = |kind, layout| {
        let identity = Identity { kind, ..Identity::LOOSE };
        SealedFile::create_as(&identity, &FixedKeys::usual(), aes, Backend::auto(), layout)
    };
    let volume = |block_bytes| Layout::Volume { block_bytes };
    for block_bytes in [4096, 8192, 16384] {
        let (file, header) = create(FileKind::Volume, volume(block_bytes)).unwrap();
        assert_eq!(inspect(&header).unwrap().layout, volume(block_bytes));
        VolumeKeys::new(file, Vec::new()).unwrap();
    }
    for block_bytes in [0, 512, 5000, 32768] {
        let result = create(FileKind::Volume, volume(block_bytes));
        assert!(matches!(result, Err(SealError::PageBytes { .. })), "{block_bytes}");
    }
    for kind in [FileKind::Loose, FileKind::Table, FileKind::Log] {
        let result = create(kind, volume(4096));
        assert!(matches!(result, Err(SealError::WrongLayout { .. })), "{kind:?}");
    }
    for layout in [Layout::Frames, Layout::Paged { page_bytes: 4096 }] {
        let result = create(FileKind::Volume, layout);
        assert!(matches!(result, Err(SealError::WrongLayout { .. })), "{layout:?}");
    }
    let (file, _) = create(FileKind::Table, Layout::Paged { page_bytes: 4096 }).unwrap();
    assert!(VolumeKeys::new(file, Vec::new()).is_err());
}
