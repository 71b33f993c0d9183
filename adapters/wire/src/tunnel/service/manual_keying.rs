//! A tunnel whose associations others agreed on: nothing is agreed on here, and both are used until
//! their keys are used up. Not here: reading them (`path`), a tunnel that agrees on keys
//! (`service`).

use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use sealstone_seal::esp::{Lifetime, Suite};

use super::error::ServiceError;
use super::question::{Question, listen};
use super::setup::{bind, device, find};
use crate::path::{
    AssociationPair, Associations, Count, End, KeyUse, KeyUseError, ManualAssociation, PairError,
    Path, Sources, StateDir,
};
use crate::tunnel::config::{ManualKeys, Plan};
use crate::tunnel::protocol::{Event, Log, Standing, State};
use crate::tunnel::runtime::Claim;
use crate::tunnel::status::{Fixed, ManualStatus, Status};

/// Interval between checks for a question or for something that is due.
const TICK: Duration = Duration::from_millis(50);
/// Interval at which the packets received are recorded.
const RECORD_EVERY: Duration = Duration::from_secs(1);
/// Packets of which it is remembered whether they came.
const WINDOW_PACKETS: u32 = 4_096;
/// Blocks that a packet has at most, about: of an Ethernet, in blocks of 64 bits.
const BLOCKS_A_PACKET: u64 = 1_500 / 8;

/// A tunnel that is set up and does not run yet.
pub struct ManualService {
    fixed: Fixed,
    file: String,
    pair: AssociationPair,
    path: Path,
    associations: Arc<Associations>,
    /// Record of received packets.
    came: KeyUse,
    asked: Receiver<Question>,
    log: Log,
    /// The problem reported last.
    failure: Option<String>,
    since: Instant,
    say: Box<dyn FnMut(&Event) + Send>,
    _claim: Claim,
}

impl ManualService {
    /// Sets everything up: faults in the settings are found here. A key continues behind its
    /// recorded use.
    ///
    /// - `keys`: where the associations are, the keys of `plan`
    /// - `claim`: of the tunnel's name
    /// - `say`: is called with every event
    ///
    /// # Errors
    /// Any of [`ServiceError`] but the last. Nothing remains then but records.
    pub fn set_up(
        plan: &Plan,
        keys: &ManualKeys,
        mut claim: Claim,
        say: Box<dyn FnMut(&Event) + Send>,
    ) -> Result<Self, ServiceError> {
        let mut pair = AssociationPair::read(&keys.file, plan.listen)?;
        if let Some(listen) = plan.listen {
            pair.own = listen;
        }
        if let Some((host, port)) = &plan.peer {
            pair.peer = find(host, *port, pair.own)?;
        }
        let state = StateDir::open(keys.state_dir.as_deref())?;
        let suite = pair.outbound.association.suite;
        let set = |error: sealstone_seal::esp::EspError| ServiceError::Ended(error.to_string());
        let (outbound, inbound) =
            (pair.outbound.outbound().map_err(set)?, pair.inbound.inbound(WINDOW_PACKETS));
        let (mut sealed, mut came) = records(&state, &pair, &keys.file)?;
        // a record that cannot be written is found before anything is made
        let lifetime = outbound.lifetime();
        let here = sealed.recorded();
        if here.packets >= lifetime.packets || here.blocks >= lifetime.blocks {
            return Err(ServiceError::Ended(used_up(&pair)));
        }
        sealed.reserve(here, lifetime)?;
        sealed.record(here)?;
        came.record(came.recorded())?;
        let inbound = inbound.map_err(set)?.after(came.recorded().packets);

        let socket = bind(pair.own)?;
        let tun = device(plan, suite, Some(pair.peer), pair.own)?;
        let fixed = Fixed::new(plan, None, pair.own, suite);
        let associations = Arc::new(Associations::new());
        associations.add_inbound(inbound);
        associations.set_recorded_outbound(outbound, pair.peer, sealed);
        // messages of a key exchange: nothing answers them here
        let (sender, _) = mpsc::channel();
        let sources = Sources::behind(&plan.addresses, &plan.routes);
        let path = Path::start(tun, socket, Arc::clone(&associations), sources, sender)?;
        let asked = listen(&mut claim)?;
        let mut service = Self {
            fixed,
            file: shown(&keys.file),
            path,
            associations,
            came,
            asked,
            log: Log::default(),
            failure: None,
            since: Instant::now(),
            say,
            _claim: claim,
            pair,
        };
        let [spi_out, spi_in] =
            [&service.pair.outbound, &service.pair.inbound].map(|one| one.association.spi);
        service.event(Event::Manual { peer: service.pair.peer, spi_out, spi_in });
        Ok(service)
    }

    /// Returns whether both directions have one key.
    #[must_use]
    pub fn has_one_key(&self) -> bool {
        self.pair.has_one_key()
    }

