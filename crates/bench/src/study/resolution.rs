//! Studies: comparisons whose stores, ciphers, backends, tunnels and functions are resolved from
//! their names once, with the given tables. From here on they are values, and all combinations are
//! fixed.

use std::path::PathBuf;

use sealstone_message::Unknown;
use sealstone_store::kind::{Form, StoreKind};
use sealstone_store::{FieldPolicy, Layer, Tables};

use crate::study::coverage::{OWN_MODE, Surroundings};
use crate::study::plan::{Plan, Protections, is_none};
use crate::study::point::{StudyError, StudyPoint};
use crate::study::{client_group, suitability, tunnels};
use crate::workload::{self, Entry, Watch};

/// A comparison with its names resolved.
#[derive(Debug)]
pub struct Study {
    /// The settings, with what they leave open filled in.
    pub plan: Plan,
    /// The points of the axes that their stores can have, in the order in which they are measured.
    pub points: Vec<StudyPoint>,
    /// The other points, in the same order.
    pub refused: Vec<Refused>,
    /// Remarks for the user, such as that nothing seals the files of a store.
    pub remarks: Vec<String>,
}

/// A point that its store cannot have.
#[derive(Debug)]
pub struct Refused {
    /// Number of points before it, refused ones included.
    pub at: usize,
    /// The point.
    pub point: StudyPoint,
    /// The reason, with what to do instead.
    pub reason: StudyError,
}

