//! RESP2 on a connection without TLS, with answers read in place in the buffer: a load generator
//! that spends its time on parsing measures itself. Not here: connections with TLS and to clusters
//! (`links`), the meaning of answers (`layout`).
//!
//! Source: Redis serialization protocol specification, version 2.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use redis::{Cmd, ErrorKind, RedisConnectionInfo, RedisError, RedisResult, Value, cmd};

/// Bytes requested from the system at once.
const READ_BYTES: usize = 16 << 10;
/// The longest text of an answer: many times the longest record that is measured.
const TEXT_BYTES_MAX: usize = 64 << 20;
/// The longest text from a server that has not let this client in yet.
const GREETING_BYTES_MAX: usize = 64 << 10;
/// The most elements of an answer, its own limit.
const ELEMENTS_MAX: u64 = u32::MAX as u64;
/// The longest line: a number, a status or a message.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A connection without TLS.
pub(super) struct Resp {
    stream: TcpStream,
    sent: Vec<u8>,
    /// Buffer for received bytes; bytes from `begin` to `end` have not been consumed.
    received: Vec<u8>,
    begin: usize,
    end: usize,
    /// The longest text of an answer.
    text_bytes_max: usize,
    /// Longest time that a request may take, including all its answers.
    limit: Duration,
    /// Deadline of the answer to the last request.
    deadline: Instant,
}

