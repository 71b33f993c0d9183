//! The connection to key servers: mutual TLS, time-outs, retries and fail-over, one request at a
//! time.
//!
//! Servers are tried in the order of the address. Each step, connecting or one request with its
//! answer, ends within the time of the address. When all servers failed and one of the faults may
//! be temporary, all are tried again after a pause: 100 ms, then twice as long each time, 2 s at
//! most. A request that changes something on the server ([`Request::REPEATABLE`] is false) is sent
//! once: a failure before it was sent is retried, a failure after that is [`KmipError::Uncertain`].

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use zeroize::Zeroizing;

use super::address::Address;
use super::enumeration::Operation;
use super::message::{Response, Version, decode_response, encode_request};
use super::operation::{DiscoverVersions, Request};
use super::tag::Tag;
use super::ttlv::{HEADER_BYTES, Limits, message_bytes};
use super::{KmipError, tls};

/// First pause before all servers are tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest pause between attempts.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Servers, and the data needed to connect to them. Holds no connection.
pub struct Client {
    address: Address,
    tls: Arc<ClientConfig>,
    names: Vec<ServerName<'static>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.address.place())
    }
}

impl Client {
    /// Reads the certificates that `address` names. Does not connect.
    ///
    /// # Errors
    /// [`KmipError::Read`], [`KmipError::File`] and [`KmipError::Address`] for errors in the files
    /// and names.
    pub fn new(address: Address) -> Result<Self, KmipError> {
        let tls = tls::config(&address)?;
        let name = |host: &str| tls::server_name(address.server_name.as_deref().unwrap_or(host));
        let names =
            address.servers.iter().map(|server| name(&server.host)).collect::<Result<_, _>>()?;
        Ok(Self { address, tls, names })
    }

    /// Returns the address it was made from.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns a connection to the first server that answers, made with its first request.
    ///
    /// - `attempted`: purpose of the requests, for errors: `get key orders`
    #[must_use]
    pub fn connection(&self, attempted: impl Into<String>) -> Connection<'_> {
        let servers = (0..self.address.servers.len()).collect();
        Connection {
            client: self,
            attempted: attempted.into(),
            servers,
            rounds: self.address.retries + 1,
            link: None,
        }
    }

    /// Returns a connection that reuses `idle`, if that still works, and otherwise is as
    /// [`Client::connection`].
    ///
    /// - `idle`: of this client, and of this process: a child of a fork would share its keys with
    ///   the parent
    pub(crate) fn resume(&self, idle: Idle, attempted: impl Into<String>) -> Connection<'_> {
        Connection { link: idle.0, ..self.connection(attempted) }
    }

    /// Returns a connection to the server with the number `server` and no other, with no retries.
    ///
    /// # Panics
    /// If the address has no such server: a bug of the caller.
    #[must_use]
    pub(crate) fn connection_to(
        &self,
        server: usize,
        attempted: impl Into<String>,
    ) -> Connection<'_> {
        assert!(
            server < self.address.servers.len(),
            "server {server} of {}",
            self.address.servers.len()
        );
        Connection {
            client: self,
            attempted: attempted.into(),
            servers: vec![server],
            rounds: 1,
            link: None,
        }
    }
}

/// A connection that is made when it is needed, and made again when it broke and that is safe.
pub struct Connection<'a> {
    client: &'a Client,
    attempted: String,
    servers: Vec<usize>,
    rounds: u32,
    link: Option<Link>,
}

impl fmt::Debug for Connection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({}, {})", self.server(), self.attempted)
    }
}

