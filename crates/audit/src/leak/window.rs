//! Windows: a stream of bytes, seen piece by piece with what is before and behind each piece, so
//! that a text across the edge of a piece is seen whole, and counted once.

use zeroize::Zeroizing;

/// Lengths of the parts of a window, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Most bytes before a piece that a search looks at.
    pub(super) behind: usize,
    /// The piece itself.
    pub(super) chunk: usize,
    /// Most bytes behind the beginning of a text that a search looks at.
    pub(super) ahead: usize,
}

impl Reach {
    fn total(&self) -> usize {
        self.behind + self.chunk + self.ahead
    }
}

/// A piece of a stream, with what is around it. Texts that begin within `from..to` belong to it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) bytes: &'a [u8],
    /// Offset of `bytes` in the stream.
    pub(super) base: u64,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl View<'_> {
    /// Returns the offset in the stream of the byte `index`.
    pub(super) fn offset(&self, index: usize) -> u64 {
        self.base + index as u64
    }
}

/// The part of a stream that is being looked at.
pub(super) struct Window {
    bytes: Zeroizing<Vec<u8>>,
    base: u64,
    from: usize,
    reach: Reach,
}

impl Window {
    pub(super) fn new(reach: Reach) -> Self {
        // never longer, so that no copy of the bytes is left behind
        let bytes = Zeroizing::new(Vec::with_capacity(reach.total()));
        Self { bytes, base: 0, from: 0, reach }
    }

    /// Begins a stream, or what comes after a gap: `base` is the offset of the next byte. What has
    /// not been seen is forgotten.
    pub(super) fn start(&mut self, base: u64) {
        self.bytes.clear();
        (self.base, self.from) = (base, 0);
    }

    /// Takes the next bytes of the stream, and shows `see` the pieces that are complete.
    pub(super) fn feed(&mut self, mut bytes: &[u8], see: &mut dyn FnMut(View<'_>)) {
        while !bytes.is_empty() {
            let room = self.reach.total() - self.bytes.len();
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = rest;
            if self.bytes.len() == self.reach.total() {
                let to = self.reach.behind + self.reach.chunk;
                see(View { bytes: &self.bytes, base: self.base, from: self.from, to });
                self.bytes.drain(..self.reach.chunk);
                self.base += self.reach.chunk as u64;
                self.from = self.reach.behind;
            }
        }
    }

    /// Shows `see` the last piece.
    pub(super) fn finish(&mut self, see: &mut dyn FnMut(View<'_>)) {
        let to = self.bytes.len();
        see(View { bytes: &self.bytes, base: self.base, from: self.from.min(to), to });
        self.start(self.base + to as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_belongs_to_one_piece() {
        let stream: Vec<u8> = (0..=255).collect();
        for (behind, chunk, ahead) in [(0, 1, 0), (3, 1, 5), (2, 7, 300), (16, 64, 9), (1, 256, 1)]
        {
            for step in [1, 3, 64, 256] {
                let reach = Reach { behind, chunk, ahead };
                let (mut window, mut seen) = (Window::new(reach), Vec::new());
                let mut see = |view: View<'_>| {
                    for index in view.from..view.to {
                        assert_eq!(view.offset(index), u64::from(view.bytes[index]));
                        let rest = 255 - usize::from(view.bytes[index]);
                        assert!(view.bytes.len() - 1 - index >= ahead.min(rest));
                        assert!(index >= behind.min(usize::from(view.bytes[index])));
                    }
                    seen.extend_from_slice(&view.bytes[view.from..view.to]);
                };
                for part in stream.chunks(step) {
                    window.feed(part, &mut see);
                }
                window.finish(&mut see);
                assert_eq!(seen, stream, "{reach:?} {step}");
            }
        }
    }
}
