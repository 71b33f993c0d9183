//! Settings resolve to a study with the tables of this build, or are refused with the reason and
//! what to do instead.

use std::collections::BTreeMap;

use sealstone_bench::study::StudyError;
use sealstone_bench::study::plan::Plan;
use sealstone_bench::study::{Study, usual};
use sealstone_stores::{Built, stores};

/// Resolves `plan`, and checks what each store can have.
fn check(plan: &Plan) -> Result<(), StudyError> {
    let study = Study::resolve(plan.clone(), &Built)?;
    study.refused.into_iter().next().map_or(Ok(()), |refused| Err(refused.reason))
}

#[test]
fn a_store_has_members_only_if_it_is_replicated() {
    check(&Plan::default()).unwrap();
    let plan = Plan { nodes: vec![3], ..Plan::default() };
    let error = check(&plan).unwrap_err().to_string();
    assert!(
        error.starts_with("nodes is 3: a rocksdb store is a single node\nleave it out"),
        "{error}"
    );
}

#[test]
fn the_settings_that_suit_a_store_are_valid() {
    for kind in stores() {
        let plan = Plan { store: vec![kind.name.into()], ..Plan::default() }.suited(kind.suited);
        plan.check().unwrap();
        check(&plan).unwrap();
    }
}

#[cfg(feature = "mongodb")]
#[test]
fn a_store_refuses_a_cache_that_it_cannot_have() {
    let on = |store: &str, plan: &Plan| check(&Plan { store: vec![store.into()], ..plan.clone() });
    let usual = usual(&["mongodb".to_owned()], &Built);
    let cold = Plan { workloads: vec!["c-cold".into()], records: vec![50_000], ..usual };
    let error = on("mongodb", &cold).unwrap_err().to_string();
    assert!(error.starts_with("workload c-cold needs a cache of "), "{error}");
    assert!(error.contains("and mongodb takes 268.4 MB at least\nset records to 4"), "{error}");
    on("mongodb", &Plan { records: vec![5_000_000], ..cold.clone() }).unwrap();
    on("rocksdb", &Plan { nodes: vec![1], ..cold.clone() }).unwrap();
    let clusters = BTreeMap::from([("cluster".to_owned(), vec!["none=mongodb://a".to_owned()])]);
    let theirs = Plan { stores: BTreeMap::from([("mongodb".to_owned(), clusters)]), ..cold };
    let error = on("mongodb", &theirs).unwrap_err().to_string();
    assert!(error.contains("that of the servers named with cluster is theirs"), "{error}");
}

#[test]
fn a_setting_is_one_of_its_store() {
    let with_values = |store: &str, setting: &str, values: &[&str]| {
        let values = values.iter().map(|value| String::from(*value)).collect();
        let settings = BTreeMap::from([(setting.to_owned(), values)]);
        check(&Plan { stores: BTreeMap::from([(store.to_owned(), settings)]), ..Plan::default() })
    };
    let with = |store: &str, setting: &str| with_values(store, setting, &["true"]);
    let error = with("rocksdb", "journal").unwrap_err().to_string();
    assert!(error.starts_with("store rocksdb: unknown setting \"journal\"\n"), "{error}");
    with_values("rocksdb", "rocksdb-block", &["16KiB"]).unwrap();
    let error = with_values("rocksdb", "rocksdb-block", &["banana"]).unwrap_err().to_string();
    let known = "it can be 4KiB or 8KiB or 16KiB or 32KiB";
    assert_eq!(error, format!("rocksdb-block of rocksdb is banana\n{known}"));
    #[cfg(feature = "mongodb")]
    {
        with("mongodb", "journal").unwrap();
        let error = with("mongodb", "jurnal").unwrap_err().to_string();
        assert!(
            error.starts_with("store mongodb: unknown setting \"jurnal\"; did you mean journal?\n"),
            "{error}"
        );
        let error = with_values("mongodb", "journal", &["yes"]).unwrap_err().to_string();
        assert_eq!(error, "journal of mongodb is yes\nit can be true or false");
        assert!(with_values("mongodb", "journal", &["true", "false"]).is_err());
        with_values("mongodb", "cluster", &["none=mongodb://a", "aes-256=mongodb://b"]).unwrap();
    }
    for kind in stores() {
        for setting in kind.settings {
            for other in setting.excludes {
                let value = |name: &str| (name.to_owned(), vec!["none=x".to_owned()]);
                let mut plan =
                    Plan { store: vec![kind.name.into()], ..Plan::default() }.suited(kind.suited);
                let mut settings = BTreeMap::from([value(setting.name)]);
                plan.stores = BTreeMap::from([(kind.name.to_owned(), settings.clone())]);
                check(&plan).unwrap();
                match *other {
                    "nodes" => plan.nodes = vec![5],
                    other => drop(settings.insert(value(other).0, value(other).1)),
                }
                plan.stores = BTreeMap::from([(kind.name.to_owned(), settings)]);
                let error = check(&plan).unwrap_err().to_string();
                let (setting, kind) = (setting.name, kind.name);
                assert!(error.starts_with(&format!(
                    "{setting} of {kind} makes no sense together with {other}\n"
                )));
            }
        }
    }
    assert!(with("rockdb", "x").unwrap_err().to_string().contains("did you mean rocksdb"));
}
