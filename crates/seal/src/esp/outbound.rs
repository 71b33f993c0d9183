//! Sealing packets, many at a time.

use std::fmt;
use std::ops::Range;

use sealstone_cipher::Error as CipherError;
use sealstone_cipher::cbc::{Cbc, Message};
use sealstone_cipher::hmac::{self, Hmac};

use super::association::{Association, HEADER_BYTES, Keyed, Lengths, Lifetime};
use super::error::EspError;
use super::inner;
use super::iv::Ivs;
use super::spare::{Spare, emptied};
use sealstone_cipher::suites::GCM_SALT_BYTES as SALT_BYTES;

/// Pad length and next header, which end the encrypted part.
const TRAILER_BYTES: usize = 2;
/// A successor is due once seven eighths of a lifetime are used.
const DUE_EIGHTHS: u64 = 7;

/// Sealed packets, one after the other in one buffer, as segmentation offload takes them.
#[derive(Clone, Debug, Default)]
pub struct Sealed {
    bytes: Vec<u8>,
    /// Position where each packet ends.
    ends: Vec<usize>,
}

impl Sealed {
    /// Forgets them, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns all their bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns each of them, in the order in which they were sealed.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|at| &self.bytes[self.range(at)])
    }

    fn range(&self, at: usize) -> Range<usize> {
        at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[at]
    }
}

/// The sending end of an association. It is the only one under its keys: two would use the same
/// nonces.
pub struct Outbound {
    association: Association,
    lengths: Lengths,
    keyed: Keyed,
    ivs: Option<Ivs>,
    lifetime: Lifetime,
    used: Lifetime,
    /// Limit on what it may seal until more is reserved.
    reserved: Lifetime,
    spare: Spare,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Association { spi, suite, .. } = self.association;
        f.debug_struct("Outbound")
            .field("spi", &spi)
            .field("suite", &suite.name)
            .finish_non_exhaustive()
    }
}

impl Outbound {
    /// Sets keys that no association had before.
    ///
    /// - `key`: [`Suite::key_bytes`](super::Suite::key_bytes) long
    /// - `integrity_key`: [`Suite::integrity_key_bytes`](super::Suite::integrity_key_bytes) long
    ///
    /// # Errors
    /// [`EspError::ReservedSpi`], [`EspError::KeyLength`], [`EspError::Random`].
    pub fn new(
        association: &Association,
        key: &[u8],
        integrity_key: &[u8],
    ) -> Result<Self, EspError> {
        let keyed = association.keyed(key, integrity_key)?;
        let ivs = match keyed {
            Keyed::Cbc { .. } => Some(Ivs::new(association.spi, association.backend)?),
            Keyed::Null | Keyed::Gcm { .. } => None,
        };
        let used = Lifetime { packets: 0, blocks: 0 };
        let (lengths, lifetime) = (Lengths::of(association.suite), Lifetime::longest(association));
        let spare = Spare::default();
        Ok(Self {
            association: *association,
            lengths,
            keyed,
            ivs,
            lifetime,
            used,
            reserved: lifetime,
            spare,
        })
    }

    /// Returns the same for keys that have sealed `used` before: numbers, and the nonces that GCM
    /// derives from them, continue behind it. It seals nothing until [`Outbound::reserve`] sets a
    /// limit.
    #[must_use]
    pub fn after(self, used: Lifetime) -> Self {
        Self { used, reserved: used, ..self }
    }

    /// Lets it go as far as `reserved`, counted from the first packet under its keys; its lifetime
    /// stays.
    pub fn reserve(&mut self, reserved: Lifetime) {
        self.reserved = reserved;
    }

    /// Returns the same, with a lifetime of at most `lifetime`.
    #[must_use]
    pub fn with_lifetime(self, lifetime: Lifetime) -> Self {
        let packets = self.lifetime.packets.min(lifetime.packets);
        Self {
            lifetime: Lifetime { packets, blocks: self.lifetime.blocks.min(lifetime.blocks) },
            ..self
        }
    }

    /// Returns the same after `packets` packets, without an end.
    #[cfg(test)]
    pub(super) fn endless_after(self, packets: u64) -> Self {
        let lifetime = Lifetime { packets: u64::MAX, blocks: u64::MAX };
        Self { used: Lifetime { packets, ..self.used }, lifetime, reserved: lifetime, ..self }
    }

