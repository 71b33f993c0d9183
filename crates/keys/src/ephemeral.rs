//! A key that exists only in memory and disappears with the process: for measurements and tests,
//! not for data to keep.

use sealstone_cipher::Provider;

use crate::{KeyError, KeyRef, KeySource, Secret};

/// One fresh random key, version 1, never written anywhere.
#[derive(Debug)]
pub struct EphemeralKey {
    id: String,
    secret: Secret,
}

impl EphemeralKey {
    /// Draws a fresh random key from the operating system. Its id is `ephemeral`.
    ///
    /// # Errors
    /// [`KeyError::Random`] when the operating system has no randomness to give.
    pub fn new() -> Result<Self, KeyError> {
        Self::drawn_by(Provider::own())
    }

    /// As [`EphemeralKey::new`], drawn by `provider`.
    ///
    /// # Errors
    /// [`KeyError::Random`]; the error of a module.
    pub fn drawn_by(provider: impl Into<Provider>) -> Result<Self, KeyError> {
        Ok(Self { id: "ephemeral".into(), secret: Secret::random(provider)? })
    }
}

impl KeySource for EphemeralKey {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        let key = KeyRef { id: self.id.clone(), version: 1 };
        Ok((key, self.secret.duplicate()?))
    }

    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        KeyError::check_id(key, &self.id, || self.describe())?;
        if key.version != 1 {
            let place = self.describe();
            return Err(KeyError::MissingVersion {
                wanted: key.clone(),
                place,
                available: vec![1],
            });
        }
        self.secret.duplicate()
    }

    fn describe(&self) -> String {
        "a key of this process, kept in memory".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_returns_the_same_key_again_and_no_other() {
        let source = EphemeralKey::new().unwrap();
        let (key, secret) = source.current().unwrap();
        assert_eq!(source.get(&key).unwrap().as_bytes(), secret.as_bytes());
        let other = KeyRef { id: key.id.clone(), version: 2 };
        assert!(matches!(source.get(&other), Err(KeyError::MissingVersion { .. })));
        let other = KeyRef { id: "other".into(), version: 1 };
        assert!(matches!(source.get(&other), Err(KeyError::OtherKey { .. })));
    }

    #[test]
    fn two_of_them_differ() {
        let (one, two) = (EphemeralKey::new().unwrap(), EphemeralKey::new().unwrap());
        assert_ne!(one.current().unwrap().1.as_bytes(), two.current().unwrap().1.as_bytes());
    }
}
