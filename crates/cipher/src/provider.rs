//! Providers: who computes with a key, this crate on a [`Backend`] or a [`Module`].

use std::fmt;

use crate::backend::Backend;
use crate::error::Error;
use crate::module::Module;

/// The one who computes with a key: chosen once, by name, and then handed to everything that sets
/// a key, derives one or draws one. There is no fallback from one to the other.
#[derive(Clone, Copy)]
pub enum Provider {
    /// This crate, with the CPU's instructions.
    Own(Backend),
    /// A module of somebody else.
    Module(&'static dyn Module),
}

impl Provider {
    /// Returns this crate on the fastest backend.
    pub fn own() -> Self {
        Self::Own(Backend::auto())
    }

    /// Returns the name in flags and reports: of the backend, such as `avx512`, or of the module,
    /// such as `openssl:fips`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own(backend) => backend.name(),
            Self::Module(module) => module.name(),
        }
    }

    /// Returns the module, if it is one.
    pub fn module(self) -> Option<&'static dyn Module> {
        match self {
            Self::Own(_) => None,
            Self::Module(module) => Some(module),
        }
    }

    /// Returns the backend for `what`, such as `ff1`, which modules do not have.
    ///
    /// # Errors
    /// `Error::Lacks` for a module.
    ///
    /// # Panics
    /// In a build with the feature `no-own`.
    pub(crate) fn own_only(self, what: &'static str) -> Result<Backend, Error> {
        match self {
            Self::Own(backend) => {
                own_in_use(what);
                Ok(backend)
            }
            Self::Module(module) => Err(Error::Lacks { module: module.name(), what, cipher: "" }),
        }
    }
}

/// Records that this project computes `what` with a key itself.
///
/// # Panics
/// In a build with the feature `no-own`, which exists to prove that with a module nothing of ours
/// touches a key.
#[inline]
pub fn own_in_use(what: &str) {
    if cfg!(feature = "no-own") {
        panic!("{what} of sealstone itself was used, in a build that must use a module alone");
    }
}

impl From<Backend> for Provider {
    fn from(backend: Backend) -> Self {
        Self::Own(backend)
    }
}

impl PartialEq for Provider {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Own(one), Self::Own(other)) => one == other,
            (Self::Module(one), Self::Module(other)) => one.name() == other.name(),
            _ => false,
        }
    }
}

impl Eq for Provider {}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Provider").field(&self.name()).finish()
    }
}
