//! Failures as programs in other languages see them: a code and a text. The text never has a value
//! in it: it is made of the words of the library, which have none.

use std::fmt::Display;

use sealstone_cipher::memory::Forked;
use sealstone_fields::policy::{PolicyError, PolicyFileError};
use sealstone_fields::{FieldsError, ManifestError, Misfit};
use sealstone_keys::KeyError;
use sealstone_seal::{FieldError, SealError};

/// Message that replaces a panic.
pub(crate) const PANICKED: &str = "a bug in sealstone: it panicked, please report it";

/// Codes of the header. None is ever changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    Argument = 1,
    Policy = 2,
    Key = 3,
    Misfit = 4,
    NotGenuine = 5,
    TooSmall = 6,
    Failed = 7,
}

/// Reason why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) text: String,
    /// Number of the value at fault, from 0, among many.
    pub(crate) at: Option<usize>,
}

impl Failure {
    pub(crate) fn new(code: Code, text: impl Display) -> Self {
        Self { code, text: text.to_string(), at: None }
    }

    pub(crate) fn argument(text: impl Display) -> Self {
        Self::new(Code::Argument, text)
    }

    /// Returns the failure of a bug that was caught.
    pub(crate) fn panicked() -> Self {
        Self::new(Code::Failed, PANICKED)
    }

    /// Returns the same about the value with this number.
    pub(crate) fn of_value(mut self, at: usize) -> Self {
        self.at = Some(at);
        self
    }
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Self {
        let code = match misfit {
            Misfit::Record(_) => Code::NotGenuine,
            Misfit::NoRow { .. } => Code::Argument,
            _ => Code::Misfit,
        };
        Self::new(code, misfit)
    }
}

impl From<FieldsError> for Failure {
    fn from(error: FieldsError) -> Self {
        let code = match &error {
            FieldsError::Key(_) | FieldsError::Field(FieldError::Seal(SealError::Key(_))) => {
                Code::Key
            }
            FieldsError::NoFf1 { .. } | FieldsError::NoIndex { .. } => Code::Policy,
            _ => Code::Failed,
        };
        Self::new(code, error)
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::new(Code::Key, error)
    }
}

impl From<Forked> for Failure {
    fn from(error: Forked) -> Self {
        Self::new(Code::Key, error)
    }
}

impl From<PolicyFileError> for Failure {
    fn from(error: PolicyFileError) -> Self {
        Self::new(Code::Policy, error)
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::WhichTable(known) => Self::new(
                Code::Policy,
                format!("the policy has several tables: {known}\nsay which: pass its name"),
            ),
            error => Self::new(Code::Policy, error),
        }
    }
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Self {
        let code = match &error {
            ManifestError::Fields(FieldsError::Key(_)) => Code::Key,
            _ => Code::Policy,
        };
        Self::new(code, error)
    }
}
