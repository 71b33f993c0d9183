//! The choice across places, on made-up costs with a known truth.

use std::collections::BTreeMap;

use sealstone_store::Layer;

use crate::advise::recommend::recommend;
use crate::conclude::testing::cell;
use crate::results::{Cell, Choice, Means, Recommendation, Variant};
use crate::study::coverage::{Question, Surroundings};
use crate::study::plan::{Plan, Policy};
use crate::words::places::Protection;
use crate::words::verdict::Verdict;

/// Settings, and where the store runs.
#[derive(Clone)]
struct Case {
    plan: Plan,
    surroundings: Surroundings,
}

impl Case {
    fn question(&self) -> Question<'_> {
        Question { plan: &self.plan, surroundings: &self.surroundings }
    }
}

/// Returns a plan for a server that takes every layer.
fn plan(layers: &[&str], from: &[&str]) -> Case {
    let list = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    let takes = list(&["field", "wire", "server", "rest"]);
    let surroundings = Surroundings { layers: takes, ..Surroundings::default() };
    Case {
        plan: Plan { layer: list(layers), protect_from: list(from), ..Plan::default() },
        surroundings,
    }
}

/// Returns `case` under `policy`.
fn under(policy: Policy, case: Case) -> Case {
    Case { plan: Plan { policy, ..case.plan }, ..case }
}

/// Variants by cipher and place, such as `aes-256 field+rest`; the baseline first.
fn variants(labels: &[&str]) -> Vec<Variant> {
    let variant = |label: &&str| {
        let (cipher, place) = label.split_once(' ').unwrap_or((label, "rest"));
        let choice = |means, backend: &str| Choice {
            means,
            accel: "auto".into(),
            backend: backend.into(),
            modes: Vec::new(),
            module: String::new(),
            seal: String::new(),
        };
        let of = |layer: Layer| match layer {
            Layer::Wire => choice(Means::Tls, "rustls"),
            _ => choice(Means::of(layer, cipher), "avx2"),
        };
        let named = |name: &str| Layer::ALL.into_iter().find(|layer| layer.name() == name).unwrap();
        let layers = place.split('+').map(named).map(|layer| (layer, of(layer)));
        let layers = if cipher == "none" { BTreeMap::new() } else { layers.collect() };
        Variant { label: (*label).into(), layers }
    };
    labels.iter().map(variant).collect()
}

/// Slices around `ratio` on a machine that drifts; each variant scatters by `noise` in its own way.
fn slices(ratio: f64, noise: f64, variant: usize) -> Vec<f64> {
    let scatter = |at: usize| {
        ((at * (2 * variant + 3) * 7919 + variant * 104_729) % 1000) as f64 / 500.0 - 1.0
    };
    (0..24).map(|at| ratio * (1.0 + 0.1 * (at % 8) as f64) * (1.0 + noise * scatter(at))).collect()
}

/// Returns the advice about `labels`, each with its throughput to that of the first.
fn advice(case: &Case, labels: &[(&str, f64)], noise: f64) -> Recommendation {
    let names: Vec<&str> = labels.iter().map(|(label, _)| *label).collect();
    let cells =
        labels.iter().enumerate().map(|(at, (_, ratio))| cell(at, "a", &slices(*ratio, noise, at)));
    let mut cells: Vec<Cell> = cells.collect();
    crate::conclude::ratios::judge_overheads(&mut cells, case.plan.margin);
    recommend(case.question(), &variants(&names), &cells)
}

const MEASURED: [(&str, f64); 4] =
    [("none", 1.0), ("aes-256 rest", 0.97), ("aes-256 field", 0.80), ("aes-256 field+rest", 0.75)];
const PLACES: [&str; 3] = ["rest", "field", "field+rest"];

