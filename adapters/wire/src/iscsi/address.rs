//! Address of a unit of an iSCSI target: `iscsi://[USER[%PASSWORD]@]HOST[:PORT]/TARGET/LUN`, the
//! form of libiscsi.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

/// The port of iSCSI (RFC 7143, section 4.2).
const PORT: u16 = 3_260;

/// Address of a unit.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// `HOST:PORT`; brackets around an address of IPv6.
    pub portal: String,
    /// Name of the target: `iqn.…`, `eui.…`, `naa.…`.
    pub target: String,
    /// Number of the unit.
    pub lun: u16,
    /// User and password for CHAP.
    pub login: Option<(String, String)>,
}

/// Error for a text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{shown} is no address of an iSCSI unit: {found}\nwrite it as \
     iscsi://HOST:PORT/iqn.2026-11.com.example:disk/1"
)]
#[non_exhaustive]
pub struct AddressError {
    /// The text without a password.
    shown: String,
    /// Description of the mistake in the text.
    found: &'static str,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = |found| AddressError { shown: without_password(text), found };
        let rest = text
            .strip_prefix("iscsi://")
            .ok_or_else(|| wrong("it does not begin with iscsi://"))?;
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(login), rest),
            None => (None, rest),
        };
        let mut parts = rest.split('/');
        let (portal, target, lun) = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(portal), Some(target), Some(lun), None) => (portal, target, lun),
            (_, None, ..) => return Err(wrong("it names no target")),
            (_, _, None, _) => return Err(wrong("it names no unit: 0, 1, …")),
            _ => return Err(wrong("something follows the number of the unit")),
        };
        if portal.is_empty() {
            return Err(wrong("it names no host"));
        }
        let is_name = ["iqn.", "eui.", "naa."].iter().any(|kind| target.starts_with(kind));
        if !is_name || target.len() > 223 {
            return Err(wrong(
                "the name of a target begins with iqn., eui. or naa., and has at most 223 \
                 characters",
            ));
        }
        let login = match login.map(|login| login.split_once('%')) {
            None => None,
            Some(None) => {
                return Err(wrong("it names a user without a password, as USER%PASSWORD@"));
            }
            Some(Some((user, password))) => {
                let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(Into::into);
                let text = || wrong("user and password are no UTF-8");
                Some((decoded(user).map_err(|_| text())?, decoded(password).map_err(|_| text())?))
            }
        };
        let has_port = match portal.rfind(']') {
            Some(bracket) => portal[bracket..].contains(':'),
            None => portal.contains(':'),
        };
        let portal = if has_port { portal.to_owned() } else { format!("{portal}:{PORT}") };
        if portal.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            return Err(wrong("the port is no number up to 65535"));
        }
        let lun = lun.parse().map_err(|_| wrong("the unit is no number"))?;
        Ok(Self { portal, target: target.into(), lun, login })
    }
}

/// Returns `text` with dots for what may be a password.
fn without_password(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((before, after)) => {
            let user = before.split('%').next().unwrap_or_default();
            format!("{user}%…@{after}")
        }
        None => text.to_owned(),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { portal, target, lun, .. } = self;
        write!(f, "iscsi://{portal}/{target}/{lun}")
    }
}

// without the password
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let of = |text: &str| text.parse::<Address>().unwrap();
        let plain = of("iscsi://10.77.0.2/iqn.2026-11.dev.sealstone:disk/1");
        assert_eq!(
            (plain.portal.as_str(), plain.lun, plain.login.is_none()),
            ("10.77.0.2:3260", 1, true)
        );
        assert_eq!(plain.to_string(), "iscsi://10.77.0.2:3260/iqn.2026-11.dev.sealstone:disk/1");
        assert_eq!(of("iscsi://[::1]:77/iqn.x/0").portal, "[::1]:77");
        assert_eq!(of("iscsi://[::1]/iqn.x/0").portal, "[::1]:3260");
        let chap = of("iscsi://ann%s%2Fcret@host:1/iqn.x/2");
        assert_eq!(chap.login, Some(("ann".into(), "s/cret".into())));
        assert!(!format!("{chap} {chap:?}").contains("cret"));
    }

    #[test]
    fn what_is_no_address_says_what_is_missing() {
        for (text, found) in [
            ("http://x/iqn.x/1", "it does not begin with iscsi://"),
            ("iscsi://x", "it names no target"),
            ("iscsi://x/iqn.x", "it names no unit"),
            ("iscsi://x/iqn.x/one", "the unit is no number"),
            ("iscsi://x/iqn.x/1/2", "something follows"),
            ("iscsi:///iqn.x/1", "it names no host"),
            ("iscsi://x/disk/1", "the name of a target begins with iqn."),
            ("iscsi://x:port/iqn.x/1", "the port is no number"),
            ("iscsi://ann@x/iqn.x/1", "a user without a password"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(
                error.contains(found) && error.contains("\nwrite it as iscsi://"),
                "{text}: {error}"
            );
        }
        let secret = "iscsi://ann%secret@x/iqn.x".parse::<Address>().unwrap_err().to_string();
        assert!(!secret.contains("secret") && secret.contains("ann%…@x"), "{secret}");
    }
}