impl Connection<'_> {
    /// Sends `request` and waits for its answer.
    ///
    /// # Errors
    /// [`KmipError::Refused`] if a server refused it; [`KmipError::Unreachable`] if none gave an
    /// answer that could be used, with what each did; [`KmipError::Uncertain`] if it was sent, is
    /// not repeatable, and had no answer.
    pub fn call<R: Request>(&mut self, request: &R) -> Result<R::Answer, KmipError> {
        let mut faults = Faults::new(self.client.address.servers.len());
        if let Some(link) = self.link.take()
            && let Some(answer) = self.try_link(link, request, &mut faults)?
        {
            return Ok(answer);
        }
        for round in 0..self.rounds {
            if round > 0 {
                thread::sleep((PAUSE * 2u32.saturating_pow(round - 1)).min(PAUSE_MAX));
            }
            faults.may_pass = false;
            for server in self.servers.clone() {
                match Link::open(self.client, server) {
                    Ok(link) => {
                        if let Some(answer) = self.try_link(link, request, &mut faults)? {
                            return Ok(answer);
                        }
                    }
                    Err(fault) => faults.note(server, fault),
                }
            }
            if !faults.may_pass {
                break;
            }
        }
        Err(KmipError::Unreachable {
            attempted: self.attempted.clone(),
            servers: faults.messages(&self.client.address),
        })
    }

    /// Sends `request` over `link`, and keeps the link if it still works. `None` means: another may
    /// be tried.
    fn try_link<R: Request>(
        &mut self,
        mut link: Link,
        request: &R,
        faults: &mut Faults,
    ) -> Result<Option<R::Answer>, KmipError> {
        let server = link.server;
        let version = link.version;
        let answered =
            link.exchange(R::OPERATION, request.payload(version)).and_then(
                |response| match response.outcome {
                    Ok(payload) => {
                        R::answer(payload).map(Ok).map_err(|error| Fault::lasting(not_kmip(&error)))
                    }
                    Err(failure) => Ok(Err(failure)),
                },
            );
        match answered {
            Ok(Ok(answer)) => {
                self.link = Some(link);
                Ok(Some(answer))
            }
            Ok(Err(failure)) => {
                self.link = Some(link);
                Err(KmipError::Refused {
                    attempted: self.attempted.clone(),
                    server: self.client.address.servers[server].to_string(),
                    operation: R::OPERATION,
                    reason: failure.reason,
                    message: failure.message,
                })
            }
            Err(fault) if R::REPEATABLE => {
                faults.note(server, fault);
                Ok(None)
            }
            Err(fault) => Err(KmipError::Uncertain {
                attempted: format!("{} ({})", R::OPERATION, self.attempted),
                server: self.client.address.servers[server].to_string(),
                found: fault.found,
                next: "check with sealstone keys list whether it was done before you try again",
            }),
        }
    }

    /// Puts the connection aside, to be reused later.
    pub(crate) fn set_aside(self) -> Idle {
        Idle(self.link)
    }

    /// Returns the server that answered last, or all of them in words.
    #[must_use]
    pub fn server(&self) -> String {
        match &self.link {
            Some(link) => self.client.address.servers[link.server].to_string(),
            None => self.client.address.place(),
        }
    }

    /// Returns the version of the protocol that is spoken with the server that answered last.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.link.as_ref().map(|link| link.version)
    }
}

/// A connection that is not in use. May contain none.
#[derive(Default)]
pub(crate) struct Idle(Option<Link>);

/// Faults of each server instead of an answer.
struct Faults {
    /// For each server, how often it failed, and how the last time.
    seen: Vec<(u32, String)>,
    /// True if one of the faults of this round may have passed the next time.
    may_pass: bool,
}

impl Faults {
    fn new(servers: usize) -> Self {
        Self { seen: vec![(0, String::new()); servers], may_pass: false }
    }

    fn note(&mut self, server: usize, fault: Fault) {
        let (times, found) = &mut self.seen[server];
        *times += 1;
        *found = fault.found;
        self.may_pass |= fault.may_pass;
    }

    fn messages(self, address: &Address) -> Vec<String> {
        let messages = self.seen.into_iter().zip(&address.servers).map(
            |((times, found), server)| match times {
                0 => None,
                1 => Some(format!("{server}: {found}")),
                times => Some(format!("{server}, {times} times: {found}")),
            },
        );
        messages.flatten().collect()
    }
}

/// Reason why one server gave no answer.
struct Fault {
    found: String,
    /// True if it may have passed the next time: a time-out may, but a wrong certificate may not.
    may_pass: bool,
}

impl Fault {
    fn lasting(found: String) -> Self {
        Self { found, may_pass: false }
    }

    /// Builds the fault that `error` means, given `when` it happened: `connecting`, `in the TLS
    /// handshake`.
    fn of(error: &io::Error, when: &str, timeout: Duration) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(error) = inner {
            return Self::lasting(match error {
                rustls::Error::InvalidCertificate(reason) => {
                    format!(
                        "its certificate is not accepted: {reason:?} (the authority is the one \
                         named by ca=)"
                    )
                }
                rustls::Error::AlertReceived(alert) => {
                    format!(
                        "it broke off {when}: TLS alert {alert:?} (check whether it knows the \
                         client certificate)"
                    )
                }
                other => format!("unexpected TLS {when}: {other}"),
            });
        }
        let found = match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                format!("no answer within {} ms {when}", timeout.as_millis())
            }
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                format!("it closed the connection {when}")
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                format!("it reset the connection {when}")
            }
            io::ErrorKind::ConnectionRefused => "connection refused".into(),
            _ => format!("{error} {when}"),
        };
        Self { found, may_pass: true }
    }
}

fn not_kmip(error: &dyn fmt::Display) -> String {
    format!("it sent something that is not a KMIP answer: {error}")
}

/// One TLS connection to one server, with the version of the protocol that it speaks.
struct Link {
    server: usize,
    stream: StreamOwned<ClientConnection, Timed>,
    version: Version,
    timeout: Duration,
}

impl Link {
    /// Connects, shakes hands, and requests the versions: with TLS 1.3, a server's refusal of the
    /// client's certificate arrives only with its first answer, so the first request must not
    /// matter.
    fn open(client: &Client, server: usize) -> Result<Self, Fault> {
        let timeout = client.address.timeout;
        let deadline = Instant::now() + timeout;
        let fault = |when: &'static str| move |error: io::Error| Fault::of(&error, when, timeout);
        let socket = connect(client, server, deadline).map_err(fault("connecting"))?;
        let session = ClientConnection::new(client.tls.clone(), client.names[server].clone());
        let session = session.map_err(|error| Fault::lasting(error.to_string()))?;
        let mut stream = StreamOwned::new(session, Timed { socket, deadline });
        while stream.conn.is_handshaking() {
            let (read, written) =
                stream.conn.complete_io(&mut stream.sock).map_err(fault("in the TLS handshake"))?;
            if read == 0 && written == 0 {
                return Err(Fault::of(
                    &io::ErrorKind::UnexpectedEof.into(),
                    "in the TLS handshake",
                    timeout,
                ));
            }
        }
        let mut link = Self { server, stream, version: Version::V1_2, timeout };
        link.agree_on_version(client.address.version)?;
        Ok(link)
    }

