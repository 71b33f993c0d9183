//! A demonstration that a new cipher, store or workload needs little: each is one file with a row,
//! and a comparison of all three runs. The cipher is `crates/cipher/src/block/toy.rs`; it is passed
//! as a value from its name in the plan to the seal in the store.

mod store;
mod workload;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use sealstone_bench::compare;
use sealstone_bench::study::Study;
use sealstone_bench::study::plan::Plan;
use sealstone_bench::workload::Workload;
use sealstone_cipher::testing::{TOY_CIPHERS, add_ciphers};
use sealstone_store::Layer;

#[test]
fn a_toy_cipher_a_toy_store_and_a_toy_workload_are_compared() {
    add_ciphers(TOY_CIPHERS);
    let dir = tempfile::tempdir().unwrap();
    let toy = TOY_CIPHERS[0].name;
    let plan = Plan {
        store: vec![store::KIND.name.into()],
        ciphers: vec!["none".into(), toy.into()],
        workloads: vec!["c".into()],
        rounds: 1,
        pairs: 8,
        slice_ms: 2,
        operations: 400,
        threads: vec![2],
        out: dir.path().into(),
        ..Plan::default()
    };
    let settings = BTreeMap::from([("lid".to_owned(), vec!["tight".to_owned()])]);
    let plan = Plan { stores: BTreeMap::from([(store::KIND.name.to_owned(), settings)]), ..plan };
    let point = Study::resolve(plan, &store::Toys).unwrap().points.remove(0);
    let opened = (point.store.engine)(&point.request(None, false).unwrap()).unwrap();
    let workloads: [Box<dyn Workload>; 1] = [Box::new(workload::Toy::new(&point.plan.data()))];
    let results =
        compare::run_workloads(&point, &workloads, &*opened.engine, &(), &AtomicBool::new(false))
            .unwrap();

    assert_eq!(
        results.engine.settings["lid"], "tight",
        "a store's own setting comes to its engine"
    );
    assert_eq!(results.variants[1].layers[&Layer::Rest].means.name(), toy);
    let [plain, sealed] = &results.cells[..] else { panic!("{} cells", results.cells.len()) };
    assert_eq!(
        (plain.workload.as_str(), sealed.workload.as_str()),
        (workload::SPEC.name, workload::SPEC.name)
    );
    let encrypted = |cell: &sealstone_bench::results::Cell| -> u64 {
        cell.samples.iter().map(|sample| sample.encrypted_bytes + sample.decrypted_bytes).sum()
    };
    assert_eq!(encrypted(plain), 0);
    assert!(encrypted(sealed) > 0, "the toy cipher did the work");
    assert_eq!(sealed.overhead.as_ref().unwrap().pairs, sealed.samples.len());
}
