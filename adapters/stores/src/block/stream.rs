//! One TCP stream over a link, as a device that takes all writes: the other end acknowledges each
//! block once it has read all of it, so buffered data does not count.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sealstone_store::{Device, DeviceAccess, DeviceQueue, DeviceRequest, StoreError};
use sealstone_wire::iscsi::Within;

/// Time that a connection, a block and its acknowledgement may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval at which the other end checks whether it is to end.
const POLL: Duration = Duration::from_millis(20);

/// The other end: reads what comes, in a thread for each stream, and ends with the value.
#[derive(Debug)]
pub(super) struct Sink {
    address: SocketAddr,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sink {
    /// Listens at `address`, on a port that the system chooses. Call it where the other end of the
    /// link is.
    pub(super) fn start(address: IpAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
        listener.set_nonblocking(true)?;
        let (address, done) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let asked = Arc::clone(&done);
        let listen = move || {
            while !asked.load(Ordering::Relaxed) {
                match listener.accept() {
                    // a stream ends with its client
                    Ok((stream, _)) => {
                        drop(thread::Builder::new().name("sink".into()).spawn(|| swallow(stream)))
                    }
                    Err(_) => thread::sleep(POLL),
                }
            }
        };
        let thread = Some(thread::Builder::new().name("sinks".into()).spawn(listen)?);
        Ok(Self { address, done, thread })
    }
}

/// Reads blocks, whose length comes first, and acknowledges each with a byte.
fn swallow(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut block = vec![0; u32::from_le_bytes(length) as usize];
    loop {
        stream.read_exact(&mut block)?;
        stream.write_all(&[1])?;
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The stream to a [`Sink`].
pub(super) struct StreamDevice {
    place: String,
    sink: Arc<Sink>,
    within: Within,
    /// Streams without a block under way, with the length of their blocks.
    idle: Arc<Mutex<Vec<(usize, TcpStream)>>>,
}

impl StreamDevice {
    /// Streams to `sink`, which are opened `within` the near end of the link.
    pub(super) fn new(sink: Sink, within: Within) -> Self {
        Self {
            place: format!("tcp://{}", sink.address),
            sink: Arc::new(sink),
            within,
            idle: Arc::default(),
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut connected = Err(io::Error::other("the link cannot be entered"));
        (self.within)(&mut || {
            connected = TcpStream::connect_timeout(&self.sink.address, PATIENCE);
        });
        let stream = connected?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }
}

impl Device for StreamDevice {
    fn place(&self) -> &str {
        &self.place
    }

    fn capacity_bytes(&self) -> u64 {
        u64::MAX
    }

    fn sector_bytes(&self) -> u32 {
        1
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn DeviceQueue>, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (length, stream) = match idle {
            Some((length, stream)) => (length, stream),
            None => (
                0,
                self.connect().map_err(|error| failed("open a stream to", &self.place, &error))?,
            ),
        };
        let (place, idle) = (self.place.clone(), Arc::clone(&self.idle));
        Ok(Box::new(Queue {
            place,
            idle,
            depth,
            length,
            stream: Some(stream),
            under_way: VecDeque::new(),
        }))
    }
}

fn failed(attempted: &str, place: &str, error: &io::Error) -> StoreError {
    StoreError::engine(format!(
        "cannot {attempted} {place}: {error}\nsee whether the link still carries anything"
    ))
}

struct Queue {
    place: String,
    idle: Arc<Mutex<Vec<(usize, TcpStream)>>>,
    depth: usize,
    /// Bytes of a block; 0 before the first.
    length: usize,
    /// None once it failed.
    stream: Option<TcpStream>,
    under_way: VecDeque<DeviceRequest>,
}

impl Queue {
    /// Does something with the stream, which is of no more use if that fails.
    fn with<T>(
        &mut self,
        attempted: &str,
        act: impl FnOnce(&mut TcpStream) -> io::Result<T>,
    ) -> Result<T, StoreError> {
        let Some(stream) = &mut self.stream else {
            return Err(StoreError::engine("this stream has failed before"));
        };
        act(stream).map_err(|error| {
            self.stream = None;
            failed(attempted, &self.place, &error)
        })
    }
}

impl DeviceQueue for Queue {
    fn submit(&mut self, request: DeviceRequest) -> Result<(), StoreError> {
        if request.access != DeviceAccess::Write || self.under_way.len() == self.depth {
            return Err(StoreError::engine(format!(
                "a stream takes writes, at most {} at once",
                self.depth
            )));
        }
        let bytes = request.buffer.len();
        if self.length == 0 {
            self.length = bytes;
            self.with("write to", |stream| stream.write_all(&(bytes as u32).to_le_bytes()))?;
        }
        if bytes != self.length {
            return Err(StoreError::engine(format!(
                "a stream has blocks of one length, {}, not {bytes}",
                self.length
            )));
        }
        self.with("write to", |stream| stream.write_all(&request.buffer))?;
        self.under_way.push_back(request);
        Ok(())
    }

    fn complete(&mut self) -> Result<DeviceRequest, StoreError> {
        if self.under_way.is_empty() {
            return Err(StoreError::engine("no request is under way"));
        }
        self.with("get an answer from", |stream| stream.read_exact(&mut [0]))?;
        self.under_way.pop_front().ok_or_else(|| StoreError::engine("no request is under way"))
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        while !self.under_way.is_empty() && self.complete().is_ok() {}
        if let (Some(stream), true) = (self.stream.take(), self.under_way.is_empty()) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((self.length, stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use sealstone_store::DeviceBuffer;

    use super::*;

    #[test]
    fn blocks_come_back_once_they_have_arrived() {
        let sink = Sink::start(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
        let device = StreamDevice::new(sink, Arc::new(|connect| connect()));
        for _ in 0..2 {
            let mut queue = device.queue(4).unwrap();
            let request = |tag| DeviceRequest {
                access: DeviceAccess::Write,
                offset: 0,
                tag,
                buffer: DeviceBuffer::zeroed(70_000),
            };
            (0..4).for_each(|tag| queue.submit(request(tag)).unwrap());
            assert!(queue.submit(request(4)).is_err());
            assert_eq!(
                (0..3).map(|_| queue.complete().unwrap().tag).collect::<Vec<_>>(),
                [0, 1, 2]
            );
            assert!(
                queue.submit(DeviceRequest { access: DeviceAccess::Read, ..request(7) }).is_err()
            );
        }
        assert_eq!(
            device.idle.lock().unwrap().len(),
            1,
            "the second queue had the stream of the first"
        );
    }
}
