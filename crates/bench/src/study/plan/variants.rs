//! Variants that a plan compares.

use std::collections::HashMap;

use sealstone_cipher::module::Module;
use sealstone_cipher::{Backend, Provider, cipher};
use sealstone_store::{Choice, Layer, Seal, Variant};

use super::others::Others;
use super::{NO_MODULE, Plan, PlanError};
use crate::words::places::place_name;

impl Plan {
    /// Lists the variants to compare: every cipher with every backend and module in every place,
    /// the baseline first, labels unique; then what `others` has. Also returns notes for the
    /// reader: a baseline that was added, two backends that are the same.
    ///
    /// # Errors
    /// `PlanError::Cipher`, `PlanError::Backend`.
    pub fn variants(&self, others: &Others<'_>) -> Result<(Vec<Variant>, Vec<String>), PlanError> {
        let Others { functions, server_rest, tunnels, modules } = *others;
        let mut notes = Vec::new();
        let mut backends = Vec::new();
        for accel in &self.accel {
            backends.push((accel.as_str(), Backend::by_name(accel)?));
        }
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
        let is_none = |name: &&String| name.eq_ignore_ascii_case("none");
        let compared = if self.is_wire_alone() { &self.suites } else { &self.ciphers };
        let baselines = compared.iter().filter(is_none).count();
        if baselines == 0 {
            notes.push("added `none`, the baseline that every cost is measured against".into());
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
            let (field, rest) = (chosen(Layer::Field), chosen(Layer::Rest));
            variants.push(Variant { field, wire, rest, seal, ..Variant::plain(label) });
        };
        for _ in 0..baselines.max(1) {
            add("none".into(), (&[], Seal::Own), None);
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
            for name in self.ciphers.iter().filter(|name| !is_none(name)) {
                let cipher = cipher(name)?;
                for (provider, word) in self.providers(&backends, modules) {
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
        // names are checked also where nothing of ours is measured
        self.ciphers
            .iter()
            .filter(|name| !is_none(name))
            .try_for_each(|name| cipher(name).map(drop))?;
        if places.concat().contains(&Layer::Rest) && seals.contains(&Seal::Server) {
            variants.extend(server_rest.iter().map(|encryption| Variant {
                server_rest: Some(encryption),
                seal: Seal::Server,
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
                    tunnel.suite.to_owned()
                } else {
                    format!("{} {}", tunnel.suite, tunnel.path)
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
        backends: &[(&str, Backend)],
        modules: &[&'static dyn Module],
    ) -> Vec<(Provider, Option<String>)> {
        let mut modules = modules.iter();
        let mut providers = Vec::new();
        for name in &self.module {
            if name.eq_ignore_ascii_case(NO_MODULE) {
                providers.extend(backends.iter().map(|(accel, backend)| {
                    let forced = !accel.eq_ignore_ascii_case("auto");
                    (Provider::Own(*backend), forced.then(|| (*accel).to_owned()))
                }));
            } else if let Some(module) = modules.next() {
                providers.push((Provider::Module(*module), Some(module.name().to_owned())));
            }
        }
        providers
    }
}