    /// Returns the parameters that both ends agree on.
    #[must_use]
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// Returns the amount that its keys may seal in all.
    #[must_use]
    pub fn lifetime(&self) -> Lifetime {
        self.lifetime
    }

    /// Returns the amount that its keys have sealed.
    #[must_use]
    pub fn used(&self) -> Lifetime {
        self.used
    }

    /// Returns whether it is time to agree on a successor.
    #[must_use]
    pub fn is_due(&self) -> bool {
        let due = |used: u64, most: u64| used >= most / 8 * DUE_EIGHTHS;
        due(self.used.packets, self.lifetime.packets) || due(self.used.blocks, self.lifetime.blocks)
    }

    /// Returns the number of bytes that sealing adds to a packet of `bytes` bytes, without outer
    /// headers.
    #[must_use]
    pub fn overhead_bytes(&self, bytes: usize) -> usize {
        let Lengths { head, block, tag, .. } = self.lengths;
        head + (bytes + TRAILER_BYTES).next_multiple_of(block) + tag - bytes
    }

    /// Seals `packets`, whole IPv4 or IPv6 packets, and appends them to `sealed` in this order. It
    /// is quickest with many at a time.
    ///
    /// # Errors
    /// [`EspError::Exhausted`] unless all of them fit into the lifetime, [`EspError::Unreserved`]
    /// unless they fit into the reservation, [`EspError::NotIp`], [`EspError::Cipher`]; `sealed` is
    /// then unchanged, and no sequence number was used.
    pub fn seal(&mut self, packets: &[&[u8]], sealed: &mut Sealed) -> Result<(), EspError> {
        let Association { spi, suite, .. } = self.association;
        let before = (sealed.bytes.len(), sealed.ends.len());
        let Lengths { block, cipher_block, .. } = self.lengths;
        let blocks = |packet: &&[u8]| {
            (packet.len() + TRAILER_BYTES).next_multiple_of(block).div_ceil(cipher_block)
        };
        let more = packets.iter().map(blocks).sum::<usize>() as u64;
        let then = Lifetime {
            packets: self.used.packets.saturating_add(packets.len() as u64),
            blocks: self.used.blocks.saturating_add(more),
        };
        if then.packets > self.lifetime.packets || then.blocks > self.lifetime.blocks {
            let Lifetime { packets, blocks } = self.used;
            return Err(EspError::Exhausted { spi, suite: suite.name, packets, blocks });
        }
        if then.packets > self.reserved.packets || then.blocks > self.reserved.blocks {
            let Lifetime { packets, blocks } = then;
            return Err(EspError::Unreserved { spi, packets, blocks });
        }
        for (index, packet) in packets.iter().enumerate() {
            let number = self.used.packets + 1 + index as u64;
            let laid_out = match inner::extent(packet) {
                Some((protocol, bytes)) if bytes == packet.len() => {
                    self.lay_out(packet, protocol, number, sealed)
                }
                _ => Err(EspError::NotIp { index }),
            };
            if let Err(error) = laid_out {
                sealed.bytes.truncate(before.0);
                sealed.ends.truncate(before.1);
                return Err(error);
            }
        }
        if let Err(source) = self.encrypt(sealed, before.1) {
            // the packets laid out are in the clear
            sealed.bytes[before.0..].fill(0);
            sealed.bytes.truncate(before.0);
            sealed.ends.truncate(before.1);
            return Err(EspError::Cipher { spi, source });
        }
        self.used = then;
        Ok(())
    }

    /// Appends header, initialisation vector, packet, trailer and room for the tag, in the clear.
    fn lay_out(
        &mut self,
        packet: &[u8],
        protocol: u8,
        number: u64,
        sealed: &mut Sealed,
    ) -> Result<(), EspError> {
        let (Association { spi, .. }, Lengths { head, block, tag, .. }) =
            (self.association, self.lengths);
        let padding =
            (packet.len() + TRAILER_BYTES).next_multiple_of(block) - packet.len() - TRAILER_BYTES;
        let bytes = &mut sealed.bytes;
        bytes.reserve(head + packet.len() + padding + TRAILER_BYTES + tag);
        bytes.extend_from_slice(&spi.to_be_bytes());
        bytes.extend_from_slice(&(number as u32).to_be_bytes());
        let iv_at = bytes.len();
        bytes.resize(iv_at + head - HEADER_BYTES, 0);
        let iv = &mut bytes[iv_at..];
        match &mut self.ivs {
            Some(ivs) => ivs.draw(iv).map_err(|source| EspError::Cipher { spi, source })?,
            // RFC 4106, 3.1: any value that comes once under a key
            None if !iv.is_empty() => iv.copy_from_slice(&number.to_be_bytes()),
            None => {}
        }
        bytes.extend_from_slice(packet);
        // RFC 4303, 2.4
        bytes.extend((1..=padding).map(|at| at as u8));
        bytes.extend_from_slice(&[padding as u8, protocol]);
        bytes.resize(bytes.len() + tag, 0);
        sealed.ends.push(bytes.len());
        Ok(())
    }

