//! Studies by name: the settings with which a published study is repeated by one command, and where
//! to find it.

use std::io;
use std::path::{Path, PathBuf};

use sealstone_file::output::{self, Access};
use sealstone_message::Unknown;

use crate::study::plan::{Plan, PlanError};

/// A study that is repeated by its name.
#[derive(Debug)]
pub struct NamedStudy {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// Its subject, in a few words.
    pub about: &'static str,
    /// Authors, title, year and place, as far as they are known.
    pub source: &'static str,
    /// Lines of TOML: settings that take the place of the usual ones.
    settings: &'static str,
    /// Files that its settings need, unless the user names others.
    files: &'static [StudyFile],
}

/// A file that a study brings.
#[derive(Debug)]
struct StudyFile {
    /// The setting that names it.
    setting: Setting,
    name: &'static str,
    content: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Setting {
    RecordsFrom,
    Fields,
}

impl Setting {
    fn of(self, plan: &mut Plan) -> &mut Option<PathBuf> {
        match self {
            Self::RecordsFrom => &mut plan.records_from,
            Self::Fields => &mut plan.fields,
        }
    }
}

/// The words for a study whose authors and title were not handed down.
const NOT_NAMED: &str = "authors, title and year are not named in our sources";

/// All of them.
pub const NAMED: &[NamedStudy] = &[
    NamedStudy {
        name: "mongodb-kmip",
        about: "AES, ARIA and 3DES at rest under YCSB, on MongoDB replica sets (with a key server: \
                --key kmip:...)",
        source: "Sunju Lee, Junbeom Hur: Analysis of Encryption Algorithm Performance by Workload \
                 in BigData Platform, 2019; koreascience.kr, article JAKO201904533940652 (found by \
                 its abstract)",
        settings: r#"
store = ["mongodb"]
nodes = [3, 6]
layer = ["rest"]
ciphers = ["none", "aes-256", "aria-256", "3des"]
workloads = ["a", "b", "c", "d", "e", "f"]
records = [1000000]
threads = [100]
operations = 100000
cache = "256MiB"
rounds = 1
pairs = 6
slice-ms = 1000
"#,
        files: &[],
    },
    NamedStudy {
        name: "tablespace",
        about: "tablespace encryption of a SQL server with and without AES instructions, OLTP and \
                batch",
        source: NOT_NAMED,
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
        files: &[],
    },
    NamedStudy {
        name: "redis-ssdb",
        about: "a store in memory against one on disk under YCSB, plain and on sealed volumes: \
                Redis and RocksDB (with an SSDB of yours: --store redis,ssdb --ssdb-server FILE)",
        source: "Omoruyi Osemwegie, Kennedy Okokpujie, Nsikan Nkordeh, Charles Ndujiuba, Samuel \
                 John, Uzairue Stanley: Performance Benchmarking of Key-Value Store NoSQL \
                 Databases, 2018; International Journal of Electrical and Computer Engineering \
                 8(6), 5333-5341 (found by its abstract)",
        // Redis seals nothing itself, and both are sealed in one way, as SSDB would be
        settings: r#"
store = ["redis", "rocksdb"]
against = "redis"
layer = ["rest"]
seal = ["volume"]
ciphers = ["none", "aes-256"]
workloads = ["a", "b", "c", "d", "e", "f"]
threads = [1, 2, 4, 8, 10]
records = [1000, 5000, 10000]
operations = 2000
rounds = 10
pairs = 6
slice-ms = 50
"#,
        files: &[],
    },
    NamedStudy {
        name: "mysql-columns",
        about: "columns sealed by FF1 over PIPO, AES and ARIA before MySQL or MariaDB, beside its \
                own AES_ENCRYPT and SHA2",
        source: NOT_NAMED,
        settings: r#"
store = ["mysql"]
layer = ["field", "server"]
ciphers = ["none", "aes-256", "aria-256", "pipo-128"]
workloads = ["insert", "c", "batch-load"]
own-workloads = [{ name = "insert", mix = { insert = 100 } }]
threads = [1]
records = [50000]
bytes = "20MB"
rounds = 3
"#,
        files: &[
            StudyFile {
                setting: Setting::RecordsFrom,
                name: "people.csv",
                content: include_str!("catalogue/people.csv"),
            },
            StudyFile {
                setting: Setting::Fields,
                name: "people.toml",
                content: include_str!("catalogue/people.toml"),
            },
        ],
    },
    NamedStudy {
        name: "iscsi-ipsec",
        about: "iSCSI under IPsec on links of 1000, 100 and 5.28 Mbit/s, with 3DES, AES, Blowfish, \
                GCM and ARIA",
        source: NOT_NAMED,
        settings: r#"
store = ["iscsi"]
layer = ["wire"]
suites = ["none", "3des-md5", "3des-sha1", "aes-128-md5", "aes-128-sha1", "blowfish-md5", "blowfish-sha1", "aes-256-gcm", "aria-256-gcm"]
path = ["sealstone"]
links = ["1000", "100", "5.28", "unlimited"]
workloads = ["seq-read", "seq-write", "const-read", "const-write", "const-mix", "stream"]
"#,
        files: &[],
    },
];

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

