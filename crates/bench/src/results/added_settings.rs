//! Names of the settings that a comparison adds to those that an engine reports.

const CACHE: &str = "cache (";
const CLIENTS: &str = "clients (";

/// Returns the name of the cache for the data set `name`.
pub(crate) fn cache(name: &str) -> String {
    format!("{CACHE}{name})")
}

/// Returns whether the setting `name` is the cache for a data set.
pub(crate) fn is_cache(name: &str) -> bool {
    name.starts_with(CACHE)
}

/// Returns the name of the clients found by search for the workload `name`.
pub(crate) fn clients(name: &str) -> String {
    format!("{CLIENTS}{name})")
}

/// Returns whether the setting `name` is the clients found for a workload.
pub(crate) fn is_clients(name: &str) -> bool {
    name.starts_with(CLIENTS)
}
