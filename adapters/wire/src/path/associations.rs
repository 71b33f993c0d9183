//! The security associations of a path, shared by the path, which uses them, and the code that
//! agrees on them.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sealstone_seal::esp::{Counters, EspError, Inbound, Lifetime, Outbound, Sealed, Suite};

use super::key_use::{KeyUse, KeyUseError};

/// The associations. Without one to send by, packets are dropped: none leaves in the clear.
#[derive(Debug, Default)]
pub struct Associations {
    sending: Mutex<Sending>,
    receiving: Mutex<Receiving>,
}

#[derive(Debug, Default)]
struct Sending {
    current: Option<(Outbound, SocketAddr)>,
    /// Associations that follow, in this order, once the current one has sealed all that it may.
    successors: VecDeque<Outbound>,
    /// Record of how far the current association may go, if its keys may be used again after this
    /// process.
    recorded: Option<KeyUse>,
    /// Reason why that could not be recorded, the last time.
    unrecorded: Option<String>,
}

/// Associations that open packets.
#[derive(Debug, Default)]
pub(crate) struct Receiving {
    by_spi: HashMap<u32, Inbound>,
    heard: Option<Heard>,
}

/// The time and the sender of the last authentic packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heard {
    /// The time.
    pub at: Instant,
    /// The address that sent it: another one than before, if the peer or a translator of addresses
    /// moved.
    pub from: SocketAddr,
}

/// State of the association that seals packets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OutboundStatus {
    /// Index of the association.
    pub spi: u32,
    /// Its suite.
    pub suite: &'static Suite,
    /// Address that packets are sent to.
    pub peer: SocketAddr,
    /// Amount that the association has sealed.
    pub used: Lifetime,
    /// True if it is time to agree on a successor.
    pub is_due: bool,
    /// Number of successors that are already there.
    pub successors: usize,
}

/// State of an association that opens packets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InboundStatus {
    /// Index of the association.
    pub spi: u32,
    /// Its suite.
    pub suite: &'static Suite,
    /// Counters of the packets that arrived.
    pub counters: Counters,
    /// The newest number that came.
    pub newest: u64,
}

