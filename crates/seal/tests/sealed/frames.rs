//! Frames: synced frames are all there or damaged; beyond that, a cut end or a lost sector is an
//! end, and any other change is damage.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_cipher::{cipher, ciphers};
use sealstone_seal::frame::{
    End, FRAME_BYTES_MAX, FrameReader, FrameWriter, HEAD_BYTES, OVERHEAD_BYTES,
};
use sealstone_seal::{HEADER_BYTES, Layout, SealError};

use crate::fixture::{
    aes, create, data, each_flip, open, read_frames, read_frames_of, read_synced_frames_of,
    seal_frames, thorough,
};

const LENGTHS: [usize; 6] = [1, 100, 15, 700, 16, 40];

fn parts() -> Vec<Vec<u8>> {
    LENGTHS.iter().map(|len| data(*len)).collect()
}

fn sealed(name: &str) -> Vec<u8> {
    let parts = parts();
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    seal_frames(cipher(name).unwrap(), &parts)
}

/// Returns the starts of the frames of `sealed`, and the end of the last one.
fn starts() -> Vec<usize> {
    let mut starts = vec![HEADER_BYTES];
    for len in LENGTHS {
        starts.push(starts.last().unwrap() + OVERHEAD_BYTES + len);
    }
    starts
}

/// Returns the frame that holds the stored byte `at`.
fn frame_at(at: usize) -> usize {
    starts().partition_point(|start| *start <= at) - 1
}

fn assert_frame_error<T: std::fmt::Debug>(result: Result<T, SealError>, frame: usize) {
    match result {
        Err(SealError::Frame { index, offset, .. }) => {
            assert_eq!((index as usize, offset as usize), (frame, starts()[frame]));
        }
        other => panic!("frame {frame}: {other:?}"),
    }
}

#[test]
fn every_cipher_reads_back_what_it_sealed_in_any_portions() {
    for cipher in ciphers() {
        let stored = sealed(cipher.name);
        assert_eq!(stored.len(), *starts().last().unwrap());
        let file = open(&stored).unwrap();
        for portion in [1, 3, 20, 21, 64, 1000, stored.len()] {
            let (frames, end) = read_frames_of(&file, &stored, portion).unwrap();
            assert_eq!((frames, end), (parts(), End::Clean), "{} by {portion}", cipher.name);
        }
    }
}

/// Frames of one log, sealed with key stream made ahead while two others make it, or none does.
fn sealed_ahead(name: &str, parts: &[Vec<u8>], helpers: usize) -> Vec<u8> {
    let (file, mut stored) = create(cipher(name).unwrap(), Layout::Frames);
    let mut writer = FrameWriter::new(&file).unwrap();
    let wanted = Arc::new(AtomicBool::new(false));
    let ended = AtomicBool::new(false);
    let ahead = writer.make_ahead(Arc::clone(&wanted)).unwrap();
    assert_eq!(ahead.is_some(), cipher(name).unwrap().block_bytes == 16);
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    if wanted.swap(false, Ordering::Relaxed) {
                        ahead.iter().for_each(|ahead| ahead.prepare());
                    }
                    std::thread::yield_now();
                }
            });
        }
        for part in parts {
            writer.append(part, &mut stored).unwrap();
            std::thread::yield_now();
        }
        ended.store(true, Ordering::Relaxed);
    });
    stored
}

#[test]
fn key_stream_made_ahead_seals_the_same_frames() {
    // about as long as each other, much shorter and longer than before, longer than any key stream
    let lengths = (0..600).map(|n| match n % 97 {
        11 => 1,
        12 => 5_000,
        40..60 => 30 + n,
        70..75 => 20_000,
        _ => 1_000 + n % 200,
    });
    let parts: Vec<Vec<u8>> = lengths.map(data).collect();
    for cipher in ciphers() {
        for helpers in [0, 2] {
            let stored = sealed_ahead(cipher.name, &parts, helpers);
            let file = open(&stored).unwrap();
            let read = read_synced_frames_of(&file, &stored, usize::MAX, stored.len()).unwrap();
            assert!(read == (parts.clone(), End::Clean), "{} with {helpers} helpers", cipher.name);
        }
    }
}

