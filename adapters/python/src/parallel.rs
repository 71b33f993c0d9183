//! A column in chunks, worked on by several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;
use sealstone_arrow::Crypted;
use sealstone_fields::Misfit;

/// Number of values that make a piece of work worth a thread.
const PIECE: usize = 1 << 16;

/// The chunks of a column after the work, and the number of each value, counted over all chunks,
/// that does not fit.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) arrays: Vec<ArrayRef>,
    pub(crate) misfits: Vec<(usize, Misfit)>,
}

/// Part of a chunk.
#[derive(Clone, Copy, Debug)]
struct Piece {
    chunk: usize,
    start: usize,
    length: usize,
}

/// Runs `work` on every chunk of `values`, on at most `threads` threads; chunks keep their lengths.
///
/// - `rows`: as many as `values`, in separate chunks
///
/// # Errors
/// The first error of `work`, in words; results that do not fit into one array.
pub(crate) fn run(
    values: &[ArrayRef],
    rows: Option<&[ArrayRef]>,
    threads: usize,
    work: impl Fn(&ArrayRef, Option<&ArrayRef>) -> Result<Crypted, String> + Sync,
) -> Result<Done, String> {
    let rows = rows.map(|rows| aligned(rows, values)).transpose()?;
    let pieces = pieces(values, threads);
    let results: Vec<Mutex<Option<Result<Crypted, String>>>> =
        pieces.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { break };
            let part = |arrays: &[ArrayRef]| arrays[piece.chunk].slice(piece.start, piece.length);
            let outcome = work(&part(values), rows.as_deref().map(part).as_ref());
            *results[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(pieces.len()) {
            scope.spawn(take);
        }
        take();
    });
    let results = results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    joined(values, &pieces, results.map(|result| result.expect("every piece is worked on")))
}

/// Returns the chunks of `values` in pieces: whole for one thread.
fn pieces(values: &[ArrayRef], threads: usize) -> Vec<Piece> {
    let most = if threads > 1 { PIECE } else { usize::MAX };
    let mut pieces = Vec::new();
    for (chunk, array) in values.iter().enumerate() {
        let mut start = 0;
        loop {
            let length = most.min(array.len() - start);
            pieces.push(Piece { chunk, start, length });
            start += length;
            if start == array.len() {
                break;
            }
        }
    }
    pieces
}

/// Returns `rows` in chunks of the same lengths as in `values`.
fn aligned(rows: &[ArrayRef], values: &[ArrayRef]) -> Result<Vec<ArrayRef>, String> {
    let lengths = |arrays: &[ArrayRef]| arrays.iter().map(|array| array.len()).collect::<Vec<_>>();
    let (wanted, found) = (lengths(values), lengths(rows));
    if wanted == found {
        return Ok(rows.to_vec());
    }
    let (values, count) = (wanted.iter().sum::<usize>(), found.iter().sum::<usize>());
    if values != count {
        return Err(format!(
            "{count} rows for {values} values\ngive the rows of the same part of the table"
        ));
    }
    let parts: Vec<&dyn Array> = rows.iter().map(|array| array as &dyn Array).collect();
    let whole = concat(&parts).map_err(|error| error.to_string())?;
    let mut start = 0;
    let slice = |length| {
        start += length;
        whole.slice(start - length, length)
    };
    Ok(wanted.into_iter().map(slice).collect())
}

/// Returns the pieces put together to chunks.
fn joined(
    values: &[ArrayRef],
    pieces: &[Piece],
    results: impl Iterator<Item = Result<Crypted, String>>,
) -> Result<Done, String> {
    let mut done = Done::default();
    let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); values.len()];
    let mut first = 0;
    for (piece, result) in pieces.iter().zip(results) {
        let crypted = result?;
        done.misfits
            .extend(crypted.misfits.into_iter().map(|(number, misfit)| (first + number, misfit)));
        first += piece.length;
        parts[piece.chunk].push(crypted.values);
    }
    for mut parts in parts {
        done.arrays.push(match (parts.pop(), parts.is_empty()) {
            (Some(only), true) => only,
            (last, _) => {
                parts.extend(last);
                let arrays: Vec<&dyn Array> =
                    parts.iter().map(|array| array as &dyn Array).collect();
                concat(&arrays).map_err(|error| {
                    format!(
                        "the results do not fit into one array: {error}\ncast the values to \
                         large_utf8 first"
                    )
                })?
            }
        });
    }
    Ok(done)
}
