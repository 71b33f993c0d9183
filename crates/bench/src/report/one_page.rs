//! One sheet of paper for decision makers: which place keeps whom from reading, what the advised
//! one costs, what it leaves open, and what it takes.

use sealstone_cipher::NOT_A_MODULE;
use sealstone_store::Layer;
use serde::Serialize;

use super::canvas;
use super::conditions::{self, Fact, fact};
use super::headline::{Headline, headline, on_the_whole};
use super::index::{self, Run};
use super::options::Options;
use super::overview::{quantity, value};
use super::page;
use crate::conclude::figures;
use crate::results::{Ranked, Results, Variant};
use crate::words::adoption::adoption;
use crate::words::places::{Place, Protection, entry, place_name};
use crate::words::threat::Threat;
use crate::words::verdict::Verdict;

/// Runs of which the sheet has room for a line each.
const RUNS_MAX: usize = 6;

/// Layers whose row is there even if nothing was measured in them.
const USUAL: [Layer; 3] = [Layer::Rest, Layer::Field, Layer::Wire];

/// The sheet.
#[derive(Serialize)]
pub(super) struct OnePage {
    title: String,
    title_given: Option<String>,
    style: String,
    answer: Headline,
    /// Set if a place is advised: only then there is somebody whom it keeps out.
    is_advised: bool,
    /// Several runs: the answer of each.
    others: Vec<Other>,
    /// Number of runs that there is no room for.
    left_out: usize,
    people: Vec<Person>,
    places: Vec<PlaceRow>,
    protected: Vec<Item>,
    open: Vec<Item>,
    /// Needs of the advised places.
    takes: Vec<Fact>,
    /// Further costs.
    costs: Vec<String>,
    /// Reasons not to trust the figures without a second look.
    warnings: Vec<String>,
    measured: String,
}

/// One of several runs.
#[derive(Serialize)]
struct Other {
    label: String,
    sentence: String,
}

/// Somebody whom data has to be kept from.
#[derive(Serialize)]
struct Person {
    name: &'static str,
    is: &'static str,
}

/// One place, or several together.
#[derive(Serialize)]
struct PlaceRow {
    place: String,
    variant: String,
    is_advised: bool,
    protection: Vec<Shown>,
    cost: String,
}

/// Extent to which somebody is kept out.
#[derive(Serialize)]
struct Shown {
    class: &'static str,
    sign: &'static str,
    word: &'static str,
}

/// One person, and why.
#[derive(Serialize)]
struct Item {
    name: &'static str,
    why: &'static str,
}

impl OnePage {
    pub(super) fn new(results: &[Results], options: &Options) -> Self {
        let runs = index::runs(results, options.language);
        // the run whose answer is shown in full: the first that has one
        let has_choice = |run: &&Run| run.results.recommendation.take.is_some();
        let run = runs.iter().find(has_choice).unwrap_or(&runs[0]);
        let answer = headline(run);
        let where_ = Where::of(run, options);
        let advised =
            run.results.recommendation.take.as_ref().and_then(|label| {
                run.results.variants.iter().find(|variant| variant.label == *label)
            });
        let layers: Vec<Layer> =
            advised.map_or_else(Vec::new, |variant| variant.layers.keys().copied().collect());
        let (protected, open) = where_.split(&layers);
        let early = run.results.interrupted.then(|| page::interrupted(run));
        let shown = runs.len().min(RUNS_MAX);
        let several = if runs.len() > 1 { &runs[..shown] } else { &[] };
        Self {
            title: format!("Encrypting {}: protection, cost, effort", run.results.engine.name),
            title_given: options.title.clone(),
            style: format!(
                "{}{}",
                canvas::style_sheet(),
                include_str!("../../templates/one-page.css")
            ),
            answer,
            is_advised: advised.is_some(),
            others: several
                .iter()
                .map(|run| Other { label: run.label.clone(), sentence: headline(run).sentence })
                .collect(),
            left_out: runs.len() - shown,
            people: Threat::ALL
                .map(|threat| Person { name: threat.name(), is: threat.definition() })
                .into(),
            places: where_.rows(run, &layers),
            protected,
            open,
            takes: takes(run, advised),
            costs: costs(run, advised),
            warnings: early.into_iter().chain(page::warnings(run.results)).collect(),
            measured: page::summary(run.results, &conditions::amount(run.results)),
        }
    }
}

