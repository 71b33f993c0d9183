//! Suitability of stores: the layers, workloads and caches that each can have. Not here: rules
//! common to all stores (`plan`).

use sealstone_message::SettingName;
use sealstone_store::kind::StoreKind;
use sealstone_store::{Layer, Seal, Tables};

use crate::study::plan::{NONE, Plan, is_none};
use crate::study::point::{StudyError, StudyPoint};
use crate::words::size::human_bytes;
use crate::workload::{Setting, SizedBy, Spec, cold_cache_bytes, cold_share_words, workloads};

/// Checks whether the store of `study_point` can be measured as its settings require.
///
/// # Errors
/// Members of a store that has none; a cache that must be small, of a store that takes more or
/// whose cache is not ours; a layer that the store cannot take.
pub(super) fn check(study_point: &StudyPoint, tables: &dyn Tables) -> Result<(), StudyError> {
    let StudyPoint { store: kind, plan, .. } = study_point;
    let point = &plan.point();
    check_layers(study_point, tables)?;
    for spec in study_point.specs() {
        check_kind(kind, spec, tables)?;
        if spec.setting == Setting::Cold {
            check_cold(kind, plan, spec)?;
        }
    }
    if !kind.replicated && point.members != 1 {
        let replicated: Vec<_> = tables
            .stores()
            .iter()
            .filter(|store| store.replicated)
            .map(|store| store.name)
            .collect();
        return Err(StudyError::Unsuited(format!(
            "nodes is {}: a {} store is a single node\nleave it out, or choose a store that has \
             members: {}",
            point.members,
            kind.name,
            replicated.join(", ")
        )));
    }
    Ok(())
}

/// Checks that the workload of `spec` suits `kind`: records or a block device.
fn check_kind(kind: &StoreKind, spec: &Spec, tables: &dyn Tables) -> Result<(), StudyError> {
    if spec.device == kind.device {
        return Ok(());
    }
    let (needs, is) = match spec.device {
        true => ("a block device", "keeps records"),
        false => ("records", "is a block device"),
    };
    let others =
        tables.stores().iter().filter(|store| store.device == spec.device).map(|store| store.name);
    let can = workloads().filter(|other| other.device == kind.device).map(|other| other.name);
    Err(StudyError::Unsuited(format!(
        "workload {} needs {needs}, and {} {is}\nchoose a store for it: {}; or a workload for {}: \
         {}",
        spec.name,
        kind.name,
        others.collect::<Vec<_>>().join(", "),
        kind.name,
        can.collect::<Vec<_>>().join(", ")
    )))
}

/// Checks whether the store of a point can take its layers. If nothing seals its files, it is
/// measured without encryption.
fn check_layers(study_point: &StudyPoint, tables: &dyn Tables) -> Result<(), StudyError> {
    let StudyPoint { store: kind, plan, .. } = study_point;
    let lacks = |layer: &Layer| *layer != Layer::Rest && !kind.layers.contains(layer);
    if let Some(layer) = plan.layers()?.into_iter().find(lacks) {
        let others: Vec<_> = tables
            .stores()
            .iter()
            .filter(|store| store.layers.contains(&layer))
            .map(|store| store.name)
            .collect();
        let why = match (layer, kind.shared_by) {
            (Layer::Wire, Some(_)) => ": its server speaks no TLS",
            (Layer::Wire, None) if !kind.device => {
                ": it is in this process, and nothing goes over a wire"
            }
            _ => "",
        };
        return Err(StudyError::Unsuited(format!(
            "layer is {}: {} has nothing for it{why}\nchoose a store that has: {}",
            layer.name(),
            kind.name,
            others.join(", ")
        )));
    }
    let one_way = kind.functions.iter().find(|function| function.is_one_way);
    if let Some(function) = one_way.filter(|_| plan.has_layer(Layer::Server)) {
        for spec in study_point.specs() {
            if spec.checks_values {
                let name = spec.name;
                return Err(StudyError::Unsuited(format!(
                    "workload {name} checks what it reads, and after {} only digests come back\n\
                     choose others, such as a, c, e and batch-load, or leave server out of {}",
                    function.name,
                    SettingName("layer")
                )));
            }
        }
    }
    Ok(())
}

