//! One file: as programs see it, its state on stable storage, and its state after a power cut.

use crate::random::Random;

/// A file or directory, whatever its names.
pub type Number = u64;

/// Effect of a power cut on a file that had changes which were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of them are present.
    Nothing,
    /// None of them is.
    All,
    /// The first of them are, each as a whole.
    Tail,
    /// The first of them are, and one in part.
    Cut,
    /// Some units are, in any order.
    Holes,
    /// The file has its length, and its end is zeros.
    ZeroTail,
    /// The file's first unit is zeros, or as it was.
    FirstUnit,
}

/// State of the end of a file, compared with its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// It ends with a piece that was appended as a whole.
    Clean,
    /// Only zeros follow the piece.
    Zeros,
    /// A part of a piece follows, just as it was written, and then nothing.
    Short,
    /// Something else follows: a piece with a hole, or pieces after one.
    Torn,
}

/// One change of a file that was not synced.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { offset: usize, data: Vec<u8> },
    Truncate { bytes: usize },
}

/// A file.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    /// As programs see it.
    pub(super) now: Vec<u8>,
    /// The content on stable storage.
    pub(super) stable: Vec<u8>,
    /// From `stable` to `now`.
    pub(super) changes: Vec<Change>,
    /// End of each appended piece, since the file was made.
    pub(super) pieces: Vec<usize>,
    /// Ranges that were written over, after they were appended.
    pub(super) overwritten: Vec<(usize, usize)>,
    /// State in which an earlier power cut left its end, and whether that begins with zeros; this
    /// does not change.
    pub(super) flaw: Option<(Tail, bool)>,
}

impl File {
    /// Returns the content after a power cut that may lose units of `unit` bytes.
    pub(super) fn after_cut(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        if self.changes.is_empty() {
            return (self.stable.clone(), Loss::Nothing);
        }
        let shrinks = self.changes.iter().any(|change| matches!(change, Change::Truncate { .. }));
        let style = if shrinks { random.below(3) } else { random.below(8) };
        match style {
            0 => (self.stable.clone(), Loss::All),
            1 => (self.now.clone(), Loss::Nothing),
            2 => {
                let kept = random.below(self.changes.len() + 1);
                let loss = if kept == self.changes.len() { Loss::Nothing } else { Loss::Tail };
                (self.with(kept), loss)
            }
            3 => self.cut_within(unit, random),
            4 | 5 => self.with_holes(unit, random),
            6 => self.with_zero_tail(unit, random),
            _ => self.without_first_unit(unit),
        }
    }

    /// Returns the content after the first `kept` changes.
    fn with(&self, kept: usize) -> Vec<u8> {
        let mut content = self.stable.clone();
        for change in &self.changes[..kept] {
            match change {
                Change::Write { offset, data } => put(&mut content, *offset, data),
                Change::Truncate { bytes } => content.resize(*bytes, 0),
            }
        }
        content
    }

    /// Returns the first changes, and the part of the next one in the first units.
    fn cut_within(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        let kept = random.below(self.changes.len());
        let mut content = self.with(kept);
        let Change::Write { offset, data } = &self.changes[kept] else {
            return (content, Loss::Tail);
        };
        let first = offset / unit + 1;
        let last = (offset + data.len()) / unit;
        if first > last {
            return (content, Loss::Tail);
        }
        let end = random.within(first, last) * unit;
        put(&mut content, *offset, &data[..end - offset]);
        (content, Loss::Cut)
    }

    /// Returns each unit as some prefix of the changes left it.
    fn with_holes(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        let mut content = self.now.clone();
        let keeps = random.pick(&[30, 60, 90]);
        for begin in (0..content.len()).step_by(unit) {
            let end = (begin + unit).min(content.len());
            let covering = |change: &&Change| match change {
                Change::Write { offset, data } => *offset < end && offset + data.len() > begin,
                Change::Truncate { .. } => false,
            };
            let covering: Vec<&Change> = self.changes.iter().filter(covering).collect();
            if covering.is_empty() || random.chance(keeps) {
                continue;
            }
            let mut piece = vec![0; end - begin];
            if begin < self.stable.len() {
                let there = self.stable.len().min(end) - begin;
                piece[..there].copy_from_slice(&self.stable[begin..begin + there]);
            }
            for change in &covering[..random.below(covering.len())] {
                if let Change::Write { offset, data } = change {
                    let (from, to) = (begin.max(*offset), end.min(offset + data.len()));
                    piece[from - begin..to - begin]
                        .copy_from_slice(&data[from - offset..to - offset]);
                }
            }
            content[begin..end].copy_from_slice(&piece);
        }
        if random.chance(50) {
            let shortest = self.stable.len().div_ceil(unit);
            let bytes = random.within(shortest, content.len().div_ceil(unit)) * unit;
            content.truncate(bytes.max(self.stable.len()));
        }
        (content, Loss::Holes)
    }

    /// Returns the length of now, and zeros from some unit on.
    fn with_zero_tail(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        let mut content = self.now.clone();
        let begin = self.stable.len();
        if begin >= content.len() {
            return self.with_holes(unit, random);
        }
        let from =
            (random.within(begin.div_ceil(unit), content.len() / unit + 1) * unit).max(begin);
        let from = if random.chance(30) { begin } else { from.min(content.len()) };
        content[from..].fill(0);
        (content, Loss::ZeroTail)
    }

    /// Returns all but the first unit, which is as it was.
    fn without_first_unit(&self, unit: usize) -> (Vec<u8>, Loss) {
        let mut content = self.now.clone();
        let end = unit.min(content.len());
        content[..end].fill(0);
        let there = self.stable.len().min(end);
        content[..there].copy_from_slice(&self.stable[..there]);
        (content, Loss::FirstUnit)
    }
}

pub(super) fn put(content: &mut Vec<u8>, offset: usize, data: &[u8]) {
    if content.len() < offset + data.len() {
        content.resize(offset + data.len(), 0);
    }
    content[offset..offset + data.len()].copy_from_slice(data);
}
