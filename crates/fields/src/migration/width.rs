//! Room that sealed values take in a column: the current values, and the longest value that the
//! column takes.

use sealstone_cipher::Cipher;
use sealstone_keys::KEY_ID_BYTES_MAX;
use sealstone_seal::field_record_bytes;

use super::shape::TextRoom;
use crate::policy::{Column, Method};
use crate::record_text;

/// Properties, besides the value, that determine the length of a sealed value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width {
    cipher: &'static Cipher,
    key_id_bytes: usize,
}

impl Width {
    /// Makes it for values under `cipher` and the key `key_id`; if unknown, under the longest id
    /// that a key can have.
    pub(super) fn new(cipher: &'static Cipher, key_id: Option<&str>) -> Self {
        Self { cipher, key_id_bytes: key_id.map_or(KEY_ID_BYTES_MAX, str::len) }
    }

    /// Characters and bytes of `value` once it is sealed in `column`.
    pub(super) fn of(&self, column: &Column, value: &str) -> (u64, u64) {
        match &column.method {
            // the same characters elsewhere
            Method::Ff1(_) => (value.chars().count() as u64, value.len() as u64),
            Method::Aead if value.is_empty() && column.keeps_empty => (0, 0),
            Method::Aead => {
                let chars = self.authenticated(value.len() as u64);
                (chars, chars)
            }
        }
    }

    /// Characters that `column` must have room for, so that every value that it takes now, in
    /// `room`, can be sealed.
    fn for_longest(&self, column: &Column, room: &TextRoom) -> Option<u64> {
        match &column.method {
            Method::Ff1(_) => None,
            Method::Aead => room.longest.map(|bytes| self.authenticated(bytes)),
        }
    }

    /// Characters that `column` must have room for: for every value that it takes now, in `room`,
    /// and for one that needs `needed`.
    pub(super) fn wanted(&self, column: &Column, room: Option<&TextRoom>, needed: u64) -> u64 {
        room.and_then(|room| self.for_longest(column, room)).unwrap_or(0).max(needed)
    }

    fn authenticated(&self, bytes: u64) -> u64 {
        record_text::chars(field_record_bytes(self.cipher, self.key_id_bytes, bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sealstone_cipher::{Backend, ciphers};
    use sealstone_keys::EphemeralKey;

    use super::*;
    use crate::policy::{ColumnOptions, Table};
    use crate::{ColumnCipher, Keyed, Texts};

    #[test]
    fn a_sealed_value_is_as_long_as_was_said() {
        for cipher in ciphers() {
            let column = Column::parse("memo=aead", &ColumnOptions::default()).unwrap();
            let table = Table::new("people", cipher, vec![column.clone()]).unwrap();
            let keyed = Keyed::current(Arc::new(EphemeralKey::new().unwrap())).unwrap();
            let memo = ColumnCipher::new(&table, &column, &keyed, Backend::auto()).unwrap();
            let width = Width::new(cipher, Some(&keyed.key().id));
            let values = ["", "1", "12", "some memo", "긴 글 긴 글 긴 글", &"long ".repeat(99)];
            let values: Texts = values.into_iter().collect();
            let (mut sealed, mut misfits) = (Texts::new(), Vec::new());
            memo.seal(&values, None, &mut sealed, &mut misfits).unwrap();
            for at in 0..values.len() {
                let found = sealed.get(at).len() as u64;
                assert_eq!((found, found), width.of(&column, values.get(at)), "{}", cipher.name);
            }
            let room = TextRoom { chars: Some(30), bytes: None, longest: Some(120), unicode: true };
            let long: Texts = ["🔑".repeat(30)].into_iter().collect();
            let mut sealed = Texts::new();
            memo.seal(&long, None, &mut sealed, &mut misfits).unwrap();
            assert_eq!(
                Some(sealed.get(0).len() as u64),
                width.for_longest(&column, &room),
                "{}",
                cipher.name
            );
            assert!(
                Width::new(cipher, None).for_longest(&column, &room)
                    >= width.for_longest(&column, &room)
            );
        }
    }
}
