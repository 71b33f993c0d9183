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

#[cfg(test)]
mod tests {
    use std::fs;

    use sealstone_keys::{EphemeralKey, KeyError, KeyRef, Secret};

    use super::*;
    use crate::at_rest::{Found, Need, Wanted};

    #[test]
    fn each_engine_has_a_name_of_its_own_and_knows_its_directories() {
        for (at, engine) in engines().enumerate() {
            assert!(
                engines().take(at).all(|before| before.name() != engine.name()),
                "{}",
                engine.name()
            );
            let empty = tempfile::tempdir().unwrap();
            assert!(!engine.owns(empty.path()), "{}", engine.name());
            let key = KeyRef { id: "orders".into(), version: 1 };
            let secret = || -> Result<Secret, KeyError> { panic!("nothing is sealed") };
            let keys = EphemeralKey::new().unwrap();
            let wanted = Wanted { key: &key, secret: &secret, keys: &keys };
            let need = engine.need(empty.path(), &wanted).unwrap();
            assert_eq!(need, Need { sealed_files: 0, found: Found::Nothing }, "{}", engine.name());
        }
        for server in servers() {
            assert!(
                of_server(server.server_name()).is_some_and(|found| found.name() == server.name())
            );
            let dir = tempfile::tempdir().unwrap();
            assert!(
                server.account(dir.path()).is_err(),
                "{}: an empty directory is none of its",
                server.name()
            );
            let missing = dir.path().join("none.so");
            fs::create_dir(&missing).unwrap();
            assert!(
                server.find_library(Some(&missing)).is_err(),
                "{}: a directory is no library",
                server.name()
            );
        }
    }

    #[cfg(all(feature = "rocksdb", feature = "mongodb"))]
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
