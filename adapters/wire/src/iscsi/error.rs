//! Reasons why there is no device over iSCSI, or why a request failed, worded for the person who
//! reads them.

use sealstone_store::StoreError;

use crate::ffi::iscsi::Fault;

/// Sense keys (SPC-4, table 48).
const NOT_READY: i32 = 2;
const MEDIUM_ERROR: i32 = 3;
const ILLEGAL_REQUEST: i32 = 5;
const DATA_PROTECTION: i32 = 7;
/// `LOGICAL UNIT NOT SUPPORTED` (SPC-4, annex F).
const NO_SUCH_UNIT: i32 = 0x2500;

/// Reasons why there is no device, or why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IscsiError {
    /// The library is not on this machine.
    #[error(
        "iSCSI needs libiscsi, which cannot be loaded: {found}\ninstall it: apt install libiscsi7"
    )]
    NoLibrary {
        /// Message from the dynamic linker.
        found: String,
    },
    /// Nothing answers at the portal.
    #[error(
        "cannot reach the iSCSI portal {portal}: {found}\ncheck its address, and that the target \
         runs"
    )]
    NoPortal {
        /// `HOST:PORT`.
        portal: String,
        /// Error from the system.
        found: std::io::Error,
    },
    /// The target refused the login.
    #[error("cannot log in to {place}: {found}\n{step}")]
    Login {
        /// The address, without a password.
        place: String,
        /// Message from libiscsi.
        found: String,
        /// Advice on what to do next.
        step: &'static str,
    },
    /// The target does not have the unit.
    #[error(
        "cannot open {place}: the target has no unit of this number\nsee which it has: iscsi-ls -s \
         iscsi://{portal}"
    )]
    NoUnit {
        /// The address, without a password.
        place: String,
        /// `HOST:PORT`.
        portal: String,
    },
    /// A request failed.
    #[error("cannot {attempted} {place}: {found}\n{step}")]
    Request {
        /// Action that was attempted, such as `write 65536 bytes at offset 0 of`.
        attempted: String,
        /// The address, without a password.
        place: String,
        /// Description of the finding.
        found: String,
        /// Advice on what to do next.
        step: &'static str,
    },
}

impl From<IscsiError> for StoreError {
    fn from(error: IscsiError) -> Self {
        Self::engine(error)
    }
}

impl IscsiError {
    /// Builds the error that `fault` at a login means.
    pub(super) fn login(place: String, portal: &str, fault: Fault) -> Self {
        let found = match fault {
            Fault::Sense { code: NO_SUCH_UNIT, .. } => {
                return Self::NoUnit { place, portal: portal.into() };
            }
            Fault::Timeout => "no answer in time".into(),
            Fault::Residual => "an answer of another length".into(),
            Fault::Sense { said, .. } | Fault::Gone(said) | Fault::Other(said) => said,
        };
        if found.contains("LOGICAL_UNIT_NOT_SUPPORTED") {
            return Self::NoUnit { place, portal: portal.into() };
        }
        let step = match () {
            () if found.contains("arget not found") => {
                "check the name of the target: iscsi-ls lists those of a portal"
            }
            () if found.contains("uth") => {
                "check user and password, as iscsi://USER%PASSWORD@HOST/TARGET/LUN"
            }
            () => "look at the log of the target",
        };
        Self::Login { place, found, step }
    }

    /// Builds the error that `fault` of a request means.
    pub(super) fn request(attempted: String, place: String, fault: Fault) -> Self {
        let (found, step) = match fault {
            Fault::Sense { key: DATA_PROTECTION, .. } => (
                "it is read-only".to_owned(),
                "make it writable at the target, or run workloads that only read",
            ),
            Fault::Sense { key: MEDIUM_ERROR, said, .. } => (
                format!("its medium failed, or is full ({said})"),
                "look at the log of the target, and at its disk",
            ),
            Fault::Sense { key: NOT_READY, said, .. } => {
                (format!("it is not ready ({said})"), "look at the log of the target")
            }
            Fault::Sense { key: ILLEGAL_REQUEST, code: NO_SUCH_UNIT, .. } => {
                ("the unit was taken away".to_owned(), "look at the log of the target")
            }
            Fault::Sense { said, .. } => (said, "look at the log of the target"),
            Fault::Gone(said) => (
                format!("the target is gone ({said})"),
                "see whether it still runs and can be reached, and try again",
            ),
            Fault::Timeout => (
                "no answer in time".to_owned(),
                "see whether the target still runs and can be reached, and try again",
            ),
            Fault::Residual => {
                ("an answer of another length".to_owned(), "look at the log of the target")
            }
            Fault::Other(said) => (said, "look at the log of the target"),
        };
        Self::Request { attempted, place, found, step }
    }
}
