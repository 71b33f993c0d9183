//! Opening packets that are genuine, new and whole.

use std::fmt;
use std::ops::Range;

use sealstone_cipher::cbc::Message;
use sealstone_cipher::hmac;

use super::association::{Association, HEADER_BYTES, Keyed, Lengths};
use super::error::{EspError, Refusal};
use super::inner;
use super::spare::{Spare, emptied};
use super::window::Window;
use sealstone_cipher::suites::{GCM_SALT_BYTES as SALT_BYTES, GCM_TAG_BYTES};

/// Counts of the packets received on an association.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets opened.
    pub packets: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Packets that the other end sent to be thrown away.
    pub dummies: u64,
    refused: [u64; Refusal::ALL.len()],
}

impl Counters {
    /// Packets refused for `reason`.
    #[must_use]
    pub fn refused(&self, reason: Refusal) -> u64 {
        self.refused[reason as usize]
    }
}

/// Range, within a packet, of the IP packet that was sealed, or `None` if the other end sent a
/// packet to be thrown away; or the reason why it was refused.
pub type Opened = Result<Option<Range<usize>>, Refusal>;

/// The receiving end of an association.
pub struct Inbound {
    association: Association,
    lengths: Lengths,
    keyed: Keyed,
    window: Window,
    counters: Counters,
    spare: Spare,
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Association { spi, suite, .. } = self.association;
        let mut shown = f.debug_struct("Inbound");
        shown
            .field("spi", &spi)
            .field("suite", &suite.name)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl Inbound {
    /// Sets the keys of the sending end.
    ///
    /// - `window_packets`: how far behind the newest packet others may come, rounded up to a
    ///   multiple of 64, at most [`WINDOW_PACKETS_MAX`](super::WINDOW_PACKETS_MAX)
    ///
    /// # Errors
    /// As [`Outbound::new`](super::Outbound::new).
    pub fn new(
        association: &Association,
        key: &[u8],
        integrity_key: &[u8],
        window_packets: u32,
    ) -> Result<Self, EspError> {
        let keyed = association.keyed(key, integrity_key)?;
        let window = Window::new(window_packets, association.extended);
        let (lengths, counters, spare) =
            (Lengths::of(association.suite), Counters::default(), Spare::default());
        Ok(Self { association: *association, lengths, keyed, window, counters, spare })
    }

    /// Returns the same after packets up to the number `newest` came: none of them is taken again.
    #[must_use]
    pub fn after(mut self, newest: u64) -> Self {
        self.window.close_up_to(newest);
        self
    }

    /// Returns the newest number that came; 0 if none did.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.window.newest()
    }

    /// Returns the parameters that both ends agree on.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Opens `packet`, which begins with its index, in place. Returns where in it the IP packet is
    /// that was sealed; `None` if the other end sent one to be thrown away.
    ///
    /// # Errors
    /// The reason why it is refused; it is counted, has no other effect, and `packet` holds nothing
    /// in the clear.
    pub fn open(&mut self, packet: &mut [u8]) -> Opened {
        let opened = self.opened(packet);
        self.count(packet, &opened);
        opened
    }

    /// Opens each of `packets` as [`Inbound::open`] does, in their order and with the same results,
    /// which replace the content of `opened`. All tags are checked together, and ciphers in CBC
    /// decrypt all genuine packets together.
    pub fn open_many(&mut self, packets: &mut [&mut [u8]], opened: &mut Vec<Opened>) {
        opened.clear();
        if !matches!(self.keyed, Keyed::Cbc { .. }) {
            opened.extend(packets.iter_mut().map(|packet| self.open(packet)));
            return;
        }
        let mut spare = std::mem::take(&mut self.spare);
        self.verify(packets, &mut spare);
        for ((packet, number), genuine) in packets.iter().zip(&spare.numbers).zip(&spare.genuine) {
            opened.push(self.admit(packet, *number, *genuine).map(Some));
        }
        self.decrypt_admitted(packets, opened, &mut spare);
        for (packet, opened) in packets.iter_mut().zip(opened) {
            if let Ok(Some(range)) = opened {
                *opened = inner_range(packet, range.clone());
            }
            self.count(packet, opened);
        }
        self.spare = spare;
    }

