//! Counts that a process keeps of its work on the data in a directory, and the file in which others
//! find them. They are for people who look after a server: anyone who may write in the directory
//! may write them, so they prove nothing.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::SigSet;

use crate::{input, output};

/// Name of the file in the directory.
pub const NAME: &str = "SEALSTONE-COUNTS";

/// Returns whether a file called `name` is [`NAME`], or one that a process that was killed did not
/// finish, which the next one to write removes.
#[must_use]
pub fn is_ours(name: &str) -> bool {
    name == NAME || output::is_partial_of(name.as_bytes(), NAME.as_ref())
}

/// Time between two versions of the file, while there is work.
const EVERY: Duration = Duration::from_secs(30);

/// Longest time for which a failure waits for the file, and the least between two that do.
const AT_ONCE: Duration = Duration::from_secs(1);

/// First line of the file, with the version of its form.
const TITLE: &str = "sealstone counts 1";

/// Longest file that is read, in bytes.
const BYTES_MAX: usize = 4096;

/// Counts since a process began to work on a directory. All values only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks, pages and records sealed; absent where they are not counted.
    pub blocks_sealed: Option<u64>,
    /// The same that were opened.
    pub blocks_opened: Option<u64>,
    /// Bytes sealed.
    pub bytes_sealed: u64,
    /// Bytes opened.
    pub bytes_opened: u64,
    /// Calls that failed, such as for a page that was tampered with.
    pub failures: u64,
}

impl Counts {
    /// Returns whether something was counted.
    fn is_any(&self) -> bool {
        [self.bytes_sealed, self.bytes_opened, self.failures].iter().any(|count| *count > 0)
    }
}

/// Counts as they are in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The process that counted.
    pub process: u32,
    /// Time of the counts, in seconds since 1970.
    pub written_unix_s: u64,
    /// Name of the key that the process seals under, where it said so.
    pub key: Option<String>,
    /// The counts.
    pub counts: Counts,
}

/// Counts of many threads, by blocks.
#[derive(Debug, Default)]
pub struct Tally {
    blocks_sealed: AtomicU64,
    blocks_opened: AtomicU64,
    bytes_sealed: AtomicU64,
    bytes_opened: AtomicU64,
    failures: AtomicU64,
}

impl Tally {
    /// Counts a block of `bytes` bytes that was sealed.
    pub fn sealed(&self, bytes: usize) {
        self.blocks_sealed.fetch_add(1, Ordering::Relaxed);
        self.bytes_sealed.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a block of `bytes` bytes that was opened.
    pub fn opened(&self, bytes: usize) {
        self.blocks_opened.fetch_add(1, Ordering::Relaxed);
        self.bytes_opened.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a call that failed.
    pub fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            blocks_sealed: Some(of(&self.blocks_sealed)),
            blocks_opened: Some(of(&self.blocks_opened)),
            bytes_sealed: of(&self.bytes_sealed),
            bytes_opened: of(&self.bytes_opened),
            failures: of(&self.failures),
        }
    }
}

