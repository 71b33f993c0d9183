//! The points of a plan's axes, and the plans of one point each. Not here: the axes
//! (`crate::words::axes`).

use super::{Plan, PlanError};
use crate::words::axes::Point;
use crate::workload::SizedBy;

impl Plan {
    /// Returns every point of the axes, in the order in which they are measured.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for store in &self.store {
            for &members in &self.nodes {
                for &records in &self.records {
                    let found = if self.threads.is_empty() { &[0][..] } else { &self.threads };
                    for &clients in found {
                        let point =
                            |link| Point { store: store.clone(), members, records, clients, link };
                        match self.links.is_empty() {
                            true => points.push(point(None)),
                            false => points.extend(self.links.iter().cloned().map(Some).map(point)),
                        }
                    }
                }
            }
        }
        points
    }

    /// Returns the plan of the cells at `point` alone.
    #[must_use]
    pub fn at(&self, point: &Point) -> Self {
        Self {
            store: vec![point.store.clone()],
            nodes: vec![point.members],
            records: vec![point.records],
            threads: if point.clients == 0 { Vec::new() } else { vec![point.clients] },
            links: point.link.iter().cloned().collect(),
            // a question about several stores
            against: None,
            ..self.clone()
        }
    }

    /// Returns one plan for each group of cells: each point of the axes, with the workloads that
    /// its values affect. A workload that fixes its own clients, or has its own data set, is
    /// measured only at the first value of that axis.
    ///
    /// # Errors
    /// A workload that is not in the table.
    pub fn groups(&self) -> Result<Vec<Self>, PlanError> {
        let first = self.point();
        let mut groups = Vec::new();
        for point in self.points() {
            let mut plan = self.at(&point);
            let mut workloads = Vec::new();
            for name in plan.workloads.drain(..) {
                let spec = self.workload(&name)?;
                let repeats = (spec.clients.is_some() && point.clients != first.clients)
                    || (matches!(spec.sized_by, SizedBy::Bytes | SizedBy::EighthOfBytes)
                        && point.records != first.records);
                if !repeats {
                    workloads.push(name);
                }
            }
            if !workloads.is_empty() {
                plan.threads_of.retain(|name, _| workloads.contains(name));
                groups.push(Self { workloads, ..plan });
            }
        }
        Ok(groups)
    }

    /// Returns the first point: the only one, in a plan that was made by [`Plan::at`].
    ///
    /// # Panics
    /// If an axis has no value, which [`Plan::check`] refuses.
    #[must_use]
    pub fn point(&self) -> Point {
        self.points().into_iter().next().expect("every axis has a value")
    }
}
