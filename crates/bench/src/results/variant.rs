//! Variants as results record them: names in files, values in memory. A name is looked up once,
//! where results are read. Not here: the variant that opens a store (`sealstone_store::Variant`).

use std::collections::BTreeMap;

use sealstone_cipher::module::{Module, title};
use sealstone_cipher::suites::{Suite, suite};
use sealstone_cipher::{Cipher, Mode};
use sealstone_store::{Layer, RestSeal, TLS, WireSuite};
use serde::{Deserialize, Serialize};

/// Name of the backend of what a server computes.
pub const SERVER_BACKEND: &str = "server";

/// One way of protecting a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Recorded", into = "Recorded")]
pub struct Variant {
    /// Label, such as `aes-256`, `aes-256 portable`, `none`, `none (2)`; unique among the variants
    /// of a group.
    pub label: String,
    /// Encryption of each layer; none for a baseline.
    pub layers: BTreeMap<Layer, Choice>,
}

/// Encryption of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Means by which it encrypts.
    pub means: Means,
    /// The requested backend: `auto` or a name.
    pub accel: String,
    /// Backend in use; [`SERVER_BACKEND`] for what the server computes; the name of a cryptographic
    /// module that computes.
    pub backend: String,
    /// The module that computes, as it and its user state it: name, version, certificate. Empty
    /// where none does.
    pub module: String,
    /// Names of the modes in which the cipher is used, in the layer `field` according to its
    /// policy, `aead` for its authenticated mode; none: `aead` alone.
    pub modes: Vec<String>,
    /// In the layer `rest`, `volume` if the files are on a sealed volume, `server` if the server
    /// encrypts them with what it brings itself; empty: the store's own way of sealing them.
    pub seal: String,
}

/// Means by which a layer encrypts.
#[derive(Clone, Debug)]
pub enum Means {
    /// A cipher of ours.
    Cipher(&'static Cipher),
    /// A suite of packets.
    Suite(&'static Suite),
    /// TLS between a store and its server.
    Tls,
    /// A function of the server, or an algorithm unknown to this build, by its name.
    Other(String),
}

impl Means {
    /// Returns what `name` means in `layer`.
    #[must_use]
    pub fn of(layer: Layer, name: &str) -> Self {
        let other = || Self::Other(name.to_owned());
        match layer {
            Layer::Wire if name == TLS => Self::Tls,
            Layer::Wire => suite(name).map_or_else(|_| other(), Self::Suite),
            Layer::Server => other(),
            Layer::Field | Layer::Rest => {
                sealstone_cipher::cipher(name).map_or_else(|_| other(), Self::Cipher)
            }
        }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Cipher(cipher) => cipher.name,
            Self::Suite(suite) => suite.name,
            Self::Tls => TLS,
            Self::Other(name) => name,
        }
    }
}

impl From<WireSuite> for Means {
    fn from(suite: WireSuite) -> Self {
        match suite {
            WireSuite::Tls => Self::Tls,
            WireSuite::Esp(suite) => Self::Suite(suite),
        }
    }
}

impl PartialEq for Means {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Means {}

/// A variant in its written form.
#[derive(Serialize, Deserialize)]
struct Recorded {
    label: String,
    layers: BTreeMap<String, RecordedChoice>,
}

#[derive(Serialize, Deserialize)]
struct RecordedChoice {
    cipher: String,
    accel: String,
    backend: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    module: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    modes: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    seal: String,
}

impl TryFrom<Recorded> for Variant {
    type Error = String;

    fn try_from(recorded: Recorded) -> Result<Self, String> {
        let choice = |(name, choice): (String, RecordedChoice)| {
            let layer = Layer::ALL.into_iter().find(|layer| layer.name() == name);
            let layer = layer
                .ok_or_else(|| format!("a variant has the layer {name:?}, which is not known"))?;
            let RecordedChoice { cipher, accel, backend, module, modes, seal } = choice;
            let means = Means::of(layer, &cipher);
            Ok((layer, Choice { means, accel, backend, module, modes, seal }))
        };
        let layers = recorded.layers.into_iter().map(choice).collect::<Result<_, String>>()?;
        Ok(Self { label: recorded.label, layers })
    }
}

impl From<Variant> for Recorded {
    fn from(variant: Variant) -> Self {
        let choice = |(layer, choice): (Layer, Choice)| {
            let Choice { means, accel, backend, module, modes, seal } = choice;
            let cipher = means.name().to_owned();
            (
                layer.name().to_owned(),
                RecordedChoice { cipher, accel, backend, module, modes, seal },
            )
        };
        Self { label: variant.label, layers: variant.layers.into_iter().map(choice).collect() }
    }
}

impl Variant {
    /// Returns the same with the names of the modes in which its layer `field`, if it has one,
    /// seals columns.
    #[must_use]
    pub(crate) fn with_field_modes(mut self, modes: &[String]) -> Self {
        if let Some(choice) = self.layers.get_mut(&Layer::Field) {
            choice.modes = modes.to_vec();
        }
        self
    }

