//! Seals the files of a plain store one by one, as a holder of the key may, without RocksDB: for
//! stores that the RocksDB of these tests does not open.

use std::fs;
use std::path::Path;

use sealstone_cipher::{Backend, Provider};
use sealstone_keys::KeySource;
use sealstone_seal::catalogue::{Catalogue, CatalogueWriter, Change, Entry, State};
use sealstone_seal::frame::FrameWriter;
use sealstone_seal::paged::PageWriter;
use sealstone_seal::{CATALOGUE_NAMES, FileKind, Identity, Layout, SealedFile, rocksdb_name};

/// Seals the store in `plain` into the new directory `sealed`, under the current key of `keys` and
/// AES-256.
///
/// # Panics
/// If a file cannot be read, sealed or written.
pub fn seal(plain: &Path, sealed: &Path, keys: &dyn KeySource) {
    let (cipher, backend) = (sealstone_cipher::cipher("aes-256").expect("known"), Backend::auto());
    fs::create_dir(sealed).expect("a new directory");
    let mut catalogue = Catalogue::new(Provider::own()).expect("random bytes");
    for entry in fs::read_dir(plain).expect("a directory") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name of RocksDB's");
        let (kind, number) = rocksdb_name(&name);
        if kind == FileKind::Loose {
            continue;
        }
        let layout = if kind.grows() { Layout::Frames } else { Layout::Paged { page_bytes: 4096 } };
        let identity = Identity { kind, number, store: catalogue.store };
        let (file, header) =
            SealedFile::create_as(&identity, keys, cipher, backend, layout).expect("a key");
        let (mut stored, content) = (header.to_vec(), fs::read(entry.path()).expect("a file"));
        if kind.grows() {
            FrameWriter::new(&file)
                .and_then(|mut frames| frames.append(&content, &mut stored))
                .expect("a short file");
        } else {
            let mut pages = PageWriter::new(&file).expect("the first writer");
            pages.append(&content, &mut stored).expect("a short file");
            pages.finish(&mut stored).expect("a short file");
        }
        fs::write(sealed.join(&name), stored).expect("room");
        let file_id = file.info().file_id;
        let entry =
            Entry { file_id, adopted: false, slot: None, synced_bytes: 0, state: State::Live };
        catalogue.apply(Change::Put { name, entry });
    }
    catalogue.generation = 1;
    let mut stored = Vec::new();
    CatalogueWriter::begin(&catalogue, &[], keys, cipher, backend, &mut stored).expect("a key");
    CATALOGUE_NAMES.iter().for_each(|name| fs::write(sealed.join(name), &stored).expect("room"));
    fs::write(sealed.join("LOCK"), b"").expect("room");
}
