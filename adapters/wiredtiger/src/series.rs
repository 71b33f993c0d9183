//! Release series: the places, in WiredTiger's table of functions, of the functions that an
//! extension calls. The places differ by release, and a wrong place calls another function with our
//! arguments; so nothing is called before the series is certain.
//!
//! Three things point to a series: the version of WiredTiger in the running program, the settings,
//! and the names of the functions in the program's symbol table.

use std::fmt;

use sealstone_message::Unknown;

/// One release series of MongoDB, and the WiredTiger in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Series {
    /// MongoDB's name of it, such as `6.0`.
    pub name: &'static str,
    /// Versions of WiredTiger that belong to it: major, minor, and the lowest patch.
    versions: &'static [(u32, u32, u32)],
    /// Place of `add_encryptor` in `WT_CONNECTION`, counted from 1.
    pub add_encryptor: usize,
    /// Place of `set_file_system` in `WT_CONNECTION`, counted from 1.
    pub set_file_system: usize,
    /// Place of `get_extension_api` in `WT_CONNECTION`, counted from 1.
    pub get_extension_api: usize,
}

/// All supported series. 5.0 had WiredTiger 10.0.0 and 10.0.1, and after 8.0 the places changed
/// again.
pub(crate) static SERIES: [Series; 3] = [
    Series {
        name: "6.0",
        versions: &[(10, 0, 2)],
        add_encryptor: 15,
        set_file_system: 17,
        get_extension_api: 20,
    },
    Series {
        name: "7.0",
        versions: &[(11, 2, 0)],
        add_encryptor: 15,
        set_file_system: 17,
        get_extension_api: 20,
    },
    Series {
        name: "8.0",
        versions: &[(11, 3, 0)],
        add_encryptor: 16,
        set_file_system: 18,
        get_extension_api: 21,
    },
];

/// A version of WiredTiger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major.
    pub major: u32,
    /// Minor.
    pub minor: u32,
    /// Patch.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Reads a version out of WiredTiger's own line, `WiredTiger 10.0.2: (December 21, 2021)`.
    #[must_use]
    pub(crate) fn in_line(line: &str) -> Option<Self> {
        let (numbers, _) = line.strip_prefix("WiredTiger ")?.split_once(':')?;
        let mut parts = numbers.split('.').map(str::parse);
        let (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        Some(Self { major, minor, patch })
    }
}

/// Information about the places from the symbol table of the running program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Symbols {
    /// The program has none, or none for these functions.
    None,
    /// The functions at the places of `add_encryptor`, `set_file_system` and `get_extension_api`
    /// have these names.
    Named([String; 3]),
}

/// Reason why no series can be named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// The settings name a series that does not exist.
    #[error("unknown series {:?} in the extension's config{}\nknown: {}",
            .0.name, .0.hint(), known())]
    UnknownName(Unknown),
    /// A version of WiredTiger that belongs to no supported series.
    #[error(
        "this server has WiredTiger {found}, which this extension does not know; nothing of it was \
         called\n\
         known: {}; use a sealstone made for this server, or a server of a known series",
        known()
    )]
    UnknownVersion {
        /// The version.
        found: Version,
    },
    /// No version was found, and the settings name no series.
    #[error(
        "cannot tell which WiredTiger this server has; nothing of it was called\n\
         say it in the extension's config, such as series=\"6.0\"; known: {}",
        known()
    )]
    NoVersion,
    /// Settings and version disagree.
    #[error(
        "the extension's config says series {wanted}, and this server has WiredTiger {found}, \
         series {series}\n\
         write series=\"{series}\" or leave it out; nothing was opened"
    )]
    Disagree {
        /// Series named in the settings.
        wanted: &'static str,
        /// The version.
        found: Version,
        /// The series it belongs to.
        series: &'static str,
    },
    /// The functions at the places are wrong.
    #[error(
        "this server's WiredTiger is not laid out as series {series}: its functions are {} where \
         add_encryptor, set_file_system and get_extension_api were expected\n\
         use a sealstone made for this server; nothing of it was called",
        found.join(", ")
    )]
    OtherLayout {
        /// The series that was expected.
        series: &'static str,
        /// Functions at the three places.
        found: [String; 3],
    },
    /// Only the version points to the series.
    #[error(
        "this server has WiredTiger {found}, which is in series {series}, and no symbols that \
         would prove it\n\
         if it is MongoDB {series}, say so in the extension's config: series=\"{series}\""
    )]
    Unproved {
        /// The version.
        found: Version,
        /// The series it belongs to.
        series: &'static str,
    },
}

/// Returns the series that `found` (the version of WiredTiger in the running program) and `wanted`
/// (the settings) agree on.
///
/// # Errors
/// [`SeriesError::UnknownName`], [`SeriesError::UnknownVersion`], [`SeriesError::NoVersion`],
/// [`SeriesError::Disagree`].
pub(crate) fn choose(
    found: Option<Version>,
    wanted: Option<&str>,
) -> Result<&'static Series, SeriesError> {
    let wanted = match wanted {
        None => None,
        Some(name) => match SERIES.iter().find(|series| series.name == name) {
            Some(series) => Some(series),
            None => {
                return Err(SeriesError::UnknownName(Unknown::new(
                    "series",
                    name,
                    SERIES.iter().map(|series| series.name),
                )));
            }
        },
    };
    match (found, wanted) {
        (None, None) => Err(SeriesError::NoVersion),
        (None, Some(wanted)) => Ok(wanted),
        (Some(found), wanted) => {
            let Some(series) = SERIES.iter().find(|series| series.has(found)) else {
                return Err(SeriesError::UnknownVersion { found });
            };
            match wanted {
                Some(wanted) if wanted != series => {
                    Err(SeriesError::Disagree { wanted: wanted.name, found, series: series.name })
                }
                _ => Ok(series),
            }
        }
    }
}

