//! Addresses of keys in tokens: PKCS #11 URIs (RFC 7512) with the attributes that name one key and
//! the library that reaches it, `pkcs11:token=prod;object=orders?module-path=/usr/lib/hsm.so`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use sealstone_message::{SettingName, Unknown};

use super::error::TokenError;

/// Scheme of these addresses.
const SCHEME: &str = "pkcs11:";
/// Longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 512;
/// Attributes that name a key.
const ATTRIBUTES: [&str; 6] = ["token", "serial", "slot-id", "object", "id", "type"];

/// The address of one key in one token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenAddress {
    /// The address as it was given.
    text: String,
    /// Label of the token.
    pub(super) token: Option<String>,
    /// Serial number of the token.
    pub(super) serial: Option<String>,
    /// Number of the slot that the token is in.
    pub(super) slot: Option<u64>,
    /// Label of the key.
    pub(super) object: Option<String>,
    /// Id of the key.
    pub(super) id: Option<Vec<u8>>,
    /// The library that reaches the token, an absolute path.
    pub(super) library: PathBuf,
}

impl TokenAddress {
    /// Returns the name of the token for people: its label, serial number or slot.
    #[must_use]
    pub fn token_name(&self) -> String {
        match (&self.token, &self.serial, self.slot) {
            (Some(label), ..) => label.clone(),
            (None, Some(serial), _) => format!("with serial number {serial}"),
            (None, None, Some(slot)) => format!("in slot {slot}"),
            (None, None, None) => "of that library".into(),
        }
    }

    /// Returns the name of the key for people: its label, or its id in hexadecimal digits.
    #[must_use]
    pub fn key_name(&self) -> String {
        match (&self.object, &self.id) {
            (Some(label), _) => label.clone(),
            (None, Some(id)) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
            (None, None) => "without a name".into(),
        }
    }

    /// Takes one attribute of the path.
    fn take(&mut self, name: &str, value: &str) -> Result<(), TokenError> {
        let bytes: Vec<u8> = percent_decode_str(value).collect();
        let text = || {
            String::from_utf8(bytes.clone())
                .map_err(|_| bad(format!("the value of {name} is not UTF-8")))
        };
        match name {
            "token" => once(&mut self.token, name, text()?),
            "serial" => once(&mut self.serial, name, text()?),
            "object" => once(&mut self.object, name, text()?),
            "slot-id" => {
                let slot = text()?.parse().map_err(|_| bad(format!("slot-id={value}")))?;
                once(&mut self.slot, name, slot)
            }
            "type" if value == "secret-key" => Ok(()),
            "type" => Err(bad(format!("a key of type {value}; only secret-key can be one"))),
            "id" => once(&mut self.id, name, bytes),
            other => {
                let unknown = Unknown::new("attribute", other, ATTRIBUTES).to_string();
                Err(bad(unknown.replace('\n', "; ")))
            }
        }
    }

    /// Takes one attribute of the query.
    fn take_query(&mut self, name: &str, value: &str) -> Result<(), TokenError> {
        match name {
            "module-path" => {
                let path: Vec<u8> = percent_decode_str(value).collect();
                let path = String::from_utf8(path)
                    .map_err(|_| bad("module-path is not UTF-8".to_owned()))?;
                if !self.library.as_os_str().is_empty() {
                    return Err(bad("module-path is there twice".to_owned()));
                }
                if !Path::new(&path).is_absolute() {
                    return Err(bad(format!("module-path {path} is not an absolute path")));
                }
                self.library = path.into();
                Ok(())
            }
            "pin-value" | "pin-source" => Err(bad(format!(
                "{name}: the PIN comes from a prompt, or from the file that {} names",
                SettingName("passphrase-file")
            ))),
            other => {
                let unknown = Unknown::new("attribute", other, ["module-path"]).to_string();
                Err(bad(unknown.replace('\n', "; ")))
            }
        }
    }
}

fn bad(found: String) -> TokenError {
    TokenError::Address { found }
}

fn once<T>(place: &mut Option<T>, name: &str, value: T) -> Result<(), TokenError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(bad(format!("{name} is there twice"))),
    }
}

impl FromStr for TokenAddress {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let Some(rest) = text.strip_prefix(SCHEME) else {
            return Err(bad(format!("it does not begin with {SCHEME}")));
        };
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(bad(format!("more than {ADDRESS_BYTES_MAX} bytes")));
        }
        // it is written into key files, and printed
        if let Some(other) = text.chars().find(|c| !c.is_ascii_graphic() || "\"\\".contains(*c)) {
            return Err(bad(format!("{other:?} in it is to be written as %XX")));
        }
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut address = Self {
            text: text.to_owned(),
            token: None,
            serial: None,
            slot: None,
            object: None,
            id: None,
            library: PathBuf::new(),
        };
        for part in path.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            address.take(name, value)?;
        }
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            address.take_query(name, value)?;
        }
        if address.object.is_none() && address.id.is_none() {
            return Err(bad("no key: it has neither object=LABEL nor id=%XX".to_owned()));
        }
        if address.token.is_none() && address.serial.is_none() && address.slot.is_none() {
            return Err(bad("no token: none of token=LABEL, serial=NUMBER, slot-id=N".to_owned()));
        }
        if address.library.as_os_str().is_empty() {
            return Err(bad("no library: it lacks ?module-path=/PATH/OF/LIBRARY.so".to_owned()));
        }
        Ok(address)
    }
}

impl fmt::Display for TokenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_key() {
        let text =
            "pkcs11:token=My%20HSM;object=orders;type=secret-key;id=%01%ab?module-path=/l.so";
        let address: TokenAddress = text.parse().unwrap();
        assert_eq!(address.token.as_deref(), Some("My HSM"));
        assert_eq!(address.object.as_deref(), Some("orders"));
        assert_eq!(address.id.as_deref(), Some(&[1, 0xab][..]));
        assert_eq!(address.library, Path::new("/l.so"));
        assert_eq!(address.to_string(), text);
        let by_slot: TokenAddress = "pkcs11:slot-id=17;id=%0f?module-path=/l.so".parse().unwrap();
        assert_eq!((by_slot.slot, by_slot.key_name().as_str()), (Some(17), "0f"));
    }

    #[test]
    fn what_names_no_key_is_refused_with_the_reason() {
        for (text, wanted) in [
            ("orders.key", "does not begin with pkcs11:"),
            ("pkcs11:token=a?module-path=/l", "no key"),
            ("pkcs11:object=a?module-path=/l", "no token"),
            ("pkcs11:token=a;object=b", "no library"),
            ("pkcs11:token=a;object=b?module-path=l.so", "not an absolute path"),
            ("pkcs11:token=a;object=b;object=c?module-path=/l", "object is there twice"),
            ("pkcs11:token=a;objekt=b?module-path=/l", "did you mean object?"),
            ("pkcs11:token=a;object=b;type=private?module-path=/l", "type private"),
            ("pkcs11:token=a;object=b?module-path=/l&pin-source=/p", "passphrase-file"),
            ("pkcs11:token=a;object=b?module-path=/l&pin-value=17", "passphrase-file"),
            ("pkcs11:token=a b;object=b?module-path=/l", "' ' in it"),
            ("pkcs11:slot-id=x;object=b?module-path=/l", "slot-id=x"),
        ] {
            let error = text.parse::<TokenAddress>().unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
            // a PIN is not repeated
            assert!(!error.contains("17"), "{error}");
        }
    }
}