/// The ciphertext of zeros is the key stream: no block of it may appear twice.
#[test]
fn no_key_stream_seals_two_frames() {
    for (name, helpers) in [("aes-256", 0), ("aes-256", 2), ("aria-128", 2)] {
        let parts: Vec<Vec<u8>> = (0..4_000).map(|n| vec![0; 64 + (n * n) % 1_500]).collect();
        let stored = sealed_ahead(name, &parts, helpers);
        let mut blocks = BTreeSet::new();
        let mut at = HEADER_BYTES + HEAD_BYTES;
        for part in &parts {
            for block in stored[at..at + part.len()].chunks_exact(16) {
                assert!(
                    blocks.insert(block),
                    "{name}: a block of key stream at byte {at} was used before"
                );
            }
            at += part.len() + OVERHEAD_BYTES;
        }
        assert!(blocks.len() > 100_000);
    }
}

#[test]
fn a_file_without_frames_is_an_empty_log() {
    let (_, stored) = create(aes(), Layout::Frames);
    assert_eq!(read_frames(&stored).unwrap(), (vec![], End::Clean));
    assert_eq!(seal_frames(aes(), &[b"", b""]).len(), HEADER_BYTES);
}

#[test]
fn long_portions_are_split() {
    let max = FRAME_BYTES_MAX as usize;
    let data = data(2 * max + 5);
    let stored = seal_frames(aes(), &[&data]);
    assert_eq!(stored.len(), HEADER_BYTES + data.len() + 3 * OVERHEAD_BYTES);
    let (frames, end) = read_frames_of(&open(&stored).unwrap(), &stored, 100_000).unwrap();
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [max, max, 5]);
    assert_eq!((frames.concat(), end), (data, End::Clean));
}

#[test]
fn a_cut_file_ends_where_its_last_whole_frame_does() {
    for name in ["aes-256", "3des"] {
        let (stored, parts) = (sealed(name), parts());
        let file = open(&stored).unwrap();
        for bytes in HEADER_BYTES..stored.len() {
            let whole = starts().iter().filter(|start| **start <= bytes).count() - 1;
            let (frames, end) = read_frames_of(&file, &stored[..bytes], usize::MAX).unwrap();
            assert_eq!(frames, parts[..whole]);
            let offset = starts()[whole];
            let want = match bytes - offset {
                0 => End::Clean,
                torn => End::Torn {
                    offset: offset as u64,
                    bytes: torn as u64,
                    unwritten: stored[offset..bytes].iter().all(|byte| *byte == 0),
                },
            };
            assert_eq!(end, want, "{bytes} bytes");
        }
    }
}

#[test]
fn no_bit_of_a_frame_may_change() {
    for cipher in ciphers() {
        let stored = sealed(cipher.name);
        let file = open(&stored).unwrap();
        each_flip(&stored, HEADER_BYTES, thorough(cipher.name), |at, changed| {
            let read = read_synced_frames_of(&file, changed, usize::MAX, stored.len());
            match read {
                // a length that reaches past the end: the rest of the file would not be there
                Err(SealError::CutShort { end, .. }) => {
                    assert_eq!(end as usize, starts()[frame_at(at)])
                }
                read => assert_frame_error(read, frame_at(at)),
            }
        });
    }
}