    /// Notes for each of `packets`, if it may be opened now, its number and whether it is genuine.
    fn verify(&self, packets: &[&mut [u8]], spare: &mut Spare) {
        let Keyed::Cbc { hmac, .. } = &self.keyed else { return };
        let Spare { covered, came, genuine, tails, numbers, .. } = spare;
        numbers.clear();
        numbers.extend(
            packets.iter().map(|packet| self.check(packet).map_or(0, |(_, number)| number)),
        );
        tails.clear();
        tails.extend(numbers.iter().map(|number| Association::mac_tail(*number)));
        let mut messages: Vec<hmac::Message<'_>> = emptied(std::mem::take(covered));
        let mut tags: Vec<&[u8]> = emptied(std::mem::take(came));
        for ((packet, number), tail) in packets.iter().zip(&*numbers).zip(&*tails) {
            if *number > 0 {
                let (data, tag) = packet.split_at(packet.len() - self.lengths.tag);
                messages
                    .push(hmac::Message { data, tail: &tail[..self.association.mac_tail_bytes()] });
                tags.push(tag);
            }
        }
        genuine.clear();
        genuine.resize(messages.len(), false);
        hmac.verify_many(&messages, &tags, genuine);
        (*covered, *came) = (emptied(messages), emptied(tags));
        // one for each packet from here on
        genuine.resize(packets.len(), false);
        let mut verified = numbers.iter().filter(|number| **number > 0).count();
        for at in (0..packets.len()).rev() {
            genuine[at] = numbers[at] > 0 && {
                verified -= 1;
                genuine[verified]
            };
        }
    }

    /// Returns the range of the encrypted part of `packet`, unless the packet must be refused. It
    /// was found `genuine` or not under `known`, if that is not 0; packets that came since then may
    /// have changed its number.
    fn admit(&mut self, packet: &[u8], known: u64, genuine: bool) -> Result<Range<usize>, Refusal> {
        let (range, number) = self.check(packet)?;
        let genuine =
            if number == known { genuine } else { self.is_genuine(packet, range.end, number) };
        if !genuine {
            return Err(Refusal::Authentication);
        }
        self.window.note(number);
        Ok(range)
    }

    /// Returns whether a packet under a cipher in CBC, of which `covered` bytes are authenticated,
    /// is genuine.
    fn is_genuine(&self, packet: &[u8], covered: usize, number: u64) -> bool {
        let Keyed::Cbc { hmac, .. } = &self.keyed else { return false };
        let (data, tag) = packet.split_at(covered);
        let tail = Association::mac_tail(number);
        hmac.verify(&hmac::Message { data, tail: &tail[..self.association.mac_tail_bytes()] }, tag)
            .is_ok()
    }

    /// Decrypts the admitted packets of `packets`.
    fn decrypt_admitted(&self, packets: &mut [&mut [u8]], opened: &[Opened], spare: &mut Spare) {
        let Keyed::Cbc { cbc, .. } = &self.keyed else { return };
        let mut messages: Vec<Message<'_>> = emptied(std::mem::take(&mut spare.chained));
        for (packet, opened) in packets.iter_mut().zip(opened) {
            if let Ok(Some(range)) = opened {
                let (head, data) = packet[..range.end].split_at_mut(range.start);
                messages.push(Message { iv: &head[HEADER_BYTES..], data });
            }
        }
        cbc.decrypt_many(&mut messages).expect("lengths that were checked");
        spare.chained = emptied(messages);
    }

    /// Counts an opened or refused packet, and leaves nothing in the clear in a refused packet.
    fn count(&mut self, packet: &mut [u8], opened: &Opened) {
        match opened {
            Ok(Some(inner)) => {
                self.counters.packets += 1;
                self.counters.bytes += inner.len() as u64;
            }
            Ok(None) => self.counters.dummies += 1,
            Err(reason) => {
                self.counters.refused[*reason as usize] += 1;
                if matches!(reason, Refusal::Padding | Refusal::Inner) {
                    packet.fill(0);
                }
            }
        }
    }

