//! Pages: every length, every change, every exchange.

use sealstone_cipher::{Cipher, cipher, ciphers};
use sealstone_seal::paged::{PageWriter, Pages, Shape, logical_bytes, stored_bytes};
use sealstone_seal::{HEADER_BYTES, Layout, SealError, TAG_BYTES};

use crate::fixture::{
    PAGE_BYTES, aes, create, data, each_flip, open, read_paged, read_paged_of, seal_paged, thorough,
};

const PAGE: usize = PAGE_BYTES as usize;
const STRIDE: usize = PAGE + TAG_BYTES;

fn named(name: &str) -> &'static Cipher {
    cipher(name).unwrap()
}

/// Returns the stored bytes of page `page`, tag included, as a range.
fn page(page: usize, stored: &[u8]) -> std::ops::Range<usize> {
    let start = HEADER_BYTES + page * STRIDE;
    start..(start + STRIDE).min(stored.len())
}

fn assert_page_error(result: Result<Vec<u8>, SealError>, page: usize) {
    match result {
        Err(SealError::Page { page: found, offset }) => {
            assert_eq!((found as usize, offset as usize), (page, HEADER_BYTES + page * STRIDE));
        }
        other => panic!("page {page}: {:?}", other.map(|data| data.len())),
    }
}

#[test]
fn every_cipher_reads_back_what_it_sealed() {
    for cipher in ciphers() {
        for len in [
            0,
            1,
            7,
            8,
            15,
            16,
            17,
            PAGE - 1,
            PAGE,
            PAGE + 1,
            2 * PAGE,
            3 * PAGE - 8,
            3 * PAGE + 100,
        ] {
            let data = data(len);
            let stored = seal_paged(cipher, &data);
            assert_eq!(
                stored.len() as u64,
                stored_bytes(PAGE_BYTES, len as u64),
                "{} {len}",
                cipher.name
            );
            assert_eq!(
                logical_bytes(open(&stored).unwrap().info(), stored.len() as u64).unwrap(),
                len as u64
            );
            assert_eq!(read_paged(&stored).unwrap(), data, "{} {len}", cipher.name);
        }
    }
}

#[test]
fn the_portions_of_writing_do_not_matter() {
    let data = data(3 * PAGE + 77);
    for portion in [1, 13, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 2 * PAGE + 1, data.len()] {
        let (file, mut stored) = create(aes(), Layout::Paged { page_bytes: PAGE_BYTES });
        let mut writer = PageWriter::new(&file).unwrap();
        for (number, part) in data.chunks(portion).enumerate() {
            writer.append(part, &mut stored).unwrap();
            assert_eq!(
                writer.logical_bytes() as usize,
                (number * portion + part.len()).min(data.len())
            );
            // the writer buffers at most a page
            let sealed = (stored.len() - HEADER_BYTES) / STRIDE * PAGE;
            assert!(writer.logical_bytes() as usize - sealed <= PAGE);
        }
        writer.finish(&mut stored).unwrap();
        assert_eq!(read_paged(&stored).unwrap(), data, "portions of {portion}");
    }
}

/// Returns the pages of a file of `data` in pages of `page_bytes`, written in portions of `portion`
/// bytes, and its stored bytes.
fn pages_of(
    cipher: &'static Cipher,
    page_bytes: u32,
    data: &[u8],
    portion: usize,
) -> (Pages, Vec<u8>) {
    let (file, mut stored) = create(cipher, Layout::Paged { page_bytes });
    let mut writer = PageWriter::new(&file).unwrap();
    data.chunks(portion).for_each(|part| writer.append(part, &mut stored).unwrap());
    writer.finish(&mut stored).unwrap();
    let last = Shape::of(&file, stored.len() as u64).unwrap().last_page();
    let mut buffer = stored[last.offset as usize..].to_vec();
    let (pages, _) = Pages::open(&file, stored.len() as u64, &mut buffer).unwrap();
    (pages, stored)
}

/// Opens `len` bytes from `offset` on, of pages stored as `stored`.
fn read_run(
    pages: &Pages,
    stored: &[u8],
    offset: u64,
    len: usize,
) -> (Result<(), SealError>, Vec<u8>) {
    let span = pages.locate(offset, len).unwrap();
    let mut out = vec![0xa5; span.bytes];
    let stored = &stored[span.stored.offset as usize..][..span.stored.bytes];
    (pages.read(&span, stored, &mut out), out)
}

