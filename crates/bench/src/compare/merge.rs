//! Several result sets side by side: a name for each run, and the differences that prevent a
//! comparison.
//!
//! Merging never mixes figures: every run keeps its own baseline and its own verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sealstone_message::SettingName;

use crate::compare::groups;
use crate::compare::joint_results::{JoinError, joined};
use crate::compare::result_file::{self, RecordedError};
use crate::conclude::figures;
use crate::results::added_settings;
use crate::results::{Comparison, Results, SCHEMA};
use crate::study::plan_difference::{NO_FIGURES, plain, table};
use crate::words::axes::{AXES, varied};
use crate::words::count::counted;

/// Comparisons to show in one report.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The comparisons, in the order given.
    pub comparisons: Vec<Comparison>,
    /// The files that they came from.
    pub sources: Vec<PathBuf>,
}

impl Merged {
    /// Checks that a report at `out` replaces none of the results.
    ///
    /// # Errors
    /// [`MergeError::Overwrites`].
    pub fn check_output(&self, out: &Path) -> Result<(), MergeError> {
        match self.sources.iter().find(|source| is_same(source, out)) {
            Some(source) => Err(MergeError::Overwrites { path: source.clone() }),
            None => Ok(()),
        }
    }

    /// Names the machine of each comparison, in order.
    ///
    /// # Errors
    /// [`MergeError::Labels`]: one name for each comparison, and no other number, unless there is
    /// none.
    pub fn label(&mut self, labels: &[String]) -> Result<(), MergeError> {
        if !labels.is_empty() && labels.len() != self.comparisons.len() {
            return Err(MergeError::Labels { labels: labels.len(), files: self.comparisons.len() });
        }
        for (comparison, label) in self.comparisons.iter_mut().zip(labels) {
            comparison.machine.label.clone_from(label);
        }
        Ok(())
    }

    /// Returns every group of every comparison by itself.
    #[must_use]
    pub fn runs(&self) -> Vec<Results> {
        self.comparisons.iter().flat_map(Comparison::runs).collect()
    }
}

/// Reason why result files cannot be shown together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// No file was named.
    #[error("no results to report on\nname the results.json of at least one comparison")]
    Empty,
    /// A file was named twice.
    #[error("results {} are named twice\nname each comparison once", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// The report would replace the results that it is made of.
    #[error("the report would replace the results {}\nname another file for it",
        path.display())]
    Overwrites {
        /// The file.
        path: PathBuf,
    },
    /// Not as many names as comparisons.
    #[error("{} for {}\ngive one {} for each results.json, in the same order",
        counted(*labels, "label"), counted(*files, "file"), SettingName("label"))]
    Labels {
        /// Number of names.
        labels: usize,
        /// Number of comparisons.
        files: usize,
    },
    /// A file cannot be read, or holds something else.
    #[error(transparent)]
    Recorded(#[from] RecordedError),
    /// A file is not a result set of the schema this build reads.
    #[error("results {} have schema {found}, this build reads schema {SCHEMA}\nreport on them with \
             Sealstone {version}, which wrote them, or measure again", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// The schema it states.
        found: u64,
        /// The version of Sealstone it states.
        version: String,
    },
    /// Results of clients that cannot be joined.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// A file is damaged, or no result set at all.
    #[error("{} is not a result set: {source}\nname a results.json that sealstone compare wrote",
        path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Error with its position and the reason why the file could not be understood.
        source: serde_json::Error,
    },
}

/// Reads every result file in `paths`, in order. A directory stands for the `results.json` in it.
///
/// # Errors
/// `MergeError`: no path, one twice, a file that cannot be read, of another schema, or damaged.
pub fn read(paths: &[PathBuf]) -> Result<Merged, MergeError> {
    if paths.is_empty() {
        return Err(MergeError::Empty);
    }
    let in_directory = |path: &PathBuf| match path.is_dir() {
        true => path.join("results.json"),
        false => path.clone(),
    };
    let paths: Vec<PathBuf> = paths.iter().map(in_directory).collect();
    for (at, path) in paths.iter().enumerate() {
        if paths[..at].iter().any(|before| is_same(before, path)) {
            return Err(MergeError::Twice { path: path.clone() });
        }
    }
    let comparisons = paths.iter().map(|path| read_one(path)).collect::<Result<_, _>>()?;
    Ok(Merged { comparisons, sources: paths })
}

