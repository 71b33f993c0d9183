//! The encodings of CSV files: UTF-8, and CP949, which Korean public data uses.

use std::borrow::Cow;

use sealstone_message::Unknown;

/// Mark that some editors put at the beginning of UTF-8 text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Encoding of the text of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// CP949: EUC-KR with the further syllables of Windows.
    Cp949,
}

/// Format in which a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Separator of the fields: an ASCII character that is neither a quote nor a line end.
    pub delimiter: u8,
    /// Encoding of the text.
    pub encoding: Encoding,
}

impl Encoding {
    /// Both, the usual one first.
    pub const ALL: [Self; 2] = [Self::Utf8, Self::Cp949];

    /// Returns the name: `UTF-8`, `CP949`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Cp949 => "CP949",
        }
    }

    /// Returns the encoding called `name`, in any case.
    ///
    /// # Errors
    /// A name that is neither.
    pub fn by_name(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Unknown::new("encoding", name, Self::ALL.map(Self::name)))
    }

    /// Returns the encoding of a file that begins with `beginning`; none if it is neither. The last
    /// character may be cut.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Option<Self> {
        let whole = beginning
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(beginning, |end| &beginning[..=end]);
        Self::ALL.into_iter().find(|one| one.decode(whole).is_some())
    }

    /// Returns `bytes` as text; none if they are not in this encoding.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Cp949 => {
                encoding_rs::EUC_KR.decode_without_bom_handling_and_without_replacement(bytes)
            }
        }
    }

    /// Returns `text` in this encoding; none if it has a character that the encoding lacks.
    #[must_use]
    pub fn encode(self, text: &str) -> Option<Cow<'_, [u8]>> {
        match self {
            Self::Utf8 => Some(Cow::Borrowed(text.as_bytes())),
            Self::Cp949 => {
                let (bytes, _, lossy) = encoding_rs::EUC_KR.encode(text);
                (!lossy).then_some(bytes)
            }
        }
    }
}

/// Returns the delimiter that the first line of `beginning` names for Excel, as `sep=;`, and how
/// long that line is, with its end and a byte order mark before it.
#[must_use]
pub fn named_delimiter(beginning: &[u8]) -> Option<(u8, usize)> {
    let text = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(beginning);
    let end = memchr::memchr(b'\n', text)? + 1;
    let line = text[..end - 1].strip_suffix(b"\r").unwrap_or(&text[..end - 1]);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter] if delimiter.is_ascii() => {
            Some((*delimiter, beginning.len() - text.len() + end))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_hold_every_syllable() {
        let all: String = ('가'..='힣').collect();
        for encoding in Encoding::ALL {
            let bytes = encoding.encode(&all).unwrap();
            assert_eq!(encoding.decode(&bytes).unwrap(), all);
            // so delimiters and quotes are never a part of one
            assert!(!bytes.iter().any(|byte| b",;\t|\"\r\n".contains(byte)));
            assert_eq!(Encoding::of(&bytes), Some(encoding));
        }
        assert_eq!(Encoding::of(b"name\nKim\n\xea\xb0"), Some(Encoding::Utf8));
        assert_eq!(Encoding::of(b"name\n\xff\xff\n"), None);
        assert_eq!(Encoding::Cp949.encode("é"), None);
    }

    #[test]
    fn what_is_decoded_is_encoded_to_the_same_bytes() {
        for first in 0x81..=0xfe {
            for second in 0..=0xff {
                let bytes = [first, second];
                if let Some(text) = Encoding::Cp949.decode(&bytes) {
                    assert_eq!(
                        Encoding::Cp949.encode(&text).as_deref(),
                        Some(&bytes[..]),
                        "{bytes:x?}"
                    );
                }
            }
        }
    }

    #[test]
    fn excels_first_line_names_the_delimiter() {
        assert_eq!(named_delimiter(b"sep=;\r\na;b\n"), Some((b';', 7)));
        assert_eq!(named_delimiter(b"\xef\xbb\xbfSEP=\t\na\tb\n"), Some((b'\t', 9)));
        assert_eq!(named_delimiter(b"\"sep=,\"\na,b\n"), Some((b',', 8)));
        for none in ["sep=;", "sep;a\n", "separator;a\n", "sep=;;\n", "\nsep=;\n", ""] {
            assert_eq!(named_delimiter(none.as_bytes()), None, "{none:?}");
        }
    }
}
