//! Table of the protection and the gaps of each place where data can be encrypted: the basis of the
//! advice across places, with a reason and sources for each entry. A person who may see something
//! learns it wherever it is not sealed, so several places together protect as well as the best of
//! them, and none weakens another; the only place that would give a key away, functions of the
//! server, gives away its own.

use sealstone_store::Layer;
use serde::{Deserialize, Serialize};

use crate::words::threat::Threat;

/// Degree to which a place protects from somebody. Larger is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// They learn the values.
    LeavesOpen,
    /// They learn some values, or something about them.
    Partly,
    /// They learn no value that is sealed there.
    Protects,
    /// There is nobody like that here.
    NobodyThere,
}

impl Protection {
    /// Every one, in the order in which a legend shows them.
    pub const ALL: [Self; 4] = [Self::Protects, Self::Partly, Self::LeavesOpen, Self::NobodyThere];

    /// Returns the word for it in all texts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::LeavesOpen => "leaves open",
            Self::Partly => "partly",
            Self::Protects => "protects",
            Self::NobodyThere => "nobody there",
        }
    }

    /// Returns the same as a mark.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::LeavesOpen => "·",
            Self::Partly => "▥",
            Self::Protects => "█",
            Self::NobodyThere => "–",
        }
    }
}

/// A place where data can be encrypted, as the table distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Every column, authenticated, before a record reaches the store.
    Field,
    /// The columns that a policy names, in the formats that it names.
    FieldByPolicy,
    /// The connection between client and server.
    Wire,
    /// Functions of the server, which get values and key in statements.
    Server,
    /// Files and pages below the engine.
    Rest,
}

impl Place {
    /// All of them, from the caller down.
    pub const ALL: [Self; 5] =
        [Self::Field, Self::FieldByPolicy, Self::Wire, Self::Server, Self::Rest];

    /// Returns the place of `layer`; `by_policy`: whether a policy selects the columns that the
    /// layer `field` seals.
    #[must_use]
    pub const fn of(layer: Layer, by_policy: bool) -> Self {
        match layer {
            Layer::Field if by_policy => Self::FieldByPolicy,
            Layer::Field => Self::Field,
            Layer::Wire => Self::Wire,
            Layer::Server => Self::Server,
            Layer::Rest => Self::Rest,
        }
    }

    /// Returns the name used in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::FieldByPolicy => "field, by a policy",
            Self::Wire => "wire",
            Self::Server => "server's own functions",
            Self::Rest => "rest",
        }
    }
}

/// Returns the joint name of `layers`, from the caller down: `rest`, `field+rest`.
#[must_use]
pub(crate) fn place_name(layers: &[Layer]) -> String {
    layers.iter().map(|layer| layer.name()).collect::<Vec<_>>().join("+")
}

/// Source of a statement in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// A page of this project, a standard or a manual, with the section.
    pub title: &'static str,
    /// Tests that show it, with their files, another page, or the address of an external page.
    pub shown_by: &'static str,
}

/// One entry: the protection of a place against a threat.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The place.
    pub place: Place,
    /// From whom.
    pub threat: Threat,
    /// Extent of the protection.
    pub protection: Protection,
    /// Reason for that, in one sentence without its full stop.
    pub reason: &'static str,
    /// The same of a store within the process of its client, where it differs.
    pub within_process: Option<(Protection, &'static str)>,
    /// Sources for these statements.
    pub sources: &'static [Source],
}

impl Entry {
    /// Returns the extent of the protection and the reason, for a store within the process of its
    /// client or for one outside it.
    #[must_use]
    pub fn at(&self, within_process: bool) -> (Protection, &'static str) {
        self.within_process.filter(|_| within_process).unwrap_or((self.protection, self.reason))
    }
}

/// Returns the entry of `place` and `threat`.
///
/// # Panics
/// Never: the table has every pair, which a test checks.
#[must_use]
pub fn entry(place: Place, threat: Threat) -> &'static Entry {
    TABLE
        .iter()
        .find(|entry| entry.place == place && entry.threat == threat)
        .expect("the table has every pair")
}

const FIELD_STORED: Source = Source {
    title: "SECURITY.md, Columns of files",
    shown_by: "a_store_within_the_process_takes_the_layer_and_checks_what_comes_back in \
               field_layer.rs",
};
const FIELD_SEEN: Source = Source {
    title: "SECURITY.md, Columns of files",
    shown_by: "values_lie_sealed_on_mariadb_and_come_back, \
               values_lie_sealed_on_postgres_and_come_back in field_layer.rs",
};
const FIELD_PLACED: Source = Source {
    title: "SECURITY.md, Columns of files",
    shown_by: "a_value_stays_bound_to_its_row_whatever_is_changed in sealed.rs",
};
const FORMATS: Source = Source {
    title: "docs/guide/fields.md, What equality gives away",
    shown_by: "SECURITY.md, Values that keep their format",
};
const FF1: Source =
    Source { title: "NIST SP 800-38G, FF1", shown_by: "https://doi.org/10.6028/NIST.SP.800-38G" };
