//! Identification of a directory, for commands that got a directory of another command: its kind by
//! the names in it, and the command that shows its sealed files. Not here: these commands (`rest`,
//! `sealed_server`, `field`), recognising an engine's directory (`sealstone_stores::at_rest`).

use std::fs;
use std::path::Path;

use anyhow::bail;
use sealstone_fields::MANIFEST_ENDING;
use sealstone_stores::at_rest::AtRest;
use sealstone_stores::engine_of;

use crate::path::quoted;

/// Name of volumes in the table of engines.
pub(crate) const VOLUME: &str = "volume";

/// A kind of directory.
enum Kind {
    /// Files of an engine that can be sealed.
    Sealable(&'static dyn AtRest),
    /// Servers that `sealstone lab` started.
    Lab,
    /// Files with sealed columns, and the name of one.
    Fields(String),
    /// The data of a server of which no file is sealed here; whether `field migrate` seals columns
    /// of its tables.
    Server { name: &'static str, has_tables: bool },
}

/// Names in a data directory of a server: all that it must have, and the server.
const SERVERS: &[(&[&str], &str, bool)] = &[
    (&["PG_VERSION", "base", "global"], "PostgreSQL", true),
    (&["aria_log_control"], "MariaDB", true),
    (&["ibdata1", "auto.cnf"], "MySQL", true),
    (&["ibdata1", "mysql.ibd"], "MySQL", true),
    (&["ibdata1"], "MySQL or MariaDB", true),
    (&["appendonlydir"], "Redis", false),
    (&["appendonly.aof"], "Redis", false),
    (&["dump.rdb"], "Redis", false),
    (&["data/CURRENT", "meta/CURRENT"], "SSDB", false),
];

impl Kind {
    /// Returns the kind of the directory `dir`; None if this program does not recognise it.
    fn of(dir: &Path) -> Option<Self> {
        let has = |name: &&str| dir.join(name).exists();
        let mut names: Vec<String> = fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        if let Some(engine) = engine_of(dir) {
            return Some(Self::Sealable(engine));
        }
        // a server of a lab may have its lock in a directory of its own
        let is_of_lab =
            |name: &String| name.starts_with("lab.") && dir.join(name).join("lab.lock").exists();
        if has(&"lab.lock") || names.iter().any(is_of_lab) {
            return Some(Self::Lab);
        }
        if let Some((_, name, has_tables)) =
            SERVERS.iter().find(|(wanted, ..)| wanted.iter().all(has))
        {
            return Some(Self::Server { name, has_tables: *has_tables });
        }
        let sealed = names
            .iter()
            .find_map(|name| name.strip_suffix(MANIFEST_ENDING).filter(|file| !file.is_empty()));
        sealed.map(|file| Self::Fields(file.to_owned()))
    }

    /// Returns the kind in words, and what to do with the directory `dir`, which is one.
    fn words(&self, dir: &Path) -> (String, String) {
        let named = quoted(dir);
        let shown_by =
            |command: &str| format!("see what is sealed in it with: sealstone {command} {named}");
        match self {
            Self::Sealable(engine) => match engine.server() {
                Some(server) => (
                    format!("it is a data directory of {}", server.product()),
                    shown_by(&format!("{} check", server.name())),
                ),
                None if engine.name() == VOLUME => {
                    (format!("it is a {}", engine.product()), shown_by("volume status"))
                }
                None => (format!("it is a {} store", engine.product()), shown_by("rest status")),
            },
            Self::Lab => ("it is a directory of sealstone lab".into(), shown_by("lab status")),
            Self::Fields(file) => {
                let file = quoted(&dir.join(file));
                (
                    format!("it has files with sealed columns, such as {file}"),
                    format!("open one with: sealstone field open {file} --key KEY --out FILE"),
                )
            }
            Self::Server { name, has_tables } => {
                let next = match has_tables {
                    true => {
                        "columns of its tables are sealed through the server, with: sealstone \
                         field migrate"
                    }
                    false => "to seal it, put it on a sealed volume (docs/guide/volumes.md)",
                };
                (format!("nothing is sealed here; this is a {name} data directory"), next.into())
            }
        }
    }
}

/// Data of a server of which no file is sealed here.
#[derive(Clone, Copy)]
pub(crate) struct PlainServer {
    /// Name of the product.
    pub(crate) name: &'static str,
}

impl PlainServer {
    /// Returns the way to seal it.
    pub(crate) fn remedy(&self) -> &'static str {
        "put it on a sealed volume: docs/guide/volumes.md"
    }
}

/// Returns the server whose data directory `dir` is, if no file of that server is sealed here.
pub(crate) fn plain_server(dir: &Path) -> Option<PlainServer> {
    match Kind::of(dir) {
        Some(Kind::Server { name, .. }) => Some(PlainServer { name }),
        _ => None,
    }
}

/// Returns whether `dir` is a sealed volume.
pub(crate) fn is_volume(dir: &Path) -> bool {
    engine_of(dir).is_some_and(|engine| engine.name() == VOLUME)
}

/// Refuses `dir` if it is of another kind than the engine called `wanted`, with the command for it.
///
/// - `found`: the finding of the command: `no sealed RocksDB store in photos`
///
/// # Errors
/// That it is of another kind.
pub(crate) fn refuse_other(dir: &Path, wanted: &str, found: &str) -> anyhow::Result<()> {
    let Some(kind) = Kind::of(dir) else { return Ok(()) };
    if matches!(kind, Kind::Sealable(engine) if engine.name() == wanted) {
        return Ok(());
    }
    let (what, next) = kind.words(dir);
    bail!("{found}: {what}\n{next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_known_by_its_names() {
        let words = |dir: &Path| Kind::of(dir).map(|kind| kind.words(dir).0);
        let server = |name| format!("nothing is sealed here; this is a {name} data directory");
        let fields = |dir: &Path| {
            format!("it has files with sealed columns, such as {}", quoted(&dir.join("people.csv")))
        };
        for (names, kind) in [
            (
                &["WiredTiger", "a.wt", "journal/x"][..],
                Some("it is a data directory of MongoDB".into()),
            ),
            (&["CURRENT", "MANIFEST-000001", "IDENTITY"], Some("it is a RocksDB store".into())),
            (&["CURRENT"], None),
            (
                &["lab.lock", "member-1/data/WiredTiger"],
                Some("it is a directory of sealstone lab".into()),
            ),
            (&["PG_VERSION", "base/1", "global/1"], Some(server("PostgreSQL"))),
            (
                &["ibdata1", "aria_log_control", "mysql/x"],
                Some("it is a data directory of MariaDB".into()),
            ),
            (&["ibdata1", "auto.cnf", "mysql.ibd"], Some(server("MySQL"))),
            (&["dump.rdb"], Some(server("Redis"))),
            (&["data/CURRENT", "meta/CURRENT"], Some(server("SSDB"))),
            (&["sealstone.volume", "sealstone.data"], Some("it is a sealed volume".into())),
            (&["photo.jpg"], None),
            (&[], None),
        ] {
            let dir = tempfile::tempdir().unwrap();
            for name in names {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "x").unwrap();
            }
            assert_eq!(words(dir.path()), kind, "{names:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("people.csv.sealed.toml"), "x").unwrap();
        assert_eq!(words(dir.path()), Some(fields(dir.path())));
        assert_eq!(words(Path::new("/nonexistent")), None);
    }
}
