//! Protection of data by a variant, as far as advice goes: a cipher in the mode of its row, or a
//! suite that seals packets. Not here: what may be recommended under a policy (`eligibility`), how
//! a suite works (`sealstone-seal`).

use sealstone_cipher::registry::{self, Approval, Cipher, HashFacts, Mode, ModeFacts, Standing, hashes, modes};
use sealstone_store::{Layer, TLS};

use crate::results::Variant;
use crate::study::plan::Plan;

/// Word among the modes of a choice for the mode in which its cipher authenticates.
pub const OWN_MODE: &str = "aead";

/// Suites to name where none of those measured may be recommended: of each cipher the one that does all in one.
pub const SUITES_ADVISED: [&str; 3] = ["aes-256-gcm", "aria-256-gcm", "lea-256-gcm"];

/// The cipher that both ends take for TLS: the first of those that client and server prefer (TLS_AES_256_GCM_SHA384).
pub(crate) const TLS_CIPHER: &str = "aes-256";

/// A suite, whose name says what it is made of: `CIPHER-gcm`, `CIPHER-HASH` for CBC and HMAC, `null`, or [`TLS`].
#[derive(Clone, Copy, Debug)]
pub struct Suite<'a> {
    /// The name, such as `aes-256-sha256`.
    pub name: &'a str,
    /// Cipher that encrypts; `None` if nothing is encrypted.
    pub cipher: Option<&'static Cipher>,
    hash: Option<&'static HashFacts>,
}

impl<'a> Suite<'a> {
    /// The suite called `name`; none if its parts are not known to this build.
    #[must_use]
    pub fn by_name(name: &'a str) -> Option<Self> {
        if name == "null" {
            return Some(Self { name, cipher: None, hash: None });
        }
        if name == TLS {
            return Some(Self { name, cipher: Some(registry::cipher(TLS_CIPHER).ok()?), hash: None });
        }
        let (cipher, word) = name.rsplit_once('-')?;
        let cipher = Some(registry::cipher(cipher).ok()?);
        let hash = hashes().iter().find(|hash| hash.name == word);
        (word == "gcm" || hash.is_some()).then_some(Self { name, cipher, hash })
    }

    /// Returns what a user must know before choosing it.
    #[must_use]
    pub fn caveats(&self) -> Vec<&'static str> {
        let unprotected = self.cipher.is_none().then_some("it protects nothing");
        let of_parts = [self.cipher.and_then(|cipher| cipher.caveat), self.hash.and_then(|hash| hash.caveat)];
        unprotected.into_iter().chain(of_parts.into_iter().flatten()).collect()
    }

    /// The mode in which it encrypts, for what encrypts.
    fn mode(&self) -> Mode {
        if self.hash.is_some() { Mode::Cbc } else { Mode::Gcm }
    }

    /// The lists that all of it is on.
    #[must_use]
    pub fn approval(&self) -> Approval {
        let Some(cipher) = self.cipher else { return Approval::NONE };
        let encrypted = cipher.approval_in(self.mode());
        self.hash.map_or(encrypted, |hash| encrypted.and(hash.approval))
    }

    fn standing(&self) -> Standing {
        match self.cipher {
            Some(cipher) if self.hash.is_none_or(|hash| hash.caveat.is_none()) => cipher.standing,
            _ => Standing::Legacy,
        }
    }
}

