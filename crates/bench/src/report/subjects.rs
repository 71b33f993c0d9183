//! The tables of the compared items: variants with their ciphers or suites, and workloads.

use std::iter::once;

use sealstone_cipher::{Cipher, NOT_A_MODULE};
use sealstone_store::Layer;

use super::conditions;
use super::index::Run;
use super::tables::{Datum, Table, columns, figure, head, missing, variant_head, words};
use crate::advise::algorithm::{Algorithm, Part};
use crate::results::{Cell, Conditions, Means, SERVER_BACKEND, Variant};
use crate::workload::Unit;

/// Tabulates what the runs compared, and under which workloads: each table once for all runs that
/// share it.
pub(super) fn subjects(runs: &[Run]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for table in runs.iter().map(variants).chain(runs.iter().map(workloads)) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}

fn bits(bytes: usize) -> Datum {
    figure(format!("{} bits", bytes * 8), bytes as f64)
}

/// Describes the suite that seals the packets of `variant`; `path` carries them.
fn of_suite(variant: &Variant, path: Datum) -> Vec<Datum> {
    let name = words(variant.cipher().unwrap_or_default());
    let sealed = match variant.means() {
        Some(Means::Tls) => "the connection sealed (TLS), both ways",
        _ => "packets sealed (ESP), both ways",
    };
    let Some(algorithm) = Algorithm::of(variant) else {
        let standing = words(sealed);
        return vec![name, standing, missing(), missing(), missing(), missing(), path];
    };
    let standing =
        Datum { note: algorithm.caveats().join("; "), ..words(algorithm.standing().word()) };
    let [block, key] = [|cipher: &Cipher| cipher.block_bytes, |cipher: &Cipher| cipher.key_bytes]
        .map(|of: fn(&Cipher) -> usize| {
            algorithm.cipher().map_or_else(missing, |cipher| bits(of(cipher)))
        });
    let name = Datum { note: sealed.into(), ..name };
    vec![name, standing, block, key, words(Part::approval(variant).words()), missing(), path]
}

/// Tabulates the compared variants: the ciphers with their sources, and the backends.
fn variants(run: &Run) -> Table {
    let row = |(number, variant): (usize, &Variant)| {
        let accel = variant.choice().map_or("auto", |choice| choice.accel.as_str());
        let module = variant.choice().map_or("", |choice| choice.module.as_str());
        let used = Datum { note: module.into(), ..words(variant.backend().unwrap_or("–")) };
        let facts = match variant.means() {
            None => vec![
                words("no encryption"),
                missing(),
                missing(),
                missing(),
                missing(),
                missing(),
                missing(),
            ],
            Some(Means::Other(name)) if variant.backend() == Some(SERVER_BACKEND) => vec![
                words(name.as_str()),
                words(match variant.layers.contains_key(&Layer::Server) {
                    true => "a function of the server",
                    false => "brought by the server",
                }),
                missing(),
                missing(),
                missing(),
                missing(),
                used,
            ],
            Some(Means::Suite(_) | Means::Tls) => of_suite(variant, used),
            Some(Means::Other(name)) => vec![
                words(name.as_str()),
                words("not known to this build"),
                missing(),
                missing(),
                missing(),
                words(accel),
                used,
            ],
            Some(Means::Cipher(cipher)) => vec![
                Datum { note: cipher.source.into(), ..words(cipher.name) },
                Datum {
                    note: cipher.caveat.unwrap_or_default().into(),
                    ..words(cipher.standing.word())
                },
                bits(cipher.block_bytes),
                bits(cipher.key_bytes),
                words(Part::approval(variant).words()),
                words(accel),
                used,
            ],
        };
        once(variant_head(run, number)).chain(facts).collect()
    };
    Table {
        title: "What was compared".into(),
        note: format!(
            "Approved: cipher and mode, in every place where the variant seals. {NOT_A_MODULE}."
        ),
        columns: columns([
            "Variant",
            "Cipher",
            "Standing",
            "#Block",
            "#Key",
            "Approved",
            "Backend asked for",
            "Backend used",
        ]),
        rows: run.results.variants.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

/// Returns the workloads and what they do.
fn workloads(run: &Run) -> Table {
    let row = |name: &&str| {
        let cells = run.cells(name);
        let first = cells.first().map(|(_, cell)| *cell);
        let of = |words: &dyn Fn(&Cell, &Conditions) -> String| {
            first
                .and_then(|cell| Some(words(cell, cell.conditions.as_ref()?)))
                .unwrap_or("–".into())
        };
        let unit = first.map_or("–", |cell| match cell.unit {
            Unit::Operations => "operations",
            Unit::Bytes if run.results.plan.workload(name).is_ok_and(|spec| spec.device) => "bytes",
            Unit::Bytes => "bytes of records",
        });
        vec![
            head(run.called(name)),
            match run.results.plan.workload(name) {
                Ok(spec) => Datum {
                    note: spec.remark.unwrap_or_default().into(),
                    ..words(spec.description)
                },
                Err(_) => words("not known to this build"),
            },
            first
                .map_or_else(missing, |cell| figure(cell.clients.to_string(), cell.clients as f64)),
            words(of(&|cell, _| conditions::cache(run, cell).unwrap_or("–".into()))),
            words(of(&|_, found| conditions::writes(found).into())),
            words(unit),
        ]
    };
    Table {
        title: "Workloads".into(),
        note: String::new(),
        columns: columns(["Workload", "What it does", "#Clients", "Cache", "Writes", "Counted in"]),
        rows: run.workloads.iter().map(row).collect(),
        ..Table::default()
    }
}
