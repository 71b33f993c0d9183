//! Two types of errors that the driver of MySQL names. Certificates are checked by rustls, which
//! has errors of its own.

#![forbid(unsafe_code)]

use std::error;
use std::fmt::{Display, Formatter, Result};

/// An error of a certificate, of which there is none: nothing here checks one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {}

impl Display for Error {
    fn fmt(&self, _: &mut Formatter<'_>) -> Result {
        match *self {}
    }
}

impl error::Error for Error {}

/// A host that is neither a DNS name nor an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidDnsNameError;

impl Display for InvalidDnsNameError {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("invalid DNS name")
    }
}

impl error::Error for InvalidDnsNameError {}
