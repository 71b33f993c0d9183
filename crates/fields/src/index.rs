//! Index values: a short keyed digest of a value, so that rows can be found by equality without
//! opening any.

use sealstone_cipher::{Backend, Cipher, Cmac, cmac};
use zeroize::Zeroizing;

use crate::error::FieldsError;
use crate::table_key::Keyed;

/// The shortest index value, in bits.
pub(crate) const BITS_MIN: u32 = 8;
/// The longest, in bits: few enough that an index value is no digest to look up elsewhere.
pub(crate) const BITS_MAX: u32 = 64;

/// Makes the index values of one column.
#[derive(Debug)]
pub(crate) struct IndexCipher {
    cmac: Cmac,
    bits: u32,
}

impl IndexCipher {
    /// - `bits`: a multiple of 4 from [`BITS_MIN`] to [`BITS_MAX`]
    pub(crate) fn new(
        table: &str,
        column: &str,
        cipher: &'static Cipher,
        bits: u32,
        keyed: &Keyed,
        backend: Backend,
    ) -> Result<Self, FieldsError> {
        if cipher.block_bytes != 16 {
            return Err(FieldsError::NoIndex { column: column.to_owned(), cipher: cipher.name });
        }
        let mut key = Zeroizing::new(vec![0; cipher.key_bytes]);
        let context = [table.as_bytes(), column.as_bytes(), &cipher.id.to_be_bytes()];
        keyed.subkey("field index", &context, &mut key)?;
        Ok(Self { cmac: cmac(cipher, &key, keyed.provider(backend))?, bits })
    }

    /// Appends the index value of `value`: the first bits of its CMAC, as hexadecimal digits.
    ///
    /// # Errors
    /// [`FieldsError::Cipher`] if a module fails; nothing is appended then.
    pub(crate) fn write(&self, value: &str, out: &mut String) -> Result<(), FieldsError> {
        let tag = self.cmac.mac(value.as_bytes())?;
        let nibbles =
            tag.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(self.bits as usize / 4);
        out.extend(nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)));
        Ok(())
    }
}
