//! An end for connections whose server does not end its answer in time. The driver limits each
//! reading of the socket, so a server that sends a byte now and then keeps it for ever.

use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{Shutdown, shutdown};

/// Interval at which connections are checked.
const PERIOD: Duration = Duration::from_millis(250);

/// By when the server of one connection must have answered.
#[derive(Debug)]
pub(super) struct Watch(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The socket; none once the connection has ended.
    socket: Option<RawFd>,
    /// None while there is no request.
    deadline: Option<Instant>,
    is_late: bool,
}

impl Watch {
    /// Watches the connection of `socket`, which must be open until [`Watch::forget`].
    pub(super) fn new(socket: RawFd) -> Arc<Self> {
        let watch = Arc::new(Self(Mutex::new(State {
            socket: Some(socket),
            deadline: None,
            is_late: false,
        })));
        locked(watched()).push(Arc::downgrade(&watch));
        watch
    }

    /// Begins a request; the answer may take `limit`.
    pub(super) fn begin(&self, limit: Duration) {
        locked(&self.0).deadline = Some(Instant::now() + limit);
    }

    /// Ends a request. Returns whether the connection was ended before, since the answer came late.
    pub(super) fn end(&self) -> bool {
        let mut state = locked(&self.0);
        state.deadline = None;
        state.is_late
    }

    /// Forgets the connection, which is about to end: its number may then belong to another.
    pub(super) fn forget(&self) {
        locked(&self.0).socket = None;
    }

    fn look(&self, now: Instant) {
        let mut state = locked(&self.0);
        if state.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        state.deadline = None;
        state.is_late = true;
        if let Some(socket) = state.socket {
            // a connection that has already ended is fine
            let _ = shutdown(socket, Shutdown::Both);
        }
    }
}

/// Returns all watched connections; one thread watches them.
fn watched() -> &'static Mutex<Vec<Weak<Watch>>> {
    static WATCHED: OnceLock<Mutex<Vec<Weak<Watch>>>> = OnceLock::new();
    WATCHED.get_or_init(|| {
        let watching = || {
            loop {
                thread::sleep(PERIOD);
                let now = Instant::now();
                let mut all = locked(watched());
                all.retain(|watch| {
                    watch.upgrade().is_some_and(|watch| {
                        watch.look(now);
                        true
                    })
                });
            }
        };
        // without it the limits of the driver hold
        let _ = thread::Builder::new().name("waiting for MySQL".into()).spawn(watching);
        Mutex::default()
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_connection_ends_when_its_time_is_over_and_not_before() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let watch = Watch::new(stream.as_raw_fd());
        watch.begin(Duration::from_secs(600));
        assert!(!watch.end());
        watch.begin(Duration::from_millis(50));
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "it was ended");
        assert!(watch.end());
        watch.forget();
    }
}
