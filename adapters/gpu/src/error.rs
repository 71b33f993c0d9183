//! Errors of a device, and the state in which they leave the caller's data.
//!
//! Not here: errors of drivers, which become a `Fault` (`runtime`).

use std::fmt;

use sealstone_cipher::ff1::Ff1Error;

use crate::runtime::Fault;

/// State in which a failed call left the data it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Left {
    /// The call was given none.
    NoData,
    /// The data is as it was before the call.
    AsItWas,
    /// The data was overwritten with zeros: the encrypted part was no longer known.
    Wiped,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoData => "",
            Self::AsItWas => "; the data is as it was",
            Self::Wiped => {
                "; the data was wiped, since a part of it may have been encrypted: load it again"
            }
        })
    }
}

/// Reason why a device did not carry out a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no device of this name.
    #[error("there is no device {name:?} on this machine: {why}\ntry: sealstone ciphers --devices")]
    NoDevice {
        /// The requested name.
        name: String,
        /// Description of the finding.
        why: String,
    },
    /// The cipher has no kernel.
    #[error("{cipher} has no kernel for devices\nciphers that have one: {}", .known.join(", "))]
    NoKernel {
        /// Name of the cipher.
        cipher: &'static str,
        /// The ciphers that have one.
        known: Vec<&'static str>,
    },
    /// The device's compiler did not take the kernel.
    #[error(
        "the kernel of {cipher} does not compile for {device}: {log}\nplease report this, with the \
         driver's version"
    )]
    Compile {
        /// Name of the device.
        device: String,
        /// Name of the cipher.
        cipher: &'static str,
        /// Output of the compiler.
        log: String,
    },
    /// The device or its driver has not enough memory.
    #[error(
        "{device} has no {bytes} bytes of memory left{left}\ntry smaller chunks, or end what else \
         uses the device"
    )]
    OutOfMemory {
        /// Name of the device.
        device: String,
        /// Number of bytes requested.
        bytes: u64,
        /// State of the data.
        left: Left,
    },
    /// The device failed: it was removed, reset, or its program was stopped. It is of no use any
    /// more.
    #[error("{device} failed while {doing}: {reason}{left}\nopen the device again, or use the CPU")]
    Lost {
        /// Name of the device.
        device: String,
        /// Operation during which it failed.
        doing: &'static str,
        /// Reason given by its driver.
        reason: String,
        /// State of the data.
        left: Left,
    },
    /// A key or a counter block of the wrong length; the data is untouched.
    #[error(transparent)]
    Cipher(#[from] sealstone_cipher::Error),
    /// FF1 refused its key, its values or its tweaks; the values are untouched.
    #[error(transparent)]
    Ff1(#[from] Ff1Error),
}

impl Error {
    /// Converts `fault` of `device` into the error for a caller, while nothing was compiled.
    pub(crate) fn of(device: &str, fault: Fault, left: Left) -> Self {
        let device = device.to_owned();
        match fault {
            Fault::Memory { bytes } => Self::OutOfMemory { device, bytes, left },
            Fault::Lost { doing, reason } => Self::Lost { device, doing, reason, left },
            Fault::Compile { log } => {
                Self::Lost { device, doing: "loading a kernel", reason: log, left }
            }
        }
    }
}
