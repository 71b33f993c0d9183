//! A target behind a link of a chosen speed, with packets sealed on it or not: for each variant two
//! network namespaces of this machine, the target in one of them.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sealstone_message::Unknown;
use sealstone_seal::esp::{suite, suites};
use sealstone_servers::{Tgt, TgtOptions, start_tgt, tgt_version};
use sealstone_store::{
    Device, Engine, EngineFacts, OpenStore, StoreError, StoreOptions, TLS, Tunnel, Variant,
    WireSuite,
};
use sealstone_wire::WireError;
use sealstone_wire::iscsi::{Address, IscsiDevice, Options, Within};
use sealstone_wire::links::{Link, Links, congestion_called, link, links};
use sealstone_wire::path::{Carried, Carrier};

use super::stream::{Sink, StreamDevice};
use super::upkeep::DeviceUpkeep;

/// A target behind a link for every variant.
#[derive(Debug)]
pub(super) struct LinkedEngine {
    link: &'static Link,
    /// TCP's congestion control at both ends; none: whatever a namespace has.
    congestion: Option<String>,
    /// Congestion control found in the namespaces.
    in_use: Mutex<String>,
    options: TgtOptions,
}

impl LinkedEngine {
    /// Returns an engine on the link called `name`, over which TCP uses `congestion`, or what this
    /// machine uses.
    pub(super) fn new(
        name: &str,
        congestion: Option<&str>,
        options: TgtOptions,
    ) -> Result<Self, StoreError> {
        let congestion =
            congestion.map(congestion_called).transpose().map_err(StoreError::engine)?;
        Ok(Self { link: link_called(name)?, congestion, in_use: Mutex::default(), options })
    }

    /// Returns a link with what TCP is to use at its ends.
    fn links(&self) -> Result<Links, WireError> {
        let links = Links::new(self.link)?;
        if let Some(name) = &self.congestion {
            links.set_congestion(name)?;
        }
        let [near, far] = links.congestion()?;
        let found = if near == far { near } else { format!("{near} here, {far} at the target") };
        *self.in_use.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(links)
    }
}

/// Returns the link called `name`.
///
/// # Errors
/// A name that is not in the table of links, with all names that are.
pub fn link_called(name: &str) -> Result<&'static Link, StoreError> {
    link(name).ok_or_else(|| {
        let unknown = Unknown::new("link", name, link_names());
        StoreError::engine(format!("{unknown}; numbers are Mbit/s"))
    })
}

/// Returns the tunnels that suites and paths by these names amount to, in their order; `none` is no
/// tunnel.
///
/// # Errors
/// A suite or a path that is not in its table, with the nearest; a suite that a path does not have.
pub fn tunnels(suites: &[String], paths: &[String]) -> Result<Vec<Tunnel>, StoreError> {
    let mut found = Vec::new();
    for name in suites.iter().filter(|name| !name.eq_ignore_ascii_case("none")) {
        let suite = suite(name).map_err(StoreError::engine)?;
        let carriers = paths.iter().map(|path| carrier(path)).collect::<Result<Vec<_>, _>>()?;
        for carrier in carriers.iter().filter(|carrier| carrier.has(suite)) {
            found.push(Tunnel {
                suite: WireSuite::Esp(suite),
                path: carrier.name(),
                caveats: suite.caveats(),
            });
        }
        if !carriers.iter().any(|carrier| carrier.has(suite)) {
            let step = "name another path as well, such as sealstone";
            return Err(StoreError::engine(format!(
                "{} has no {}\n{step}",
                paths.join(", "),
                suite.name
            )));
        }
    }
    Ok(found)
}

/// Names of all suites, for completions.
#[must_use]
pub fn suite_names() -> Vec<&'static str> {
    suites().iter().map(|suite| suite.name).collect()
}

/// Names of all paths.
fn path_names() -> Vec<&'static str> {
    Carrier::ALL.map(Carrier::name).to_vec()
}

/// Names of all links, for completions.
#[must_use]
pub fn link_names() -> Vec<&'static str> {
    links().iter().map(|link| link.name).collect()
}

fn carrier(name: &str) -> Result<Carrier, StoreError> {
    let found = Carrier::ALL.into_iter().find(|carrier| carrier.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| StoreError::engine(Unknown::new("path", name, path_names())))
}

