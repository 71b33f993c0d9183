//! Counters of one epoch: each is given away once, and no message reaches from one key's counters
//! into the next key's.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::SealError;

/// Counters given away at most: far above what any disk can write, far below an overflow.
const COUNTERS_MAX: u64 = 1 << 62;

/// The counters of one epoch that were not given away yet.
#[derive(Debug)]
pub(super) struct Counters {
    next: AtomicU64,
    /// Counters under one key.
    per_key: u64,
}

impl Counters {
    /// Returns those of an epoch that has sealed nothing.
    pub(super) fn new(per_key: u64) -> Self {
        Self { next: AtomicU64::new(0), per_key }
    }

    /// Returns the first of `count` counters under one key that nobody else gets; where `odd` is
    /// given, the first one is odd or even as it requires.
    ///
    /// # Errors
    /// [`SealError::LimitReached`] by `limit` when they have run out.
    ///
    /// # Panics
    /// If one key has fewer counters than that: a bug of the caller.
    pub(super) fn draw(
        &self,
        count: u64,
        odd: Option<bool>,
        limit: impl Fn(String) -> SealError,
    ) -> Result<u64, SealError> {
        assert!((1..=self.per_key).contains(&count), "{count} of {} counters", self.per_key);
        let mut first = 0;
        let drawn = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            first = next;
            if odd.is_some_and(|odd| (first % 2 == 1) != odd) {
                first += 1;
            }
            if first % self.per_key + count > self.per_key {
                first = first.next_multiple_of(self.per_key);
                if odd.is_some_and(|odd| (first % 2 == 1) != odd) {
                    first += 1;
                }
            }
            (first < COUNTERS_MAX).then_some(first + count)
        });
        drawn.map(|_| first).map_err(|_| limit(format!("{COUNTERS_MAX} writes in one opening")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(limit: String) -> SealError {
        SealError::LimitReached { cipher: "aes-256", limit }
    }

    #[test]
    fn counters_are_given_once_and_stay_under_one_key() {
        let counters = Counters::new(10);
        let mut given = Vec::new();
        for (count, odd) in [3, 3, 3, 3, 1, 10, 1, 1, 2, 7, 9]
            .into_iter()
            .zip([None, Some(true), Some(false), Some(true), Some(true)].into_iter().cycle())
        {
            // ten of ten that begin with an odd one reach into the next key's
            let odd = odd.filter(|_| count < 10);
            let first = counters.draw(count, odd, limit).unwrap();
            assert_eq!(first / 10, (first + count - 1) / 10, "{count} from {first}");
            assert!(odd.is_none_or(|odd| (first % 2 == 1) == odd), "{first}, {odd:?}");
            given.extend(first..first + count);
        }
        let all = given.len();
        given.dedup();
        assert_eq!(given.len(), all);
        assert!(given.is_sorted());
    }

    #[test]
    fn they_run_out_with_an_error() {
        let counters = Counters { next: AtomicU64::new(COUNTERS_MAX - 1), per_key: 1 << 32 };
        assert_eq!(counters.draw(1, None, limit).unwrap(), COUNTERS_MAX - 1);
        let error = counters.draw(1, None, limit).unwrap_err().to_string();
        assert!(error.contains("allows no more data"), "{error}");
    }
}
