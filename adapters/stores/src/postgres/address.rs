//! Addresses as PostgreSQL's own programs take them: the server, the user, and the protection of
//! the connection.

use std::path::PathBuf;

use sealstone_message::Password;

use crate::address::unknown_parameter;
use crate::server_error::ServerError;
use crate::sql::{AddressForm, shown};

const FORM: AddressForm = AddressForm {
    server: "PostgreSQL",
    schemes: ["postgres", "postgresql"],
    port: 5432,
    words: "write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with ?sslmode=disable, prefer, \
            require, verify-ca or verify-full behind it",
};
/// Parameters that may follow the question mark.
const PARAMETERS: [&str; 7] =
    ["sslmode", "sslrootcert", "sslcert", "sslkey", "passfile", "application_name", "require_auth"];

/// Degree of protection of a connection, as set by `sslmode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SslMode {
    /// Not at all.
    Disable,
    /// By TLS if the server has it, with any server.
    #[default]
    Prefer,
    /// By TLS with any server.
    Require,
    /// By TLS with a certificate of a known authority, whatever its name.
    VerifyCa,
    /// By TLS with a certificate of a known authority for the host of the address.
    VerifyFull,
}

impl SslMode {
    const NAMES: [(&str, Self); 5] = [
        ("disable", Self::Disable),
        ("prefer", Self::Prefer),
        ("require", Self::Require),
        ("verify-ca", Self::VerifyCa),
        ("verify-full", Self::VerifyFull),
    ];
}

/// Location of a server, and how a client identifies itself.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<Password>,
    pub(super) database: Option<String>,
    /// Protection of the connection; absent: the address does not set it.
    pub(super) ssl_mode: Option<SslMode>,
    /// Authorities that the server's certificate is checked with.
    pub(super) authorities: Option<PathBuf>,
    /// Certificate of the client, and its key.
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    /// A file with passwords.
    pub(super) passwords: Option<PathBuf>,
    pub(super) application: Option<String>,
    /// True if the password may be given in the clear without TLS: `require_auth=password`.
    pub(super) may_be_clear: bool,
}

impl Address {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// [`ServerError::Address`], which does not quote a password.
    pub(super) fn parse(text: &str) -> Result<Self, ServerError> {
        let parts = FORM.parts(text)?;
        let mut address = Self {
            host: parts.host,
            port: parts.port,
            user: parts.user,
            password: parts.password,
            database: parts.database,
            ssl_mode: None,
            authorities: None,
            certificate: None,
            key: None,
            passwords: None,
            application: None,
            may_be_clear: false,
        };
        for (name, value) in parts.parameters {
            address.set(name, value).map_err(|found| FORM.wrong(text, found))?;
        }
        Ok(address)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "sslmode" => {
                let known = SslMode::NAMES.iter().find(|(known, _)| *known == value);
                self.ssl_mode = Some(
                    known
                        .ok_or(
                            "its sslmode is none of disable, prefer, require, verify-ca \
                             and verify-full",
                        )?
                        .1,
                );
            }
            "sslrootcert" => self.authorities = Some(value.into()),
            "sslcert" => self.certificate = Some(value.into()),
            "sslkey" => self.key = Some(value.into()),
            "passfile" => self.passwords = Some(value.into()),
            "application_name" => self.application = Some(value),
            "require_auth" if value == "password" => self.may_be_clear = true,
            "require_auth" => {
                return Err(
                    "its require_auth is not password, which is all that it can be here".into()
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

    /// Returns the password for this address in `text`, a file of lines
    /// `HOST:PORT:DATABASE:USER:PASSWORD`, in which a star is anything and a backslash takes the
    /// sense from what follows.
    pub(super) fn password_in(&self, text: &str) -> Option<Password> {
        let port = self.port.to_string();
        let user = self.user.as_deref().unwrap_or_default();
        let database = self.database.as_deref().unwrap_or(user);
        let wanted = [self.host.as_str(), &port, database, user];
        let matching = |line: &&str| {
            let fields = fields(line);
            fields.len() == 5
                && wanted.iter().zip(&fields).all(|(wanted, field)| field == "*" || field == wanted)
        };
        let line = text.lines().filter(|line| !line.starts_with('#')).find(matching)?;
        fields(line).pop().map(Password::from)
    }
}

/// Returns the five fields of a line of a password file; the last one has all that remains.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().expect("it has one").extend(letters.next()),
            letter => fields.last_mut().expect("it has one").push(letter),
        }
    }
    fields
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
        let one = Address::parse(
            "postgres://me:ge%3Aheim@db.example/shop?sslmode=verify-full&sslrootcert=a%20b",
        )
        .unwrap();
        assert_eq!(
            (one.shown().as_str(), one.database.as_deref()),
            ("db.example:5432", Some("shop"))
        );
        assert_eq!(
            (one.user.as_deref(), one.password.clone()),
            (Some("me"), Some("ge:heim".into()))
        );
        assert_eq!(
            (one.ssl_mode, one.authorities.clone()),
            (Some(SslMode::VerifyFull), Some("a b".into()))
        );
        assert!(!format!("{one:?}").contains("heim"));
        let bare = Address::parse("postgresql://[::1]:7").unwrap();
        assert_eq!((bare.shown().as_str(), bare.user, bare.ssl_mode), ("[::1]:7", None, None));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        assert!(fails("localhost:5432").contains("it has no scheme"));
        assert!(fails("mysql://u:geheim@h").contains("its scheme is mysql\nwrite postgres://"));
        assert!(
            fails("postgres://u:geheim@h:70000").contains("its port is not a number up to 65535")
        );
        assert!(fails("postgres://").contains("it names no host"));
        assert!(fails("postgres://u:geheim@a,b/d").contains("it names several hosts"));
        assert!(fails("postgres://u:geheim/geheim@h").contains("which is written %2F, %3F or %23"));
        assert!(fails("postgres://u:geheim?geheim@h").contains("which is written %2F, %3F or %23"));
        assert!(
            fails("postgres://u:geheim@h/d?sslmode=on").contains("its sslmode is none of disable")
        );
        assert!(fails("postgres://u:geheim@h/d?sslmod=require").contains("did you mean sslmode?"));
    }

    #[test]
    fn a_password_comes_from_the_line_for_its_address() {
        let address = Address::parse("postgres://me@h:7/d").unwrap();
        let found = |text: &str| address.password_in(text);
        assert_eq!(
            found("# h:7:d:me:x\nother:7:d:me:1\nh:*:*:me:a\\:b\\\\c:d\nh:7:d:me:late\n"),
            Some("a:b\\c:d".into())
        );
        assert_eq!(found("h:8:*:me:x\nh:7:d:you:x\nh:7:d:me\n"), None);
    }
}
