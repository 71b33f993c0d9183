//! The settings of a sealed store as a URI: `sealstone://?key=/etc/orders.key&cipher=aria-256`.
//! Never a secret: a URI is on a command line, which every user of the machine can read.

use std::path::PathBuf;

use bytesize::ByteSize;
use percent_encoding::percent_decode_str;
use sealstone_keys::source;
use sealstone_message::Unknown;
use sealstone_seal::paged::{PAGE_BYTES_MAX, PAGE_BYTES_MIN};

/// Scheme that the URIs begin with, before `://`.
pub(crate) const SCHEME: &str = "sealstone";

/// Every setting, in the order in which messages list them.
const NAMES: [&str; 8] =
    ["key", "passphrase_file", "cipher", "accel", "module", "page_bytes", "anchor", "counts_dir"];

/// Settings for sealing a store, as a user writes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The key source: path of a key file, `kmip://…`, or `kmip:FILE.toml`.
    pub(crate) key: String,
    /// File with the passphrase of a key file that has one.
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Name of the cipher of new files; absent where the key server records it.
    pub(crate) cipher: Option<String>,
    /// Name of the backend, `auto` where absent.
    pub(crate) accel: Option<String>,
    /// Cryptographic module that computes; absent for our own code.
    pub(crate) module: Option<String>,
    /// Bytes of data in a page of a table file.
    pub(crate) page_bytes: Option<u32>,
    /// The anchor: path of a file on other storage, or an address of a key server.
    pub(crate) anchor: Option<PathBuf>,
    /// Directory of the store, where what is sealed and opened is counted.
    pub(crate) counts_dir: Option<PathBuf>,
}

/// Error in a URI.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    /// It has another form.
    #[error(
        "cannot read {found:?} as settings of a sealed store\nwrite \
         sealstone://?key=/path/store.key&cipher=aria-256"
    )]
    Form {
        /// The part that does not fit.
        found: String,
    },
    /// An unknown name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A name that appears twice.
    #[error(
        "setting {name} is given twice\n\
         write it once; in the address of a key server write %26 for &, or use kmip:FILE.toml"
    )]
    Twice {
        /// The name.
        name: &'static str,
    },
    /// A name without a value.
    #[error("setting {name} is empty\nleave it out, or give it a value")]
    Empty {
        /// The name.
        name: &'static str,
    },
    /// A value that is not text.
    #[error("setting {name} is not UTF-8\nrename the file that it names")]
    NotText {
        /// The name.
        name: &'static str,
    },
    /// No key source is named.
    #[error(
        "no key is named\nadd key=/path/store.key or key=kmip:/path/FILE.toml; nothing is sealed \
         without a key"
    )]
    NoKey,
    /// A page length that the format does not have.
    #[error(
        "page_bytes is {found:?}\nwrite a power of two from {PAGE_BYTES_MIN} to {PAGE_BYTES_MAX}, \
         such as 16KiB"
    )]
    PageBytes {
        /// Text that was found.
        found: String,
    },
    /// A passphrase file for a key server.
    #[error("passphrase_file is for a key file, and {key} is on a key server\nleave it out")]
    PassphraseFile {
        /// The key source.
        key: String,
    },
}

impl Settings {
    /// Reads `text`: a URI, or only what follows its question mark. In values, `%26` is `&`, and
    /// `%25` is `%`.
    ///
    /// # Errors
    /// [`SettingsError`]; nothing is guessed.
    pub(crate) fn parse(text: &str) -> Result<Self, SettingsError> {
        let mut found: [Option<String>; NAMES.len()] = Default::default();
        for setting in query(text)?.split('&').filter(|setting| !setting.is_empty()) {
            let Some((name, value)) = setting.split_once('=') else {
                return Err(SettingsError::Form { found: setting.to_owned() });
            };
            let Some(at) = NAMES.iter().position(|known| *known == name) else {
                return Err(Unknown::new("setting", name, NAMES).into());
            };
            let name = NAMES[at];
            let value = percent_decode_str(value)
                .decode_utf8()
                .map_err(|_| SettingsError::NotText { name })?;
            if value.is_empty() {
                return Err(SettingsError::Empty { name });
            }
            if found[at].replace(value.into_owned()).is_some() {
                return Err(SettingsError::Twice { name });
            }
        }
        let [key, passphrase_file, cipher, accel, module, page_bytes, anchor, counts_dir] = found;
        let key = key.ok_or(SettingsError::NoKey)?;
        if passphrase_file.is_some() && source::is_kmip(&key) {
            return Err(SettingsError::PassphraseFile { key });
        }
        let page_bytes = page_bytes.map(|text| page_bytes_of(&text)).transpose()?;
        let [passphrase_file, anchor, counts_dir] =
            [passphrase_file, anchor, counts_dir].map(|path| path.map(PathBuf::from));
        Ok(Self { key, passphrase_file, cipher, accel, module, page_bytes, anchor, counts_dir })
    }
}