    fn opened(&mut self, packet: &mut [u8]) -> Opened {
        let (range, number) = self.check(packet)?;
        self.decrypt(packet, range.clone(), number)?;
        self.window.note(number);
        inner_range(packet, range)
    }

    /// Returns the range of the encrypted part of `packet`, and the packet's whole number, unless
    /// it can be refused without its tag.
    fn check(&self, packet: &[u8]) -> Result<(Range<usize>, u64), Refusal> {
        let Lengths { head, block, tag, .. } = self.lengths;
        let end = packet.len().checked_sub(tag).filter(|end| *end > head).ok_or(Refusal::Length)?;
        if !(end - head).is_multiple_of(block) {
            return Err(Refusal::Length);
        }
        let word = |at: usize| {
            u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
        };
        if word(0) != self.association.spi {
            return Err(Refusal::OtherSpi);
        }
        let number = self.window.number(word(4))?;
        // before the costly part: who repeats packets must not keep this end busy
        self.window.check(number)?;
        Ok((head..end, number))
    }

    /// Authenticates the packet, and decrypts `range`.
    fn decrypt(&self, packet: &mut [u8], range: Range<usize>, number: u64) -> Result<(), Refusal> {
        match &self.keyed {
            Keyed::Null => Ok(()),
            Keyed::Gcm { aead, salt } => {
                let (sealed, tag) = packet.split_at_mut(range.end);
                let (head, data) = sealed.split_at_mut(range.start);
                let tag: &[u8; GCM_TAG_BYTES] = (&*tag).try_into().map_err(|_| Refusal::Length)?;
                let mut nonce = [0; 12];
                nonce[..SALT_BYTES].copy_from_slice(&**salt);
                nonce[SALT_BYTES..].copy_from_slice(&head[HEADER_BYTES..]);
                let (associated, length) = self.association.gcm_associated(number);
                aead.open(&nonce, &associated[..length], data, tag)
                    .map_err(|_| Refusal::Authentication)
            }
            Keyed::Cbc { cbc, .. } => {
                if !self.is_genuine(packet, range.end, number) {
                    return Err(Refusal::Authentication);
                }
                let (head, data) = packet[..range.end].split_at_mut(range.start);
                cbc.decrypt(&head[HEADER_BYTES..], data).map_err(|_| Refusal::Length)
            }
        }
    }
}

/// Returns the range of the IP packet in the decrypted `range` of `packet`. Nothing is left of a
/// packet that must be thrown away.
fn inner_range(packet: &mut [u8], range: Range<usize>) -> Opened {
    let Range { start, end } = range;
    let (protocol, padding) = (packet[end - 1], usize::from(packet[end - 2]));
    let padded = end - 2;
    let inner_end = padded
        .checked_sub(padding)
        .filter(|inner_end| *inner_end >= start)
        .ok_or(Refusal::Padding)?;
    if packet[inner_end..padded].iter().zip(1..).any(|(byte, want)| *byte != want) {
        return Err(Refusal::Padding);
    }
    if protocol == inner::DUMMY {
        packet[start..end].fill(0);
        return Ok(None);
    }
    match inner::extent(&packet[start..inner_end]) {
        // the bytes that follow hide the length of the packet
        Some((inside, bytes)) if inside == protocol => Ok(Some(start..start + bytes)),
        _ => Err(Refusal::Inner),
    }
}

#[cfg(test)]
mod tests {
    use sealstone_cipher::Backend;
    use sealstone_cipher::testing::bytes;

    use super::*;
    use crate::esp::{Outbound, Sealed, Suite, suites};