    /// Returns the suite that seals packets.
    #[must_use]
    pub fn suite(&self) -> &'static Suite {
        self.fixed.suite
    }

    /// Runs until `stop` turns true or a request to stop comes; device and files are gone when it
    /// returns, and the use of the keys is recorded.
    ///
    /// # Errors
    /// [`ServiceError::Ended`], if the path ended unexpectedly; [`ServiceError::KeyUse`].
    pub fn run(mut self, stop: &AtomicBool) -> Result<(), ServiceError> {
        let mut recorded = Instant::now();
        loop {
            if stop.load(Ordering::SeqCst) || self.answer_questions() {
                return self.end();
            }
            if let Some(found) = self.path.failure() {
                self.end()?;
                return Err(ServiceError::Ended(found));
            }
            self.notice();
            if recorded.elapsed() > RECORD_EVERY {
                recorded = Instant::now();
                // the next attempt may succeed, and `notice` reports problems with sending
                let _ = self.record_what_came();
            }
            std::thread::sleep(TICK);
        }
    }

    fn end(mut self) -> Result<(), ServiceError> {
        self.event(Event::Ended);
        let came = self.record_what_came();
        // both threads are gone before the record states that nothing more was sealed
        let Self { path, associations, .. } = self;
        path.stop();
        associations.end_recorded_outbound()?;
        Ok(came?)
    }

    fn record_what_came(&mut self) -> Result<(), KeyUseError> {
        let newest = self.associations.inbound_status().first().map_or(0, |status| status.newest);
        let before = self.came.recorded();
        self.came.record(Lifetime { packets: newest.max(before.packets), ..before })
    }

    fn event(&mut self, event: Event) {
        self.log.note(self.since.elapsed(), &event);
        (self.say)(&event);
    }

    /// Reports each problem once, and its end.
    fn notice(&mut self) {
        let failure = match self.is_used_up() {
            true => Some(used_up(&self.pair)),
            false => self.associations.unrecorded(),
        };
        if failure != self.failure {
            self.failure.clone_from(&failure);
            let what = failure.unwrap_or_else(|| "packets are sent again".to_owned());
            self.event(Event::Failed { what });
        }
    }

    fn is_used_up(&self) -> bool {
        self.path.counters().get(Count::Exhausted) > 0
    }

    /// Answers queries; returns whether the tunnel should end.
    fn answer_questions(&mut self) -> bool {
        while let Ok(question) = self.asked.try_recv() {
            match question {
                Question::Down => return true,
                Question::Status(reply) => {
                    drop(reply.send(serde_json::to_string(&self.status()).unwrap_or_default()))
                }
            }
        }
        false
    }

    fn status(&self) -> Status {
        let heard = self.associations.heard();
        let state = if heard.is_some() { State::Up } else { State::Waiting };
        let standing = Standing { state, peer: Some(self.pair.peer), session: None };
        let (counters, mtu) = (self.path.counters(), self.path.mtu().ok());
        let mut status = Status::new(
            &self.fixed,
            self.since.elapsed(),
            (&standing, &self.log),
            &counters,
            mtu,
            None,
        );
        if self.is_used_up() {
            status.state = "ended".into();
        }
        let index = |spi: u32| format!("{spi:#010x}");
        status.given = Some(ManualStatus {
            file: self.file.clone(),
            spi_out: index(self.pair.outbound.association.spi),
            spi_in: index(self.pair.inbound.association.spi),
            sealed_packets: self
                .associations
                .outbound_status()
                .map_or(0, |status| status.used.packets),
            newest_in: self.associations.inbound_status().first().map_or(0, |status| status.newest),
            silence_s: heard.map(|heard| heard.at.elapsed().as_secs()),
        });
        status
    }
}

/// Checks that no tunnel of this machine has, or had, the keys of `pair` the other way round. Call
/// it with the records of both held.
fn check_directions(
    state: &StateDir,
    pair: &AssociationPair,
    file: &FilePath,
) -> Result<(), PairError> {
    let check = |one: &ManualAssociation, other_end, now, [runs, ran]: [&'static str; 2]| {
        // of ciphers that draw their initialisation vectors, the key may be used both ways
        let known = state.known(&one.fingerprint(), other_end).filter(|_| one.counts_nonces());
        known.map_or(Ok(()), |known| {
            Err(PairError::OtherDirection {
                path: file.to_owned(),
                line: one.line,
                named: one.named(),
                now,
                before: if known.is_running { runs } else { ran },
                record: known.record,
            })
        })
    };
    check(&pair.outbound, End::Opening, "seal", ["opens", "opened"])?;
    check(&pair.inbound, End::Sealing, "open", ["seals", "sealed"])
}

/// Returns the records of both keys, with what others wrote down of them in `file`.
fn records(
    state: &StateDir,
    pair: &AssociationPair,
    file: &FilePath,
) -> Result<(KeyUse, KeyUse), ServiceError> {
    let mut sealed = state.key_use(&pair.outbound.fingerprint(), End::Sealing)?;
    let mut came = state.key_use(&pair.inbound.fingerprint(), End::Opening)?;
    check_directions(state, pair, file)?;
    let before = pair.outbound.sealed_before;
    if before > sealed.recorded().packets {
        let blocks = before.saturating_mul(BLOCKS_A_PACKET).max(sealed.recorded().blocks);
        sealed.record(Lifetime { packets: before, blocks })?;
    }
    let before = pair.inbound.came_before;
    if before > came.recorded().packets {
        came.record(Lifetime { packets: before, blocks: 0 })?;
    }
    Ok((sealed, came))
}

fn used_up(pair: &AssociationPair) -> String {
    let association = pair.outbound.association;
    format!(
        "association {:#010x} has sealed as much as a key of {} may\nagree on a new one with the \
         other end, and start again with its file",
        association.spi, association.suite.name
    )
}

fn shown(path: &FilePath) -> String {
    path.display().to_string()
}
