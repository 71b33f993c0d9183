//! What stands in `config=(…)` of the extension: `key="/etc/orders.key",cipher=aria-256`.
//!
//! Read here and not by WiredTiger, because the release series may stand in it, and without that no function of
//! WiredTiger may be called. Not here: what the settings lead to (`encryptor`, `series`).

use std::path::{Path, PathBuf};

/// The settings of one opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The key source: the absolute path of a key file, `kmip://…`, or `kmip:/absolute/FILE.toml`.
    pub key: String,
    /// Name of the cipher; absent where the key server knows it.
    pub cipher: Option<String>,
    /// Name of the backend, `auto` where absent.
    pub accel: Option<String>,
    /// File with the passphrase of a key file that has one.
    pub passphrase_file: Option<PathBuf>,
    /// MongoDB's release series, such as `6.0`, where it is not found out.
    pub series: Option<String>,
    /// Whether each sync of the journal waits until the account of it is on the disk, too.
    pub synced_account: bool,
    /// Whether a database whose journal has lost its account is opened.
    pub accept_missing_account: bool,
}

/// Every name that may stand in the settings, with what it means.
pub const NAMES: [(&str, &str); 7] = [
    ("key", "key source: absolute path of a key file, kmip://HOST/KEY, or kmip:/absolute/FILE.toml"),
    ("cipher", "name of the cipher, such as aria-256"),
    ("accel", "backend of the cipher: auto (the default), portable and so on"),
    ("passphrase_file", "absolute path of the file with the passphrase of the key file"),
    ("series", "release series of MongoDB: 6.0, 7.0 or 8.0"),
    (
        "account",
        "when the account of the journal is on the disk: soon (after a sync, the default), or synced (with it)",
    ),
    ("missing_account", "accept opens a backup that left the account of the journal out; refuse is the default"),
];

/// What is wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// They cannot be read.
    #[error(
        "cannot read the extension's config at byte {at}: {found}\n\
         write config=(key=\"/path/of.key\",cipher=aria-256)"
    )]
    Syntax {
        /// Where, in bytes.
        at: usize,
        /// What was found.
        found: &'static str,
    },
    /// A name that nothing is known of.
    #[error("unknown setting {name:?} in the extension's config\nknown are: {}", NAMES.map(|(name, _)| name).join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// A name that stands there twice.
    #[error("setting {name:?} stands twice in the extension's config\nwrite it once")]
    Twice {
        /// The name.
        name: String,
    },
    /// No key source is named.
    #[error(
        "no key source in the extension's config\n\
         add config=(key=\"/path/of.key\") or config=(key=\"kmip://HOST/KEY\"); nothing is sealed without a key"
    )]
    NoKey,
    /// A setting with a few words has another.
    #[error("setting {name} is {found:?} in the extension's config\nwrite {wanted}")]
    Word {
        /// The name.
        name: &'static str,
        /// What was found.
        found: String,
        /// What may stand there.
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
    /// Reads `text`, with or without the parentheses around it.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let mut found: [Option<String>; NAMES.len()] = Default::default();
        for (name, value) in pairs(text)? {
            let Some(at) = NAMES.iter().position(|(known, _)| *known == name) else {
                return Err(SettingsError::Unknown { name });
            };
            if found[at].replace(value).is_some() {
                return Err(SettingsError::Twice { name });
            }
        }
        let [key, cipher, accel, passphrase_file, series, account, missing] =
            found.map(|value| value.filter(|text| !text.is_empty()));
        let key = key.ok_or(SettingsError::NoKey)?;
        let path = key.strip_prefix("kmip:").unwrap_or(&key);
        if !path.starts_with('/') {
            return Err(SettingsError::Relative { name: "key", found: key });
        }
        if let Some(file) = passphrase_file.as_ref().filter(|file| !Path::new(file).is_absolute()) {
            return Err(SettingsError::Relative { name: "passphrase_file", found: file.clone() });
        }
        let synced_account = word("account", account, ["soon", "synced"], "account=soon or account=synced")?;
        let wanted = "missing_account=refuse or missing_account=accept";
        let accept_missing_account = word("missing_account", missing, ["refuse", "accept"], wanted)?;
        let passphrase_file = passphrase_file.map(PathBuf::from);
        Ok(Self { key, cipher, accel, passphrase_file, series, synced_account, accept_missing_account })
    }
}

/// Whether `found` is the second of `words`; the first stands for none.
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

