//! Work of a driver that may wait for a server for ever, abandoned after a limit: drivers limit
//! each step of making a connection, but a server that sends a byte now and then can repeat steps
//! indefinitely.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Returns the result of `work`, if it is there within `limit`; otherwise nothing. Work that is
/// given up goes on in its thread, which ends with its connection.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, done) = mpsc::channel();
    let run = move || {
        // nobody waits any more for what comes late
        let _ = sender.send(work());
    };
    thread::Builder::new().name("connecting".into()).spawn(run).ok()?;
    done.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_given_up() {
        assert_eq!(within(Duration::from_secs(600), || 7), Some(7));
        let (_kept, never) = mpsc::channel::<()>();
        assert_eq!(within(Duration::from_millis(10), move || never.recv().is_ok()), None);
    }
}