    /// Chooses the newest version that both sides speak, or takes `wanted`.
    fn agree_on_version(&mut self, wanted: Option<Version>) -> Result<(), Fault> {
        // a server that no longer speaks 1.2 refuses the header of the first
        let asked_in = wanted.map_or(vec![Version::V1_2, Version::V2_0], |version| vec![version]);
        let mut refused = String::new();
        for version in asked_in {
            self.version = version;
            let response =
                self.exchange(Operation::DISCOVER_VERSIONS, DiscoverVersions.payload(version))?;
            let spoken = match response.outcome {
                Ok(payload) => DiscoverVersions::answer(payload)
                    .map_err(|error| Fault::lasting(not_kmip(&error)))?,
                Err(failure) => {
                    refused = format!("{} {}", failure.reason, failure.message);
                    continue;
                }
            };
            let shared = |version: &&Version| {
                spoken.contains(version) && wanted.is_none_or(|wanted| wanted == **version)
            };
            return match Version::KNOWN.iter().find(shared) {
                Some(version) => {
                    self.version = *version;
                    Ok(())
                }
                None => Err(Fault::lasting(match wanted {
                    Some(wanted) => format!("it does not speak KMIP {wanted}"),
                    None => "it speaks none of the versions 1.2 to 2.1 of KMIP".into(),
                })),
            };
        }
        Err(Fault::lasting(format!(
            "it refused to tell which versions of KMIP it speaks: {}",
            refused.trim()
        )))
    }

    /// Sends one request and reads its answer, both within the time-out.
    fn exchange(
        &mut self,
        operation: Operation,
        payload: Vec<super::ttlv::Item>,
    ) -> Result<Response, Fault> {
        const LIMITS: Limits = Limits::RESPONSE;
        self.stream.sock.deadline = Instant::now() + self.timeout;
        let request = encode_request(self.version, operation, payload, LIMITS.bytes_max);
        let timeout = self.timeout;
        let when = format!("waiting for the answer to {operation}");
        let fault = |error: io::Error| Fault::of(&error, &when, timeout);
        self.stream.write_all(&request).and_then(|()| self.stream.flush()).map_err(fault)?;
        let mut header = [0; HEADER_BYTES];
        self.stream.read_exact(&mut header).map_err(fault)?;
        let lasting = |error| Fault::lasting(not_kmip(&error));
        let bytes = message_bytes(&header, Tag::RESPONSE_MESSAGE, &LIMITS).map_err(lasting)?;
        let mut answer = Zeroizing::new(vec![0; bytes]);
        answer[..HEADER_BYTES].copy_from_slice(&header);
        self.stream.read_exact(&mut answer[HEADER_BYTES..]).map_err(fault)?;
        decode_response(&answer, operation, &LIMITS).map_err(lasting)
    }
}

/// Connects to the first of the server's addresses that accepts.
fn connect(client: &Client, server: usize, deadline: Instant) -> io::Result<TcpStream> {
    let server = &client.address.servers[server];
    let (host, port) = (server.host.clone(), server.port);
    let addresses =
        look_up(move || Ok((host.as_str(), port).to_socket_addrs()?.collect()), deadline)?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns the result of `resolve`, if it arrives before `deadline`. The system offers no time
/// limit for looking up a name, so a thread does it, which is abandoned if it takes too long.
fn look_up(
    resolve: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
    deadline: Instant,
) -> io::Result<Vec<SocketAddr>> {
    let (sender, found) = mpsc::channel();
    // once nobody waits for it any longer, the answer is of no use
    thread::Builder::new()
        .name("kmip look-up".into())
        .spawn(move || drop(sender.send(resolve())))?;
    let left = deadline.saturating_duration_since(Instant::now());
    found.recv_timeout(left).unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, "looking up the host name took too long"))
    })
}

/// A socket on which nothing waits beyond a deadline, however slowly bytes drip in.
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        match self.deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(Some(left)),
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_up_a_name_ends_in_time() {
        let address: SocketAddr = "127.0.0.1:5696".parse().unwrap();
        let late = Instant::now() + Duration::from_secs(600);
        assert_eq!(look_up(move || Ok(vec![address]), late).unwrap(), [address]);
        let failed = look_up(|| Err(io::Error::other("no such name")), late).unwrap_err();
        assert_eq!(failed.to_string(), "no such name");

        // one that never answers
        let (_kept, never) = mpsc::channel::<()>();
        let hangs = move || {
            let _ = never.recv();
            Ok(Vec::new())
        };
        let error = look_up(hangs, Instant::now() + Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