    /// Returns the same with the modes in which the store seals its files itself, where it does.
    #[must_use]
    pub(crate) fn with_rest_modes(mut self, modes: &[Mode]) -> Self {
        if let Some(choice) = self.layers.get_mut(&Layer::Rest)
            && choice.seal.is_empty()
        {
            choice.modes = modes.iter().map(|mode| mode.word().to_owned()).collect();
        }
        self
    }

    /// Returns whether nothing is encrypted.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        self.layers.is_empty()
    }

    /// Returns what it encrypts with, if one layer does; of several layers the lowest, and the
    /// choice on the wire only if nothing else is encrypted.
    #[must_use]
    pub fn choice(&self) -> Option<&Choice> {
        let stored = Layer::ALL.iter().rev().filter(|layer| **layer != Layer::Wire);
        let lowest = stored.chain([&Layer::Wire]).find_map(|layer| self.layers.get(layer));
        lowest.or_else(|| self.layers.values().next())
    }

    /// Returns what that is.
    #[must_use]
    pub fn means(&self) -> Option<&Means> {
        self.choice().map(|choice| &choice.means)
    }

    /// Returns the name of it.
    #[must_use]
    pub fn cipher(&self) -> Option<&str> {
        self.means().map(Means::name)
    }

    /// Returns the name of the backend in use.
    #[must_use]
    pub fn backend(&self) -> Option<&str> {
        self.choice().map(|choice| choice.backend.as_str())
    }
}

impl From<&sealstone_store::Variant> for Variant {
    fn from(variant: &sealstone_store::Variant) -> Self {
        let choice = |choice: &sealstone_store::Choice| Choice {
            means: Means::Cipher(choice.cipher),
            accel: choice.forced_backend().unwrap_or("auto").into(),
            backend: choice.provider.name().into(),
            module: choice.provider.module().map(stated).unwrap_or_default(),
            modes: Vec::new(),
            seal: String::new(),
        };
        // with nothing of ours that computes it
        let other = |means: Means, backend: &str| Choice {
            means,
            accel: "auto".into(),
            backend: backend.into(),
            module: String::new(),
            modes: Vec::new(),
            seal: String::new(),
        };
        let rest = |rest: &RestSeal| {
            let made = match rest {
                RestSeal::Own(own) => return choice(own),
                RestSeal::Volume(of_volume) => choice(of_volume),
                RestSeal::Server(encryption) => {
                    other(Means::Other(encryption.name.to_owned()), SERVER_BACKEND)
                }
            };
            Choice { seal: rest.seal().name().to_owned(), ..made }
        };
        let layers = [
            (Layer::Field, variant.field.as_ref().map(choice)),
            (
                Layer::Wire,
                variant.wire.as_ref().map(|tunnel| other(Means::from(tunnel.suite), tunnel.path)),
            ),
            (
                Layer::Server,
                variant
                    .server
                    .map(|function| other(Means::Other(function.name.to_owned()), SERVER_BACKEND)),
            ),
            (Layer::Rest, variant.rest.as_ref().map(rest)),
        ];
        let chosen = layers.into_iter().filter_map(|(layer, choice)| Some((layer, choice?)));
        Self { label: variant.label.clone(), layers: chosen.collect() }
    }
}

/// Returns `module` in words: as it and its user state it.
fn stated(module: &dyn Module) -> String {
    match module.certificate() {
        Some(certificate) => format!("{}, certificate {certificate}", title(module)),
        None => format!("{}, no certificate stated", title(module)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_written_as_it_was_read_whatever_this_build_knows() {
        let layers = [
            r#""field":{"cipher":"aria-256","accel":"auto","backend":"avx2","modes":["ff1"]}"#,
            r#""rest":{"cipher":"of-tomorrow","accel":"auto","backend":"avx2"}"#,
            r#""server":{"cipher":"AES_ENCRYPT","accel":"auto","backend":"server"}"#,
            r#""wire":{"cipher":"tls","accel":"auto","backend":"rustls"}"#,
        ];
        let text = &format!(r#"{{"label":"x","layers":{{{}}}}}"#, layers.join(","));
        let read: Variant = serde_json::from_str(text).unwrap();
        let Means::Cipher(cipher) = read.layers[&Layer::Field].means else { panic!("no cipher") };
        assert_eq!(cipher.name, "aria-256");
        assert!(
            matches!(&read.layers[&Layer::Rest].means, Means::Other(name) if name == "of-tomorrow")
        );
        assert!(matches!(read.layers[&Layer::Wire].means, Means::Tls));
        assert_eq!(&serde_json::to_string(&read).unwrap(), text);
        // a cipher's name is no suite, and a suite's no cipher
        assert!(matches!(Means::of(Layer::Wire, "aes-256"), Means::Other(_)));
        assert!(matches!(Means::of(Layer::Rest, "aes-256-gcm"), Means::Other(_)));
        let error = serde_json::from_str::<Variant>(&text.replace("\"rest\"", "\"tape\""))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("a variant has the layer \"tape\", which is not known"),
            "{error}"
        );
    }
}
