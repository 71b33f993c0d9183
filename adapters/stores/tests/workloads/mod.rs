//! Every workload on any store.

use std::sync::Arc;
use std::time::Instant;

use sealstone_bench::study::plan::Plan;
use sealstone_bench::workload::{self, Position, Recorder};
use sealstone_store::{OpenStore, Table};

struct Nobody;

impl Recorder for Nobody {
    fn record(&mut self, _: &'static str, _: Instant) {}
}

/// Opens a store with these tables.
pub(crate) type Opener<'a> = dyn Fn(&[Arc<Table>]) -> OpenStore + 'a;

/// Checks that each workload loads its data set, runs, and finds its writes. `open` opens a store
/// for some tables, in which only the tables of the last workload's data set are filled; `empty`
/// empties them. Transactions run where the store has them.
pub(crate) fn every_workload_finds_its_data_again(
    open: &Opener<'_>,
    empty: &dyn Fn(&[Arc<Table>]),
) {
    let plan = Plan {
        records: vec![400],
        operations: 300,
        bytes: 200_000,
        rounds: 1,
        seed: 7,
        ..Plan::default()
    };
    let names = ["a", "b", "c", "d", "e", "f", "oltp", "batch-load", "batch-scan"];
    let mut loaded: Vec<&str> = Vec::new();
    for workload in workload::build(&plan.data(), &names).unwrap() {
        let spec = workload.spec();
        let store = open(workload.tables());
        if spec.name == "oltp"
            && store.target().records("a test").unwrap().transactional().is_none()
        {
            continue;
        }
        if !loaded.contains(&spec.dataset) {
            workload.load(store.target(), 0, 1, &|_| ()).unwrap();
            store.upkeep().merge_layers().unwrap();
            loaded.push(spec.dataset);
        }
        if spec.name == "batch-load" {
            // a slice that loads needs an empty store
            empty(workload.tables());
        }
        let before = store.counters();
        let position =
            Position { variant: 0, round: 0, slice: 0, slices: 1, client: 0, clients: 1 };
        let mut client = workload.client(position);
        for _ in position.share(workload.operations()) {
            client
                .next(store.target(), &mut Nobody)
                .unwrap_or_else(|error| panic!("{}: {error}", spec.name));
        }
        drop(client);
        store.upkeep().quiesce().unwrap();
        workload.check(store.target()).unwrap_or_else(|error| panic!("{}: {error}", spec.name));
        let now = store.counters();
        assert!(now.cache_hits >= before.cache_hits && now.written_bytes >= before.written_bytes);
    }
}
