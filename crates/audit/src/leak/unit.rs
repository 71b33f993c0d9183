//! Units: ASCII text in a row of bytes, one byte or two of UTF-16 for each character.

use super::hit::Encoding;
use super::window::View;

/// Text around one character.
#[derive(Clone, Copy)]
pub(super) struct Units<'a> {
    bytes: &'a [u8],
    /// Index of the byte that holds the character.
    at: usize,
    encoding: Encoding,
}

impl<'a> Units<'a> {
    /// Returns the text around the byte `at`, one byte for each character.
    pub(super) fn narrow(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, encoding: Encoding::Plain }
    }

    /// Returns the character `step` further; None at the end, and for what is not ASCII in UTF-16.
    pub(super) fn get(&self, step: isize) -> Option<u8> {
        let width = if self.encoding == Encoding::Plain { 1 } else { 2 };
        let at = self.at.checked_add_signed(step * width)?;
        let high = match self.encoding {
            Encoding::Utf16Le => at + 1,
            Encoding::Utf16Be => at.checked_sub(1)?,
            _ => return self.bytes.get(at).copied(),
        };
        (*self.bytes.get(high)? == 0).then(|| self.bytes.get(at).copied())?
    }

    /// Returns the index of the first byte of the character `step` further.
    pub(super) fn index(&self, step: isize) -> usize {
        let width = if self.encoding == Encoding::Plain { 1 } else { 2 };
        let at = self.at.saturating_add_signed(step * width);
        if self.encoding == Encoding::Utf16Be { at.saturating_sub(1) } else { at }
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }
}

/// Has `read` read the UTF-16 around the ASCII character that the byte `at` holds, in both byte
/// orders. Of two results, the one whose text begins at even offsets counts.
pub(super) fn wide<T>(
    view: &View<'_>,
    at: usize,
    read: &dyn Fn(Units<'_>) -> Option<T>,
) -> Option<T> {
    let order = |encoding, high: Option<usize>| {
        let is_ascii = high.and_then(|high| view.bytes.get(high)) == Some(&0);
        is_ascii.then(|| read(Units { bytes: view.bytes, at, encoding })).flatten()
    };
    let low_first = order(Encoding::Utf16Le, Some(at + 1));
    let high_first = order(Encoding::Utf16Be, at.checked_sub(1));
    if view.offset(at).is_multiple_of(2) {
        low_first.or(high_first)
    } else {
        high_first.or(low_first)
    }
}
