//! Tests that a process forked from the one that seals does not seal under the same keys and
//! nonces.
#![cfg(target_os = "linux")]

use std::sync::Arc;

use sealstone_cipher::testing::fork::{in_children, in_own_process};
use sealstone_cipher::{Backend, Provider, cipher};
use sealstone_keys::{EphemeralKey, KeySource};
use sealstone_seal::catalogue::{Catalogue, CatalogueWriter};
use sealstone_seal::engine_page::{EnginePageError, EnginePages, OVERHEAD_BYTES};
use sealstone_seal::frame::FrameWriter;
use sealstone_seal::paged::PageWriter;
use sealstone_seal::{Layout, SealError, SealedFile};

/// Parent and child have one salt and one counter.
#[test]
fn only_one_process_seals_engine_pages() {
    in_own_process(module_path!(), "only_one_process_seals_engine_pages", || {
        for name in ["aes-256", "3des"] {
            let keys = EphemeralKey::new().unwrap();
            let (current, _) = keys.current().unwrap();
            let new = || {
                let all = keys.all()?;
                EnginePages::new(all, &current, "memory", cipher(name).unwrap(), Backend::auto())
            };
            let pages = new().unwrap();
            let mut block = [0; 100 + OVERHEAD_BYTES];
            pages.seal(&[7; 100], &mut block).unwrap();
            in_children(|| {
                let (mut again, mut opened) = ([1; 100 + OVERHEAD_BYTES], [1; 100]);
                let forked = |outcome: Result<(), EnginePageError>| {
                    matches!(outcome, Err(EnginePageError::Forked(_)))
                };
                assert!(forked(pages.seal(&[7; 100], &mut again)));
                assert_eq!(again, [0; 100 + OVERHEAD_BYTES]);
                assert!(forked(pages.open(&block, &mut opened)));
                assert_eq!(opened, [0; 100]);
                let error = new().unwrap_err().to_string();
                error.ends_with("open files and keys again after the fork")
            });
            let mut opened = [0; 100];
            pages.open(&block, &mut opened).unwrap();
            assert_eq!(opened, [7; 100]);
        }
    });
}

/// Parent and child have one data key, and write the same page and the same byte of a log next.
#[test]
fn only_one_process_writes_a_file() {
    in_own_process(module_path!(), "only_one_process_writes_a_file", || {
        let forked = |outcome: Result<(), SealError>| matches!(outcome, Err(SealError::Forked(_)));
        let keys = EphemeralKey::new().unwrap();
        for name in ["aes-256", "3des"] {
            let create = |layout| {
                SealedFile::create(&keys, cipher(name).unwrap(), Backend::auto(), layout).unwrap().0
            };
            let mut pages = PageWriter::new(&create(Layout::Paged { page_bytes: 4096 })).unwrap();
            let mut frames = FrameWriter::new(&create(Layout::Frames)).unwrap();
            let mut ahead = FrameWriter::new(&create(Layout::Frames)).unwrap();
            let shared = ahead.make_ahead(Arc::default()).unwrap();
            let data = [7; 5000];
            let mut stored = [Vec::new(), Vec::new(), Vec::new()];
            pages.append(&data, &mut stored[0]).unwrap();
            frames.append(&data, &mut stored[1]).unwrap();
            // short enough that key stream for more is made
            ahead.append(&data[..100], &mut stored[2]).unwrap();
            let sealed = stored.clone();
            in_children(|| {
                shared.iter().for_each(|shared| shared.prepare());
                forked(pages.append(&data, &mut stored[0]))
                    && forked(frames.append(&data, &mut stored[1]))
                    && forked(ahead.append(&data[..100], &mut stored[2]))
                    && stored == sealed
            });
            pages.append(&data, &mut stored[0]).unwrap();
            frames.append(&data, &mut stored[1]).unwrap();
            assert!(stored[0].len() > sealed[0].len() && stored[1].len() > sealed[1].len());
        }
    });
}

/// A child does not record for its parent how much of a log was synced.
#[test]
fn only_one_process_records_what_was_synced() {
    in_own_process(module_path!(), "only_one_process_records_what_was_synced", || {
        let (keys, catalogue, mut stored) =
            (EphemeralKey::new().unwrap(), Catalogue::new(Provider::own()).unwrap(), Vec::new());
        for name in ["aes-256", "3des"] {
            let cipher = cipher(name).unwrap();
            let writer = CatalogueWriter::begin(
                &catalogue,
                &[],
                &keys,
                cipher,
                Backend::auto(),
                &mut stored,
            )
            .unwrap();
            let mut slot = writer.slot(0, &[2; 16]).unwrap();
            in_children(|| matches!(slot.record(4096), Err(SealError::Forked(_))));
            slot.record(4096).unwrap();
        }
    });
}
