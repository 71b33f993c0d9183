//! Cryptographic modules: definition of what a module of somebody else, validated or not, computes
//! in place of this crate.
//!
//! Laws ask for a validated *module*, not for an algorithm. A program that needs one takes every
//! cipher, MAC, derivation and random byte from it: a [`Module`] given as [`crate::Provider`]
//! replaces [`crate::Backend`] wherever a key is set, and what it lacks is an error, never done by
//! this crate instead.
//!
//! Not here: modules themselves (`sealstone-modules`).

use std::fmt;

use crate::aead::{Aead, Part, PartError};
use crate::ctr::Ctr;
use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;
pub use crate::mode::cbc::KeyedCbc;
use crate::mode::run::check_parts;
use crate::modes::Mode;
use zeroize::Zeroizing;

/// Length of an output of SHA-256, in bytes.
pub const SHA256_BYTES: usize = 32;

/// A cryptographic module that was loaded and has passed its self tests.
///
/// It stays loaded as long as the process runs, so it is used as `&'static dyn Module`. It serves
/// many threads at once.
///
/// Every function returns [`Error::Lacks`] for what the module has not, and [`Error::Module`] once
/// the module reports a failure; outputs are then zeros or untouched, and nothing falls back to the
/// code of this crate.
pub trait Module: fmt::Debug + Send + Sync {
    /// Returns its name, which names it in files for as long as they exist, such as
    /// `openssl:fips`: printable ASCII without a space.
    fn name(&self) -> &'static str;

    /// Returns its version, as it states it itself, such as `3.0.9`: printable ASCII. With the name
    /// at most [`TITLE_BYTES_MAX`] bytes, a space between them.
    fn version(&self) -> &'static str;

    /// Returns the certificate as the module or its user states it; None where nobody stated one.
    fn certificate(&self) -> Option<&'static str>;

    /// Returns the text by which another program loads the same module, wherever it runs, with what
    /// the user stated about it: for a library its absolute path.
    fn spec(&self) -> &'static str;

    /// Sets `key` for the cipher's authenticated mode.
    ///
    /// # Errors
    /// `Error::KeyLength`; those of every function.
    fn aead(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Protected<dyn Aead>, Error>;

    /// Sets `key` for counter mode.
    ///
    /// # Errors
    /// As [`Module::aead`].
    fn ctr(&'static self, cipher: &'static Cipher, key: &[u8])
    -> Result<Protected<dyn Ctr>, Error>;

    /// Sets `key` for CBC without padding (SP 800-38A, 6.2). A module that has none leaves this
    /// out.
    ///
    /// # Errors
    /// As [`Module::aead`].
    fn cbc(&'static self, cipher: &'static Cipher, key: &[u8]) -> Result<Box<dyn KeyedCbc>, Error> {
        cipher.check_key(key)?;
        Err(Error::Lacks { module: self.name(), what: Mode::Cbc.word(), cipher: cipher.name })
    }

    /// Sets `key` for CMAC (SP 800-38B). A module that has none leaves this out.
    ///
    /// # Errors
    /// As [`Module::aead`].
    fn cmac(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Box<dyn KeyedCmac>, Error> {
        cipher.check_key(key)?;
        Err(Error::Lacks { module: self.name(), what: Mode::Cmac.word(), cipher: cipher.name })
    }

    /// Begins an HMAC-SHA-256 (RFC 2104) under `key`.
    ///
    /// # Errors
    /// Those of every function.
    fn hmac_sha256(&'static self, key: &[u8]) -> Result<Box<dyn MessageMac>, Error>;

    /// Derives `out` (1 to 255 outputs of SHA-256) from `secret` by HKDF-SHA-256 without salt
    /// (RFC 5869), with the parts of `info` one after the other.
    ///
    /// # Errors
    /// Those of every function.
    fn hkdf_sha256(&self, secret: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), Error>;

    /// Fills `out` from the module's generator.
    ///
    /// # Errors
    /// Those of every function.
    fn random(&self, out: &mut [u8]) -> Result<(), Error>;
}

/// A CMAC with its key set, which serves many threads at once. Its key is zeroed on drop.
pub trait KeyedCmac: Send + Sync {
    /// Writes the tag of `message`, as long as a block of the cipher.
    ///
    /// # Errors
    /// `Error::Module`; `tag` is zeros then.
    fn mac(&self, message: &[u8], tag: &mut [u8]) -> Result<(), Error>;
}

/// The MAC of one message, which comes in pieces. What it has of its key is zeroed on drop.
pub trait MessageMac: Send {
    /// Adds the next piece of the message.
    ///
    /// # Errors
    /// `Error::Module`; the MAC is of no use then.
    fn update(&mut self, piece: &[u8]) -> Result<(), Error>;

    /// Writes the MAC of all pieces.
    ///
    /// # Errors
    /// `Error::Module`; `tag` is zeros then.
    fn finish(self: Box<Self>, tag: &mut [u8; SHA256_BYTES]) -> Result<(), Error>;
}

/// Longest title of a module, in bytes: the room for it in a header.
pub const TITLE_BYTES_MAX: usize = 63;

/// Returns name and version of `module`, as headers of sealed files record them.
pub fn title(module: &dyn Module) -> String {
    format!("{} {}", module.name(), module.version())
}

/// Returns the name in the title that [`title`] returned.
pub fn name_in(title: &str) -> &str {
    title.split(' ').next().unwrap_or(title)
}

/// Opens parts as [`Aead::open_parts`] by opening whole messages: for modules, which return no part
/// of a message alone.
///
/// The plaintext of each message is in memory of its own, zeroed afterwards, and copied when its
/// tag was right; one wrong tag zeroes all of `out`.
///
/// # Errors
/// # Panics
/// As [`Aead::open_parts`].
pub fn open_parts_whole(
    aead: &(impl Aead + ?Sized),
    parts: &[Part<'_>],
    out: &mut [u8],
) -> Result<(), PartError> {
    check_parts(parts, out);
    let mut rest = &mut *out;
    for (index, part) in parts.iter().enumerate() {
        let mut message = Zeroizing::new(part.sealed.to_vec());
        let context = part.context;
        if let Err(error) = aead.open(context.nonce, context.associated, &mut message, part.tag) {
            out.fill(0);
            return Err(PartError { index, error });
        }
        let (this, after) = rest.split_at_mut(part.bytes);
        this.copy_from_slice(&message[part.skip..][..part.bytes]);
        rest = after;
    }
    Ok(())
}
