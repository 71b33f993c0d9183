//! The answer of a recommendation, in pieces. Each has its kind, so that a reader of the answer,
//! such as the first screen of the report, takes the piece that it needs and cuts up no sentence.

use serde::{Deserialize, Serialize};

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Its role in the answer.
    pub kind: PieceKind,
    /// Label of the variant that it is about; empty if it is about none.
    pub label: String,
    /// Its words, without those that its kind puts before them.
    pub text: String,
}

/// Role of a piece in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PieceKind {
    /// A finding: how a variant compares with the one to take, or why there is none.
    Finding,
    /// Protection for which the variant of the next piece is to be taken.
    Purpose,
    /// The variant to take, with its cost.
    Take,
    /// A variant whose cost must be known before any can be taken.
    Open,
}

impl Piece {
    /// Returns a finding about no variant in particular.
    pub fn finding(text: impl Into<String>) -> Self {
        Self::finding_on("", text)
    }

    /// Returns a finding about the variant called `label`.
    pub(crate) fn finding_on(label: &str, text: impl Into<String>) -> Self {
        Self { kind: PieceKind::Finding, label: label.into(), text: text.into() }
    }

    /// Returns the protection for which the variant called `label` is to be taken.
    pub fn purpose(label: &str, text: impl Into<String>) -> Self {
        Self { kind: PieceKind::Purpose, label: label.into(), text: text.into() }
    }

    /// Returns the choice of the variant called `label`; `text` is its cost.
    pub fn take(label: &str, text: impl Into<String>) -> Self {
        Self { kind: PieceKind::Take, label: label.into(), text: text.into() }
    }

    /// Returns the open cost of the variant called `label`.
    pub fn open(label: &str, text: impl Into<String>) -> Self {
        Self { kind: PieceKind::Open, label: label.into(), text: text.into() }
    }
}

/// Returns `pieces` in one sentence.
#[must_use]
pub(crate) fn sentence(pieces: &[Piece]) -> String {
    let mut text = String::new();
    let mut last: Option<PieceKind> = None;
    for piece in pieces {
        text += match last {
            None => "",
            Some(PieceKind::Purpose) => ", ",
            Some(_) => "; ",
        };
        match piece.kind {
            PieceKind::Take => text += &format!("take {}: ", piece.label),
            // it is for all that are open
            PieceKind::Open if last != Some(PieceKind::Open) => text += "nothing to take yet: ",
            PieceKind::Open | PieceKind::Purpose | PieceKind::Finding => {}
        }
        text += &piece.text;
        last = Some(piece.kind);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_piece_puts_words_before_it() {
        let behind = Piece::finding_on("a", "a does not sustain 9 ops/s");
        let purpose = Piece::purpose("b", "to protect from dba");
        let pieces = [behind, purpose, Piece::take("b", "it costs 4 %"), Piece::finding("c")];
        let wanted = "a does not sustain 9 ops/s; to protect from dba, take b: it costs 4 %; c";
        assert_eq!(sentence(&pieces), wanted);
        let open = [Piece::open("a", "a is open"), Piece::open("b", "b is open")];
        assert_eq!(sentence(&open), "nothing to take yet: a is open; b is open");
        assert_eq!(sentence(&[]), "");
    }
}
