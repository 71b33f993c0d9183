//! Address of a key: servers, certificates, the key's identifier, and how long to wait; from a URL
//! or a TOML file.
//!
//! ```text
//! kmip://kms1.example[:5696]/orders?cert=client.crt&key=client.pem&ca=ca.crt&server=kms2.example
//! kmip:/etc/sealstone/kmip.toml
//! ```

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use sealstone_message::{similar, suggestion};
use serde::Deserialize;

use super::KmipError;
use super::message::Version;

/// Port of KMIP (IANA).
pub(crate) const PORT: u16 = 5696;

/// Time limit of one step unless the address specifies another, in milliseconds: connecting, or one
/// request and its answer.
pub(crate) const TIMEOUT_MS: u64 = 5_000;

/// Number of times that all servers are tried again unless the address specifies another.
pub(crate) const RETRIES: u32 = 2;

/// Names of the parameters in an address.
const PARAMETERS: [&str; 8] =
    ["cert", "key", "ca", "server", "name", "timeout_ms", "retries", "version"];

/// The longest allowed step, in milliseconds.
const TIMEOUT_MS_MAX: u64 = 600_000;

/// The most retries allowed.
const RETRIES_MAX: u32 = 20;

/// Most servers in one address.
const SERVERS_MAX: usize = 16;

/// Longest address file, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// A server: host name or IP address, and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Host name or IP address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Everything that is needed to request a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Unique identifier or name of the key; `None` if the servers as such are meant.
    pub key_id: Option<String>,
    /// Servers that hold the same keys, in the order in which they are tried; at least one.
    pub servers: Vec<Server>,
    /// Client certificate with its chain, PEM.
    pub cert: PathBuf,
    /// Private key of the client certificate, PEM.
    pub key: PathBuf,
    /// Certificates of the authorities that vouch for the servers, PEM.
    pub ca: PathBuf,
    /// Name in the servers' certificates, if it is not the host.
    pub server_name: Option<String>,
    /// Time limit for connecting, or for one request and its answer.
    pub timeout: Duration,
    /// Number of times that all servers are tried again, for requests that may be repeated.
    pub retries: u32,
    /// Version of the protocol to speak; `None` to query the server.
    pub version: Option<Version>,
}

impl Address {
    /// Reads an address: a URL `kmip://…`, or `kmip:` and the path of a TOML file.
    ///
    /// # Errors
    /// [`KmipError::Address`] with the mistake in it; [`KmipError::Read`] if the TOML file cannot
    /// be read.
    pub fn parse(text: &str) -> Result<Self, KmipError> {
        if let Some(rest) = text.strip_prefix("kmip://") {
            return Self::from_url(rest);
        }
        match text.strip_prefix("kmip:") {
            Some(path) if !path.is_empty() => Self::from_file(Path::new(path)),
            _ => Err(wrong("it does not begin with kmip:".into())),
        }
    }

    /// Returns the key that it names: a unique identifier or a name.
    ///
    /// # Errors
    /// [`KmipError::Address`] if it names none.
    pub fn key(&self) -> Result<&str, KmipError> {
        self.key_id.as_deref().ok_or_else(|| KmipError::Address {
            found: "it names no key: write it after the server, kmip://HOST/KEY, or as key_id in \
                    the file"
                .into(),
        })
    }

    /// Returns the servers in words: `127.0.0.1:5696` or `127.0.0.1:5696 (or 2 others)`.
    #[must_use]
    pub fn place(&self) -> String {
        let first = &self.servers[0];
        match self.servers.len() - 1 {
            0 => first.to_string(),
            1 => format!("{first} (or {})", self.servers[1]),
            others => format!("{first} (or {others} others)"),
        }
    }

