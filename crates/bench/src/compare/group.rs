//! The workloads of a comparison by their data sets.

use crate::workload::{Setting, SizedBy, Workload};

/// Workloads that share one data set, and so one store a variant.
pub(super) struct Group<'a> {
    pub(super) dataset: &'static str,
    /// Each with its number in the whole list. Workloads that load the data themselves come first.
    pub(super) workloads: Vec<(usize, &'a dyn Workload)>,
}

impl<'a> Group<'a> {
    /// Returns all groups, in the order in which the data sets first appear.
    pub(super) fn all(workloads: &'a [Box<dyn Workload>]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (number, workload) in workloads.iter().enumerate() {
            let dataset = workload.spec().dataset;
            let entry = (number, workload.as_ref());
            match groups.iter_mut().find(|group| group.dataset == dataset) {
                Some(group) => group.workloads.push(entry),
                None => groups.push(Self { dataset, workloads: vec![entry] }),
            }
        }
        for group in &mut groups {
            group.workloads.sort_by_key(|(_, workload)| !workload.spec().from_empty);
        }
        groups
    }

    /// Bytes of column names and lengths that a store without a schema keeps with the records of
    /// this data set: in a table of many short columns they outweigh the values. 0 for several
    /// tables, whose share of the rows is unknown.
    pub(super) fn name_bytes(&self) -> u64 {
        let [table] = self.first().tables() else { return 0 };
        let record_bytes: usize = table.fields.iter().map(|field| field.name.len() + 8).sum();
        self.first().load_rows().saturating_mul(record_bytes as u64)
    }

    pub(super) fn first(&self) -> &'a dyn Workload {
        self.workloads[0].1
    }

    pub(super) fn sized_by(&self) -> SizedBy {
        self.first().spec().sized_by
    }

    pub(super) fn setting(&self) -> Setting {
        self.first().spec().setting
    }

    pub(super) fn loads_itself(&self) -> bool {
        self.first().spec().from_empty
    }
}