/// Checks whether the cache of `kind` can be so small that the records of `spec` do not fit in it.
fn check_cold(kind: &StoreKind, plan: &Plan, spec: &Spec) -> Result<(), StudyError> {
    let (name, base) = (spec.name, spec.base);
    if kind.in_memory {
        return Err(StudyError::Unsuited(format!(
            "workload {name} needs a cache that is too small for the records, and {} keeps all of \
             them in memory\n\
             name {base}",
            kind.name
        )));
    }
    if let Some(setting) = kind.cache_decided_by
        && plan.stores.get(kind.name).is_some_and(|settings| settings.contains_key(setting))
    {
        return Err(StudyError::Unsuited(format!(
            "workload {name} needs a small cache, and that of the servers named with {} is theirs\n\
             set it there, and name {base}",
            SettingName(setting)
        )));
    }
    let data_bytes = spec.sized_by.stored_bytes(&plan.data());
    let least = kind.cache_bytes_min;
    let cache_bytes = cold_cache_bytes(data_bytes, plan.cold_share);
    if cache_bytes < least {
        let (sized_by, now) = match spec.sized_by {
            SizedBy::Records | SizedBy::RecordsOf { .. } => ("records", plan.point().records),
            SizedBy::Bytes | SizedBy::EighthOfBytes => ("bytes", plan.bytes),
        };
        let needed = (now as f64 * least as f64 / cache_bytes.max(1) as f64).ceil();
        return Err(StudyError::Unsuited(format!(
            "workload {name} needs a cache of {}, {} of its records, and {} takes {} at least\n\
             set {sized_by} to {needed:.0} or more, or name {base}",
            human_bytes(cache_bytes),
            cold_share_words(plan.cold_share),
            kind.name,
            human_bytes(least)
        )));
    }
    Ok(())
}

/// Returns `plan` for `kind`: where nothing can seal its files, with its other places, or without
/// ciphers if it has none; and on a single node, if it is one of several stores and has no members.
/// Also returns a remark on that.
///
/// # Errors
/// A way of sealing that there is not.
pub(super) fn suited(kind: &StoreKind, plan: &Plan) -> Result<(Plan, Option<String>), StudyError> {
    let (mut plan, mut remark) = (plan.clone(), None);
    if plan.store.len() > 1 && !kind.replicated {
        plan.nodes = vec![1];
    }
    if !plan.has_layer(Layer::Rest) {
        return Ok((plan, remark));
    }
    // what is there already can go onto a volume before it is measured: alone it is refused with a
    // reason of its own, beside other stores it is measured as it is
    let is_theirs = !kind.shared_by_variant && is_shared(kind, &plan);
    let is_alone = plan.store.len() == 1;
    let possible = kind.seals().filter(|seal| !is_theirs || is_alone && *seal == Seal::Volume);
    let seals = plan.seals(possible)?;
    if !seals.is_empty() {
        plan.seal = seals.into_iter().map(|seal| seal.name().to_owned()).collect();
        return Ok((plan, remark));
    }
    // the remark states what was measured, and this is what results record
    plan.seal = Plan::default().seal;
    let why = match kind.on_volume {
        _ if is_theirs => "the servers are your own; encrypt their files where they run",
        true => "it seals no files itself; with the seal volume they are on a sealed volume",
        false => "nothing seals its files",
    };
    let others = plan.places_without(Layer::Rest);
    if others.is_empty() {
        let all = plan.ciphers.len();
        plan.ciphers.retain(|name| is_none(name));
        if plan.ciphers.is_empty() {
            plan.ciphers.push(NONE.into());
        }
        if all > plan.ciphers.len() {
            remark = Some(format!("{} is measured without encryption: {why}", kind.name));
        }
    } else {
        plan.layer = others;
        let places = plan.layer.join(", ");
        remark = Some(format!("{} is measured with {places} only: {why}", kind.name));
    }
    Ok((plan, remark))
}

/// Returns whether `plan` names servers of the user's own for `kind`.
fn is_shared(kind: &StoreKind, plan: &Plan) -> bool {
    let settings = plan.stores.get(kind.name);
    kind.shared_by.zip(settings).is_some_and(|(setting, all)| all.contains_key(setting))
}

/// Checks whether other machines can reach the store of `point`: servers that its user named.
///
/// # Errors
/// A store inside this process, servers that would be started here.
pub(super) fn check_shared(point: &StudyPoint, tables: &dyn Tables) -> Result<(), StudyError> {
    let (kind, plan) = (point.store, &point.plan);
    let Some(setting) = kind.shared_by else {
        let others = tables.stores().iter().filter(|store| store.shared_by.is_some());
        return Err(StudyError::Unsuited(format!(
            "client is set: a {} store is inside this process, where no other machine reaches it\n\
             leave {} out, or choose a store with servers: {}",
            kind.name,
            SettingName("client"),
            others.map(|store| store.name).collect::<Vec<_>>().join(", ")
        )));
    };
    if (plan.has_layer(Layer::Field) || !plan.has_layer(Layer::Rest)) && plan.key.is_none() {
        return Err(StudyError::Unsuited(format!(
            "client is set, and no key is named: every client would seal with one of its own\n\
             name a key that all machines have, with {}",
            SettingName("key")
        )));
    }
    if is_shared(kind, plan) {
        return Ok(());
    }
    Err(StudyError::Unsuited(format!(
        "client is set: servers that are started here are for this machine alone\nname servers \
         that all machines reach with {}",
        SettingName(setting)
    )))
}
