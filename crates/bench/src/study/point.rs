//! Points of a study: a store, the variants and workloads that are measured on it, and the request
//! to its engine, all with their names resolved.

use std::sync::Arc;

use sealstone_cipher::Provider;
use sealstone_store::kind::{Request, StoreKind, UserKey};
use sealstone_store::{EngineError, FieldPolicy, Layer, Seal, SealedColumns, Variant, WireSuite};

use crate::study::coverage::{Question, Surroundings};
use crate::study::plan::{CLIENTS_MOST, Plan, PlanError, Protections, check_memory};
use crate::workload::{self, Entry, Spec};

/// Reason why settings are no study.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// An error in a single setting.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A name that a table does not have, or a policy that is none.
    #[error("{0}")]
    Tables(EngineError),
    /// Settings that a store cannot have.
    #[error("{0}")]
    Unsuited(String),
}

impl From<workload::Error> for StudyError {
    fn from(error: workload::Error) -> Self {
        Self::Plan(error.into())
    }
}

/// One point of the axes.
#[derive(Debug)]
pub struct StudyPoint {
    /// The store.
    pub store: &'static StoreKind,
    /// The settings at this point alone, as results record them.
    pub plan: Plan,
    /// Variants that are compared, the baseline first.
    pub variants: Vec<Variant>,
    /// Remarks on them for the reader of results.
    pub notes: Vec<String>,
    /// Workloads.
    pub workloads: Vec<Entry>,
    /// Surroundings in which the store runs.
    pub surroundings: Surroundings,
    /// Policy of the layer `field`; absent: it seals all columns.
    policy: Option<Arc<dyn FieldPolicy>>,
}

impl StudyPoint {
    /// Returns the point of `plan`, which has one alone, on `store`, with a variant for each of
    /// `protections`.
    ///
    /// - `policy`: of the layer `field`; absent: it seals all columns
    ///
    /// # Errors
    /// A setting that cannot be, a workload that is in no table.
    pub fn new(
        store: &'static StoreKind,
        plan: Plan,
        protections: &Protections<'_>,
        surroundings: Surroundings,
        policy: Option<Arc<dyn FieldPolicy>>,
    ) -> Result<Self, StudyError> {
        plan.check()?;
        let (variants, notes) = plan.variants(protections)?;
        let workloads = plan.entries()?;
        Ok(Self { store, plan, variants, notes, workloads, surroundings, policy })
    }

    /// Returns how its workloads are run, in order.
    pub fn specs(&self) -> impl Iterator<Item = &Spec> + Clone {
        self.workloads.iter().map(|entry| &entry.spec)
    }

    /// Returns the question of the point.
    #[must_use]
    pub fn question(&self) -> Question<'_> {
        Question { plan: &self.plan, surroundings: &self.surroundings }
    }

    /// Returns the request for an engine that opens the stores of this point.
    ///
    /// - `joins`: whether another client loads them
    ///
    /// # Errors
    /// `PlanError::Memory`, if its servers take more than there is.
    pub fn request(&self, key: Option<&UserKey>, joins: bool) -> Result<Request, PlanError> {
        let (plan, point) = (&self.plan, self.plan.point());
        if self.store.cache_bytes_min > 0 {
            // each takes that amount, whatever the plan sets
            let cache_bytes = plan.cache.unwrap_or(0).max(self.store.cache_bytes_min);
            check_memory(cache_bytes, self.variants.len() * point.members)?;
        }
        let is_tls = |variant: &Variant| {
            variant.wire.as_ref().is_some_and(|tunnel| tunnel.suite == WireSuite::Tls)
        };
        let seals = self.variants.iter().filter_map(|variant| variant.rest);
        let has_seal = |seal: Seal| seals.clone().any(|rest| rest.seal() == seal);
        Ok(Request {
            members: point.members,
            clients: if point.clients == 0 { CLIENTS_MOST } else { point.clients },
            device_bytes: plan.bytes,
            link: point.link.clone(),
            sealed: self.variants.iter().any(|variant| !variant.is_baseline()),
            own_seal: has_seal(Seal::Own),
            on_volume: has_seal(Seal::Volume),
            server_rest: has_seal(Seal::Server),
            tls: self.variants.iter().any(is_tls),
            keep: plan.keep.clone(),
            key: key.cloned(),
            generator: self
                .variants
                .iter()
                .find_map(Variant::module)
                .map_or_else(Provider::own, Provider::Module),
            columns: plan
                .has_layer(Layer::Field)
                .then(|| self.policy.clone().map_or(SealedColumns::All, SealedColumns::Named)),
            settings: plan.stores.get(self.store.name).cloned().unwrap_or_default(),
            joins,
        })
    }
}
