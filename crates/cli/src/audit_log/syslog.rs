//! Lines to syslog, by the socket of this machine (RFC 3164). Not here: what a line says.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
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
    socket: UnixDatagram,
}

impl Syslog {
    /// Connects to the socket at `path`, or to the usual one.
    ///
    /// # Errors
    /// No syslog listens there.
    pub(super) fn connect(path: Option<&str>) -> anyhow::Result<Self> {
        let path = Path::new(path.unwrap_or(SOCKET));
        let connected = UnixDatagram::unbound().and_then(|socket| {
            socket.connect(path)?;
            socket.set_write_timeout(Some(SEND_LIMIT))?;
            Ok(socket)
        });
        let socket = connected.with_context(|| {
            format!("cannot reach syslog at {}\nstart it, or name a file", path.display())
        })?;
        Ok(Self { socket })
    }

    /// Sends `line` as one message.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn send(&self, line: &str) -> io::Result<()> {
        let now = Zoned::now();
        let at = now.strftime("%b %e %H:%M:%S");
        let process = std::process::id();
        let message = format!("<{PRIORITY}>{at} sealstone[{process}]: {line}");
        let sent = self.socket.send(message.as_bytes())?;
        if sent == message.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}
