//! Workloads that are a mix of operations on one table: YCSB's six, and the user's own.
//!
//! Departures from YCSB, all on purpose: record values are a function of the key number, so that
//! every store holds the same; a missing record is an error instead of a count; random numbers come
//! from the comparison's seed.

use std::sync::Arc;

use super::contract::{Client, Position, SizedBy, Spec, Unit, Workload};
use super::definition::{Definition, FIELD_BYTES, RequestDistribution, Spread};
use super::distribution::ScrambledZipfian;
use super::entry::{Entry, Kind, Make};
use super::error::Error;
use super::mix_client::MixedClient;
use super::mix_data::{DataSet, Growth};
use super::name_pool::intern;
use super::requests::{Asked, Requests};
use super::setting::Setting;
use super::sources::Sources;
use sealstone_message::SettingName;
use sealstone_store::{StoreError, Table, Target};

/// The settings of what only reads.
pub(super) const READS: &[Setting] = &[Setting::Cold];
/// The settings of what reads and writes.
pub(super) const READS_AND_WRITES: &[Setting] = &[Setting::Cold, Setting::Sync];
/// The settings of what only writes.
const WRITES: &[Setting] = &[Setting::Sync];

/// The share of the records loaded that is never deleted, of so many.
const NEVER_DELETED: u64 = 2;

/// Returns the entry of the user's own workload `definition` under `setting`.
pub(super) fn entry(definition: &Definition, setting: Setting) -> Entry {
    let kind = Kind::Own(Arc::new(Own(Arc::new(definition.clone()))));
    Entry { spec: spec(definition, setting), kind }
}

/// Kind of a workload of the user's own.
#[derive(Debug)]
struct Own(Arc<Definition>);

impl Make for Own {
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        make(spec, Arc::clone(&self.0), sources)
    }

    fn definition(&self, _spec: &Spec) -> Option<Definition> {
        Some(Definition::clone(&self.0))
    }
}

/// Returns how `definition` must be run under `setting`.
fn spec(definition: &Definition, setting: Setting) -> Spec {
    let name = intern(&definition.name);
    let dataset = definition.dataset();
    let fields = &definition.fields;
    let field_bytes =
        fields.bytes_max.filter(|_| fields.size != Spread::Column).unwrap_or(FIELD_BYTES);
    let sized_by = match fields.are_usual() {
        true => SizedBy::Records,
        false => SizedBy::RecordsOf { record_bytes: fields.count * field_bytes },
    };
    Spec {
        name: intern(&setting.named(name)),
        base: name,
        setting,
        settings: match (definition.mix.reads(), definition.mix.writes()) {
            (true, true) => READS_AND_WRITES,
            (true, false) => READS,
            (false, _) => WRITES,
        },
        label: "",
        description: intern(&definition.words()),
        unit: Unit::Operations,
        dataset: intern(&setting.named(dataset)),
        clients: None,
        device: false,
        cold: false,
        from_empty: false,
        sized_by,
        checks_values: false,
        cache_hits_min: 0.0,
        remark: definition
            .pauses()
            .then_some("clients pause between operations, so it may leave CPUs idle"),
    }
}

/// A mix at work.
struct Mixed {
    spec: Spec,
    definition: Arc<Definition>,
    data: Arc<DataSet>,
    /// Keys are drawn from this many, some of which are not yet inserted.
    key_space: u64,
    /// Part of the records that is requested, if not all are.
    part: Option<Asked>,
    operations: u64,
}

/// Makes the workload that `definition` describes, to be run according to `spec`.
pub(super) fn make(
    spec: &Spec,
    definition: Arc<Definition>,
    sources: &Sources,
) -> Result<Box<dyn Workload>, Error> {
    let data = sources.shared(spec.dataset, |sources| DataSet::new(&definition, sources))?;
    if definition.requests.distribution == RequestDistribution::Latest {
        data.prepare_latest(definition.requests.theta, sources)?;
    }
    let operations = sources.data.operations;
    // as in YCSB, room for twice the inserts that are expected, so that popular keys stay the same
    let share = definition.mix.insert / definition.mix.sum();
    let expected_inserts = (operations as f64 * sources.data.rounds as f64 * share * 2.0) as u64;
    let part = part(&definition, data.count)?;
    let key_space = part.map_or(data.count, |part| part.records) + expected_inserts + 1;
    Ok(Box::new(Mixed { spec: spec.clone(), definition, data, key_space, part, operations }))
}

