//! Sequence numbers of received packets: the whole number, whose lower half a packet carries, and
//! the check for repeats.
//!
//! Source: RFC 4303, section 3.4.3 and appendix A2.

use super::error::Refusal;

/// The largest window, in packets.
pub const WINDOW_PACKETS_MAX: u32 = 1 << 16;

/// Record of which of the last packets, up to the newest, were received.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// One bit for each, that of number n at n modulo their count.
    came: Vec<u64>,
    /// The newest number that came; 0 if none did.
    newest: u64,
    /// True if numbers have 64 bits.
    extended: bool,
}

impl Window {
    /// Makes a window for the last `packets`, rounded up to whole words, at least 64.
    pub(super) fn new(packets: u32, extended: bool) -> Self {
        let words = packets.clamp(64, WINDOW_PACKETS_MAX).div_ceil(64);
        Self { came: vec![0; words as usize], newest: 0, extended }
    }

    fn packets(&self) -> u64 {
        self.came.len() as u64 * 64
    }

    /// Treats all numbers up to `newest` as received.
    pub(super) fn close_up_to(&mut self, newest: u64) {
        self.came.fill(u64::MAX);
        self.newest = newest;
    }

    /// Returns the newest number that came; 0 if none did.
    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Returns the whole number of a packet that carries `low`: the number nearest to the window.
    ///
    /// # Errors
    /// [`Refusal::TooOld`] for one from before the first packet.
    pub(super) fn number(&self, low: u32) -> Result<u64, Refusal> {
        if !self.extended {
            return Ok(u64::from(low));
        }
        let (newest_low, newest_high) = (self.newest as u32, self.newest >> 32);
        let size = self.packets() as u32;
        let oldest_low = newest_low.wrapping_sub(size - 1);
        let high = match (newest_low >= size - 1, low >= oldest_low) {
            (true, true) | (false, false) => Some(newest_high),
            (true, false) => newest_high.checked_add(1).filter(|high| *high <= u64::from(u32::MAX)),
            (false, true) => newest_high.checked_sub(1),
        };
        high.map(|high| high << 32 | u64::from(low)).ok_or(Refusal::TooOld)
    }

    /// Checks that a packet with the whole number `number` may still be received.
    ///
    /// # Errors
    /// [`Refusal::Replayed`], [`Refusal::TooOld`].
    pub(super) fn check(&self, number: u64) -> Result<(), Refusal> {
        if number == 0 {
            return Err(Refusal::Replayed);
        }
        if number > self.newest {
            return Ok(());
        }
        if self.newest - number >= self.packets() {
            return Err(Refusal::TooOld);
        }
        let (word, bit) = self.place(number);
        if self.came[word] & bit == 0 { Ok(()) } else { Err(Refusal::Replayed) }
    }

    /// Notes that a genuine packet with that number came.
    pub(super) fn note(&mut self, number: u64) {
        if number > self.newest {
            let ahead = number - self.newest;
            if ahead >= self.packets() {
                self.came.fill(0);
            } else {
                for passed in self.newest + 1..number {
                    let (word, bit) = self.place(passed);
                    self.came[word] &= !bit;
                }
            }
            self.newest = number;
        }
        let (word, bit) = self.place(number);
        self.came[word] |= bit;
    }

    fn place(&self, number: u64) -> (usize, u64) {
        let at = number % self.packets();
        ((at / 64) as usize, 1 << (at % 64))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The window must agree with a receiver that remembers everything, on random arrivals with
    /// loss, disorder and repeats.
    #[test]
    fn the_window_says_what_a_full_memory_says() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        for (start, packets) in [
            (0, 64),
            (0, 1024),
            ((1 << 32) - 700, 1024),
            ((7 << 32) - 40, 64),
            (u64::MAX - 9_000, 64),
        ] {
            let mut window = Window::new(packets, true);
            let size = window.packets();
            let (mut came, mut newest) = (BTreeSet::new(), start);
            if start > 0 {
                window.note(start);
                came.insert(start);
            }
            for _ in 0..20_000 {
                let number = match random(10) {
                    0 => newest.saturating_sub(random(2 * size)),
                    1 => newest.saturating_add(random(3 * size)),
                    2 => newest,
                    _ => newest.saturating_add(1 + random(2)),
                };
                if number > u64::MAX - 1 {
                    break;
                }
                let want = if number == 0 || came.contains(&number) && newest - number < size {
                    Err(Refusal::Replayed)
                } else if number < newest && newest - number >= size {
                    Err(Refusal::TooOld)
                } else {
                    Ok(())
                };
                assert_eq!(window.check(number), want, "{number} after {newest}");
                if want.is_ok() {
                    // the half that a packet carries is enough
                    assert_eq!(window.number(number as u32), Ok(number), "{number} after {newest}");
                    window.note(number);
                    came.insert(number);
                    newest = newest.max(number);
                }
            }
        }
    }

    #[test]
    fn what_is_closed_is_not_taken_again() {
        for newest in [1, 63, 64, 1_000, (1 << 32) + 5] {
            let mut window = Window::new(64, true);
            window.close_up_to(newest);
            assert_eq!(window.newest(), newest);
            assert!(
                (1..=newest.min(200)).all(|back| window.check(newest - back + 1).is_err()),
                "{newest}"
            );
            assert_eq!(window.number((newest + 9) as u32), Ok(newest + 9));
            window.note(newest + 9);
            assert_eq!(window.check(newest + 8), Ok(()));
            assert!(window.check(newest).is_err());
        }
    }

    #[test]
    fn numbers_of_32_bits_are_themselves() {
        let mut window = Window::new(1024, false);
        window.note(u64::from(u32::MAX));
        assert_eq!(window.number(5), Ok(5));
        assert_eq!(window.check(5), Err(Refusal::TooOld));
    }

    #[test]
    fn a_packet_from_before_the_first_is_too_old() {
        let mut window = Window::new(1024, true);
        window.note(10);
        assert_eq!(window.number(u32::MAX), Err(Refusal::TooOld));
        assert_eq!(window.check(0), Err(Refusal::Replayed));
    }
}