/// Reasons why packets were not sealed.
#[derive(Debug)]
pub(crate) enum NotSealed {
    /// No association is there.
    NoAssociation,
    /// The key has sealed what it may, and there is no successor.
    Exhausted,
    /// Failure to record how far the key goes.
    Unrecorded,
    /// They are no packets, or the cipher failed.
    Failed,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // every change is one assignment: a thread that panicked leaves nothing half done
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Associations {
    /// Makes an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Seals what comes next by `outbound`, and sends it to `peer`. The association before and its
    /// successors end.
    pub fn set_outbound(&self, outbound: Outbound, peer: SocketAddr) {
        *lock(&self.sending) = Sending { current: Some((outbound, peer)), ..Sending::default() };
    }

    /// The same with keys that may be used again after this process: it continues behind the use in
    /// `recorded`, and packets leave only once they are recorded there.
    pub(crate) fn set_recorded_outbound(
        &self,
        outbound: Outbound,
        peer: SocketAddr,
        recorded: KeyUse,
    ) {
        let outbound = outbound.after(recorded.recorded());
        let sending = Sending {
            current: Some((outbound, peer)),
            recorded: Some(recorded),
            ..Sending::default()
        };
        *lock(&self.sending) = sending;
    }

    /// Returns the reason why it could not be recorded how far the key goes, if the last attempt
    /// failed.
    #[must_use]
    pub fn unrecorded(&self) -> Option<String> {
        lock(&self.sending).unrecorded.clone()
    }

    /// Seals nothing any more, and records how far the key has gone in truth.
    ///
    /// # Errors
    /// [`KeyUseError::Unwritten`]: the reservation then counts as used.
    pub(crate) fn end_recorded_outbound(&self) -> Result<(), KeyUseError> {
        let Sending { current, recorded, .. } = std::mem::take(&mut *lock(&self.sending));
        match (current, recorded) {
            (Some((outbound, _)), Some(mut recorded)) => recorded.record(outbound.used()),
            _ => Ok(()),
        }
    }

    /// Seals by `outbound` once the previous association has used up its key: the path changes
    /// automatically, and loses no packet. Ciphers with blocks of 64 bits need many a second. The
    /// other end must have it before.
    pub fn add_successor(&self, outbound: Outbound) {
        lock(&self.sending).successors.push_back(outbound);
    }

    /// Sends to another address from now on; without an association it does nothing.
    pub(crate) fn set_peer(&self, peer: SocketAddr) {
        if let Some((_, current)) = &mut lock(&self.sending).current {
            *current = peer;
        }
    }

    /// Seals nothing any more: packets are dropped until [`Self::set_outbound`].
    pub fn remove_outbound(&self) {
        *lock(&self.sending) = Sending::default();
    }

    /// Opens packets with its index by `inbound`, which replaces one with the same index.
    pub fn add_inbound(&self, inbound: Inbound) {
        lock(&self.receiving).by_spi.insert(inbound.association().spi, inbound);
    }

    /// Forgets the association with this index; returns whether it was there.
    pub fn remove_inbound(&self, spi: u32) -> bool {
        lock(&self.receiving).by_spi.remove(&spi).is_some()
    }

    /// Returns the state of the association that seals packets, if there is one.
    #[must_use]
    pub fn outbound_status(&self) -> Option<OutboundStatus> {
        let sending = lock(&self.sending);
        let (outbound, peer) = sending.current.as_ref()?;
        let association = outbound.association();
        Some(OutboundStatus {
            spi: association.spi,
            suite: association.suite,
            peer: *peer,
            used: outbound.used(),
            is_due: outbound.is_due(),
            successors: sending.successors.len(),
        })
    }

    /// Returns the states of the associations that open packets, ordered by index.
    #[must_use]
    pub fn inbound_status(&self) -> Vec<InboundStatus> {
        let receiving = lock(&self.receiving);
        let status = |inbound: &Inbound| {
            let association = inbound.association();
            let (counters, newest) = (inbound.counters(), inbound.newest());
            InboundStatus { spi: association.spi, suite: association.suite, counters, newest }
        };
        let mut all: Vec<InboundStatus> = receiving.by_spi.values().map(status).collect();
        all.sort_by_key(|one| one.spi);
        all
    }

    /// Returns the time and the sender of the last authentic packet, if any.
    #[must_use]
    pub fn heard(&self) -> Option<Heard> {
        lock(&self.receiving).heard
    }

    /// Returns the suite by which packets are sealed, if they are.
    pub(crate) fn outbound_suite(&self) -> Option<&'static Suite> {
        lock(&self.sending).current.as_ref().map(|(outbound, _)| outbound.association().suite)
    }

    /// Seals `packets` and appends them to `sealed`. Returns where they go.
    pub(crate) fn seal(
        &self,
        packets: &[&[u8]],
        sealed: &mut Sealed,
    ) -> Result<SocketAddr, NotSealed> {
        let mut sending = lock(&self.sending);
        let Sending { current, successors, recorded, unrecorded } = &mut *sending;
        let (outbound, peer) = current.as_mut().ok_or(NotSealed::NoAssociation)?;
        loop {
            match outbound.seal(packets, sealed) {
                Ok(()) => return Ok(*peer),
                Err(EspError::Unreserved { packets, blocks, .. }) => {
                    let recorded = recorded.as_mut().ok_or(NotSealed::Unrecorded)?;
                    match recorded.reserve(Lifetime { packets, blocks }, outbound.lifetime()) {
                        Ok(reserved) => outbound.reserve(reserved),
                        Err(error) => {
                            *unrecorded = Some(error.to_string());
                            return Err(NotSealed::Unrecorded);
                        }
                    }
                    *unrecorded = None;
                }
                Err(EspError::Exhausted { .. }) => {
                    *outbound = successors.pop_front().ok_or(NotSealed::Exhausted)?
                }
                Err(_) => return Err(NotSealed::Failed),
            }
        }
    }

