//! Request of a comparison to a store: from flags and plan to a row of the table of stores, and its
//! engine.

use sealstone_bench::advise::algorithm::OWN_MODE;
use sealstone_bench::study::coverage::Surroundings;
use sealstone_bench::study::plan::{CLIENTS_MOST, Plan, check_memory};
use sealstone_bench::words::size::human_bytes;
use sealstone_bench::workload::{self, COLD_SHARE, Setting, SizedBy, Spec, workloads};
use sealstone_fields::policy::Policy;
use sealstone_fields::{FieldLayer, Keyed, SealedEngine};
use sealstone_keys::source;
use sealstone_message::nearest::{did_you_mean, nearest};
use sealstone_store::{Engine, Layer, TLS};
use sealstone_stores::kind::{Form, Opened, Request, StoreKind, UserKey};
use sealstone_stores::run_key::run_key;
use sealstone_stores::table::{store, stores};

use crate::key_source;
use crate::message::say;
use crate::settings::usual;

/// Checks whether `kind` can be measured as required by `plan`, at its point of the axes.
///
/// # Errors
/// Members of a store that has none; a cache that must be small, of a store that takes more or whose cache is not ours;
/// a layer that the store cannot take.
pub(crate) fn check(kind: &StoreKind, plan: &Plan) -> anyhow::Result<()> {
    let point = &plan.point();
    check_layers(kind, plan)?;
    for name in &plan.workloads {
        let spec = plan.workload(name)?;
        check_kind(kind, &spec)?;
        if spec.setting == Setting::Cold {
            check_cold(kind, plan, &spec)?;
        }
    }
    if !kind.replicated && point.members != 1 {
        let replicated: Vec<_> = stores().iter().filter(|store| store.replicated).map(|store| store.name).collect();
        anyhow::bail!(
            "nodes is {}: a {} store is a single node\nleave it out, or choose a store that has members: {}",
            point.members,
            kind.name,
            replicated.join(", ")
        );
    }
    Ok(())
}

/// Checks that the workload of `spec` suits `kind`: records or a block device.
fn check_kind(kind: &StoreKind, spec: &Spec) -> anyhow::Result<()> {
    if spec.device == kind.device {
        return Ok(());
    }
    let (needs, is) = match spec.device {
        true => ("a block device", "keeps records"),
        false => ("records", "is a block device"),
    };
    let others = stores().iter().filter(|store| store.device == spec.device).map(|store| store.name);
    let can = workloads().filter(|other| other.device == kind.device).map(|other| other.name);
    anyhow::bail!(
        "workload {} needs {needs}, and {} {is}\nchoose a store for it: {}; or a workload for {}: {}",
        spec.name,
        kind.name,
        others.collect::<Vec<_>>().join(", "),
        kind.name,
        can.collect::<Vec<_>>().join(", ")
    )
}

/// Checks whether `kind` can take the layers of `plan`. If nothing seals its files, it is measured
/// without encryption.
fn check_layers(kind: &StoreKind, plan: &Plan) -> anyhow::Result<()> {
    let lacks = |layer: &Layer| *layer != Layer::Rest && !kind.layers.contains(layer);
    if let Some(layer) = plan.layers()?.into_iter().find(lacks) {
        let others: Vec<_> =
            stores().iter().filter(|store| store.layers.contains(&layer)).map(|store| store.name).collect();
        let why = match (layer, kind.shared_by) {
            (Layer::Wire, Some(_)) => ": its server speaks no TLS",
            (Layer::Wire, None) if !kind.device => ": it is in this process, and nothing goes over a wire",
            _ => "",
        };
        anyhow::bail!(
            "layer is {}: {} has nothing for it{why}\nchoose a store that has: {}",
            layer.name(),
            kind.name,
            others.join(", ")
        );
    }
    let one_way = kind.functions.iter().find(|function| function.is_one_way);
    if let Some(function) = one_way.filter(|_| plan.has_layer(Layer::Server)) {
        for name in &plan.workloads {
            if plan.workload(name)?.checks_values {
                anyhow::bail!(
                    "workload {name} checks what it reads, and after {} only digests come back\n\
                     choose others, such as a, c, e and batch-load, or leave server out of --layer",
                    function.name
                );
            }
        }
    }
    Ok(())
}

