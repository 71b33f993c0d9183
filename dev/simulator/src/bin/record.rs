//! Serves a plain file as a device until standard input ends, and writes down what it is asked for:
//! the histories that `dev/simulator` replays. `dev/simulator/record-histories.sh` makes them all.
//!
//! `record FILE BYTES DIRECTORY HISTORY`, and then, on a loop device on DIRECTORY/volume with
//! `--sector-size 4096`, a file system and whatever uses it. HISTORY begins with `size BLOCKS`, and
//! has a line for each request: `w FIRST COUNT` for a write, `d FIRST COUNT` for blocks that become
//! zeros, and `f` for a flush, in blocks of 4096 bytes. Text that is written to DIRECTORY/control
//! goes into it as a comment. Reads are left out: they change nothing.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_volume::{Device, PlainFile, front::fuse};

/// A device that writes down each request that succeeded.
struct Recorded {
    device: PlainFile,
    history: Mutex<BufWriter<File>>,
}

impl Recorded {
    /// Does `work`, and writes `line` down. One request at a time, so that the history has an order
    /// in which they happened: a write is before a flush if and only if the flush made it durable.
    fn record(&self, line: &str, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        work()?;
        writeln!(history, "{line}")
    }

    /// Returns the line for a request `kind` on a range of bytes.
    fn line(&self, kind: char, offset: u64, bytes: u64) -> io::Result<String> {
        let block_bytes = u64::from(self.device.block_bytes());
        if offset.is_multiple_of(block_bytes) && bytes.is_multiple_of(block_bytes) {
            return Ok(format!("{kind} {} {}", offset / block_bytes, bytes / block_bytes));
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a part of a block: use --sector-size 4096",
        ))
    }
}

impl Device for Recorded {
    fn size_bytes(&self) -> u64 {
        self.device.size_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.device.block_bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.device.read(offset, out)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let line = self.line('w', offset, data.len() as u64)?;
        self.record(&line, || self.device.write(offset, data))
    }

    fn flush(&self) -> io::Result<()> {
        self.record("f", || self.device.flush())
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let line = self.line('d', offset, bytes)?;
        self.record(&line, || self.device.discard(offset, bytes))
    }

    fn status(&self) -> String {
        self.device.status()
    }

    fn command(&self, text: &str) -> io::Result<()> {
        self.record(&format!("# {}", text.trim_end().replace('\n', " ")), || Ok(()))
    }
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, size, at, history] = &args[..] else { panic!("FILE BYTES DIRECTORY HISTORY") };
    let device = PlainFile::open(&PathBuf::from(file), size.parse().unwrap())?;
    let mut written = BufWriter::new(File::create(history)?);
    writeln!(written, "size {}", device.size_bytes() / u64::from(device.block_bytes()))?;
    let recorded = Arc::new(Recorded { device, history: Mutex::new(written) });
    let mounted = fuse::mount(Arc::clone(&recorded) as _, &PathBuf::from(at), 4)?;
    println!("ready");
    io::stdin().read_to_end(&mut Vec::new())?;
    mounted.unmount()?;
    recorded.history.lock().unwrap_or_else(PoisonError::into_inner).flush()
}
