//! YCSB's own property files, such as its `workloads/workloada`, read unchanged.
//!
//! Properties mean the same as in YCSB 0.17's `site.ycsb.workloads.CoreWorkload`, defaults
//! included.

use std::collections::BTreeMap;
use std::path::Path;

use sealstone_message::Unknown;
use sealstone_message::nearest;

use super::definition::{
    Definition, Fields, Keys, Mix, Order, Part, RequestDistribution, Requests, Scans, Spread,
};
use super::definition_check::Fault;
use super::definition_file::stem;
use super::file_error::FileError;

/// The properties that mean something here, each with the key of a definition that holds it.
const KNOWN: [(&str, &str); 28] = [
    ("workload", "workload"),
    ("recordcount", "records"),
    ("operationcount", "operations"),
    ("threadcount", "threads"),
    ("target", "target"),
    ("readproportion", "mix.read"),
    ("updateproportion", "mix.update"),
    ("insertproportion", "mix.insert"),
    ("scanproportion", "mix.scan"),
    ("readmodifywriteproportion", "mix.read-modify-write"),
    ("requestdistribution", "requests.distribution"),
    ("hotspotdatafraction", "requests.hot-records"),
    ("hotspotopnfraction", "requests.hot-requests"),
    ("exponential.frac", "requests.newest-records"),
    ("exponential.percentile", "requests.newest-requests"),
    ("scanlengthdistribution", "scans.length"),
    ("minscanlength", "scans.records-min"),
    ("maxscanlength", "scans.records-max"),
    ("fieldcount", "fields.count"),
    ("fieldlengthdistribution", "fields.size"),
    ("minfieldlength", "fields.bytes-min"),
    ("fieldlength", "fields.bytes-max"),
    ("readallfields", "fields.read"),
    ("writeallfields", "fields.write"),
    ("insertorder", "keys.order"),
    ("zeropadding", "keys.zero-padding"),
    ("insertstart", "requests.first-record"),
    ("insertcount", "requests.records"),
];

/// Properties of YCSB and go-ycsb that do not change the requests to a store: properties of their
/// client, of their measurements, and of the core workload's use of results.
const IGNORED: &[&str] = &[
    // the client
    "db",
    "dotransactions",
    "exporter",
    "exportfile",
    "label",
    "maxexecutiontime",
    "status",
    "status.interval",
    "warmupexecutiontime",
    "warmupoperationcount",
    "workload_template",
    "command",
    "dropdata",
    "outputstyle",
    "silence",
    "verbose",
    "warmuptime",
    // the measurements
    "measurementtype",
    "latencytrackederrors",
    "reportlatencyforeacherror",
    // the core workload
    "columnfamily",
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_retry_limit",
    "dataintegrity",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "readallfieldsbyname",
    "table",
];

/// Prefixes of the names of properties of measurements, and of clients for one store or another.
const IGNORED_BEGINNINGS: &[&str] = &[
    "measurement",
    "hdrhistogram",
    "histogram",
    "timeseries",
    "raw",
    "basicdb",
    "batch",
    "debug",
    "accumulo",
    "aerospike",
    "arangodb",
    "as",
    "asynchbase",
    "azure",
    "azurecosmos",
    "azuredocumentdb",
    "azuretablestorage",
    "badger",
    "bigtable",
    "boltdb",
    "cassandra",
    "cloudspanner",
    "couchbase",
    "couchbase2",
    "crail",
    "db",
    "dynamo",
    "dynamodb",
    "elasticsearch",
    "es",
    "etcd",
    "fdb",
    "foundationdb",
    "geode",
    "google",
    "googlebigtable",
    "googledatastore",
    "griddb",
    "hbase",
    "hosts",
    "hypertable",
    "ignite",
    "infinispan",
    "jdbc",
    "kudu",
    "kv",
    "leveldb",
    "mapr",
    "mapkeeper",
    "maxgraph",
    "memcached",
    "minio",
    "mongo",
    "mongodb",
    "mysql",
    "nosqldb",
    "orientdb",
    "pegasus",
    "pg",
    "postgrenosql",
    "postgres",
    "rados",
    "redis",
    "rest",
    "riak",
    "rocksdb",
    "s3",
    "scylla",
    "seaweed",
    "solr",
    "spanner",
    "sqlite",
    "tablestore",
    "tarantool",
    "taos",
    "tikv",
    "voltdb",
    "zookeeper",
];

