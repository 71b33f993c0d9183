//! Where a plan encrypts: its layers, and which of them go together. Not here: which layers a store can take.

use sealstone_cipher::nearest::nearest;
use sealstone_store::Layer;

use super::{Plan, PlanError, listed, value};

/// The layers that a comparison can have: ciphers of ours in two, what the server has in the third, tunnels in the
/// fourth.
const COMPARED: [Layer; 4] = [Layer::Rest, Layer::Field, Layer::Server, Layer::Wire];

impl Plan {
    /// Its layers, in the order in which they are named.
    ///
    /// # Errors
    /// [`PlanError::Value`] for a name that is none, with the nearest.
    pub fn layers(&self) -> Result<Vec<Layer>, PlanError> {
        let of = |name: &String| {
            let found = COMPARED.into_iter().find(|layer| layer.name().eq_ignore_ascii_case(name));
            found.ok_or_else(|| {
                let names = COMPARED.map(Layer::name);
                let reason = format!("did you mean {}?\nlayers: {}", nearest(name, names), names.join(", "));
                value("layer", name, &reason)
            })
        };
        self.layer.iter().map(of).collect()
    }

    /// Whether `layer` is one of its layers.
    #[must_use]
    pub fn has_layer(&self, layer: Layer) -> bool {
        self.layer.iter().any(|name| name.eq_ignore_ascii_case(layer.name()))
    }

    /// Checks that its layers go together, and with the other settings.
    pub(super) fn check_layers(&self) -> Result<(), PlanError> {
        listed("layer", &self.layer)?;
        let layers = self.layers()?;
        let shown = || self.layer.join(",");
        if layers.len() > 1 && layers.contains(&Layer::Rest) {
            let reason = "files at rest and values in their columns are protected from different people, so neither \
                          can be recommended instead of the other; compare them in two runs";
            return Err(value("layer", shown(), reason));
        }
        if layers.len() > 1 && layers.contains(&Layer::Wire) {
            let reason = "a tunnel protects what is on the link, the others what is stored, so neither can be \
                          recommended instead of the other; compare them in two runs";
            return Err(value("layer", shown(), reason));
        }
        for (setting, list) in [("suites", &self.suites), ("path", &self.path), ("links", &self.links)] {
            if !list.is_empty() && !layers.contains(&Layer::Wire) {
                return Err(value(setting, list.join(","), "it is about packets on the link; add --layer wire"));
            }
        }
        if layers.contains(&Layer::Server) && self.store.len() > 1 {
            let reason = "every server has functions of its own; name one store";
            return Err(value("layer", shown(), reason));
        }
        if let Some(policy) = self.fields.as_ref().filter(|_| !layers.contains(&Layer::Field)) {
            let reason = "it says what the field layer seals; add --layer field";
            return Err(value("fields", policy.display(), reason));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sealstone_store::ServerFunction;

    use super::*;

    static REVERSE: ServerFunction = ServerFunction { name: "reverse", about: "turns it round", is_one_way: false };
    static FORGET: ServerFunction = ServerFunction { name: "forget", about: "nothing comes back", is_one_way: true };

    fn with(layers: &[&str]) -> Plan {
        Plan { layer: layers.iter().map(|name| String::from(*name)).collect(), ..Plan::default() }
    }

    #[test]
    fn the_layer_is_that_of_every_cipher() {
        for (name, layer) in [("rest", Layer::Rest), ("field", Layer::Field)] {
            let variants = with(&[name]).variants().unwrap().0;
            assert!(variants[0].is_baseline() && variants.len() == 3);
            assert!(variants[1..].iter().all(|variant| variant.choice(layer).is_some() && variant.layers.len() == 1));
        }
    }

    #[test]
    fn what_the_server_has_comes_after_the_ciphers() {
        let plan = Plan { server_functions: vec![&REVERSE, &FORGET], ..with(&["field", "server"]) };
        let (variants, notes) = plan.variants().unwrap();
        let labels: Vec<&str> = variants.iter().map(|variant| variant.label.as_str()).collect();
        assert_eq!(labels, ["none", "aes-256", "aria-256", "reverse", "forget"]);
        assert_eq!(variants[4].function, Some(&FORGET));
        assert!(notes.iter().any(|note| note == "forget: nothing comes back"), "{notes:?}");
        let alone = Plan { server_functions: vec![&REVERSE], ..with(&["server"]) }.variants().unwrap().0;
        assert_eq!(alone.len(), 2, "no cipher of ours: {alone:?}");
    }

    #[test]
    fn layers_that_make_no_sense_are_refused() {
        let refused = |plan: Plan| plan.check().unwrap_err().to_string();
        assert_eq!(refused(with(&["feild"])), "layer is feild: did you mean field?\nlayers: rest, field, server, wire");
        assert!(refused(with(&["rest", "field"])).starts_with("layer is rest,field: files at rest and values"));
        assert!(refused(with(&["field", "field"])).contains("listed twice"));
        let two = Plan { store: vec!["rocksdb".into(), "mysql".into()], ..with(&["server"]) };
        assert!(refused(two).contains("every server has functions of its own; name one store"));
        let policy = Plan { fields: Some("fields.toml".into()), ..Plan::default() };
        assert!(refused(policy).starts_with("fields is fields.toml: it says what the field layer seals; add --layer"));
    }
}