impl Resp {
    /// Connects to `host`, trying its addresses in order, and introduces itself. A request may then
    /// take `answer_limit`, however little comes at a time.
    ///
    /// # Errors
    /// The operating system's error for the last address; the server's answer to the introduction.
    pub(super) fn connect(
        host: &str,
        port: u16,
        introduction: &RedisConnectionInfo,
        connect_limit: Duration,
        answer_limit: Duration,
    ) -> RedisResult<Self> {
        let mut failed = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, connect_limit) {
                Ok(stream) => {
                    return Self::introduced(stream, introduction, connect_limit, answer_limit);
                }
                Err(error) => failed = error,
            }
        }
        Err(failed.into())
    }

    fn introduced(
        stream: TcpStream,
        introduction: &RedisConnectionInfo,
        connect_limit: Duration,
        answer_limit: Duration,
    ) -> RedisResult<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(connect_limit))?;
        stream.set_write_timeout(Some(answer_limit))?;
        let (sent, received, deadline) = (Vec::new(), Vec::new(), Instant::now() + connect_limit);
        let mut resp = Self {
            stream,
            sent,
            received,
            begin: 0,
            end: 0,
            text_bytes_max: GREETING_BYTES_MAX,
            limit: connect_limit,
            deadline,
        };
        if let Some(password) = introduction.password() {
            let mut auth = cmd("AUTH");
            if let Some(user) = introduction.username() {
                auth.arg(user);
            }
            resp.one(&auth.arg(password).take()).map_err(|error| match error.kind() {
                ErrorKind::Io | ErrorKind::Parse => error,
                _ => (ErrorKind::AuthenticationFailed, "AUTH was refused").into(),
            })?;
        }
        if introduction.db() != 0 {
            resp.one(cmd("SELECT").arg(introduction.db()))?;
        }
        resp.stream.set_read_timeout(Some(answer_limit))?;
        resp.text_bytes_max = TEXT_BYTES_MAX;
        resp.limit = answer_limit;
        Ok(resp)
    }

    fn one(&mut self, command: &Cmd) -> RedisResult<()> {
        let mut outcome = Ok(());
        self.ask(std::slice::from_ref(command), |answer| {
            outcome = answer.and_then(value).map(drop)
        })?;
        outcome
    }

    /// Sends all `commands`, and then passes each of their answers to `each`, in order: the value,
    /// or the server's error.
    ///
    /// # Errors
    /// A connection that broke, or an answer that is none; the connection is of no more use then.
    pub(super) fn ask(
        &mut self,
        commands: &[Cmd],
        mut each: impl FnMut(RedisResult<&[u8]>),
    ) -> RedisResult<()> {
        self.sent.clear();
        commands.iter().for_each(|command| command.write_packed_command(&mut self.sent));
        self.deadline = Instant::now() + self.limit;
        self.write()?;
        for _ in commands {
            let answer = self.answer()?;
            match answer {
                [b'-', ..] => each(Err(refusal(answer)?)),
                _ => each(Ok(answer)),
            }
        }
        Ok(())
    }

    /// Returns the next answer, whole.
    fn answer(&mut self) -> RedisResult<&[u8]> {
        let mut extent = Extent::new(self.text_bytes_max);
        loop {
            let known = &self.received[self.begin..self.end];
            if extent.advance(known).ok_or(NO_ANSWER)? {
                let answer = self.begin..self.begin + extent.bytes;
                self.begin = answer.end;
                return Ok(&self.received[answer]);
            }
            self.read()?;
        }
    }

    /// Sends the buffered commands. A server that takes them in small pieces has no more time for
    /// that than for an answer.
    fn write(&mut self) -> io::Result<()> {
        let mut rest = &self.sent[..];
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => rest = &rest[bytes..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if !rest.is_empty() && Instant::now() >= self.deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// Reads received bytes, at least one.
    fn read(&mut self) -> io::Result<()> {
        if self.begin > 0 {
            self.received.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        if self.received.len() - self.end < READ_BYTES {
            let more = self.received.len().max(READ_BYTES);
            self.received.resize(self.received.len() + more, 0);
        }
        loop {
            match self.stream.read(&mut self.received[self.end..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                // each reading has its own limit, and there may be many
                Ok(_) if Instant::now() >= self.deadline => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Ok(bytes) => {
                    self.end += bytes;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

const NO_ANSWER: (ErrorKind, &str) = (ErrorKind::Parse, "what came is no answer of Redis");

/// Returns the error in `answer`, which is one.
fn refusal(answer: &[u8]) -> RedisResult<RedisError> {
    match value(answer) {
        Err(error) => Ok(error),
        Ok(_) => Err(NO_ANSWER.into()),
    }
}

/// Returns `answer` as the crate has it.
///
/// # Errors
/// That of the answer, if it is one.
pub(super) fn value(answer: &[u8]) -> RedisResult<Value> {
    redis::parse_redis_value(answer)?.extract_error()
}

/// Extent of an answer, as far as received.
struct Extent {
    bytes: usize,
    /// Elements that are still to come.
    missing: u64,
    /// The longest text.
    text_bytes_max: usize,
}

impl Extent {
    fn new(text_bytes_max: usize) -> Self {
        Self { bytes: 0, missing: 1, text_bytes_max }
    }

    /// Goes on over `known`, which begins with the answer. Returns whether it is whole; `None` if
    /// it is none.
    fn advance(&mut self, known: &[u8]) -> Option<bool> {
        while self.missing > 0 {
            let rest = known.get(self.bytes..)?;
            let Some(line_end) = rest.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\r')
            else {
                return (rest.len() < LINE_BYTES_MAX).then_some(false);
            };
            let (Some(&kind), Some(line)) = (rest.first(), rest.get(1..line_end)) else {
                return None;
            };
            let mut end = line_end + 2;
            let mut contained = 0;
            match kind {
                b'+' | b'-' | b':' => {}
                b'$' => {
                    end += length(line)?.map_or(Some(0), |bytes| {
                        (bytes <= self.text_bytes_max).then_some(bytes + 2)
                    })?
                }
                b'*' => contained = length(line)?.map_or(0, |elements| elements as u64),
                _ => return None,
            }
            if rest.len() < end {
                return Some(false);
            }
            if rest[line_end + 1] != b'\n' || !rest[..end].ends_with(b"\r\n") {
                return None;
            }
            self.missing = (self.missing - 1)
                .checked_add(contained)
                .filter(|missing| *missing <= ELEMENTS_MAX)?;
            self.bytes += end;
        }
        Some(true)
    }
}

/// Parses a length; nothing for a text or an array that does not exist; `None` for a text that is
/// no number.
#[expect(clippy::option_option, reason = "two different absences")]
fn length(digits: &[u8]) -> Option<Option<usize>> {
    match digits {
        b"-1" => Some(None),
        [] | [_, _, _, _, _, _, _, _, _, _, _, ..] => None,
        _ => {
            let mut number = 0;
            for digit in digits {
                number = number * 10 + usize::from(digit.is_ascii_digit().then(|| digit - b'0')?);
            }
            Some(Some(number))
        }
    }
}

/// Returns the texts of a whole answer that is an array of texts; `None` for another answer.
pub(super) fn texts(answer: &[u8]) -> Option<Texts<'_>> {
    let mut texts = Texts { rest: answer, left: 1 };
    texts.left = texts.header(b'*')?.unwrap_or(0);
    Some(texts)
}

/// The texts of an array, in their order. One that does not exist, or is a number, is empty.
#[derive(Clone, Debug)]
pub(super) struct Texts<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Texts<'a> {
    /// Returns the length that the next line names, if its kind is `kind`.
    #[expect(clippy::option_option, reason = "as of length")]
    fn header(&mut self, kind: u8) -> Option<Option<usize>> {
        let (line, rest) =
            self.rest.split_at_checked(self.rest.iter().position(|byte| *byte == b'\n')? + 1)?;
        self.rest = rest;
        length(line.strip_prefix(&[kind])?.strip_suffix(b"\r\n")?)
    }
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let Some(Some(bytes)) = self.header(b'$') else { return Some(&[]) };
        let (text, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest.strip_prefix(b"\r\n")?;
        Some(text)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Texts<'_> {}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const ANSWERS: [&[u8]; 9] = [
        b"+OK\r\n",
        b":-12\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$5\r\na\r\nbc\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*2\r\n$1\r\na\r\n$3\r\nbcd\r\n",
        b"*3\r\n:1\r\n*2\r\n+a\r\n$-1\r\n$2\r\n\r\n\r\n",
    ];

    #[test]
    fn an_answer_ends_where_the_crate_ends_it() {
        for answer in ANSWERS {
            for known in 0..answer.len() {
                let mut extent = Extent::new(TEXT_BYTES_MAX);
                assert_eq!(extent.advance(&answer[..known]), Some(false), "{answer:?} {known}");
                // and goes on where it stopped
                assert_eq!(extent.advance(answer), Some(true), "{answer:?} {known}");
                assert_eq!(extent.bytes, answer.len());
            }
            let mut extent = Extent::new(TEXT_BYTES_MAX);
            assert_eq!(extent.advance(&[answer, b"+next\r\n"].concat()), Some(true));
            assert_eq!(extent.bytes, answer.len());
            assert!(value(answer).is_ok(), "{answer:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused_and_asks_for_no_memory() {
        for wrong in [
            b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
            b"\r\n",
            b"$\r\n",
            b"$-2\r\n",
            b"$99999999999\r\n",
            b"$536870913\r\n",
            b"$67108865\r\n",
            b"*4294967296\r\n",
            b"*+1\r\n",
            b"$1x\r\n",
            b"$1\r\nabc\r\n",
            b"+a\rb\r\n",
            b"\x15\x03\x01\x00\x02\x02\r\n",
        ] {
            assert_eq!(
                Extent::new(TEXT_BYTES_MAX).advance(wrong),
                None,
                "{}",
                wrong.escape_ascii()
            );
        }
        assert_eq!(Extent::new(TEXT_BYTES_MAX).advance(&vec![b'+'; LINE_BYTES_MAX]), None);
        // less before it has let this client in
        assert_eq!(Extent::new(GREETING_BYTES_MAX).advance(b"$65537\r\n"), None);
        assert_eq!(Extent::new(TEXT_BYTES_MAX).advance(b"$65537\r\n"), Some(false));
        // nested without end: each level is one more that is missing
        let deep = b"*2\r\n".repeat(10_000);
        assert_eq!(Extent::new(TEXT_BYTES_MAX).advance(&deep), Some(false));
    }

    #[test]
    fn texts_are_those_that_the_crate_reads() {
        for answer in ANSWERS {
            let ours: Option<Vec<&[u8]>> = texts(answer).map(Iterator::collect);
            assert_eq!(ours.is_some(), answer.starts_with(b"*"));
            if answer.starts_with(b"*2") {
                assert_eq!(ours.unwrap(), [b"a".as_slice(), b"bcd"]);
                assert_eq!(texts(answer).unwrap().len(), 2);
            }
        }
        assert_eq!(
            texts(b"*2\r\n$-1\r\n$1\r\nx\r\n").unwrap().collect::<Vec<_>>(),
            [b"".as_slice(), b"x"]
        );
    }

    #[test]
    fn a_server_that_sends_a_byte_now_and_then_gets_no_more_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // an answer without end, until the other side leaves
            let mut sent = stream.write_all(b"$100000\r\n");
            while sent.is_ok() {
                thread::sleep(Duration::from_millis(20));
                sent = stream.write_all(b"x");
            }
        });
        let limit = Duration::from_millis(300);
        let mut resp =
            Resp::connect("127.0.0.1", port, &RedisConnectionInfo::default(), limit, limit)
                .unwrap();
        let begin = Instant::now();
        let error = resp.ask(&[cmd("PING")], |_| ()).unwrap_err();
        assert!(
            error.is_timeout() && begin.elapsed() < 10 * limit,
            "{error} after {:?}",
            begin.elapsed()
        );
    }

    #[test]
    fn answers_that_come_byte_by_byte_are_whole() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            // unread data at the close of a connection resets it
            stream.read_exact(&mut [0; 3 * b"*1\r\n$4\r\nPING\r\n".len()]).unwrap();
            for byte in [ANSWERS[8], b"-ERR no\r\n", ANSWERS[4]].concat() {
                stream.write_all(&[byte]).unwrap();
            }
        });
        let limit = Duration::from_secs(10);
        let mut resp =
            Resp::connect("127.0.0.1", port, &RedisConnectionInfo::default(), limit, limit)
                .unwrap();
        let ping = cmd("PING");
        let mut came = Vec::new();
        resp.ask(&[ping.clone(), ping.clone(), ping.clone()], |answer| {
            came.push(answer.map(<[u8]>::to_vec).map_err(|error| error.to_string()));
        })
        .unwrap();
        assert_eq!(came[0].as_deref().unwrap(), ANSWERS[8]);
        assert!(came[1].as_ref().unwrap_err().contains("no"), "{came:?}");
        assert_eq!(came[2].as_deref().unwrap(), ANSWERS[4]);
        server.join().unwrap();
        let ended = resp.ask(&[ping], |_| ()).unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::Io);
    }
}
