//! The error for an unknown name. Not here: finding the nearest name (`nearest`).

use crate::nearest::{did_you_mean, nearest};

/// A name that is in no table, with the probable name and all known names.
///
/// ```
/// # use sealstone_message::Unknown;
/// let unknown = Unknown::new("store", "rockdb", ["rocksdb", "redis"]);
/// let said = unknown.to_string();
/// assert!(said.starts_with("unknown store \"rockdb\"; did you mean rocksdb?\n"));
/// assert!(said.ends_with("\nknown stores: rocksdb, redis"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {name:?}{}\nknown {what}s: {}", did_you_mean(nearest), known.join(", "))]
pub struct Unknown {
    /// Kind of thing, such as `cipher`; an `s` behind it makes it several.
    pub what: &'static str,
    /// The requested name.
    pub name: String,
    /// The nearest known name; empty if none is near.
    pub nearest: String,
    /// All known names, in the order of their table.
    pub known: Vec<String>,
}

impl Unknown {
    /// Returns the error for `name`, which is not among `known`.
    pub fn new<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let nearest = nearest(name, known.iter().copied()).to_owned();
        Self {
            what,
            name: name.to_owned(),
            nearest,
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }
}
