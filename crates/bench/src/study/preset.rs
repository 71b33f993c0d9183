//! Presets: the workloads of a comparison, and their settings of cache and durability. A preset is
//! short for a list of workloads; settings are defined in `workload::setting`.

use crate::study::plan::{DEFAULT_WORKLOADS, Plan, PlanError};
use crate::workload::{self, Setting};

/// A choice of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// One setting for every workload.
    Only(Setting),
    /// Every workload under every setting that it can have.
    All,
}

/// Workloads that presets choose from if none are named.
pub const BASE: [&str; 7] = ["a", "b", "c", "e", "oltp", "batch-load", "batch-scan"];

/// Chooses the workloads of `plan` by `preset`. Without a preset they stay unchanged, except that a
/// cache of a certain size replaces the usual mix, which has its own sizes. `named`: whether the
/// user has named the workloads.
///
/// # Errors
/// As [`Preset::apply`].
pub fn choose(preset: Option<Preset>, plan: &mut Plan, named: bool) -> Result<(), PlanError> {
    match preset {
        Some(preset) => preset.apply(plan, named)?,
        None if plan.cache.is_some() && !named && plan.workloads == DEFAULT_WORKLOADS => {
            plan.workloads = BASE.map(String::from).to_vec();
        }
        None => {}
    }
    Ok(())
}

impl Preset {
    /// The words for it, in the order of help.
    pub const WORDS: [&str; 4] = ["warm", "cold", "sync", "all"];

    /// Returns the preset called `word`.
    #[must_use]
    pub fn by_word(word: &str) -> Option<Self> {
        let setting = Setting::ALL.into_iter().find(|setting| setting.word() == word);
        setting.map(Self::Only).or((word == "all").then_some(Self::All))
    }

    fn word(self) -> &'static str {
        match self {
            Self::Only(setting) => setting.word(),
            Self::All => "all",
        }
    }

    /// Sets the workloads of `plan` to this preset: of the listed workloads, if the user has
    /// `named` them, otherwise of [`BASE`], or of the workloads that suit its store.
    ///
    /// # Errors
    /// [`PlanError::Value`]: a cache of a certain size, which the preset decides; a workload named
    /// that cannot run under it, or that has a setting already; no workload left.
    pub fn apply(self, plan: &mut Plan, named: bool) -> Result<(), PlanError> {
        if plan.cache.is_some() {
            return Err(value(
                self,
                "it decides the size of the cache; leave out either the preset or the cache".into(),
            ));
        }
        let listed = match plan.workloads == DEFAULT_WORKLOADS && !named {
            true => BASE.map(String::from).to_vec(),
            false => plan.workloads.clone(),
        };
        let mut found = Vec::new();
        for name in &listed {
            let spec = plan.workload(name)?;
            if spec.setting != Setting::Warm && named {
                let reason = format!(
                    "workload {name} has a setting already; name it {}, or leave the preset out",
                    spec.base
                );
                return Err(value(self, reason));
            }
            let under = self.of(plan, spec.base)?;
            if under.is_empty() && named {
                let can: Vec<&str> = workload::workloads()
                    .filter(|spec| self.fits(spec))
                    .map(|spec| spec.name)
                    .collect();
                let reason = format!(
                    "workload {name} has nothing that it would change; name some of {}",
                    can.join(", ")
                );
                return Err(value(self, reason));
            }
            found
                .extend(under.into_iter().filter(|name| !found.contains(name)).collect::<Vec<_>>());
        }
        if found.is_empty() {
            return Err(value(self, format!("none of {} can run under it", listed.join(", "))));
        }
        plan.workloads = found;
        Ok(())
    }

    /// Returns the names of the workload `base` under the settings of this preset that it can have.
    fn of(self, plan: &Plan, base: &str) -> Result<Vec<String>, PlanError> {
        let spec = plan.workload(base)?;
        let settings =
            Setting::ALL.into_iter().filter(|setting| self.has(*setting) && has(&spec, *setting));
        Ok(settings.map(|setting| setting.named(base)).collect())
    }

    fn has(self, setting: Setting) -> bool {
        self == Self::All || self == Self::Only(setting)
    }

    fn fits(self, spec: &workload::Spec) -> bool {
        Setting::ALL.into_iter().any(|setting| self.has(setting) && has(spec, setting))
    }
}