/// Returns the part of the URI `text` after the question mark; all of it if it is not a URI.
fn query(text: &str) -> Result<&str, SettingsError> {
    let Some(rest) = text.strip_prefix(SCHEME) else { return Ok(text) };
    match rest.strip_prefix("://").unwrap_or(rest) {
        "" => Ok(""),
        rest => {
            rest.strip_prefix('?').ok_or_else(|| SettingsError::Form { found: text.to_owned() })
        }
    }
}

fn page_bytes_of(text: &str) -> Result<u32, SettingsError> {
    let bytes = text.parse::<ByteSize>().ok().and_then(|size| u32::try_from(size.as_u64()).ok());
    let fits =
        |bytes: &u32| bytes.is_power_of_two() && (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(bytes);
    bytes.filter(fits).ok_or_else(|| SettingsError::PageBytes { found: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Settings::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_uri_and_its_query_are_the_same_settings() {
        let all = "key=/k/a%20b%26c.key&passphrase_file=/p&cipher=aria-256&accel=portable&\
                   module=openssl:fips&page_bytes=16KiB&anchor=/a&counts_dir=/d";
        let settings = Settings::parse(all).unwrap();
        let want = Settings {
            key: "/k/a b&c.key".into(),
            passphrase_file: Some("/p".into()),
            cipher: Some("aria-256".into()),
            accel: Some("portable".into()),
            module: Some("openssl:fips".into()),
            page_bytes: Some(16384),
            anchor: Some("/a".into()),
            counts_dir: Some("/d".into()),
        };
        assert_eq!(settings, want);
        assert_eq!(Settings::parse(&format!("sealstone://?{all}")).unwrap(), want);
        let key = |text: &str| Settings::parse(text).unwrap().key;
        assert_eq!(key("sealstone://?key=kmip:kms.toml"), "kmip:kms.toml");
        assert_eq!(
            key("key=kmip://kms/orders?cert=/c.pem%26key=/k.pem%26ca=/a.pem"),
            "kmip://kms/orders?cert=/c.pem&key=/k.pem&ca=/a.pem"
        );
        assert_eq!(key("&key=x&"), "x");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for empty in ["", "sealstone", "sealstone://", "sealstone://?", "cipher=aes-256"] {
            assert_eq!(Settings::parse(empty), Err(SettingsError::NoKey), "{empty}");
        }
        assert_eq!(
            wrong("sealstone://?key=/a&ciper=aria-256"),
            "unknown setting \"ciper\"; did you mean cipher?\n\
             known settings: key, passphrase_file, cipher, accel, module, page_bytes, anchor, \
             counts_dir"
        );
        assert!(
            wrong("key=/a&passphrase=open sesame")
                .contains("\"passphrase\"; did you mean passphrase_file?")
        );
        assert!(!wrong("key=/a&passphrase=open sesame").contains("sesame"));
        assert!(
            wrong("key=kmip://h/k?cert=/c&key=/k&ca=/a")
                .contains("given twice\nwrite it once; in the address")
        );
        for form in ["sealstone:///etc/store.key", "sealstone://host/?key=/a", "/etc/store.key"] {
            assert!(wrong(form).starts_with("cannot read "), "{form}");
        }
        assert_eq!(Settings::parse("key=&cipher=x"), Err(SettingsError::Empty { name: "key" }));
        assert_eq!(Settings::parse("key=%ff"), Err(SettingsError::NotText { name: "key" }));
        for pages in ["5000", "512", "128KiB", "-1", "many", "99999999999999999999"] {
            assert!(
                wrong(&format!("key=/a&page_bytes={pages}"))
                    .contains("a power of two from 1024 to 65536")
            );
        }
        assert!(wrong("key=kmip:k.toml&passphrase_file=/p").contains("is on a key server"));
    }
}
