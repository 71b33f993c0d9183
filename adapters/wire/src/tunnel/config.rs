//! Configuration of a tunnel: a file in TOML, and the flags that override it.
//!
//! ```toml
//! # /etc/sealstone/wire.toml
//! key = "/etc/sealstone/wire.key"
//! peer = "203.0.113.7"
//! address = ["10.9.0.1/24", "fd00:9::1/64"]
//! route = ["10.20.0.0/16"]
//! suite = "aes-256-gcm"
//! ```

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sealstone_seal::esp::udp::PORT;
use sealstone_seal::esp::{Suite, suite};
use serde::{Deserialize, Serialize};

use super::guard::Guard;
use crate::net::Net;

/// Name of the device, unless another is given.
pub const DEFAULT_NAME: &str = "sealstone0";
/// The suite, unless another is given.
const DEFAULT_SUITE: &str = "aes-256-gcm";
/// Seconds after which keys are renewed, unless another time is given.
const DEFAULT_REKEY_AFTER_S: u64 = 3600;
/// Longest name of a network device, in bytes.
const NAME_BYTES_MAX: usize = 15;

/// Settings that a file or flags give; an absent setting is given elsewhere, or has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Name of the tunnel and of its device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The key file, or `kmip:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// File with the passphrase of the key file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passphrase_file: Option<PathBuf>,
    /// File with associations that others agreed on, instead of a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub associations: Option<PathBuf>,
    /// Directory in which it is recorded how far their keys have gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<PathBuf>,
    /// Address of the other end: `HOST` or `HOST:PORT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Address at which this end receives: `ADDRESS`, `ADDRESS:PORT` or `:PORT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Addresses of this end within the tunnel, with the lengths of their prefixes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub address: Vec<String>,
    /// Networks behind the other end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// Name of the suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Seconds after which keys are renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rekey_after_s: Option<u64>,
    /// True if packets that should go through the tunnel go nowhere while it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<bool>,
}

/// Checked settings that a tunnel needs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Name of the tunnel and of its device.
    pub name: String,
    /// Source of the tunnel's keys.
    pub keys: Keys,
    /// Host and port of the other end, if it was named.
    pub peer: Option<(String, u16)>,
    /// Address at which this end receives, if one was given.
    pub listen: Option<SocketAddr>,
    /// Its addresses within the tunnel.
    pub addresses: Vec<Net>,
    /// Networks behind the other end.
    pub routes: Vec<Net>,
    /// Guard that stays when the tunnel is gone, if requested.
    pub guard: Option<Guard>,
}

/// Source of the keys of a tunnel.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Both ends agree on them, by a key that they share.
    Agreed(AgreedKeys),
    /// Other programs did.
    Manual(ManualKeys),
}

/// Settings for agreeing on keys.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgreedKeys {
    /// The key file, or `kmip:…`.
    pub key: String,
    /// File with the passphrase of the key file.
    pub passphrase_file: Option<PathBuf>,
    /// Suite that seals packets.
    pub suite: &'static Suite,
    /// Time for which keys are used.
    pub rekey_after: Duration,
}

/// Settings for using keys that others agreed on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ManualKeys {
    /// File with the associations.
    pub file: PathBuf,
    /// Directory of the records of how far keys have gone; absent: that of this user.
    pub state_dir: Option<PathBuf>,
}

/// Error in a configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {found}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        found: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("the configuration {} is wrong: {found}\nits settings are those of: sealstone wire up \
             --help",
            path.display())]
    Garbled {
        /// The file.
        path: PathBuf,
        /// Description of the fault of the file.
        found: String,
    },
    /// Something that has no default.
    #[error("no {what}\n{next}")]
    Missing {
        /// Name of the missing setting.
        what: &'static str,
        /// Advice on how to give it.
        next: &'static str,
    },
    /// A value that is none.
    #[error("{setting} {value:?}: {found}\n{next}")]
    Bad {
        /// Setting that the value was given for.
        setting: &'static str,
        /// The value.
        value: String,
        /// Description of the fault of the value.
        found: String,
        /// Description of what would be right.
        next: &'static str,
    },
    /// The suite does not exist.
    #[error(transparent)]
    Suite(#[from] sealstone_message::Unknown),
}