impl Study {
    /// Resolves the names in `plan` with `tables`.
    ///
    /// # Errors
    /// An error in a setting, by itself or for the stores. That a store cannot have a point is no
    /// error: other points may be possible.
    pub fn resolve(plan: Plan, tables: &dyn Tables) -> Result<Self, StudyError> {
        let (plan, tunnels) = tunnels::with_tunnels(plan, tables)?;
        let stores =
            plan.store.iter().map(|name| tables.store(name)).collect::<Result<Vec<_>, _>>();
        let stores = stores.map_err(StudyError::Tables)?;
        plan.check()?;
        let algorithms = plan.algorithms()?;
        let policy = plan.fields.as_deref().map(|file| tables.field_policy(file)).transpose();
        let policy = policy.map_err(StudyError::Tables)?;
        check_settings(&plan, tables)?;
        let named = plan.module.iter().filter(|name| !is_none(name));
        let modules = named.map(|name| tables.module(name)).collect::<Result<Vec<_>, _>>();
        let modules = modules.map_err(StudyError::Tables)?;
        let workloads = plan.entries()?;
        let (mut points, mut refused, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
        for store in stores {
            let surroundings = surroundings(store, &plan, &workloads, policy.as_deref());
            let (suited, remark) = suitability::suited(store, &plan)?;
            remarks.extend(remark);
            let protections = Protections {
                algorithms: &algorithms,
                functions: if suited.has_layer(Layer::Server) { store.functions } else { &[] },
                server_rest: store.server_rest,
                tunnels: &tunnels,
                modules: &modules,
            };
            for plan in
                suited.groups()?.into_iter().filter(|group| group.point().store == store.name)
            {
                let (surroundings, policy) = (surroundings.clone(), policy.clone());
                let point = StudyPoint::new(store, plan, &protections, surroundings, policy)?;
                match suitability::check(&point, tables) {
                    Ok(()) => points.push(point),
                    Err(reason) => {
                        refused.push(Refused { at: points.len() + refused.len(), point, reason });
                    }
                }
            }
        }
        Ok(Self { plan, points, refused, remarks })
    }

    /// Checks that several clients, each on a machine of its own, can measure it together.
    ///
    /// # Errors
    /// A store inside this process, servers that would be started here; a key that only one of the
    /// machines has; settings that cannot be shared.
    pub fn check_shared(&self, tables: &dyn Tables) -> Result<(), StudyError> {
        let refused = self.refused.iter().map(|refused| (refused.at, &refused.point));
        let mut points: Vec<&StudyPoint> = self.points.iter().collect();
        refused.for_each(|(at, point)| points.insert(at, point));
        points.into_iter().try_for_each(|point| suitability::check_shared(point, tables))?;
        Ok(client_group::check(&self.plan)?)
    }

    /// Sets the directory for the report and its data.
    pub fn results_in(&mut self, out: PathBuf) {
        let refused = self.refused.iter_mut().map(|refused| &mut refused.point);
        for point in self.points.iter_mut().chain(refused) {
            point.plan.out.clone_from(&out);
        }
        self.plan.out = out;
    }
}

/// Returns the settings that suit the stores called `names`, if nobody sets any. A store that is in
/// no table changes nothing; it is reported when it is looked up.
#[must_use]
pub fn usual(names: &[String], tables: &dyn Tables) -> Plan {
    let mut usual = Plan { store: names.to_vec(), ..Plan::default() };
    for kind in names.iter().filter_map(|name| tables.store(name).ok()) {
        usual = usual.suited(kind.suited);
    }
    usual
}

fn surroundings(
    store: &StoreKind,
    plan: &Plan,
    workloads: &[Entry],
    policy: Option<&dyn FieldPolicy>,
) -> Surroundings {
    // columns are the same however many records there are; errors in a workload are reported
    // elsewhere
    let data = workload::Data { records: 1, ..plan.data() };
    let tables = || workload::build_watched(&data, workloads, &Watch::nobody());
    let seals_all = |policy: &dyn FieldPolicy| {
        tables().is_ok_and(|built| {
            built.iter().all(|workload| policy.seals_everything(workload.tables()))
        })
    };
    let modes = policy.map_or(Vec::new(), FieldPolicy::modes);
    Surroundings {
        within_process: store.shared_by.is_none(),
        layers: store.layers.iter().map(|layer| layer.name().into()).collect(),
        policy_seals_everything: policy.is_some_and(seals_all),
        field_modes: modes.iter().map(|mode| mode.unwrap_or(OWN_MODE).to_owned()).collect(),
    }
}

/// Checks that every store setting in `plan` is a setting of that store, with a value that it can
/// have.
///
/// # Errors
/// A store that is in no row, or a setting that the store does not have; names the nearest. A value
/// that is none of the words of the setting, or several values where there can be one. Two
/// settings that exclude each other.
fn check_settings(plan: &Plan, tables: &dyn Tables) -> Result<(), StudyError> {
    let refuse = |text: String| Err(StudyError::Unsuited(text));
    for (name, settings) in &plan.stores {
        let kind = tables.store(name).map_err(StudyError::Tables)?;
        let known = || kind.settings.iter().map(|setting| setting.name);
        for (setting, values) in settings {
            if kind.settings.is_empty() {
                return refuse(format!(
                    "{setting} is not a setting of {name}, which has none of its own\nleave it out"
                ));
            }
            let Some(row) = kind.settings.iter().find(|row| row.name == setting) else {
                let unknown = Unknown::new("setting", setting, known());
                return refuse(format!("store {name}: {unknown}"));
            };
            if row.form != Form::Several && values.len() != 1 {
                return refuse(format!(
                    "{setting} of {name} has {} values\ngive it one",
                    values.len()
                ));
            }
            let excludes =
                |other: &&&str| settings.contains_key(**other) || is_set(plan, other, tables);
            if let Some(other) = row.excludes.iter().find(excludes) {
                return refuse(format!(
                    "{setting} of {name} makes no sense together with {other}\nleave one of them \
                     out"
                ));
            }
            let words: &[&str] = match row.form {
                Form::Bool => &["true", "false"],
                Form::OneOf(words) => words,
                Form::Text | Form::File | Form::Several => continue,
            };
            if values.iter().any(|value| !words.contains(&value.as_str())) {
                let (found, known) = (values.join(", "), words.join(" or "));
                return refuse(format!("{setting} of {name} is {found}\nit can be {known}"));
            }
        }
    }
    Ok(())
}

/// Returns whether the general setting `name` differs from its value for the stores of `plan` when
/// nobody sets it.
fn is_set(plan: &Plan, name: &str, tables: &dyn Tables) -> bool {
    let value =
        |plan: &Plan| toml::Table::try_from(plan).ok().and_then(|table| table.get(name).cloned());
    value(plan) != value(&usual(&plan.store, tables))
}
