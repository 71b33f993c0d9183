//! Messages that wait for their tags, and the values derived from the key for them.

use zeroize::optimization_barrier;

use super::hash::{STATE_WORDS_MAX, State};
use super::message::Message;

/// Length of the longest tag, in bytes.
pub const TAG_BYTES_MAX: usize = 16;

/// Destination of tags.
pub(super) type Tags = [[u8; TAG_BYTES_MAX]];

/// The states of both hashes once the key went in. Zeroed on drop.
pub(super) struct Keyed {
    pub(super) inner: State<u32>,
    pub(super) outer: State<u32>,
}

impl Keyed {
    /// Returns zeros, to be set later.
    pub(super) const fn zero() -> Self {
        Self { inner: [0; STATE_WORDS_MAX], outer: [0; STATE_WORDS_MAX] }
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        self.inner.fill(0);
        self.outer.fill(0);
        optimization_barrier(self);
    }
}

/// Messages that wait, the longest first; at least one.
#[derive(Clone, Copy)]
pub(super) struct Queue<'a> {
    messages: &'a [Message<'a>],
    /// Their places among all.
    places: &'a [u16],
}

impl<'a> Queue<'a> {
    /// Takes the messages of `messages` at `places`, which has the longest first.
    pub(super) fn new(messages: &'a [Message<'a>], places: &'a [u16]) -> Self {
        Self { messages, places }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the first `count`, or all, and the others.
    #[inline(always)]
    pub(super) fn split_at(self, count: usize) -> (Self, Self) {
        let (first, rest) = self.places.split_at(count.min(self.places.len()));
        (Self { places: first, ..self }, Self { places: rest, ..self })
    }

    #[inline(always)]
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.places.iter().map(|place| usize::from(*place))
    }

    #[inline(always)]
    pub(super) fn messages(&self) -> impl Iterator<Item = &'a Message<'a>> + use<'a> {
        let messages = self.messages;
        self.places().map(move |place| &messages[place])
    }

    /// Blocks of the longest.
    #[inline(always)]
    pub(super) fn blocks_max(&self) -> usize {
        self.messages[usize::from(self.places[0])].blocks()
    }

    /// Blocks of the shortest.
    #[inline(always)]
    pub(super) fn blocks_min(&self) -> usize {
        self.messages[usize::from(self.places[self.places.len() - 1])].blocks()
    }

    /// Returns the number of blocks that each message has whole in its first part.
    #[inline(always)]
    pub(super) fn whole_min(&self) -> usize {
        self.messages().map(|message| message.whole().len()).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn states_are_zeroed_on_drop() {
        let keyed = Keyed { inner: [7; STATE_WORDS_MAX], outer: [7; STATE_WORDS_MAX] };
        assert!(left_after_drop(keyed).iter().all(|byte| *byte == 0));
    }
}