/// Returns the part of `loaded` records that `definition` requests; none where that is all of them.
fn part(definition: &Definition, loaded: u64) -> Result<Option<Asked>, Error> {
    let (first, records) =
        (definition.requests.first_record.unwrap_or(0), definition.requests.records);
    let rest = loaded.saturating_sub(first);
    let records = records.unwrap_or(rest);
    if records == 0 || records > rest {
        return Err(Error::Plan(format!(
            "workload {} asks for {records} records from number {first} on, and there are \
             {loaded}\n\
             load more with {}, or ask for fewer (requests.first-record and \
             requests.records; insertstart and insertcount in a property file)",
            definition.name,
            SettingName("records")
        )));
    }
    Ok((records < loaded).then_some(Asked { first, records, loaded }))
}

impl Mixed {
    fn requests(&self, growth: &Growth) -> Requests {
        let wanted = &self.definition.requests;
        // where old records go and new records come, each place has one
        let is_fixed =
            self.places().is_some() || wanted.distribution != RequestDistribution::Zipfian;
        let asked = self.part.map_or(self.data.count, |part| part.records);
        let items = if is_fixed { asked } else { self.key_space };
        match wanted.distribution {
            RequestDistribution::Uniform => Requests::Uniform(items),
            RequestDistribution::Zipfian => Requests::Zipfian(match wanted.theta {
                None => ScrambledZipfian::new(items),
                Some(theta) => ScrambledZipfian::with_skew(items, theta),
            }),
            RequestDistribution::Latest => Requests::Latest(self.data.latest(growth)),
            RequestDistribution::Hotspot => {
                let hot_items = (items as f64 * wanted.hot_records.unwrap_or(0.2)) as u64;
                let hot_share = wanted.hot_requests.unwrap_or(0.8);
                Requests::Hotspot { items, hot_items: hot_items.clamp(1, items), hot_share }
            }
            RequestDistribution::Sequential => Requests::Sequential,
            RequestDistribution::Exponential => {
                let newest = wanted.newest_records.unwrap_or(6.0 / 7.0) * items as f64;
                Requests::Exponential {
                    mean: newest / -(1.0 - wanted.newest_requests.unwrap_or(0.95)).ln(),
                }
            }
        }
    }

    /// Returns the number of places for records, if old ones are deleted.
    fn places(&self) -> Option<u64> {
        (self.definition.mix.delete > 0.0).then_some(self.data.count)
    }
}

impl Workload for Mixed {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tables(&self) -> &[Arc<Table>] {
        &self.data.tables
    }

    fn reloaded(&self, variant: usize) {
        self.data.reloaded(variant);
    }

    fn load_rows(&self) -> u64 {
        self.data.count
    }

    fn load(
        &self,
        target: Target<'_>,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError> {
        self.data.load(target.records("loading")?, part, parts, progress)
    }

    fn data_bytes(&self) -> u64 {
        (self.data.count as f64 * self.data.records.mean_bytes()) as u64
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn pauses(&self) -> bool {
        self.definition.pauses()
    }

    fn client(&self, at: Position) -> Box<dyn Client> {
        let growth = self.data.growth(at.variant);
        let requests = self.requests(&growth);
        let place = [at.round, at.slice, at.client].map(|number| number as u64);
        let client = MixedClient::new(
            &self.definition,
            self.spec.base,
            Arc::clone(&self.data),
            growth,
            requests,
            place,
        );
        Box::new(
            client.with_places(self.places(), self.data.count / NEVER_DELETED).within(self.part),
        )
    }
}

#[cfg(test)]
mod tests;