impl Engine for LinkedEngine {
    fn facts(&self) -> EngineFacts {
        let Link { name, about, .. } = self.link;
        let mut facts = super::engine::facts("tgt", "server", &[]);
        facts.version = tgt_version(self.options.program.as_deref()).unwrap_or_default();
        let mut set =
            |name: &str, value: &str| drop(facts.settings.insert(name.into(), value.into()));
        set("servers", "on this machine, a target with a file for each variant, all at once");
        set("initiator", "libiscsi in this process");
        set(
            "link",
            &format!(
                "{name} ({about}), by tbf in each direction by itself: a radio link would be half \
                 duplex"
            ),
        );
        let (in_use, by) = (
            self.in_use.lock().unwrap_or_else(PoisonError::into_inner),
            match self.congestion {
                Some(_) => "as asked for",
                None => "as this machine has it",
            },
        );
        if !in_use.is_empty() {
            set("congestion control", &format!("{in_use}, {by}"));
        }
        set(
            "before a slice",
            &format!("{} s of the same requests, which are not counted", LEAD_IN.as_secs_f64()),
        );
        set(
            "ends",
            "network namespaces of this machine, MTU 1500, no offloads on the link; both ends \
             share its CPUs",
        );
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        _: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let failed = |error: WireError| StoreError::engine(error);
        let links = Arc::new(self.links().map_err(failed)?);
        let carried = match &variant.wire {
            None => Carried::plain(&links),
            Some(Tunnel { suite: WireSuite::Esp(suite), path, .. }) => {
                Carried::start(&links, carrier(path)?, suite).map_err(failed)?
            }
            Some(Tunnel { suite: WireSuite::Tls, .. }) => {
                let ability = "TLS, which servers speak";
                return Err(StoreError::Lacks { caller: TLS, ability });
            }
        };
        let far = carried.addresses[1];
        let mut started = None;
        let options =
            TgtOptions { address: far.to_string(), port: Some(PORT), ..self.options.clone() };
        let sink = links.ends[1].run(|| {
            started = Some(start_tgt(dir, options).map_err(StoreError::engine));
            Ok(Sink::start(far))
        });
        let mut target =
            started.unwrap_or_else(|| Err(StoreError::engine("the far end cannot be entered")))?;
        let sink = sink.map_err(failed)?.map_err(StoreError::engine)?;

        let near = Arc::clone(&links);
        let within: Within = Arc::new(move |connect| {
            // the waiting thread finds that there is no connection
            let _ = near.ends[0].run(|| {
                connect();
                Ok(())
            });
        });
        let address: Address = target.uri().parse().map_err(StoreError::engine)?;
        let device = IscsiDevice::open(
            &address,
            &Options { timeout_s: 60, within: Some(Arc::clone(&within)) },
        )?;
        let stream = StreamDevice::new(sink, within);
        let target_pid = target.pid().and_then(|pid| u32::try_from(pid).ok());
        let pids = target_pid.into_iter().chain(carried.processes.iter().copied()).collect();
        let running =
            Running { target: Mutex::new(target), _carried: Mutex::new(carried), _links: links };
        let upkeep = DeviceUpkeep::of(device.capacity_bytes())
            .with_lead_in(LEAD_IN)
            .with_servers(pids, Box::new(running));
        Ok(OpenStore::device(Box::new(device), Some(Box::new(stream)), upkeep))
    }
}

/// Time for which a connection is used before requests are counted. While the slices of other
/// variants run it is idle, and TCP's knowledge of the path becomes outdated: BBR measures it again
/// once ten seconds have passed, with four packets in flight for 200 ms, and other algorithms begin
/// with a small window. A connection in use does that in one fiftieth of its time; a connection
/// whose slice of 300 ms comes every ten seconds would do it in most of that slice.
const LEAD_IN: Duration = Duration::from_millis(400);

/// The port of the target: nobody else is in its namespace.
const PORT: u16 = 3_260;

/// Everything that ends after the device: the target first, in good order.
struct Running {
    target: Mutex<Tgt>,
    _carried: Mutex<Carried>,
    _links: Arc<Links>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // a target that cannot be stopped is killed when dropped
        let _ = self.target.get_mut().unwrap_or_else(PoisonError::into_inner).stop();
    }
}
