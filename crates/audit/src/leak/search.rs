//! The search of one file: its bytes, and the compressed data that begins anywhere in it.

use std::io;
use std::path::Path;

use sealstone_file::input;

use super::error::LeakError;
use super::form::{self, AHEAD_BYTES, BEHIND_BYTES, Form};
use super::header::Headers;
use super::hit::{Compression, Encoding, Findings, Hit, Kind};
use super::marker::Marker;
use super::pattern::patterns;
use super::rocksdb;
use super::sieve::Sieve;
use super::source::Source;
use super::stream::{Input, Streams};
use super::tally::Tally;
use super::window::{Reach, View, Window};
use super::wiredtiger::{self, Layout};
use super::work::Work;

/// Bytes of a piece, so that its several searches read it from the processor's cache.
const CHUNK_BYTES: usize = 256 << 10;
/// Fewest bytes of a stream without an end that are searched: random data seems to be one.
const STREAM_BYTES_MIN: u64 = 32;
/// Fewest bytes of zlib without an end, compressed, in which values of forms count: what random
/// data seems to be repeats itself, and so may have a right check digit. None is that long.
const ZLIB_BYTES_MIN: u64 = 1024;

/// All markers in all encodings, and forms, ready to be looked for in any number of files, also by
/// several threads at once.
pub struct Search {
    sieve: Sieve,
    /// Labels of the markers.
    labels: Vec<String>,
    forms: Vec<Form>,
    headers: Headers,
    reach: Reach,
}

impl Search {
    /// Prepares the search for `markers` and `forms`; a form that is named twice counts once.
    ///
    /// # Errors
    /// [`LeakError::Nothing`] if there are neither.
    pub fn new(markers: &[Marker], forms: Vec<Form>) -> Result<Self, LeakError> {
        Self::with_chunk(markers, forms, CHUNK_BYTES)
    }

    fn with_chunk(markers: &[Marker], named: Vec<Form>, chunk: usize) -> Result<Self, LeakError> {
        let mut forms: Vec<Form> = Vec::new();
        for form in named {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        if markers.is_empty() && forms.is_empty() {
            return Err(LeakError::Nothing);
        }
        let all = markers.iter().enumerate();
        let all = all.flat_map(|(what, marker)| patterns(what as u32, marker.text()));
        let sieve = Sieve::new(all.collect());
        // and a byte on each side, which is compared as well
        let ahead = sieve.longest().max(AHEAD_BYTES) + 2;
        Ok(Self {
            reach: Reach { behind: BEHIND_BYTES, chunk, ahead },
            sieve,
            labels: markers.iter().map(|marker| marker.label.clone()).collect(),
            forms,
            headers: Headers::new(),
        })
    }

    /// Searches one file, as a stream, with bounded memory. Holes are not read. Bytes that are
    /// added or changed during the search may or may not be searched.
    ///
    /// - `path`: the file; links are followed
    /// - `on_bytes`: told the number of bytes that were searched since the last time
    ///
    /// Returns one hit for each marker or form, encoding and compression; the markers first.
    ///
    /// # Errors
    /// The file cannot be opened or read; it is no regular file (`sealstone_file::input::open`).
    pub fn file(&self, path: &Path, on_bytes: &mut dyn FnMut(u64)) -> io::Result<Findings> {
        self.source(&input::open(path)?, on_bytes)
    }

    fn source(&self, source: &dyn Source, on_bytes: &mut dyn FnMut(u64)) -> io::Result<Findings> {
        let mut run = Run::new(self, source)?;
        let mut window = Window::new(self.reach);
        let (mut chunk, mut at) = (vec![0; self.reach.chunk], 0);
        loop {
            let count = source.read_at(at, &mut chunk)?;
            if count == 0 {
                break;
            }
            window.feed(&chunk[..count], &mut |view| run.piece(&view));
            at += count as u64;
            on_bytes(count as u64);
            if chunk[..count].iter().all(|byte| *byte == 0) {
                let next = source.stored_from(at)?;
                self.pass_hole(at, next, &mut window, &mut run);
                if next > at {
                    on_bytes(next - at);
                    at = next;
                }
            }
        }
        window.finish(&mut |view| run.piece(&view));
        run.tables()?;
        Ok(self.findings(run.tally))
    }

    /// Passes the zeros from `at` to `next`: a text may begin or end with some of them.
    fn pass_hole(&self, at: u64, next: u64, window: &mut Window, run: &mut Run<'_>) {
        let edge = (self.reach.behind + self.reach.ahead) as u64;
        let zeros = |count: u64| vec![0; count as usize];
        let hole = next.saturating_sub(at);
        if hole <= 2 * edge {
            window.feed(&zeros(hole), &mut |view| run.piece(&view));
            return;
        }
        window.feed(&zeros(edge), &mut |view| run.piece(&view));
        window.finish(&mut |view| run.piece(&view));
        window.start(next - edge);
        window.feed(&zeros(edge), &mut |view| run.piece(&view));
    }

    /// Calls `found` for every marker and form in a piece, with its number, encoding and offset.
    fn piece(&self, view: &View<'_>, found: &mut dyn FnMut(u32, Encoding, u64)) {
        self.sieve.search(view, found);
        let first = self.labels.len();
        form::search(&self.forms, view, &mut |place, encoding, offset| {
            found((first + place) as u32, encoding, offset);
        });
    }

    fn findings(&self, tally: Tally) -> Findings {
        let name = |what: u32| {
            let what = what as usize;
            match self.labels.get(what) {
                Some(label) => (label.clone(), Kind::Marker),
                None => (self.forms[what - self.labels.len()].label().to_owned(), Kind::Form),
            }
        };
        let hit = |((what, encoding, within), (first_offset, count))| {
            let (what, kind) = name(what);
            Hit { what, kind, encoding, within, first_offset, count }
        };
        Findings { hits: tally.rows.into_iter().map(hit).collect(), cut: tally.cut }
    }
}

/// The search of one file as it goes on.
struct Run<'a> {
    search: &'a Search,
    source: &'a dyn Source,
    layout: Option<Layout>,
    streams: Streams,
    /// Window over decompressed data.
    window: Window,
    work: Work,
    tally: Tally,
}

