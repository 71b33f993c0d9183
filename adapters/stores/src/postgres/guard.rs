//! Guard between the driver and a server that may be hostile: it makes the connection, with TLS or
//! without, and passes on only legal messages. No wait is longer than [`Patience`] allows, no
//! message is longer than its maximum, and no password is sent in the clear on request.
//!
//! The driver is configured to begin every connection with TLS, with this guard as the TLS: so it
//! leaves the whole negotiation, and every byte, to this file.
//!
//! Source: PostgreSQL 17, Frontend/Backend Protocol, Message Formats.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::Sleep;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::SslMode;
use crate::time_limits::CONNECT_LIMIT;

/// The request for TLS: its length, and a number that no version of the protocol has.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// The longest message with a row, or with what COPY carries, in bytes.
const ROW_BYTES_MAX: u32 = 64 << 20;
/// The longest description of the columns of an answer.
const DESCRIPTION_BYTES_MAX: u32 = 1 << 20;
/// The longest message of any other kind: errors, notices, settings.
const MESSAGE_BYTES_MAX: u32 = 64 << 10;
/// The most that a server may send before a connection can be used.
const GREETING_BYTES_MAX: u64 = 1 << 20;
/// The kinds of messages that are looked at.
const AUTHENTICATION: u8 = b'R';
const READY: u8 = b'Z';
/// Authentication request for the password in the clear.
const CLEAR_PASSWORD: u32 = 3;

/// Reason why a connection was ended here. The driver passes it on as the cause of its own error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// It requests the password in the clear, on a connection that anybody can read.
    #[error("it wants the password in the clear, without TLS")]
    ClearPassword,
    /// A message longer than any of its kind.
    #[error("it sent a message of {bytes} bytes, where {most} are the most")]
    Long {
        /// Its length according to the server, in bytes.
        bytes: u32,
        /// Greatest length that it may have.
        most: u32,
    },
    /// Too much before the connection could be used.
    #[error("it sent more than {GREETING_BYTES_MAX} bytes before it let anybody in")]
    Greeting,
    /// Neither yes nor no.
    #[error("what answered is no PostgreSQL")]
    NoServer,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::InvalidData, refusal)
    }
}

/// Time that the server may take for the next request; set by the caller that makes the request.
/// One for each connection.
#[derive(Clone, Debug)]
pub(super) struct Patience(Arc<AtomicU64>);

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        let patience = Self(Arc::default());
        patience.set(limit);
        patience
    }

    /// Sets the limit of answers from the next request on.
    pub(super) fn set(&self, limit: Duration) {
        self.0.store(millis(limit), Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Settings with which connections are made.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) mode: SslMode,
    /// Protection of connections; absent: none.
    pub(super) tls: Option<MakeRustlsConnect>,
    /// True if the user agreed that the password is given in the clear.
    pub(super) may_be_clear: bool,
    pub(super) patience: Patience,
}

impl MakeTlsConnect<Socket> for Guard {
    type Stream = Guarded;
    type TlsConnect = Connecting;
    type Error = Box<dyn Error + Send + Sync>;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connecting, Self::Error> {
        let tls = self
            .tls
            .as_mut()
            .map(|tls| MakeTlsConnect::<Socket>::make_tls_connect(tls, domain))
            .transpose()?;
        let Self { mode, may_be_clear, patience, .. } = self;
        Ok(Connecting { mode: *mode, tls, may_be_clear: *may_be_clear, patience: patience.clone() })
    }
}

type Tls = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// One connection that is being made.
pub(super) struct Connecting {
    mode: SslMode,
    tls: Option<<MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect>,
    may_be_clear: bool,
    patience: Patience,
}

impl TlsConnect<Socket> for Connecting {
    type Stream = Guarded;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Guarded, Self::Error>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let begin = Instant::now();
            let Self { mode, tls, may_be_clear, patience } = self;
            let inner = tokio::time::timeout(CONNECT_LIMIT, negotiated(socket, mode, tls));
            let inner = inner.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            let is_secret = matches!(inner, Inner::Tls(_)) || may_be_clear;
            let watch = Watch { patience, deadline: Some(begin + CONNECT_LIMIT), timer: None };
            Ok(Guarded { inner, messages: Messages { is_secret, ..Messages::default() }, watch })
        })
    }
}

/// Returns `socket` with TLS or without, according to `mode` and the server.
async fn negotiated<C>(
    mut socket: Socket,
    mode: SslMode,
    tls: Option<C>,
) -> Result<Inner, Box<dyn Error + Send + Sync>>
where
    C: TlsConnect<Socket, Stream = Tls>,
{
    let Some(tls) = tls.filter(|_| mode != SslMode::Disable) else {
        return Ok(Inner::Plain(socket));
    };
    socket.write_all(&TLS_REQUEST).await?;
    socket.flush().await?;
    let mut answer = [0];
    socket.read_exact(&mut answer).await?;
    match (answer, mode) {
        ([b'S'], _) => Ok(Inner::Tls(Box::new(tls.connect(socket).await.map_err(Into::into)?))),
        ([b'N'], SslMode::Prefer) => Ok(Inner::Plain(socket)),
        ([b'N'], _) => Err("server does not support TLS".into()),
        _ => Err(io::Error::from(Refusal::NoServer).into()),
    }
}

