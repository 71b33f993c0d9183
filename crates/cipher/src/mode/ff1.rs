//! FF1 (SP 800-38G): ten rounds of a Feistel network over the two halves of a value, each a number
//! in the radix, with CBC-MAC over a block cipher as the round function. Cipher, backend and radix
//! were chosen when the key was set.
//!
//! Nothing but computed values depends on a numeral: no branch, no address, no division. Lengths,
//! radix, tweaks' lengths, and whether a numeral is below the radix are not secret.
//!
//! Each of the ten rounds waits for the one before it, so a single value is bound by the latency of
//! the block cipher. A batch goes through the rounds in chunks of 256 values, which stay in the
//! first-level cache: a loop makes all input blocks, one call encrypts them, a loop adds the
//! results modulo a power of the radix. Those loops are compiled for each backend, as the kernels
//! of `arch` are.
//!
//! A single value over AES with instructions never leaves the registers: its halves are fractions
//! of the modulus, which wrap automatically. Where the CPU has products of 52 bits and a round
//! takes 8 bytes, the fractions stay in the vector registers of the blocks.
//!
//! Halves are words of 64 or 128 bits where the moduli have at most 60 or 96 bits, and limbs
//! beyond. With limbs the time grows with the square of the length, so lengths end at 4,096
//! numerals.
//!
//! Not here: the choice of a cipher ([`crate::ff1`]), errors (`ff1/error.rs`), allowed domains
//! (`ff1/domain.rs`), values derived from radix and length (`ff1_value/shape.rs`, for code
//! elsewhere `ff1/outline.rs`), the round function (`ff1/round.rs`), the rounds on numbers that are
//! words (`ff1_value/one_value.rs`, `ff1/narrow.rs`) and on longer numbers (`ff1/wide.rs`).

mod columns;
mod domain;
mod error;
mod heads;
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod left_on_stack;
mod narrow;
mod outline;
mod round;
mod steps;
mod tweaks;
mod wide;

use std::fmt;
use std::ops::RangeInclusive;

use zeroize::Zeroizing;

use crate::arch::with_every;
use crate::backend::Backend;
use crate::memory::Protected;
use crate::mode::BlockCipher;
pub use crate::mode::ff1_value::bounds::{LENGTH_MAX, RADIX_MAX, RADIX_MIN, TWEAK_BYTES_MAX};
use crate::mode::ff1_value::half::Radix;
use crate::mode::ff1_value::one_value::OneValue;
use crate::mode::ff1_value::shape::{Numbers, Shape};
use crate::mode::wipe_stack::wipe_stack;
use crate::standing::Standing;
pub use domain::Domain;
pub use error::Ff1Error;
use heads::Heads;
use narrow::Engine;
pub use outline::Outline;
use round::Mac;
use steps::{InTurn, On, Steps};
pub use tweaks::Tweaks;

/// FF1 keyed with one cipher, over one radix. One object serves many threads at once; its key is
/// zeroed on drop.
///
/// Values are slices of numerals from 0 to radix - 1, the most significant first, and are sealed
/// and opened in place. Everything is checked first: after an error the values are as they were.
pub struct Ff1 {
    cipher: Keyed,
    standing: Standing,
    radix: Radix,
    /// The shortest value that is allowed, in numerals.
    length_min: usize,
    /// Values that follow from radix and length, from length 2 on as long as numbers are words.
    shapes: Box<[Shape]>,
}

/// A block cipher with a key, by the length of its blocks.
enum Keyed {
    Block128(Over<16>),
    Block64(Over<8>),
}

/// A block cipher with a key, and what goes with it.
struct Over<const N: usize> {
    cipher: Protected<dyn BlockCipher<N>>,
    /// Implementation that computes on many numbers at once.
    steps: Box<dyn Steps<u64, N>>,
    /// For one value at a time: the state common to all values of its shape.
    heads: Protected<Heads<N>>,
}

impl Ff1 {
    /// Returns the standard's mode, over a cipher of `standing`; `radix` is allowed.
    pub(crate) fn over_128_bits(
        cipher: Protected<dyn BlockCipher<16>>,
        backend: Backend,
        standing: Standing,
        radix: u32,
        domain: Domain,
    ) -> Self {
        let steps = with_every!(backend, |lanes| Box::new(On(lanes)) as Box<dyn Steps<u64, 16>>);
        let heads = Protected::with(Heads::new);
        Self::new(Keyed::Block128(Over { cipher, steps, heads }), standing, radix, domain)
    }

    /// Returns the experimental construction; `radix` is allowed.
    pub(crate) fn over_64_bits(
        cipher: Protected<dyn BlockCipher<8>>,
        backend: Backend,
        radix: u32,
        domain: Domain,
    ) -> Self {
        let steps = with_every!(backend, |lanes| Box::new(On(lanes)) as Box<dyn Steps<u64, 8>>);
        let heads = Protected::with(Heads::new);
        Self::new(
            Keyed::Block64(Over { cipher, steps, heads }),
            Standing::Experimental,
            radix,
            domain,
        )
    }