/// Algorithm with which a variant protects data.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Algorithm<'a> {
    Cipher(&'static Cipher),
    Suite(Suite<'a>),
}

impl<'a> Algorithm<'a> {
    /// That of `variant`; of several layers that of the lowest. None for a baseline, a function of the server, and what
    /// is not known to this build.
    pub(crate) fn of(variant: &'a Variant) -> Option<Self> {
        let choice = variant.choice()?;
        if variant.layers.get(Layer::Wire.name()) == Some(choice) {
            return Suite::by_name(&choice.cipher).map(Self::Suite);
        }
        registry::cipher(&choice.cipher).ok().map(Self::Cipher)
    }

    /// The cipher in it.
    pub(crate) fn cipher(self) -> Option<&'static Cipher> {
        match self {
            Self::Cipher(cipher) => Some(cipher),
            Self::Suite(suite) => suite.cipher,
        }
    }

    /// That of its weakest part.
    pub(crate) fn standing(self) -> Standing {
        match self {
            Self::Cipher(cipher) => cipher.standing,
            Self::Suite(suite) => suite.standing(),
        }
    }

    /// The lists that all of it is on; algorithms, not implementations.
    pub(crate) fn approval(self) -> Approval {
        match self {
            Self::Cipher(cipher) => cipher.approval(),
            Self::Suite(suite) => suite.approval(),
        }
    }

    /// Returns whether all of it is backed by a standard, for new uses.
    pub(crate) fn is_in_good_standing(self) -> bool {
        matches!(self.standing(), Standing::Standard | Standing::National)
    }

    /// Its standing, and where it is specified.
    pub(crate) fn described(self) -> String {
        let standing = self.standing().word();
        match self {
            Self::Cipher(cipher) => format!("{standing}: {}", cipher.source),
            Self::Suite(Suite { cipher, hash, .. }) => {
                let source = cipher.map_or("no encryption", |cipher| cipher.source);
                let mode = match (cipher, hash) {
                    (None, _) => String::new(),
                    (_, None) => ", in GCM".into(),
                    (_, Some(hash)) => format!(", in CBC with {}", hash.mac),
                };
                format!("{standing}: {source}{mode}")
            }
        }
    }
}

/// Part of a variant that one layer seals in one mode: a policy must hold for every part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) layer: Layer,
    pub(crate) algorithm: Algorithm<'a>,
    /// The mode; of a suite that in which it encrypts.
    pub(crate) mode: Mode,
    pub(crate) approval: Approval,
}

impl<'a> Part<'a> {
    /// Those of `variant`, the lowest layer first, but for functions of the server, and what this build does not know.
    pub(crate) fn all(variant: &'a Variant) -> Vec<Self> {
        let mut parts = Vec::new();
        for layer in Layer::ALL.into_iter().rev() {
            let Some(choice) = variant.layers.get(layer.name()) else { continue };
            if layer == Layer::Wire {
                parts.extend(Suite::by_name(&choice.cipher).map(|suite| Self {
                    layer,
                    algorithm: Algorithm::Suite(suite),
                    mode: suite.mode(),
                    approval: suite.approval(),
                }));
            } else if let Ok(cipher) = registry::cipher(&choice.cipher) {
                let is_used = |row: &&ModeFacts| {
                    choice.modes.iter().any(|name| name == row.name || name == OWN_MODE && row.mode == cipher.mode)
                };
                let mut found: Vec<Mode> = modes().iter().filter(is_used).map(|row| row.mode).collect();
                if found.is_empty() {
                    found.push(cipher.mode);
                }
                parts.extend(found.into_iter().map(|mode| Self {
                    layer,
                    algorithm: Algorithm::Cipher(cipher),
                    mode,
                    approval: cipher.approval_in(mode),
                }));
            }
        }
        parts
    }

    /// The lists that all parts of `variant` are on.
    pub(crate) fn approval(variant: &'a Variant) -> Approval {
        let parts = Self::all(variant).into_iter().map(|part| part.approval);
        parts.reduce(Approval::and).unwrap_or(Approval::NONE)
    }
}