#[test]
fn a_changed_length_of_a_synced_frame_is_damage_or_a_cut() {
    let stored = sealed("aes-256");
    let file = open(&stored).unwrap();
    let last = starts()[LENGTHS.len() - 1];
    let read = |length: u32, synced: usize| {
        let mut changed = stored.clone();
        changed[last..last + 4].copy_from_slice(&length.to_be_bytes());
        read_synced_frames_of(&file, &changed, usize::MAX, synced)
    };
    for length in [0, 1, 39, FRAME_BYTES_MAX + 1, u32::MAX] {
        assert_frame_error(read(length, stored.len()), LENGTHS.len() - 1);
        assert_frame_error(read(length, last), LENGTHS.len() - 1);
    }
    for length in [41, 1000, FRAME_BYTES_MAX] {
        let cut = read(length, stored.len()).unwrap_err();
        assert!(
            matches!(cut, SealError::CutShort { end, synced } if (end, synced) == (last as u64,
                stored.len() as u64))
        );
        // it cannot be distinguished from a frame that was never written whole, for which nothing
        // was promised
        assert!(matches!(read(length, last), Ok((_, End::Torn { .. }))));
    }
    assert_eq!(
        read(1, stored.len()).unwrap_err().to_string(),
        format!(
            "frame 5 at byte {last} failed authentication: changed, moved, or from another file\n\
             restore the file from a backup"
        )
    );
}

#[test]
fn the_random_bits_of_a_nonce_differ_and_are_authenticated() {
    let stored = seal_frames(aes(), &[[0; 100].as_slice(); 200]);
    let stride = 100 + OVERHEAD_BYTES;
    let mut bits: Vec<&[u8]> =
        (0..200).map(|frame| &stored[HEADER_BYTES + frame * stride + 4..][..4]).collect();
    bits.sort_unstable();
    bits.dedup();
    assert!(bits.len() > 195, "{} of 200 differ", bits.len());
    // a cipher whose nonce is all counter has no room for them, and none must be made up
    let mut stored = sealed("3des");
    assert_eq!(stored[starts()[0] + 4..][..4], [0; 4]);
    stored[starts()[0] + 7] = 1;
    assert_frame_error(read_frames(&stored), 0);
}

#[test]
fn frames_cannot_be_moved_repeated_or_left_out() {
    // all of one length, so that every exchange keeps the offsets
    let part = data(50);
    let stored = seal_frames(aes(), &[part.as_slice(); 5]);
    let stride = 50 + OVERHEAD_BYTES;
    let frame =
        |number: usize| HEADER_BYTES + number * stride..HEADER_BYTES + (number + 1) * stride;
    let index_of = |changed: &[u8]| match read_frames(changed) {
        Err(SealError::Frame { index, .. }) => index as usize,
        other => panic!("{other:?}"),
    };
    for one in 0..5 {
        for two in 0..5 {
            if one != two {
                let mut changed = stored.clone();
                changed[frame(one)].copy_from_slice(&stored[frame(two)]);
                assert_eq!(index_of(&changed), one);
                changed[frame(two)].copy_from_slice(&stored[frame(one)]);
                assert_eq!(index_of(&changed), one.min(two));
            }
        }
        // left out, and repeated in between; leaving out the last is a cut, which cannot be seen
        let without = [&stored[..frame(one).start], &stored[frame(one).end..]].concat();
        if one < 4 {
            assert_eq!(index_of(&without), one);
        } else {
            assert_eq!(read_frames(&without).unwrap().0.len(), 4);
        }
        let twice = [&stored[..frame(one).end], &stored[frame(one).start..]].concat();
        assert_eq!(index_of(&twice), one + 1);
    }
}

#[test]
fn frames_of_another_file_do_not_fit() {
    // the same data under the same key, as an older log of the same name would be
    for cipher in ciphers() {
        let (one, two) = (sealed(cipher.name), sealed(cipher.name));
        for number in 0..LENGTHS.len() {
            let place = starts()[number]..starts()[number + 1];
            let mut mixed = one.clone();
            mixed[place.clone()].copy_from_slice(&two[place.clone()]);
            assert_frame_error(read_frames(&mixed), number);
            // as a log that was cut and then grew by stale frames
            let stale = [&one[..place.start], &two[place.start..]].concat();
            assert_frame_error(read_frames(&stale), number);
        }
    }
}

