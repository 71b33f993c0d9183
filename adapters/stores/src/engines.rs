//! The table of engines whose files can be sealed. Not here: the operations of a row (`at_rest`),
//! stores that a comparison opens (`table`).

use std::path::Path;

use crate::at_rest::{AtRest, SealedServer};

/// The engines in this build.
static ENGINES: &[&dyn AtRest] = &[
    #[cfg(feature = "rocksdb")]
    &crate::rocksdb::AT_REST,
    #[cfg(feature = "mongodb")]
    &crate::mongodb::AT_REST,
    #[cfg(feature = "mysql")]
    &crate::mysql::AT_REST,
    #[cfg(feature = "volume")]
    &crate::volume::AT_REST,
];

/// Returns every engine whose files this build can seal.
pub fn engines() -> impl Iterator<Item = &'static dyn AtRest> {
    ENGINES.iter().copied()
}

/// Returns every server whose files this build can seal.
pub fn servers() -> impl Iterator<Item = &'static dyn SealedServer> {
    engines().filter_map(AtRest::server)
}

/// Returns the way to seal the files of the server that the table of servers calls `name`, if there
/// is one.
#[must_use]
pub fn of_server(name: &str) -> Option<&'static dyn SealedServer> {
    servers().find(|server| server.server_name() == name)
}

/// Returns the engine to which the directory `dir` belongs, by the names in it.
#[must_use]
pub fn owner(dir: &Path) -> Option<&'static dyn AtRest> {
    // a server's directory may hold a store of an engine that is part of a program, and not the
    // other way round
    let (servers, others): (Vec<_>, Vec<_>) =
        engines().partition(|engine| engine.server().is_some());
    servers.into_iter().chain(others).find(|engine| engine.owns(dir))
}

#[cfg(all(test, feature = "rocksdb", feature = "mongodb"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_owner_is_known_by_names() {
        let owner_of = |names: &[&str]| {
            let dir = tempfile::tempdir().unwrap();
            names.iter().for_each(|name| fs::write(dir.path().join(name), "x").unwrap());
            owner(dir.path()).map(AtRest::name)
        };
        assert_eq!(owner_of(&["WiredTiger", "a.wt"]), Some("mongo"));
        assert_eq!(owner_of(&["CURRENT", "MANIFEST-000001"]), Some("rocksdb"));
        assert_eq!(owner_of(&["CURRENT"]), None);
        assert_eq!(owner_of(&["WiredTiger.turtle"]), Some("mongo"));
        assert_eq!(owner_of(&["CURRENT", "MANIFEST-000001", "WiredTiger"]), Some("mongo"));
    }
}