#[test]
fn the_cheapest_that_covers_what_was_asked_is_taken() {
    for (from, wanted) in [
        (&["disk-thief"][..], "aes-256 rest"),
        (&["dba"], "aes-256 field"),
        (&["disk-thief", "dba"], "aes-256 field"),
        (&["backup-reader", "server-admin"], "aes-256 field"),
    ] {
        let found = advice(&plan(&PLACES, from), &MEASURED, 0.002);
        assert_eq!(found.take.as_deref(), Some(wanted), "{from:?}: {}", found.answer);
        assert!(
            found.answer.starts_with(&format!("to protect from {}", from[0])),
            "{}",
            found.answer
        );
    }
    let found = advice(&plan(&PLACES, &["disk-thief", "dba"]), &MEASURED, 0.002);
    let rest = found.ranking.iter().find(|ranked| ranked.label == "aes-256 rest").unwrap();
    assert!(
        !rest.allowed
            && rest.reasons[0]
                == "leaves dba open: the running server decrypts for every statement"
    );
    assert!(
        found.meaning.iter().any(|line| line == "protects from disk-thief and dba"),
        "{:?}",
        found.meaning
    );
    assert!(
        found
            .meaning
            .iter()
            .any(|line| line.starts_with("not protected by it: keys, columns that are not sealed"))
    );
    let left = "not asked about, and left open or protected from in part only: network";
    assert!(found.meaning.iter().any(|line| line == left), "{:?}", found.meaning);
}

#[test]
fn what_would_change_it_is_said_with_its_figures() {
    let found = advice(&plan(&PLACES, &["disk-thief", "dba"]), &MEASURED, 0.002);
    let changes =
        found.meaning.iter().find(|line| line.starts_with("what would change this: ")).unwrap();
    assert!(changes.contains("without dba: aes-256 rest (gains 21."), "{changes}");
    assert!(changes.contains("network as well: field+wire, not measured"), "{changes}");
    let found = advice(&plan(&PLACES, &["disk-thief"]), &MEASURED, 0.002);
    let changes =
        found.meaning.iter().find(|line| line.starts_with("what would change this: ")).unwrap();
    assert!(changes.contains("dba as well: aes-256 field (costs 17."), "{changes}");
    assert!(!changes.contains("without disk-thief"), "somebody has to be asked about: {changes}");
    // a variant not shown to be cheaper is no reason to protect from less
    let close = [("none", 1.0), ("aes-256 rest", 0.97), ("aes-256 field", 0.968)];
    let found = advice(&plan(&PLACES[..2], &["disk-thief", "dba"]), &close, 0.02);
    assert!(!found.meaning.iter().any(|line| line.contains("without dba")), "{:?}", found.meaning);
}

#[test]
fn of_alike_costs_the_one_that_protects_from_more_is_taken() {
    let close = [
        ("none", 1.0),
        ("aes-256 rest", 0.97),
        ("aes-256 field", 0.968),
        ("aes-256 field+rest", 0.966),
    ];
    let found = advice(&plan(&PLACES, &["disk-thief"]), &close, 0.01);
    assert_eq!(found.take.as_deref(), Some("aes-256 field"), "{}", found.answer);
    assert!(found.answer.contains("so what else it protects from decided"), "{}", found.answer);
    assert!(found.answer.contains("so the smaller number of places decided"), "{}", found.answer);
    // standing comes first, as it does among ciphers
    let two = [("none", 1.0), ("aes-256 rest", 0.97), ("lea-256 field", 0.968)];
    let found = advice(&plan(&PLACES, &["disk-thief"]), &two, 0.01);
    assert_eq!(found.take.as_deref(), Some("aes-256 rest"), "{}", found.answer);
    assert!(found.answer.ends_with("so standing decided"), "{}", found.answer);
}

/// TLS in front of a store, alone and with fields.
const WITH_TLS: [(&str, f64); 5] = [
    ("none", 1.0),
    ("aes-256 field", 0.80),
    ("aria-256 field+wire", 0.76),
    ("aes-256 field+wire", 0.73),
    ("tls wire", 0.95),
];

