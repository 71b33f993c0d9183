//! Studies by name: the settings with which a published study is repeated by one command. Not here:
//! what they found, and what was found here (`docs/guide/studies.md`).

use sealstone_message::Unknown;

use crate::study::plan::{Plan, PlanError};

/// A study that is repeated by its name.
#[derive(Debug)]
pub struct NamedStudy {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// Lines of TOML: settings that take the place of the usual ones.
    settings: &'static str,
}

/// All of them.
pub const NAMED: &[NamedStudy] = &[NamedStudy {
    name: "tablespace",
    // a warm cache holds all records, as a pool of 120 % of them does
    settings: r#"
store = ["mysql"]
layer = ["rest"]
seal = ["own", "server"]
ciphers = ["none", "aes-256", "aria-256"]
accel = ["auto", "portable"]
workloads = ["oltp", "oltp-cold", "batch-load", "batch-scan"]
bytes = "1GB"
cold-share = "20%"
rounds = 5
pairs = 5
slice-ms = 1000
"#,
}];

impl NamedStudy {
    /// Returns the study called `name`.
    ///
    /// # Errors
    /// [`PlanError::Unknown`], with the nearest.
    pub fn by_name(name: &str) -> Result<&'static Self, PlanError> {
        let found = NAMED.iter().find(|study| study.name.eq_ignore_ascii_case(name));
        let known = || NAMED.iter().map(|study| study.name);
        found.ok_or_else(|| PlanError::Unknown(Unknown::new("study name", name, known())))
    }

    /// Returns the settings of `usual` with those of the study in their place.
    #[must_use]
    pub fn over(&self, usual: &Plan) -> Plan {
        usual.suited(self.settings)
    }

    /// Returns whether the study sets `setting`.
    #[must_use]
    pub fn names(&self, setting: &str) -> bool {
        self.settings.lines().any(|line| line.split(" =").next() == Some(setting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_is_a_plan_that_can_be_measured() {
        for study in NAMED {
            let plan = study.over(&Plan::default());
            plan.check().unwrap();
            assert_ne!(plan, Plan::default(), "{}", study.name);
            assert!(study.names("workloads") && !study.names("work"), "{}", study.name);
            assert_eq!(NamedStudy::by_name(&study.name.to_uppercase()).unwrap().name, study.name);
        }
        let unknown = NamedStudy::by_name("tablespaces").unwrap_err().to_string();
        assert!(unknown.contains("did you mean tablespace?"), "{unknown}");
    }
}
