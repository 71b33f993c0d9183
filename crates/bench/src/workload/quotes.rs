//! Check that the quotes of a CSV file are closed and that it has no octet foreign to text, made
//! before its records are read: a reader takes everything after an open quote as one value, and
//! reports no error.

use std::sync::atomic::AtomicBool;

use super::delimiter::Delimiter;
use super::stopped::{Stopped, go_on};

/// Flaw of a text; lines are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// A quote opens on this line and is never closed.
    Open { line: u64 },
    /// A quote that opened on line `opened` is closed on `line`, with something after it instead of
    /// a delimiter.
    Inside { opened: u64, line: u64 },
    /// A zero octet.
    Nul { line: u64 },
}

/// The quotes are looked at in pieces of this many octets, between which the check may be stopped.
const PIECE_BYTES: usize = 1 << 20;

#[derive(Clone, Copy)]
enum At {
    FieldStart,
    Plain,
    Quoted { opened: u64 },
    Closed { opened: u64 },
}

/// Returns the first flaw of `text`, if it has one.
///
/// # Errors
/// [`Stopped`], soon after `stop` is set.
pub(super) fn flaw(
    text: &str,
    delimiter: Delimiter,
    stop: &AtomicBool,
) -> Result<Option<Flaw>, Stopped> {
    let mut at = At::FieldStart;
    let (mut line, mut after_return) = (1, false);
    for piece in text.as_bytes().chunks(PIECE_BYTES) {
        go_on(stop)?;
        for &octet in piece {
            // the second half of a line end counts no line
            let ends_line = octet == b'\r' || (octet == b'\n' && !after_return);
            after_return = octet == b'\r';
            let between = octet == delimiter.octet() || matches!(octet, b'\r' | b'\n');
            at = match at {
                _ if octet == 0 => return Ok(Some(Flaw::Nul { line })),
                At::FieldStart if octet == b'"' => At::Quoted { opened: line },
                At::Quoted { opened } if octet == b'"' => At::Closed { opened },
                At::Closed { opened } if octet == b'"' => At::Quoted { opened },
                quoted @ At::Quoted { .. } => quoted,
                _ if between => At::FieldStart,
                At::Closed { opened } => return Ok(Some(Flaw::Inside { opened, line })),
                At::FieldStart | At::Plain => At::Plain,
            };
            line += u64::from(ends_line);
        }
    }
    Ok(match at {
        At::Quoted { opened } => Some(Flaw::Open { line: opened }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Flaw> {
        flaw(text, Delimiter::Comma, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn whole_texts_have_no_flaw() {
        for text in [
            "",
            "a,b\n1,2",
            "a,b\n\"1\n1\",\"said \"\"no\"\"\"\n",
            "a\r\n\"\"\r\n\"x\"",
            // inside a field a quote is a character
            "size\n5\" pipe\n",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn flaws_have_their_line() {
        for end in ["\n", "\r\n", "\r"] {
            let found = |text: &str| found(&text.replace('\n', end));
            assert_eq!(found("a,b\n1,2\n3,\"4\n5,6\n"), Some(Flaw::Open { line: 3 }));
            assert_eq!(found("a\n\"1\n\"\"\n"), Some(Flaw::Open { line: 2 }));
            let inside = Flaw::Inside { opened: 2, line: 4 };
            assert_eq!(found("a,b\n\"1,2\n3,4\n5,\"김\",6\n"), Some(inside));
            assert_eq!(found("a,b\n1,2\n3,\0\n"), Some(Flaw::Nul { line: 3 }));
        }
        let long = format!("a\n{}\"x", "1\n".repeat(PIECE_BYTES));
        assert_eq!(found(&long), Some(Flaw::Open { line: 2 + PIECE_BYTES as u64 }));
    }

    #[test]
    fn a_stop_ends_the_check() {
        assert_eq!(flaw("a\n", Delimiter::Comma, &AtomicBool::new(true)), Err(Stopped));
    }
}
