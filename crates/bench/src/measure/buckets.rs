//! A histogram as results keep it: latencies and their counts. Written as text, `ns:requests` for
//! each bucket that has any, so that histograms of several clients add up to the histogram of a
//! single client.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Latencies in nanoseconds, ascending, each with how many requests took so long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets(pub Vec<(u64, u64)>);

impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let each = self.0.iter().map(|(ns, count)| format!("{ns}:{count}"));
        serializer.serialize_str(&each.collect::<Vec<_>>().join(" "))
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let pair = |word: &str| {
            let (ns, count) = word.split_once(':')?;
            Some((ns.parse().ok()?, count.parse().ok()?))
        };
        let read = |word: &str| {
            pair(word).ok_or_else(|| D::Error::custom(format!("{word:?} is not ns:requests")))
        };
        Ok(Self(text.split_whitespace().map(read).collect::<Result<_, _>>()?))
    }
}
