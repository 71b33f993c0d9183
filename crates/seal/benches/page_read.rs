//! Cost of reading one block of a table from a sealed file in the page cache, by cipher, page
//! length and block length: opening whole pages in place and copying the block out, against
//! verifying the pages and decrypting the block alone, straight into its buffer. A measurement, not
//! a test.
//!
//! `cargo bench -p sealstone-seal --bench page_read -- [CIPHER…] [BACKEND…]`

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use sealstone_cipher::Backend;
use sealstone_cipher::cipher;
use sealstone_keys::KeyFile;
use sealstone_seal::paged::{PageWriter, Pages, Shape, Span};
use sealstone_seal::{Layout, SealedFile, TAG_BYTES};

/// Blocks of RocksDB with their trailer, of its usual 4 KiB and of 16 KiB.
const BLOCKS: [usize; 2] = [4101, 16389];
const PAGES: [u32; 4] = [1 << 10, 2 << 10, 4 << 10, 16 << 10];
const FILE_BYTES: usize = 32 << 20;
const ROUNDS: usize = 41;
const READS: usize = 400;
/// Buffers that blocks are read into in turn, as those of a cache of blocks are.
const BUFFERS: usize = 256;

struct Sealed {
    raw: File,
    pages: Pages,
}

impl Sealed {
    fn make(
        keys: &KeyFile,
        (name, backend): (&str, Backend),
        page_bytes: u32,
        data: &[u8],
    ) -> Result<Self, Box<dyn Error>> {
        let layout = Layout::Paged { page_bytes };
        let (file, header) = SealedFile::create(keys, cipher(name)?, backend, layout)?;
        let mut stored = header.to_vec();
        let mut writer = PageWriter::new(&file)?;
        writer.append(data, &mut stored)?;
        writer.finish(&mut stored)?;
        let mut raw = tempfile::tempfile()?;
        raw.write_all(&stored)?;
        let last = Shape::of(&file, stored.len() as u64)?.last_page();
        let mut buffer = stored[last.offset as usize..][..last.bytes].to_vec();
        let (pages, _) = Pages::open(&file, stored.len() as u64, &mut buffer)?;
        Ok(Self { raw, pages })
    }

    fn fetch<'a>(&self, span: &Span, buffer: &'a mut Vec<u8>) -> &'a mut [u8] {
        if buffer.len() < span.stored.bytes {
            buffer.resize(span.stored.bytes, 0);
        }
        let stored = &mut buffer[..span.stored.bytes];
        self.raw.read_exact_at(stored, span.stored.offset).expect("the file is whole");
        stored
    }

    /// Opens every page in place, then copies.
    fn in_place(&self, offset: u64, buffer: &mut Vec<u8>, out: &mut [u8]) {
        let span = self.pages.locate(offset, out.len()).expect("within the file");
        let stored = self.fetch(&span, buffer);
        let stride = self.pages.shape().page_bytes() as usize + TAG_BYTES;
        let (mut skip, mut filled) = (span.skip_bytes, 0);
        for (page, stored) in (span.first_page..).zip(stored.chunks_mut(stride)) {
            let bytes = self.pages.open_stored(page, stored).expect("as sealed");
            let take = (bytes - skip).min(out.len() - filled);
            out[filled..filled + take].copy_from_slice(&stored[skip..skip + take]);
            filled += take;
            skip = 0;
        }
    }

    fn in_part(&self, offset: u64, buffer: &mut Vec<u8>, out: &mut [u8]) {
        let span = self.pages.locate(offset, out.len()).expect("within the file");
        let stored = self.fetch(&span, buffer);
        self.pages.read(&span, stored, out).expect("as sealed");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut ciphers, mut backends) = (Vec::new(), Vec::new());
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match Backend::by_name(&argument) {
            Ok(backend) => backends.push(backend),
            Err(_) => ciphers.push(argument),
        }
    }
    if backends.is_empty() {
        backends.push(Backend::auto());
    }
    if ciphers.is_empty() {
        ciphers = ["aes-256", "aria-256", "lea-256", "seed-128"].map(String::from).to_vec();
    }
    let dir = tempfile::tempdir()?;
    let keys = KeyFile::create(dir.path().join("cost.key"), "cost")?;
    let data: Vec<u8> = (0..FILE_BYTES).map(|at| (at * 31 % 251) as u8).collect();
    let mut plain = tempfile::tempfile()?;
    plain.write_all(&data)?;
    println!(
        "{:<9} {:<8} {:>6} {:>6} {:>8} {:>9} {:>8} {:>6}   ns a read, medians of {ROUNDS} rounds",
        "cipher", "backend", "block", "page", "plain", "in place", "in part", "ratio"
    );
    for cipher in &ciphers {
        for backend in &backends {
            for (block, page_bytes) in
                BLOCKS.iter().flat_map(|block| PAGES.map(|page_bytes| (*block, page_bytes)))
            {
                let sealed = Sealed::make(&keys, (cipher, *backend), page_bytes, &data)?;
                let [plain, place, part] = measure(&sealed, &plain, block);
                let ratio = (part - plain) / (place - plain);
                println!(
                    "{cipher:<9} {:<8} {block:>6} {page_bytes:>6} {plain:>8.0} {place:>9.0} \
                     {part:>8.0} {ratio:>6.2}",
                    backend.name()
                );
            }
        }
    }
    Ok(())
}

/// Returns the medians of a read: of the plain file, in place, in part.
fn measure(sealed: &Sealed, plain: &File, block: usize) -> [f64; 3] {
    let blocks = FILE_BYTES / block - 1;
    let mut outs = vec![vec![0_u8; block]; BUFFERS];
    let mut buffer = Vec::new();
    let mut found = [const { Vec::new() }; 3];
    let mut at = 1_usize;
    for round in 0..ROUNDS + 1 {
        for (arm, found) in found.iter_mut().enumerate() {
            let began = Instant::now();
            for read in 0..READS {
                at = at.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let offset = ((at >> 20) % blocks * block) as u64;
                let out = &mut outs[read % BUFFERS];
                match arm {
                    0 => plain.read_exact_at(out, offset).expect("the file is whole"),
                    1 => sealed.in_place(offset, &mut buffer, out),
                    _ => sealed.in_part(offset, &mut buffer, out),
                }
                black_box(out);
            }
            // the first round is for the caches
            if round > 0 {
                found.push(began.elapsed().as_nanos() as f64 / READS as f64);
            }
        }
    }
    found.map(|mut values| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}
