//! The work on one chunk: values are taken out of the records, sealed or opened together, and put
//! back. All else is copied unchanged.

use sealstone_csv::{Encoding, Flaw, Span, record};

use super::chunks::Chunk;
use super::error::CsvError;
use super::plan::{Fate, Fields};
use crate::misfit::Misfit;
use crate::pass::{ColumnCount, Plan, Reject, Work};
use crate::texts::Texts;

/// A chunk after the work.
#[derive(Debug, Default)]
pub(super) struct Edited {
    pub(super) out: Vec<u8>,
    /// Data that was read, as memory to be reused.
    pub(super) data: Vec<u8>,
    /// Records that are in `out`.
    pub(super) rows: u64,
    /// Records that are not.
    pub(super) rejected: u64,
    /// Reasons for the rejections, in the order of the file.
    pub(super) rejects: Vec<Reject>,
    /// For each column of the table.
    pub(super) counts: Vec<ColumnCount>,
}

/// A record: where it begins, where its text ends, where the next one begins.
#[derive(Clone, Copy, Debug)]
struct Record {
    start: usize,
    text_end: usize,
    end: usize,
}

/// The records of a chunk, and the fields that something is done with.
#[derive(Debug, Default)]
struct Read {
    records: Vec<Record>,
    /// For each record, the spans of `Fields::fates`, in that order.
    spans: Vec<Span>,
    /// For each column of the table, its values.
    values: Vec<Texts>,
    /// For each column of the table that is bound to rows, these.
    rows: Vec<Texts>,
    misfits: Misfits,
}

/// Reasons why values do not fit, at most one for each.
#[derive(Debug, Default)]
struct Misfits(std::collections::BTreeMap<(usize, usize), Misfit>);

impl Misfits {
    fn add(&mut self, record: usize, column: usize, misfit: Misfit) {
        self.0.entry((record, column)).or_insert(misfit);
    }
}

/// Does the work of `plan` on `chunk`, from `at` on.
pub(super) fn edit(
    chunk: Chunk,
    at: usize,
    fields: &Fields,
    plan: &Plan,
) -> Result<Edited, CsvError> {
    let mut read = read(&chunk, at, fields)?;
    let count = plan.table.columns.len();
    let mut edited = Edited { counts: vec![ColumnCount::default(); count], ..Edited::default() };
    let (mut results, mut indexes) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for at in 0..count {
        let values = std::mem::take(&mut read.values[at]);
        let rows = fields.rows[at].map(|_| &read.rows[at]);
        let mut found = Vec::new();
        let worked = plan.work_on(at, &values, rows, &mut edited.counts[at], &mut found)?;
        found.into_iter().for_each(|(record, misfit)| read.misfits.add(record, at, misfit));
        results.extend(worked.values);
        indexes.push(worked.index);
    }
    if !results.is_empty() {
        encodable(fields, plan, &results, &mut read.misfits);
    }
    reject(&chunk, &read, plan, &mut edited);
    if !results.is_empty() {
        let quotes =
            if matches!(plan.work, Work::Open(_)) { Quotes::AsBefore } else { Quotes::Needed };
        write(&chunk.data, at, fields, &read, (&results, &indexes), quotes, &mut edited.out);
    }
    edited.data = chunk.data;
    Ok(edited)
}

fn read(chunk: &Chunk, at: usize, fields: &Fields) -> Result<Read, CsvError> {
    let (data, mut at) = (&chunk.data[..], at);
    let line_of = |offset: usize| chunk.line - 1 + sealstone_csv::line_of(data, offset);
    let count = fields.columns.len();
    let mut read = Read {
        values: vec![Texts::new(); count],
        rows: vec![Texts::new(); count],
        ..Read::default()
    };
    let mut spans = Vec::with_capacity(fields.width);
    while at < data.len() {
        let start = at;
        let found =
            record(data, at, fields.layout.delimiter, &mut spans).map_err(|flaw| match flaw {
                Flaw::OpenQuote { at } => CsvError::OpenQuote { line: line_of(at) },
                Flaw::InnerQuote { at, .. } => CsvError::InnerQuote { line: line_of(at) },
                Flaw::NoText { at, what } => CsvError::NoText { line: line_of(at), what },
            })?;
        at = found.end;
        if found.text_end == start {
            // a blank line is no record, and is copied
            continue;
        }
        if spans.len() != fields.width {
            return Err(CsvError::Ragged {
                line: line_of(start),
                found: spans.len(),
                wanted: fields.width,
            });
        }
        let number = read.records.len();
        read.records.push(Record { start, text_end: found.text_end, end: found.end });
        read.spans.extend(fields.fates.iter().map(|(field, _)| spans[*field]));
        for column in 0..count {
            let misfit =
                push(data, spans[fields.columns[column]], fields, &mut read.values[column]);
            let misfit = misfit.or_else(|| {
                fields.rows[column]
                    .and_then(|field| push(data, spans[field], fields, &mut read.rows[column]))
            });
            if let Some(misfit) = misfit {
                read.misfits.add(number, column, misfit);
                if fields.rows[column].is_some() && read.rows[column].len() <= number {
                    read.rows[column].push("");
                }
            }
        }
    }
    Ok(read)
}