/// Returns the collective name of the algorithms of several variants; without any, the name of what
/// the places of `plan` would have.
pub(crate) fn noun<'a>(plan: &Plan, algorithms: impl Iterator<Item = Algorithm<'a>>) -> &'static str {
    let mut suites = algorithms.map(|one| matches!(one, Algorithm::Suite(_))).peekable();
    let is_suites = match suites.peek() {
        Some(_) => suites.all(|is_suite| is_suite),
        None => plan.is_wire_alone(),
    };
    if is_suites { "suites" } else { "ciphers" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_what_its_name_says() {
        let of = |suite: Suite| (suite.cipher.map(|cipher| cipher.name), suite.caveats().len());
        let parts = |name| Suite::by_name(name).map(of);
        assert_eq!(parts("aes-256-gcm"), Some((Some("aes-256"), 0)));
        assert_eq!(parts("aes-128-sha256"), Some((Some("aes-128"), 0)));
        assert_eq!(parts("3des-md5"), Some((Some("3des"), 2)));
        assert_eq!(parts("null"), Some((None, 1)));
        assert_eq!(parts("tls"), Some((Some("aes-256"), 0)));
        assert_eq!(parts("aes-256-sha512"), None);
        assert_eq!(parts("rot13-gcm"), None);
    }

    #[test]
    fn every_layer_and_mode_is_a_part() {
        let choice = |cipher: &str, modes: &[&str]| crate::results::Choice {
            cipher: cipher.into(),
            accel: "auto".into(),
            backend: "portable".into(),
            modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
        };
        let variant = |layers: &[(Layer, crate::results::Choice)]| Variant {
            label: "one".into(),
            layers: layers.iter().map(|(layer, choice)| (layer.name().to_owned(), choice.clone())).collect(),
        };
        let words = |layers: &[(Layer, crate::results::Choice)]| Part::approval(&variant(layers)).words();
        let (aria, ff1) = (choice("aria-256", &[]), choice("aria-256", &[OWN_MODE, "ff1", "cmac"]));
        assert_eq!(words(&[(Layer::Rest, aria.clone())]), "KCMVP");
        assert_eq!(words(&[(Layer::Field, choice("aria-256", &[OWN_MODE, "cmac"]))]), "KCMVP");
        assert_eq!(words(&[(Layer::Field, choice("hight", &["cmac"]))]), "KCMVP");
        assert_eq!(words(&[(Layer::Field, choice("hight", &[OWN_MODE, "cmac"]))]), "–");
        assert_eq!(words(&[(Layer::Field, ff1.clone())]), "–");
        assert_eq!(words(&[(Layer::Rest, aria.clone()), (Layer::Field, ff1)]), "–");
        assert_eq!(
            words(&[(Layer::Field, choice("aes-256", &["ff1"])), (Layer::Wire, choice("tls", &[]))]),
            "FIPS 140"
        );
        assert_eq!(words(&[(Layer::Rest, aria), (Layer::Wire, choice("tls", &[]))]), "–");
        assert_eq!(words(&[(Layer::Wire, choice("aria-256-gcm", &[]))]), "KCMVP");
        assert_eq!(words(&[(Layer::Wire, choice("null", &[]))]), "–");
        assert_eq!(words(&[]), "–");
    }

    #[test]
    fn a_suite_stands_as_its_weakest_part() {
        let of = |name| Algorithm::Suite(Suite::by_name(name).unwrap());
        let facts = |name| (of(name).is_in_good_standing(), of(name).approval().fips, of(name).approval().kcmvp);
        assert_eq!(facts("aes-256-gcm"), (true, true, false));
        assert_eq!(facts("aes-256-sha256"), (true, true, false));
        assert_eq!(facts("aes-256-sha1"), (false, false, false));
        assert_eq!(facts("lea-128-gcm"), (true, false, true));
        assert_eq!(facts("aria-128-sha256"), (true, false, true));
        assert_eq!(facts("aria-128-sha1"), (false, false, false));
        assert_eq!(facts("tls"), (true, true, false));
        assert_eq!(facts("3des-sha256"), (false, false, false));
        assert_eq!(facts("null"), (false, false, false));
        assert_eq!(of("aes-128-md5").described(), "legacy: FIPS 197, in CBC with HMAC-MD5");
        assert_eq!(of("aria-256-gcm").described(), "national: RFC 5794, KS X 1213, in GCM");
    }
}