    fn new(cipher: Keyed, standing: Standing, radix: u32, domain: Domain) -> Self {
        let length_min = domain.length_min(radix);
        let radix = Radix::new(radix);
        Self {
            cipher,
            standing,
            radix,
            length_min,
            shapes: crate::mode::ff1_value::shape::of_words(radix),
        }
    }

    /// Numerals are less than this: 2 to 65,536.
    pub fn radix(&self) -> u32 {
        self.radix.value
    }

    /// Returns the lengths that values may have, in numerals.
    pub fn lengths(&self) -> RangeInclusive<usize> {
        self.length_min..=LENGTH_MAX
    }

    /// Returns the standing of cipher and mode together: the cipher's; experimental where its
    /// blocks have 64 bits.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`.
    pub fn backend(&self) -> &'static str {
        match &self.cipher {
            Keyed::Block128(over) => over.cipher.backend(),
            Keyed::Block64(over) => over.cipher.backend(),
        }
    }

    /// Encrypts one value in place, bound to `tweak` (any length up to 2^32 - 1 bytes). It
    /// allocates nothing.
    ///
    /// # Errors
    /// `Ff1Error::Length`, `Ff1Error::Symbol`, `Ff1Error::TweakLength`; the value is untouched
    /// then.
    ///
    /// Source: SP 800-38G, algorithm 7 (FF1.Encrypt).
    pub fn seal(&self, tweak: &[u8], value: &mut [u16]) -> Result<(), Ff1Error> {
        self.crypt_one::<true>(tweak, value)
    }

    /// Decrypts one value in place. It cannot detect a wrong key or tweak. It allocates nothing.
    ///
    /// # Errors
    /// As [`Ff1::seal`].
    ///
    /// Source: SP 800-38G, algorithm 8 (FF1.Decrypt).
    pub fn open(&self, tweak: &[u8], value: &mut [u16]) -> Result<(), Ff1Error> {
        self.crypt_one::<false>(tweak, value)
    }

    /// Encrypts `values` in place: any number of values of `length` numerals each, one after the
    /// other. It gives what [`Ff1::seal`] of each gives, and takes less time, since many are worked
    /// on at once.
    ///
    /// # Errors
    /// As [`Ff1::seal`], and `Ff1Error::Values`, `Ff1Error::Tweaks`, `Ff1Error::PackedTweaks`; all
    /// values are untouched then.
    pub fn seal_batch(
        &self,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
        length: usize,
    ) -> Result<(), Ff1Error> {
        self.crypt::<true>(tweaks, values, length)
    }

    /// Decrypts `values` in place, what [`Ff1::seal_batch`] encrypts.
    ///
    /// # Errors
    /// As [`Ff1::seal_batch`].
    pub fn open_batch(
        &self,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
        length: usize,
    ) -> Result<(), Ff1Error> {
        self.crypt::<false>(tweaks, values, length)
    }

    fn crypt_one<const SEAL: bool>(&self, tweak: &[u8], value: &mut [u16]) -> Result<(), Ff1Error> {
        let length = value.len();
        self.check_length(length)?;
        Tweaks::One(tweak).check(1)?;
        domain::check_symbols(value, length, self.radix.value)?;
        self.with_shape(length, |shape| match &self.cipher {
            Keyed::Block128(over) => over.crypt_one::<SEAL>(shape, tweak, value),
            Keyed::Block64(over) => over.crypt_one::<SEAL>(shape, tweak, value),
        });
        Ok(())
    }

    fn crypt<const SEAL: bool>(
        &self,
        tweaks: Tweaks<'_>,
        values: &mut [u16],
        length: usize,
    ) -> Result<(), Ff1Error> {
        self.check(&tweaks, values, length)?;
        self.with_shape(length, |shape| match &self.cipher {
            Keyed::Block128(over) => over.crypt::<SEAL>(shape, &tweaks, values),
            Keyed::Block64(over) => over.crypt::<SEAL>(shape, &tweaks, values),
        });
        Ok(())
    }

    /// Calls `job` with what follows from `length`.
    #[inline(always)]
    fn with_shape(&self, length: usize, job: impl FnOnce(&Shape)) {
        match self.shapes.get(length - 2) {
            Some(shape) => job(shape),
            None => job(&Shape::new(self.radix, length)),
        }
    }

    /// Checks whether everything in a call may be computed.
    fn check(&self, tweaks: &Tweaks<'_>, values: &[u16], length: usize) -> Result<(), Ff1Error> {
        self.check_length(length)?;
        if !values.len().is_multiple_of(length) {
            return Err(Ff1Error::Values { found: values.len(), length });
        }
        tweaks.check(values.len() / length)?;
        domain::check_symbols(values, length, self.radix.value)
    }

    fn check_length(&self, length: usize) -> Result<(), Ff1Error> {
        if self.lengths().contains(&length) {
            return Ok(());
        }
        let (least, most) = (self.length_min, LENGTH_MAX);
        Err(Ff1Error::Length { found: length, least, most, radix: self.radix.value })
    }
}