    fn from_url(rest: &str) -> Result<Self, KmipError> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (first, key_id) = place.split_once('/').unwrap_or((place, ""));
        let mut read = Body {
            key_id: Some(decoded(key_id)?),
            servers: vec![first.to_owned()],
            ..Body::default()
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong("one of its parameters has no =".into()))?;
            let value = decoded(value)?;
            let number =
                |what| value.parse().map_err(|_| wrong(format!("{what} is not a whole number")));
            let seen = match name {
                "server" => {
                    read.servers.push(value);
                    continue;
                }
                "cert" => read.cert.replace(value.into()).is_some(),
                "key" => read.key.replace(value.into()).is_some(),
                "ca" => read.ca.replace(value.into()).is_some(),
                "name" => read.server_name.replace(value).is_some(),
                "timeout_ms" => read.timeout_ms.replace(number("timeout_ms")?).is_some(),
                "retries" => read.retries.replace(number("retries")?).is_some(),
                "version" => read.version.replace(value).is_some(),
                other => {
                    let meant = suggestion(similar(other, PARAMETERS).unwrap_or_default());
                    // it is not quoted: in an address that was written wrong it can be a piece of a
                    // secret
                    return Err(wrong(format!(
                        "one of its parameters is none of {}{meant}",
                        PARAMETERS.join(", ")
                    )));
                }
            };
            if seen {
                return Err(wrong(format!("{name} is given twice")));
            }
        }
        read.checked(Path::new(""))
    }

    fn from_file(path: &Path) -> Result<Self, KmipError> {
        let io_error =
            |source| KmipError::Read { what: "KMIP address file", path: path.to_owned(), source };
        let bytes = std::fs::metadata(path).map_err(io_error)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(wrong(format!(
                "{} has {bytes} bytes, at most {FILE_BYTES_MAX} are read",
                path.display()
            )));
        }
        // it names the server that is queried for keys
        let text = sealstone_file::trust::read_to_string(path).map_err(io_error)?;
        let read: Body = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            wrong(format!("{}, line {line}: {}", path.display(), error.message()))
        })?;
        read.checked(path.parent().unwrap_or(Path::new("")))
    }
}

/// Contents of an address, before anything is checked. The names are the same as in the TOML file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    key_id: Option<String>,
    #[serde(default)]
    servers: Vec<String>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    ca: Option<PathBuf>,
    server_name: Option<String>,
    timeout_ms: Option<u64>,
    retries: Option<u64>,
    version: Option<String>,
}

impl Body {
    /// Checks everything; relative paths begin at `folder`.
    fn checked(self, folder: &Path) -> Result<Address, KmipError> {
        if self.servers.is_empty() || self.servers.len() > SERVERS_MAX {
            return Err(wrong(format!(
                "it names {} servers, 1 to {SERVERS_MAX} are allowed",
                self.servers.len()
            )));
        }
        let servers =
            self.servers.iter().map(|text| server(text)).collect::<Result<Vec<_>, _>>()?;
        let file = |path: Option<PathBuf>, name: &str, what: &str| match path {
            Some(path) if !path.as_os_str().is_empty() => Ok(folder.join(path)),
            _ => Err(wrong(format!("it names no {what}: {name}= is missing"))),
        };
        let timeout_ms = self.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(1..=TIMEOUT_MS_MAX).contains(&timeout_ms) {
            return Err(wrong(format!(
                "timeout_ms={timeout_ms}, 1 to {TIMEOUT_MS_MAX} are allowed"
            )));
        }
        let retries = match u32::try_from(self.retries.unwrap_or(RETRIES.into())) {
            Ok(retries) if retries <= RETRIES_MAX => retries,
            _ => return Err(wrong(format!("more retries than {RETRIES_MAX}"))),
        };
        let version = match self.version {
            None => None,
            Some(text) => Some(Version::parse(&text).ok_or_else(|| {
                let known: Vec<String> = Version::KNOWN.iter().map(Version::to_string).collect();
                wrong(format!("its version is none of {}", known.join(", ")))
            })?),
        };
        Ok(Address {
            key_id: self.key_id.filter(|id| !id.is_empty()),
            servers,
            cert: file(self.cert, "cert", "client certificate")?,
            key: file(self.key, "key", "private key of the client certificate")?,
            ca: file(self.ca, "ca", "certificate authority")?,
            server_name: self.server_name,
            timeout: Duration::from_millis(timeout_ms),
            retries,
            version,
        })
    }
}

fn wrong(found: String) -> KmipError {
    KmipError::Address { found }
}

/// `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. Any other text is not quoted, since it can hold
/// a password.
fn server(text: &str) -> Result<Server, KmipError> {
    let bad = || wrong("a server in it is not HOST or HOST:PORT".into());
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(bad)?;
            (
                host,
                if after.is_empty() {
                    None
                } else {
                    Some(after.strip_prefix(':').ok_or_else(bad)?)
                },
            )
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Ok(PORT), str::parse).map_err(|_| bad())?;
    let host_ok =
        !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-_.:%".contains(c));
    if !host_ok || port == 0 {
        return Err(bad());
    }
    Ok(Server { host: host.to_owned(), port })
}

