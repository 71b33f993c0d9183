//! Backends: named sets of CPU instructions, each value a proof that this CPU has them.
//!
//! The choice is made once, when a key is set.

use crate::arch::{self, Isa};
use sealstone_message::Unknown;

/// An instruction set that ciphers may use. A value exists only where the CPU has the instructions,
/// so holding one is the proof that fast paths need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(pub(crate) Isa);

impl Backend {
    /// Returns the fastest backend this CPU has.
    pub fn auto() -> Self {
        arch::lines().iter().rev().find_map(|line| line.isa).map_or(Self::portable(), Self)
    }

    /// Returns the backend without special instructions, which every CPU has: constant time, and
    /// slower.
    pub fn portable() -> Self {
        Self(Isa::Portable(arch::Portable))
    }

    /// Returns the backend called `name`, or the fastest one for `auto`; case does not matter.
    ///
    /// # Errors
    /// `BackendError::Unknown` for a name that is in no table, with the nearest name;
    /// `BackendError::Missing` for a backend that this CPU cannot run, with the CPU features it
    /// lacks. There is no fallback: a caller that forces a backend gets that backend or none.
    pub fn by_name(name: &str) -> Result<Self, BackendError> {
        if name.eq_ignore_ascii_case("auto") {
            return Ok(Self::auto());
        }
        let Some(line) = arch::lines().iter().find(|line| line.name.eq_ignore_ascii_case(name))
        else {
            let known = ["auto"].into_iter().chain(Self::all_names());
            return Err(Unknown::new("backend", name, known).into());
        };
        line.isa.map(Self).ok_or_else(|| BackendError::Missing {
            name: line.name,
            features: line.missing.clone(),
        })
    }

    /// Returns the names of all backends of this build, slowest first, whether or not this CPU can
    /// run them.
    pub fn all_names() -> Vec<&'static str> {
        arch::lines().iter().map(|line| line.name).collect()
    }

    /// Returns the backends that this CPU can run, slowest first.
    pub fn available() -> Vec<Self> {
        arch::lines().iter().filter_map(|line| line.isa).map(Self).collect()
    }

    /// Returns the name in flags and reports, such as `avx512`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the features of this CPU that matter to ciphers, under the names the Rust compiler
    /// gives them, such as `vaes`.
    pub fn cpu_features() -> Vec<&'static str> {
        arch::cpu_features()
    }
}

/// Reason why no backend is available by a given name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// No backend has this name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// This CPU cannot run it.
    #[error("backend {name} needs CPU features that this machine lacks: {}\n\
             this machine can run: auto, {}", .features.join(", "), available_names())]
    Missing {
        /// The requested name.
        name: &'static str,
        /// The CPU features it lacks; at least one.
        features: Vec<&'static str>,
    },
}

fn available_names() -> String {
    Backend::available().into_iter().map(Backend::name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_available_backend_is_found_by_its_name() {
        let available = Backend::available();
        assert_eq!(available[0], Backend::portable());
        assert_eq!(available.last(), Some(&Backend::auto()));
        for backend in available {
            assert_eq!(Backend::by_name(backend.name()), Ok(backend));
            assert_eq!(Backend::by_name(&backend.name().to_uppercase()), Ok(backend));
        }
        assert_eq!(Backend::by_name("auto"), Ok(Backend::auto()));
    }

    #[test]
    fn a_name_is_available_or_its_error_says_what_is_missing() {
        for name in Backend::all_names() {
            match Backend::by_name(name) {
                Ok(backend) => assert!(Backend::available().contains(&backend)),
                Err(BackendError::Missing { name: found, features }) => {
                    assert_eq!(found, name);
                    assert!(!features.is_empty());
                    for feature in features {
                        assert!(!Backend::cpu_features().contains(&feature), "{feature} is there");
                    }
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        let error = Backend::by_name("avx-512").unwrap_err();
        let BackendError::Unknown(Unknown { nearest, .. }) = &error else { panic!("{error}") };
        assert_eq!(*nearest, "avx512");
        assert!(
            error.to_string().starts_with("unknown backend \"avx-512\"; did you mean avx512?\n")
        );
        assert!(matches!(Backend::by_name("").unwrap_err(), BackendError::Unknown(_)));
    }

    #[test]
    fn missing_features_read_as_one_sentence() {
        let error = BackendError::Missing { name: "avx512", features: vec!["gfni", "vaes"] };
        let start = "backend avx512 needs CPU features that this machine lacks: gfni, vaes\n\
                     this machine can run: auto, portable";
        assert!(error.to_string().starts_with(start));
    }
}
