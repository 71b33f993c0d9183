//! Policies of the layer `field`, as studies and engines use them. Not here: their content and
//! their file (`sealstone-fields`).

use std::sync::Arc;

use sealstone_keys::KeySource;

use crate::{Engine, EngineError, Table};

/// Policy of the layer `field`: which columns are sealed, and how.
pub trait FieldPolicy: std::fmt::Debug + Send + Sync {
    /// Returns the names of the modes in which it has columns sealed; absent for that in which each
    /// cipher authenticates.
    fn modes(&self) -> Vec<Option<&'static str>>;

    /// Returns whether it seals every column of `tables`, authenticated.
    fn seals_everything(&self, tables: &[Arc<Table>]) -> bool;

    /// Returns `engine` with the columns of its stores sealed under the current version of `keys`.
    ///
    /// # Errors
    /// A key that cannot be had.
    fn seal(
        &self,
        engine: Box<dyn Engine>,
        keys: Arc<dyn KeySource>,
    ) -> Result<Box<dyn Engine>, EngineError>;
}

/// Columns that the layer `field` seals.
#[derive(Clone, Debug)]
pub enum SealedColumns {
    /// All of them.
    All,
    /// The columns that a policy names.
    Named(Arc<dyn FieldPolicy>),
}
