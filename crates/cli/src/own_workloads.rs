//! Workloads that are files: read, and put into the plan.

use std::path::Path;

use sealstone_bench::study::plan::Plan;
use sealstone_bench::words::Target;
use sealstone_bench::workload::{self, Definition, read_properties};

use crate::message::say;

/// Settings made by flags or plan, so that the wishes of files do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    pub(crate) records: bool,
    pub(crate) operations: bool,
    pub(crate) threads: bool,
    pub(crate) target: bool,
}

/// Puts the workloads that are files into `plan`: each file's name there is replaced by the name of
/// its workload, and its preferred settings are set unless they are in `said`. `properties`
/// override the properties of property files.
///
/// # Errors
/// A file that is no workload, two of one name, two with different wishes; properties without a
/// file that they could belong to.
pub(crate) fn take_files(
    plan: &mut Plan,
    properties: &[(String, String)],
    said: Said,
) -> anyhow::Result<()> {
    let mut own = std::mem::take(&mut plan.own_workloads);
    let (mut read, mut has_properties) = (Vec::new(), false);
    for entry in &mut plan.workloads {
        if !is_file(entry, &own) {
            continue;
        }
        let path = Path::new(entry.as_str()).to_owned();
        let definition = match is_toml(entry) {
            true => Definition::read(&path)?,
            false => {
                has_properties = true;
                let (definition, notes) = read_properties(&path, properties)?;
                notes.iter().for_each(|note| say(note));
                definition
            }
        };
        read.push((path.display().to_string(), definition.clone()));
        *entry = workload::add(&mut own, definition)
            .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    }
    plan.own_workloads = own;
    if !properties.is_empty() && !has_properties {
        anyhow::bail!(
            "-p {}=… belongs to no file: none of the workloads {} is one of YCSB's property files\n\
             name one, such as --workloads workloads/workloada",
            properties[0].0,
            plan.workloads.join(", ")
        );
    }
    wish(plan, &read, said)
}

/// Returns whether `entry` of a list of workloads is a file, and not the name of a workload.
fn is_file(entry: &str, own: &[Definition]) -> bool {
    let looks_so = entry.contains(std::path::MAIN_SEPARATOR)
        || is_toml(entry)
        || entry.ends_with(".properties");
    looks_so || (workload::find(entry, own).is_err() && Path::new(entry).is_file())
}

fn is_toml(entry: &str) -> bool {
    Path::new(entry).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// Sets in `plan` what the files that were `read` wish.
fn wish(plan: &mut Plan, read: &[(String, Definition)], said: Said) -> anyhow::Result<()> {
    let mut set = Vec::new();
    if let Some(records) = agreed("records", said.records, read, |one| one.records)? {
        plan.records = vec![records];
        set.push(format!("records {records}"));
    }
    if let Some(operations) = agreed("operations", said.operations, read, |one| one.operations)? {
        plan.operations = operations;
        set.push(format!("operations {operations}"));
    }
    if let Some(target) = agreed("target", said.target, read, |one| one.target)? {
        plan.target = Some(Target::Rate(target));
        set.push(format!("target {target}"));
    }
    for (_, definition) in read {
        let Some(threads) = definition.threads.filter(|_| !said.threads) else { continue };
        let name = definition.setting.named(&definition.name);
        set.push(format!("threads of {name} {threads}"));
        plan.threads_of.insert(name, threads);
    }
    if !set.is_empty() {
        let files: Vec<&str> = read.iter().map(|(path, _)| path.as_str()).collect();
        say(&format!("from {}: {}; flags come before it", files.join(", "), set.join(", ")));
    }
    Ok(())
}

/// Returns the value on which all files with a preference for `setting` agree; none if it is in
/// `said`.
fn agreed<T: PartialEq + Copy + std::fmt::Display>(
    setting: &str,
    said: bool,
    read: &[(String, Definition)],
    wish: impl Fn(&Definition) -> Option<T>,
) -> anyhow::Result<Option<T>> {
    let mut wishes = read.iter().filter_map(|(path, definition)| Some((path, wish(definition)?)));
    let Some((first, wanted)) = wishes.next().filter(|_| !said) else { return Ok(None) };
    match wishes.find(|(_, other)| *other != wanted) {
        Some((second, other)) => anyhow::bail!(
            "{setting} is {wanted} in {first} and {other} in {second}, and all workloads have the \
             same\n\
             set it with --{setting}"
        ),
        None => Ok(Some(wanted)),
    }
}
