//! Everything that can protect data in the variants of a plan, found by its names: ciphers,
//! backends and modules, functions of a server and tunnels.

use sealstone_cipher::module::Module;
use sealstone_cipher::{Backend, Cipher, cipher};
use sealstone_store::{ServerEncryption, ServerFunction, Tunnel};

use super::{Plan, PlanError, is_none};

/// Ciphers and backends of a plan.
#[derive(Clone, Debug, Default)]
pub struct Algorithms {
    /// The ciphers, without `none`, in the plan's order.
    pub ciphers: Vec<&'static Cipher>,
    /// The backends, each with its name in the plan.
    pub backends: Vec<(String, Backend)>,
}

/// Protections for the variants of a point.
#[derive(Clone, Copy, Debug)]
pub struct Protections<'a> {
    /// Ciphers and backends of the plan.
    pub algorithms: &'a Algorithms,
    /// Functions of the server, for the layer `server`.
    pub functions: &'a [&'static ServerFunction],
    /// Encryption of files that the server brings itself, for the layer `rest`.
    pub server_rest: &'a [&'static ServerEncryption],
    /// Tunnels of the plan's suites, for the layer `wire`.
    pub tunnels: &'a [Tunnel],
    /// Cryptographic modules of the plan, in its order.
    pub modules: &'a [&'static dyn Module],
}

impl<'a> Protections<'a> {
    /// Returns `algorithms` alone.
    #[must_use]
    pub fn of(algorithms: &'a Algorithms) -> Self {
        Self { algorithms, functions: &[], server_rest: &[], tunnels: &[], modules: &[] }
    }
}

impl Plan {
    /// Finds the ciphers and backends of the plan by their names.
    ///
    /// # Errors
    /// `PlanError::Cipher`, `PlanError::Backend`.
    pub fn algorithms(&self) -> Result<Algorithms, PlanError> {
        let mut found = Algorithms::default();
        for name in &self.accel {
            found.backends.push((name.clone(), Backend::by_name(name)?));
        }
        for name in self.ciphers.iter().filter(|name| !is_none(name)) {
            found.ciphers.push(cipher(name)?);
        }
        Ok(found)
    }
}
