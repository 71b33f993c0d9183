//! A password that no message shows. Not here: the parts of an address that may be shown
//! (`shown_address`), keys and passphrases (`sealstone-keys`).

use std::fmt;

use zeroize::Zeroizing;

/// A password of a server. Zeroed on drop; `Debug` prints nothing of it; has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Returns the password. Never log or print it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Password {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for Password {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use zeroize::{Zeroize, ZeroizeOnDrop};

    use super::*;

    #[test]
    fn debug_shows_nothing_of_it() {
        let password = Some(Password::from("geheim"));
        assert_eq!(format!("{password:?}"), "Some(Password(..))");
        assert!(!format!("{password:#?}").contains("geheim"));
    }

    #[test]
    fn it_is_zeroed_when_dropped() {
        fn is_zeroed(_: &mut (impl Zeroize + ZeroizeOnDrop)) {}
        is_zeroed(&mut Password::from("geheim").0);
    }
}
