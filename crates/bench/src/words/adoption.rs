//! The table of what a place takes before data is sealed there: keys, a restart, and what is done
//! with data that exists.

use sealstone_store::Layer;

/// Needs of a place with a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adoption {
    /// The layer.
    pub layer: Layer,
    /// The stores that it is so with, by name; empty: all that no other row names.
    pub stores: &'static [&'static str],
    /// The keys, where they are, and what becomes of data without them.
    pub keys: &'static str,
    /// Programs that are started again, and with which settings.
    pub restart: &'static str,
    /// Way of existing data to that place.
    pub conversion: &'static str,
}

/// Keys of data that is stored.
const KEYS: &str = "a key file or a key server (KMIP), apart from the data; without the key nobody \
                    reads the data again, so keep a copy elsewhere";

/// The table: the first row that fits counts.
pub(crate) const TABLE: &[Adoption] = &[
    Adoption {
        layer: Layer::Rest,
        stores: &["rocksdb"],
        keys: KEYS,
        restart: "the program that has the store open is started with the sealed file system",
        conversion: "sealstone rest reseal --from-plain seals a store in place, while no program \
                     has it open",
    },
    Adoption {
        layer: Layer::Rest,
        stores: &["mongodb"],
        keys: KEYS,
        restart: "each mongod is started with the options of sealstone mongo config",
        conversion: "member by member onto an empty directory, while clients keep working",
    },
    Adoption {
        layer: Layer::Rest,
        stores: &["mysql"],
        keys: KEYS,
        restart: "MariaDB is started with the options of sealstone mysql config",
        conversion: "the server encrypts existing tables in the background",
    },
    // any server, on a sealed volume
    Adoption {
        layer: Layer::Rest,
        stores: &[],
        keys: KEYS,
        restart: "the server is stopped while its files are copied, and started on the sealed \
                  volume",
        conversion: "sealstone volume create --from copies the files and compares them byte by \
                     byte",
    },
    Adoption {
        layer: Layer::Field,
        stores: &[],
        keys: KEYS,
        restart: "programs are changed to seal and open values; the server stays as it is",
        conversion: "sealstone field migrate seals tables of MariaDB and PostgreSQL while they are \
                     in use, and sealstone field seal seals files",
    },
    Adoption {
        layer: Layer::Wire,
        stores: &[],
        keys: "a certificate for the server, and its authority at each client",
        restart: "server and clients are set to TLS; a tunnel (sealstone wire) leaves both as they \
                  are",
        conversion: "none: nothing that is stored changes",
    },
    Adoption {
        layer: Layer::Server,
        stores: &[],
        keys: "the key is in every statement, so server and logs may learn it",
        restart: "statements are changed to call the function; the server stays as it is",
        conversion: "statements of your own rewrite every value",
    },
];

/// Returns what `layer` takes with `store`. `on_volume`: the files are on a sealed volume.
///
/// # Panics
/// Never: the table has a row for every layer, which a test checks.
#[must_use]
pub(crate) fn adoption(layer: Layer, store: &str, on_volume: bool) -> &'static Adoption {
    let fits = |row: &&Adoption| {
        row.layer == layer && (row.stores.is_empty() || !on_volume && row.stores.contains(&store))
    };
    TABLE.iter().find(fits).expect("the table has every layer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_is_there_with_every_store() {
        for layer in Layer::ALL {
            for store in ["rocksdb", "mongodb", "mysql", "postgres", "another"] {
                let row = adoption(layer, store, false);
                for text in [row.keys, row.restart, row.conversion] {
                    assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
                }
            }
        }
        assert!(adoption(Layer::Rest, "mongodb", false).restart.contains("mongod"));
        assert!(adoption(Layer::Rest, "mongodb", true).restart.contains("volume"));
        assert!(adoption(Layer::Rest, "postgres", false).restart.contains("volume"));
    }

    /// A command that the table names is in the list of commands, and so may be typed.
    #[test]
    fn commands_are_those_of_the_guide() {
        let guide = include_str!("../../../../docs/guide/commands.md");
        for row in TABLE {
            for text in [row.restart, row.conversion] {
                for (at, _) in text.match_indices("sealstone ") {
                    let words: Vec<&str> = text[at..].split([' ', ')']).take(2).collect();
                    assert!(guide.contains(&words.join(" ")), "{words:?}");
                }
            }
        }
    }
}