    /// Returns the names of the files that the study brings to `plan`, which names no others.
    pub fn brings<'a>(&self, plan: &'a Plan) -> impl Iterator<Item = &'static str> + use<'a> {
        let mut plan = plan.clone();
        let lacks = move |file: &&StudyFile| file.setting.of(&mut plan).is_none();
        self.files.iter().filter(lacks).map(|file| file.name)
    }

    /// Writes these files into `dir`, which is made if it is missing, and names them in `plan`.
    ///
    /// # Errors
    /// The system's error.
    pub fn bring(&self, plan: &mut Plan, dir: &Path) -> io::Result<()> {
        std::fs::create_dir_all(dir)?;
        for file in self.files {
            let setting = file.setting.of(plan);
            if setting.is_none() {
                let path = dir.join(file.name);
                output::replace(&path, Access::Mode(0o644), file.content.as_bytes())?;
                *setting = Some(path);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_is_a_plan_that_can_be_measured() {
        for study in NAMED {
            let plan = study.over(&Plan::default());
            plan.check().unwrap_or_else(|error| panic!("{}: {error}", study.name));
            assert_ne!(plan, Plan::default(), "{}", study.name);
            assert!(study.names("workloads") && !study.names("work"), "{}", study.name);
            assert_eq!(NamedStudy::by_name(&study.name.to_uppercase()).unwrap().name, study.name);
        }
        let unknown = NamedStudy::by_name("tablespaces").unwrap_err().to_string();
        assert!(unknown.contains("did you mean tablespace?"), "{unknown}");
    }

    #[test]
    fn a_study_brings_the_files_that_nobody_names() {
        let dir = tempfile::tempdir().unwrap();
        let study = NamedStudy::by_name("mysql-columns").unwrap();
        let mut plan = study.over(&Plan::default());
        assert_eq!(study.brings(&plan).collect::<Vec<_>>(), ["people.csv", "people.toml"]);
        plan.fields = Some("mine.toml".into());
        study.bring(&mut plan, dir.path()).unwrap();
        assert_eq!(study.brings(&plan).count(), 0);
        assert_eq!(plan.fields, Some("mine.toml".into()));
        assert_eq!(plan.records_from, Some(dir.path().join("people.csv")));
        assert!(!dir.path().join("people.toml").exists());
        plan.check().unwrap();
    }

    /// docs/guide/studies.md names each study with where to find it.
    #[test]
    fn the_guide_has_every_study_with_its_source() {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let guide = words(include_str!("../../../../docs/guide/studies.md"));
        for study in NAMED {
            assert!(guide.contains(&format!("--study {}", study.name)), "{}", study.name);
            let (known, _) = study.source.split_once(" (").unwrap_or((study.source, ""));
            assert!(guide.contains(&words(known)), "{}: {known}", study.name);
        }
    }
}