#[test]
fn the_wire_is_measured_against_other_places() {
    let places = ["field", "wire", "field+wire"];
    for (from, wanted) in [
        (&["network"][..], "tls wire"),
        (&["dba"], "aes-256 field"),
        (&["network", "dba"], "aria-256 field+wire"),
        (&["network", "server-admin"], "aria-256 field+wire"),
    ] {
        let found = advice(&plan(&places, from), &WITH_TLS, 0.0005);
        assert_eq!(found.take.as_deref(), Some(wanted), "{from:?}: {}", found.answer);
    }
    let found = advice(&plan(&places, &["network", "dba"]), &WITH_TLS, 0.0005);
    let changes =
        found.meaning.iter().find(|line| line.starts_with("what would change this: ")).unwrap();
    assert!(changes.contains("without dba: tls wire (gains 25"), "{changes}");
    assert!(changes.contains("without network: aes-256 field (gains 5"), "{changes}");
    let rows = found.coverage.unwrap().rows;
    let wire = rows.iter().find(|row| row.place == "wire").unwrap();
    assert_eq!(wire.variant.as_deref(), Some("tls wire"));
    assert!((wire.cost.as_ref().unwrap().ratio - 0.95).abs() < 0.01);
    let found = advice(&plan(&places, &["network"]), &WITH_TLS, 0.0005);
    let line = "not protected by it: data in memory and on the disks at both ends";
    assert!(found.meaning.iter().any(|found| found.starts_with(line)), "{:?}", found.meaning);
    // the algorithms of TLS are on the list of one policy, and not on the other list
    let korean = under(Policy::Kcmvp, plan(&places, &["network", "dba"]));
    let found = advice(&korean, &WITH_TLS, 0.0005);
    assert_eq!(found.take, None, "{}", found.answer);
    let aria = found.ranking.iter().find(|ranked| ranked.label == "aria-256 field+wire").unwrap();
    assert_eq!(
        aria.reasons[0],
        "TLS is with aes-256 here, which is not on the list of policy kcmvp"
    );
    let federal = under(Policy::Fips, plan(&places, &["network"]));
    assert_eq!(advice(&federal, &WITH_TLS, 0.0005).take.as_deref(), Some("tls wire"));
}

#[test]
fn what_nothing_covers_is_said_with_what_would() {
    let rest = &MEASURED[..2];
    let found = advice(&plan(&["rest"], &["disk-thief", "dba"]), rest, 0.002);
    let wanted =
        "nothing that was measured protects from dba: field would; --layer rest,field measures it";
    assert_eq!((found.take.as_deref(), found.answer.as_str()), (None, wanted));
    let found = advice(&plan(&["rest"], &["network"]), rest, 0.002);
    let wanted = "nothing that was measured protects from network: wire would; --layer rest,wire \
                  measures it";
    assert_eq!(found.answer, wanted);
    let mut without_tls = plan(&["rest"], &["network"]);
    without_tls.surroundings.layers = vec!["field".into(), "rest".into()];
    let found = advice(&without_tls, rest, 0.002);
    assert!(found.answer.ends_with(
        "wire would; what that costs is not measured, since rocksdb speaks no TLS (a sealed tunnel \
         does without: sealstone wire)"
    ));
    // a store that lacks a layer
    let mut lacking = plan(&["field"], &["network", "disk-thief"]);
    lacking.surroundings.layers = vec!["rest".into()];
    let found = advice(&lacking, rest, 0.002);
    assert!(found.answer.starts_with(
        "nothing that was measured protects from network: wire+rest together would; "
    ));
    // root on the machine that has the key
    let mut within = plan(&["rest", "field"], &["server-admin"]);
    within.surroundings.within_process = true;
    let found = advice(&within, &MEASURED, 0.002);
    assert_eq!(
        found.answer,
        "nothing that was measured protects from server-admin: no place protects from server-admin \
         here: the key is in the memory of the process that the store is in, which root can read"
    );
}