fn has(spec: &workload::Spec, setting: Setting) -> bool {
    setting == Setting::Warm || spec.settings.contains(&setting)
}

fn value(preset: Preset, reason: String) -> PlanError {
    PlanError::Value { setting: "preset", found: preset.word().into(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::workload;

    fn applied(word: &str, workloads: Option<&[&str]>) -> Result<Vec<String>, String> {
        let mut plan = Plan::default();
        if let Some(names) = workloads {
            plan.workloads = names.iter().map(|name| String::from(*name)).collect();
        }
        let preset = Preset::by_word(word).unwrap();
        preset.apply(&mut plan, workloads.is_some()).map_err(|error| error.to_string())?;
        plan.check().unwrap();
        Ok(plan.workloads)
    }

    #[test]
    fn a_preset_is_short_for_workloads_under_a_setting() {
        assert_eq!(applied("warm", None).unwrap(), BASE);
        assert_eq!(
            applied("cold", None).unwrap(),
            ["a-cold", "b-cold", "c-cold", "e-cold", "oltp-cold"]
        );
        assert_eq!(applied("sync", None).unwrap(), ["a-sync", "b-sync", "e-sync", "oltp-sync"]);
        let all = applied("all", None).unwrap();
        for preset in ["warm", "cold", "sync"] {
            assert!(
                applied(preset, None).unwrap().iter().all(|name| all.contains(name)),
                "{preset}: {all:?}"
            );
        }
        assert_eq!(
            applied("all", Some(&["c", "f"])).unwrap(),
            ["c", "c-cold", "f", "f-cold", "f-sync"]
        );
        assert!(Preset::WORDS.iter().all(|word| Preset::by_word(word).unwrap().word() == *word));
        assert_eq!(Preset::by_word("hot"), None);
    }

    #[test]
    fn what_a_preset_cannot_do_is_refused() {
        let refused = |word, names: &[&str]| applied(word, Some(names)).unwrap_err();
        let error = refused("sync", &["a", "c"]);
        assert!(
            error.starts_with(
                "preset is sync: workload c has nothing that it would change; name some of a, b, \
                 d, e, f, oltp"
            ),
            "{error}"
        );
        assert!(refused("cold", &["batch-load"]).contains("name some of a, b, c, d, e, f, oltp"));
        assert!(refused("warm", &["c-cold"]).contains("has a setting already; name it c"));
        let mut plan = Plan { cache: Some(8 << 20), ..Plan::default() };
        let error = Preset::Only(Setting::Warm).apply(&mut plan, false).unwrap_err().to_string();
        assert!(error.contains("leave out either the preset or the cache"), "{error}");
    }

    #[test]
    fn a_cache_of_a_certain_size_replaces_the_usual_mix() {
        let mut plan = Plan { cache: Some(8 << 20), ..Plan::default() };
        choose(None, &mut plan, false).unwrap();
        assert_eq!(plan.workloads, BASE);
        let mut plan =
            Plan { cache: Some(8 << 20), workloads: vec!["c-cold".into()], ..Plan::default() };
        choose(None, &mut plan, true).unwrap();
        let error = plan.check().unwrap_err().to_string();
        assert!(
            error.starts_with("cache is 8.4 MB: workload c-cold has a cache of its own"),
            "{error}"
        );
    }

    #[test]
    fn the_default_has_reads_that_hit_and_miss_and_synced_writes() {
        for setting in Setting::ALL {
            assert!(
                DEFAULT_WORKLOADS.iter().any(|name| workload(name).unwrap().setting == setting),
                "{setting:?}"
            );
        }
    }
}