impl<'a> Run<'a> {
    fn new(search: &'a Search, source: &'a dyn Source) -> io::Result<Self> {
        Ok(Self {
            search,
            source,
            layout: Layout::of(source)?,
            streams: Streams::new(),
            window: Window::new(search.reach),
            work: Work::default(),
            tally: Tally::default(),
        })
    }

    /// Searches a piece of the file, and the compressed data that begins in it.
    fn piece(&mut self, view: &View<'_>) {
        let search = self.search;
        search.piece(view, &mut |what, encoding, offset| {
            self.tally.add((what, encoding, None), offset);
        });
        search.headers.search(view, &mut |kind, index| self.stream(kind, view, index));
        if let Some(layout) = self.layout {
            layout.blocks(view, &mut |offset, bytes| self.block(offset, bytes));
        }
    }

    /// Searches the compressed data that may begin at `index` of the view.
    fn stream(&mut self, kind: Compression, view: &View<'_>, index: usize) {
        let at = view.offset(index);
        let Some(limit) = self.work.left(at) else {
            self.tally.cut += 1;
            return;
        };
        let mut input = Input::new(&view.bytes[index..], self.source, at);
        let Self { search, streams, window, .. } = self;
        let mut tally = Tally::default();
        let mut see = |view: View<'_>| {
            search.piece(&view, &mut |what, encoding, _| {
                tally.add((what, encoding, Some(kind)), at);
            });
        };
        window.start(0);
        let outcome = streams.decompress(kind, &mut input, limit, &mut |bytes| {
            window.feed(bytes, &mut see);
        });
        window.finish(&mut see);
        let is_one = outcome.is_whole || outcome.made_bytes >= STREAM_BYTES_MIN;
        let has_values =
            outcome.is_whole || kind != Compression::Zlib || input.read_bytes >= ZLIB_BYTES_MIN;
        let markers = self.search.labels.len();
        tally.rows.retain(|row, _| is_one && (has_values || (row.0 as usize) < markers));
        self.tally.merge(tally);
        self.tally.cut += u64::from(outcome.is_cut);
        self.work.count(input.read_bytes + outcome.made_bytes, outcome.is_whole);
    }

    /// Searches the block of `bytes` bytes that may be at `offset`. One that cannot be read is
    /// left to the search of the file's bytes, which reports that.
    fn block(&mut self, offset: u64, bytes: usize) {
        if self.work.left(offset).is_none() {
            self.tally.cut += 1;
            return;
        }
        let block = wiredtiger::decompress(self.source, offset, bytes).ok().flatten();
        let made = block.as_ref().map_or(0, |block| block.len() as u64);
        self.work.count(bytes as u64 + made, block.is_some());
        if let Some(bytes) = block {
            self.inside(&bytes, Some(Compression::Snappy), offset);
        }
    }

    /// Searches the blocks of a table or of blobs of RocksDB. What was done before for what is
    /// compressed in the file does not count here.
    fn tables(&mut self) -> io::Result<()> {
        self.work = Work::default();
        let source = self.source;
        let end = source.end()?;
        let is_whole = rocksdb::blocks(source, &mut |block| self.table_block(&block, end))?;
        self.tally.cut += u64::from(!is_whole);
        Ok(())
    }

    /// Searches one of them, in a file of `end` bytes; returns whether more may be tried.
    fn table_block(&mut self, block: &rocksdb::Block, end: u64) -> bool {
        if block.is_seen() && !block.has_keys() {
            return true;
        }
        if self.work.left(end).is_none() {
            return false;
        }
        let tried = block.read(self.source);
        self.work.count(tried.bytes, tried.content.is_some());
        let Some(content) = tried.content else {
            self.tally.cut += 1;
            return true;
        };
        let (at, within) = (block.offset, block.compression());
        if !block.is_seen() {
            self.inside(&content, within, at);
        }
        if block.has_keys() {
            let is_whole = block.keys(&content, &mut |key, shared| {
                self.key(key, shared, within, at);
            });
            self.tally.cut += u64::from(!is_whole);
        }
        true
    }

    /// Searches a key of which the first `shared` bytes are those of the key before, for what
    /// begins in these, near their end: it may go on behind them. A text that is whole within them
    /// counts again then, for this key has it, too. What begins behind them is whole in the block.
    fn key(&mut self, key: &[u8], shared: usize, within: Option<Compression>, at: u64) {
        let Reach { behind, ahead, .. } = self.search.reach;
        let from = shared.saturating_sub(ahead);
        let base = from.saturating_sub(behind);
        let bytes = &key[base..key.len().min(shared + ahead)];
        self.work.add(bytes.len() as u64);
        let view = View { bytes, base: base as u64, from: from - base, to: bytes.len() };
        let tally = &mut self.tally;
        self.search.piece(&view, &mut |what, encoding, offset| {
            if offset < shared as u64 {
                tally.add((what, encoding, within), at);
            }
        });
    }

    /// Searches `bytes`, made of data at the offset `at` of the file.
    fn inside(&mut self, bytes: &[u8], within: Option<Compression>, at: u64) {
        let tally = &mut self.tally;
        let view = View { bytes, base: 0, from: 0, to: bytes.len() };
        self.search.piece(&view, &mut |what, encoding, _| {
            tally.add((what, encoding, within), at);
        });
    }
}

#[cfg(test)]
mod tests;