/// Fewer values than this go one after the other: side by side the room for many must be cleared.
const FEW: usize = 4;
/// Bytes of stack that the work on one value may leave something in, that on one whose halves are
/// longer than 96 bits, and that on many.
const STACK_OF_ONE: usize = 2048;
const STACK_OF_WIDE: usize = 12 << 10;
const STACK_OF_MANY: usize = 28 << 10;

impl<const N: usize> Over<N> {
    /// Seals or opens `values`, of which all was checked.
    fn crypt<const SEAL: bool>(&self, shape: &Shape, tweaks: &Tweaks<'_>, values: &mut [u16]) {
        let few = values.len() < FEW * shape.length;
        let cipher = &*self.cipher;
        match &shape.numbers {
            Numbers::Narrow(moduli, _) if !few => {
                let side_by_side = Engine { cipher, steps: &*self.steps };
                side_by_side.crypt_all::<u64, SEAL>(shape, moduli, tweaks, values);
                wipe_stack::<STACK_OF_MANY>();
            }
            Numbers::Double(moduli) if !few => {
                Engine { cipher, steps: &InTurn }
                    .crypt_all::<u128, SEAL>(shape, moduli, tweaks, values);
                wipe_stack::<STACK_OF_MANY>();
            }
            _ => {
                for (number, value) in values.chunks_exact_mut(shape.length).enumerate() {
                    self.crypt_one::<SEAL>(shape, tweaks.get(number), value);
                }
            }
        }
    }

    /// Seals or opens one value, of which all was checked.
    #[inline(always)]
    fn crypt_one<const SEAL: bool>(&self, shape: &Shape, tweak: &[u8], value: &mut [u16]) {
        let cipher = &*self.cipher;
        if let Numbers::Narrow(_, fractions) = &shape.numbers {
            // the tweak, the number of the round and that of a half in one block
            if tweak.len() + 1 + shape.number_bytes <= N
                && let Some(state) = self.head(shape, tweak.len())
                && cipher.crypt_value(
                    OneValue { state, tail: tweak, shape, fractions, value: &mut *value },
                    SEAL,
                )
            {
                return;
            }
        }
        if let Numbers::Wide = shape.numbers {
            wide::crypt::<N, SEAL>(cipher, shape, tweak, value);
            return wipe_stack::<STACK_OF_WIDE>();
        }
        self.crypt_one_by_blocks::<SEAL>(shape, tweak, value);
        wipe_stack::<STACK_OF_ONE>();
    }

    /// Returns the state with which every value of a shape begins; the tweak follows it, unless it
    /// is empty.
    #[inline(always)]
    fn head(&self, shape: &Shape, tweak_bytes: usize) -> Option<&[u8; N]> {
        self.heads.get(shape.length, tweak_bytes, &|state| match tweak_bytes {
            0 => Mac::of_tweak(&*self.cipher, shape, b"").finish(state),
            _ => Mac::before_tweak(&*self.cipher, shape, tweak_bytes).finish(state),
        })
    }

    /// As `crypt_one`, whatever the tweak and the cipher. Never part of its caller: what it leaves
    /// on the stack must be below, where it is overwritten.
    #[inline(never)]
    fn crypt_one_by_blocks<const SEAL: bool>(
        &self,
        shape: &Shape,
        tweak: &[u8],
        value: &mut [u16],
    ) {
        let cipher = &*self.cipher;
        let mut state = Zeroizing::new([0; N]);
        match self.head(shape, tweak.len()) {
            Some(head) if tweak.is_empty() => *state = *head,
            Some(head) => {
                let mut mac = Mac::after(cipher, head);
                mac.add_tweak(shape, tweak);
                mac.finish(&mut state);
            }
            None => Mac::of_tweak(cipher, shape, tweak).finish(&mut state),
        }
        let in_turn = Engine { cipher, steps: &InTurn };
        match &shape.numbers {
            Numbers::Narrow(moduli, fractions) => {
                let one =
                    OneValue { state: &state, tail: &[], shape, fractions, value: &mut *value };
                if !cipher.crypt_value(one, SEAL) {
                    in_turn.crypt_one::<u64, SEAL>(shape, moduli, &state, value);
                }
            }
            Numbers::Double(moduli) => {
                in_turn.crypt_one::<u128, SEAL>(shape, moduli, &state, value)
            }
            Numbers::Wide => unreachable!("crypt_one does these"),
        }
    }
}

impl fmt::Debug for Ff1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ff1")
            .field("backend", &self.backend())
            .field("radix", &self.radix.value)
            .finish_non_exhaustive()
    }
}