#[test]
fn partly_is_second_best_and_never_called_more() {
    let mut by_policy = plan(&PLACES, &["disk-thief", "dba"]);
    by_policy.plan.fields = Some("fields.toml".into());
    let found = advice(&by_policy, &MEASURED, 0.002);
    assert_eq!(found.take.as_deref(), Some("aes-256 field"));
    let wanted = "nothing that was measured protects wholly from disk-thief and dba; in part, take \
                  aes-256 field: ";
    assert!(found.answer.starts_with(wanted), "{}", found.answer);
    let part = "protects from dba in part only: only columns that the policy names are sealed; \
                with ff1, equal values ";
    assert!(found.meaning.iter().any(|line| line.starts_with(part)), "{:?}", found.meaning);
    let changes =
        found.meaning.iter().find(|line| line.starts_with("what would change this: ")).unwrap();
    assert!(
        changes.contains("to protect wholly: no place protects from dba here: only columns that"),
        "{changes}"
    );
    // one that seals every column is the same as none
    let mut whole = by_policy.clone();
    whole.surroundings.policy_seals_everything = true;
    let found = advice(&whole, &MEASURED, 0.002);
    assert!(
        found.answer.starts_with("to protect from disk-thief and dba, take aes-256 field: "),
        "{}",
        found.answer
    );
    let row = found.coverage.unwrap().rows.into_iter().find(|row| row.place == "field").unwrap();
    assert_eq!(row.entries[3].protection, Protection::Protects);
    // of two people one in part
    let found = advice(&plan(&["rest"], &["disk-thief", "backup-reader"]), &MEASURED[..2], 0.002);
    let wanted = "nothing that was measured protects wholly from all of them; to protect from \
                  disk-thief and in part from backup-reader, take aes-256 rest: ";
    assert!(found.answer.starts_with(wanted), "{}", found.answer);
    let changes =
        found.meaning.iter().find(|line| line.starts_with("what would change this: ")).unwrap();
    assert!(
        changes.contains("to protect wholly: field would; --layer rest,field measures it"),
        "{changes}"
    );
    // a place that protects wholly goes first, whatever it costs
    let dear = [("none", 1.0), ("aes-256 field", 0.9), ("aes-256 rest", 0.5)];
    by_policy.plan.protect_from = vec!["disk-thief".into()];
    let found = advice(&by_policy, &dear, 0.002);
    assert_eq!(found.take.as_deref(), Some("aes-256 rest"));
    let field = found.ranking.iter().find(|ranked| ranked.label == "aes-256 field").unwrap();
    assert!(
        !field.allowed && field.reasons[0].starts_with("protects from disk-thief only in part: ")
    );
}

#[test]
fn policy_and_standing_are_obeyed() {
    let all =
        [("none", 1.0), ("aes-256 field", 0.95), ("aria-256 rest", 0.97), ("3des field", 0.99)];
    let korean = under(Policy::Kcmvp, plan(&PLACES, &["dba"]));
    let found = advice(&korean, &all, 0.002);
    assert_eq!(found.take, None, "{}", found.answer);
    assert!(
        found
            .answer
            .starts_with("none of the ciphers measured can be recommended under policy kcmvp")
    );
    let any = advice(&plan(&PLACES, &["dba"]), &all, 0.002);
    assert_eq!(any.take.as_deref(), Some("aes-256 field"), "never the legacy one");
}

