//! From flags to a plan: the defaults of the store, then the TOML file or the named study, then the
//! flags.

use std::path::Path;

use sealstone_bench::study::NamedStudy;
use sealstone_bench::study::plan::{ANY_SEAL, Plan, PlanError};
use sealstone_bench::study::preset::{self, Preset};
use sealstone_bench::study::usual;
use sealstone_bench::workload::{Unit, workload};
use sealstone_store::Layer;
use sealstone_stores::Built;

use crate::flags::CompareFlags;
use crate::own_workloads::{self, Said};

/// Returns the effective plan. Its values are not checked yet.
///
/// # Errors
/// A TOML file that cannot be read or is not a plan; a file of a workload that is none.
pub(crate) fn plan(flags: &CompareFlags) -> anyhow::Result<Plan> {
    let below = Below::of(flags)?;
    let named = below.over(&Plan::default())?.store;
    let named = flags.plan.store.as_ref().unwrap_or(&named);
    let mut plan = below.over(&usual(named, &Built))?;
    apply(flags, &mut plan)?;
    let said =
        |flag: bool, setting: &str| -> anyhow::Result<bool> { Ok(flag || below.names(setting)?) };
    let is_named = said(flags.plan.workloads.is_some(), "workloads")?;
    let said = Said {
        records: said(flags.plan.records.is_some(), "records")?,
        operations: said(flags.plan.operations.is_some(), "operations")?,
        threads: said(
            flags.plan.threads.is_some()
                || flags.plan.set.iter().any(|(name, _)| name == "threads-of"),
            "threads",
        )?,
        target: said(flags.plan.target.is_some(), "target")?,
    };
    own_workloads::take_files(&mut plan, &flags.properties, said)?;
    preset::choose(flags.plan.preset.as_deref().and_then(Preset::by_word), &mut plan, is_named)?;
    // named by nobody, a batch is left out where it has no place
    if plan.target.is_some() && !is_named {
        plan.workloads
            .retain(|name| workload(name).is_ok_and(|spec| spec.unit == Unit::Operations));
    }
    Ok(plan)
}

