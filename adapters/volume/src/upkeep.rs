//! Upkeep of a volume beside its users: checkpoints when they are due or nothing is requested, and
//! segments made beforehand.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::Failure;
use crate::service::Report;
use crate::volume::Volume;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// Time without a write after which the log is put in place.
const IDLE: Duration = Duration::from_secs(5);

/// Time between two tries of what failed.
const AGAIN: Duration = Duration::from_secs(5);

/// A thread that keeps a volume in order until this is dropped.
#[derive(Debug)]
pub struct Upkeep {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upkeep {
    /// Begins.
    ///
    /// - `report`: gets every failure
    ///
    /// # Errors
    /// No thread can be had.
    pub fn of(volume: Arc<Volume>, report: Box<Report>) -> std::io::Result<Self> {
        let (end, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("upkeep".into())
            .spawn(move || keep(&volume, &*report, &ended))?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // it has reported what went wrong
            let _ = thread.join();
        }
    }
}

fn keep(volume: &Volume, report: &Report, ended: &Receiver<()>) {
    let (mut frames, mut since) = (volume.frames(), Instant::now());
    loop {
        let mut wait = LOOK;
        let mut check = |result: Result<(), Failure>| {
            if let Err(failure) = result {
                report(&failure);
                wait = AGAIN;
            }
        };
        if volume.frames() != frames {
            (frames, since) = (volume.frames(), Instant::now());
        }
        check(volume.prepare());
        let is_idle = since.elapsed() >= IDLE && volume.is_pending();
        if volume.is_due() || is_idle || volume.is_anchor_behind() {
            check(volume.checkpoint());
        }
        if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
