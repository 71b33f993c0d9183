//! A variant in words, as results name it. Not here: what stores are opened with (`sealstone_store::Variant`).

use std::collections::BTreeMap;

use sealstone_store::Layer;
use serde::{Deserialize, Serialize};

/// One way of protecting a store, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique label, such as `aes-256`, `aes-256 portable`, `none`, `none (2)`.
    pub label: String,
    /// Encryption of each layer (`field`, `wire`, `server`, `rest`); none for a baseline.
    pub layers: BTreeMap<String, Choice>,
}

/// Encryption of a layer, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Cipher name; in the layer `server` that of a function of the server.
    pub cipher: String,
    /// Backend asked for: `auto` or a name.
    pub accel: String,
    /// Backend in use; `server` for a function of the server.
    pub backend: String,
    /// Names of the modes in which the cipher is used, in the layer `field` as its policy says, `aead` for that in
    /// which it authenticates; none: that one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<String>,
}

impl Variant {
    /// The same with the names of the modes in which its layer `field`, if it has one, seals columns.
    #[must_use]
    pub fn with_field_modes(mut self, modes: &[String]) -> Self {
        if let Some(choice) = self.layers.get_mut(Layer::Field.name()) {
            choice.modes = modes.to_vec();
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
        let lowest = stored.chain([&Layer::Wire]).find_map(|layer| self.layers.get(layer.name()));
        lowest.or_else(|| self.layers.values().next())
    }

    /// Name of that cipher.
    #[must_use]
    pub fn cipher(&self) -> Option<&str> {
        self.choice().map(|choice| choice.cipher.as_str())
    }

    /// Name of the backend in use.
    #[must_use]
    pub fn backend(&self) -> Option<&str> {
        self.choice().map(|choice| choice.backend.as_str())
    }
}

impl From<&sealstone_store::Variant> for Variant {
    fn from(variant: &sealstone_store::Variant) -> Self {
        let choice = |choice: &sealstone_store::Choice| Choice {
            cipher: choice.cipher.name.into(),
            accel: if choice.forced { choice.backend.name() } else { "auto" }.into(),
            backend: choice.backend.name().into(),
            modes: Vec::new(),
        };
        // with no cipher of ours, and nothing of ours that computes it
        let other = |cipher: &str, backend: &str| Choice {
            cipher: cipher.into(),
            accel: "auto".into(),
            backend: backend.into(),
            modes: Vec::new(),
        };
        let layers = [
            (Layer::Field, variant.field.as_ref().map(choice)),
            (Layer::Wire, variant.wire.as_ref().map(|tunnel| other(tunnel.suite, tunnel.path))),
            (Layer::Server, variant.server.map(|function| other(function.name, "server"))),
            (Layer::Rest, variant.rest.as_ref().map(choice)),
        ];
        let chosen = layers.into_iter().filter_map(|(layer, choice)| Some((layer.name().to_owned(), choice?)));
        Self { label: variant.label.clone(), layers: chosen.collect() }
    }
}
