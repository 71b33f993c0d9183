//! A toy engine at rest: pages of an array, each sealed as a storage engine's extension seals them.
//! It has the three parts of any engine: pages written and read, an account of the sealed data, and
//! an attacker.

use std::collections::BTreeMap;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::{KeyRef, KeySource};
use sealstone_seal::engine_page::{
    EnginePageError, EnginePages, HEADER_BYTES, OVERHEAD_BYTES, Place, PlaceKind, inspect,
    page_bytes,
};

use crate::fixture::FixedKeys;

/// Bytes in the clear before each block: the number of the page, to which the block is bound.
type Header = [u8; 8];

struct ToyEngine {
    pages: EnginePages,
    /// The data file: headers and blocks.
    stored: Vec<(Header, Vec<u8>)>,
}

impl ToyEngine {
    fn open(keys: &FixedKeys, cipher_name: &str, stored: Vec<(Header, Vec<u8>)>) -> Self {
        let versions =
            keys.0.iter().map(|(id, version, _)| KeyRef { id: (*id).into(), version: *version });
        let all = versions
            .map(|key| keys.get(&key).map(|secret| (key, secret)))
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        let current = keys.current().unwrap().0;
        let cipher = cipher(cipher_name).unwrap();
        Self {
            pages: EnginePages::new(all, &current, "the test keys", cipher, Backend::auto())
                .unwrap(),
            stored,
        }
    }

    fn append(&mut self, page: &[u8]) {
        let header = (self.stored.len() as u64).to_be_bytes();
        let mut block = vec![0; page.len() + OVERHEAD_BYTES];
        block[HEADER_BYTES..][..page.len()].copy_from_slice(page);
        self.pages.seal_in_place(&mut block, 0, Place::new(PlaceKind::Page, &header)).unwrap();
        self.stored.push((header, block));
    }

    fn read(&self, number: usize) -> Result<Vec<u8>, EnginePageError> {
        let (_, block) = &self.stored[number];
        let mut page = vec![0; page_bytes(block)?];
        // the requested number, never the stored number
        self.pages.open_at(
            block,
            &mut page,
            Place::new(PlaceKind::Page, &(number as u64).to_be_bytes()),
        )?;
        Ok(page)
    }
}

/// Counts blocks by cipher and key version, and blocks in the clear, without any key.
fn check(stored: &[(Header, Vec<u8>)]) -> (BTreeMap<(&'static str, u32), usize>, usize) {
    let mut sealed = BTreeMap::new();
    let mut clear = 0;
    for (_, block) in stored {
        match inspect(block) {
            Ok(info) => *sealed.entry((info.cipher.name, info.key_version)).or_insert(0) += 1,
            Err(_) => clear += 1,
        }
    }
    (sealed, clear)
}

#[test]
fn a_toy_engine_seals_its_pages_and_notices_an_attacker() {
    let old = FixedKeys::usual();
    let mut engine = ToyEngine::open(&old, "aria-256", Vec::new());
    engine.append(b"first page");
    engine.append(b"second page");

    // after a rotation both versions open, and the new one seals
    let new = FixedKeys(vec![old.0[0], ("orders", 2, 0x22)]);
    let mut engine = ToyEngine::open(&new, "aria-256", engine.stored);
    engine.append(b"third page");
    let read: Vec<Vec<u8>> = (0..3).map(|number| engine.read(number).unwrap()).collect();
    assert_eq!(read, [b"first page".to_vec(), b"second page".to_vec(), b"third page".to_vec()]);
    let wanted: BTreeMap<(&str, u32), usize> = [(("aria-256", 1), 2), (("aria-256", 2), 1)].into();
    assert_eq!(check(&engine.stored), (wanted, 0));
    assert!(engine.stored.iter().all(|(_, block)| !block.windows(4).any(|bytes| bytes == b"page")));

    // swapped, changed, without its key, in the clear
    engine.stored.swap(0, 1);
    assert!(matches!(engine.read(0), Err(EnginePageError::Changed { .. })));
    engine.stored.swap(0, 1);
    let last = engine.stored[2].1.len() - 1;
    engine.stored[2].1[last] ^= 1;
    assert!(matches!(engine.read(2), Err(EnginePageError::Changed { .. })));
    let mut engine = ToyEngine::open(&old, "aria-256", engine.stored);
    assert!(matches!(engine.read(2), Err(EnginePageError::MissingVersion { version: 2, .. })));
    engine.stored.push(([0; 8], b"a page in the clear".to_vec()));
    assert!(matches!(engine.read(3), Err(EnginePageError::NotSealed { .. })));
    assert_eq!(check(&engine.stored).1, 1);
}
