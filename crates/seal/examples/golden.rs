//! Makes the golden files of the current format version in a directory, as hexadecimal text: one of
//! pages, one of frames, a catalogue, a volume and an engine page for every cipher that has none
//! there yet.
//! Existing files are left unchanged: golden files prove that *old* files still open.
//!
//! `cargo run -p sealstone-seal --example golden -- vectors/formats`

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

use sealstone_cipher::{Backend, Cipher, Provider, ciphers};
use sealstone_keys::{KeyFile, KeySource};
use sealstone_seal::catalogue::{Catalogue, CatalogueWriter, Change, Entry, State};
use sealstone_seal::engine_page::{
    self, EnginePages, HEADER_BYTES, OVERHEAD_BYTES, PLACE_TAG_BYTES, Place, PlaceKind,
};
use sealstone_seal::frame::FrameWriter;
use sealstone_seal::paged::PageWriter;
use sealstone_seal::volume::{
    EntryPage, Level, Mark, Places, ROOT_AT, Root, Run, VolumeKeys, frame,
};
use sealstone_seal::{FORMAT_VERSION, FileKind, Identity, Layout, SealedFile};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("give the directory of the golden files")?;
    let dir = Path::new(&dir);
    let key_path = dir.join(format!("v{FORMAT_VERSION}.key"));
    let keys = if key_path.exists() {
        KeyFile::open(&key_path)?
    } else {
        KeyFile::create(&key_path, "golden")?
    };
    for cipher in ciphers() {
        let name = cipher.name;
        for (file, seal) in [
            (format!("v{FORMAT_VERSION}-{name}-paged.hex"), paged as Seal),
            (format!("v{FORMAT_VERSION}-{name}-frames.hex"), frames),
            (format!("v{FORMAT_VERSION}-{name}-catalogue.hex"), catalogue),
            (format!("v{FORMAT_VERSION}-{name}-volume.hex"), volume),
            (format!("engine-page-v{}-{name}.hex", engine_page::FORMAT_VERSION), engine_page_of),
        ] {
            // one with each size of blocks: they are large
            let is_large = file.ends_with("catalogue.hex") || file.ends_with("volume.hex");
            if is_large && !["aes-256", "3des"].contains(&name) {
                continue;
            }
            let path = dir.join(file);
            if path.exists() {
                println!("{} stays", path.display());
                continue;
            }
            let stored = seal(&keys, cipher)?;
            fs::File::create_new(&path)?.write_all(hex(&stored).as_bytes())?;
            println!("{} made, {} bytes", path.display(), stored.len());
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| {
        bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\n".into()]).collect::<String>()
    };
    bytes.chunks(48).map(line).collect()
}

type Seal = fn(&KeyFile, &'static Cipher) -> Result<Vec<u8>, Box<dyn Error>>;

/// Builds the content of all golden files: the numbers from 0 on, seven digits and a line end each.
fn content(bytes: usize) -> Vec<u8> {
    (0..).flat_map(|number| format!("{number:07}\n").into_bytes()).take(bytes).collect()
}

/// Seals 9,000 bytes: two pages and a shorter last page.
fn paged(keys: &KeyFile, cipher: &'static Cipher) -> Result<Vec<u8>, Box<dyn Error>> {
    let layout = Layout::Paged { page_bytes: 4096 };
    let (file, header) = SealedFile::create(keys, cipher, Backend::auto(), layout)?;
    let mut stored = header.to_vec();
    let mut writer = PageWriter::new(&file)?;
    writer.append(&content(9000), &mut stored)?;
    writer.finish(&mut stored)?;
    Ok(stored)
}

/// Seals 3,110 bytes in five frames of uneven length.
fn frames(keys: &KeyFile, cipher: &'static Cipher) -> Result<Vec<u8>, Box<dyn Error>> {
    let (file, header) = SealedFile::create(keys, cipher, Backend::auto(), Layout::Frames)?;
    let mut stored = header.to_vec();
    let mut writer = FrameWriter::new(&file)?;
    let content = content(3110);
    let mut rest = content.as_slice();
    for bytes in [1, 8, 100, 3000, 1] {
        let (part, later) = rest.split_at(bytes);
        writer.append(part, &mut stored)?;
        rest = later;
    }
    let mark = file.synced_mark()?;
    stored[mark.offset as usize..][..mark.bytes.len()].copy_from_slice(&mark.bytes);
    Ok(stored)
}

/// Makes a catalogue of four files, one of them a log of which 9,000 bytes were synced, and one
/// that a change added.
fn catalogue(keys: &KeyFile, cipher: &'static Cipher) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut catalogue = Catalogue::new(Provider::own())?;
    let entry = |id: u8, slot| Entry {
        file_id: [id; 16],
        adopted: false,
        slot,
        synced_bytes: 0,
        state: State::Live,
    };
    for (id, name, slot) in
        [(1, "CURRENT", None), (2, "MANIFEST-000005", Some(0)), (3, "000004.log", Some(1))]
    {
        catalogue.apply(Change::Put { name: name.into(), entry: entry(id, slot) });
    }
    let mut stored = Vec::new();
    let synced = [(1, [3; 16], 9000)];
    let mut writer =
        CatalogueWriter::begin(&catalogue, &synced, keys, cipher, Backend::auto(), &mut stored)?;
    writer
        .append(&[Change::Put { name: "000008.sst".into(), entry: entry(4, None) }], &mut stored)?;
    Ok(stored)
}

/// Makes a volume of two blocks and returns its files, one after the other: the header, the map of
/// generation 2, the blocks, and the log. Block 0 is in place, block 1 in the log, whose one frame
/// was synced.
fn volume(keys: &KeyFile, cipher: &'static Cipher) -> Result<Vec<u8>, Box<dyn Error>> {
    const BLOCK_BYTES: usize = 4096;
    let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
    let layout = Layout::Volume { block_bytes: BLOCK_BYTES as u32 };
    let (file, header) = SealedFile::create_as(&identity, keys, cipher, Backend::auto(), layout)?;
    let epoch = VolumeKeys::new(file, Vec::new())?.begin()?;
    let places = Places::new(BLOCK_BYTES as u32);
    let mut sealed = content(2 * BLOCK_BYTES);
    let entries = epoch.seal_blocks(&[0, 1], &mut sealed)?;
    let (first, second) = sealed.split_at(BLOCK_BYTES);

    let mut tags = EntryPage::new();
    tags.set(0, &entries[0]);
    let mut leaf = EntryPage::new();
    leaf.set(0, &tags.seal(&epoch, (Level::Tags, 0))?);
    let top = leaf.seal(&epoch, (Level::Leaf, 0))?;
    let mut data = vec![0; places.file_bytes(2) as usize];
    let mut put = |at: u64, bytes: &[u8]| data[at as usize..][..bytes.len()].copy_from_slice(bytes);
    put(places.page(Level::Leaf, 0, &top), leaf.bytes());
    put(places.page(Level::Tags, 0, &tags.own()), tags.bytes());
    put(places.block(0), first);

    let record = frame::Record { block: 1, entry: entries[1], data: frame::Data::Logged };
    let log = [&frame::seal(&epoch, 0, &[record])?, second].concat();
    let root = Root {
        generation: 2,
        salts: epoch.keys().salts().to_vec(),
        runs: vec![Run { epoch: 1, segment: 0, frame: 0 }],
        leaves: vec![top],
        ..Root::new(places, 2)
    };
    let (head, sealed) = root.seal(epoch.keys().file())?;
    let mark = Mark::seal(&epoch, 1)?;
    let mut stored = header.to_vec();
    stored.resize(16384, 0);
    stored[8192 + 2048..][..mark.len()].copy_from_slice(&mark);
    let map = stored.len();
    stored.extend_from_slice(&head);
    stored.resize(map + ROOT_AT as usize, 0);
    stored[map + 2048..][..mark.len()].copy_from_slice(&mark);
    stored.extend_from_slice(&sealed);
    stored.extend_from_slice(&data);
    stored.extend_from_slice(&log);
    Ok(stored)
}

/// Returns a block of 3,000 bytes and 36 of padding, bound to a journal record with eight bytes of
/// header.
fn engine_page_of(keys: &KeyFile, cipher: &'static Cipher) -> Result<Vec<u8>, Box<dyn Error>> {
    const PADDING_BYTES: usize = 36;
    let (current, _) = keys.current()?;
    let pages = EnginePages::new(keys.all()?, &current, &keys.describe(), cipher, Backend::auto())?;
    let page = content(3000);
    let mut block = vec![0; page.len() + OVERHEAD_BYTES + PADDING_BYTES + PLACE_TAG_BYTES];
    block[HEADER_BYTES..][..page.len()].copy_from_slice(&page);
    let place = Place::new(PlaceKind::Record, b"01234567").with_place_tag().with_journal_kept(true);
    pages.seal_in_place(&mut block, PADDING_BYTES, place)?;
    Ok(block)
}
