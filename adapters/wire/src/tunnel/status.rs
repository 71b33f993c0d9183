//! State of a running tunnel as reported on request: plain data, in JSON.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use sealstone_seal::esp::{Refusal, Suite};
use serde::{Deserialize, Serialize};

use super::config::Plan;
use super::guard::Guard;
use super::handshake::Reason;
use super::protocol::{Log, Standing, State};
use crate::net::Net;
use crate::path::{Count, PathCounters};

/// Schema of the JSON.
pub const STATUS_SCHEMA: u32 = 1;

/// State of a tunnel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// Schema of this form, [`STATUS_SCHEMA`].
    pub schema: u32,
    /// Name of the tunnel and its device.
    pub name: String,
    /// Id of the process.
    pub pid: u32,
    /// `up`, `connecting`, `waiting` or `gone`; with keys of others also `ended`: they are used up.
    pub state: String,
    /// Address of the other end, as far as known.
    pub peer: Option<String>,
    /// The other end as it was given, perhaps a name.
    pub peer_given: Option<String>,
    /// Address at which this end receives.
    pub listen: String,
    /// This end's addresses within the tunnel.
    pub addresses: Vec<String>,
    /// Networks behind the other end.
    pub routes: Vec<String>,
    /// The guard that stays when the tunnel is gone; absent: nothing stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardStatus>,
    /// Name of the suite.
    pub suite: String,
    /// Caveats of the suite.
    pub caveats: Vec<String>,
    /// Longest packet of the device, in bytes.
    pub mtu_bytes: Option<u32>,
    /// Time for which it has been running, in seconds.
    pub running_s: u64,
    /// The session that both ends have agreed on.
    pub session: Option<SessionStatus>,
    /// Associations that others agreed on, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<ManualStatus>,
    /// Handshakes that succeeded.
    pub handshakes: u64,
    /// Both ways.
    pub traffic: Traffic,
    /// Packets that were refused or dropped, by reason.
    pub packets_refused: BTreeMap<String, u64>,
    /// Messages of the key exchange that were refused, by reason.
    pub messages_refused: BTreeMap<String, u64>,
    /// The last events, oldest first.
    pub events: Vec<EventStatus>,
}

/// Session that both ends have agreed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionStatus {
    /// Id of the key.
    pub key: String,
    /// Its version.
    pub key_version: u32,
    /// Index of the association that seals.
    pub spi_out: String,
    /// Index of the first association that opens.
    pub spi_in: String,
    /// Associations that one handshake makes for a direction.
    pub series: u16,
    /// Since the handshake, in seconds.
    pub age_s: u64,
    /// Since the last authentic message, in seconds.
    pub silence_s: u64,
}

/// Associations that others agreed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManualStatus {
    /// The file that they were in.
    pub file: String,
    /// Index of the sealing association.
    pub spi_out: String,
    /// Index of the opening association.
    pub spi_in: String,
    /// Packets that its key has sealed, in earlier runs, too.
    pub sealed_packets: u64,
    /// The newest number that came.
    pub newest_in: u64,
    /// Since the last authentic packet, in seconds; absent: none came since the start.
    pub silence_s: Option<u64>,
}

/// State of the guard that stays when the tunnel is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GuardStatus {
    /// Networks to which nothing goes then.
    pub networks: Vec<String>,
    /// Addresses to which nothing comes that does not come through the tunnel.
    pub addresses: Vec<String>,
    /// Parts of it that are missing now.
    pub missing: Vec<String>,
}

impl GuardStatus {
    /// Returns the current state of `guard`.
    #[must_use]
    pub fn new(guard: &Guard) -> Self {
        let networks = guard.networks.iter().map(Net::to_string).collect();
        let addresses = guard.addresses.iter().map(|net| net.address.to_string()).collect();
        let missing = guard.missing().unwrap_or_else(|error| vec![error.to_string()]);
        Self { networks, addresses, missing }
    }
}

/// Traffic that went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Traffic {
    /// Packets sealed.
    pub packets_out: u64,
    /// Bytes in them.
    pub bytes_out: u64,
    /// Packets opened.
    pub packets_in: u64,
    /// Bytes in them.
    pub bytes_in: u64,
    /// Received packets that came after a later packet, and were put in order.
    #[serde(default)]
    pub reordered_in: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventStatus {
    /// Time since it happened, in seconds; since the last time, if it happened several times.
    pub ago_s: u64,
    /// Number of times in a row.
    pub times: u64,
    /// The text; further lines have the next steps.
    pub what: String,
}

