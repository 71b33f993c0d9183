//! The settings in `config=(…)` of the extension, `key="/etc/orders.key",cipher=aria-256`: written
//! for a server, and read by the extension.
//!
//! They are read here and not by WiredTiger, because the release series may be one of them, and no
//! function of WiredTiger may be called before that is known. Not here: the effect of the settings
//! (`encryptor`, `series`), and the other options of a server (`engine_options`).

use std::path::{Path, PathBuf};

use sealstone_message::Unknown;
use sealstone_modules::is_relative_name;

pub use self::notation::NotationError;
use self::notation::{SyntaxError, pairs, plain, quoted, quoted_path};

pub(crate) mod notation;

/// The settings of one opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The key source: the absolute path of a key file, `kmip://…`, or `kmip:/absolute/FILE.toml`.
    pub key: String,
    /// Name of the cipher; absent where the key server records it.
    pub cipher: Option<String>,
    /// Name of the backend, `auto` where absent.
    pub accel: Option<String>,
    /// Cryptographic module that computes, such as `openssl:fips`; absent for our own code.
    pub module: Option<String>,
    /// File with the passphrase of a key file that has one.
    pub passphrase_file: Option<PathBuf>,
    /// MongoDB's release series, such as `6.0`, where it is not detected.
    pub series: Option<String>,
    /// True if each sync of the journal waits until the account of it is on the disk, too.
    pub synced_account: bool,
    /// True if a database whose journal has lost its account is opened.
    pub accept_missing_account: bool,
    /// True if collections and indexes may be created in the clear.
    pub accept_clear_files: bool,
}

/// Words of the settings that have two; the first is the default.
const ACCOUNT: [&str; 2] = ["soon", "synced"];
const MISSING_ACCOUNT: [&str; 2] = ["refuse", "accept"];
const CLEAR_FILES: [&str; 2] = ["refuse", "accept"];

/// Every name that the settings may contain, with what it means.
pub(crate) const NAMES: [(&str, &str); 9] = [
    (
        "key",
        "key source: absolute path of a key file, kmip://HOST/KEY, or kmip:/absolute/FILE.toml",
    ),
    ("cipher", "name of the cipher, such as aria-256"),
    ("accel", "backend of the cipher: auto (the default), portable and so on"),
    (
        "module",
        "cryptographic module that computes: openssl:PROVIDER or the absolute path of a library",
    ),
    ("passphrase_file", "absolute path of the file with the passphrase of the key file"),
    ("series", "release series of MongoDB: 6.0, 7.0 or 8.0"),
    (
        "account",
        "when the account of the journal is on the disk: soon (after a sync, the default), or \
         synced (with it)",
    ),
    (
        "missing_account",
        "accept opens a backup that left the account of the journal out; refuse is the default",
    ),
    (
        "clear_files",
        "accept lets collections and indexes be created with encryption=(name=none); refuse is the \
         default",
    ),
];

/// Defect of the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// They cannot be read.
    #[error(
        "cannot read the extension's config at byte {at}: {found}\n\
         write config=(key=\"/path/of.key\",cipher=aria-256)"
    )]
    Syntax {
        /// Position of the error, in bytes.
        at: usize,
        /// Problem that was found.
        found: &'static str,
    },
    /// An unknown name.
    #[error("unknown setting {:?} in the extension's config{}\nknown settings: {}",
            .0.name, .0.hint(), .0.known.join(", "))]
    Unknown(Unknown),
    /// A name that appears twice.
    #[error("setting {name:?} is given twice in the extension's config\nwrite it once")]
    Twice {
        /// The name.
        name: String,
    },
    /// No key source is named.
    #[error(
        "no key source in the extension's config\n\
         add config=(key=\"/path/of.key\") or config=(key=\"kmip://HOST/KEY\"); nothing is sealed \
         without a key"
    )]
    NoKey,
    /// A setting with a few words has another.
    #[error("setting {name} is {found:?} in the extension's config\nwrite {wanted}")]
    Word {
        /// The name.
        name: &'static str,
        /// Value that was found.
        found: String,
        /// Values that are allowed.
        wanted: &'static str,
    },
    /// A path that depends on where the server was started.
    #[error(
        "setting {name} is {found:?}, not an absolute path: a server changes its directory\n\
         write the whole path, from / on"
    )]
    Relative {
        /// The name.
        name: &'static str,
        /// The path.
        found: String,
    },
}