enum Inner {
    Plain(Socket),
    Tls(Box<Tls>),
    #[cfg(test)]
    Pipe(tokio::io::DuplexStream),
}

/// A connection, of which only what a server may send is read, and in time.
pub(super) struct Guarded {
    inner: Inner,
    messages: Messages,
    watch: Watch,
}

impl Guarded {
    fn inner(&mut self) -> Pin<&mut (dyn Stream + Send)> {
        match &mut self.inner {
            Inner::Plain(socket) => Pin::new(socket),
            Inner::Tls(tls) => Pin::new(&mut **tls),
            #[cfg(test)]
            Inner::Pipe(pipe) => Pin::new(pipe),
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match self.inner().poll_read(cx, buffer) {
            Poll::Pending => self.watch.pending(cx),
            Poll::Ready(outcome) => {
                outcome?;
                let Self { messages, watch, .. } = &mut *self;
                watch.check()?;
                if messages.advance(&buffer.filled()[before..])? {
                    watch.deadline = None;
                }
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.inner().poll_write(cx, bytes) {
            Poll::Pending => self.watch.pending(cx).map_ok(|()| 0),
            Poll::Ready(outcome) => {
                // until the connection can be used, its own limit holds
                if self.messages.is_greeted {
                    self.watch.begin();
                    // the driver reads before it writes: where nothing more comes, nothing else
                    // would wake it in time
                    if let Poll::Ready(Err(error)) = self.watch.pending(cx) {
                        return Poll::Ready(Err(error));
                    }
                }
                Poll::Ready(outcome)
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.inner().poll_flush(cx) {
            Poll::Pending => self.watch.pending(cx),
            outcome => outcome,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }
}

impl TlsStream for Guarded {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.inner {
            Inner::Plain(_) => ChannelBinding::none(),
            Inner::Tls(tls) => tls.channel_binding(),
            #[cfg(test)]
            Inner::Pipe(_) => ChannelBinding::none(),
        }
    }
}

/// By when the answer must be whole.
struct Watch {
    patience: Patience,
    /// None while there is no request.
    deadline: Option<Instant>,
    /// Wakes the waiting task: at the deadline, or at an earlier one, since resetting it for each
    /// request costs time.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Watch {
    /// Records a request, or more of it.
    fn begin(&mut self) {
        self.deadline = Some(Instant::now() + self.patience.get());
    }

    fn check(&self) -> io::Result<()> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }

    /// Has `cx` woken at the deadline, if nothing comes before.
    fn pending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(deadline) = self.deadline else { return Poll::Pending };
        loop {
            let wakes_late =
                self.timer.as_ref().is_none_or(|timer| timer.deadline().into_std() > deadline);
            if wakes_late {
                self.timer = Some(Box::pin(tokio::time::sleep_until(deadline.into())));
            }
            let Some(timer) = &mut self.timer else { return Poll::Pending };
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
            if Instant::now() >= deadline {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
    }
}

/// Position in a server's messages at which the received bytes end.
#[derive(Default)]
struct Messages {
    /// The beginning of a message: its kind, its length, and the four bytes that hold the kind of
    /// authentication.
    head: [u8; 9],
    head_bytes: usize,
    /// Number of bytes still to come of a message whose beginning was examined.
    missing: u64,
    /// True if the connection can be used.
    is_greeted: bool,
    greeting_bytes: u64,
    /// True if nobody else can read the connection, or the user agreed that others may.
    is_secret: bool,
}

impl Messages {
    /// Looks at `bytes`, the next that came. Returns whether the last message in them ends an
    /// answer.
    ///
    /// # Errors
    /// [`Refusal`], before the driver sees any of them.
    fn advance(&mut self, mut bytes: &[u8]) -> Result<bool, Refusal> {
        if !self.is_greeted {
            self.greeting_bytes += bytes.len() as u64;
            if self.greeting_bytes > GREETING_BYTES_MAX {
                return Err(Refusal::Greeting);
            }
        }
        while !bytes.is_empty() {
            if self.missing > 0 {
                let passed = usize::try_from(self.missing).unwrap_or(usize::MAX).min(bytes.len());
                self.missing -= passed as u64;
                bytes = &bytes[passed..];
                continue;
            }
            self.head[self.head_bytes] = bytes[0];
            self.head_bytes += 1;
            bytes = &bytes[1..];
            let wanted = if self.head[0] == AUTHENTICATION && !self.is_greeted { 9 } else { 5 };
            if self.head_bytes == 5 {
                self.check_length()?;
            }
            let length = self.length();
            if self.head_bytes < wanted
                && (self.head_bytes < 5 || u64::from(length) + 1 > self.head_bytes as u64)
            {
                continue;
            }
            if self.head_bytes == 9 && self.word(5) == CLEAR_PASSWORD && !self.is_secret {
                return Err(Refusal::ClearPassword);
            }
            self.missing = (u64::from(length) + 1).saturating_sub(self.head_bytes as u64);
            self.head_bytes = 0;
            self.is_greeted |= self.head[0] == READY;
        }
        Ok(self.missing == 0 && self.head_bytes == 0 && self.head[0] == READY)
    }

    fn word(&self, at: usize) -> u32 {
        self.head[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    /// Returns the length of the message from its header, its kind not counted.
    fn length(&self) -> u32 {
        self.word(1)
    }

    fn check_length(&self) -> Result<(), Refusal> {
        let most = match self.head[0] {
            b'D' | b'd' if self.is_greeted => ROW_BYTES_MAX,
            b'T' | b't' if self.is_greeted => DESCRIPTION_BYTES_MAX,
            _ => MESSAGE_BYTES_MAX,
        };
        let bytes = self.length();
        if bytes > most { Err(Refusal::Long { bytes, most }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    /// The driver reads, finds nothing, writes, and then waits to be woken: by the limit, if
    /// nothing comes.
    #[test]
    fn a_question_has_its_limit_although_the_driver_reads_before_it_writes() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (ours, _theirs) = tokio::io::duplex(64);
        let watch = Watch {
            patience: Patience::new(Duration::from_millis(30)),
            deadline: None,
            timer: None,
        };
        let messages = Messages { is_greeted: true, ..Messages::default() };
        let mut guarded = Guarded { inner: Inner::Pipe(ours), messages, watch };
        let mut has_written = false;
        let driver = std::future::poll_fn(|cx| {
            let mut byte = [0];
            let read = Pin::new(&mut guarded).poll_read(cx, &mut ReadBuf::new(&mut byte));
            if read.is_pending() && !has_written {
                has_written = true;
                assert!(Pin::new(&mut guarded).poll_write(cx, b"Q").is_ready());
            }
            read
        });
        let waited =
            runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), driver).await });
        assert_eq!(
            waited.expect("it is woken at its limit").unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
    }

    #[test]
    fn messages_pass_however_they_are_cut() {
        let greeting =
            [message(b'R', &[0; 4]), message(b'S', b"a\0b\0"), message(b'Z', b"I")].concat();
        let answer =
            [message(b'T', &[0; 20]), message(b'D', &[3; 70_000]), message(b'Z', b"I")].concat();
        for size in [1, 2, 3, 7, 8, 100_000] {
            let mut messages = Messages::default();
            let ready: Vec<bool> =
                greeting.chunks(size).map(|chunk| messages.advance(chunk).unwrap()).collect();
            assert_eq!(ready.last(), Some(&true));
            let ready: Vec<bool> =
                answer.chunks(size).map(|chunk| messages.advance(chunk).unwrap()).collect();
            assert!(
                ready[..ready.len() - 1].iter().all(|ready| !ready) && ready[ready.len() - 1],
                "{size}"
            );
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_by_its_first_five_bytes() {
        for (kind, bytes) in
            [(b'E', 1 << 31), (b'E', MESSAGE_BYTES_MAX + 1), (b'R', u32::MAX), (b'D', 1 << 20)]
        {
            let mut messages = Messages::default();
            let head = [&[kind][..], &u32::to_be_bytes(bytes)].concat();
            assert_eq!(
                messages.advance(&head),
                Err(Refusal::Long { bytes, most: MESSAGE_BYTES_MAX })
            );
        }
        let mut messages = Messages::default();
        messages.advance(&message(b'Z', b"I")).unwrap();
        let head = [&b"D"[..], &u32::to_be_bytes(ROW_BYTES_MAX + 1)].concat();
        assert_eq!(
            messages.advance(&head),
            Err(Refusal::Long { bytes: ROW_BYTES_MAX + 1, most: ROW_BYTES_MAX })
        );
        let mut messages = Messages::default();
        let settings = message(b'S', &[b'x'; 60_000]);
        assert!((0..20).any(|_| messages.advance(&settings) == Err(Refusal::Greeting)));
    }

    #[test]
    fn a_password_in_the_clear_is_refused_before_the_driver_sees_the_question() {
        let asks = message(b'R', &CLEAR_PASSWORD.to_be_bytes());
        for size in [1, 4, 9] {
            let mut messages = Messages::default();
            let outcome: Result<Vec<bool>, Refusal> =
                asks.chunks(size).map(|chunk| messages.advance(chunk)).collect();
            assert_eq!(outcome, Err(Refusal::ClearPassword));
        }
        let mut messages = Messages { is_secret: true, ..Messages::default() };
        assert_eq!(messages.advance(&asks), Ok(false));
        // a hash, and SCRAM
        for other in [5_u32, 10] {
            assert_eq!(
                Messages::default()
                    .advance(&message(b'R', &[&other.to_be_bytes()[..], b"salt"].concat())),
                Ok(false)
            );
        }
    }
}