/// Surroundings of data, as far as the table of places needs them.
struct Where {
    within_process: bool,
    by_policy: bool,
}

impl Where {
    fn of(run: &Run, options: &Options) -> Self {
        let coverage = run.results.recommendation.coverage.as_ref();
        let known = coverage.map(|coverage| &coverage.surroundings);
        let seals_all = known.is_some_and(|known| known.policy_seals_everything);
        Self {
            within_process: known
                .map_or_else(|| options.is_within_process(run), |known| known.within_process),
            by_policy: run.results.plan.fields.is_some() && !seals_all,
        }
    }

    /// Returns how far `layers` together protect from `threat`, and why: as far as the best does.
    fn protection(&self, layers: &[Layer], threat: Threat) -> (Protection, &'static str) {
        let each = layers
            .iter()
            .map(|layer| entry(Place::of(*layer, self.by_policy), threat).at(self.within_process));
        // of equals the first, from the caller down
        each.rev().max_by_key(|found| found.0).unwrap_or((Protection::LeavesOpen, NOTHING))
    }

    /// Returns whom `layers` keep out, and whom not or only in part.
    fn split(&self, layers: &[Layer]) -> (Vec<Item>, Vec<Item>) {
        let (mut protected, mut open) = (Vec::new(), Vec::new());
        for threat in Threat::ALL {
            let (protection, why) = self.protection(layers, threat);
            let item = Item { name: threat.name(), why };
            match protection {
                Protection::Protects => protected.push(item),
                Protection::Partly | Protection::LeavesOpen => open.push(item),
                Protection::NobodyThere => {}
            }
        }
        (protected, open)
    }

    /// Returns a row for each place that was measured, then for the usual ones that were not.
    fn rows(&self, run: &Run, advised: &[Layer]) -> Vec<PlaceRow> {
        let variants = &run.results.variants;
        let mut places: Vec<Vec<Layer>> = Vec::new();
        for variant in variants.iter().filter(|variant| !variant.is_baseline()) {
            let layers: Vec<Layer> = variant.layers.keys().copied().collect();
            if !places.contains(&layers) {
                places.push(layers);
            }
        }
        let is_here = |layer: &Layer| !(self.within_process && *layer == Layer::Wire);
        for layer in USUAL.into_iter().filter(is_here) {
            if !places.iter().any(|known| known == &[layer]) {
                places.push(vec![layer]);
            }
        }
        places.sort_by_key(|layers| layers != advised);
        places.truncate(PLACES_MAX);
        places.iter().map(|layers| self.row(run, layers, layers == advised)).collect()
    }

    fn row(&self, run: &Run, layers: &[Layer], is_advised: bool) -> PlaceRow {
        let ranked = best(run, layers);
        let protection = Threat::ALL.map(|threat| {
            let found = self.protection(layers, threat).0;
            let class = match found {
                Protection::Protects => "protects",
                Protection::Partly => "partly",
                Protection::LeavesOpen => "open",
                Protection::NobodyThere => "nobody",
            };
            Shown { class, sign: found.sign(), word: found.word() }
        });
        let cost = ranked.map(|ranked| cost_of(run, &ranked.label));
        PlaceRow {
            place: match layers {
                [one] => called(Place::of(*one, self.by_policy)).to_owned(),
                _ => place_name(layers),
            },
            variant: ranked.map_or_else(String::new, |ranked| ranked.label.clone()),
            is_advised,
            protection: protection.into(),
            cost: cost.unwrap_or_else(|| super::places::NOT_MEASURED.into()),
        }
    }
}

