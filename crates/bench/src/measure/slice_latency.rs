//! Latencies of the requests of one slice, as results keep them.

use std::fmt::Write;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Buckets in which a latency doubles: neighbouring buckets differ by 2.2 %, and within a bucket a
/// straight line is drawn.
const BUCKETS_A_DOUBLING: f64 = 32.0;

/// Latency at which the buckets begin, in microseconds.
const SHORTEST_US: f64 = 0.032;

/// Latencies of the requests of one slice. Written as text: `bucket:requests` for each bucket that
/// has any, where bucket b holds latencies from 0.032 × 2^(b/32) microseconds on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceLatency {
    /// Ascending.
    buckets: Vec<(u16, u64)>,
}

impl SliceLatency {
    /// Counts `requests` (latency in microseconds, how many had it), in any order.
    #[must_use]
    pub fn new(requests: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let bucket = |us: f64| ((us / SHORTEST_US).max(1.0).log2() * BUCKETS_A_DOUBLING) as u16;
        Self::merged(requests.into_iter().map(|(us, count)| (bucket(us), count)))
    }

    /// Returns all requests of `slices` together.
    #[must_use]
    pub fn sum<'a>(slices: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::merged(slices.into_iter().flat_map(|slice| slice.buckets.iter().copied()))
    }

    fn merged(counts: impl IntoIterator<Item = (u16, u64)>) -> Self {
        let mut dense: Vec<u64> = Vec::new();
        for (bucket, count) in counts {
            let at = usize::from(bucket);
            if dense.len() <= at {
                dense.resize(at + 1, 0);
            }
            dense[at] = dense[at].saturating_add(count);
        }
        let buckets = (0u16..).zip(dense).filter(|(_, count)| *count > 0).collect();
        Self { buckets }
    }

    /// Requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns the logarithm of the latency in microseconds below which the share `share` of the
    /// requests falls; none without any.
    pub(crate) fn log_quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count() as f64;
        let mut before = 0.0;
        let mut found = None;
        for (bucket, count) in &self.buckets {
            let within = ((wanted - before) / *count as f64).clamp(0.0, 1.0);
            found = Some(
                (f64::from(*bucket) + within) / BUCKETS_A_DOUBLING * 2f64.ln() + SHORTEST_US.ln(),
            );
            before += *count as f64;
            if before >= wanted {
                break;
            }
        }
        found
    }

    /// Returns the latency below which the share `share` of the requests falls, in microseconds;
    /// none without any request.
    #[must_use]
    pub(crate) fn quantile_us(&self, share: f64) -> Option<f64> {
        self.log_quantile(share).map(f64::exp)
    }

    /// Requests below a latency, given by its logarithm.
    pub(crate) fn below(&self, log_us: f64) -> f64 {
        let place = (log_us - SHORTEST_US.ln()) / 2f64.ln() * BUCKETS_A_DOUBLING;
        let part = |(bucket, count): &(u16, u64)| {
            *count as f64 * (place - f64::from(*bucket)).clamp(0.0, 1.0)
        };
        self.buckets.iter().map(part).sum()
    }

    /// Returns the same requests, each slower by a factor with the logarithm `log_factor`.
    #[cfg(test)]
    pub(crate) fn slower_by(&self, log_factor: f64) -> Self {
        let by = (log_factor / 2f64.ln() * BUCKETS_A_DOUBLING).round() as i32;
        let moved = |bucket: u16| (i32::from(bucket) + by).max(0) as u16;
        Self::merged(self.buckets.iter().map(|(bucket, count)| (moved(*bucket), *count)))
    }
}

impl Serialize for SliceLatency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for (bucket, count) in &self.buckets {
            let gap = if text.is_empty() { "" } else { " " };
            write!(text, "{gap}{bucket}:{count}").expect("writing to memory does not fail");
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for SliceLatency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let pair = |word: &str| {
            let (bucket, count) = word.split_once(':')?;
            Some((bucket.parse().ok()?, count.parse().ok()?))
        };
        let read = |word: &str| {
            pair(word).ok_or_else(|| D::Error::custom(format!("{word:?} is not bucket:requests")))
        };
        Ok(Self::merged(text.split_whitespace().map(read).collect::<Result<Vec<_>, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket_and_text_loses_nothing() {
        let slice = SliceLatency::new((1..=10_000).map(|us| (f64::from(us), 1)));
        assert_eq!(slice.count(), 10_000);
        for (share, us) in [(0.5, 5_000.0), (0.99, 9_900.0), (0.001, 10.0)] {
            let found = slice.quantile_us(share).unwrap();
            assert!((found / us - 1.0).abs() < 0.025, "{found} for {us}");
            assert!((slice.below(f64::ln(found)) / 10_000.0 - share).abs() < 1e-6);
        }
        let text = serde_json::to_string(&slice).unwrap();
        assert_eq!(serde_json::from_str::<SliceLatency>(&text).unwrap(), slice);
        assert!(
            serde_json::from_str::<SliceLatency>("\"1:2 x\"")
                .unwrap_err()
                .to_string()
                .contains("bucket:requests")
        );
        let none = SliceLatency::default();
        assert_eq!((none.count(), none.quantile_us(0.5)), (0, None));
        assert_eq!(serde_json::from_str::<SliceLatency>("\"\"").unwrap(), none);
    }
}
