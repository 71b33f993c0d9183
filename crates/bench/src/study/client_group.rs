//! Measurements that several clients can make together: one load of the servers, by workloads that
//! leave it in place, with a fixed number of threads.

use sealstone_message::SettingName;

use crate::study::plan::{Plan, PlanError};
use crate::workload::Definition;

/// Checks that `plan` can be measured by several clients at once.
///
/// # Errors
/// `PlanError::Value`: several points or data sets, workloads that load for themselves, no number
/// of threads, a rate.
pub(crate) fn check(plan: &Plan) -> Result<(), PlanError> {
    let value = |setting, found: String, reason: &str| {
        Err(PlanError::Value { setting, found, reason: reason.to_owned() })
    };
    if plan.groups()?.len() != 1 {
        let reason = "several clients measure one point together: name one value for each list";
        return value("client", "set".into(), reason);
    }
    if plan.target.is_some() {
        return value(
            "target",
            "set".into(),
            "several clients ask as fast as they can: leave it out",
        );
    }
    let mut dataset = None;
    for name in &plan.workloads {
        let spec = plan.workload(name)?;
        if spec.cold || spec.from_empty {
            return value(
                "workloads",
                name.clone(),
                "it loads the store again and again, which other clients use",
            );
        }
        let deletes = |own: &Definition| own.name == spec.base && own.mix.delete > 0.0;
        if plan.own_workloads.iter().any(deletes) {
            return value(
                "workloads",
                name.clone(),
                "it deletes the oldest records, which other clients would miss",
            );
        }
        if *dataset.get_or_insert(spec.dataset) != spec.dataset {
            let reason = format!(
                "it has other data than the workloads before it: run it by itself, with another {}",
                SettingName("start-at")
            );
            return value("workloads", name.clone(), &reason);
        }
        if spec.clients.is_none() && plan.threads.is_empty() && !plan.threads_of.contains_key(name)
        {
            let reason =
                format!("every client must have a fixed number: add {}", SettingName("threads"));
            return value("threads", "not set".into(), &reason);
        }
    }
    Ok(())
}