impl Settings {
    /// Returns the key source `key`, with defaults for everything else.
    #[must_use]
    pub fn new(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            cipher: None,
            accel: None,
            module: None,
            passphrase_file: None,
            series: None,
            synced_account: false,
            accept_missing_account: false,
            accept_clear_files: false,
        }
    }

    /// Returns the text that [`Settings::parse`] reads as these settings, without parentheses; an
    /// empty name counts as absent.
    ///
    /// # Errors
    /// [`NotationError`] for a value that the notation cannot hold.
    pub fn write(&self) -> Result<String, NotationError> {
        let name = |what, value: &Option<String>| {
            value
                .as_deref()
                .filter(|value| !value.is_empty())
                .map(|value| plain(what, value))
                .transpose()
        };
        let passphrase_file = self.passphrase_file.as_deref();
        // in the order of NAMES
        let values = [
            Some(quoted("the key", &self.key)?),
            name("the cipher", &self.cipher)?,
            name("the backend", &self.accel)?,
            self.module.as_deref().map(|module| quoted("the module", module)).transpose()?,
            passphrase_file.map(|file| quoted_path("the passphrase file", file)).transpose()?,
            name("the series", &self.series)?,
            self.synced_account.then(|| ACCOUNT[1].to_owned()),
            self.accept_missing_account.then(|| MISSING_ACCOUNT[1].to_owned()),
            self.accept_clear_files.then(|| CLEAR_FILES[1].to_owned()),
        ];
        let written = NAMES
            .iter()
            .zip(values)
            .filter_map(|((name, _), value)| Some(format!("{name}={}", value?)));
        Ok(written.collect::<Vec<_>>().join(","))
    }

    /// Reads `text`, with or without the parentheses around it.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let mut found: [Option<String>; NAMES.len()] = Default::default();
        for (name, value) in
            pairs(text).map_err(|SyntaxError { at, found }| SettingsError::Syntax { at, found })?
        {
            let Some(at) = NAMES.iter().position(|(known, _)| *known == name) else {
                let known = NAMES.map(|(known, _)| known);
                return Err(SettingsError::Unknown(Unknown::new("setting", &name, known)));
            };
            if found[at].replace(value).is_some() {
                return Err(SettingsError::Twice { name });
            }
        }
        let [key, cipher, accel, module, passphrase_file, series, account, missing, clear] =
            found.map(|value| value.filter(|text| !text.is_empty()));
        let key = key.ok_or(SettingsError::NoKey)?;
        let path = key.strip_prefix("kmip:").unwrap_or(&key);
        if !path.starts_with('/') {
            return Err(SettingsError::Relative { name: "key", found: key });
        }
        if let Some(file) = module.as_ref().filter(|name| is_relative_name(name)) {
            return Err(SettingsError::Relative { name: "module", found: file.clone() });
        }
        if let Some(file) = passphrase_file.as_ref().filter(|file| !Path::new(file).is_absolute()) {
            return Err(SettingsError::Relative { name: "passphrase_file", found: file.clone() });
        }
        let synced_account = word("account", account, ACCOUNT, "account=soon or account=synced")?;
        let wanted = "missing_account=refuse or missing_account=accept";
        let accept_missing_account = word("missing_account", missing, MISSING_ACCOUNT, wanted)?;
        let accept_clear_files =
            word("clear_files", clear, CLEAR_FILES, "clear_files=refuse or clear_files=accept")?;
        Ok(Self {
            key,
            cipher,
            accel,
            module,
            passphrase_file: passphrase_file.map(PathBuf::from),
            series,
            synced_account,
            accept_missing_account,
            accept_clear_files,
        })
    }
}

