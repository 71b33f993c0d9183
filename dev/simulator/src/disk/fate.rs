//! State of the files and entries of a disk after a crash, compared with the writes.

use sealstone_seal::{HEADER_BYTES, is_sealed};

use super::file::{File, Loss, Number, Tail};

/// Prefix of the paths of the database's files.
pub(super) const DATABASE: &str = "/db/";

/// Bytes of the header of a record in RocksDB's logs.
const RECORD_HEADER_BYTES: usize = 7;

/// The outcome of a crash for one file.
#[derive(Clone, Debug)]
pub struct Fate {
    /// The file.
    pub number: Number,
    /// Its path before the crash.
    pub path: String,
    /// True if a name of the file is left.
    pub named: bool,
    /// Pieces that were appended to it.
    pub pieces: usize,
    /// This many of them, from the first on, are present.
    pub whole: usize,
    /// Content that follows these pieces.
    pub tail: Tail,
    /// True if what follows begins with zeros, as many as a record's header of RocksDB has bytes.
    pub zeros_first: bool,
    /// True if its end was already so before.
    pub flawed_before: bool,
    /// Loss that the file suffered.
    pub loss: Loss,
    /// Its length on stable storage before the crash, in bytes.
    pub stable_bytes: usize,
}

impl Fate {
    /// Returns whether it is a file of the database itself, and not of a copy of it.
    pub fn is_of_database(&self) -> bool {
        self.path.starts_with(DATABASE)
    }

    /// Returns the flaw of its end that will still be visible after the next crash.
    pub(super) fn flaw(&self) -> Option<(Tail, bool)> {
        matches!(self.tail, Tail::Short | Tail::Torn).then_some((self.tail, self.zeros_first))
    }
}

/// Changes of directories that a power cut lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostEntries {
    /// Names given.
    pub adds: usize,
    /// Names removed.
    pub removes: usize,
    /// Names changed.
    pub renames: usize,
    /// True if a later change survived an earlier one.
    pub reordered: bool,
}

/// Effects of a power cut.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// Every file that had a name.
    pub files: Vec<Fate>,
    /// Changes of directories that were lost.
    pub entries: LostEntries,
}

/// Compares the rest of a file with its writes.
pub(super) fn fate(
    number: Number,
    path: String,
    named: bool,
    file: &File,
    left: &[u8],
    loss: Loss,
) -> Fate {
    // bytes that were written over may be as they were before or after
    let fixed = |from: usize, to: usize| {
        (from..to)
            .filter(|at| !file.overwritten.iter().any(|(begin, end)| (*begin..*end).contains(at)))
    };
    let same = |from: usize, to: usize| {
        let to = to.min(left.len());
        from >= to
            || left[from..to] == file.now[from..to]
            || fixed(from, to).all(|at| left[at] == file.now[at])
    };
    // A sealed file begins with a header that is stored twice: one whole copy is as good as two,
    // and without a copy the rest is nothing that anybody wrote
    let header = if is_sealed(&file.now) { HEADER_BYTES } else { 0 };
    let has_header = left.len() >= header
        && (0..header).step_by(header.max(2) / 2).any(|copy| same(copy, copy + 512));
    let mut whole = 0;
    let mut end = 0;
    for piece_end in &file.pieces {
        let is_whole = if *piece_end <= header { has_header } else { same(end, *piece_end) };
        if *piece_end > left.len() || !is_whole {
            break;
        }
        whole += 1;
        end = *piece_end;
    }
    // a part of a header is not part of anything that was written after it
    let end = end.max(header);
    let rest = &left[end.min(left.len())..];
    let tail = if rest.is_empty() {
        Tail::Clean
    } else if rest.iter().all(|byte| *byte == 0) {
        Tail::Zeros
    } else if left.len() <= file.now.len() && same(end, left.len()) {
        Tail::Short
    } else {
        Tail::Torn
    };
    let zeros_first = rest.iter().take(RECORD_HEADER_BYTES).all(|byte| *byte == 0);
    let (tail, zeros_first) = file.flaw.unwrap_or((tail, zeros_first));
    let (pieces, stable_bytes) = (file.pieces.len(), file.stable.len());
    let flawed_before = file.flaw.is_some();
    Fate {
        number,
        path,
        named,
        pieces,
        whole,
        tail,
        zeros_first,
        flawed_before,
        loss,
        stable_bytes,
    }
}