/// Returns whether the property `name` is one that changes nothing here.
fn is_ignored(name: &str) -> bool {
    let begins = |(beginning, _): (&str, &str)| IGNORED_BEGINNINGS.contains(&beginning);
    IGNORED.contains(&name) || name.split_once('.').is_some_and(begins)
}

/// The names of YCSB's core workload, and of go-ycsb's.
const CORE: [&str; 3] =
    ["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "core"];

/// Reads the workload in YCSB's property file `path`, and checks it. Returns it with the ignored
/// properties, a line each.
///
/// - `over`: name and value of properties that override the file's
///
/// # Errors
/// [`FileError`]: a file that cannot be read or holds no properties, one that means nothing here, a
/// value that YCSB would not take or that cannot be had here.
pub fn read_properties(
    path: &Path,
    over: &[(String, String)],
) -> Result<(Definition, Vec<String>), FileError> {
    let bytes = sealstone_file::input::read(path)
        .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    let broken = |message: String| FileError::Properties { path: path.to_owned(), message };
    let mut properties = BTreeMap::new();
    let reading =
        java_properties::PropertiesIter::new(bytes.as_slice()).read_into(|name, value| {
            drop(properties.insert(name, (value, path.display().to_string())))
        });
    reading.map_err(|error| broken(error.to_string()))?;
    if properties.is_empty() {
        return Err(broken("no property in it".into()));
    }
    for (name, value) in over {
        properties.insert(name.clone(), (value.clone(), "-p".into()));
    }
    let mut notes = Vec::new();
    for (name, (_, place)) in &properties {
        if is_ignored(name) {
            notes.push(format!("{place}: property {name} is ignored: it has no meaning here"));
        } else if !KNOWN.iter().any(|(known, _)| known == name) {
            let known: Vec<&str> = KNOWN.iter().map(|(known, _)| *known).collect();
            let nearest = nearest(name, IGNORED.iter().chain(&known).copied()).to_owned();
            let unknown = Unknown { nearest, ..Unknown::new("property", name, known) }.into();
            return Err(FileError::UnknownProperty { place: place.clone(), unknown });
        }
    }
    let properties = Properties(properties);
    let definition = properties.definition(path)?;
    if properties.has_part()
        && definition.requests.records.or(definition.requests.first_record).is_none()
    {
        let word = definition.requests.distribution.word();
        if matches!(
            definition.requests.distribution,
            RequestDistribution::Latest | RequestDistribution::Exponential
        ) {
            notes.push(format!(
                "{}: insertstart and insertcount change nothing: {word} goes by the newest of all \
                 records, as in YCSB",
                path.display()
            ));
        }
    }
    definition.check().map_err(|fault| properties.fault(path, fault))?;
    Ok((definition, notes))
}

/// Properties by name: value, and where it comes from.
struct Properties(BTreeMap<String, (String, String)>);

impl Properties {
    fn definition(&self, path: &Path) -> Result<Definition, FileError> {
        self.one_of("workload", &CORE.map(|name| (name, ())))?;
        let share = |name, usual| self.number::<f64>(name, usual);
        let mix = Mix {
            read: share("readproportion", 0.95)?,
            update: share("updateproportion", 0.05)?,
            insert: share("insertproportion", 0.0)?,
            scan: share("scanproportion", 0.0)?,
            read_modify_write: share("readmodifywriteproportion", 0.0)?,
            ..Mix::default()
        };
        let target: Option<f64> = self.optional("target")?;
        Ok(Definition {
            name: stem(path),
            records: self.optional("recordcount")?,
            operations: self.optional("operationcount")?,
            threads: self.optional("threadcount")?,
            // to YCSB, 0 is as fast as possible
            target: target.filter(|target| *target != 0.0),
            mix,
            requests: self.requests()?,
            scans: self.scans()?,
            fields: self.fields()?,
            keys: self.keys()?,
            ..Definition::default()
        })
    }

    /// Returns whether a part of the records is named.
    fn has_part(&self) -> bool {
        ["insertstart", "insertcount"].iter().any(|name| self.get(name).is_some())
    }

    /// Returns the first requested record and their number, unless all loaded records are
    /// requested.
    fn part(&self) -> Result<(Option<u64>, Option<u64>), FileError> {
        let first: u64 = self.number("insertstart", 0)?;
        let count: Option<u64> = self.optional("insertcount")?;
        let records: Option<u64> = self.optional("recordcount")?;
        if self.has_part()
            && let Some(records) =
                records.filter(|records| first.saturating_add(count.unwrap_or(1)) > *records)
        {
            let name = if count.is_some() { "insertcount" } else { "insertstart" };
            return self.refuse(
                name,
                &format!("insertstart and insertcount together are at most recordcount, {records}"),
            );
        }
        let is_all = first == 0 && count == records;
        Ok(((first > 0).then_some(first), count.filter(|_| !is_all)))
    }

    fn requests(&self) -> Result<Requests, FileError> {
        let distributions = [
            RequestDistribution::Uniform,
            RequestDistribution::Zipfian,
            RequestDistribution::Latest,
            RequestDistribution::Hotspot,
            RequestDistribution::Sequential,
            RequestDistribution::Exponential,
        ];
        let words = distributions.map(|one| (one.word(), one));
        let distribution =
            self.one_of("requestdistribution", &words)?.unwrap_or(RequestDistribution::Uniform);
        let mut requests = Requests { distribution, ..Requests::default() };
        if !matches!(distribution, RequestDistribution::Latest | RequestDistribution::Exponential) {
            (requests.first_record, requests.records) = self.part()?;
        }
        // YCSB reads these whatever the distribution
        match distribution {
            RequestDistribution::Hotspot => {
                requests.hot_records = self.optional("hotspotdatafraction")?;
                requests.hot_requests = self.optional("hotspotopnfraction")?;
            }
            RequestDistribution::Exponential => {
                requests.newest_records = self.optional("exponential.frac")?;
                requests.newest_requests =
                    self.optional("exponential.percentile")?.map(|percent: f64| percent / 100.0);
            }
            _ => {}
        }
        Ok(requests)
    }

    fn scans(&self) -> Result<Scans, FileError> {
        let words = [("uniform", Spread::Uniform), ("zipfian", Spread::Zipfian)];
        Ok(Scans {
            length: self.one_of("scanlengthdistribution", &words)?.unwrap_or(Spread::Uniform),
            records_min: self.optional("minscanlength")?,
            records_max: self.number("maxscanlength", 1_000)?,
        })
    }

    fn fields(&self) -> Result<Fields, FileError> {
        let words = [
            ("constant", Spread::Constant),
            ("uniform", Spread::Uniform),
            ("zipfian", Spread::Zipfian),
        ];
        let size = self.one_of("fieldlengthdistribution", &words)?.unwrap_or(Spread::Constant);
        let part = |all| if all { Part::All } else { Part::One };
        Ok(Fields {
            count: self.number("fieldcount", 10)?,
            size,
            bytes_min: self.optional("minfieldlength")?.filter(|_| size != Spread::Constant),
            bytes_max: self.optional("fieldlength")?,
            read: part(self.truth("readallfields", true)?),
            write: part(self.truth("writeallfields", false)?),
            ..Fields::default()
        })
    }

    fn keys(&self) -> Result<Keys, FileError> {
        let words = [("hashed", Order::Hashed), ("ordered", Order::Ordered)];
        Ok(Keys {
            order: self.one_of("insertorder", &words)?.unwrap_or_default(),
            // one digit is what every number has
            zero_padding: self.optional("zeropadding")?.filter(|digits| *digits != 1),
            ..Keys::default()
        })
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(value, _)| value.trim())
    }

    fn refuse<T>(&self, name: &str, allowed: &str) -> Result<T, FileError> {
        let (found, place) = self.0.get(name).cloned().unwrap_or_default();
        Err(FileError::Value {
            place,
            fault: Fault { key: name.into(), found, allowed: allowed.into() },
        })
    }

    fn optional<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, FileError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.parse().map(Some).or_else(|_| self.refuse(name, "a number is expected"))
    }

    fn number<T: std::str::FromStr>(&self, name: &str, usual: T) -> Result<T, FileError> {
        Ok(self.optional(name)?.unwrap_or(usual))
    }

    fn truth(&self, name: &str, usual: bool) -> Result<bool, FileError> {
        Ok(self.one_of(name, &[("true", true), ("false", false)])?.unwrap_or(usual))
    }

    fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, FileError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == value) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                self.refuse(name, &format!("one of {}", words.join(", ")))
            }
        }
    }

    /// Returns a fault of a definition in the words of the properties that it was made of.
    fn fault(&self, path: &Path, fault: Fault) -> FileError {
        let property =
            KNOWN.iter().find(|(_, key)| *key == fault.key).map(|(property, _)| *property);
        let place = property.and_then(|name| self.0.get(name)).map(|(_, place)| place.clone());
        let place = place.unwrap_or_else(|| path.display().to_string());
        FileError::Value {
            place,
            fault: Fault { key: property.map_or(fault.key, String::from), ..fault },
        }
    }
}

#[cfg(test)]
mod tests;