/// A thread that writes counts while they change, every half minute, when it is asked to, and once
/// more when it is dropped. It handles no signal.
#[derive(Debug)]
pub struct Keeper {
    /// Requests to write at once, each with what is told when that is done. Dropped before the
    /// thread is waited for, which ends it.
    requests: Option<Sender<SyncSender<()>>>,
    /// Time of the last request.
    requested: Mutex<Option<Instant>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Begins to write `counts` into a file in the directory `dir`, which need not exist yet.
    /// Nothing is written before there is something to count, so a process that is refused the
    /// directory leaves the file of the one that has it.
    ///
    /// - `failed`: gets the error when the file cannot be written, once until it can again
    ///
    /// # Errors
    /// The system's, if there can be no thread.
    pub fn start(
        dir: &Path,
        counts: impl Fn() -> Counts + Send + 'static,
        failed: impl Fn(&io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        Self::start_every(EVERY, dir, None, counts, failed)
    }

    fn start_every(
        every: Duration,
        dir: &Path,
        key: Option<String>,
        counts: impl Fn() -> Counts + Send + 'static,
        failed: impl Fn(&io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let path = std::path::absolute(dir)?.join(NAME);
        let (requests, requested) = channel::<SyncSender<()>>();
        let run = move || {
            // signals are for the threads of the program that loaded us
            let _ = SigSet::all().thread_block();
            let (mut last, mut has_failed) = (Counts::default(), false);
            loop {
                let request = requested.recv_timeout(every);
                let now = counts();
                if now != last && now.is_any() {
                    let text = text(SystemTime::now(), key.as_deref(), &now);
                    let written = output::replace(&path, output::Access::Usual, text.as_bytes());
                    match written {
                        Ok(()) => (last, has_failed) = (now, false),
                        Err(error) if !has_failed => {
                            failed(&error);
                            has_failed = true;
                        }
                        Err(_) => {}
                    }
                }
                match request {
                    // the one who asked may have given up
                    Ok(done) => drop(done.try_send(())),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let thread = std::thread::Builder::new().name("sealstone counts".into()).spawn(run)?;
        Ok(Self { requests: Some(requests), requested: Mutex::new(None), thread: Some(thread) })
    }

    /// As [`Keeper::start`], of a tally, by a process that seals under the key called `key`.
    ///
    /// # Errors
    /// As there.
    pub fn of(
        dir: &Path,
        key: String,
        tally: Arc<Tally>,
        failed: impl Fn(&io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        Self::start_every(EVERY, dir, Some(key), move || tally.counts(), failed)
    }
}

impl Keeper {
    /// Has the counts written now, and waits for that, at most a second: for a failure after which
    /// the process may end itself. Does nothing within a second of the last call.
    pub fn write_now(&self) {
        let mut last = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < AT_ONCE) {
            return;
        }
        *last = Some(Instant::now());
        drop(last);
        let (done, is_done) = sync_channel(1);
        if self.requests.as_ref().is_some_and(|requests| requests.send(done).is_ok()) {
            // a disk that takes longer must not hold up the server
            let _ = is_done.recv_timeout(AT_ONCE);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // a panic in it was reported when it happened
            let _ = thread.join();
        }
    }
}

/// Reads the counts of the process that last worked on the data in `dir`, which may still run;
/// none where there are none.
///
/// # Errors
/// A file that cannot be read, or that is no file of counts.
pub fn read(dir: &Path) -> io::Result<Option<Found>> {
    let bytes = match input::read_at_most(&dir.join(NAME), BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome?,
    };
    let found = std::str::from_utf8(&bytes).ok().and_then(parse);
    found.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no file of counts"))
}

fn unix_s(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns the content of the file: a name and a value on each line.
fn text(written: SystemTime, key: Option<&str>, counts: &Counts) -> String {
    let blocks = [("blocks_sealed", counts.blocks_sealed), ("blocks_opened", counts.blocks_opened)];
    let lines = [
        ("process", u64::from(std::process::id())),
        ("written", unix_s(written)),
        ("bytes_sealed", counts.bytes_sealed),
        ("bytes_opened", counts.bytes_opened),
        ("failures", counts.failures),
    ];
    let blocks = blocks.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let lines = lines.into_iter().chain(blocks).map(|(name, value)| format!("{name} {value}\n"));
    // a name of two lines would be another line
    let key = key.filter(|key| !key.contains(char::is_control)).map(|key| format!("key {key}\n"));
    format!("{TITLE}\n{}{}", lines.collect::<String>(), key.unwrap_or_default())
}

/// Returns the counts in `text`; none if it is no file of counts. Lines of later versions are left
/// alone.
fn parse(text: &str) -> Option<Found> {
    let lines = text.strip_prefix(TITLE)?.strip_prefix('\n')?;
    let value = |name: &str| {
        let of = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok();
        lines.lines().find_map(of)
    };
    Some(Found {
        process: value("process")?.try_into().ok()?,
        written_unix_s: value("written")?,
        key: lines.lines().find_map(|line| Some(line.strip_prefix("key ")?.to_owned())),
        counts: Counts {
            blocks_sealed: value("blocks_sealed"),
            blocks_opened: value("blocks_opened"),
            bytes_sealed: value("bytes_sealed")?,
            bytes_opened: value("bytes_opened")?,
            failures: value("failures")?,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread::sleep;
    use std::time::Instant;

    use super::*;

    const SHORT: Duration = Duration::from_millis(5);

    #[test]
    fn counts_are_written_while_they_change_and_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let tally = Arc::new(Tally::default());
        let of = Arc::clone(&tally);
        let keeper =
            Keeper::start_every(SHORT, dir.path(), None, move || of.counts(), |_| panic!())
                .unwrap();
        sleep(10 * SHORT);
        assert_eq!(read(dir.path()).unwrap(), None, "nothing was counted");
        tally.sealed(4096);
        tally.failed();
        let begun = Instant::now();
        let found = loop {
            if let Some(found) = read(dir.path()).unwrap() {
                break found;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "never written");
            sleep(SHORT);
        };
        assert_eq!(found.process, std::process::id());
        assert_eq!((found.counts.blocks_sealed, found.counts.bytes_sealed), (Some(1), 4096));
        tally.opened(100);
        drop(keeper);
        let found = read(dir.path()).unwrap().unwrap();
        let counts = Counts { blocks_opened: Some(1), bytes_opened: 100, ..found.counts };
        assert_eq!((found.counts, found.counts.failures), (counts, 1));
        assert!(found.written_unix_s > 1_700_000_000);
    }

    #[test]
    fn a_failure_is_in_the_file_before_the_process_may_end() {
        let dir = tempfile::tempdir().unwrap();
        let tally = Arc::new(Tally::default());
        let keeper =
            Keeper::of(dir.path(), "orders".into(), Arc::clone(&tally), |_| panic!()).unwrap();
        let failures = || read(dir.path()).unwrap().map(|found| found.counts.failures);
        tally.failed();
        keeper.write_now();
        assert_eq!(failures(), Some(1));
        // many in a row wait for one of them
        tally.failed();
        keeper.write_now();
        assert_eq!(failures(), Some(1));
        drop(keeper);
        assert_eq!(failures(), Some(2));
    }

    #[test]
    fn a_disk_that_hangs_holds_up_no_server() {
        let dir = tempfile::tempdir().unwrap();
        let tally = Arc::new(Tally::default());
        tally.failed();
        let (hangs, until) = channel::<()>();
        let of = Arc::clone(&tally);
        // without a limit `write_now` would wait for what happens after it
        let counts = move || {
            let _ = until.recv();
            of.counts()
        };
        let keeper = Keeper::start_every(EVERY, dir.path(), None, counts, |_| panic!()).unwrap();
        keeper.write_now();
        assert_eq!(read(dir.path()).unwrap(), None);
        drop(hangs);
        drop(keeper);
        assert_eq!(read(dir.path()).unwrap().unwrap().counts.failures, 1);
    }

    #[test]
    fn what_a_killed_process_left_is_of_the_counts_until_the_next_one_writes() {
        let dir = tempfile::tempdir().unwrap();
        let left = format!(".{NAME}.0123456789abcdef.sealstone-partial");
        fs::write(dir.path().join(&left), "").unwrap();
        assert!(is_ours(NAME) && is_ours(&left));
        let others =
            ["", "CURRENT", ".SEALSTONE-COUNTS.old", "x.0123456789abcdef.sealstone-partial"];
        assert!(!others.into_iter().any(is_ours));
        let tally = Arc::new(Tally::default());
        let keeper =
            Keeper::of(dir.path(), "orders".into(), Arc::clone(&tally), |_| panic!()).unwrap();
        tally.sealed(1);
        drop(keeper);
        let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [NAME]);
        assert_eq!(read(dir.path()).unwrap().unwrap().key.as_deref(), Some("orders"));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_said_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(NAME)).unwrap();
        let said = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&said);
        let counts = AtomicU64::new(0);
        let grow = move || Counts {
            bytes_sealed: 1 + counts.fetch_add(1, Ordering::Relaxed),
            ..Counts::default()
        };
        let count = move |_: &io::Error| {
            told.fetch_add(1, Ordering::Relaxed);
        };
        let keeper = Keeper::start_every(SHORT, dir.path(), None, grow, count).unwrap();
        sleep(20 * SHORT);
        drop(keeper);
        assert_eq!(said.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_is_no_file_of_counts_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let whole = text(SystemTime::now(), None, &Counts::default());
        fs::write(&path, format!("{whole}later 17\n")).unwrap();
        assert_eq!(read(dir.path()).unwrap().unwrap().counts, Counts::default());
        let without = whole.replace("failures 0\n", "");
        let negative = whole.replace("failures 0", "failures -1");
        let long = whole.clone() + &" ".repeat(BYTES_MAX);
        for wrong in ["", "x", &without, &negative, &long, &whole.replace(" 1\n", " 2\n")] {
            fs::write(&path, wrong).unwrap();
            assert!(read(dir.path()).is_err(), "{wrong}");
        }
        fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read(dir.path()).is_err(), "and does not wait");
    }
}