/// Returns whether `found` is the second of `words`; if absent, it counts as the first.
fn word(
    name: &'static str,
    found: Option<String>,
    words: [&str; 2],
    wanted: &'static str,
) -> Result<bool, SettingsError> {
    match found {
        None => Ok(false),
        Some(found) if found == words[0] => Ok(false),
        Some(found) if found == words[1] => Ok(true),
        Some(found) => Err(SettingsError::Word { name, found, wanted }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_as_wiredtiger_hands_them_over() {
        let text =
            r#"(key="/etc/sealstone/orders.key",cipher=aria-256,accel=portable,series="6.0")"#;
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.key, "/etc/sealstone/orders.key");
        assert_eq!(settings.cipher.as_deref(), Some("aria-256"));
        assert_eq!(settings.accel.as_deref(), Some("portable"));
        assert_eq!(settings.series.as_deref(), Some("6.0"));
        assert_eq!(settings.passphrase_file, None);
        assert_eq!(Settings::parse(&text[1..text.len() - 1]).unwrap(), settings);
    }

    #[test]
    fn values_may_be_quoted_anyhow() {
        let parse = |text: &str| Settings::parse(text).unwrap();
        let url = "kmip://kms:5696/orders?cert=/c.pem&key=/k.pem&ca=/a.pem";
        assert_eq!(parse(&format!("key=\"{url}\"")).key, url);
        assert_eq!(
            parse(r#"[ "key" : "/a \"b\", c\\d.key" , , series = 7.0 ]"#).key,
            r#"/a "b", c\d.key"#
        );
        assert_eq!(parse("key=/plain.key,cipher=\"\"").cipher, None);
        assert_eq!(parse("key=/plain.key,passphrase_file=/p").passphrase_file, Some("/p".into()));
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let keys = [
            "/etc/sealstone/orders.key",
            "/keys/it's (really) [mine] {1}, = : 50 %.key",
            "/schlüssel/주문 🔑.key",
            "kmip://kms:5696/orders?cert=/c.pem&key=/k.pem&ca=/a.pem",
            "kmip:/etc/kms, old.toml",
            "/",
        ];
        let names =
            [None, Some("aria-256".to_owned()), Some("6.0".to_owned()), Some("true".to_owned())];
        let files = [None, Some("/run/pass phrase,(x)=y".into()), Some("/p".into())];
        for (at, key) in keys.iter().enumerate() {
            for (cipher, passphrase_file) in
                names.iter().flat_map(|name| files.iter().map(move |file| (name, file)))
            {
                let settings = Settings {
                    key: (*key).to_owned(),
                    cipher: cipher.clone(),
                    accel: names[at % names.len()].clone(),
                    module: (at % 2 == 1).then(|| "openssl:fips".to_owned()),
                    passphrase_file: passphrase_file.clone(),
                    series: names[(at + 2) % names.len()].clone(),
                    synced_account: at % 2 == 0,
                    accept_missing_account: at % 3 == 0,
                    accept_clear_files: at % 4 == 0,
                };
                let text = settings.write().unwrap();
                assert_eq!(Settings::parse(&text), Ok(settings.clone()), "{text}");
                assert_eq!(Settings::parse(&format!("({text})")), Ok(settings), "({text})");
            }
        }
        let empty = Settings { cipher: Some(String::new()), ..Settings::new("/a") };
        assert_eq!(Settings::parse(&empty.write().unwrap()), Ok(Settings::new("/a")));
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        for key in ["/a\"b", "/a\\b", "/a\nb", "/a\0"] {
            let error = Settings::new(key).write().unwrap_err();
            assert!(matches!(error, NotationError::Character { what: "the key", .. }), "{error}");
        }
        for name in ["a,b", "a)", "a=b", "a b", "\"a\"", "ä"] {
            let named = Some(name.to_owned());
            for settings in [
                Settings { cipher: named.clone(), ..Settings::new("/a") },
                Settings { accel: named.clone(), ..Settings::new("/a") },
                Settings { series: named.clone(), ..Settings::new("/a") },
            ] {
                assert!(matches!(settings.write(), Err(NotationError::Character { .. })), "{name}");
            }
        }
        use std::os::unix::ffi::OsStringExt;
        let file = PathBuf::from(std::ffi::OsString::from_vec(b"/p\xff".to_vec()));
        let error =
            Settings { passphrase_file: Some(file), ..Settings::new("/a") }.write().unwrap_err();
        assert!(
            matches!(error, NotationError::NotText { what: "the passphrase file", .. }),
            "{error}"
        );
    }

    #[test]
    fn the_account_is_soon_on_the_disk_and_must_be_there() {
        let parse = |text: &str| {
            Settings::parse(text)
                .map(|settings| (settings.synced_account, settings.accept_missing_account))
        };
        assert_eq!(parse("key=/a"), Ok((false, false)));
        assert_eq!(parse("key=/a,account=soon,missing_account=refuse"), Ok((false, false)));
        assert_eq!(parse("key=/a,account=synced,missing_account=accept"), Ok((true, true)));
        assert_eq!(
            parse("key=/a,account=never").unwrap_err().to_string(),
            "setting account is \"never\" in the extension's config\nwrite account=soon or \
             account=synced"
        );
    }

    #[test]
    fn files_in_the_clear_are_refused_unless_they_are_accepted() {
        let parse = |text: &str| Settings::parse(text).map(|settings| settings.accept_clear_files);
        assert_eq!(parse("key=/a"), Ok(false));
        assert_eq!(parse("key=/a,clear_files=refuse"), Ok(false));
        assert_eq!(parse("key=/a,clear_files=accept"), Ok(true));
        assert_eq!(
            parse("key=/a,clear_files=yes").unwrap_err().to_string(),
            "setting clear_files is \"yes\" in the extension's config\nwrite clear_files=refuse or \
             clear_files=accept"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for text in [
            "(key=/a",
            "key=\"/a",
            "key=\"/a\\",
            "(key=/a)x",
            "=3",
            "key=",
            "key=/a,cipher=(x)",
            "key==/a",
        ] {
            assert!(matches!(Settings::parse(text), Err(SettingsError::Syntax { .. })), "{text}");
        }
        assert_eq!(Settings::parse(""), Err(SettingsError::NoKey));
        assert_eq!(Settings::parse("key=\"\""), Err(SettingsError::NoKey));
        assert_eq!(
            Settings::parse("key=/a,key=/b"),
            Err(SettingsError::Twice { name: "key".into() })
        );
        assert_eq!(
            Settings::parse("key=/a,ciphre=x").unwrap_err().to_string(),
            format!(
                "unknown setting \"ciphre\" in the extension's config; did you mean cipher?\nknown \
                 settings: {}",
                NAMES.map(|(name, _)| name).join(", ")
            )
        );
        assert_eq!(
            Settings::parse("key=a.key").unwrap_err().to_string(),
            "setting key is \"a.key\", not an absolute path: a server changes its directory\n\
             write the whole path, from / on"
        );
        for text in ["key=kmip:kms.toml", "key=\"kmip:kms.toml\"", "key=/a,passphrase_file=p"] {
            let error = Settings::parse(text);
            assert!(
                matches!(error, Err(SettingsError::Relative { .. } | SettingsError::Syntax { .. })),
                "{text}"
            );
        }
    }
}
