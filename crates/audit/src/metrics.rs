//! Facts as metrics for a monitor: a sealed share, ages, counts. Not here: the facts (`facts`), the
//! text format (`prometheus`), rules for alerts (docs/examples/sealstone-alerts.yml).

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use crate::facts::{Audit, Clear, Counted, Key, Kind, NotVerified, Place, Share, Unit, Verified};
use crate::prometheus::{self, Metric, Sample};

/// Labels of a sample.
type Labels = Vec<(&'static str, String)>;

/// Returns the facts of `audit` as metrics, in the text format of Prometheus.
///
/// - `now`: the time for ages and of the text
/// - `took`: how long it took to find the facts
#[must_use]
pub fn metrics(audit: &Audit, now: Timestamp, took: Duration) -> String {
    let mut named = BTreeSet::new();
    // a place that was named twice is one
    let places: Vec<&Place> =
        audit.places.iter().filter(|place| named.insert(place.name.as_str())).collect();
    let version = audit.program.rsplit(' ').next().unwrap_or_default().to_owned();
    let mut metrics = vec![
        gauge(
            "build_info",
            "Version of the program that wrote this, as a label.",
            [(vec![("version", version)], 1.0)],
        ),
        gauge(
            "scrape_timestamp_seconds",
            "Time at which the places were looked at.",
            [(Vec::new(), seconds(now))],
        ),
        gauge(
            "scrape_duration_seconds",
            "Time that it took to look at all places.",
            [(Vec::new(), took.as_secs_f64())],
        ),
    ];
    metrics.extend(of_places(&places));
    metrics.extend(of_shares(&places));
    metrics.extend(of_checks(&places));
    metrics.extend(of_counts(&places));
    metrics.extend(of_keys(audit, now));
    prometheus::text(&metrics)
}

/// Returns the share of a place that is sealed, of all that can be: by bytes where all of it is
/// counted in bytes, else by parts; none of an empty place, or one that could not be looked at.
#[must_use]
pub fn sealed_ratio(place: &Place) -> Option<f64> {
    if place.sealed.is_empty() && place.clear.is_empty() {
        return (place.on_volume.is_some() && place.unread.is_empty()).then_some(1.0);
    }
    let sealed: Option<u64> = place.sealed.iter().map(|share| share.bytes).sum();
    let clear: Option<u64> = place.clear.iter().map(|clear| clear.bytes).sum();
    let (sealed, clear) = match sealed.zip(clear) {
        Some(bytes) if bytes != (0, 0) => bytes,
        _ => (place.sealed.iter().map(|share| share.count).sum(), parts(&place.clear)),
    };
    let all = sealed + clear;
    (all > 0).then(|| sealed as f64 / all as f64)
}

/// Returns the number of parts in the clear: values where values are counted, else entries.
fn parts(clear: &[Clear]) -> u64 {
    clear.iter().map(|clear| clear.values.unwrap_or(1)).sum()
}

fn of_places(places: &[&Place]) -> Vec<Metric> {
    let known = |place: &Place| place.is_known().then_some(());
    let each = |name: &str, help, value: &dyn Fn(&Place) -> Option<f64>| {
        let sample = |place: &&Place| Some((labels(place), value(place)?));
        gauge(name, help, places.iter().filter_map(sample))
    };
    let about = |place: &&Place| {
        let kind = match place.kind {
            Kind::Store => "store",
            Kind::Server => "server",
            Kind::Volume => "volume",
            Kind::Columns => "columns",
            Kind::Table => "table",
            Kind::Unknown => "unknown",
            Kind::Key => "key",
        };
        let more = [
            ("kind", kind.to_owned()),
            ("product", place.product.clone()),
            ("volume", place.on_volume.clone().unwrap_or_default()),
        ];
        let more = more.into_iter().filter(|(_, value)| !value.is_empty());
        (labels(place).into_iter().chain(more).collect(), 1.0)
    };
    vec![
        gauge(
            "place_info",
            "Kind of a place, and the sealed volume that it is on.",
            places.iter().map(about),
        ),
        each("scrape_success", "1 if all of a place could be looked at, else 0.", &|place| {
            Some(f64::from(u8::from(place.unread.is_empty())))
        }),
        each(
            "sealed_ratio",
            "Sealed share of what can be sealed in a place, by bytes where they are counted.",
            &sealed_ratio,
        ),
        each("clear_bytes", "Bytes in the clear that could be sealed.", &|place| {
            known(place)?;
            place.clear.iter().map(|clear| clear.bytes).sum::<Option<u64>>().map(|all| all as f64)
        }),
        each(
            "clear_parts",
            "Files, directories or values in the clear that could be sealed.",
            &|place| known(place).map(|()| parts(&place.clear) as f64),
        ),
        each("unread_parts", "Files that could not be looked at.", &|place| {
            Some(place.unread.len() as f64)
        }),
        each(
            "beside_parts",
            "Files and logs that no encryption here reaches, and so in the clear.",
            &|place| known(place).map(|()| place.beside.len() as f64),
        ),
    ]
}

fn of_shares(places: &[&Place]) -> Vec<Metric> {
    let each = |name: &str, help, value: &dyn Fn(&Share) -> Option<u64>| {
        let of = |place: &&Place| {
            let samples = place
                .sealed
                .iter()
                .filter_map(|share| Some((share_labels(place, share), value(share)? as f64)));
            samples.collect::<Vec<_>>()
        };
        gauge(name, help, places.iter().flat_map(of))
    };
    let of = |unit: Unit| move |share: &Share| (share.unit == unit).then_some(share.count);
    vec![
        each("sealed_bytes", "Sealed bytes, by cipher and version of the key.", &|share| {
            share.bytes
        }),
        each("sealed_files", "Sealed files, by cipher and version of the key.", &of(Unit::Files)),
        each(
            "sealed_blocks",
            "Sealed blocks or pages, by cipher and version of the key.",
            &of(Unit::Blocks),
        ),
        each(
            "sealed_rows",
            "Rows with a sealed value, by column and version of the key.",
            &of(Unit::Rows),
        ),
    ]
}

fn of_checks(places: &[&Place]) -> Vec<Metric> {
    let each = |name: &str, help, value: &dyn Fn(&str, u64) -> Option<f64>| {
        let sample = |place: &&Place| match &place.verified {
            Verified::Checked { at, count, .. } => Some((labels(place), value(at, *count)?)),
            Verified::Not { .. } => None,
        };
        gauge(name, help, places.iter().filter_map(sample))
    };
    vec![
        each(
            "verify_timestamp_seconds",
            "Time of the last known check that a place is whole.",
            &|at, _| at.parse().ok().map(seconds),
        ),
        gauge(
            "verify_success",
            "1 if that check found a place whole, 0 if not, or if it did not come to its end.",
            places.iter().filter_map(|place| match &place.verified {
                Verified::Checked { is_whole, .. } => {
                    Some((labels(place), f64::from(u8::from(*is_whole))))
                }
                Verified::Not { why: NotVerified::Failed(_) } => Some((labels(place), 0.0)),
                Verified::Not { .. } => None,
            }),
        ),
        each("verify_findings", "Findings of that check.", &|_, count| Some(count as f64)),
    ]
}

fn of_counts(places: &[&Place]) -> Vec<Metric> {
    let each = |name: &str, help, kind, value: fn(&Counted) -> Option<u64>| {
        let sample = |place: &&Place| Some((labels(place), value(place.counted.as_ref()?)? as f64));
        Metric { kind, ..gauge(name, help, places.iter().filter_map(sample)) }
    };
    let at =
        |place: &&Place| Some((labels(place), seconds(place.counted.as_ref()?.at.parse().ok()?)));
    let at = gauge(
        "counts_timestamp_seconds",
        "Time of the counts of the process that has a place in use, or had it last.",
        places.iter().filter_map(at),
    );
    let (counter, gauge) = (prometheus::Kind::Counter, prometheus::Kind::Gauge);
    vec![
        at,
        each(
            "blocks_sealed_total",
            "Blocks sealed by the process that has a place in use, or had it last.",
            counter,
            |counted| counted.blocks_sealed,
        ),
        each(
            "blocks_opened_total",
            "Blocks authenticated and opened by that process.",
            counter,
            |counted| counted.blocks_opened,
        ),
        each("bytes_sealed_total", "Bytes sealed by that process.", counter, |counted| {
            counted.bytes_sealed
        }),
        each(
            "bytes_opened_total",
            "Bytes authenticated and opened by that process.",
            counter,
            |counted| counted.bytes_opened,
        ),
        each(
            "failures_total",
            "Failures in that process, of requests and of its upkeep.",
            counter,
            |counted| Some(counted.failures),
        ),
        each(
            "log_bytes",
            "Bytes in the log of a volume that are not in place yet.",
            gauge,
            |one| one.log_bytes,
        ),
    ]
}

fn of_keys(audit: &Audit, now: Timestamp) -> Vec<Metric> {
    let keys = &audit.keys;
    let versions = || {
        keys.iter().flat_map(|key| {
            key.versions.iter().map(move |version| {
                let labels =
                    vec![("key_id", key.id.clone()), ("key_version", version.version.to_string())];
                (key, version, labels)
            })
        })
    };
    let made = |made_at: &Option<String>| made_at.as_deref()?.parse().ok().map(seconds);
    let newest = |key: &Key| {
        let newest = key.versions.iter().rfind(|version| version.is_held)?;
        Some((vec![("key_id", key.id.clone())], f64::from(newest.version)))
    };
    // where no key was named, or one of them was not seen, nothing is known of who holds the others
    let all_seen = keys.iter().any(|key| key.held.is_some()) && !audit.lacks_a_key();
    vec![
        gauge(
            "key_newest_version",
            "Newest version of a key that was named.",
            keys.iter().filter_map(newest),
        ),
        gauge(
            "key_created_timestamp_seconds",
            "Time at which a version of a key was made, as its key file says.",
            versions().filter_map(|(_, version, labels)| Some((labels, made(&version.made_at)?))),
        ),
        gauge(
            "key_age_seconds",
            "Time since a version of a key was made, as its key file says.",
            versions().filter_map(|(_, version, labels)| {
                Some((labels, (seconds(now) - made(&version.made_at)?).max(0.0)))
            }),
        ),
        gauge(
            "key_places",
            "Places in which something is under a version of a key.",
            versions().map(|(_, version, labels)| (labels, version.places as f64)),
        ),
        gauge(
            "key_held",
            "1 if a key that was named has this version, else 0.",
            versions()
                .filter(|(_, version, _)| version.is_held || all_seen)
                .map(|(_, version, labels)| (labels, f64::from(u8::from(version.is_held)))),
        ),
    ]
}

fn gauge(
    name: &str,
    help: &'static str,
    samples: impl IntoIterator<Item = (Labels, f64)>,
) -> Metric {
    let sample = |(labels, value)| Sample { labels, value };
    Metric {
        name: format!("sealstone_{name}"),
        help,
        kind: prometheus::Kind::Gauge,
        samples: samples.into_iter().map(sample).collect(),
    }
}

fn labels(place: &Place) -> Labels {
    vec![("place", place.name.clone())]
}

fn share_labels(place: &Place, share: &Share) -> Labels {
    let version = match share.key_version {
        0 => String::new(),
        version => version.to_string(),
    };
    let more = [
        ("cipher", share.cipher.clone()),
        ("mode", share.mode.clone()),
        ("key_id", share.key_id.clone().unwrap_or_default()),
        ("key_version", version),
        ("column", share.column.clone().unwrap_or_default()),
    ];
    let more = more.into_iter().filter(|(_, value)| !value.is_empty());
    labels(place).into_iter().chain(more).collect()
}

/// Returns a time in seconds since 1970.
fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}
