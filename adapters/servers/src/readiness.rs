//! Readiness of a server: free and taken ports, and waiting with a limit.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::LabError;
use crate::error::io;

/// Time that a connection to a port of this machine may take.
const CONNECT_LIMIT: Duration = Duration::from_millis(500);

/// Returns a port on 127.0.0.1 that is free now. Another process may take it before it is used.
///
/// # Errors
/// [`LabError::Io`] if the system has none to give.
pub fn free_port() -> Result<u16, LabError> {
    let chosen =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    chosen
        .map(|address| address.port())
        .map_err(|error| io("find a free port on", Path::new("127.0.0.1"), error))
}

/// Returns whether a process listens on `port` of 127.0.0.1.
#[must_use]
pub fn port_answers(port: u16) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), CONNECT_LIMIT)
        .is_ok()
}

/// Calls `look` every `poll` until it returns something; `None` if it has not within `limit`. It is
/// called at least once.
pub(crate) fn wait<T>(
    limit: Duration,
    poll: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if begin.elapsed() > limit {
            return None;
        }
        thread::sleep(poll);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_answers_while_a_process_listens() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(port_answers(port));
        drop(listener);
        assert!(!port_answers(port));
        assert_ne!(free_port().unwrap(), 0);
    }

    #[test]
    fn waiting_ends_with_what_was_found_or_with_the_limit() {
        let mut looked = 0;
        let third = wait(Duration::from_secs(60), Duration::ZERO, || {
            looked += 1;
            (looked == 3).then_some(looked)
        });
        assert_eq!(third, Some(3));
        assert_eq!(wait(Duration::ZERO, Duration::ZERO, || None::<()>), None);
    }
}
