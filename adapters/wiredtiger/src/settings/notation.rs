//! The notation of WiredTiger's settings, in which ours are written: `name=value,name="value"`.
//! Both directions are here, so that they match.

use std::path::{Path, PathBuf};

/// Reason why a value cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotationError {
    /// A character that the notation cannot hold.
    #[error(
        "cannot write {what} {value:?} for the storage engine: {found:?} has no place in its \
         notation\n\
         use a name without quotes, backslashes and control characters"
    )]
    Character {
        /// Description of the value.
        what: &'static str,
        /// The value.
        value: String,
        /// The character.
        found: char,
    },
    /// A path that is not text.
    #[error("cannot write {what} {} for the storage engine: it is not UTF-8\nrename it",
        path.display())]
    NotText {
        /// Kind of object that the path leads to.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
}

/// Error that keeps a text from being read, with its position in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) found: &'static str,
}

/// Returns `value` in quotation marks. WiredTiger itself does not resolve a backslash, so what
/// would need one is refused.
pub(crate) fn quoted(what: &'static str, value: &str) -> Result<String, NotationError> {
    match value.chars().find(|c| matches!(c, '"' | '\\') || c.is_control()) {
        Some(found) => Err(NotationError::Character { what, value: value.into(), found }),
        None => Ok(format!("\"{value}\"")),
    }
}

/// Returns `path` in quotation marks.
pub(crate) fn quoted_path(what: &'static str, path: &Path) -> Result<String, NotationError> {
    match path.to_str() {
        Some(text) => quoted(what, text),
        None => Err(NotationError::NotText { what, path: path.to_owned() }),
    }
}

/// Returns `value` without quotation marks: a name of letters, digits and `-_.`.
pub(super) fn plain(what: &'static str, value: &str) -> Result<String, NotationError> {
    match value.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')) {
        Some(found) => Err(NotationError::Character { what, value: value.into(), found }),
        None => Ok(value.into()),
    }
}

/// Returns the names and values of a flat configuration string as WiredTiger writes them:
/// `name=value,name="value"`, with `:` equivalent to `=`, and a name alone for a value of `true`.
pub(super) fn pairs(text: &str) -> Result<Vec<(String, String)>, SyntaxError> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let whole = [(b'(', b')'), (b'[', b']'), (b'{', b'}')];
    reader.skip_blanks();
    let close =
        whole.iter().find(|(open, _)| reader.peek() == Some(*open)).map(|(_, close)| *close);
    if close.is_some() {
        reader.at += 1;
    }
    let mut pairs = Vec::new();
    loop {
        while matches!(reader.peek(), Some(b',' | b' ' | b'\t' | b'\n' | b'\r')) {
            reader.at += 1;
        }
        match reader.peek() {
            None if close.is_none() => return Ok(pairs),
            None => return Err(reader.wrong("it ends within parentheses")),
            Some(byte) if Some(byte) == close => {
                reader.at += 1;
                reader.skip_blanks();
                return match reader.peek() {
                    None => Ok(pairs),
                    Some(_) => Err(reader.wrong("text after the closing parenthesis")),
                };
            }
            Some(_) => {}
        }
        let name = reader.word()?;
        reader.skip_blanks();
        let value = if matches!(reader.peek(), Some(b'=' | b':')) {
            reader.at += 1;
            reader.skip_blanks();
            reader.word()?
        } else {
            "true".to_owned()
        };
        pairs.push((name, value));
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn wrong(&self, found: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, found }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Returns a quoted text, in which a backslash makes the next character a plain one, or a run
    /// of plain characters.
    fn word(&mut self) -> Result<String, SyntaxError> {
        let mut word = Vec::new();
        if self.peek() == Some(b'"') {
            self.at += 1;
            loop {
                match self.peek() {
                    None => return Err(self.wrong("it ends within quotation marks")),
                    Some(b'"') => break,
                    Some(b'\\') => self.at += 1,
                    Some(_) => {}
                }
                word.push(self.peek().ok_or_else(|| self.wrong("it ends after a backslash"))?);
                self.at += 1;
            }
            self.at += 1;
        } else {
            while let Some(byte) = self.peek().filter(|byte| !b",=:()[]{}\" \t\r\n".contains(byte))
            {
                word.push(byte);
                self.at += 1;
            }
            if word.is_empty() {
                return Err(self.wrong("a name or a value was expected"));
            }
        }
        String::from_utf8(word).map_err(|_| self.wrong("it is not UTF-8 text"))
    }
}
