//! Lines to syslog, by the socket of this machine (RFC 3164).

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use jiff::Zoned;

/// Socket of the local syslog.
const SOCKET: &str = "/dev/log";
/// Facility `authpriv` (10) and severity `notice` (5).
const PRIORITY: u8 = 10 * 8 + 5;

/// Time that a syslog may take for a message.
const SEND_LIMIT: Duration = Duration::from_secs(5);

/// A connection to syslog.
pub(super) struct Syslog {
    path: PathBuf,
    socket: UnixDatagram,
}

impl Syslog {
    /// Connects to the socket at `path`, or to the usual one.
    ///
    /// # Errors
    /// No syslog listens there.
    pub(super) fn connect(path: Option<&str>) -> anyhow::Result<Self> {
        let path = PathBuf::from(path.unwrap_or(SOCKET));
        let socket = connected(&path).with_context(|| {
            format!("cannot reach syslog at {}\nstart it, or name a file", path.display())
        })?;
        Ok(Self { path, socket })
    }

    /// Sends `line` as one message; to the syslog that is there now, if the one of before is gone.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn send(&mut self, line: &str) -> io::Result<()> {
        let now = Zoned::now();
        let at = now.strftime("%b %e %H:%M:%S");
        let process = std::process::id();
        let message = format!("<{PRIORITY}>{at} sealstone[{process}]: {line}");
        let sent = match self.socket.send(message.as_bytes()) {
            Err(error) if is_gone(&error) => {
                self.socket = connected(&self.path)?;
                self.socket.send(message.as_bytes())?
            }
            sent => sent?,
        };
        if sent == message.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}

fn connected(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    socket.set_write_timeout(Some(SEND_LIMIT))?;
    Ok(socket)
}

/// Returns whether `error` shows that nobody has the other end any more: a long operation outlives
/// a syslog that is started again.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionRefused | ConnectionReset | NotConnected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_syslog_that_was_started_again_gets_the_last_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let received = |log: &UnixDatagram| {
            let mut message = [0; 200];
            let bytes = log.recv(&mut message).unwrap();
            String::from_utf8_lossy(&message[..bytes]).into_owned()
        };
        let first = UnixDatagram::bind(&path).unwrap();
        let mut syslog = Syslog::connect(path.to_str()).unwrap();
        syslog.send("begin").unwrap();
        assert!(received(&first).ends_with("]: begin"));
        drop(first);
        std::fs::remove_file(&path).unwrap();
        assert!(syslog.send("lost").is_err(), "nobody is there");
        let second = UnixDatagram::bind(&path).unwrap();
        syslog.send("end").unwrap();
        assert!(received(&second).ends_with("]: end"));
    }
}