impl Plan {
    /// Address at which this end receives unless another one was given: all addresses of IPv4, the
    /// port of ESP.
    pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT);
}

impl Config {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`], [`ConfigError::Garbled`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = sealstone_file::trust::read_given_to_string(path)
            .map_err(|found| ConfigError::Unreadable { path: path.to_owned(), found })?;
        toml::from_str(&text).map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
            let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            ConfigError::Garbled {
                path: path.to_owned(),
                found: format!("{place}{}", error.message()),
            }
        })
    }

    /// Returns these settings, completed by the settings of `below`.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        let list = |own: Vec<String>, below: Vec<String>| if own.is_empty() { below } else { own };
        Self {
            name: self.name.or(below.name),
            key: self.key.or(below.key),
            passphrase_file: self.passphrase_file.or(below.passphrase_file),
            associations: self.associations.or(below.associations),
            state_dir: self.state_dir.or(below.state_dir),
            peer: self.peer.or(below.peer),
            listen: self.listen.or(below.listen),
            address: list(self.address, below.address),
            route: list(self.route, below.route),
            suite: self.suite.or(below.suite),
            rekey_after_s: self.rekey_after_s.or(below.rekey_after_s),
            guard: self.guard.or(below.guard),
        }
    }

    /// Checks the settings, and fills in defaults.
    ///
    /// # Errors
    /// All but the first two of [`ConfigError`].
    pub fn plan(self) -> Result<Plan, ConfigError> {
        let keys = self.keys()?;
        let (name, addresses, routes) = self.inside()?;
        Ok(Plan {
            guard: self.guard.unwrap_or(true).then(|| Guard::new(&name, &addresses, &routes)),
            name,
            keys,
            peer: self.peer.as_deref().map(parse_peer).transpose()?,
            listen: self.listen.as_deref().map(parse_listen).transpose()?,
            addresses,
            routes,
        })
    }

    /// Checks the settings of the guard that stays when the tunnel is gone, and its name; settings
    /// of keys do not matter.
    ///
    /// # Errors
    /// [`ConfigError::Missing`], [`ConfigError::Bad`].
    pub fn guard(&self) -> Result<(String, Guard), ConfigError> {
        let (name, addresses, routes) = self.inside()?;
        let guard = Guard::new(&name, &addresses, &routes);
        Ok((name, guard))
    }

    /// Returns the name, addresses and routes.
    fn inside(&self) -> Result<(String, Vec<Net>, Vec<Net>), ConfigError> {
        let name = self.name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned());
        check_name(&name)?;
        if self.address.is_empty() {
            let next = "give this end one within the tunnel, such as 10.9.0.1/24";
            return Err(ConfigError::Missing { what: "address", next });
        }
        let nets = |setting, values: &[String]| -> Result<Vec<Net>, ConfigError> {
            values.iter().map(|value| parse_net(setting, value)).collect()
        };
        let (addresses, routes) = (nets("address", &self.address)?, nets("route", &self.route)?);
        Ok((name, addresses, routes))
    }

    /// Returns the source of the keys: one of the two ways, with the settings that belong to it.
    fn keys(&self) -> Result<Keys, ConfigError> {
        let bad = |setting, value: String, found: &str, next| {
            Err(ConfigError::Bad { setting, value, found: found.to_owned(), next })
        };
        if let Some(file) = &self.associations {
            let rekey_after = self.rekey_after_s.map(|seconds| seconds.to_string());
            let passphrase = self.passphrase_file.as_ref().map(|path| path.display().to_string());
            let others = [
                ("key", self.key.clone()),
                ("passphrase-file", passphrase),
                ("suite", self.suite.clone()),
                ("rekey-after-s", rekey_after),
            ];
            return match others.into_iter().find_map(|(setting, value)| Some((setting, value?))) {
                Some((setting, value)) => bad(
                    setting,
                    value,
                    "the associations of the file have keys and a suite already",
                    "leave it out, or leave associations out",
                ),
                None => Ok(Keys::Manual(ManualKeys {
                    file: file.clone(),
                    state_dir: self.state_dir.clone(),
                })),
            };
        }
        if let Some(dir) = &self.state_dir {
            let (value, found) =
                (dir.display().to_string(), "it is for associations that others agreed on");
            return bad(
                "state-dir",
                value,
                found,
                "leave it out, or name the file of the associations",
            );
        }
        let suite = suite(self.suite.as_deref().unwrap_or(DEFAULT_SUITE))?;
        let next = "give both ends the same; make one with: sealstone keys new wire.key";
        let key = self.key.clone().ok_or(ConfigError::Missing { what: "key", next })?;
        let rekey_after_s = self.rekey_after_s.unwrap_or(DEFAULT_REKEY_AFTER_S);
        if !(10..=86_400).contains(&rekey_after_s) {
            let found = "it is not between 10 seconds and a day";
            return bad("rekey-after-s", rekey_after_s.to_string(), found, "3600 is an hour");
        }
        let (passphrase_file, rekey_after) =
            (self.passphrase_file.clone(), Duration::from_secs(rekey_after_s));
        Ok(Keys::Agreed(AgreedKeys { key, passphrase_file, suite, rekey_after }))
    }
}

/// Checks that a device and files may be called `name`.
///
/// # Errors
/// [`ConfigError::Bad`].
pub fn check_name(name: &str) -> Result<(), ConfigError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(plain)
        && !name.starts_with('.')
    {
        return Ok(());
    }
    let found = "no name for a network device".into();
    let next = "up to 15 letters, digits, - _ and ., such as sealstone0";
    Err(ConfigError::Bad { setting: "name", value: name.to_owned(), found, next })
}

fn parse_net(setting: &'static str, value: &str) -> Result<Net, ConfigError> {
    let next = "such as 10.9.0.1/24 or fd00:9::1/64";
    value.parse().map_err(|found| ConfigError::Bad {
        setting,
        value: value.to_owned(),
        found,
        next,
    })
}

fn parse_port(setting: &'static str, value: &str, port: &str) -> Result<u16, ConfigError> {
    port.parse().ok().filter(|port: &u16| *port > 0).ok_or_else(|| {
        let found = format!("{port} is no port");
        ConfigError::Bad {
            setting,
            value: value.to_owned(),
            found,
            next: "ports are 1 to 65535; 4500 is that of ESP",
        }
    })
}

/// Returns the host and port; an IPv6 address with a port is in brackets.
fn parse_peer(value: &str) -> Result<(String, u16), ConfigError> {
    let plain = |host: &str, port| Ok((host.trim_matches(['[', ']']).to_owned(), port));
    if value.parse::<IpAddr>().is_ok() || value.ends_with(']') {
        return plain(value, PORT);
    }
    match value.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => plain(host, parse_port("peer", value, port)?),
        None if !value.is_empty() => plain(value, PORT),
        _ => {
            let next = "such as 203.0.113.7, db2.example:4500 or [2001:db8::7]:4500";
            let found = "it names no host".into();
            Err(ConfigError::Bad { setting: "peer", value: value.to_owned(), found, next })
        }
    }
}

fn parse_listen(value: &str) -> Result<SocketAddr, ConfigError> {
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    if let Some(port) = value.strip_prefix(':').filter(|port| !port.contains(':')) {
        return Ok((any, parse_port("listen", value, port)?).into());
    }
    if let Ok(address) = value.parse::<SocketAddr>() {
        return Ok(address);
    }
    let address = value.trim_matches(['[', ']']).parse::<IpAddr>().map_err(|_| {
        let next = "an address of this machine, such as 0.0.0.0, 192.0.2.1:4500 or [::]:4500";
        ConfigError::Bad {
            setting: "listen",
            value: value.to_owned(),
            found: "it is no address".into(),
            next,
        }
    })?;
    Ok((address, PORT).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            key: Some("wire.key".into()),
            address: vec!["10.9.0.1/24".into()],
            ..Config::default()
        }
    }

    #[test]
    fn defaults_are_filled_in() {
        let plan = config().plan().unwrap();
        let Keys::Agreed(agreed) = &plan.keys else { panic!("{plan:?}") };
        assert_eq!(
            (plan.name.as_str(), agreed.suite.name, plan.peer),
            (DEFAULT_NAME, DEFAULT_SUITE, None)
        );
        assert_eq!((plan.listen, Plan::LISTEN), (None, "0.0.0.0:4500".parse().unwrap()));
        assert_eq!(plan.addresses[0].to_string(), "10.9.0.1/24");
    }

    #[test]
    fn every_setting_is_in_the_page_of_formats() {
        let text = || Some(String::new());
        let path = || Some(PathBuf::new());
        let full = Config {
            name: text(),
            key: text(),
            passphrase_file: path(),
            associations: path(),
            state_dir: path(),
            peer: text(),
            listen: text(),
            address: vec![String::new()],
            route: vec![String::new()],
            suite: text(),
            rekey_after_s: Some(1),
            guard: Some(true),
        };
        let page = include_str!("../../../../docs/formats.md");
        for setting in toml::Table::try_from(full).unwrap().keys() {
            assert!(page.contains(&format!("| `{setting}` | ")), "{setting}");
        }
    }

    /// A FIFO without a writer would let a reader wait for ever.
    #[test]
    fn settings_are_not_read_from_a_fifo() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("wire.toml");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let error = Config::read(&fifo).unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
    }

    #[test]
    fn flags_come_before_the_file() {
        let dir =
            std::env::temp_dir().join(format!("sealstone-wire-config-{}", std::process::id()));
        std::fs::write(&dir, "suite = \"aria-256-gcm\"\npeer = \"b\"\nroute = [\"10.0.0.0/8\"]\n")
            .unwrap();
        let file = Config::read(&dir).unwrap();
        std::fs::write(&dir, "\nsuit = \"aria-256-gcm\"\n").unwrap();
        let error = Config::read(&dir).unwrap_err().to_string();
        std::fs::remove_file(&dir).unwrap();
        assert!(error.contains("line 2: unknown field `suit`"), "{error}");
        let flags = Config { suite: Some("3des-md5".into()), ..config() };
        let both = flags.over(file);
        assert_eq!((both.suite.as_deref(), both.peer.as_deref()), (Some("3des-md5"), Some("b")));
        assert_eq!(both.route, ["10.0.0.0/8"]);
        assert_eq!(toml::from_str::<Config>(&toml::to_string(&both).unwrap()).unwrap(), both);
    }

    #[test]
    fn peers_and_addresses_are_read() {
        for (text, host, port) in [
            ("203.0.113.7", "203.0.113.7", 4500),
            ("db2.example:4501", "db2.example", 4501),
            ("2001:db8::7", "2001:db8::7", 4500),
            ("[2001:db8::7]:99", "2001:db8::7", 99),
            ("[2001:db8::7]", "2001:db8::7", 4500),
        ] {
            assert_eq!(parse_peer(text).unwrap(), (host.to_owned(), port), "{text}");
        }
        for (text, want) in [
            (":99", "0.0.0.0:99"),
            ("192.0.2.1", "192.0.2.1:4500"),
            ("[::]:7", "[::]:7"),
            ("::", "[::]:4500"),
        ] {
            assert_eq!(parse_listen(text).unwrap(), want.parse().unwrap(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        type Change = fn(&mut Config);
        let cases: [(Change, &str); 11] = [
            (
                |config| config.associations = Some("log".into()),
                "key \"wire.key\": the associations of the file have",
            ),
            (
                |config| config.state_dir = Some("dir".into()),
                "state-dir \"dir\": it is for associations that others",
            ),
            (|config| config.key = None, "no key\n"),
            (|config| config.address.clear(), "no address\n"),
            (
                |config| config.address = vec!["10.9.0.1".into()],
                "address \"10.9.0.1\": it lacks the length",
            ),
            (|config| config.address = vec!["10.9.0.1/33".into()], "not between 0 and 32"),
            (|config| config.route = vec!["net/8".into()], "route \"net/8\": net is no IP address"),
            (|config| config.suite = Some("aes-256-gmc".into()), "did you mean aes-256-gcm?"),
            (|config| config.peer = Some("b:0".into()), "peer \"b:0\": 0 is no port"),
            (
                |config| config.name = Some("a/b".into()),
                "name \"a/b\": no name for a network device",
            ),
            (|config| config.rekey_after_s = Some(1), "rekey-after-s \"1\": it is not between"),
        ];
        for (change, want) in cases {
            let mut wrong = config();
            change(&mut wrong);
            let error = wrong.plan().unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}