    /// Encrypts and authenticates the packets from number `first` on.
    fn encrypt(&mut self, sealed: &mut Sealed, first: usize) -> Result<(), CipherError> {
        let Self { association, lengths: Lengths { head, tag, .. }, keyed, spare, .. } = self;
        let numbers = self.used.packets + 1..;
        match keyed {
            Keyed::Null => Ok(()),
            Keyed::Gcm { aead, salt } => {
                for (at, number) in (first..sealed.ends.len()).zip(numbers) {
                    let range = sealed.range(at);
                    let (head, rest) = sealed.bytes[range].split_at_mut(*head);
                    let (data, tag) = rest.split_at_mut(rest.len() - *tag);
                    let mut nonce = [0; 12];
                    nonce[..SALT_BYTES].copy_from_slice(&**salt);
                    nonce[SALT_BYTES..].copy_from_slice(&head[HEADER_BYTES..]);
                    let (associated, length) = association.gcm_associated(number);
                    tag.copy_from_slice(&aead.seal(&nonce, &associated[..length], data)?);
                }
                Ok(())
            }
            Keyed::Cbc { cbc, hmac } => {
                chain(cbc, sealed, first, *head, *tag, spare)?;
                spare.tails.clear();
                spare
                    .tails
                    .extend(numbers.take(sealed.ends.len() - first).map(Association::mac_tail));
                authenticate(hmac, sealed, first, *tag, association.mac_tail_bytes(), spare);
                Ok(())
            }
        }
    }
}

/// Encrypts the packets from `first` on, side by side; each begins with `head` bytes in the clear,
/// of which the last are its initialisation vector, and ends with room for `tag` bytes.
fn chain(
    cbc: &Cbc,
    sealed: &mut Sealed,
    first: usize,
    head: usize,
    tag: usize,
    spare: &mut Spare,
) -> Result<(), CipherError> {
    let mut messages: Vec<Message<'_>> = emptied(std::mem::take(&mut spare.chained));
    let mut begin = first.checked_sub(1).map_or(0, |before| sealed.ends[before]);
    let mut rest = &mut sealed.bytes[begin..];
    for end in &sealed.ends[first..] {
        let (packet, after) = rest.split_at_mut(end - begin);
        let (head, rest_of_packet) = packet.split_at_mut(head);
        let encrypted = rest_of_packet.len() - tag;
        messages
            .push(Message { iv: &head[HEADER_BYTES..], data: &mut rest_of_packet[..encrypted] });
        (rest, begin) = (after, *end);
    }
    let done = cbc.encrypt_many(&mut messages);
    spare.chained = emptied(messages);
    done
}

/// Writes the tags of the packets from `first` on, each over the packet and what `spare` has for it
/// of `tail_bytes`.
fn authenticate(
    hmac: &Hmac,
    sealed: &mut Sealed,
    first: usize,
    tag: usize,
    tail_bytes: usize,
    spare: &mut Spare,
) {
    let Spare { covered, tags, tails, .. } = spare;
    let mut messages: Vec<hmac::Message<'_>> = emptied(std::mem::take(covered));
    messages.extend((first..sealed.ends.len()).zip(&*tails).map(|(at, tail)| {
        let Range { start, end } = sealed.range(at);
        hmac::Message { data: &sealed.bytes[start..end - tag], tail: &tail[..tail_bytes] }
    }));
    tags.clear();
    tags.resize(messages.len(), Default::default());
    hmac.tags(&messages, tags);
    *covered = emptied(messages);
    for (at, made) in (first..sealed.ends.len()).zip(tags) {
        let end = sealed.ends[at];
        sealed.bytes[end - tag..end].copy_from_slice(&made[..tag]);
    }
}
