//! Rules for the places where a plan encrypts, and its threats: each place is a layer or several,
//! and only some combine.

use sealstone_message::{SettingName, Unknown};
use sealstone_store::{Layer, Seal};

use super::{Plan, PlanError, listed, value};
use crate::words::threat::Threat;

/// The layers that a comparison can have: our ciphers in two, the server's functions in the third,
/// TLS or tunnels in the fourth.
const COMPARED: [Layer; 4] = [Layer::Rest, Layer::Field, Layer::Server, Layer::Wire];

/// Name of the setting that leaves the way of sealing files to the store.
pub const ANY_SEAL: &str = "any";

impl Plan {
    /// Returns whether the plan compares suites of the layer `wire`, and no ciphers elsewhere.
    #[must_use]
    pub(crate) fn is_wire_alone(&self) -> bool {
        !self.layer.is_empty()
            && self.layer.iter().all(|name| name.eq_ignore_ascii_case(Layer::Wire.name()))
    }

    /// Its places, in the order in which they are named: a layer, or several joined by `+`; each
    /// from the caller down.
    ///
    /// # Errors
    /// [`PlanError::Value`] for a name that is none, with the nearest; for functions of the server
    /// together with something else, and a layer together with itself.
    pub fn places(&self) -> Result<Vec<Vec<Layer>>, PlanError> {
        let place = |name: &String| {
            let mut layers =
                name.split('+').map(layer).collect::<Result<Vec<Layer>, PlanError>>()?;
            layers.sort_unstable();
            if layers.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(value(
                    "layer",
                    name,
                    "a layer is there once; name two different ones, such as field+rest",
                ));
            }
            if layers.len() > 1 && layers.contains(&Layer::Server) {
                let reason = "functions of the server are measured by themselves; name server \
                              without the other";
                return Err(value("layer", name, reason));
            }
            Ok(layers)
        };
        self.layer.iter().map(place).collect()
    }

    /// Its layers, each once, in the order in which they are named.
    ///
    /// # Errors
    /// As [`Plan::places`].
    pub fn layers(&self) -> Result<Vec<Layer>, PlanError> {
        let mut layers = Vec::new();
        for layer in self.places()?.into_iter().flatten() {
            if !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        Ok(layers)
    }

    /// Returns the ways in which it seals the files of a store that can be sealed in the ways of
    /// `possible`, each once; none if nothing it names can seal them.
    ///
    /// # Errors
    /// [`PlanError::Unknown`].
    pub fn seals(&self, possible: impl Iterator<Item = Seal>) -> Result<Vec<Seal>, PlanError> {
        let possible: Vec<Seal> = possible.collect();
        let mut found = Vec::new();
        for name in &self.seal {
            let named = Seal::ALL.into_iter().find(|seal| seal.name().eq_ignore_ascii_case(name));
            let seal = match named {
                None if name.eq_ignore_ascii_case(ANY_SEAL) => possible.first().copied(),
                None => {
                    let known = Seal::ALL.map(Seal::name).into_iter().chain([ANY_SEAL]);
                    return Err(PlanError::Unknown(Unknown::new("seal", name, known)));
                }
                Some(seal) => possible.contains(&seal).then_some(seal),
            };
            found.extend(seal.filter(|seal| !found.contains(seal)));
        }
        Ok(found)
    }

    /// Returns whether `layer` is one of the plan's layers.
    #[must_use]
    pub fn has_layer(&self, layer: Layer) -> bool {
        self.layer.iter().any(|name| is_in(layer, name))
    }

    /// Returns the names of its places without `layer`.
    #[must_use]
    pub(crate) fn places_without(&self, layer: Layer) -> Vec<String> {
        self.layer.iter().filter(|name| !is_in(layer, name)).cloned().collect()
    }

    /// Returns the threats to protect from, each once, in the order of the table.
    ///
    /// # Errors
    /// [`PlanError::Unknown`].
    pub fn threats(&self) -> Result<Vec<Threat>, PlanError> {
        let of = |name: &String| Threat::by_name(name).map_err(PlanError::Unknown);
        let mut threats = self.protect_from.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        threats.sort_unstable();
        threats.dedup();
        Ok(threats)
    }

    /// Checks that its layers go together, and with the other settings.
    pub(super) fn check_layers(&self) -> Result<(), PlanError> {
        listed("layer", &self.layer)?;
        listed("seal", &self.seal)?;
        let seals = self.seals(Seal::ALL.into_iter())?;
        if seals != [Seal::Own] && !self.has_layer(Layer::Rest) {
            let reason = format!("it is about files at rest; add {}", SettingName("layer rest"));
            return Err(value("seal", self.seal.join(","), &reason));
        }
        if !self.protect_from.is_empty() {
            listed("protect-from", &self.protect_from)?;
        }
        self.threats()?;
        let (places, layers) = (self.places()?, self.layers()?);
        let joins_rest = |place: &Vec<Layer>| place.len() > 1 && place.contains(&Layer::Rest);
        if seals.contains(&Seal::Server) && places.iter().any(joins_rest) {
            let reason = format!(
                "what the server brings is measured by itself; name rest alone in {}, or leave \
                 server out",
                SettingName("layer")
            );
            return Err(value("seal", self.seal.join(","), &reason));
        }
        let shown = || self.layer.join(",");
        if let Some((_, name)) = places
            .iter()
            .zip(&self.layer)
            .enumerate()
            .find_map(|(at, one)| places[..at].contains(one.0).then_some(one))
        {
            return Err(value("layer", name, "the same layers are listed twice; leave one out"));
        }
        if places.len() > 1 && self.protect_from.is_empty() {
            let kept = match (layers.contains(&Layer::Wire), layers.contains(&Layer::Rest)) {
                (true, _) => Some("what is on its way and what is stored are"),
                (false, true) => Some("files at rest and values in their columns are"),
                (false, false) => None,
            };
            if let Some(kept) = kept {
                let reason = format!(
                    "{kept} protected from different people, so neither can be recommended instead \
                     of the other; say from whom with {}, or compare them in two runs",
                    SettingName("protect-from")
                );
                return Err(value("layer", shown(), &reason));
            }
        }
        for (setting, list) in
            [("suites", &self.suites), ("path", &self.path), ("links", &self.links)]
        {
            if !list.is_empty() && !layers.contains(&Layer::Wire) {
                let reason =
                    format!("it is about packets on the link; add {}", SettingName("layer wire"));
                return Err(value(setting, list.join(","), &reason));
            }
        }
        if layers.contains(&Layer::Server) && self.store.len() > 1 {
            let reason = "every server has functions of its own; name one store";
            return Err(value("layer", shown(), reason));
        }
        if let Some(policy) = self.fields.as_ref().filter(|_| !layers.contains(&Layer::Field)) {
            let add = SettingName("layer field");
            let reason = format!("it says what the field layer seals; add {add}");
            return Err(value("fields", policy.display(), &reason));
        }
        Ok(())
    }
}

