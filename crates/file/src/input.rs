//! Inputs: files that are opened without waiting, whatever is under their name.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::directory::parent;
use crate::kind::Kind;

/// Longest time that nothing may come through a pipe before the read is abandoned. A person may be
/// typing at its other end.
pub const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The reason for which something that is no file is not read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("it is {0}, not a file")]
pub struct NotAFile(pub Kind);

impl NotAFile {
    /// Returns the kind of thing that `error` reports in place of a file; None for any other error.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Kind> {
        error.get_ref()?.downcast_ref::<Self>().map(|found| found.0)
    }
}

/// Opens the regular file `path` for reading; links are followed. Never waits.
///
/// # Errors
/// The system's error; [`NotAFile`], as an [`io::Error`], of kind `IsADirectory` for a directory,
/// `InvalidInput` for anything else.
pub fn open(path: &Path) -> io::Result<File> {
    // before it is opened, too: opening a device may already do something to it
    check(&fs::metadata(path)?)?;
    let file = opened(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads the regular file `path` whole.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the regular file `path` whole, if it has at most `bytes_max` bytes.
///
/// # Errors
/// As [`open`]; `FileTooLarge` for a longer one.
pub fn read_at_most(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() > bytes_max {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// Reads the regular file `path`, which is UTF-8, whole.
///
/// # Errors
/// As [`open`]; `InvalidData` for data that is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// A file, or a descriptor handed to this process in place of one.
#[derive(Debug)]
pub struct Given {
    file: File,
    /// None for what never lets a reader wait.
    silence_max: Option<Duration>,
}

/// Opens `path` for reading once, from its beginning to its end: a regular file, `/dev/null`, or a
/// descriptor handed to this process, such as `/dev/stdin` or `<(…)`: a pipe, a socket or a
/// terminal. A FIFO with a name in the file system is excluded, since it is unknown whether anybody
/// ever writes into it.
///
/// # Errors
/// As [`open`]. Reading a handed-over descriptor fails with `TimedOut` once nothing has come for
/// [`SILENCE_MAX`].
pub fn open_given(path: &Path) -> io::Result<Given> {
    open_given_for(path, SILENCE_MAX)
}

fn open_given_for(path: &Path, silence_max: Duration) -> io::Result<Given> {
    let found = fs::metadata(path)?;
    if check(&found).is_ok() {
        return Ok(Given { file: open(path)?, silence_max: None });
    }
    if is_null(&found) {
        return Ok(Given { file: opened(path)?, silence_max: None });
    }
    let Some(descriptor) = own_descriptor(path) else { return Err(refused(&found)) };
    if found.is_dir() {
        return Err(refused(&found));
    }
    let file = match opened(path) {
        // a socket cannot be opened by its name
        Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) && descriptor == "0" => {
            io::stdin().as_fd().try_clone_to_owned()?.into()
        }
        outcome => outcome?,
    };
    Ok(Given { file, silence_max: Some(silence_max) })
}

/// Reads what [`open_given`] opens, whole.
///
/// # Errors
/// As [`open_given`]; `InvalidData` for data that is not UTF-8.
pub fn read_given_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_given(path)?.read_to_string(&mut text)?;
    Ok(text)
}

impl Given {
    /// Returns the metadata of the open file.
    ///
    /// # Errors
    /// The system's error.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

impl Read for Given {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(silence_max) = self.silence_max else { return self.file.read(buffer) };
        loop {
            let mut waiting = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            let limit = PollTimeout::try_from(silence_max).unwrap_or(PollTimeout::MAX);
            match poll(&mut waiting, limit) {
                Ok(0) => {
                    let found =
                        format!("nothing has come through it for {} s", silence_max.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, found));
                }
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            }
            match self.file.read(buffer) {
                // another reader was quicker
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
        }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Checks that `found` is of a regular file.
///
/// # Errors
/// [`NotAFile`], as an [`io::Error`].
pub fn check(found: &Metadata) -> io::Result<()> {
    if found.is_file() { Ok(()) } else { Err(refused(found)) }
}

fn refused(found: &Metadata) -> io::Error {
    let kind = Kind::of(found.file_type());
    let said = if kind == Kind::Directory {
        io::ErrorKind::IsADirectory
    } else {
        io::ErrorKind::InvalidInput
    };
    io::Error::new(said, NotAFile(kind))
}

fn is_null(found: &Metadata) -> bool {
    let null = fs::metadata("/dev/null");
    Kind::of(found.file_type()) == Kind::CharacterDevice
        && null.is_ok_and(|null| null.rdev() == found.rdev())
}

/// Returns the number of this process's descriptor that `path` leads to, as `/dev/stdin` and
/// `/dev/fd/63` do.
fn own_descriptor(path: &Path) -> Option<String> {
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    let mut path = PathBuf::from(path);
    // as many links as Linux follows
    for _ in 0..40 {
        let directory = fs::canonicalize(parent(&path)).ok()?;
        if directory == own {
            return path.file_name()?.to_str().map(str::to_owned);
        }
        path = directory.join(fs::read_link(&path).ok()?);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;

    /// Creates the things that must not be read as files, and returns each path with the name for
    /// its kind.
    fn things(dir: &Path) -> Vec<(PathBuf, &'static str)> {
        let at = |name: &str| dir.join(name);
        fs::create_dir(at("dir")).unwrap();
        nix::unistd::mkfifo(&at("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("fifo", at("to-fifo")).unwrap();
        vec![
            (at("dir"), "it is a directory, not a file"),
            (at("fifo"), "it is a FIFO (a pipe), not a file"),
            (at("to-fifo"), "it is a FIFO (a pipe), not a file"),
            (at("socket"), "it is a socket, not a file"),
            ("/dev/zero".into(), "it is a character device, not a file"),
        ]
    }

    #[test]
    fn a_file_is_opened_and_nothing_else_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read_to_string(&dir.path().join(name)).unwrap(), "text");
            assert_eq!(read_given_to_string(&dir.path().join(name)).unwrap(), "text");
        }
        for (path, words) in things(dir.path()) {
            let error = open(&path).unwrap_err();
            assert_eq!((error.to_string().as_str(), NotAFile::of(&error).is_some()), (words, true));
            assert_eq!(open_given(&path).unwrap_err().to_string(), words);
        }
        assert_eq!(read_given_to_string(Path::new("/dev/null")).unwrap(), "");
        assert_eq!(open(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        assert!(open(&dir.path().join("loop")).is_err());
        assert!(open_given(&dir.path().join("loop")).is_err());
    }

    #[test]
    fn a_pipe_that_was_handed_over_is_read_and_its_silence_ends() {
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/dev/fd/{}", reader.as_raw_fd()));
        assert_eq!(own_descriptor(&path), Some(reader.as_raw_fd().to_string()));
        let mut given = open_given_for(&path, Duration::from_millis(50)).unwrap();
        io::Write::write_all(&mut writer, b"half").unwrap();
        let mut text = String::new();
        let error = given.read_to_string(&mut text).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        io::Write::write_all(&mut writer, b"whole").unwrap();
        drop(writer);
        text.clear();
        given.read_to_string(&mut text).unwrap();
        assert_eq!(text, "whole");
        // reading it as a file of data, which is read more than once
        assert_eq!(open(&path).unwrap_err().to_string(), "it is a FIFO (a pipe), not a file");
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(open_given(Path::new(&format!("/dev/fd/{}", one.as_raw_fd()))).is_err());
    }
}