/// Settings below the flags.
enum Below<'a> {
    /// Those of the store alone.
    Usual,
    File(&'a Path),
    Study(&'static NamedStudy),
}

impl<'a> Below<'a> {
    fn of(flags: &'a CompareFlags) -> Result<Self, PlanError> {
        Ok(match (&flags.config, &flags.study) {
            (Some(path), _) => Self::File(path),
            (None, Some(name)) => Self::Study(NamedStudy::by_name(name)?),
            (None, None) => Self::Usual,
        })
    }

    /// Returns `usual` with these settings in their place.
    fn over(&self, usual: &Plan) -> Result<Plan, PlanError> {
        match self {
            Self::Usual => Ok(usual.clone()),
            Self::File(path) => Plan::read_over(path, usual),
            Self::Study(study) => Ok(study.over(usual)),
        }
    }

    /// Returns whether they have `setting`.
    fn names(&self, setting: &str) -> Result<bool, PlanError> {
        match self {
            Self::Usual => Ok(false),
            Self::File(path) => Plan::names(path, setting),
            Self::Study(study) => Ok(study.names(setting)),
        }
    }
}

/// Returns the plan `earlier` with the flags that are given again; flags with the same value change
/// nothing.
///
/// # Errors
/// As [`plan`], of flags alone.
pub(crate) fn over(flags: &CompareFlags, earlier: &Plan) -> Result<Plan, PlanError> {
    let mut plan = earlier.clone();
    apply(flags, &mut plan)?;
    Ok(plan)
}

/// Puts every flag given in the place of its setting.
///
/// # Errors
/// A value of `--set` that its setting cannot have.
fn apply(flags: &CompareFlags, plan: &mut Plan) -> Result<(), PlanError> {
    fn set<T: Clone>(flag: &Option<T>, setting: &mut T) {
        if let Some(value) = flag {
            setting.clone_from(value);
        }
    }
    fn set_optional<T: Clone>(flag: &Option<T>, setting: &mut Option<T>) {
        if flag.is_some() {
            setting.clone_from(flag);
        }
    }
    set_optional(&flags.key, &mut plan.key);
    set_optional(&flags.passphrase_file, &mut plan.passphrase_file);
    set_optional(&flags.baseline, &mut plan.baseline);
    set_optional(&flags.fail_if, &mut plan.fail_if);
    for (store, settings) in &flags.stores.0 {
        plan.stores.entry(store.clone()).or_default().extend(settings.clone());
    }
    let flags = &flags.plan;
    set(&flags.store, &mut plan.store);
    set_optional(&flags.against, &mut plan.against);
    set(&flags.nodes, &mut plan.nodes);
    set(&flags.layer, &mut plan.layer);
    // who names the layer means it, of a store that has no seal of its own, too
    if flags.layer.is_some() && flags.seal.is_none() && plan.has_layer(Layer::Rest) {
        plan.seal = vec![ANY_SEAL.into()];
    }
    set(&flags.seal, &mut plan.seal);
    set(&flags.protect_from, &mut plan.protect_from);
    set_optional(&flags.fields, &mut plan.fields);
    set(&flags.ciphers, &mut plan.ciphers);
    set(&flags.accel, &mut plan.accel);
    set(&flags.module, &mut plan.module);
    set(&flags.suites, &mut plan.suites);
    set(&flags.links, &mut plan.links);
    set(&flags.workloads, &mut plan.workloads);
    set(&flags.policy.map(Into::into), &mut plan.policy);
    set(&flags.margin, &mut plan.margin);
    set(&flags.records, &mut plan.records);
    set_optional(&flags.records_from, &mut plan.records_from);
    set(&flags.bytes, &mut plan.bytes);
    set(&flags.block_bytes, &mut plan.block_bytes);
    set(&flags.verify, &mut plan.verify);
    set(&flags.operations, &mut plan.operations);
    set(&flags.threads, &mut plan.threads);
    set(&flags.rounds, &mut plan.rounds);
    set_optional(&flags.until, &mut plan.until);
    set_optional(&flags.max_time, &mut plan.max_time);
    set(&flags.load_every, &mut plan.load_every);
    set_optional(&flags.cache, &mut plan.cache);
    set_optional(&flags.target, &mut plan.target);
    set_optional(&flags.p99, &mut plan.p99);
    set(&flags.max_errors, &mut plan.max_errors);
    set(&flags.out, &mut plan.out);
    set_optional(&flags.keep, &mut plan.keep);
    for (name, value) in &flags.set {
        *plan = plan.with_setting(name, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::flags::{Command, PLAN_ONLY, Sealstone};

    fn compare(words: &[&str]) -> CompareFlags {
        let words = ["sealstone", "compare"].iter().chain(words);
        match Sealstone::try_parse_from(words).unwrap().command {
            Command::Compare(flags) => *flags,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn no_flags_are_the_defaults() {
        assert_eq!(plan(&compare(&[])).unwrap(), Plan::default());
    }

    #[test]
    fn flags_win_over_a_named_study_and_that_over_the_store() {
        let named = plan(&compare(&["--study", "tablespace", "--bytes", "2GB"])).unwrap();
        assert_eq!((named.store, named.bytes), (vec!["mysql".to_owned()], 2_000_000_000));
        assert_eq!(named.workloads, ["oltp", "oltp-cold", "batch-load", "batch-scan"]);
        assert_eq!((named.cold_share, named.pairs), (0.2, 5));
        let usual = plan(&compare(&["--store", "mysql"])).unwrap();
        assert_ne!(usual.pairs, named.pairs);
    }

    /// A value unlike the default for each setting.
    const VALUES: &[(&str, &str)] = &[
        ("store", "mongodb"),
        ("against", "mongodb"),
        ("nodes", "3,6"),
        ("layer", "field"),
        ("seal", "volume"),
        ("protect-from", "dba,network"),
        ("fields", "fields.toml"),
        ("ciphers", "none,3des"),
        ("accel", "portable"),
        ("module", "none,openssl:default"),
        ("suites", "none,3des-md5"),
        ("path", "strongswan"),
        ("links", "1000,100"),
        ("workloads", "f"),
        ("policy", "kcmvp"),
        ("margin", "1.5%"),
        ("records", "12k,1M"),
        ("records-from", "x.csv"),
        ("bytes", "3GB"),
        ("block-bytes", "4KiB"),
        ("depth", "3"),
        ("verify", "true"),
        ("operations", "7"),
        ("threads", "3,8"),
        ("threads-of", "a=3"),
        ("rounds", "9"),
        ("until", "3%"),
        ("max-time", "7m"),
        ("load-every", "2"),
        ("pairs", "99"),
        ("slice-ms", "77"),
        ("cache", "64MiB"),
        ("cold-share", "20%"),
        ("target", "5.5"),
        ("p99", "7ms"),
        ("max-errors", "9"),
        ("seed", "42"),
        ("out", "elsewhere"),
        ("keep", "kept"),
        ("delimiter", "tab"),
        ("key", "kmip:kms.toml"),
        ("passphrase-file", "passphrase"),
        ("baseline", "old/results.json"),
        ("fail-if", "5%"),
    ];

    /// Returns the flag that sets `name`.
    fn as_flag(name: &str, value: &str) -> String {
        if PLAN_ONLY.contains(&name) {
            format!("--set={name}={value}")
        } else {
            format!("--{name}={value}")
        }
    }

    /// Flags that change the output, but not the measurement; and the name of the machine, since
    /// other machines run the same plan.
    const NOT_SETTINGS: [&str; 14] = [
        "dry-run",
        "junit",
        "set",
        "config",
        "study",
        "print-config",
        "json",
        "quiet",
        "lang",
        "label",
        "property",
        "resume",
        "client",
        "start-at",
    ];

    #[test]
    fn every_setting_has_its_flag() {
        let mut names: Vec<String> = VALUES.iter().map(|(name, _)| (*name).to_string()).collect();
        names.sort();
        let mut settings = sealstone_bench::study::plan::settings();
        // separate flags, made from the table of stores; files that --workloads names
        settings.retain(|setting| setting != "stores" && setting != "own-workloads");
        settings.sort();
        assert_eq!(names, settings);
        let usual = toml::Table::try_from(Plan::default()).unwrap();
        for &(name, value) in VALUES {
            let changed = plan(&compare(&[&as_flag(name, value)])).unwrap();
            let changed = toml::Table::try_from(changed).unwrap();
            assert_ne!(changed.get(name), usual.get(name), "--{name}");
            // a store may have a number of clients of its own, where RocksDB's is found by search
            let others = |table: &toml::Table| {
                table.iter().filter(|(key, _)| *key != name && *key != "threads").count()
            };
            assert_eq!(others(&changed), others(&usual), "--{name} changed other settings");
        }
    }

    #[test]
    fn what_is_printed_runs_the_same_again() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plan.toml");
        let definition = crate::flags::definition();
        let compare_command = definition.find_subcommand("compare").unwrap();
        let mut seen = 0;
        let flags = compare_command.get_arguments();
        let flags =
            flags.map(|flag| (flag.get_long().expect("compare takes flags only"), Some(flag)));
        for (name, flag) in flags.chain(PLAN_ONLY.map(|name| (name, None))) {
            if NOT_SETTINGS.contains(&name) {
                continue;
            }
            let usual = VALUES.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            // the settings of single stores, whose values are text or one of a few
            let one_of =
                || flag?.get_possible_values().first().map(|value| value.get_name().to_owned());
            let value =
                usual.map(String::from).or_else(one_of).unwrap_or_else(|| "some value".into());
            let first = plan(&compare(&[&as_flag(name, &value)])).unwrap();
            assert_ne!(first, Plan::default(), "--{name} {value} is not in the plan");
            std::fs::write(&file, first.to_toml()).unwrap();
            let again = plan(&compare(&["--config", file.to_str().unwrap()])).unwrap();
            assert_eq!(again, first, "--{name}");
            seen += 1;
        }
        assert!(seen >= VALUES.len(), "{seen} flags");
    }

    #[test]
    fn an_open_loop_leaves_out_the_batches_unless_they_are_named() {
        let open = plan(&compare(&["--target", "2000"])).unwrap();
        assert_eq!(open.workloads, ["a", "c", "c-cold", "oltp-sync"]);
        open.check().unwrap();
        let named = plan(&compare(&["--target", "2000", "--workloads", "a,batch-scan"])).unwrap();
        let error = named.check().unwrap_err().to_string();
        assert!(
            error
                .starts_with("workloads is batch-scan: requests are due at the rate of the target"),
            "{error}"
        );
    }

    #[test]
    fn flags_come_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("plan.toml");
        std::fs::write(&file, "records = 5\nrounds = 2\n").unwrap();
        let read = plan(&compare(&["--config", file.to_str().unwrap(), "--rounds", "4"])).unwrap();
        assert_eq!(
            (read.records, read.rounds, read.threads),
            (vec![5], 4, Plan::default().threads)
        );
    }
}
