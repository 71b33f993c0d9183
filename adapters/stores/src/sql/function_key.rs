//! The key of a function of the server, and how a connection gets it.

use sealstone_cipher::Backend;
use sealstone_keys::{KeyError, KeySource, subkey};
use zeroize::Zeroizing;

use super::bound::Param;
use super::error::Failure;
use super::function::SqlFunction;
use super::server::Link;
use super::statements::Statement;

/// Length of the key, in bytes: AES-128's, the default of servers.
const KEY_BYTES: usize = 16;

/// A function with its key.
pub(super) struct Keyed {
    pub(super) row: &'static SqlFunction,
    key: Zeroizing<String>,
    unlock: Option<Statement>,
}

impl Keyed {
    /// Returns `row`, with a separate key from the newest version of the key in `keys`.
    ///
    /// # Errors
    /// A key that is not to be had.
    pub(super) fn new(row: &'static SqlFunction, keys: &dyn KeySource) -> Result<Self, KeyError> {
        let (key, secret) = keys.current()?;
        secret.check()?;
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        let context = [row.function.name.as_bytes(), key.id.as_bytes(), &key.version.to_be_bytes()];
        let provider = keys.provider(Backend::auto());
        subkey(provider, secret.as_bytes(), "server function", &context, &mut bytes[..])?;
        let mut digits = Zeroizing::new(String::with_capacity(2 * KEY_BYTES));
        for nibble in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            digits.push(char::from_digit(u32::from(nibble), 16).unwrap_or_default());
        }
        Ok(Self {
            row,
            key: digits,
            unlock: row.unlock.map(|text| Statement::new(text.to_owned())),
        })
    }

    /// Passes the key to `link`, as a value of a statement: it is in no statement's text.
    ///
    /// # Errors
    /// As [`Link::run`].
    pub(super) fn unlock(&self, link: &mut impl Link) -> Result<(), Failure> {
        let Some(unlock) = &self.unlock else { return Ok(()) };
        link.run(unlock, &[Param::Bytes(self.key.as_bytes())], &mut |_, _| ()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use sealstone_keys::EphemeralKey;
    use sealstone_store::ServerFunction;

    use super::*;

    #[test]
    fn every_function_has_a_key_of_its_own() {
        static FUNCTIONS: [SqlFunction; 2] = [row("one"), row("two")];
        const fn row(name: &'static str) -> SqlFunction {
            let function = ServerFunction { name, about: "", is_one_way: false };
            SqlFunction {
                function,
                seal: str::to_owned,
                open: str::to_owned,
                install: None,
                unlock: None,
            }
        }
        let keys = EphemeralKey::new().unwrap();
        let [one, two] =
            [0, 1].map(|at| Keyed::new(&FUNCTIONS[at], &keys).unwrap().key.to_string());
        assert!(
            one != two && one.len() == 32 && one.chars().all(|digit| digit.is_ascii_hexdigit()),
            "{one} {two}"
        );
        assert_eq!(Keyed::new(&FUNCTIONS[0], &keys).unwrap().key.to_string(), one);
    }
}