/// Adds the value of a field, without its quotes; an empty one and the reason where it is no text.
fn push(data: &[u8], span: Span, fields: &Fields, into: &mut Texts) -> Option<Misfit> {
    match fields.layout.encoding.decode(span.bytes(data)) {
        Some(text) if span.quoted && text.contains('"') => into.push(&text.replace("\"\"", "\"")),
        Some(text) => into.push(&text),
        None => {
            into.push("");
            return Some(Misfit::Encoding { encoding: fields.layout.encoding.name() });
        }
    }
    None
}

/// Checks that every result can be written in the file's encoding.
fn encodable(fields: &Fields, plan: &Plan, results: &[Texts], misfits: &mut Misfits) {
    if fields.layout.encoding == Encoding::Utf8 {
        return;
    }
    for (column, results) in results.iter().enumerate().take(plan.table.columns.len()) {
        for (record, text) in results.iter().enumerate() {
            if fields.layout.encoding.encode(text).is_none() {
                misfits.add(
                    record,
                    column,
                    Misfit::Encoding { encoding: fields.layout.encoding.name() },
                );
            }
        }
    }
}

/// Counts what fits, and lists what does not.
fn reject(chunk: &Chunk, read: &Read, plan: &Plan, edited: &mut Edited) {
    let (mut line, mut counted, mut last) = (chunk.line, 0, None);
    for (&(record, column), misfit) in &read.misfits.0 {
        let start = read.records[record].start;
        line += memchr::memchr_iter(b'\n', &chunk.data[counted..start]).count() as u64;
        counted = start;
        edited.counts[column].misfits += 1;
        if last != Some(record) {
            edited.rejected += 1;
            last = Some(record);
        }
        let column = plan.table.columns[column].name.clone();
        edited.rejects.push(Reject { place: line, column, misfit: misfit.clone() });
    }
    edited.rows = read.records.len() as u64 - edited.rejected;
}

fn write(
    data: &[u8],
    at: usize,
    fields: &Fields,
    read: &Read,
    (results, indexes): (&[Texts], &[Texts]),
    quotes: Quotes,
    out: &mut Vec<u8>,
) {
    out.reserve(data.len() + data.len() / 4);
    // all before this was copied
    let mut copied = at;
    let mut rejected = read.misfits.0.keys().map(|(record, _)| *record).peekable();
    for (number, record) in read.records.iter().enumerate() {
        if rejected.peek() == Some(&number) {
            while rejected.next_if_eq(&number).is_some() {}
            out.extend_from_slice(&data[copied..record.start]);
            copied = record.end;
            continue;
        }
        let spans = &read.spans[number * fields.fates.len()..][..fields.fates.len()];
        for (span, (field, fate)) in spans.iter().zip(&fields.fates) {
            match fate {
                Fate::Replaced(column) => {
                    out.extend_from_slice(&data[copied..span.start]);
                    put(results[*column].get(number), span.quoted, quotes, fields, out);
                    copied = span.end;
                }
                // with the delimiter before it, or, for the first, the delimiter after it
                Fate::Dropped if *field > 0 => {
                    out.extend_from_slice(&data[copied..span.start - 1]);
                    copied = span.end;
                }
                Fate::Dropped => copied = span.end + 1,
            }
        }
        if !fields.indexed.is_empty() {
            out.extend_from_slice(&data[copied..record.text_end]);
            for &column in &fields.indexed {
                out.push(fields.layout.delimiter);
                out.extend_from_slice(indexes[column].get(number).as_bytes());
            }
            copied = record.text_end;
        }
    }
    out.extend_from_slice(&data[copied..]);
}

/// The rule by which a field without quotes gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    /// Quotes where a strict reader needs them (RFC 4180).
    Needed,
    /// Only where it could not be read otherwise: a value that is opened had none before it was
    /// sealed, whatever quotes are in it, as in `5" pipe`.
    AsBefore,
}

/// Appends a value as a field, in quotes if it had them, else according to `quotes`.
fn put(text: &str, quoted: bool, quotes: Quotes, fields: &Fields, out: &mut Vec<u8>) {
    let bytes = fields.layout.encoding.encode(text).unwrap_or_default();
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r') || *byte == fields.layout.delimiter;
    let needed = match quotes {
        Quotes::Needed => bytes.iter().any(|byte| *byte == b'"' || ends(byte)),
        Quotes::AsBefore => bytes.starts_with(b"\"") || bytes.iter().any(ends),
    };
    if !quoted && !needed {
        out.extend_from_slice(&bytes);
        return;
    }
    out.push(b'"');
    for part in bytes.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}
