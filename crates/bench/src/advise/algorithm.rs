//! Algorithm by which a variant protects data, as far as advice goes.

use sealstone_cipher::suites::Suite;
use sealstone_cipher::{Approval, Cipher, Mode, ModeFacts, Standing, cipher_row, modes};
use sealstone_store::Layer;

use crate::results::{Means, Variant};
use crate::study::coverage::OWN_MODE;
use crate::study::plan::Plan;

/// The cipher that both ends take for TLS: the first preference of client and server
/// (TLS_AES_256_GCM_SHA384).
pub(crate) const TLS_CIPHER: &Cipher = cipher_row("aes-256");

/// Algorithm with which a variant protects data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Algorithm {
    /// A cipher, in the mode of its row.
    Cipher(&'static Cipher),
    /// A suite of packets.
    Suite(&'static Suite),
    /// TLS, in GCM under [`TLS_CIPHER`].
    Tls,
}

impl Algorithm {
    /// The algorithm of `means`; none for a function of the server, and for algorithms unknown to
    /// this build.
    fn by(means: &Means) -> Option<Self> {
        match means {
            Means::Cipher(cipher) => Some(Self::Cipher(cipher)),
            Means::Suite(suite) => Some(Self::Suite(suite)),
            Means::Tls => Some(Self::Tls),
            Means::Other(_) => None,
        }
    }

    /// Returns whether it seals data on the wire.
    fn is_suite(self) -> bool {
        !matches!(self, Self::Cipher(_))
    }

    /// Returns the mode in which it encrypts; none if nothing is encrypted.
    fn mode(self) -> Option<Mode> {
        match self {
            Self::Cipher(cipher) => Some(cipher.mode),
            Self::Suite(suite) => suite.mode(),
            Self::Tls => Some(Mode::Gcm),
        }
    }

    /// Returns the caveats that a user must know before choosing it.
    pub(crate) fn caveats(self) -> Vec<&'static str> {
        match self {
            Self::Suite(suite) => suite.caveats(),
            Self::Cipher(cipher) => cipher.caveat.into_iter().collect(),
            Self::Tls => TLS_CIPHER.caveat.into_iter().collect(),
        }
    }

    /// Returns the algorithm of `variant`; with several layers, of the lowest. None for a baseline,
    /// a function of the server, and algorithms unknown to this build.
    pub(crate) fn of(variant: &Variant) -> Option<Self> {
        variant.means().and_then(Self::by)
    }

    /// Returns the cipher in it.
    pub(crate) fn cipher(self) -> Option<&'static Cipher> {
        match self {
            Self::Cipher(cipher) => Some(cipher),
            Self::Suite(suite) => suite.cipher(),
            Self::Tls => Some(TLS_CIPHER),
        }
    }

    /// Returns the standing of its weakest part.
    pub(crate) fn standing(self) -> Standing {
        match self {
            Self::Cipher(cipher) => cipher.standing,
            Self::Suite(suite) => suite.standing(),
            Self::Tls => TLS_CIPHER.standing,
        }
    }

    /// Returns the lists that all of it is on; algorithms, not implementations.
    pub(crate) fn approval(self) -> Approval {
        match self {
            Self::Cipher(cipher) => cipher.approval(),
            Self::Suite(suite) => suite.approval(),
            Self::Tls => TLS_CIPHER.approval_in(Mode::Gcm),
        }
    }

    /// Returns whether all of it is backed by a standard, for new uses.
    pub(crate) fn is_in_good_standing(self) -> bool {
        self.standing().by_default()
    }

    /// Its standing, and where it is specified.
    pub(crate) fn described(self) -> String {
        let standing = self.standing().word();
        let mode = match self {
            Self::Cipher(_) => String::new(),
            Self::Suite(suite) => match (suite.cipher(), suite.mac) {
                (None, _) => String::new(),
                (_, None) => ", in GCM".into(),
                (_, Some(mac)) => format!(", in CBC with {}", mac.title),
            },
            Self::Tls => ", in GCM".into(),
        };
        format!(
            "{standing}: {}{mode}",
            self.cipher().map_or("no encryption", |cipher| cipher.source)
        )
    }
}

/// Part of a variant that one layer seals in one mode: a policy must hold for every part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) layer: Layer,
    pub(crate) algorithm: Algorithm,
    /// The mode; none if nothing is encrypted.
    pub(crate) mode: Option<Mode>,
    pub(crate) approval: Approval,
}

