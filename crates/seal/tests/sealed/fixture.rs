//! Keys with known secrets, and whole files sealed and read in one call.

use sealstone_cipher::{Backend, Cipher, cipher};
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};
use sealstone_seal::frame::{End, FrameReader, FrameWriter};
use sealstone_seal::paged::{PageWriter, Pages, Shape};
use sealstone_seal::{HEADER_BYTES, Layout, SealError, SealedFile};

/// A short page, so that test files stay small.
pub(crate) const PAGE_BYTES: u32 = 4096;

/// A key source of fixed secrets: `(id, version, every byte of the secret)`. The last one is
/// current.
pub(crate) struct FixedKeys(pub(crate) Vec<(&'static str, u32, u8)>);

impl FixedKeys {
    /// Returns the key that most tests use.
    pub(crate) fn usual() -> Self {
        Self(vec![("orders", 1, 0x11)])
    }
}

impl KeySource for FixedKeys {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        let (id, version, byte) = *self.0.last().unwrap();
        Ok((KeyRef { id: id.into(), version }, Secret::from_bytes(&[byte; 32])))
    }

    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        if let Some((_, _, byte)) =
            self.0.iter().find(|(id, version, _)| *id == key.id && *version == key.version)
        {
            return Ok(Secret::from_bytes(&[*byte; 32]));
        }
        let place = self.describe();
        let available: Vec<u32> =
            self.0.iter().filter(|(id, ..)| *id == key.id).map(|entry| entry.1).collect();
        if available.is_empty() {
            return Err(KeyError::OtherKey { wanted: key.clone(), place, id: self.0[0].0.into() });
        }
        Err(KeyError::MissingVersion { wanted: key.clone(), place, available })
    }

    fn describe(&self) -> String {
        "the test keys".into()
    }
}

/// Returns data that differs in every 8 bytes, `len` bytes long.
pub(crate) fn data(len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 8);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    while out.len() < len {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(len);
    out
}

pub(crate) fn create(cipher: &'static Cipher, layout: Layout) -> (SealedFile, Vec<u8>) {
    let (file, header) =
        SealedFile::create(&FixedKeys::usual(), cipher, Backend::auto(), layout).unwrap();
    (file, header.to_vec())
}

pub(crate) fn open(stored: &[u8]) -> Result<SealedFile, SealError> {
    SealedFile::open(&FixedKeys::usual(), Backend::auto(), stored)
}

/// Returns a whole paged file of `data`, in pages of [`PAGE_BYTES`].
pub(crate) fn seal_paged(cipher: &'static Cipher, data: &[u8]) -> Vec<u8> {
    let (file, mut stored) = create(cipher, Layout::Paged { page_bytes: PAGE_BYTES });
    let mut writer = PageWriter::new(&file).unwrap();
    writer.append(data, &mut stored).unwrap();
    writer.finish(&mut stored).unwrap();
    stored
}

/// Reads a whole paged file as an adapter does: header, last page, all pages.
pub(crate) fn read_paged(stored: &[u8]) -> Result<Vec<u8>, SealError> {
    read_paged_of(&open(stored)?, stored)
}

/// Reads the pages of `stored` with the keys of `file`, whatever header `stored` has.
pub(crate) fn read_paged_of(file: &SealedFile, stored: &[u8]) -> Result<Vec<u8>, SealError> {
    let last = Shape::of(file, stored.len() as u64)?.last_page();
    let mut buffer = stored[last.offset as usize..][..last.bytes].to_vec();
    let (pages, _) = Pages::open(file, stored.len() as u64, &mut buffer)?;
    let span = pages.locate(0, usize::MAX)?;
    let buffer = &stored[span.stored.offset as usize..][..span.stored.bytes];
    let mut out = vec![0xEE; span.bytes];
    let read = pages.read(&span, buffer, &mut out);
    if read.is_err() {
        assert!(out.iter().all(|byte| *byte == 0), "a failed read left data behind");
    }
    read.map(|()| out)
}

/// Returns a whole file of frames, one for each of `parts`.
pub(crate) fn seal_frames(cipher: &'static Cipher, parts: &[&[u8]]) -> Vec<u8> {
    let (file, mut stored) = create(cipher, Layout::Frames);
    let mut writer = FrameWriter::new(&file).unwrap();
    for part in parts {
        writer.append(part, &mut stored).unwrap();
    }
    assert_eq!(writer.stored_bytes(), stored.len() as u64);
    stored
}

/// Reads a whole file of frames; frames read before an error are lost with it.
pub(crate) fn read_frames(stored: &[u8]) -> Result<(Vec<Vec<u8>>, End), SealError> {
    read_frames_of(&open(stored)?, stored, usize::MAX)
}

/// Reads frames with the keys of `file`, handed over `portion` bytes at a time; the synced length
/// is unknown.
pub(crate) fn read_frames_of(
    file: &SealedFile,
    stored: &[u8],
    portion: usize,
) -> Result<(Vec<Vec<u8>>, End), SealError> {
    read_synced_frames_of(file, stored, portion, 0)
}

/// As [`read_frames_of`], of a file whose first `synced_bytes` are on stable storage.
pub(crate) fn read_synced_frames_of(
    file: &SealedFile,
    stored: &[u8],
    portion: usize,
    synced_bytes: usize,
) -> Result<(Vec<Vec<u8>>, End), SealError> {
    let mut reader = FrameReader::new(file, synced_bytes as u64)?;
    let mut frames = Vec::new();
    let mut rest = &stored[HEADER_BYTES..];
    loop {
        while let Some(frame) = reader.next_frame()? {
            assert_eq!(frame.place.bytes as usize, frame.data.len());
            frames.push(frame.data.to_vec());
        }
        if rest.is_empty() {
            break;
        }
        let (now, later) = rest.split_at(portion.min(rest.len()));
        reader.push(now);
        rest = later;
    }
    assert_eq!(reader.next_offset(), stored.len() as u64);
    assert_eq!(reader.logical_bytes(), frames.iter().map(|frame| frame.len() as u64).sum::<u64>());
    Ok((frames, reader.end()?))
}

/// Returns the ciphers whose every bit is tried; the others get one bit in every byte.
pub(crate) fn thorough(name: &str) -> bool {
    name == "aes-256" || name == "blowfish"
}

/// Calls `check` with `stored` changed in one bit, for every bit from byte `from` on (or one in
/// every byte).
pub(crate) fn each_flip(
    stored: &[u8],
    from: usize,
    every_bit: bool,
    mut check: impl FnMut(usize, &[u8]),
) {
    let mut changed = stored.to_vec();
    for at in from..stored.len() {
        for bit in 0..8 {
            if every_bit || bit == at % 8 {
                changed[at] ^= 1 << bit;
                check(at, &changed);
                changed[at] ^= 1 << bit;
            }
        }
    }
}

pub(crate) fn aes() -> &'static Cipher {
    cipher("aes-256").unwrap()
}
