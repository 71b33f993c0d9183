//! An open unit of an iSCSI target as a block device. Each queue is a separate session; a returned
//! session is kept for the next queue, since a login takes longer than many requests.

use std::fmt;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealstone_store::{Device, DeviceQueue, DeviceRequest, StoreError, check_device_request};

use super::address::Address;
use super::error::IscsiError;
use crate::ffi::iscsi::{Fault, Login, Session, functions};

/// The name of this initiator.
const INITIATOR: &str = "iqn.2026-11.dev.sealstone:compare";

/// Longest wait for the socket before it is checked whether a request has taken too long.
const POLL_MS: i32 = 500;

/// Runs a function where connections to the target have to be made, such as in another network
/// namespace.
pub type Within = Arc<dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync>;

/// Settings for opening a device.
#[derive(Clone)]
pub struct Options {
    /// Longest time that a connection, a login and a request may take, in seconds.
    pub timeout_s: u32,
    /// Function that runs code where connections have to be made; if it is not set, they are made
    /// here.
    pub within: Option<Within>,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout_s: 20, within: None }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("timeout_s", &self.timeout_s).finish_non_exhaustive()
    }
}

/// A unit of a target.
#[derive(Clone, Debug)]
pub struct IscsiDevice {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    place: String,
    options: Options,
    capacity_bytes: u64,
    sector_bytes: u32,
    /// Sessions without a request under way.
    idle: Mutex<Vec<Session>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("place", &self.place).finish_non_exhaustive()
    }
}

impl IscsiDevice {
    /// Logs in to the unit at `address`.
    ///
    /// # Errors
    /// [`IscsiError`]: no library, nothing at the portal, a refused login, an unknown unit.
    pub fn open(address: &Address, options: &Options) -> Result<Self, IscsiError> {
        let (mut session, place) = (connect(address, options)?, address.to_string());
        let capacity = session.capacity();
        let (capacity_bytes, sector_bytes) =
            capacity.map_err(|fault| IscsiError::login(place.clone(), &address.portal, fault))?;
        let (address, options) = (address.clone(), options.clone());
        let idle = Mutex::new(vec![session]);
        Ok(Self {
            shared: Arc::new(Shared {
                address,
                place,
                options,
                capacity_bytes,
                sector_bytes,
                idle,
            }),
        })
    }
}

/// Connects and logs in.
fn connect(address: &Address, options: &Options) -> Result<Session, IscsiError> {
    let mut outcome = None;
    let mut here = || outcome = Some(connect_here(address, options));
    match &options.within {
        Some(within) => within(&mut here),
        None => here(),
    }
    outcome.unwrap_or_else(|| {
        let found = std::io::Error::other("where connections are made cannot be entered");
        Err(IscsiError::NoPortal { portal: address.portal.clone(), found })
    })
}

fn connect_here(address: &Address, options: &Options) -> Result<Session, IscsiError> {
    let functions = functions().map_err(|found| IscsiError::NoLibrary { found })?;
    let timeout = Duration::from_secs(options.timeout_s.into());
    // the library would wait as long as the system does, and has fewer words for what it meets
    let reached = address.portal.to_socket_addrs().and_then(|mut found| {
        let found = found.next().ok_or_else(|| std::io::Error::other("the name has no address"))?;
        TcpStream::connect_timeout(&found, timeout)
    });
    reached.map_err(|found| IscsiError::NoPortal { portal: address.portal.clone(), found })?;
    let login = Login {
        initiator: INITIATOR,
        portal: &address.portal,
        target: &address.target,
        lun: address.lun,
        user: address.login.as_ref().map(|(user, password)| (user.as_str(), password.as_str())),
        timeout_s: options.timeout_s,
    };
    Session::open(functions, &login)
        .map_err(|fault| IscsiError::login(address.to_string(), &address.portal, fault))
}

impl Device for IscsiDevice {
    fn place(&self) -> &str {
        &self.shared.place
    }

    fn capacity_bytes(&self) -> u64 {
        self.shared.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        self.shared.sector_bytes
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn DeviceQueue>, StoreError> {
        let idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let session = match idle {
            Some(session) => session,
            None => {
                let mut session = connect(&self.shared.address, &self.shared.options)?;
                // which also returns the size of its sectors
                session.capacity().map_err(|fault| {
                    IscsiError::login(self.shared.place.clone(), &self.shared.address.portal, fault)
                })?;
                session
            }
        };
        Ok(Box::new(Queue { shared: Arc::clone(&self.shared), session: Some(session), depth }))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        idle.iter_mut().for_each(Session::log_out);
    }
}

struct Queue {
    shared: Arc<Shared>,
    /// None once it failed.
    session: Option<Session>,
    depth: usize,
}

impl Queue {
    fn session(&mut self) -> Result<&mut Session, IscsiError> {
        let place = self.shared.place.clone();
        let gone = || Fault::Gone("this queue has failed before".into());
        self.session.as_mut().ok_or_else(|| IscsiError::request("ask".into(), place, gone()))
    }

    /// Returns the error of a session, which is of no more use.
    fn failed(&mut self, attempted: String, fault: Fault) -> StoreError {
        self.session = None;
        IscsiError::request(attempted, self.shared.place.clone(), fault).into()
    }

    fn wait(&mut self) -> Result<DeviceRequest, StoreError> {
        let limit = Duration::from_secs(u64::from(self.shared.options.timeout_s) + 2);
        let begin = Instant::now();
        loop {
            let session = self.session()?;
            if session.under_way() == 0 {
                return Err(StoreError::engine("no request is under way"));
            }
            match session.complete(POLL_MS) {
                Ok(Some((request, Ok(())))) => return Ok(request),
                Ok(Some((request, Err(fault)))) => return Err(self.failed(words(&request), fault)),
                Ok(None) if begin.elapsed() < limit => {}
                Ok(None) => return Err(self.failed("get an answer from".into(), Fault::Timeout)),
                Err(fault) => return Err(self.failed("get an answer from".into(), fault)),
            }
        }
    }
}

/// Describes what a request was to do: `write 65536 bytes at offset 0 of`.
fn words(request: &DeviceRequest) -> String {
    format!(
        "{} {} bytes at offset {} of",
        request.access.word(),
        request.buffer.len(),
        request.offset
    )
}

impl DeviceQueue for Queue {
    fn submit(&mut self, request: DeviceRequest) -> Result<(), StoreError> {
        check_device_request(
            &request,
            &self.shared.place,
            self.shared.capacity_bytes,
            self.shared.sector_bytes,
        )?;
        let depth = self.depth;
        let session = self.session()?;
        if session.under_way() >= depth {
            return Err(StoreError::engine(format!("the queue holds {depth} requests already")));
        }
        let attempted = words(&request);
        match session.submit(request) {
            Ok(()) => Ok(()),
            Err(fault) => Err(self.failed(attempted, fault)),
        }
    }

    fn complete(&mut self) -> Result<DeviceRequest, StoreError> {
        self.wait()
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        match self.session()?.flush() {
            Ok(()) => Ok(()),
            Err(fault) => Err(self.failed("flush".into(), fault)),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        while self.session.as_ref().is_some_and(|session| session.under_way() > 0) {
            // an error ends the session, and with it the loop
            let _ = self.wait();
        }
        if let Some(session) = self.session.take() {
            self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        }
    }
}