/// Returns the layer called `name`.
fn layer(name: &str) -> Result<Layer, PlanError> {
    let found = COMPARED.into_iter().find(|layer| layer.name().eq_ignore_ascii_case(name));
    let unknown = || Unknown::new("layer", name, COMPARED.map(Layer::name));
    found.ok_or_else(|| PlanError::Unknown(unknown()))
}

/// Returns whether `layer` is among the layers joined in the place called `name`.
fn is_in(layer: Layer, name: &str) -> bool {
    name.split('+').any(|one| one.eq_ignore_ascii_case(layer.name()))
}

#[cfg(test)]
mod tests {
    use sealstone_store::{ServerFunction, Tunnel, Variant, WireSuite};

    use super::*;
    use crate::study::plan::Protections;

    static REVERSE: ServerFunction =
        ServerFunction { name: "reverse", about: "turns it round", is_one_way: false };
    static FORGET: ServerFunction =
        ServerFunction { name: "forget", about: "nothing comes back", is_one_way: true };

    /// Returns the variants of `plan` with its ciphers, `functions` and `tunnels`, and the notes on
    /// them.
    fn variants(
        plan: &Plan,
        functions: &[&'static ServerFunction],
        tunnels: &[Tunnel],
    ) -> (Vec<Variant>, Vec<String>) {
        let algorithms = plan.algorithms().unwrap();
        let ours = Protections::of(&algorithms);
        plan.variants(&Protections { functions, tunnels, ..ours }).unwrap()
    }

    fn with(layers: &[&str]) -> Plan {
        Plan { layer: layers.iter().map(|name| String::from(*name)).collect(), ..Plan::default() }
    }

    #[test]
    fn the_layer_is_that_of_every_cipher() {
        for (name, layer) in [("rest", Layer::Rest), ("field", Layer::Field)] {
            let found = variants(&with(&[name]), &[], &[]).0;
            assert!(found[0].is_baseline() && found.len() == 3);
            assert!(found[1..].iter().all(|variant| variant.layers().eq([layer])));
        }
    }

    #[test]
    fn several_places_need_to_know_from_whom() {
        let across = |layers: &[&str], from: &[&str]| Plan {
            protect_from: from.iter().map(|name| String::from(*name)).collect(),
            ..with(layers)
        };
        let plan = across(&["rest", "field", "rest+field"], &["dba", "disk-thief"]);
        plan.check().unwrap();
        let found = variants(&plan, &[], &[]).0;
        let labels: Vec<String> = found.into_iter().map(|variant| variant.label).collect();
        let wanted = [
            "none",
            "aes-256 rest",
            "aria-256 rest",
            "aes-256 field",
            "aria-256 field",
            "aes-256 field+rest",
            "aria-256 field+rest",
        ];
        assert_eq!(labels, wanted);
        assert_eq!(plan.threats().unwrap(), [Threat::DiskThief, Threat::Dba]);
        // one place of two layers is one question, as one of one layer is
        let both = with(&["field+rest"]);
        both.check().unwrap();
        assert_eq!(variants(&both, &[], &[]).0[1].layers().count(), 2);
        let refused = |plan: Plan| plan.check().unwrap_err().to_string();
        let found = refused(across(&["rest"], &["dbo"]));
        let names = "disk-thief, backup-reader, network, dba, server-admin";
        assert_eq!(
            found,
            format!("unknown threat \"dbo\"; did you mean dba?\nknown threats: {names}")
        );
        let twice = refused(across(&["rest"], &["dba", "dba"]));
        assert_eq!(twice, "protect-from is dba: it is listed twice; leave one out");
        assert!(
            refused(with(&["rest", "field"]))
                .ends_with("with protect-from, or compare them in two runs")
        );
        assert!(
            refused(across(&["rest+field", "field+rest"], &["dba"]))
                .contains("the same layers are listed twice")
        );
        assert!(refused(with(&["field+server"])).contains("name server without the other"));
        assert!(refused(with(&["rest+rest"])).contains("a layer is there once"));
        assert!(refused(with(&["rest+feild"])).contains("did you mean field?"));
    }

    #[test]
    fn the_wire_is_a_place_beside_others() {
        let tls = Tunnel { suite: WireSuite::Tls, path: "rustls", caveats: Vec::new() };
        let with_tls = |layers: &[&str]| Plan {
            protect_from: vec!["network".into(), "dba".into()],
            ..with(layers)
        };
        let plan = with_tls(&["field", "wire", "field+wire"]);
        plan.check().unwrap();
        let tunnels = [tls.clone()];
        let (found, notes) = variants(&plan, &[], &tunnels);
        let labels: Vec<&str> = found.iter().map(|variant| variant.label.as_str()).collect();
        let wanted = [
            "none",
            "aes-256 field",
            "aria-256 field",
            "aes-256 field+wire",
            "aria-256 field+wire",
            "tls",
        ];
        assert_eq!((labels, notes.len()), (wanted.to_vec(), 0));
        let sealed: Vec<(bool, bool)> = found
            .iter()
            .map(|variant| (variant.field.is_some(), variant.wire == Some(tls.clone())))
            .collect();
        let (neither, field, wire) = ((false, false), (true, false), (false, true));
        assert_eq!(sealed, [neither, field, field, (true, true), (true, true), wire]);
        // one place of two layers needs no person to protect from, as any one place
        let both = Plan { protect_from: Vec::new(), ..with_tls(&["field+wire"]) };
        both.check().unwrap();
        assert_eq!(variants(&both, &[], &[]).0[1].label, "aes-256");
        let refused =
            Plan { protect_from: Vec::new(), ..with_tls(&["field", "wire"]) }.check().unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("layer is field,wire: what is on its way and what is stored are")
        );
        let alone = Plan { suites: vec!["none".into(), "tls".into()], ..with_tls(&["wire"]) };
        assert!(alone.is_wire_alone() && !plan.is_wire_alone());
        let found = variants(&alone, &[], &tunnels).0;
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn what_the_server_has_comes_after_the_ciphers() {
        let both: [&'static ServerFunction; 2] = [&REVERSE, &FORGET];
        let plan = with(&["field", "server"]);
        let (found, notes) = variants(&plan, &both, &[]);
        let labels: Vec<&str> = found.iter().map(|variant| variant.label.as_str()).collect();
        assert_eq!(labels, ["none", "aes-256", "aria-256", "reverse", "forget"]);
        assert_eq!(found[4].server, Some(&FORGET));
        assert!(notes.iter().any(|note| note == "forget: nothing comes back"), "{notes:?}");
        let alone = with(&["server"]);
        let alone = variants(&alone, &both[..1], &[]).0;
        assert_eq!(alone.len(), 2, "no cipher of ours: {alone:?}");
    }

    #[test]
    fn layers_that_make_no_sense_are_refused() {
        let refused = |plan: Plan| plan.check().unwrap_err().to_string();
        assert_eq!(
            refused(with(&["feild"])),
            "unknown layer \"feild\"; did you mean field?\nknown layers: rest, field, server, wire"
        );
        assert!(
            refused(with(&["rest", "field"]))
                .starts_with("layer is rest,field: files at rest and values")
        );
        assert!(refused(with(&["field", "field"])).contains("listed twice"));
        let two = Plan { store: vec!["rocksdb".into(), "mysql".into()], ..with(&["server"]) };
        assert!(refused(two).contains("every server has functions of its own; name one store"));
        let policy = Plan { fields: Some("fields.toml".into()), ..Plan::default() };
        assert!(refused(policy).starts_with(
            "fields is fields.toml: it says what the field layer seals; add layer field"
        ));
    }
}