    /// Random numbers below a bound.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % bound as u64) as usize
        }
    }

    /// A sender, and what it sent last.
    struct Wire {
        outbound: Outbound,
        sent: Vec<Vec<u8>>,
    }

    impl Wire {
        fn send(&mut self, random: &mut Random) -> Vec<u8> {
            let length = [0, 20, 1_380][random.below(3)] + random.below(17);
            let mut packet = vec![0x45; 20];
            packet[2..4].copy_from_slice(&(20 + length as u16).to_be_bytes());
            packet.resize(20 + length, 0xa5);
            let mut sealed = Sealed::default();
            self.outbound.seal(&[&packet], &mut sealed).unwrap();
            if self.sent.len() == 3_000 {
                self.sent.remove(0);
            }
            self.sent.push(sealed.bytes().to_vec());
            sealed.bytes().to_vec()
        }

        /// Returns the next packet, or a packet that a network or an attacker makes of earlier
        /// packets.
        fn arrival(&mut self, random: &mut Random) -> Vec<u8> {
            let mut packet = match random.below(20) {
                0 => {
                    (0..random.below(150)).for_each(|_| drop(self.send(random)));
                    self.send(random)
                }
                1..6 if !self.sent.is_empty() => {
                    let back = [4, 70, 1_200][random.below(3)].min(self.sent.len());
                    self.sent[self.sent.len() - 1 - random.below(back)].clone()
                }
                _ => self.send(random),
            };
            match random.below(14) {
                2 => packet[random.below(4)] ^= 1 << random.below(8),
                0 => {
                    let at = random.below(packet.len());
                    packet[at] ^= 1 << random.below(8);
                }
                1 => packet.truncate(random.below(packet.len())),
                _ => {}
            }
            packet
        }
    }

    fn compare(
        suite: &'static Suite,
        extended: bool,
        start: u64,
        window_packets: u32,
        random: &mut Random,
    ) {
        let association = Association { spi: 0x1000, suite, extended, backend: Backend::auto() };
        let (key, mac_key) =
            (bytes("many key", suite.key_bytes()), bytes("many mac", suite.integrity_key_bytes()));
        let outbound = Outbound::new(&association, &key, &mac_key).unwrap().endless_after(start);
        let mut wire = Wire { outbound, sent: Vec::new() };
        let mut ends =
            [0, 1].map(|_| Inbound::new(&association, &key, &mac_key, window_packets).unwrap());
        if start > 0 {
            ends.iter_mut().for_each(|end| end.window.note(start));
        }
        let [one_by_one, many] = &mut ends;
        let mut opened = vec![Err(Refusal::Inner); 7];
        for _ in 0..40 {
            let came: Vec<Vec<u8>> = (0..random.below(70)).map(|_| wire.arrival(random)).collect();
            let (mut here, mut there) = (came.clone(), came);
            let want: Vec<Opened> = here.iter_mut().map(|packet| one_by_one.open(packet)).collect();
            let mut packets: Vec<&mut [u8]> = there.iter_mut().map(Vec::as_mut_slice).collect();
            many.open_many(&mut packets, &mut opened);
            assert_eq!(opened, want, "{} from {start} on", suite.name);
            assert!(there == here, "{}: other bytes", suite.name);
            assert_eq!(many.counters(), one_by_one.counters());
        }
        let counters = many.counters();
        assert!(counters.packets > 50, "{}: {counters:?}", suite.name);
        for reason in [Refusal::Length, Refusal::Replayed, Refusal::OtherSpi] {
            assert!(counters.refused(reason) > 0, "{}, {reason}: {counters:?}", suite.name);
        }
    }

    /// With loss, disorder, repeats in one batch and across, changes and packets cut off; and where
    /// numbers pass 2^32, so that a packet's upper half depends on earlier packets of its batch.
    #[test]
    fn many_are_opened_as_one_after_the_other() {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for suite in suites() {
            compare(suite, true, 0, 64, &mut random);
            compare(suite, false, 0, 1024, &mut random);
            compare(suite, true, (1 << 32) - 500, 64, &mut random);
            compare(suite, true, (7 << 32) - 900, 1024, &mut random);
        }
    }
}