/// Checks whether the cache of `kind` can be so small that the records of `spec` do not fit in it.
fn check_cold(kind: &StoreKind, plan: &Plan, spec: &Spec) -> anyhow::Result<()> {
    let (name, base) = (spec.name, spec.base);
    if kind.in_memory {
        anyhow::bail!(
            "workload {name} needs a cache that is too small for the records, and {} keeps all of them in memory\n\
             name {base}",
            kind.name
        );
    }
    if let Some(setting) = kind.cache_decided_by
        && plan.stores.get(kind.name).is_some_and(|settings| settings.contains_key(setting))
    {
        anyhow::bail!(
            "workload {name} needs a small cache, and that of the servers named with --{setting} is theirs\n\
             set it there, and name {base}"
        );
    }
    let data_bytes = spec.sized_by.stored_bytes(&plan.data());
    let least = kind.cache_bytes_min;
    if data_bytes / COLD_SHARE < least {
        let (sized_by, now) = match spec.sized_by {
            SizedBy::Records | SizedBy::RecordsOf { .. } => ("records", plan.point().records),
            SizedBy::Bytes | SizedBy::EighthOfBytes => ("bytes", plan.bytes),
        };
        let needed = (now as f64 * (least * COLD_SHARE) as f64 / data_bytes.max(1) as f64).ceil();
        anyhow::bail!(
            "workload {name} needs a cache of {}, a sixteenth of its records, and {} takes {} at least\n\
             set {sized_by} to {needed:.0} or more, or name {base}",
            human_bytes(data_bytes / COLD_SHARE),
            kind.name,
            human_bytes(least)
        );
    }
    Ok(())
}

/// `plan` for `kind`: where nothing can seal its files, with its other places, or without ciphers if it has none; and
/// on a single node, if it is one of several stores and has no members.
pub(crate) fn suited(kind: &StoreKind, plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if plan.store.len() > 1 && !kind.replicated {
        plan.nodes = vec![1];
    }
    if plan.has_layer(Layer::Server) {
        plan.server_functions = kind.functions.to_vec();
    }
    plan.surroundings = Surroundings {
        within_process: kind.shared_by.is_none(),
        layers: kind.layers.iter().map(|layer| layer.name().into()).collect(),
        policy_seals_everything: policy_seals_everything(&plan),
        field_modes: field_modes(&plan),
    };
    let others = plan.places_without(Layer::Rest);
    if plan.has_layer(Layer::Rest) && !kind.layers.contains(&Layer::Rest) && !others.is_empty() {
        plan.layer = others;
        say(&format!("{} is measured with {} only: nothing seals its files", kind.name, plan.layer.join(", ")));
    } else if plan.has_layer(Layer::Rest) && !kind.layers.contains(&Layer::Rest) {
        let all = plan.ciphers.len();
        plan.ciphers.retain(|name| name.eq_ignore_ascii_case("none"));
        if plan.ciphers.is_empty() {
            plan.ciphers.push("none".into());
        }
        if all > plan.ciphers.len() {
            say(&format!("{} is measured without encryption: nothing seals its files", kind.name));
        }
    }
    plan
}

/// Returns whether the policy of `plan`, if it has one, seals every column of its workloads. Errors
/// in policy or workloads are reported elsewhere.
fn policy_seals_everything(plan: &Plan) -> bool {
    let Some(Ok(policy)) = plan.fields.as_deref().map(Policy::read) else { return false };
    // columns are the same however many records there are
    let built = workload::build(&workload::Data { records: 1, ..plan.data() }, &plan.workloads);
    let seals = |tables: &[_]| FieldLayer::seals_everything(&policy, tables).unwrap_or(false);
    built.is_ok_and(|workloads| workloads.iter().all(|workload| seals(workload.tables())))
}