impl Part {
    /// Returns the algorithms of `variant`, the lowest layer first, except functions of the server,
    /// and algorithms unknown to this build.
    pub(crate) fn all(variant: &Variant) -> Vec<Self> {
        let mut parts = Vec::new();
        for (&layer, choice) in variant.layers.iter().rev() {
            let Some(algorithm) = Algorithm::by(&choice.means) else { continue };
            let Algorithm::Cipher(cipher) = algorithm else {
                parts.push(Self {
                    layer,
                    algorithm,
                    mode: algorithm.mode(),
                    approval: algorithm.approval(),
                });
                continue;
            };
            let is_used = |row: &&ModeFacts| {
                choice
                    .modes
                    .iter()
                    .any(|name| name == row.name || name == OWN_MODE && row.mode == cipher.mode)
            };
            let mut found: Vec<Mode> = modes().iter().filter(is_used).map(|row| row.mode).collect();
            if found.is_empty() {
                found.push(cipher.mode);
            }
            let part = |mode| Self {
                layer,
                algorithm,
                mode: Some(mode),
                approval: cipher.approval_in(mode),
            };
            parts.extend(found.into_iter().map(part));
        }
        parts
    }

    /// Returns the lists that all parts of `variant` are on.
    pub(crate) fn approval(variant: &Variant) -> Approval {
        let parts = Self::all(variant).into_iter().map(|part| part.approval);
        parts.reduce(Approval::and).unwrap_or(Approval::NONE)
    }
}

/// Kind of the algorithms of several variants, as a noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noun {
    /// Ciphers, perhaps suites among them.
    Cipher,
    /// Suites alone.
    Suite,
}

impl Noun {
    /// Returns the noun for `algorithms`; without any, for what the places of `plan` would have.
    pub(crate) fn of(plan: &Plan, algorithms: impl Iterator<Item = Algorithm>) -> Self {
        let mut suites = algorithms.map(Algorithm::is_suite).peekable();
        let is_suites = match suites.peek() {
            Some(_) => suites.all(|is_suite| is_suite),
            None => plan.is_wire_alone(),
        };
        if is_suites { Self::Suite } else { Self::Cipher }
    }

    /// Returns it for one of them.
    pub(crate) fn one(self) -> &'static str {
        match self {
            Self::Cipher => "cipher",
            Self::Suite => "suite",
        }
    }

    /// Returns it for several.
    pub(crate) fn several(self) -> &'static str {
        match self {
            Self::Cipher => "ciphers",
            Self::Suite => "suites",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_and_mode_is_a_part() {
        type Named<'a> = (&'a str, &'a [&'a str]);
        let choice = |layer: Layer, (cipher, modes): Named<'_>| crate::results::Choice {
            means: Means::of(layer, cipher),
            accel: "auto".into(),
            backend: "portable".into(),
            modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
            module: String::new(),
            seal: String::new(),
        };
        let variant = |layers: &[(Layer, Named<'_>)]| Variant {
            label: "one".into(),
            layers: layers.iter().map(|(layer, named)| (*layer, choice(*layer, *named))).collect(),
        };
        let words = |layers: &[(Layer, Named<'_>)]| Part::approval(&variant(layers)).words();
        let (aria, ff1): (Named<'_>, Named<'_>) =
            (("aria-256", &[]), ("aria-256", &[OWN_MODE, "ff1", "cmac"]));
        assert_eq!(words(&[(Layer::Rest, aria)]), "KCMVP");
        assert_eq!(words(&[(Layer::Rest, ("aria-256", &["hctr2"]))]), "–");
        assert_eq!(words(&[(Layer::Rest, ("aes-256", &["hctr2"]))]), "–");
        assert_eq!(words(&[(Layer::Field, ("aria-256", &[OWN_MODE, "cmac"]))]), "KCMVP");
        assert_eq!(words(&[(Layer::Field, ("hight", &["cmac"]))]), "KCMVP");
        assert_eq!(words(&[(Layer::Field, ("hight", &[OWN_MODE, "cmac"]))]), "–");
        assert_eq!(words(&[(Layer::Field, ff1)]), "–");
        assert_eq!(words(&[(Layer::Rest, aria), (Layer::Field, ff1)]), "–");
        assert_eq!(
            words(&[(Layer::Field, ("aes-256", &["ff1"])), (Layer::Wire, ("tls", &[]))]),
            "FIPS 140"
        );
        assert_eq!(words(&[(Layer::Rest, aria), (Layer::Wire, ("tls", &[]))]), "–");
        assert_eq!(words(&[(Layer::Wire, ("aria-256-gcm", &[]))]), "KCMVP");
        assert_eq!(words(&[(Layer::Wire, ("null", &[]))]), "–");
        assert_eq!(words(&[]), "–");
    }

    #[test]
    fn an_algorithm_is_described_by_its_parts() {
        let of = |name| Algorithm::by(&Means::of(Layer::Wire, name)).unwrap();
        assert!(of("tls").is_in_good_standing() && of("tls").approval().fips);
        assert_eq!(of("tls").described(), "standard: FIPS 197, in GCM");
        assert_eq!(of("aes-128-md5").described(), "legacy: FIPS 197, in CBC with HMAC-MD5");
        assert_eq!(of("aria-256-gcm").described(), "national: RFC 5794, KS X 1213, in GCM");
        assert_eq!(of("null").described(), "legacy: no encryption");
        assert!(Algorithm::by(&Means::of(Layer::Wire, "aes-256-sha512")).is_none());
    }
}
