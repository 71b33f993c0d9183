//! Interface for permuting the numerals of many values at once: FF1 on this machine's CPU, or any
//! other implementation from a caller that gives the same results.
//!
//! The caller brings the implementation for a device, so neither this crate nor `sealstone-gpu`
//! uses the other.

use std::fmt;

use sealstone_cipher::ff1::{Domain, Ff1, Tweaks, ff1};
use sealstone_cipher::{Cipher, Provider};

use crate::error::FieldsError;

/// FF1 with a key, over one radix. One object serves many threads at once.
pub trait Permutation: fmt::Debug + Send + Sync {
    /// Encrypts `numerals` in place, values of `length` numerals each, as [`Ff1::seal_batch`] does.
    ///
    /// # Errors
    /// [`FieldsError::Ff1`], [`FieldsError::Permuter`]; all numerals are as they were then.
    fn seal_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError>;

    /// Decrypts what [`Permutation::seal_batch`] encrypts.
    ///
    /// # Errors
    /// As there.
    fn open_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError>;
}

/// Implementation that sets a column's key for FF1. A [`Provider`] is one.
pub trait Permuter {
    /// Sets `key` (`cipher.key_bytes` long) for the column called `column`, over numerals 0 to
    /// `radix` - 1, with the smallest domain that `domain` allows.
    ///
    /// # Errors
    /// As [`Permutation::seal_batch`].
    fn permutation(
        &self,
        column: &str,
        cipher: &'static Cipher,
        key: &[u8],
        radix: u32,
        domain: Domain,
    ) -> Result<Box<dyn Permutation>, FieldsError>;
}

impl Permutation for Ff1 {
    fn seal_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError> {
        Ok(self.seal_batch(tweaks, numerals, length)?)
    }

    fn open_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError> {
        Ok(self.open_batch(tweaks, numerals, length)?)
    }
}

impl Permuter for Provider {
    fn permutation(
        &self,
        _column: &str,
        cipher: &'static Cipher,
        key: &[u8],
        radix: u32,
        domain: Domain,
    ) -> Result<Box<dyn Permutation>, FieldsError> {
        Ok(Box::new(ff1(cipher, key, *self, radix, domain)?))
    }
}
