//! One pass over a file: one thread reads, a thread for each core works, the caller's thread writes
//! in the order of the file. Memory use is bounded, however long the file.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use sealstone_csv::{BYTE_ORDER_MARK, Flaw, RECORD_BYTES_MAX, named_delimiter, record};

use super::Layout;
use super::chunks::{Chunk, Chunks};
use super::edit::{Edited, edit};
use super::error::CsvError;
use super::plan::{Fate, Fields, Header};
use crate::manifest::FileMac;
use crate::pass::{ColumnCount, Counts, Listener, OnMisfit, Plan, Progress, Reject};

/// Work of a pass, and the number of its threads.
pub struct Pass<'a> {
    /// Plan of what to do with which columns.
    pub plan: &'a Plan,
    /// Format in which the file is written.
    pub layout: Layout,
    /// Action to take at a row that does not fit.
    pub on_misfit: OnMisfit,
    /// Threads that work; one for each core by default.
    pub threads: Option<NonZeroUsize>,
    /// Number of bytes of the file that a thread works on at once:
    /// [`CHUNK_BYTES`](super::CHUNK_BYTES), or more if the device that computes needs many values
    /// at a time.
    pub chunk_bytes: usize,
    /// Turns true when the pass is to end early, with [`CsvError::Stopped`].
    pub stop: &'a AtomicBool,
}

type Done = (u64, Result<Edited, CsvError>);