    /// Returns the associations that open packets, for as long as the guard lives.
    pub(crate) fn receiving(&self) -> MutexGuard<'_, Receiving> {
        lock(&self.receiving)
    }
}

impl Receiving {
    /// Returns the association that opens packets with this index.
    pub(crate) fn inbound(&mut self, spi: u32) -> Option<&mut Inbound> {
        self.by_spi.get_mut(&spi)
    }

    /// Notes that an authentic packet came.
    pub(crate) fn note(&mut self, from: SocketAddr) {
        self.heard = Some(Heard { at: Instant::now(), from });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::key_use::{End, StateDir};
    use super::super::manual_keying::{ManualAssociation, xfrm};
    use super::*;

    const GCM: &str = "aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128";
    const CBC: &str = "auth hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213 enc cbc(aes) \
                       0x000102030405060708090a0b0c0d0e0f";

    fn read(algorithms: &str) -> ManualAssociation {
        let text =
            format!("src 10.77.0.1 dst 10.77.0.2 proto esp spi 4096 mode tunnel {algorithms}\n");
        xfrm::read(&text).unwrap().remove(0)
    }

    /// As a process that starts with the file of `given`.
    fn start(state: &StateDir, given: &ManualAssociation) -> Associations {
        let associations = Associations::new();
        let recorded = state.key_use(&given.fingerprint(), End::Sealing).unwrap();
        associations.set_recorded_outbound(
            given.outbound().unwrap(),
            "10.77.0.2:4500".parse().unwrap(),
            recorded,
        );
        associations
    }

    fn seal(associations: &Associations) -> Result<Vec<u8>, NotSealed> {
        let packet = [&[0x45, 0, 0, 24][..], &[0; 16], b"data"].concat();
        let mut sealed = Sealed::default();
        associations.seal(&[&packet], &mut sealed).map(|_| sealed.bytes().to_vec())
    }

    #[test]
    fn no_nonce_comes_twice_however_often_a_file_is_used() {
        for algorithms in [GCM, CBC] {
            let dir = tempfile::tempdir().unwrap();
            let state = StateDir::open(Some(&dir.path().join("state"))).unwrap();
            let given = read(algorithms);
            let (mut numbers, mut nonces, mut newest) = (BTreeSet::new(), BTreeSet::new(), 0);
            for run in 0..8 {
                let associations = start(&state, &given);
                for _ in 0..50 {
                    let packet = seal(&associations).unwrap();
                    let number = u32::from_be_bytes(packet[4..8].try_into().unwrap());
                    assert!(number > newest, "{number} after {newest}, run {run}");
                    newest = number;
                    numbers.insert(number);
                    nonces.insert(packet[8..16].to_vec());
                }
                // every second one is ended in good order, the others as by a kill
                if run % 2 == 0 {
                    associations.end_recorded_outbound().unwrap();
                    assert!(matches!(seal(&associations), Err(NotSealed::NoAssociation)));
                }
            }
            assert_eq!((numbers.len(), nonces.len()), (400, 400));
            // the three kills before the last run cost a step each
            assert!((3 << 18..4 << 18).contains(&newest), "{newest}");
        }
    }

    #[test]
    fn nothing_is_sealed_that_is_not_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(Some(&dir.path().join("state"))).unwrap();
        let given = read(GCM);
        let associations = start(&state, &given);
        // no file takes the place of a directory
        let in_the_way = dir.path().join("state").join(format!("{}.sealed", given.fingerprint()));
        std::fs::create_dir(&in_the_way).unwrap();
        assert!(matches!(seal(&associations), Err(NotSealed::Unrecorded)));
        let said = associations.unrecorded().unwrap();
        assert!(
            said.starts_with("cannot record how far the key has gone in ")
                && said.contains("nothing is sent")
        );
        std::fs::remove_dir(&in_the_way).unwrap();
        seal(&associations).unwrap();
        assert_eq!(associations.unrecorded(), None);
    }
}