impl Series {
    fn has(&self, version: Version) -> bool {
        let Version { major, minor, patch } = version;
        self.versions.iter().any(|known| (known.0, known.1) == (major, minor) && known.2 <= patch)
    }

    /// Checks that the functions at the places are the right ones, as far as `symbols` show. Where
    /// they show nothing, the settings must have named the series (`named`).
    ///
    /// # Errors
    /// [`SeriesError::OtherLayout`], [`SeriesError::Unproved`].
    pub(crate) fn prove(
        &self,
        symbols: &Symbols,
        found: Option<Version>,
        named: bool,
    ) -> Result<(), SeriesError> {
        // compilers append suffixes to the name of a function that they made a variant of
        let is = |name: &str, want: &str| {
            name.strip_prefix(want).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match (symbols, found) {
            (Symbols::Named(found), _) => {
                let wanted =
                    ["__conn_add_encryptor", "__conn_set_file_system", "__conn_get_extension_api"];
                if found.iter().zip(wanted).all(|(found, wanted)| is(found, wanted)) {
                    return Ok(());
                }
                Err(SeriesError::OtherLayout { series: self.name, found: found.clone() })
            }
            (Symbols::None, Some(found)) if !named => {
                Err(SeriesError::Unproved { found, series: self.name })
            }
            (Symbols::None, _) => Ok(()),
        }
    }
}

fn known() -> String {
    let one = |series: &Series| {
        let versions =
            series.versions.iter().map(|(major, minor, patch)| format!("{major}.{minor}.{patch}"));
        format!("{} (WiredTiger {})", series.name, versions.collect::<Vec<_>>().join(", "))
    };
    SERIES.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(major: u32, minor: u32, patch: u32) -> Version {
        Version { major, minor, patch }
    }

    #[test]
    fn versions_are_read_out_of_wiredtigers_line() {
        assert_eq!(
            Version::in_line("WiredTiger 10.0.2: (December 21, 2021)"),
            Some(version(10, 0, 2))
        );
        for other in [
            "WiredTiger",
            "WiredTiger 10.0.2",
            "WiredTiger 10.0: (x)",
            "WiredTiger 1.2.3.4: (x)",
            "Wired 1.2.3: x",
        ] {
            assert_eq!(Version::in_line(other), None, "{other}");
        }
    }

    #[test]
    fn version_and_settings_must_agree() {
        for (found, wanted, series) in [
            (Some(version(10, 0, 2)), None, "6.0"),
            (Some(version(11, 2, 0)), Some("7.0"), "7.0"),
            (Some(version(11, 3, 1)), None, "8.0"),
            (None, Some("6.0"), "6.0"),
        ] {
            assert_eq!(choose(found, wanted).unwrap().name, series);
        }
        assert_eq!(choose(None, None), Err(SeriesError::NoVersion));
        for unknown in [version(10, 0, 1), version(12, 0, 0), version(11, 0, 0), version(3, 2, 1)] {
            assert_eq!(
                choose(Some(unknown), None),
                Err(SeriesError::UnknownVersion { found: unknown })
            );
            assert_eq!(
                choose(Some(unknown), Some("6.0")),
                Err(SeriesError::UnknownVersion { found: unknown })
            );
        }
        assert!(matches!(choose(None, Some("5.0")), Err(SeriesError::UnknownName(_))));
        let error = choose(Some(version(10, 0, 2)), Some("8.0")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the extension's config says series 8.0, and this server has WiredTiger 10.0.2, series \
             6.0\n\
             write series=\"6.0\" or leave it out; nothing was opened"
        );
    }

    #[test]
    fn symbols_prove_or_refute_a_layout() {
        let named = |add: &str, get: &str| {
            Symbols::Named([add.into(), "__conn_set_file_system".into(), get.into()])
        };
        let set = |set: &str| {
            Symbols::Named([
                "__conn_add_encryptor".into(),
                set.into(),
                "__conn_get_extension_api".into(),
            ])
        };
        let series = &SERIES[0];
        let found = Some(version(10, 0, 2));
        series
            .prove(&named("__conn_add_encryptor", "__conn_get_extension_api"), found, false)
            .unwrap();
        series
            .prove(&named("__conn_add_encryptor.isra.0", "__conn_get_extension_api"), None, true)
            .unwrap();
        series.prove(&set("__conn_set_file_system.cold"), found, false).unwrap();
        let others = [
            named("__conn_add_extractor", "__conn_get_extension_api"),
            named("__conn_add_encryptors", "x"),
            set("__conn_add_storage_source"),
        ];
        for other in others {
            let refused = series.prove(&other, found, true);
            assert!(matches!(refused, Err(SeriesError::OtherLayout { .. })), "{refused:?}");
        }
        series.prove(&Symbols::None, found, true).unwrap();
        assert!(matches!(
            series.prove(&Symbols::None, found, false),
            Err(SeriesError::Unproved { .. })
        ));
    }
}
