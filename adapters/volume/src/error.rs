//! Errors of volumes: what was attempted, on which file, and what was found.

use std::io;
use std::path::PathBuf;

use sealstone_anchor::AnchorError;
use sealstone_seal::SealError;
use sealstone_seal::volume::VolumeError;

/// Reason why something on a volume failed. Displays without the volume's directory, which the
/// caller puts before it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The operating system refused.
    #[error("cannot {attempt} {name}: {source}")]
    File {
        /// Description of the attempt, such as `read`.
        attempt: &'static str,
        /// Name of the file within the volume's directory.
        name: String,
        /// The error.
        source: io::Error,
    },
    /// The directory has no volume.
    #[error(
        "no volume here: {name} is missing\n\
         name a directory that sealstone volume create made"
    )]
    NoVolume {
        /// Name of the missing file.
        name: &'static str,
    },
    /// The directory has one already.
    #[error(
        "there is a volume already: {name}\n\
         name an empty directory, or remove that volume if nobody needs it"
    )]
    Exists {
        /// Name of the file.
        name: String,
    },
    /// Another process has it open for writing.
    #[error(
        "in use: another process has it open\n\
         detach it there first"
    )]
    InUse,
    /// An earlier sync or write of the log failed.
    #[error(
        "not written to any more, since {first}\n\
         what was written since the last flush may be lost; mend the disk below, then detach and \
         attach again"
    )]
    Poisoned {
        /// The first failure.
        first: String,
    },
    /// A request reaches beyond the device.
    #[error("{bytes} bytes at {offset}, the device has {size}")]
    PastEnd {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
        /// Size of the device, in bytes.
        size: u64,
    },
    /// A program of the system failed.
    #[error("{program}: {said}")]
    Tool {
        /// Its name.
        program: String,
        /// Its own words.
        said: String,
    },
    /// A file system of the volume is mounted.
    #[error(
        "{} is mounted from it\nend what uses it, then: sealstone volume unmount {}",
        at.display(), at.display()
    )]
    Mounted {
        /// The place.
        at: PathBuf,
    },
    /// The process that serves the volume refused.
    #[error("{said}")]
    Refused {
        /// The reason.
        said: String,
    },
    /// The process that was to serve the volume did not, or failed later.
    #[error("the process that serves the volume: {what}")]
    NotServed {
        /// Its own words, or how it ended.
        what: String,
    },
    /// A device cannot be made smaller.
    #[error("a device of {size} bytes cannot be made smaller, to {bytes}")]
    Smaller {
        /// Requested size, in bytes.
        bytes: u64,
        /// Its size, in bytes.
        size: u64,
    },
    /// Two volumes that should read the same do not.
    #[error("the copy differs from byte {offset} on\nthe same command copies it again")]
    Differs {
        /// The first byte that differs.
        offset: u64,
    },
    /// The anchor cannot be read or written.
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    /// A piece of the volume did not open, or could not be sealed.
    #[error(transparent)]
    Seal(#[from] VolumeError),
}

impl From<sealstone_keys::KeyError> for Failure {
    fn from(error: sealstone_keys::KeyError) -> Self {
        Self::Seal(SealError::from(error).into())
    }
}

impl From<SealError> for Failure {
    fn from(error: SealError) -> Self {
        Self::Seal(error.into())
    }
}

impl Failure {
    /// Returns the failure of `attempt` on the file `name`.
    pub(crate) fn of(
        attempt: &'static str,
        name: impl Into<String>,
    ) -> impl FnOnce(io::Error) -> Self {
        let name = name.into();
        move |source| Self::File { attempt, name, source }
    }

    /// Returns whether the disk below is full, and nothing else is wrong.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    /// Returns the error number that a kernel is told.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Self::File { source, .. } if self.is_full() => {
                source.raw_os_error().unwrap_or(libc::ENOSPC)
            }
            Self::PastEnd { .. } => libc::EINVAL,
            _ => libc::EIO,
        }
    }
}
