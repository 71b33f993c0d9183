//! The call that makes the system begin writing a file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Makes the system begin writing the unwritten data of `file` to its disk, and does not wait for
/// it. A file system that does not support this writes in its own time.
pub(crate) fn start_writing(file: &File) -> io::Result<()> {
    // SAFETY: a call about an open file; no memory is passed.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error
                if [libc::EINVAL, libc::ENOSYS, libc::ESPIPE]
                    .map(Some)
                    .contains(&error.raw_os_error()) =>
            {
                Ok(())
            }
            error => Err(error),
        },
    }
}
