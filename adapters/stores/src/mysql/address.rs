//! Addresses of MySQL and MariaDB: the server, the user, and the protection of the connection.

use std::path::PathBuf;

use sealstone_message::Password;

use crate::address::unknown_parameter;
use crate::server_error::ServerError;
use crate::sql::{AddressForm, shown};

const FORM: AddressForm = AddressForm {
    server: "MySQL",
    schemes: ["mysql", "mariadb"],
    port: 3306,
    words: "write mysql://USER:PASSWORD@HOST:PORT/DATABASE, with ?ssl-mode=DISABLED, REQUIRED, \
            VERIFY_CA or VERIFY_IDENTITY behind it",
};
/// Parameters that may follow the question mark.
const PARAMETERS: [&str; 6] =
    ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "defaults-file", "get-server-public-key"];

/// Degree of protection of a connection, as set by `ssl-mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SslMode {
    /// Not at all.
    #[default]
    Disabled,
    /// By TLS with any server.
    Required,
    /// By TLS with a certificate of a known authority, whatever its name.
    VerifyCa,
    /// By TLS with a certificate of a known authority for the host of the address.
    VerifyIdentity,
}

impl SslMode {
    const NAMES: [(&str, Self); 4] = [
        ("DISABLED", Self::Disabled),
        ("REQUIRED", Self::Required),
        ("VERIFY_CA", Self::VerifyCa),
        ("VERIFY_IDENTITY", Self::VerifyIdentity),
    ];
}

/// Location of a server, and how a client identifies itself.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<Password>,
    pub(super) database: String,
    /// Protection of the connection; absent: the address does not set it.
    pub(super) ssl_mode: Option<SslMode>,
    /// Authorities that the server's certificate is checked with.
    pub(super) authorities: Option<PathBuf>,
    /// Certificate of the client, and its key.
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    /// A file of settings with the password.
    pub(super) settings: Option<PathBuf>,
    /// True if a password may be sent, without TLS, under a key that the server sends:
    /// `get-server-public-key=true`.
    pub(super) takes_server_key: bool,
}

impl Address {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// [`ServerError::Address`], which does not quote a password.
    pub(super) fn parse(text: &str) -> Result<Self, ServerError> {
        let wrong = |found: String| FORM.wrong(text, found);
        let parts = FORM.parts(text)?;
        let mut address = Self {
            host: parts.host,
            port: parts.port,
            user: parts.user,
            password: parts.password,
            database: parts.database.ok_or_else(|| wrong("it names no database".into()))?,
            ssl_mode: None,
            authorities: None,
            certificate: None,
            key: None,
            settings: None,
            takes_server_key: false,
        };
        for (name, value) in parts.parameters {
            address.set(name, value).map_err(wrong)?;
        }
        Ok(address)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "ssl-mode" => {
                let known =
                    SslMode::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(&value));
                self.ssl_mode = Some(
                    known
                        .ok_or(
                            "its ssl-mode is none of DISABLED, REQUIRED, VERIFY_CA and \
                             VERIFY_IDENTITY",
                        )?
                        .1,
                );
            }
            "ssl-ca" => self.authorities = Some(value.into()),
            "ssl-cert" => self.certificate = Some(value.into()),
            "ssl-key" => self.key = Some(value.into()),
            "defaults-file" => self.settings = Some(value.into()),
            "get-server-public-key" if value == "true" => self.takes_server_key = true,
            "get-server-public-key" => {
                return Err(
                    "its get-server-public-key is not true, which is all that it can be".into()
                );
            }
            _ => return Err(unknown_parameter(name, &PARAMETERS)),
        }
        Ok(())
    }

    /// Returns the host, without secrets.
    pub(super) fn shown(&self) -> String {
        shown(&self.host, self.port)
    }
}

/// Returns the password in `text`, a file of settings as MariaDB's own programs read them:
/// `password=…` below `[client]`, quoted or not.
pub(super) fn password_in(text: &str) -> Option<Password> {
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section == "[client]"
            && let Some((name, value)) = line.split_once('=')
            && name.trim() == "password"
        {
            let value = value.trim();
            let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            let mut password = String::new();
            let mut letters = inner.unwrap_or(value).chars();
            while let Some(letter) = letters.next() {
                password.extend(if letter == '\\' { letters.next() } else { Some(letter) });
            }
            return Some(password.into());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(text: &str) -> String {
        let Err(error) = Address::parse(text) else { panic!("{text} is an address") };
        let error = error.to_string();
        assert!(error.lines().count() == 2 && !error.contains("geheim"), "{error}");
        error
    }

    #[test]
    fn addresses_are_taken_apart() {
        let one =
            Address::parse("mysql://me:ge%3Aheim@db.example/shop?ssl-mode=verify_ca&ssl-ca=a%20b")
                .unwrap();
        assert_eq!((one.shown().as_str(), one.database.as_str()), ("db.example:3306", "shop"));
        assert_eq!((one.user.as_deref(), one.password), (Some("me"), Some("ge:heim".into())));
        assert_eq!((one.ssl_mode, one.authorities), (Some(SslMode::VerifyCa), Some("a b".into())));
        let bare = Address::parse("mariadb://[::1]:7/d").unwrap();
        assert_eq!((bare.shown().as_str(), bare.user, bare.ssl_mode), ("[::1]:7", None, None));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        assert!(fails("localhost:3306").contains("it has no scheme"));
        assert!(
            fails("postgres://u:geheim@h/d").contains("its scheme is postgres\nwrite mysql://")
        );
        assert!(
            fails("mysql://u:geheim@h:70000/d").contains("its port is not a number up to 65535")
        );
        assert!(fails("mysql:///d").contains("it names no host"));
        assert!(fails("mysql://u:geheim@h").contains("it names no database"));
        assert!(fails("mysql://u:geheim/geheim@h/d").contains("which is written %2F, %3F or %23"));
        assert!(
            fails("mysql://u:geheim@h/d?ssl-mode=on").contains("its ssl-mode is none of DISABLED")
        );
        assert!(fails("mysql://u:geheim@h/d?sslmode=x").contains("did you mean ssl-mode?"));
    }

    #[test]
    fn a_password_comes_from_the_settings_of_clients() {
        let text = "[server]\npassword=no\n[client]\nuser=me\npassword = \"a\\\"b\\\\\"\n";
        assert_eq!(password_in(text), Some("a\"b\\".into()));
        assert_eq!(password_in("[client]\npassword=plain\n"), Some("plain".into()));
        assert_eq!(password_in("[mysql]\npassword=no\n"), None);
    }
}