fn decoded(text: &str) -> Result<String, KmipError> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| wrong("a part of it is not UTF-8".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &str = "cert=c.pem&key=k.pem&ca=ca.pem";

    fn refusal(text: &str) -> String {
        let error = Address::parse(text).unwrap_err().to_string();
        error.lines().next().unwrap().replace("not the address of a KMIP server: ", "")
    }

    #[test]
    fn a_url_says_it_all() {
        let text = format!(
            "kmip://kms1/orders%2f2?{FILES}&server=kms2:7&server=[::1]:8&name=kms&timeout_ms=250&\
             retries=0&version=1.4"
        );
        let address = Address::parse(&text).unwrap();
        let servers: Vec<String> = address.servers.iter().map(Server::to_string).collect();
        assert_eq!(servers, ["kms1:5696", "kms2:7", "[::1]:8"]);
        assert_eq!(address.key_id.as_deref(), Some("orders/2"));
        assert_eq!(address.place(), "kms1:5696 (or 2 others)");
        assert_eq!((address.timeout, address.retries), (Duration::from_millis(250), 0));
        assert_eq!(address.version.unwrap().to_string(), "1.4");
        assert_eq!(address.server_name.as_deref(), Some("kms"));

        let address = Address::parse(&format!("kmip://kms1?{FILES}")).unwrap();
        assert_eq!((address.key_id, address.version), (None, None));
        assert_eq!(
            (address.timeout, address.retries),
            (Duration::from_millis(TIMEOUT_MS), RETRIES)
        );
    }

    #[test]
    fn a_file_means_the_same_with_paths_relative_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kmip.toml");
        let text = "key_id = 'orders'\nservers = ['kms1', 'kms2:7']\ncert = 'c.pem'\nkey = \
                    '/etc/k.pem'\nca = 'ca.pem'\n\
                    timeout_ms = 100\n";
        std::fs::write(&path, text).unwrap();
        let address = Address::parse(&format!("kmip:{}", path.display())).unwrap();
        assert_eq!(address.cert, dir.path().join("c.pem"));
        assert_eq!(address.key, Path::new("/etc/k.pem"));
        assert_eq!(address.servers[1].to_string(), "kms2:7");
        std::fs::write(&path, format!("{text}\ntimeout = 3\n")).unwrap();
        let error = refusal(&format!("kmip:{}", path.display()));
        assert!(error.contains("kmip.toml, line 8: unknown field `timeout`"), "{error}");
    }

    #[test]
    fn whatever_is_wrong_is_named() {
        assert_eq!(refusal("kms1:5696"), "it does not begin with kmip:");
        assert_eq!(
            refusal("kmip://kms1/k?cert=c&ca=a"),
            "it names no private key of the client certificate: key= is missing"
        );
        assert_eq!(
            refusal(&format!("kmip://kms1:x/k?{FILES}")),
            "a server in it is not HOST or HOST:PORT"
        );
        assert_eq!(
            refusal(&format!("kmip:///k?{FILES}")),
            "a server in it is not HOST or HOST:PORT"
        );
        assert_eq!(refusal(&format!("kmip://a/k?{FILES}&cert=d")), "cert is given twice");
        assert_eq!(
            refusal(&format!("kmip://a/k?{FILES}&timeout_ms=x")),
            "timeout_ms is not a whole number"
        );
        assert_eq!(
            refusal(&format!("kmip://a/k?{FILES}&timeout_ms=0")),
            "timeout_ms=0, 1 to 600000 are allowed"
        );
        assert_eq!(refusal(&format!("kmip://a/k?{FILES}&retries=21")), "more retries than 20");
        assert_eq!(
            refusal(&format!("kmip://a/k?{FILES}&version=1.1")),
            "its version is none of 2.1, 2.0, 1.4, 1.3, 1.2"
        );
        assert_eq!(
            refusal(&format!("kmip://a/k?{FILES}&tls=off")),
            "one of its parameters is none of cert, key, ca, server, name, timeout_ms, retries, \
             version"
        );
        let refused = refusal(&format!("kmip://a/k?{FILES}&timeout=5"));
        assert!(refused.ends_with("; did you mean timeout_ms?"), "{refused}");
    }
}