/// Names of the modes in which the policy of `plan`, if it has one, seals columns; [`OWN_MODE`] for that in which each
/// cipher authenticates. What is wrong with the policy is said elsewhere.
fn field_modes(plan: &Plan) -> Vec<String> {
    let Some(Ok(policy)) = plan.fields.as_deref().map(Policy::read) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for table in &policy.tables {
        for mode in table.columns.iter().flat_map(|column| column.modes(table.cipher)) {
            let name = if mode == table.cipher.mode { OWN_MODE } else { mode.word() };
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// `plan` with what its suites, paths and links amount to, where it has the layer `wire`: one suite, our path and a
/// link without a limit, if it names none; TLS, for stores whose servers speak it.
///
/// # Errors
/// A suite, a path or a link that is not in its table, or makes no sense for the store.
pub(crate) fn with_tunnels(mut plan: Plan) -> anyhow::Result<Plan> {
    if !plan.has_layer(Layer::Wire) {
        return Ok(plan);
    }
    let speaks_tls = |name: &&String| store(name).is_ok_and(StoreKind::speaks_tls);
    if let Some(name) = plan.store.iter().find(speaks_tls).cloned() {
        with_tls(&name, &mut plan)?;
        return Ok(plan);
    }
    // one that nothing goes over a wire to is refused with its own reason
    let has_wire = |name: &&String| store(name).is_ok_and(|kind| kind.layers.contains(&Layer::Wire));
    let Some(name) = plan.store.iter().find(has_wire) else { return Ok(plan) };
    if plan.suites.iter().any(|suite| suite.eq_ignore_ascii_case(TLS)) {
        let others = stores().iter().filter(|store| store.speaks_tls()).map(|store| store.name);
        anyhow::bail!(
            "suites is {}: {name} speaks no TLS\nname suites of ESP, see: sealstone wire suites; or choose a store \
             that speaks TLS: {}",
            plan.suites.join(","),
            others.collect::<Vec<_>>().join(", ")
        );
    }
    #[cfg(feature = "block")]
    {
        let usual = |list: &mut Vec<String>, names: &[&str]| {
            if list.is_empty() {
                *list = names.iter().map(|name| String::from(*name)).collect();
            }
        };
        usual(&mut plan.suites, &["none", "aes-256-gcm"]);
        usual(&mut plan.path, &["sealstone"]);
        usual(&mut plan.links, &["unlimited"]);
        plan.links.iter().try_for_each(|name| sealstone_stores::block::link_called(name).map(drop))?;
        plan.tunnels = sealstone_stores::block::tunnels(&plan.suites, &plan.path)?;
    }
    Ok(plan)
}

/// Gives `plan` TLS as its only suite of the layer `wire`: the store `name` speaks it.
fn with_tls(name: &str, plan: &mut Plan) -> anyhow::Result<()> {
    for (setting, list) in [("path", &plan.path), ("links", &plan.links)] {
        if !list.is_empty() {
            anyhow::bail!(
                "{setting} is {}: it is about packets on a link, and {name} has TLS there\nleave it out, or choose \
                 --store iscsi",
                list.join(",")
            );
        }
    }
    let is_known = |suite: &&String| suite.eq_ignore_ascii_case(TLS) || suite.eq_ignore_ascii_case("none");
    if let Some(suite) = plan.suites.iter().find(|suite| !is_known(suite)) {
        anyhow::bail!(
            "suites is {suite}: it seals packets on a link, and {name} has TLS there\nname none and tls, or choose \
             --store iscsi for suites of ESP"
        );
    }
    if plan.suites.is_empty() {
        plan.suites = ["none", TLS].map(String::from).to_vec();
    }
    #[cfg(any(feature = "mongodb", feature = "redis", feature = "postgres", feature = "mysql"))]
    {
        let tls = plan.suites.iter().filter(|suite| suite.eq_ignore_ascii_case(TLS));
        plan.tunnels = tls.map(|_| sealstone_stores::lab_tls::tunnel()).collect();
    }
    if plan.tunnels.is_empty() {
        anyhow::bail!(
            "suites is {}: nothing is sealed on the wire\nname tls as well, or leave suites out",
            plan.suites.join(",")
        );
    }
    Ok(())
}

/// Checks whether other machines can reach the store that `plan` measures: servers that its user
/// named.
///
/// # Errors
/// A store inside this process, servers that would be started here.
pub(crate) fn check_shared(kind: &StoreKind, plan: &Plan) -> anyhow::Result<()> {
    let Some(setting) = kind.shared_by else {
        let others = stores().iter().filter(|store| store.shared_by.is_some());
        anyhow::bail!(
            "client is set: a {} store is inside this process, where no other machine reaches it\nleave --client out, \
             or choose a store with servers: {}",
            kind.name,
            others.map(|store| store.name).collect::<Vec<_>>().join(", ")
        );
    };
    if (plan.has_layer(Layer::Field) || !plan.has_layer(Layer::Rest)) && plan.key.is_none() {
        anyhow::bail!(
            "client is set, and no key is named: every client would seal with one of its own\n\
             name a key that all machines have, with --key"
        );
    }
    if plan.stores.get(kind.name).is_some_and(|settings| settings.contains_key(setting)) {
        return Ok(());
    }
    anyhow::bail!(
        "client is set: servers that are started here are for this machine alone\nname servers that all machines reach \
         with --{setting}"
    );
}

/// Checks that every store setting in `plan` is a setting of that store, with a value that it can
/// have.
///
/// # Errors
/// A store that is in no row, or a setting that the store does not have; names the nearest. A value that is neither
/// true nor false where it must be, or several values where there can be one. Two settings that exclude each other.
pub(crate) fn check_settings(plan: &Plan) -> anyhow::Result<()> {
    // what is wrong with a policy is said before anything starts
    plan.fields.as_deref().map(Policy::read).transpose()?;
    for (name, settings) in &plan.stores {
        let kind = store(name)?;
        let known = || kind.settings.iter().map(|setting| setting.name);
        for (setting, values) in settings {
            if kind.settings.is_empty() {
                anyhow::bail!("{setting} is not a setting of {name}, which has none of its own\nleave it out");
            }
            let Some(row) = kind.settings.iter().find(|row| row.name == setting) else {
                anyhow::bail!(
                    "{setting} is not a setting of {name}{}\nits settings: {}",
                    did_you_mean(nearest(setting, known())),
                    known().collect::<Vec<_>>().join(", ")
                );
            };
            if row.form != Form::Several && values.len() != 1 {
                anyhow::bail!("{setting} of {name} has {} values\ngive it one", values.len());
            }
            if let Some(other) = row.excludes.iter().find(|other| settings.contains_key(**other) || is_set(plan, other))
            {
                anyhow::bail!("{setting} of {name} makes no sense together with {other}\nleave one of them out");
            }
            if row.form == Form::Bool && values.iter().any(|value| value != "true" && value != "false") {
                anyhow::bail!("{setting} of {name} is {}\nit can be true or false", values.join(", "));
            }
        }
    }
    Ok(())
}

/// Returns whether the general setting `name` differs from its value for the stores of `plan` when
/// nobody sets it.
fn is_set(plan: &Plan, name: &str) -> bool {
    let value = |plan: &Plan| toml::Table::try_from(plan).ok().and_then(|table| table.get(name).cloned());
    value(plan) != value(&usual(&plan.store))
}

/// The key that was named, if one was; a passphrase is asked for once for all groups.
///
/// # Errors
/// A key that is not available.
pub(crate) fn user_key(plan: &Plan) -> anyhow::Result<Option<UserKey>> {
    let Some(named) = &plan.key else { return Ok(None) };
    Ok(Some(UserKey {
        named: named.clone(),
        passphrase_file: source::passphrase_file(plan.passphrase_file.as_deref()),
        source: key_source::open(named, plan.passphrase_file.as_deref())?,
    }))
}

/// The engine of the group that `plan` describes, with the user's `key`; `joins`: another client loads it.
///
/// # Errors
/// Servers that cannot be found, too little memory for what each of them takes at least.
pub(crate) fn engine(
    kind: &StoreKind,
    key: Option<&UserKey>,
    plan: &Plan,
    joins: bool,
) -> anyhow::Result<Box<dyn Engine>> {
    let point = plan.point();
    let variants = plan.variants()?.0;
    if kind.cache_bytes_min > 0 {
        // each takes that much, whatever the plan says
        check_memory(plan.cache.unwrap_or(0).max(kind.cache_bytes_min), variants.len() * point.members)?;
    }
    let opened = (kind.engine)(&Request {
        members: point.members,
        clients: if point.clients == 0 { CLIENTS_MOST } else { point.clients },
        device_bytes: plan.bytes,
        link: point.link.clone(),
        sealed: variants.iter().any(|variant| !variant.is_baseline()),
        tls: variants.iter().any(|variant| variant.wire.as_ref().is_some_and(|tunnel| tunnel.suite == TLS)),
        keep: plan.keep.clone(),
        key: key.cloned(),
        settings: plan.stores.get(kind.name).cloned().unwrap_or_default(),
        joins,
    })?;
    let Opened { engine, mut notes } = opened;
    let engine = match plan.has_layer(Layer::Field) {
        true => with_fields_sealed(engine, key, plan, &mut notes)?,
        false => engine,
    };
    notes.iter().for_each(|note| say(note));
    Ok(engine)
}

/// `engine` with fields sealed in front of its stores, as `plan` says.
fn with_fields_sealed(
    engine: Box<dyn Engine>,
    key: Option<&UserKey>,
    plan: &Plan,
    notes: &mut Vec<String>,
) -> anyhow::Result<Box<dyn Engine>> {
    let policy = plan.fields.as_deref().map(Policy::read).transpose()?;
    if policy.is_none() {
        notes.push("all fields are sealed, as aead; --fields POLICY names some, and how".into());
    }
    let source = match key {
        Some(key) => key.source.clone(),
        None => {
            let (source, note) = run_key(plan.keep.as_deref())?;
            if let Some(note) = note.filter(|note| !notes.contains(note)) {
                notes.push(note);
            }
            source
        }
    };
    Ok(Box::new(SealedEngine::new(engine, FieldLayer::new(policy, Keyed::current(source)?))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_store_has_members_only_if_it_is_replicated() {
        let rocksdb = store("rocksdb").unwrap();
        check(rocksdb, &Plan::default()).unwrap();
        let plan = Plan { nodes: vec![3], ..Plan::default() };
        let error = check(rocksdb, &plan).unwrap_err().to_string();
        assert!(error.starts_with("nodes is 3: a rocksdb store is a single node\nleave it out"), "{error}");
    }

    #[test]
    fn the_settings_that_suit_a_store_are_valid() {
        for kind in stores() {
            let plan = Plan { store: vec![kind.name.into()], ..Plan::default() }.suited(kind.suited);
            plan.check().unwrap();
            check(kind, &plan).unwrap();
        }
    }

    #[cfg(feature = "mongodb")]
    #[test]
    fn a_store_refuses_a_cache_that_it_cannot_have() {
        let mongodb = store("mongodb").unwrap();
        let cold = Plan { workloads: vec!["c-cold".into()], records: vec![50_000], ..Plan::default() };
        let error = check(mongodb, &cold).unwrap_err().to_string();
        assert!(error.starts_with("workload c-cold needs a cache of "), "{error}");
        assert!(error.contains("and mongodb takes 268.4 MB at least\nset records to 4"), "{error}");
        check(mongodb, &Plan { records: vec![5_000_000], ..cold.clone() }).unwrap();
        check(store("rocksdb").unwrap(), &cold).unwrap();
        let clusters = BTreeMap::from([("cluster".to_owned(), vec!["none=mongodb://a".to_owned()])]);
        let theirs = Plan { stores: BTreeMap::from([("mongodb".to_owned(), clusters)]), ..cold };
        let error = check(mongodb, &theirs).unwrap_err().to_string();
        assert!(error.contains("that of the servers named with --cluster is theirs"), "{error}");
    }

    #[test]
    fn a_setting_is_one_of_its_store() {
        let with_values = |store: &str, setting: &str, values: &[&str]| {
            let values = values.iter().map(|value| String::from(*value)).collect();
            let settings = BTreeMap::from([(setting.to_owned(), values)]);
            check_settings(&Plan { stores: BTreeMap::from([(store.to_owned(), settings)]), ..Plan::default() })
        };
        let with = |store: &str, setting: &str| with_values(store, setting, &["true"]);
        assert!(with("rocksdb", "journal").unwrap_err().to_string().contains("which has none of its own"));
        #[cfg(feature = "mongodb")]
        {
            with("mongodb", "journal").unwrap();
            let error = with("mongodb", "jurnal").unwrap_err().to_string();
            assert!(error.starts_with("jurnal is not a setting of mongodb; did you mean journal?\n"), "{error}");
            let error = with_values("mongodb", "journal", &["yes"]).unwrap_err().to_string();
            assert_eq!(error, "journal of mongodb is yes\nit can be true or false");
            assert!(with_values("mongodb", "journal", &["true", "false"]).is_err());
            with_values("mongodb", "cluster", &["none=mongodb://a", "aes-256=mongodb://b"]).unwrap();
        }
        for kind in stores() {
            for setting in kind.settings {
                for other in setting.excludes {
                    let value = |name: &str| (name.to_owned(), vec!["none=x".to_owned()]);
                    let mut plan = Plan { store: vec![kind.name.into()], ..Plan::default() }.suited(kind.suited);
                    let mut settings = BTreeMap::from([value(setting.name)]);
                    plan.stores = BTreeMap::from([(kind.name.to_owned(), settings.clone())]);
                    check_settings(&plan).unwrap();
                    match *other {
                        "nodes" => plan.nodes = vec![5],
                        other => drop(settings.insert(value(other).0, value(other).1)),
                    }
                    plan.stores = BTreeMap::from([(kind.name.to_owned(), settings)]);
                    let error = check_settings(&plan).unwrap_err().to_string();
                    let (setting, kind) = (setting.name, kind.name);
                    assert!(error.starts_with(&format!("{setting} of {kind} makes no sense together with {other}\n")));
                }
            }
        }
        assert!(with("rockdb", "x").unwrap_err().to_string().contains("did you mean rocksdb"));
    }
}