#[test]
fn a_lost_sector_ends_what_was_not_synced_and_damages_what_was() {
    let (stored, parts) = (sealed("aes-256"), parts());
    let file = open(&stored).unwrap();
    for sector in (HEADER_BYTES..stored.len()).step_by(512) {
        let mut changed = stored.clone();
        let end = stored.len().min(sector + 512);
        changed[sector..end].fill(0);
        // the frame that holds the sector's first byte, unless that ends right before it
        let hit = frame_at(sector);
        for portion in [7, 512, usize::MAX] {
            let (frames, ended) = read_frames_of(&file, &changed, portion).unwrap();
            assert_eq!(frames, parts[..hit], "sector at {sector}");
            assert!(matches!(ended, End::Torn { offset, .. } if offset == starts()[hit] as u64));
        }
        for synced in [starts()[hit] + 1, end, stored.len()] {
            assert_frame_error(read_synced_frames_of(&file, &changed, usize::MAX, synced), hit);
        }
        // frames synced before are not affected
        assert!(read_synced_frames_of(&file, &changed, usize::MAX, starts()[hit]).is_ok());
    }
}

#[test]
fn zeros_to_the_end_are_a_torn_tail() {
    // the length of a file reached the disk before its data
    let (stored, parts) = (sealed("aes-256"), parts());
    let file = open(&stored).unwrap();
    for cut in (HEADER_BYTES..stored.len() + 512).step_by(512) {
        let cut = cut.min(stored.len());
        let whole = starts().iter().filter(|start| **start <= cut).count() - 1;
        for len in [stored.len(), stored.len() + 1, stored.len() + 5000] {
            let mut changed = stored[..cut].to_vec();
            changed.resize(len, 0);
            let (frames, end) = read_frames_of(&file, &changed, usize::MAX).unwrap();
            assert_eq!(frames, parts[..whole], "cut at {cut}");
            let offset = starts()[whole] as u64;
            let bytes = len as u64 - offset;
            let unwritten = changed[offset as usize..].iter().all(|byte| *byte == 0);
            assert_eq!(
                end,
                if bytes == 0 { End::Clean } else { End::Torn { offset, bytes, unwritten } }
            );
        }
    }
}