/// As [`read`], with the clients of each run joined into one comparison.
///
/// # Errors
/// As [`read`]; clients that are missing, or that did not measure the same.
pub fn read_joined(paths: &[PathBuf]) -> Result<Merged, MergeError> {
    let merged = read(paths)?;
    Ok(Merged { comparisons: joined(merged.comparisons)?, ..merged })
}

/// Returns whether both paths name the same existing file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn read_one(path: &Path) -> Result<Comparison, MergeError> {
    /// The part of every schema that holds its version.
    #[derive(serde::Deserialize)]
    struct Head {
        schema: u64,
        #[serde(default)]
        version: String,
    }
    let damaged = |source| MergeError::Damaged { path: path.to_owned(), source };
    let text = result_file::read(path)?;
    let head: Head = serde_json::from_slice(&text).map_err(damaged)?;
    let mut comparison = match head.schema {
        schema if schema == u64::from(SCHEMA) => serde_json::from_slice(&text).map_err(damaged)?,
        found => {
            return Err(MergeError::Schema { path: path.to_owned(), found, version: head.version });
        }
    };
    check_variants(&comparison).map_err(damaged)?;
    groups::judge_again(&mut comparison);
    Ok(comparison)
}

/// The most variants of a comparison: each cipher on each backend in each place are fewer.
const VARIANTS_MAX: usize = 1_000;
/// The most points of one.
const POINTS_MAX: usize = 1_000;

/// Checks that there are no more variants and points than any comparison has, and that every
/// variant that a group names is there.
fn check_variants(comparison: &Comparison) -> Result<(), serde_json::Error> {
    let all = comparison.variants.len();
    // conclusions compare every two
    if all > VARIANTS_MAX || comparison.groups.len() > POINTS_MAX {
        return Err(serde::de::Error::custom(format!(
            "{all} variants at {} points, more than a comparison has",
            comparison.groups.len()
        )));
    }
    for group in &comparison.groups {
        let own = &group.variants;
        let is_own = |number: usize| number < all && (own.is_empty() || own.contains(&number));
        let unknown = own.iter().copied().find(|&number| number >= all);
        let unknown =
            unknown.or(group.cells.iter().map(|cell| cell.variant).find(|&number| !is_own(number)));
        if let Some(number) = unknown {
            return Err(serde::de::Error::custom(format!(
                "a group names variant {number} of {all}"
            )));
        }
    }
    Ok(())
}

/// Returns whether all of `runs` were measured on one machine.
pub(crate) fn is_one_machine<'a>(runs: impl IntoIterator<Item = &'a Results> + Clone) -> bool {
    let of = |run: &'a Results| (&run.machine.label, &run.machine.host);
    runs.clone().into_iter().zip(runs.into_iter().skip(1)).all(|(one, other)| of(one) == of(other))
}

/// Returns the machine of `run`: its label, and its host name if another machine of `runs` has the
/// same label.
fn machine(run: &Results, runs: &[Results]) -> String {
    let machine = &run.machine;
    let has_namesake = |other: &Results| {
        other.machine.label == machine.label && other.machine.host != machine.host
    };
    match machine.host.as_str() {
        "" => machine.label.clone(),
        host if runs.iter().any(has_namesake) => format!("{} ({host})", machine.label),
        _ => machine.label.clone(),
    }
}

