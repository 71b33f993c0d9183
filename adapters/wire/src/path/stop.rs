//! Waiting for a descriptor or for the end of the path.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// The wish that the path ends.
pub(super) struct Stop {
    asked: AtomicBool,
    event: EventFd,
}

impl Stop {
    pub(super) fn new() -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { asked: AtomicBool::new(false), event })
    }

    /// Ends the path.
    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        // full means that it was written before
        let _ = self.event.write(1);
    }

    /// Returns whether the path is to end.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Waits until something of `what` can be done with `descriptor`, or the path is to end.
    /// Returns whether it goes on.
    pub(super) fn wait(&self, descriptor: impl AsFd, what: PollFlags) -> io::Result<bool> {
        let mut waiting = [
            PollFd::new(descriptor.as_fd(), what),
            PollFd::new(self.event.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut waiting, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => Ok(!self.is_asked()),
            Err(errno) => Err(errno.into()),
        }
    }
}