/// Facts that do not change as long as a tunnel runs.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    /// See [`Status`].
    pub(crate) name: String,
    /// See [`Status`].
    pub(crate) peer_given: Option<String>,
    /// See [`Status`].
    pub(crate) listen: String,
    /// See [`Status`].
    pub(crate) addresses: Vec<String>,
    /// See [`Status`].
    pub(crate) routes: Vec<String>,
    /// The guard that stays when the tunnel is gone.
    pub(crate) guard: Option<Guard>,
    /// The suite that seals packets.
    pub(crate) suite: &'static Suite,
}

impl Fixed {
    /// Collects what `plan` specifies for a tunnel that receives at `listen`.
    #[must_use]
    pub(crate) fn new(
        plan: &Plan,
        peer_given: Option<String>,
        listen: SocketAddr,
        suite: &'static Suite,
    ) -> Self {
        let shown = |nets: &[Net]| nets.iter().map(Net::to_string).collect();
        let (addresses, routes) = (shown(&plan.addresses), shown(&plan.routes));
        let (name, guard) = (plan.name.clone(), plan.guard.clone());
        Self { name, peer_given, listen: listen.to_string(), addresses, routes, guard, suite }
    }
}

impl Status {
    /// Collects the known facts.
    ///
    /// - `now`: since the tunnel was made
    #[must_use]
    pub(crate) fn new(
        fixed: &Fixed,
        now: Duration,
        (standing, log): (&Standing, &Log),
        path: &PathCounters,
        mtu_bytes: Option<u32>,
        spi_out: Option<u32>,
    ) -> Self {
        let Fixed { name, peer_given, listen, addresses, routes, guard, suite } = fixed.clone();
        let shown = |spi: u32| format!("{spi:#010x}");
        let session = standing.session.as_ref().map(|session| SessionStatus {
            key: session.key.id.clone(),
            key_version: session.key.version,
            spi_out: shown(spi_out.unwrap_or(session.spis_out.0)),
            spi_in: shown(session.spis_in.0),
            series: session.spis_out.1,
            age_s: session.age.as_secs(),
            silence_s: session.silence.as_secs(),
        });
        let messages =
            Reason::ALL.into_iter().map(|reason| (reason.word().to_owned(), log.refused(reason)));
        Self {
            schema: STATUS_SCHEMA,
            name,
            pid: std::process::id(),
            state: word(standing.state).to_owned(),
            peer: standing.peer.map(|peer| peer.to_string()),
            peer_given,
            listen,
            addresses,
            routes,
            guard: guard.as_ref().map(GuardStatus::new),
            suite: suite.name.to_owned(),
            caveats: suite.caveats().into_iter().map(String::from).collect(),
            mtu_bytes,
            running_s: now.as_secs(),
            session,
            given: None,
            handshakes: log.handshakes(),
            traffic: Traffic {
                packets_out: path.get(Count::PacketsOut),
                bytes_out: path.get(Count::BytesOut),
                packets_in: path.get(Count::PacketsIn),
                bytes_in: path.get(Count::BytesIn),
                reordered_in: path.get(Count::Reordered),
            },
            packets_refused: packets_refused(path),
            messages_refused: messages.filter(|(_, times)| *times > 0).collect(),
            events: log
                .entries()
                .map(|entry| EventStatus {
                    ago_s: now.saturating_sub(entry.at).as_secs(),
                    times: entry.times,
                    what: entry.event.to_string(),
                })
                .collect(),
        }
    }
}

/// Returns the word for `state`.
fn word(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Connecting => "connecting",
        State::Up => "up",
        State::Gone => "gone",
    }
}

fn packets_refused(path: &PathCounters) -> BTreeMap<String, u64> {
    let passed = [
        Count::PacketsOut,
        Count::BytesOut,
        Count::PacketsIn,
        Count::BytesIn,
        Count::Reordered,
        Count::Keepalives,
        Count::Exchange,
        Count::Sends,
        Count::Receives,
        Count::Writes,
    ];
    let counted = Count::ALL.into_iter().filter(|(what, _)| !passed.contains(what));
    let counted = counted.map(|(what, name)| (name.to_owned(), path.get(what)));
    let refused =
        Refusal::ALL.into_iter().map(|reason| (format!("refused: {reason}"), path.refused(reason)));
    counted.chain(refused).filter(|(_, times)| *times > 0).collect()
}
