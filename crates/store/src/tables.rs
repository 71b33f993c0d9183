//! Tables of a build that resolve the names in settings. Not here: the tables (`adapters/stores`),
//! and the settings (`sealstone-bench`).

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::module::Module;

use crate::kind::StoreKind;
use crate::{EngineError, FieldPolicy, Tunnel};

/// Tables of what a build can measure.
pub trait Tables {
    /// Returns every kind of store, the default first.
    fn stores(&self) -> &'static [&'static StoreKind];

    /// Returns the kind of store called `name`.
    ///
    /// # Errors
    /// A name that is in no row, with the nearest, or that this build lacks.
    fn store(&self, name: &str) -> Result<&'static StoreKind, EngineError>;

    /// Returns TLS between a store and its server, if this build has it.
    fn tls(&self) -> Option<Tunnel>;

    /// Returns the tunnels for `suites` (names; `none` is passed over), each carried by each of
    /// `paths`.
    ///
    /// # Errors
    /// A suite or a path that is in no row, or a pair that is not possible.
    fn tunnels(&self, suites: &[String], paths: &[String]) -> Result<Vec<Tunnel>, EngineError>;

    /// Checks that there is a link called `name`.
    ///
    /// # Errors
    /// A name that is in no row.
    fn check_link(&self, name: &str) -> Result<(), EngineError>;

    /// Returns the cryptographic module called `name`, loaded and tested.
    ///
    /// # Errors
    /// A name that is none, a module that is not there or fails its self test.
    fn module(&self, name: &str) -> Result<&'static dyn Module, EngineError>;

    /// Reads the policy in `file`, which sets how the layer `field` seals columns.
    ///
    /// # Errors
    /// A file that cannot be read or is none.
    fn field_policy(&self, file: &Path) -> Result<Arc<dyn FieldPolicy>, EngineError>;
}