/// The names and values of a flat configuration string as WiredTiger writes them: `name=value,name="value"`, with `:` as
/// good as `=`, and a name alone for a value of `true`.
fn pairs(text: &str) -> Result<Vec<(String, String)>, SettingsError> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let whole = [(b'(', b')'), (b'[', b']'), (b'{', b'}')];
    reader.skip_blanks();
    let close = whole.iter().find(|(open, _)| reader.peek() == Some(*open)).map(|(_, close)| *close);
    if close.is_some() {
        reader.at += 1;
    }
    let mut pairs = Vec::new();
    loop {
        while matches!(reader.peek(), Some(b',' | b' ' | b'\t' | b'\n' | b'\r')) {
            reader.at += 1;
        }
        match reader.peek() {
            None if close.is_none() => return Ok(pairs),
            None => return Err(reader.wrong("it ends within parentheses")),
            Some(byte) if Some(byte) == close => {
                reader.at += 1;
                reader.skip_blanks();
                return match reader.peek() {
                    None => Ok(pairs),
                    Some(_) => Err(reader.wrong("text after the closing parenthesis")),
                };
            }
            Some(_) => {}
        }
        let name = reader.word()?;
        reader.skip_blanks();
        let value = if matches!(reader.peek(), Some(b'=' | b':')) {
            reader.at += 1;
            reader.skip_blanks();
            reader.word()?
        } else {
            "true".to_owned()
        };
        pairs.push((name, value));
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn wrong(&self, found: &'static str) -> SettingsError {
        SettingsError::Syntax { at: self.at, found }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// A quoted text, in which a backslash makes the next character a plain one, or a run of plain characters.
    fn word(&mut self) -> Result<String, SettingsError> {
        let mut word = Vec::new();
        if self.peek() == Some(b'"') {
            self.at += 1;
            loop {
                match self.peek() {
                    None => return Err(self.wrong("it ends within quotation marks")),
                    Some(b'"') => break,
                    Some(b'\\') => self.at += 1,
                    Some(_) => {}
                }
                word.push(self.peek().ok_or_else(|| self.wrong("it ends after a backslash"))?);
                self.at += 1;
            }
            self.at += 1;
        } else {
            while let Some(byte) = self.peek().filter(|byte| !b",=:()[]{}\" \t\r\n".contains(byte)) {
                word.push(byte);
                self.at += 1;
            }
            if word.is_empty() {
                return Err(self.wrong("a name or a value was expected"));
            }
        }
        String::from_utf8(word).map_err(|_| self.wrong("it is not UTF-8 text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_as_wiredtiger_hands_them_over() {
        let text = r#"(key="/etc/sealstone/orders.key",cipher=aria-256,accel=portable,series="6.0")"#;
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
        assert_eq!(parse(r#"[ "key" : "/a \"b\", c\\d.key" , , series = 7.0 ]"#).key, r#"/a "b", c\d.key"#);
        assert_eq!(parse("key=/plain.key,cipher=\"\"").cipher, None);
        assert_eq!(parse("key=/plain.key,passphrase_file=/p").passphrase_file, Some("/p".into()));
    }

    #[test]
    fn the_account_is_soon_on_the_disk_and_must_be_there() {
        let parse = |text: &str| {
            Settings::parse(text).map(|settings| (settings.synced_account, settings.accept_missing_account))
        };
        assert_eq!(parse("key=/a"), Ok((false, false)));
        assert_eq!(parse("key=/a,account=soon,missing_account=refuse"), Ok((false, false)));
        assert_eq!(parse("key=/a,account=synced,missing_account=accept"), Ok((true, true)));
        assert_eq!(
            parse("key=/a,account=never").unwrap_err().to_string(),
            "setting account is \"never\" in the extension's config\nwrite account=soon or account=synced"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for text in ["(key=/a", "key=\"/a", "key=\"/a\\", "(key=/a)x", "=3", "key=", "key=/a,cipher=(x)", "key==/a"] {
            assert!(matches!(Settings::parse(text), Err(SettingsError::Syntax { .. })), "{text}");
        }
        assert_eq!(Settings::parse(""), Err(SettingsError::NoKey));
        assert_eq!(Settings::parse("key=\"\""), Err(SettingsError::NoKey));
        assert_eq!(Settings::parse("key=/a,key=/b"), Err(SettingsError::Twice { name: "key".into() }));
        assert_eq!(Settings::parse("key=/a,ciphre=x"), Err(SettingsError::Unknown { name: "ciphre".into() }));
        assert_eq!(
            Settings::parse("key=a.key").unwrap_err().to_string(),
            "setting key is \"a.key\", not an absolute path: a server changes its directory\n\
             write the whole path, from / on"
        );
        for text in ["key=kmip:kms.toml", "key=\"kmip:kms.toml\"", "key=/a,passphrase_file=p"] {
            let error = Settings::parse(text);
            assert!(matches!(error, Err(SettingsError::Relative { .. } | SettingsError::Syntax { .. })), "{text}");
        }
    }
}
