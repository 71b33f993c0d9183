//! The table of stores: help, flags, plans and tests derive from it. A new store is a folder, a row
//! here and a feature.

use sealstone_message::Unknown;
use sealstone_store::kind::StoreKind;

/// Every store, and the feature that builds it.
const KNOWN: &[(&str, &str)] = &[
    ("rocksdb", "rocksdb"),
    ("mongodb", "mongodb"),
    ("redis", "redis"),
    ("postgres", "postgres"),
    ("mysql", "mysql"),
    ("ssdb", "ssdb"),
    ("block", "block"),
    ("iscsi", "block"),
];

static STORES: &[&StoreKind] = &[
    #[cfg(feature = "rocksdb")]
    &crate::rocksdb::KIND,
    #[cfg(feature = "mongodb")]
    &crate::mongodb::KIND,
    #[cfg(feature = "redis")]
    &crate::redis::KIND,
    #[cfg(feature = "postgres")]
    &crate::postgres::KIND,
    #[cfg(feature = "mysql")]
    &crate::mysql::KIND,
    #[cfg(feature = "ssdb")]
    &crate::ssdb::KIND,
    #[cfg(feature = "block")]
    &crate::block::BLOCK,
    #[cfg(feature = "block")]
    &crate::block::ISCSI,
];

/// Reasons why there is no store with a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownStore {
    /// It is not in the table.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// This program was built without it.
    #[error(
        "{name} is left out of this build\nbuild with it: make compare ARGS=\"--store {name}\", or \
         make install for all of it (feature {feature})"
    )]
    NotBuilt {
        /// The store.
        name: &'static str,
        /// The feature.
        feature: &'static str,
    },
}

/// Returns all of them, the default first.
#[must_use]
pub fn stores() -> &'static [&'static StoreKind] {
    STORES
}

/// Returns the store called `name`.
///
/// # Errors
/// A name that is in no row, or whose feature is off.
pub fn store(name: &str) -> Result<&'static StoreKind, UnknownStore> {
    if let Some(kind) = STORES.iter().find(|kind| kind.name == name) {
        return Ok(kind);
    }
    Err(match KNOWN.iter().find(|(known, _)| *known == name) {
        Some((name, feature)) => UnknownStore::NotBuilt { name, feature },
        None => Unknown::new("store", name, STORES.iter().map(|kind| kind.name)).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_known_and_its_settings_have_names_of_their_own() {
        for kind in stores() {
            assert!(KNOWN.iter().any(|(name, _)| *name == kind.name), "{}", kind.name);
            assert!(std::ptr::eq(store(kind.name).unwrap(), *kind));
            for (at, setting) in kind.settings.iter().enumerate() {
                assert!(
                    kind.settings[..at].iter().all(|before| before.name != setting.name),
                    "{}",
                    setting.name
                );
            }
        }
    }

    #[test]
    fn an_unknown_store_comes_with_the_nearest() {
        let error = store("rockdb").unwrap_err().to_string();
        assert!(
            error.starts_with("unknown store \"rockdb\"; did you mean rocksdb?\nknown stores: "),
            "{error}"
        );
    }
}