#[test]
fn runs_of_pages_are_those_of_single_pages() {
    for (cipher, page_bytes) in
        [("aes-256", 1024), ("aria-256", 2048), ("lea-256", 1024), ("3des", 1024)]
    {
        let (cipher, page) = (named(cipher), page_bytes as usize);
        let data = data(60 * page + 77);
        let one_by_one = pages_of(cipher, page_bytes, &data, 100);
        for portion in [page, 5 * page + 3, 19 * page, data.len()] {
            let (pages, stored) = pages_of(cipher, page_bytes, &data, portion);
            // pages opened one at a time have what was written in runs
            for number in 0..pages.shape().pages() {
                let at = pages.shape().page(number);
                let mut one = stored[at.offset as usize..][..at.bytes].to_vec();
                let bytes = pages.open_stored(number, &mut one).unwrap();
                assert_eq!(one[..bytes], data[number as usize * page..][..bytes]);
            }
            for (offset, len) in
                [(0, data.len()), (1, page), (page - 1, 20 * page), (3 * page, 4101)]
            {
                for (pages, stored) in [(&pages, &stored), (&one_by_one.0, &one_by_one.1)] {
                    let (read, out) = read_run(pages, stored, offset as u64, len);
                    read.unwrap();
                    assert_eq!(out, data[offset..offset + len], "{} {portion}", cipher.name);
                }
            }
        }
        // one forged page of a run, wherever it is, is named, and nothing is returned
        let (pages, stored) = one_by_one;
        for number in 0..pages.shape().pages() {
            let at = pages.shape().page(number);
            let mut forged = stored.clone();
            forged[at.offset as usize + at.bytes / 2] ^= 4;
            let (read, out) = read_run(&pages, &forged, 5, data.len());
            match read {
                Err(SealError::Page { page, offset }) => {
                    assert_eq!((page, offset), (number, at.offset));
                }
                other => panic!("page {number}: {other:?}"),
            }
            assert!(out.iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn runs_end_where_a_segment_ends() {
    let cipher = named("3des");
    // 8 MB under a key: 8,192 pages
    let data = data(8210 << 10);
    let (pages, stored) = pages_of(cipher, 1024, &data, data.len());
    for offset in [8180 << 10, (8192 << 10) - 1, 8192 << 10] {
        let (read, out) = read_run(&pages, &stored, offset as u64, 15 << 10);
        read.unwrap();
        assert!(out == data[offset..][..15 << 10], "from {offset}");
    }
}

#[test]
fn reads_at_random_agree_with_the_data() {
    let data = data(5 * PAGE + 1234);
    let stored = seal_paged(aes(), &data);
    let file = open(&stored).unwrap();
    let last = Shape::of(&file, stored.len() as u64).unwrap().last_page();
    let mut buffer = stored[last.offset as usize..].to_vec();
    let (pages, tail) = Pages::open(&file, stored.len() as u64, &mut buffer).unwrap();
    assert_eq!(tail, &data[5 * PAGE..]);
    assert_eq!(pages.logical_bytes() as usize, data.len());

    let edges = [
        0,
        1,
        PAGE - 1,
        PAGE,
        PAGE + 1,
        3 * PAGE,
        5 * PAGE - 1,
        5 * PAGE,
        5 * PAGE + 1,
        data.len() - 1,
    ];
    for offset in edges.into_iter().chain([data.len()]) {
        for len in [0, 1, 2, 100, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, data.len(), usize::MAX] {
            let span = pages.locate(offset as u64, len).unwrap();
            let want = &data[offset..offset.saturating_add(len).min(data.len())];
            assert_eq!(span.bytes, want.len());
            let read = &stored[span.stored.offset as usize..][..span.stored.bytes];
            let mut out = vec![0; want.len()];
            pages.read(&span, read, &mut out).unwrap();
            assert_eq!(out, want, "{len} bytes at {offset}");
        }
    }
    let past = pages.locate(data.len() as u64 + 1, 1).unwrap_err();
    assert_eq!(
        past.to_string(),
        format!("read of 1 bytes at {}, the file holds {}", data.len() + 1, data.len())
    );
    assert!(matches!(pages.open_page(6, &mut [0; PAGE], &[0; 16]), Err(SealError::PastEnd { .. })));
    assert!(matches!(
        pages.open_page(0, &mut [0; PAGE - 1], &[0; 16]),
        Err(SealError::Page { page: 0, .. })
    ));
    assert!(matches!(pages.open_stored(0, &mut [0; 3]), Err(SealError::Page { page: 0, .. })));
}

#[test]
fn no_bit_of_a_page_may_change() {
    for cipher in ciphers() {
        let stored = seal_paged(cipher, &data(PAGE + 40));
        let file = open(&stored).unwrap();
        each_flip(&stored, HEADER_BYTES, thorough(cipher.name), |at, changed| {
            assert_page_error(read_paged_of(&file, changed), (at - HEADER_BYTES) / STRIDE);
        });
    }
}

#[test]
fn a_damaged_page_does_not_spoil_its_neighbours() {
    let data = data(3 * PAGE);
    let mut stored = seal_paged(aes(), &data);
    stored[HEADER_BYTES + STRIDE + 5] ^= 1;
    let file = open(&stored).unwrap();
    let last = Shape::of(&file, stored.len() as u64).unwrap().last_page();
    let mut buffer = stored[last.offset as usize..].to_vec();
    let (pages, _) = Pages::open(&file, stored.len() as u64, &mut buffer).unwrap();
    for number in 0..3 {
        let mut buffer = stored[page(number, &stored)].to_vec();
        match pages.open_stored(number as u64, &mut buffer) {
            Ok(bytes) => assert_eq!(buffer[..bytes], data[number * PAGE..][..bytes]),
            Err(error) => {
                assert_eq!(number, 1);
                assert!(
                    buffer[..PAGE].iter().all(|byte| *byte == 0),
                    "a failed page left data behind"
                );
                assert_eq!(
                    error.to_string(),
                    format!(
                        "page 1 at byte {} failed authentication: changed, moved, or from another \
                         file\n\
                         restore the file from a backup",
                        HEADER_BYTES + STRIDE
                    )
                );
            }
        }
    }
}

#[test]
fn every_shorter_file_is_refused() {
    for (name, len) in
        [("aes-256", 3 * PAGE + 9), ("3des", 2 * PAGE), ("aria-128", 0), ("aes-128", 1)]
    {
        let stored = seal_paged(cipher(name).unwrap(), &data(len));
        let file = open(&stored).unwrap();
        for bytes in HEADER_BYTES..stored.len() {
            let refused = read_paged_of(&file, &stored[..bytes]).unwrap_err();
            assert!(
                matches!(refused, SealError::Unfinished { .. } | SealError::Page { .. }),
                "{bytes}: {refused}"
            );
        }
    }
}

#[test]
fn a_file_cut_between_pages_is_unfinished() {
    let stored = seal_paged(aes(), &data(3 * PAGE + 9));
    for pages in 1..=3 {
        let refused = read_paged(&stored[..HEADER_BYTES + pages * STRIDE]).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "incomplete: it ends with page {}, which is not its last page\n\
                 its writer was stopped, or the file was cut; restore it from a backup",
                pages - 1
            )
        );
    }
    // the writer was stopped before `finish`
    let (file, mut stored) = create(aes(), Layout::Paged { page_bytes: PAGE_BYTES });
    let mut writer = PageWriter::new(&file).unwrap();
    writer.append(&data(2 * PAGE + 5), &mut stored).unwrap();
    drop(writer);
    assert!(matches!(read_paged(&stored), Err(SealError::Unfinished { .. })));
}

#[test]
fn longer_files_are_refused() {
    let stored = seal_paged(aes(), &data(PAGE + 9));
    for more in [1, 15, 16, 17, PAGE, STRIDE, 2 * STRIDE] {
        for filler in [0, 0xA5] {
            let longer = [stored.as_slice(), &vec![filler; more]].concat();
            assert!(read_paged(&longer).is_err(), "{more} bytes of {filler}");
        }
    }
    let again = [&stored, &stored[page(1, &stored)]].concat();
    assert!(read_paged(&again).is_err());
}

#[test]
fn pages_cannot_change_places() {
    let stored = seal_paged(aes(), &data(4 * PAGE));
    for (one, two) in [(0, 1), (0, 2), (1, 2), (0, 3), (2, 3)] {
        let mut swapped = stored.clone();
        let (a, b) = (page(one, &stored), page(two, &stored));
        swapped[a.clone()].copy_from_slice(&stored[b.clone()]);
        swapped[b].copy_from_slice(&stored[a.clone()]);
        assert!(read_paged(&swapped).is_err());

        let mut doubled = stored.clone();
        doubled[page(two, &stored)].copy_from_slice(&stored[a]);
        assert_page_error(read_paged(&doubled), two);
    }
    let mut dropped = stored.clone();
    dropped.drain(page(1, &stored));
    assert!(read_paged(&dropped).is_err());
}

#[test]
fn pages_of_another_file_do_not_fit() {
    // the same data under the same key, as an older version of a file would be
    for cipher in ciphers() {
        let (one, two) =
            (seal_paged(cipher, &data(2 * PAGE + 30)), seal_paged(cipher, &data(2 * PAGE + 30)));
        for number in 0..3 {
            let mut mixed = one.clone();
            let place = page(number, &one);
            assert_ne!(one[place.clone()], two[place.clone()]);
            mixed[place.clone()].copy_from_slice(&two[place]);
            assert_page_error(read_paged(&mixed), number);
        }
        // all of its pages under our header
        let mixed = [&one[..HEADER_BYTES], &two[HEADER_BYTES..]].concat();
        assert_page_error(read_paged(&mixed), 2);
    }
}

#[test]
fn a_whole_file_may_take_another_s_place() {
    // a seal of single files cannot detect this, see SECURITY.md
    let older = seal_paged(aes(), b"older");
    assert_eq!(read_paged(&older).unwrap(), b"older");
}

#[test]
fn the_keys_of_another_segment_take_over_in_time() {
    // 3DES: 512 pages of 16 KiB under one subkey
    let tdes = cipher("3des").unwrap();
    let page_bytes = 16 << 10;
    let data = data(514 * page_bytes as usize + 100);
    let (file, mut stored) = create(tdes, Layout::Paged { page_bytes });
    let mut writer = PageWriter::new(&file).unwrap();
    writer.append(&data, &mut stored).unwrap();
    writer.finish(&mut stored).unwrap();
    assert_eq!(read_paged(&stored).unwrap(), data);

    // the first page of the second segment starts over at counter 0: under another subkey, or it
    // would repeat
    let stride = page_bytes as usize + TAG_BYTES;
    let cipher_of = |page: usize| &stored[HEADER_BYTES + page * stride..][..page_bytes as usize];
    let xor = |page: usize| -> Vec<u8> {
        let plain = &data[page * page_bytes as usize..][..page_bytes as usize];
        cipher_of(page).iter().zip(plain).map(|(a, b)| a ^ b).collect()
    };
    assert_ne!(xor(0), xor(512), "two segments share a key stream");
    assert_ne!(xor(511)[16..], xor(512)[..page_bytes as usize - 16]);
    for swap in [(0, 512), (511, 512), (1, 513)] {
        let mut swapped = stored.clone();
        let from = HEADER_BYTES + swap.0 * stride;
        swapped.copy_within(from..from + stride, HEADER_BYTES + swap.1 * stride);
        match read_paged(&swapped) {
            Err(SealError::Page { page, .. }) => assert_eq!(page as usize, swap.1),
            other => panic!("{:?}", other.map(|data| data.len())),
        }
    }
}

#[test]
fn no_two_pages_share_a_key_stream() {
    // the ciphertext of zeros is the key stream itself
    for cipher in ciphers() {
        let stored = seal_paged(cipher, &vec![0; 6 * PAGE]);
        let mut blocks: Vec<&[u8]> =
            (0..6).flat_map(|number| stored[page(number, &stored)][..PAGE].chunks(16)).collect();
        let all = blocks.len();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), all, "{}", cipher.name);
    }
}

