//! Results of schema 1, read as those of today: one point of the axes, and variants that name one cipher, which sealed
//! files.

use std::collections::BTreeMap;

use sealstone_store::EngineFacts;
use serde::Deserialize;

use crate::plan::Plan;
use crate::results::{Cell, Choice, Comparison, Group, Machine, Recommendation, SCHEMA, Variant};

/// What `results.json` contained in that version.
#[derive(Deserialize)]
pub(crate) struct Results {
    version: String,
    started_at: String,
    elapsed_s: f64,
    interrupted: bool,
    command: Vec<String>,
    plan: Plan,
    machine: Machine,
    engine: EngineFacts,
    variants: Vec<NamedVariant>,
    cells: Vec<Cell>,
    recommendation: Recommendation,
    warnings: Vec<String>,
}

/// A cipher with a backend, or none.
#[derive(Deserialize)]
struct NamedVariant {
    label: String,
    cipher: Option<String>,
    accel: String,
    backend: Option<String>,
}

impl NamedVariant {
    fn read(self) -> Variant {
        let Self { label, cipher, accel, backend } = self;
        let choice =
            cipher.map(|cipher| Choice { cipher, accel, backend: backend.unwrap_or_default(), modes: Vec::new() });
        let layers: BTreeMap<String, Choice> = choice.map(|choice| ("rest".into(), choice)).into_iter().collect();
        Variant { label, layers }
    }
}

impl Results {
    /// As a comparison of one group.
    pub(crate) fn read(self) -> Comparison {
        let group = Group {
            point: self.plan.point(),
            started_at: self.started_at.clone(),
            elapsed_s: self.elapsed_s,
            interrupted: self.interrupted,
            failure: None,
            engine: self.engine,
            workloads: self.plan.workloads.clone(),
            between: Vec::new(),
            variants: Vec::new(),
            cells: self.cells,
            recommendation: self.recommendation,
            warnings: self.warnings,
        };
        Comparison {
            schema: SCHEMA,
            version: self.version,
            started_at: self.started_at,
            elapsed_s: self.elapsed_s,
            interrupted: self.interrupted,
            command: self.command,
            plan: self.plan,
            machine: self.machine,
            variants: self.variants.into_iter().map(NamedVariant::read).collect(),
            groups: vec![group],
            against: Vec::new(),
            missing: Vec::new(),
            client: None,
        }
    }
}
