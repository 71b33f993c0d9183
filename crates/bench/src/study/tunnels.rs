//! The layer `wire` of a study: the tunnels made of its suites, paths and links.

use sealstone_message::SettingName;
use sealstone_store::kind::StoreKind;
use sealstone_store::{Layer, TLS, Tables, Tunnel};

use crate::study::plan::{NONE, Plan, is_none};
use crate::study::point::StudyError;

/// Returns `plan` with what its suites, paths and links leave open filled in, where it has the
/// layer `wire`, and the tunnels that they amount to: one suite, our path and a link without a
/// limit, if it names none; TLS, for stores whose servers speak it.
///
/// # Errors
/// A suite, a path or a link that is not in its table, or makes no sense for the store.
pub(super) fn with_tunnels(
    mut plan: Plan,
    tables: &dyn Tables,
) -> Result<(Plan, Vec<Tunnel>), StudyError> {
    if !plan.has_layer(Layer::Wire) {
        return Ok((plan, Vec::new()));
    }
    let speaks_tls = |name: &&String| tables.store(name).is_ok_and(StoreKind::speaks_tls);
    if let Some(name) = plan.store.iter().find(speaks_tls).cloned() {
        let tunnels = with_tls(&name, &mut plan, tables)?;
        return Ok((plan, tunnels));
    }
    // one that nothing goes over a wire to is refused with its own reason
    let has_wire =
        |name: &&String| tables.store(name).is_ok_and(|kind| kind.layers.contains(&Layer::Wire));
    let Some(name) = plan.store.iter().find(has_wire) else { return Ok((plan, Vec::new())) };
    if plan.suites.iter().any(|suite| suite.eq_ignore_ascii_case(TLS)) {
        let others =
            tables.stores().iter().filter(|store| store.speaks_tls()).map(|store| store.name);
        return Err(StudyError::Unsuited(format!(
            "suites is {}: {name} speaks no TLS\nname suites of ESP, see: sealstone wire suites; \
             or choose a store that speaks TLS: {}",
            plan.suites.join(","),
            others.collect::<Vec<_>>().join(", ")
        )));
    }
    let usual = |list: &mut Vec<String>, names: &[&str]| {
        if list.is_empty() {
            *list = names.iter().map(|name| String::from(*name)).collect();
        }
    };
    usual(&mut plan.suites, &[NONE, "aes-256-gcm"]);
    usual(&mut plan.path, &["sealstone"]);
    usual(&mut plan.links, &["unlimited"]);
    plan.links.iter().try_for_each(|name| tables.check_link(name)).map_err(StudyError::Tables)?;
    let tunnels = tables.tunnels(&plan.suites, &plan.path).map_err(StudyError::Tables)?;
    Ok((plan, tunnels))
}

/// Gives `plan` TLS as its only suite of the layer `wire`: the store `name` speaks it.
fn with_tls(name: &str, plan: &mut Plan, tables: &dyn Tables) -> Result<Vec<Tunnel>, StudyError> {
    for (setting, list) in [("path", &plan.path), ("links", &plan.links)] {
        if !list.is_empty() {
            return Err(StudyError::Unsuited(format!(
                "{setting} is {}: it is about packets on a link, and {name} has TLS there\nleave \
                 it out, or choose {}",
                list.join(","),
                SettingName("store iscsi")
            )));
        }
    }
    let is_known = |suite: &&String| suite.eq_ignore_ascii_case(TLS) || is_none(suite);
    if let Some(suite) = plan.suites.iter().find(|suite| !is_known(suite)) {
        return Err(StudyError::Unsuited(format!(
            "suites is {suite}: it seals packets on a link, and {name} has TLS there\nname none \
             and tls, or choose {} for suites of ESP",
            SettingName("store iscsi")
        )));
    }
    if plan.suites.is_empty() {
        plan.suites = [NONE, TLS].map(String::from).to_vec();
    }
    let tls = plan.suites.iter().filter(|suite| suite.eq_ignore_ascii_case(TLS));
    let tunnels: Vec<Tunnel> = tls.filter_map(|_| tables.tls()).collect();
    if tunnels.is_empty() {
        return Err(StudyError::Unsuited(format!(
            "suites is {}: nothing is sealed on the wire\nname tls as well, or leave suites out",
            plan.suites.join(",")
        )));
    }
    Ok(tunnels)
}