/// FF1 is on no Korean list, with any cipher and any layer beside it.
#[test]
fn a_policy_holds_for_every_layer_and_mode() {
    let all = [
        ("none", 1.0),
        ("aria-256 field", 0.95),
        ("aria-256 field+rest", 0.90),
        ("aria-256 rest", 0.80),
    ];
    let names = all.map(|(label, _)| label);
    let cells: Vec<Cell> =
        (0..all.len()).map(|at| cell(at, "a", &slices(all[at].1, 0.002, at))).collect();
    let advised = |policy: Policy, modes: &[&str]| {
        let modes: Vec<String> = modes.iter().map(|mode| (*mode).to_owned()).collect();
        let variants: Vec<Variant> =
            variants(&names).into_iter().map(|one| one.with_field_modes(&modes)).collect();
        recommend(under(policy, plan(&PLACES, &[])).question(), &variants, &cells)
    };
    // standing decides nothing here: one cipher
    assert_eq!(advised(Policy::Kcmvp, &[]).take.as_deref(), Some("aria-256 field"));
    assert_eq!(advised(Policy::Kcmvp, &["aead", "cmac"]).take.as_deref(), Some("aria-256 field"));
    let found = advised(Policy::Kcmvp, &["aead", "ff1"]);
    assert_eq!(found.take.as_deref(), Some("aria-256 rest"), "{}", found.answer);
    let reason =
        "the cipher is on the Korean validation list (KCMVP), a mode of its columns (ff1) is not";
    for label in ["aria-256 field", "aria-256 field+rest"] {
        let ranked = found.ranking.iter().find(|ranked| ranked.label == label).unwrap();
        assert!(!ranked.allowed && ranked.reasons[0] == reason, "{label}: {:?}", ranked.reasons);
    }
    let sentence = sealstone_cipher::NOT_A_MODULE;
    assert!(found.meaning.iter().any(|line| line == sentence), "{:?}", found.meaning);
    assert!(!advised(Policy::Any, &["ff1"]).meaning.iter().any(|line| line == sentence));
    // with nothing else there is nothing to take, and another cipher would not help
    let alone: Vec<Variant> = variants(&names[..3])
        .into_iter()
        .map(|one| one.with_field_modes(&["ff1".into()]))
        .collect();
    let korean = under(Policy::Kcmvp, plan(&PLACES, &[]));
    let found = recommend(korean.question(), &alone, &cells[..3]);
    assert_eq!(found.take, None);
    assert_eq!(
        found.answer,
        "none of the ciphers measured can be recommended under policy kcmvp; ff1 is not on its \
         list, whatever the cipher: seal those columns as aead"
    );
    assert!(found.meaning.iter().any(|line| line == sentence), "{:?}", found.meaning);
    // where another one is on the list in that mode, it is
    let federal = under(Policy::Fips, plan(&PLACES, &[]));
    assert!(
        recommend(federal.question(), &alone, &cells[..3])
            .answer
            .ends_with("on its list would be: aes-128, aes-192, aes-256")
    );
}

#[test]
fn within_a_process_there_are_fewer_people() {
    let mut within = plan(&PLACES, &["network", "dba", "backup-reader"]);
    let layers = vec!["field".into(), "rest".into()];
    within.surroundings = Surroundings { within_process: true, layers, ..Surroundings::default() };
    let found = advice(&within, &MEASURED, 0.002);
    assert_eq!(found.take.as_deref(), Some("aes-256 rest"), "{}", found.answer);
    let absent = "there is no network or dba here: the store is in the process of its client: ";
    assert!(found.meaning.iter().any(|line| line.starts_with(absent)), "{:?}", found.meaning);
    let places: Vec<String> =
        found.coverage.unwrap().rows.into_iter().map(|row| row.place).collect();
    assert_eq!(places, ["rest", "field", "field+rest"]);
}

#[test]
fn every_variant_and_every_place_is_recorded() {
    let mut measured = MEASURED.to_vec();
    measured.push(("AES_ENCRYPT server", 0.6));
    let found = advice(
        &plan(&["rest", "field", "field+rest", "server"], &["disk-thief", "network"]),
        &measured,
        0.002,
    );
    let coverage = found.coverage.unwrap();
    assert_eq!(coverage.protect_from, ["disk-thief", "network"]);
    let rows: Vec<(&str, Option<&str>)> =
        coverage.rows.iter().map(|row| (row.place.as_str(), row.variant.as_deref())).collect();
    let wanted = [
        ("rest", Some("aes-256 rest")),
        ("field", Some("aes-256 field")),
        ("field+rest", Some("aes-256 field+rest")),
        ("server", Some("AES_ENCRYPT server")),
        ("wire", None),
    ];
    assert_eq!(rows, wanted);
    let both = &coverage.rows[2];
    assert_eq!(both.cost.as_ref().unwrap().verdict, Verdict::Costs);
    // the best of its parts: the field layer's on the network, either's on the disk
    let levels: Vec<Protection> = both.entries.iter().map(|entry| entry.protection).collect();
    use Protection::{Partly, Protects};
    assert_eq!(levels, [Protects, Protects, Partly, Protects, Protects]);
    assert!(coverage.rows[4].cost.is_none(), "what was not measured has no cost");
    let unasked = advice(&plan(&["rest"], &[]), &MEASURED[..2], 0.002);
    assert!(unasked.coverage.is_none() && unasked.answer.starts_with("take aes-256 rest: "));
}
