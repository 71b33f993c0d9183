//! Comparison of two plans: whether they measure the same, and if not, the settings that differ.

use serde_json::{Map, Value};

use crate::study::passwords::shown;
use crate::study::plan::Plan;

/// Settings that change no figure: the output, the opening of a key, the earlier results to compare
/// with, and the limits that end the rounds, which are all alike.
pub(crate) const NO_FIGURES: [&str; 10] = [
    "out",
    "keep",
    "key",
    "passphrase-file",
    "baseline",
    "fail-if",
    "rounds",
    "load-every",
    "until",
    "max-time",
];

/// A setting that two plans do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name, as of its flag.
    pub setting: String,
    /// Its value in the first plan.
    pub was: String,
    /// Its value in the other.
    pub is: String,
}

/// Returns every setting that affects the figures and is not the same in `was` and `is`, passwords
/// left aside.
#[must_use]
pub fn differences(was: &Plan, is: &Plan) -> Vec<Difference> {
    let [was, is] = [was, is].map(|plan| flat(&table(&shown(plan))));
    let mut names: Vec<&String> = was.keys().chain(is.keys()).collect();
    names.sort();
    names.dedup();
    let differ =
        |name: &&String| was.get(*name) != is.get(*name) && !NO_FIGURES.contains(&name.as_str());
    let difference = |name: &String| Difference {
        setting: name.clone(),
        was: plain(was.get(name)),
        is: plain(is.get(name)),
    };
    names.into_iter().filter(differ).map(difference).collect()
}

/// Returns the settings of a plan by name.
pub(crate) fn table(plan: &Plan) -> Map<String, Value> {
    match serde_json::to_value(plan) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    }
}

/// Returns the settings of single stores beside the others, by the names of their flags.
fn flat(table: &Map<String, Value>) -> Map<String, Value> {
    let mut flat = table.clone();
    let Some(Value::Object(stores)) = flat.remove("stores") else { return flat };
    for settings in stores.values().filter_map(Value::as_object) {
        flat.extend(settings.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    flat
}

/// Returns a value in words; `not set` for none.
pub(crate) fn plain(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "not set".into(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            items.iter().map(|item| plain(Some(item))).collect::<Vec<_>>().join(",")
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn with_cluster(address: &str) -> Plan {
        let settings = BTreeMap::from([("cluster".to_owned(), vec![address.to_owned()])]);
        Plan { stores: BTreeMap::from([("mongodb".to_owned(), settings)]), ..Plan::default() }
    }

    #[test]
    fn what_differs_is_named_with_both_values_and_no_password() {
        let plan = Plan::default();
        assert_eq!(differences(&plan, &Plan { out: "elsewhere".into(), ..plan.clone() }), []);
        let other = Plan { records: vec![5, 6], cache: Some(7), ..plan.clone() };
        let found: Vec<_> = differences(&plan, &other)
            .into_iter()
            .map(|one| (one.setting, one.was, one.is))
            .collect();
        let text =
            |words: [&str; 3]| (words[0].to_owned(), words[1].to_owned(), words[2].to_owned());
        assert_eq!(found, [text(["cache", "not set", "7"]), text(["records", "100000", "5,6"])]);
        let [a, b] = ["none=mongodb://me:one@db/x", "none=mongodb://me:two@db/x"].map(with_cluster);
        assert_eq!(differences(&a, &b), []);
        assert_eq!(differences(&plan, &a)[0].is, "none=mongodb://***@db/x");
    }
}
