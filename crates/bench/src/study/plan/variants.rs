//! Variants that a plan compares.

use std::collections::HashMap;

use sealstone_cipher::module::Module;
use sealstone_cipher::{Backend, Cipher, Provider};
use sealstone_store::{Choice, Layer, RestSeal, Seal, Variant};

use super::protections::{Algorithms, Protections};
use super::{NONE, Plan, PlanError, is_none};
use crate::words::places::place_name;

impl Plan {
    /// Lists the variants to compare: every cipher with every backend and module in every place,
    /// the baseline first, labels unique; then what else is in `protections`. Also returns notes
    /// for the reader: a baseline that was added, two backends that are the same.
    ///
    /// # Errors
    /// `PlanError::Value`: layers or ways of sealing that cannot be.
    pub fn variants(
        &self,
        protections: &Protections<'_>,
    ) -> Result<(Vec<Variant>, Vec<String>), PlanError> {
        let Protections { algorithms, functions, server_rest, tunnels, modules } = *protections;
        let Algorithms { ciphers, backends } = algorithms;
        // a store that nothing seals is measured without any, whatever the others have
        let is_sealed = self.ciphers.iter().any(|name| !is_none(name));
        let ciphers: &[&'static Cipher] = if is_sealed { ciphers } else { &[] };
        let mut notes = Vec::new();
        for (at, (accel, found)) in backends.iter().enumerate() {
            if let Some((before, _)) = backends[..at].iter().find(|(_, earlier)| earlier == found) {
                let name = found.name();
                notes.push(match accel == before {
                    true => format!(
                        "accel lists {accel} twice: the two are one backend ({name}), \
                         measured twice"
                    ),
                    false => format!(
                        "accel {before} and {accel} are the same backend on this CPU: \
                         {name}"
                    ),
                });
            }
        }
        let compared = if self.is_wire_alone() { &self.suites } else { &self.ciphers };
        let baselines = compared.iter().filter(|name| is_none(name)).count();
        if baselines == 0 {
            notes.push(format!("added `{NONE}`, the baseline that every cost is measured against"));
        }
        let mut labels = HashMap::new();
        let mut variants = Vec::new();
        let places = self.places()?;
        let is_ours = |layer: &Layer| matches!(layer, Layer::Rest | Layer::Field);
        let sealed: Vec<&Vec<Layer>> =
            places.iter().filter(|place| place.iter().any(is_ours)).collect();
        let is_named = sealed.len() > 1 || places.contains(&vec![Layer::Wire]);
        // of a store that has them all; the plan of one point names those that its store has
        let seals = self.seals(Seal::ALL.into_iter())?;
        let mut add = |label: String, (layers, seal): (&[Layer], Seal), choice: Option<Choice>| {
            let count = labels.entry(label.clone()).or_insert(0);
            *count += 1;
            let label = if *count == 1 { label } else { format!("{label} ({count})") };
            let chosen = |layer| choice.filter(|_| layers.contains(&layer));
            let wire = tunnels.first().filter(|_| layers.contains(&Layer::Wire)).cloned();
            let sealing = match seal {
                Seal::Volume => RestSeal::Volume,
                Seal::Own | Seal::Server => RestSeal::Own,
            };
            let (field, rest) = (chosen(Layer::Field), chosen(Layer::Rest).map(sealing));
            variants.push(Variant { field, wire, rest, ..Variant::plain(label) });
        };
        for _ in 0..baselines.max(1) {
            add(NONE.into(), (&[], Seal::Own), None);
        }
        for (place, seal) in sealed.iter().flat_map(|place| {
            let is_rest = place.contains(&Layer::Rest);
            let ways = if is_rest { &seals[..] } else { &[Seal::Own] };
            ways.iter().map(move |seal| (place, *seal))
        }) {
            // no cipher of ours is in it
            if seal == Seal::Server {
                continue;
            }
            let is_one_of = place.contains(&Layer::Rest) && seals.len() > 1;
            for &cipher in ciphers {
                for (provider, word) in self.providers(backends, modules) {
                    let mut label = match &word {
                        Some(word) => format!("{} {word}", cipher.name),
                        None => cipher.name.into(),
                    };
                    let forced = word.is_some() && provider.module().is_none();
                    if is_named {
                        label = format!("{label} {}", place_name(place));
                    }
                    if is_one_of {
                        label = format!("{label} {}", seal.name());
                    }
                    add(label, (place, seal), Some(Choice { cipher, provider, forced }));
                }
            }
        }
        if places.concat().contains(&Layer::Rest) && seals.contains(&Seal::Server) {
            variants.extend(server_rest.iter().map(|encryption| Variant {
                rest: Some(RestSeal::Server(encryption)),
                ..Variant::plain(match seals.len() {
                    1 => encryption.name.to_owned(),
                    _ => format!("{} {}", encryption.name, Seal::Server.name()),
                })
            }));
            notes.extend(server_rest.iter().map(|one| format!("{}: {}", one.name, one.about)));
        }
        if places.concat().contains(&Layer::Server) {
            let of_server = |function: &&'static _| Variant {
                server: Some(function),
                ..Variant::plain(function.name)
            };
            variants.extend(functions.iter().map(of_server));
            let one_way = functions.iter().filter(|function| function.is_one_way);
            notes.extend(one_way.map(|function| format!("{}: {}", function.name, function.about)));
        }
        if places.contains(&vec![Layer::Wire]) {
            for tunnel in tunnels {
                // the path goes without saying where there is only one
                let is_one = tunnels.iter().all(|other| other.path == tunnel.path);
                let label = if is_one {
                    tunnel.suite.name().to_owned()
                } else {
                    format!("{} {}", tunnel.suite.name(), tunnel.path)
                };
                variants.push(Variant { wire: Some(tunnel.clone()), ..Variant::plain(label) });
            }
        }
        Ok((variants, notes))
    }

    /// Returns who computes the ciphers, and the word for each in a label: our own code on each of
    /// `backends`, where the plan has `none` among its modules, and `modules`.
    fn providers(
        &self,
        backends: &[(String, Backend)],
        modules: &[&'static dyn Module],
    ) -> Vec<(Provider, Option<String>)> {
        let mut modules = modules.iter();
        let mut providers = Vec::new();
        for name in &self.module {
            if is_none(name) {
                providers.extend(backends.iter().map(|(accel, backend)| {
                    let forced = !accel.eq_ignore_ascii_case("auto");
                    (Provider::Own(*backend), forced.then(|| accel.clone()))
                }));
            } else if let Some(module) = modules.next() {
                providers.push((Provider::Module(*module), Some(module.name().to_owned())));
            }
        }
        providers
    }
}