impl Pass<'_> {
    /// Reads `input` to its end and writes the result to `output`.
    ///
    /// - `read_mac`, `write_mac`: get every byte that is read or written, for a manifest
    ///
    /// # Errors
    /// Each [`CsvError`]; the output is then no whole file.
    pub fn run(
        &self,
        input: impl Read + Send,
        output: &mut dyn Write,
        mut read_mac: Option<&mut FileMac>,
        mut write_mac: Option<&mut FileMac>,
        listener: &mut Listener<'_>,
    ) -> Result<Counts, CsvError> {
        let mut chunks = Chunks::new(input, self.layout.delimiter, self.chunk_bytes);
        let first = chunks.next(Vec::new())?.ok_or(CsvError::Empty)?;
        let (fields, at, head) = self.header(&first)?;
        if self.plan.work.writes() {
            put(output, &head, &mut write_mac)?;
        }
        let threads = self
            .threads
            .or_else(|| thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get);
        let mut counts = Counts::default();
        let (to_work, work) = sync_channel::<(u64, Chunk, usize)>(threads);
        let (finished, done) = channel::<Done>();
        // each is the memory of a chunk, and the permission to read one
        let (give, tokens) = channel::<Vec<u8>>();
        (0..2 * threads + 2).for_each(|_| drop(give.send(Vec::new())));
        let work = Mutex::new(work);
        let (work, fields) = (&work, &fields);
        thread::scope(|scope| {
            let failed = finished.clone();
            scope.spawn(move || read_all(chunks, first, at, &tokens, &to_work, &failed));
            for _ in 0..threads {
                let finished = finished.clone();
                scope.spawn(move || {
                    loop {
                        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
                        let Ok((number, chunk, at)) = next else { return };
                        if finished.send((number, edit(chunk, at, fields, self.plan))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(finished);
            let outcome = self.collect(
                &done,
                &give,
                output,
                &mut read_mac,
                &mut write_mac,
                listener,
                &mut counts,
            );
            // waiting threads end, and chunks already read are dropped
            drop((give, done));
            while work.lock().unwrap_or_else(PoisonError::into_inner).recv().is_ok() {}
            outcome
        })?;
        Ok(counts)
    }

    /// Takes the finished chunks in the order of the file, and writes them.
    #[expect(clippy::too_many_arguments, reason = "the ends of one pipe")]
    fn collect(
        &self,
        done: &Receiver<Done>,
        give: &Sender<Vec<u8>>,
        output: &mut dyn Write,
        read_mac: &mut Option<&mut FileMac>,
        write_mac: &mut Option<&mut FileMac>,
        listener: &mut Listener<'_>,
        counts: &mut Counts,
    ) -> Result<(), CsvError> {
        let mut early: BTreeMap<u64, Result<Edited, CsvError>> = BTreeMap::new();
        let (mut next, mut bytes) = (0, 0);
        while let Ok((number, outcome)) = done.recv() {
            early.insert(number, outcome);
            while let Some(outcome) = early.remove(&next) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(CsvError::Stopped);
                }
                let edited = outcome?;
                next += 1;
                for reject in &edited.rejects {
                    let Reject { place, column, misfit } = reject.clone();
                    if self.on_misfit == OnMisfit::Fail {
                        return Err(CsvError::Misfit { line: place, column, misfit });
                    }
                    (listener.on_reject)(reject).map_err(CsvError::Write)?;
                }
                if let Some(mac) = read_mac {
                    mac.update(&edited.data);
                }
                put(output, &edited.out, write_mac)?;
                count(counts, &edited);
                bytes += edited.data.len() as u64;
                (listener.on_progress)(Progress { bytes, rows: counts.rows + counts.rejected });
                // the reader is gone when the end was read
                let _ = give.send(edited.data);
            }
        }
        output.flush().map_err(CsvError::Write)
    }

    /// Returns the fields of the header in `first`, where the records begin, and the header of the
    /// output.
    fn header(&self, first: &Chunk) -> Result<(Fields, usize, Vec<u8>), CsvError> {
        let data = &first.data[..];
        let mark = if data.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        // a line that is for Excel, and is copied
        let mark = named_delimiter(data).map_or(mark, |(_, length)| length);
        let blank = data[mark..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let start = mark + blank;
        if start == data.len() {
            return Err(CsvError::Empty);
        }
        let mut spans = Vec::new();
        let found =
            record(data, start, self.layout.delimiter, &mut spans).map_err(|flaw| match flaw {
                Flaw::OpenQuote { .. } => CsvError::OpenQuote { line: 1 },
                Flaw::InnerQuote { .. } => CsvError::InnerQuote { line: 1 },
                Flaw::NoText { what, .. } => CsvError::NoText { line: 1, what },
            })?;
        if found.text_end - start > RECORD_BYTES_MAX {
            return Err(CsvError::TooLong { line: 1 });
        }
        let header = Header::read(data, &spans, self.layout)?;
        let fields = Fields::of(self.plan, &header, self.layout)?;
        let mut head = data[..start].to_vec();
        let mut is_first = true;
        for (at, span) in spans.iter().enumerate() {
            if fields.fates.contains(&(at, Fate::Dropped)) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                head.push(self.layout.delimiter);
            }
            head.extend_from_slice(&data[span.start..span.end]);
        }
        for &column in &fields.indexed {
            let name =
                self.plan.table.columns[column].index.as_ref().map_or("", |index| &index.name);
            head.push(self.layout.delimiter);
            let name = self.layout.encoding.encode(name);
            head.extend_from_slice(
                &name.ok_or(CsvError::HeaderEncoding(self.layout.encoding.name()))?,
            );
        }
        head.extend_from_slice(&data[found.text_end..found.end]);
        Ok((fields, found.end, head))
    }
}

/// Reads chunks while there are tokens, and hands them out.
fn read_all(
    mut chunks: Chunks<impl Read>,
    first: Chunk,
    at: usize,
    tokens: &Receiver<Vec<u8>>,
    to_work: &SyncSender<(u64, Chunk, usize)>,
    failed: &Sender<Done>,
) {
    let (mut number, mut next) = (0, Ok(Some((first, at))));
    loop {
        match next {
            Ok(Some((chunk, at))) => {
                if to_work.send((number, chunk, at)).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                let _ = failed.send((number, Err(error)));
                return;
            }
        }
        number += 1;
        let Ok(memory) = tokens.recv() else { return };
        next = chunks.next(memory).map(|chunk| chunk.map(|chunk| (chunk, 0)));
    }
}

fn put(
    output: &mut dyn Write,
    bytes: &[u8],
    mac: &mut Option<&mut FileMac>,
) -> Result<(), CsvError> {
    if let Some(mac) = mac {
        mac.update(bytes);
    }
    output.write_all(bytes).map_err(CsvError::Write)
}

fn count(counts: &mut Counts, edited: &Edited) {
    counts.rows += edited.rows;
    counts.rejected += edited.rejected;
    counts.columns.resize(edited.counts.len(), ColumnCount::default());
    counts.columns.iter_mut().zip(&edited.counts).for_each(|(all, found)| all.add(found));
}