#[test]
fn lengths_agree_both_ways() {
    for page_bytes in [4096, 16384, 65536] {
        let page = u64::from(page_bytes);
        let file = create(aes(), Layout::Paged { page_bytes }).0;
        let logical_bytes = |stored: u64| logical_bytes(file.info(), stored);
        for logical in [0, 1, page - 1, page, page + 1, 2 * page, 10 * page + 3, (1 << 50) + 1] {
            let stored = stored_bytes(page_bytes, logical);
            assert_eq!(logical_bytes(stored).unwrap(), logical);
        }
        // between two pages no length is that of a file: from a lone tag to a whole one
        let full = stored_bytes(page_bytes, page);
        for stored in full + 1..full + 17 {
            assert!(matches!(logical_bytes(stored), Err(SealError::Unfinished { .. })), "{stored}");
        }
        assert_eq!(logical_bytes(full + 17).unwrap(), page + 1);
        for stored in 0..HEADER_BYTES as u64 + 16 {
            assert!(logical_bytes(stored).is_err(), "{stored}");
        }
        assert!(logical_bytes(u64::MAX).is_ok_and(|bytes| bytes > 1 << 60));
    }
    let frames = create(aes(), Layout::Frames).0;
    assert!(matches!(logical_bytes(frames.info(), 50_000), Err(SealError::WrongLayout { .. })));
}

#[test]
fn many_threads_read_one_file() {
    let data = data(600 * PAGE);
    let stored = seal_paged(cipher("3des").unwrap(), &data);
    let file = open(&stored).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(read_paged_of(&file.clone(), &stored).unwrap(), data));
        }
    });
}

#[test]
fn nothing_in_the_clear_is_stored() {
    let marker = b"MARKER-IN-THE-CLEAR";
    for cipher in ciphers() {
        let stored = seal_paged(cipher, &marker.repeat(700));
        assert!(!stored.windows(8).any(|window| window == &marker[..8]), "{}", cipher.name);
    }
}