/// Returns what somebody who has never heard of layers knows `place` by.
fn called(place: Place) -> &'static str {
    match place {
        Place::Field => "columns (field)",
        Place::FieldByPolicy => "some columns (field)",
        Place::Wire => "connection (wire)",
        Place::Server => "server's functions (server)",
        Place::Rest => "files on disk (rest)",
    }
}

/// Places for which there is room.
const PLACES_MAX: usize = 6;

/// Reason of a place that there is not.
const NOTHING: &str = "nothing is encrypted";

/// Returns the variant to name for `layers`: the advised one, or the first in rank.
fn best<'a>(run: &Run<'a>, layers: &[Layer]) -> Option<&'a Ranked> {
    let recommendation = &run.results.recommendation;
    let is_there = |ranked: &&Ranked| {
        let of = |variant: &&Variant| variant.label == ranked.label;
        let variant = run.results.variants.iter().find(of);
        variant.is_some_and(|variant| variant.layers.keys().copied().eq(layers.iter().copied()))
    };
    let those = || recommendation.ranking.iter().filter(is_there);
    those().find(|ranked| Some(&ranked.label) == recommendation.take.as_ref()).or(those().next())
}

/// Returns the cost of the variant called `label` on the whole, as the first screen has it.
fn cost_of(run: &Run, label: &str) -> String {
    let number = run.results.variants.iter().position(|variant| variant.label == label);
    let whole = number.and_then(|number| on_the_whole(run, number));
    let open = || Verdict::CannotConclude.word().into();
    whole.map_or_else(open, |whole| value(quantity(run), &whole))
}

/// Returns what the places of `advised` take; of none, only who computes.
fn takes(run: &Run, advised: Option<&Variant>) -> Vec<Fact> {
    let by = |words: &str| fact("Module", format!("{words}; {NOT_A_MODULE}"));
    let ours = "where a validated module is required, --module computes in yours";
    let Some(variant) = advised else { return vec![by(ours)] };
    let store = run.results.plan.point().store;
    let mut takes: Vec<Fact> = Vec::new();
    let mut add = |name: &str, text: &str| {
        let known = takes.iter_mut().find(|known| known.name == name);
        match known {
            Some(known) if known.value.contains(text) => {}
            Some(known) => known.value = format!("{}; {text}", known.value),
            None => takes.push(fact(name, text)),
        }
    };
    for (layer, choice) in variant.layers.iter().rev() {
        let row = adoption(*layer, &store, choice.seal == "volume");
        add("Keys", row.keys);
        add("Restart", row.restart);
        add("Conversion", row.conversion);
    }
    let module = variant.layers.values().find(|choice| !choice.module.is_empty());
    let by = match module {
        Some(choice) => by(&format!("computed in {}", choice.module)),
        None => by(ours),
    };
    takes.insert(1, by);
    takes
}

/// Returns what the advised variant costs besides: CPU time and space.
fn costs(run: &Run, advised: Option<&Variant>) -> Vec<String> {
    let cpu = run.results.recommendation.cpu.iter().cloned();
    let number = |variant: &Variant| {
        run.results.variants.iter().position(|known| known.label == variant.label)
    };
    let grown = advised.and_then(number).and_then(|number| {
        let ratios = run.workloads.iter().filter_map(|workload| {
            let base = run.baseline_cell(workload)?.disk_bytes;
            let own = run.cell(workload, number)?.disk_bytes;
            (base > 0 && own > 0).then(|| own as f64 / base as f64)
        });
        let (least, most) = ratios
            .fold((f64::MAX, 0.0_f64), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
        (most > 0.0).then(|| match figures::change(least) == figures::change(most) {
            true => format!("size on disk {}", figures::change(most)),
            false => {
                format!("size on disk {} to {}", figures::change(least), figures::change(most))
            }
        })
    });
    cpu.chain(grown).collect()
}
