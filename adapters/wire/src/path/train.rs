//! Grouping of sealed packets that leave in one call: the kernel cuts a message into datagrams of
//! one length, of which only the last may be shorter (UDP_SEGMENT).

use std::ops::Range;

/// The most datagrams of one message: accepted by every Linux that supports them.
const DATAGRAMS_MAX: usize = 64;
/// The longest message, in bytes: with headers, an IP packet.
const MESSAGE_BYTES_MAX: usize = 65_000;

/// Datagrams that leave together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Train {
    /// Range of bytes that holds the datagrams.
    pub(super) bytes: Range<usize>,
    /// Length of each datagram, in bytes; the last may be shorter.
    pub(super) each: usize,
    /// Number of datagrams.
    pub(super) count: usize,
}

/// Puts packets of `lengths`, one after the other, into trains in their order.
pub(super) fn trains(lengths: impl IntoIterator<Item = usize>) -> impl Iterator<Item = Train> {
    let mut lengths = lengths.into_iter().peekable();
    let mut begin = 0;
    std::iter::from_fn(move || {
        let each = lengths.next()?;
        let (mut end, mut count, mut last) = (begin + each, 1, each);
        while let Some(next) = lengths.next_if(|next| {
            last == each
                && *next <= each
                && count < DATAGRAMS_MAX
                && end - begin + next <= MESSAGE_BYTES_MAX
        }) {
            (end, count, last) = (end + next, count + 1, next);
        }
        let bytes = std::mem::replace(&mut begin, end)..end;
        Some(Train { bytes, each, count })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_of_a_train_is_shorter() {
        let found: Vec<_> = trains([100, 100, 60, 60, 100, 80])
            .map(|train| (train.bytes, train.each, train.count))
            .collect();
        assert_eq!(found, [(0..260, 100, 3), (260..320, 60, 1), (320..500, 100, 2)]);
        assert_eq!(trains([]).count(), 0);
    }

    #[test]
    fn trains_are_no_longer_than_a_message() {
        let of_small: Vec<_> = trains([80; 200]).map(|train| train.count).collect();
        assert_eq!(of_small, [64, 64, 64, 8]);
        let of_large: Vec<_> = trains([1_460; 100]).map(|train| train.count).collect();
        assert_eq!(of_large, [44, 44, 12]);
        let mut end = 0;
        for train in trains((0..500).map(|at| at * 7 % 90)) {
            assert_eq!(train.bytes.start, end);
            end = train.bytes.end;
        }
        assert_eq!(end, (0..500).map(|at| at * 7 % 90).sum::<usize>());
    }
}