const CLIENT_SIDE: Source = Source {
    title: "PostgreSQL manual, Encryption Options: Client-Side Encryption",
    shown_by: "https://www.postgresql.org/docs/current/encryption-options.html",
};
const PARTITION: Source = Source {
    title: "PostgreSQL manual, Encryption Options: Data Partition Encryption",
    shown_by: "https://www.postgresql.org/docs/current/encryption-options.html",
};
const REST_FILES: Source = Source {
    title: "SECURITY.md, What sealing protects",
    shown_by: "no_plaintext_is_left_in_a_sealed_directory in plaintext.rs",
};
const STORAGE: Source = Source {
    title: "NIST SP 800-111, Guide to Storage Encryption Technologies",
    shown_by: "https://doi.org/10.6028/NIST.SP.800-111",
};
const RUNNING: Source = Source {
    title: "SECURITY.md, The running process",
    shown_by: "docs/threat-model.md, out of scope",
};
const PCI: Source = Source {
    title: "PCI DSS 4.0, 3.5.1.2: encryption that gives clear text automatically when a system \
            runs is not enough",
    shown_by: "https://www.pcisecuritystandards.org/document_library/",
};
const TLS: Source = Source {
    title: "RFC 8446, TLS 1.3, 1 and E",
    shown_by: "https://www.rfc-editor.org/rfc/rfc8446",
};
const TLS_SAID: Source = Source {
    title: "docs/guide/which-place.md, What each place does: what the server says of the \
            connection",
    shown_by: "postgres_is_measured_with_tls, mariadb_is_measured_with_tls, \
               redis_is_measured_with_tls in wire_compare.rs",
};
const TLS_CHECKED: Source = Source {
    title: "docs/guide/servers.md, authorities and host names",
    shown_by: "a_postgres_with_tls_is_checked in postgres.rs; a_mariadb_with_tls_is_checked in \
               mysql.rs; a_server_with_tls_is_checked in redis.rs",
};
const PACKETS: Source = Source {
    title: "SECURITY.md, Packets on the wire",
    shown_by: "no_block_can_be_read_on_the_link in link.rs; \
               what_an_attacker_sends_is_counted_and_has_no_effect in attack.rs",
};
const ESP: Source =
    Source { title: "RFC 4303, ESP, 1", shown_by: "https://www.rfc-editor.org/rfc/rfc4303" };
const MYSQL: Source = Source {
    title: "MySQL manual, Encryption and Compression Functions: the caution on arguments",
    shown_by: "https://dev.mysql.com/doc/refman/8.4/en/encryption-functions.html",
};
const PGCRYPTO: Source = Source {
    title: "PostgreSQL manual, pgcrypto: Security Limitations",
    shown_by: "https://www.postgresql.org/docs/current/pgcrypto.html",
};
const FUNCTIONS: Source = Source {
    title: "SECURITY.md, Columns of files: the layer server",
    shown_by: "functions_of_mariadb_hide_values, functions_of_postgres_hide_values in \
               field_layer.rs",
};
const UNSEALED: Source = Source {
    title: "docs/guide/unseal.md",
    shown_by: "a_copy_says_what_it_is_and_is_private in unseal.rs",
};

/// Nobody sits between a store and the process that it is in.
const NO_NETWORK: Option<(Protection, &str)> = Some((
    Protection::NobodyThere,
    "the store is in the process of its client: nothing goes over a network",
));
/// Nobody but that process gives it statements.
const NO_SERVER: Option<(Protection, &str)> = Some((
    Protection::NobodyThere,
    "the store is in the process of its client: no server takes statements from others",
));

