//! The axes of a comparison besides variant and workload: the store, and the numbers of clients,
//! records and members. Cells that differ in an axis are never compared by a ratio; they form
//! groups, each with its own baseline.

use serde::{Deserialize, Serialize};

use crate::words::count::counted;

/// The position of a group of cells on the axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Point {
    /// Name of the store: `rocksdb`, `mongodb`.
    pub store: String,
    /// Members of each store's replica set; 1 for a store in this process.
    pub members: usize,
    /// Records in the YCSB data set.
    pub records: u64,
    /// Client threads, unless a workload fixes them; 0 if they were looked for, one number for each
    /// workload.
    pub clients: usize,
    /// The link to the store, in Mbit/s as its name has it, such as `5.28`, or `unlimited`; absent:
    /// whatever is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// One axis.
#[derive(Debug)]
pub struct Axis {
    /// Its name, such as `clients`.
    pub name: &'static str,
    /// The setting that lists its values, as in the TOML table.
    pub setting: &'static str,
    /// The value of a point on it, if it has numbers.
    pub number: Option<fn(&Point) -> u64>,
    /// The value of a point on it in words, such as `8 clients`.
    pub words: fn(&Point) -> String,
}

/// All of them, the slowest to change first: the order in which groups are measured and shown.
pub static AXES: [Axis; 5] = [
    Axis { name: "store", setting: "store", number: None, words: |point| point.store.clone() },
    Axis {
        name: "members",
        setting: "nodes",
        number: Some(|point| point.members as u64),
        words: |point| counted(point.members, "member"),
    },
    Axis {
        name: "records",
        setting: "records",
        number: Some(|point| point.records),
        words: |point| counted(point.records as usize, "record"),
    },
    Axis {
        name: "clients",
        setting: "threads",
        number: Some(|point| point.clients as u64),
        words: |point| match point.clients {
            0 => "as many clients as it takes".into(),
            clients => counted(clients, "client"),
        },
    },
    Axis {
        name: "link",
        setting: "links",
        number: Some(|point| {
            point.link_mbit_s().map_or(UNLIMITED_MBIT_S, |rate| rate.round().max(1.0) as u64)
        }),
        words: |point| match (&point.link, point.link_mbit_s()) {
            (None, _) => "the link that is there".into(),
            (Some(name), Some(_)) => format!("{name} Mbit/s"),
            (Some(name), None) => format!("{name} link"),
        },
    },
];

/// Position on the axis of a link without a limit: beyond all links that have one.
const UNLIMITED_MBIT_S: u64 = 10_000;

/// Returns the axes on which `points` differ, in the order of [`AXES`].
#[must_use]
pub fn varied<'a>(points: impl IntoIterator<Item = &'a Point> + Clone) -> Vec<&'static Axis> {
    let differ = |axis: &&Axis| {
        let mut words = points.clone().into_iter().map(axis.words);
        let first = words.next();
        words.any(|other| Some(other) != first)
    };
    AXES.iter().filter(differ).collect()
}

impl Point {
    /// Returns the capacity of its link, in Mbit/s; `None` if nothing limits it.
    #[must_use]
    pub fn link_mbit_s(&self) -> Option<f64> {
        self.link.as_ref()?.parse().ok().filter(|rate| *rate > 0.0)
    }

    /// Its position on all axes on which it has a place, in words: `rocksdb, 1 member, 10 000
    /// records, 8 clients`. A link is named only if one was made.
    #[must_use]
    pub fn in_full(&self) -> String {
        let has_place = |axis: &&Axis| axis.setting != "links" || self.link.is_some();
        self.words(&AXES.iter().filter(has_place).collect::<Vec<_>>())
    }

    /// Its position on `axes`, in words: `3 members, 8 clients`. Empty for none.
    #[must_use]
    pub fn words(&self, axes: &[&Axis]) -> String {
        axes.iter().map(|axis| (axis.words)(self)).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(store: &str, clients: usize, records: u64) -> Point {
        Point { store: store.into(), members: 1, records, clients, link: None }
    }

    #[test]
    fn only_what_differs_is_named() {
        let points = [
            point("rocksdb", 1, 10_000),
            point("rocksdb", 8, 10_000),
            point("rocksdb", 8, 1_000_000),
        ];
        let axes = varied(&points);
        assert_eq!(axes.iter().map(|axis| axis.name).collect::<Vec<_>>(), ["records", "clients"]);
        assert_eq!(points[0].words(&axes), "10\u{202f}000 records, 1 client");
        assert_eq!(points[2].words(&axes), "1\u{202f}000\u{202f}000 records, 8 clients");
        assert_eq!(points[0].in_full(), "rocksdb, 1 member, 10\u{202f}000 records, 1 client");
        let linked = Point { link: Some("5.28".into()), ..points[0].clone() };
        assert!(linked.in_full().ends_with("1 client, 5.28 Mbit/s"));
        assert!(varied(&points[..1]).is_empty() && points[0].words(&[]).is_empty());
    }
}