/// Returns a name for each run: the machine's label, if machines differ or nothing else does; their
/// position on the axes on which they differ; with run number and start time if two names are still
/// equal.
pub fn labels(runs: &[Results]) -> Vec<String> {
    let points: Vec<_> = runs.iter().map(|run| run.plan.point()).collect();
    let axes = varied(&points);
    let one_machine = is_one_machine(runs);
    let name = |run: &Results| match run.plan.point().words(&axes) {
        place if place.is_empty() => machine(run, runs),
        place if one_machine => place,
        place => format!("{}, {place}", machine(run, runs)),
    };
    let mut times = BTreeMap::<String, usize>::new();
    for run in runs {
        *times.entry(name(run)).or_default() += 1;
    }
    let mut seen = BTreeMap::<String, usize>::new();
    runs.iter()
        .map(|run| {
            let name = name(run);
            let number = seen.entry(name.clone()).or_default();
            *number += 1;
            match times[name.as_str()] {
                1 => name.clone(),
                _ => format!("{name}, run {number} ({})", figures::moment(&run.started_at)),
            }
        })
        .collect()
}

/// Returns what differs between runs of one store and matters when comparing them, in sentences:
/// settings, engine, versions. A difference between two stores needs no mention.
pub fn differences(runs: &[Results]) -> Vec<String> {
    let labels = labels(runs);
    let stores: Vec<String> = runs.iter().map(|run| run.plan.point().store).collect();
    let mut found = Vec::new();
    let mut differ = |what: &str, values: Vec<String>| {
        let mut of_store: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (store, value) in stores.iter().zip(&values) {
            of_store.entry(store).or_default().insert(value);
        }
        let differs = |at: usize| of_store[stores[at].as_str()].len() > 1;
        let mut each: Vec<(&str, Vec<&str>)> = Vec::new();
        for at in (0..values.len()).filter(|&at| differs(at)) {
            match each.iter_mut().find(|(value, _)| *value == values[at]) {
                Some((_, on)) => on.push(&labels[at]),
                None => each.push((&values[at], vec![&labels[at]])),
            }
        }
        if !each.is_empty() {
            let each = each.iter().map(|(value, on)| format!("{value} on {}", listed(on)));
            found.push(format!("{what} differs: {}", each.collect::<Vec<_>>().join("; ")));
        }
    };
    differ("Sealstone version", runs.iter().map(|run| run.version.clone()).collect());
    differ(
        "engine",
        runs.iter()
            .map(|run| {
                let assertions = if run.engine.assertions { ", with assertions" } else { "" };
                format!("{} ({}{assertions})", run.engine.name_and_version(), run.engine.build)
            })
            .collect(),
    );
    let mut names: Vec<&String> = runs.iter().flat_map(|run| run.engine.settings.keys()).collect();
    names.sort();
    names.dedup();
    let points: Vec<_> = runs.iter().map(|run| run.plan.point()).collect();
    // a cache is sized to the data, and so differs wherever the axes do
    let one_place = varied(&points).is_empty();
    for name in names
        .into_iter()
        .filter(|name| one_place || !added_settings::is_cache(name))
        // looked for in each run, and shown with each workload
        .filter(|name| !added_settings::is_clients(name))
    {
        let values = runs
            .iter()
            .map(|run| run.engine.settings.get(name).cloned().unwrap_or_else(|| "not set".into()));
        differ(&format!("engine setting {name}"), values.collect());
    }
    for (name, values) in plan_settings(runs) {
        differ(&format!("setting {name}"), values);
    }
    found
}

/// Returns the first of `names`, and how many more there are.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(" and ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns every setting that affects the figures, with its value in each run. The output
/// directory, the key and the earlier results to compare with do not.
fn plan_settings(runs: &[Results]) -> Vec<(String, Vec<String>)> {
    let points: Vec<_> = runs.iter().map(|run| run.plan.point()).collect();
    let tables: Vec<_> = runs.iter().map(|run| table(&run.plan)).collect();
    let mut names: Vec<&String> = tables.iter().flat_map(|table| table.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| !NO_FIGURES.contains(&name.as_str()))
        // a group leaves out what another point of its comparison has measured
        .filter(|name| *name != "workloads" || varied(&points).is_empty())
        // settings that the names of the runs contain already
        .filter(|name| !AXES.iter().any(|axis| axis.setting == name.as_str()))
        .map(|name| (name.clone(), tables.iter().map(|table| plain(table.get(name))).collect()))
        .collect()
}