/// The table. Every pair of a place and a threat is in it once.
pub(crate) const TABLE: &[Entry] = &[
    Entry {
        place: Place::Field,
        threat: Threat::DiskThief,
        protection: Protection::Protects,
        reason: "values reach tables, logs and temporary files sealed; keys of records and lengths \
                 can be read",
        within_process: None,
        sources: &[FIELD_STORED, FIELD_SEEN],
    },
    Entry {
        place: Place::Field,
        threat: Threat::BackupReader,
        protection: Protection::Protects,
        reason: "copies and dumps hold sealed values; keys of records and lengths can be read, and \
                 so can backups from before",
        within_process: None,
        sources: &[FIELD_STORED, FIELD_SEEN],
    },
    Entry {
        place: Place::Field,
        threat: Threat::Network,
        protection: Protection::Partly,
        reason: "values are sealed before they are sent, and changed ones are refused; keys of \
                 records and statements are readable, can be changed, left out and repeated",
        within_process: NO_NETWORK,
        sources: &[FIELD_SEEN, FIELD_PLACED],
    },
    Entry {
        place: Place::Field,
        threat: Threat::Dba,
        protection: Protection::Protects,
        reason: "the server has sealed values and no key; keys of records, lengths and what is \
                 asked for are seen, and the server can neither search nor sort by what is sealed",
        within_process: NO_SERVER,
        sources: &[FIELD_SEEN, CLIENT_SIDE],
    },
    Entry {
        place: Place::Field,
        threat: Threat::ServerAdmin,
        protection: Protection::Protects,
        reason: "neither key nor values are in the server's memory, as long as clients run on \
                 other machines",
        within_process: Some((
            Protection::LeavesOpen,
            "the key is in the memory of the process that the store is in, which root can read",
        )),
        sources: &[FIELD_SEEN, CLIENT_SIDE, RUNNING],
    },
    Entry {
        place: Place::FieldByPolicy,
        threat: Threat::DiskThief,
        protection: Protection::Partly,
        reason: "only columns that the policy names are sealed; with ff1, equal values are seen to \
                 be equal",
        within_process: None,
        sources: &[FIELD_STORED, FORMATS, FF1],
    },
    Entry {
        place: Place::FieldByPolicy,
        threat: Threat::BackupReader,
        protection: Protection::Partly,
        reason: "only columns that the policy names are sealed; with ff1, equal values are seen to \
                 be equal",
        within_process: None,
        sources: &[FIELD_STORED, FORMATS, FF1],
    },
    Entry {
        place: Place::FieldByPolicy,
        threat: Threat::Network,
        protection: Protection::Partly,
        reason: "only columns that the policy names are sealed; statements can be read and \
                 changed, and a changed ff1 value is not noticed",
        within_process: NO_NETWORK,
        sources: &[FIELD_SEEN, FORMATS, FF1],
    },
    Entry {
        place: Place::FieldByPolicy,
        threat: Threat::Dba,
        protection: Protection::Partly,
        reason: "only columns that the policy names are sealed; with ff1, equal values are seen to \
                 be equal, and anyone who may have values sealed can try all of a small format",
        within_process: NO_SERVER,
        sources: &[FIELD_SEEN, FORMATS, FF1],
    },
    Entry {
        place: Place::FieldByPolicy,
        threat: Threat::ServerAdmin,
        protection: Protection::Partly,
        reason: "only columns that the policy names are sealed; with ff1, equal values are seen to \
                 be equal",
        within_process: Some((
            Protection::LeavesOpen,
            "the key is in the memory of the process that the store is in, which root can read",
        )),
        sources: &[FIELD_SEEN, FORMATS, FF1, RUNNING],
    },
    Entry {
        place: Place::Wire,
        threat: Threat::DiskThief,
        protection: Protection::LeavesOpen,
        reason: "it ends at the server, which stores what it has decrypted",
        within_process: None,
        sources: &[TLS, ESP],
    },
    Entry {
        place: Place::Wire,
        threat: Threat::BackupReader,
        protection: Protection::LeavesOpen,
        reason: "it ends at the server, whose backups are of what it has decrypted",
        within_process: None,
        sources: &[TLS, ESP],
    },
    Entry {
        place: Place::Wire,
        threat: Threat::Network,
        protection: Protection::Protects,
        reason: "what is read is sealed, and what is changed or repeated is refused, where each \
                 end checks who the other is; sizes and times are seen",
        within_process: NO_NETWORK,
        sources: &[TLS, TLS_SAID, TLS_CHECKED, ESP, PACKETS],
    },
    Entry {
        place: Place::Wire,
        threat: Threat::Dba,
        protection: Protection::LeavesOpen,
        reason: "it ends at the server, which answers statements in the clear",
        within_process: NO_SERVER,
        sources: &[TLS, ESP],
    },
    Entry {
        place: Place::Wire,
        threat: Threat::ServerAdmin,
        protection: Protection::LeavesOpen,
        reason: "it ends at the server: traffic keys and what was decrypted are in its memory",
        within_process: None,
        sources: &[TLS, ESP],
    },
    Entry {
        place: Place::Server,
        threat: Threat::DiskThief,
        protection: Protection::Partly,
        reason: "what the function returns is stored, and the key only where a log has statements \
                 or their values; AES_ENCRYPT in ECB mode shows equal blocks, and of a digest \
                 values can be guessed",
        within_process: None,
        sources: &[FUNCTIONS, MYSQL, PGCRYPTO],
    },
    Entry {
        place: Place::Server,
        threat: Threat::BackupReader,
        protection: Protection::Partly,
        reason: "a backup has what the function returned, and the key only where it has logs of \
                 statements; AES_ENCRYPT in ECB mode shows equal blocks, and of a digest values \
                 can be guessed",
        within_process: None,
        sources: &[FUNCTIONS, MYSQL, PGCRYPTO],
    },
    Entry {
        place: Place::Server,
        threat: Threat::Network,
        protection: Protection::LeavesOpen,
        reason: "values and key are sent to the server in the clear",
        within_process: NO_NETWORK,
        sources: &[FUNCTIONS, MYSQL, PGCRYPTO],
    },
    Entry {
        place: Place::Server,
        threat: Threat::Dba,
        protection: Protection::LeavesOpen,
        reason: "values and key are in statements, which anyone who runs the server can log and \
                 watch",
        within_process: NO_SERVER,
        sources: &[FUNCTIONS, MYSQL, PGCRYPTO],
    },
    Entry {
        place: Place::Server,
        threat: Threat::ServerAdmin,
        protection: Protection::LeavesOpen,
        reason: "values and key are in the server's memory while a statement runs",
        within_process: None,
        sources: &[FUNCTIONS, PGCRYPTO, CLIENT_SIDE],
    },
    Entry {
        place: Place::Rest,
        threat: Threat::DiskThief,
        protection: Protection::Protects,
        reason: "every file with data is sealed, keys of records too; names, sizes and times of \
                 files are seen",
        within_process: None,
        sources: &[REST_FILES, STORAGE, PARTITION],
    },
    Entry {
        place: Place::Rest,
        threat: Threat::BackupReader,
        protection: Protection::Partly,
        reason: "a copy of the files is sealed; a dump that the server writes is in the clear",
        within_process: Some((
            Protection::Protects,
            "backups and copies of the files are sealed; only what is unsealed with the key on \
             purpose is in the clear",
        )),
        sources: &[REST_FILES, UNSEALED],
    },
    Entry {
        place: Place::Rest,
        threat: Threat::Network,
        protection: Protection::LeavesOpen,
        reason: "it begins below the engine: what goes between client and server is in the clear",
        within_process: NO_NETWORK,
        sources: &[RUNNING],
    },
    Entry {
        place: Place::Rest,
        threat: Threat::Dba,
        protection: Protection::LeavesOpen,
        reason: "the running server decrypts for every statement",
        within_process: NO_SERVER,
        sources: &[RUNNING, PCI, PARTITION],
    },
    Entry {
        place: Place::Rest,
        threat: Threat::ServerAdmin,
        protection: Protection::LeavesOpen,
        reason: "the key and what was decrypted are in the memory of the running server",
        within_process: Some((
            Protection::LeavesOpen,
            "the key and what was decrypted are in the memory of the process that the store is in, \
             which root can read",
        )),
        sources: &[RUNNING, PCI],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_there_once_with_a_reason_and_sources() {
        assert_eq!(TABLE.len(), Place::ALL.len() * Threat::ALL.len());
        for place in Place::ALL {
            for threat in Threat::ALL {
                let of_pair =
                    TABLE.iter().filter(|entry| entry.place == place && entry.threat == threat);
                assert_eq!(of_pair.count(), 1, "{place:?} {threat:?}");
                let entry = entry(place, threat);
                for (_, reason) in [entry.at(false), entry.at(true)] {
                    assert!(!reason.is_empty() && !reason.ends_with('.'), "{reason}");
                }
                assert!(!entry.sources.is_empty(), "{place:?} {threat:?}");
            }
        }
    }

    /// A named page exists, and so does a named test, in its file.
    #[test]
    fn sources_of_ours_exist() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |path: &str| {
            std::fs::read_to_string(root.join(path)).unwrap_or_else(|_| panic!("{path}"))
        };
        let tests_in = |file: &str| {
            let folders = [
                "dev/e2e/tests",
                "crates/fields/tests",
                "adapters/stores/tests",
                "adapters/wire/tests/path",
            ];
            let found = folders
                .map(|folder| format!("{folder}/{file}"))
                .into_iter()
                .find(|path| root.join(path).exists());
            read(&found.unwrap_or_else(|| panic!("no {file} among the tests")))
        };
        for source in TABLE.iter().flat_map(|entry| entry.sources) {
            let page = source.title.split(',').next().unwrap_or_default();
            if page.ends_with(".md") {
                read(page);
            }
            for shown_by in source.shown_by.split("; ") {
                if let Some((tests, file)) = shown_by.split_once(" in ") {
                    let text = tests_in(file);
                    for test in tests.split(", ") {
                        assert!(
                            text.contains(&format!("#[test]\nfn {test}(")),
                            "{test} is no test in {file}"
                        );
                    }
                } else if !shown_by.starts_with("https://") {
                    read(shown_by.split(',').next().unwrap_or_default());
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_is_better_than_any_protection() {
        assert!(
            Protection::NobodyThere > Protection::Protects
                && Protection::Protects > Protection::Partly
        );
        assert!(Protection::Partly > Protection::LeavesOpen);
    }
}
