//! Entries of the table of workloads: the specification of each, and what makes it.

use std::fmt::Debug;
use std::sync::Arc;

use super::contract::{Spec, Workload};
use super::definition::Definition;
use super::error::Error;
use super::setting::Setting;
use super::sources::Sources;

/// Workload of the table or of the user's own, which can be made.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Description of how it must be run.
    pub spec: Spec,
    pub(super) kind: Kind,
}

/// Kind of an entry of the table, or of one of the user's own.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Row(&'static dyn Make),
    Own(Arc<dyn Make>),
}

/// Constructor of workloads of one kind.
pub(super) trait Make: Debug + Send + Sync {
    /// Makes the workload that is run according to `spec`, from what all workloads of one
    /// comparison share.
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error>;

    /// Returns what it demands of a store under `spec`; none if it is no mix of operations.
    fn definition(&self, _spec: &Spec) -> Option<Definition> {
        None
    }
}

impl Entry {
    /// Returns an entry of the table.
    pub(super) const fn row(spec: Spec, make: &'static dyn Make) -> Self {
        Self { spec, kind: Kind::Row(make) }
    }

    /// Returns the same under `setting`, with its own stores and state.
    pub(super) fn under(&'static self, setting: Setting) -> Self {
        Self { spec: self.spec.under(setting), kind: self.kind.clone() }
    }

    /// Returns what it demands of a store; none if it is no mix of operations.
    pub(super) fn definition(&self) -> Option<Definition> {
        self.maker().definition(&self.spec)
    }

    /// Makes the workload from what all workloads of one comparison share.
    pub(super) fn make(&self, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        self.maker().make(&self.spec, sources)
    }

    fn maker(&self) -> &dyn Make {
        match &self.kind {
            Kind::Row(make) => *make,
            Kind::Own(make) => &**make,
        }
    }
}