#[test]
fn zeros_anywhere_never_yield_wrong_data() {
    let (stored, parts) = (sealed("aes-256"), parts());
    let file = open(&stored).unwrap();
    let (mut torn, mut damaged) = (0, 0);
    for cut in HEADER_BYTES..stored.len() {
        let mut changed = stored[..cut].to_vec();
        changed.resize(stored.len(), 0);
        match read_frames_of(&file, &changed, usize::MAX) {
            Ok((frames, _)) => {
                assert_eq!(frames, parts[..frames.len()]);
                torn += 1;
            }
            Err(SealError::Frame { .. }) => damaged += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(torn > 0 && damaged > 0, "{torn} torn, {damaged} damaged");
}

#[test]
fn an_error_stays() {
    let mut stored = sealed("aes-256");
    stored[starts()[2]] ^= 1;
    let mut reader = FrameReader::new(&open(&stored).unwrap(), 0).unwrap();
    reader.push(&stored[HEADER_BYTES..]);
    assert!(reader.next_frame().unwrap().is_some() && reader.next_frame().unwrap().is_some());
    for _ in 0..3 {
        assert!(matches!(reader.next_frame(), Err(SealError::Frame { index: 2, .. })));
        assert!(matches!(reader.end(), Err(SealError::Frame { index: 2, .. })));
        reader.push(&[0; 100]);
    }
}

#[test]
fn a_log_can_be_followed_while_it_grows() {
    let (file, mut stored) = create(aes(), Layout::Frames);
    let mut writer = FrameWriter::new(&file).unwrap();
    let mut reader = FrameReader::new(&file, 0).unwrap();
    for round in 0..50usize {
        let part = data(round * 7 + 1);
        writer.append(&part, &mut stored).unwrap();
        // the frame arrives in two pieces
        let half = (reader.next_offset() as usize + stored.len()) / 2;
        reader.push(&stored[reader.next_offset() as usize..half]);
        assert!(reader.next_frame().unwrap().is_none());
        assert!(matches!(reader.end().unwrap(), End::Torn { .. }));
        reader.push(&stored[half..]);
        assert_eq!(reader.next_frame().unwrap().unwrap().data, part);
        assert!(reader.next_frame().unwrap().is_none());
        assert_eq!(reader.end().unwrap(), End::Clean);
    }
    assert_eq!(writer.logical_bytes(), reader.logical_bytes());
}

#[test]
fn what_was_synced_cannot_be_cut_off() {
    for cipher in ciphers() {
        let stored = sealed(cipher.name);
        let file = open(&stored).unwrap();
        let synced = starts()[4];
        for bytes in HEADER_BYTES..stored.len() {
            let read = read_synced_frames_of(&file, &stored[..bytes], usize::MAX, synced);
            if bytes >= synced {
                let (frames, _) =
                    read.unwrap_or_else(|error| panic!("{} cut to {bytes}: {error}", cipher.name));
                assert!(frames.len() >= 4);
            } else {
                let end = starts()[frame_at(bytes)] as u64;
                assert!(matches!(read, Err(SealError::CutShort { end: e, synced: s }) if (e,
                        s) == (end, synced as u64)));
                // a tag that happens to end in zeros is not changed by zeroing them
                if stored[bytes..synced].iter().any(|byte| *byte != 0) {
                    let mut zeros = stored.clone();
                    zeros[bytes..].fill(0);
                    let read = read_synced_frames_of(&file, &zeros, usize::MAX, synced);
                    assert!(read.is_err(), "{} zeroed from {bytes}", cipher.name);
                }
            }
        }
    }
}

#[test]
fn the_mark_of_a_first_sync_cannot_be_made_up() {
    for cipher in ciphers() {
        let stored = sealed(cipher.name);
        assert!(!open(&stored).unwrap().was_synced());
        let mark = open(&stored).unwrap().synced_mark().unwrap();
        let place = mark.offset as usize..mark.offset as usize + mark.bytes.len();
        let mut marked = stored.clone();
        marked[place.clone()].copy_from_slice(&mark.bytes);
        assert!(open(&marked).unwrap().was_synced());
        let mut foreign = sealed(cipher.name);
        foreign[place.clone()].copy_from_slice(&mark.bytes);
        let mut changed = marked;
        changed[place.start] ^= 1;
        for forged in [foreign, changed] {
            let error = open(&forged).unwrap_err().to_string();
            assert!(
                error.starts_with(
                    "damaged header: the mark of a file that was synced was changed\n"
                ),
                "{error}"
            );
        }
    }
}

#[test]
fn the_keys_of_another_segment_take_over_in_time() {
    // 3DES: 2^20 blocks under one subkey, which 9 MB in frames of uneven length pass in the middle
    // of a frame
    let parts: Vec<Vec<u8>> = (0..160).map(|number| data(57_000 + number * 13)).collect();
    let stored =
        seal_frames(cipher("3des").unwrap(), &parts.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert!(stored.len() > 9_000_000);
    let (frames, end) = read_frames_of(&open(&stored).unwrap(), &stored, 1 << 20).unwrap();
    assert_eq!((frames, end), (parts, End::Clean));
}

#[test]
fn no_two_frames_share_a_key_stream() {
    // the ciphertext of zeros is the key stream itself
    for cipher in ciphers() {
        let zeros = vec![0; 4096];
        let lengths: Vec<usize> = (1..60).map(|number| number * 13 % 100 + 16).collect();
        let parts: Vec<&[u8]> = lengths.iter().map(|len| &zeros[..*len]).collect();
        let (frames, mut at) = (seal_frames(cipher, &parts), HEADER_BYTES);
        let mut blocks = Vec::new();
        for len in lengths {
            let body = &frames[at + HEAD_BYTES..][..len];
            blocks.extend(body.chunks_exact(8).map(<[u8]>::to_vec));
            at += len + OVERHEAD_BYTES;
        }
        let all = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), all, "{}", cipher.name);
    }
}

#[test]
fn nothing_in_the_clear_is_stored() {
    let marker = b"MARKER-IN-THE-CLEAR";
    for cipher in ciphers() {
        let stored = seal_frames(cipher, &[marker, &marker.repeat(50)]);
        assert!(!stored.windows(8).any(|window| window == &marker[..8]), "{}", cipher.name);
    }
}
