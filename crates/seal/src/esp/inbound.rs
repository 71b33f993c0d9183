//! Opening packets: what is genuine, new and whole. Not here: sealing them (`outbound`).

use std::fmt;
use std::ops::Range;

use super::association::{Association, HEADER_BYTES, Keyed};
use super::error::{EspError, Refusal};
use super::inner;
use super::suite::{GCM_TAG_BYTES, SALT_BYTES};
use super::window::Window;

/// What came on an association.
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

/// The receiving end of an association.
pub struct Inbound {
    association: Association,
    keyed: Keyed,
    window: Window,
    counters: Counters,
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Association { spi, suite, .. } = self.association;
        let mut shown = f.debug_struct("Inbound");
        shown.field("spi", &spi).field("suite", &suite.name).field("counters", &self.counters).finish_non_exhaustive()
    }
}

impl Inbound {
    /// Sets the keys of the sending end.
    ///
    /// - `window_packets`: how far behind the newest packet others may come, rounded up to a multiple of 64, at most
    ///   [`WINDOW_PACKETS_MAX`](super::WINDOW_PACKETS_MAX)
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
        Ok(Self { association: *association, keyed, window, counters: Counters::default() })
    }

    /// What both ends agree on.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// What came so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Opens `packet`, which begins with its index, in place. Returns where in it the IP packet is that was sealed;
    /// `None` if the other end sent one to be thrown away.
    ///
    /// # Errors
    /// Why it is refused; it is counted, has no other effect, and `packet` holds nothing in the clear.
    pub fn open(&mut self, packet: &mut [u8]) -> Result<Option<Range<usize>>, Refusal> {
        let opened = self.opened(packet);
        match &opened {
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
        opened
    }

    fn opened(&mut self, packet: &mut [u8]) -> Result<Option<Range<usize>>, Refusal> {
        let Association { spi, suite, .. } = self.association;
        let begin = HEADER_BYTES + suite.iv_bytes();
        let end = packet.len().checked_sub(suite.tag_bytes()).filter(|end| *end > begin).ok_or(Refusal::Length)?;
        if !(end - begin).is_multiple_of(suite.block_bytes()) {
            return Err(Refusal::Length);
        }
        let word = |at: usize| u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]]);
        if word(0) != spi {
            return Err(Refusal::OtherSpi);
        }
        let number = self.window.number(word(4))?;
        // before the costly part: who repeats packets must not keep this end busy
        self.window.check(number)?;
        self.decrypt(packet, begin..end, number)?;
        self.window.note(number);
        let (protocol, padding) = (packet[end - 1], usize::from(packet[end - 2]));
        let padded = end - 2;
        let inner_end = padded.checked_sub(padding).filter(|inner_end| *inner_end >= begin).ok_or(Refusal::Padding)?;
        if packet[inner_end..padded].iter().zip(1..).any(|(byte, want)| *byte != want) {
            return Err(Refusal::Padding);
        }
        if protocol == inner::DUMMY {
            packet[begin..end].fill(0);
            return Ok(None);
        }
        match inner::extent(&packet[begin..inner_end]) {
            // what follows hides how long the packet is
            Some((inside, bytes)) if inside == protocol => Ok(Some(begin..begin + bytes)),
            _ => Err(Refusal::Inner),
        }
    }

    /// Authenticates the packet, and decrypts what is in `range`.
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
                aead.open(&nonce, &associated[..length], data, tag).map_err(|_| Refusal::Authentication)
            }
            Keyed::Cbc { cbc, hmac } => {
                let (covered, tag) = packet.split_at_mut(range.end);
                let (tail, length) = self.association.mac_tail(number);
                hmac.verify(&[covered, &tail[..length]], tag).map_err(|_| Refusal::Authentication)?;
                let (head, data) = covered.split_at_mut(range.start);
                cbc.decrypt(&head[HEADER_BYTES..], data).map_err(|_| Refusal::Length)
            }
        }
    }
}
