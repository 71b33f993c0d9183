//! Files of a running tunnel in its own directory: a file with its process id, locked as long as
//! the process lives, and a socket for queries. After a kill both are recognised as leftovers.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::unistd::geteuid;
use sealstone_message::SettingName;

use crate::path::open_private_dir;

/// The directory of the superuser, and the name of it in the directory of another user.
const OF_ROOT: &str = "/run/sealstone";
const NAME: &str = "sealstone";
/// Names of another directory.
const VARIABLE: &str = "SEALSTONE_RUNTIME_DIR";
/// Time within which a tunnel has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time that a process that was killed may take to end.
const ENDING: Duration = Duration::from_secs(1);

/// Errors of working with that directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is no directory to use.
    #[error(
        "no directory for running tunnels: XDG_RUNTIME_DIR is not set\nname one with {} or in \
         {VARIABLE}",
        SettingName("runtime-dir")
    )]
    NoDirectory,
    /// The directory cannot be had, or is not safe.
    #[error("cannot use {} for running tunnels: {found}\nname another directory with {}",
        dir.display(), SettingName("runtime-dir"))]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Description of the fault.
        found: String,
    },
    /// The tunnel is already up.
    #[error(
        "tunnel {name} is up already, process {pid}\nend it with: sealstone wire down {name}, or \
         choose another {}",
        SettingName("name")
    )]
    Running {
        /// Its name.
        name: String,
        /// Its process.
        pid: String,
    },
    /// The tunnel is not running.
    #[error("no tunnel {name} is up{}\nstart it with: sealstone wire up", others(running))]
    NotRunning {
        /// Its name.
        name: String,
        /// The running tunnels.
        running: Vec<String>,
    },
    /// It does not answer.
    #[error("tunnel {name} does not answer: {found}\nend it with: sealstone wire down {name}")]
    NoAnswer {
        /// Its name.
        name: String,
        /// Error from the system.
        found: io::Error,
    },
}

fn others(running: &[String]) -> String {
    if running.is_empty() { String::new() } else { format!("; these are: {}", running.join(", ")) }
}

/// The directory of all running tunnels of a user.
#[derive(Clone, Debug)]
pub struct RuntimeDir(PathBuf);

/// The claim of a running process on the name of its tunnel. Its files go when it is dropped.
#[derive(Debug)]
pub struct Claim {
    socket_path: PathBuf,
    pid_path: PathBuf,
    /// Holds the lock.
    _pid: File,
    listener: Option<UnixListener>,
}

impl RuntimeDir {
    /// Returns the named directory, or this user's, which is made if it is missing.
    ///
    /// # Errors
    /// [`RuntimeError::NoDirectory`], [`RuntimeError::Directory`].
    pub fn open(named: Option<&Path>) -> Result<Self, RuntimeError> {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let of_user = || match geteuid().is_root() {
            true => Some(PathBuf::from(OF_ROOT)),
            false => variable("XDG_RUNTIME_DIR").map(|dir| dir.join(NAME)),
        };
        let named = named.map(Path::to_owned).or_else(|| variable(VARIABLE));
        let dir = named.or_else(of_user).ok_or(RuntimeError::NoDirectory)?;
        // anyone who can write there decides what `down` kills
        open_private_dir(&dir, false)
            .map_err(|found| RuntimeError::Directory { dir: dir.clone(), found })?;
        Ok(Self(dir))
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn socket_path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.sock"))
    }

    fn pid_path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.pid"))
    }

    /// Claims `name` for this process; leftovers of a killed process are removed.
    ///
    /// # Errors
    /// [`RuntimeError::Running`], [`RuntimeError::Directory`].
    pub fn claim(&self, name: &str) -> Result<Claim, RuntimeError> {
        let failed = |error: io::Error| RuntimeError::Directory {
            dir: self.0.clone(),
            found: error.to_string(),
        };
        let (pid_path, socket_path) = (self.pid_path(name), self.socket_path(name));
        let mut options = OpenOptions::new();
        let mut pid = options
            .read(true)
            .write(true)
            .create(true)
            .mode(0o600)
            .open(&pid_path)
            .map_err(failed)?;
        let since = Instant::now();
        loop {
            match pid.try_lock() {
                Ok(()) => break,
                // a killed process takes a moment to end, and a process that checks for one holds
                // the lock for another moment
                Err(TryLockError::WouldBlock) if since.elapsed() < ENDING => sleep(ENDING / 40),
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let _ = pid.read_to_string(&mut text);
                    return Err(RuntimeError::Running {
                        name: name.to_owned(),
                        pid: text.trim().to_owned(),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        remove(&socket_path).map_err(failed)?;
        pid.set_len(0).and_then(|()| pid.rewind()).map_err(failed)?;
        writeln!(pid, "{}", std::process::id()).map_err(failed)?;
        let listener = UnixListener::bind(&socket_path).map_err(failed)?;
        Ok(Claim { socket_path, pid_path, _pid: pid, listener: Some(listener) })
    }

    /// Names of the tunnels that are up, in order.
    ///
    /// # Errors
    /// [`RuntimeError::Directory`].
    pub fn running(&self) -> Result<Vec<String>, RuntimeError> {
        let failed = |error: io::Error| RuntimeError::Directory {
            dir: self.0.clone(),
            found: error.to_string(),
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.0).map_err(failed)? {
            let file = entry.map_err(failed)?.file_name();
            if let Some(name) = file.to_str().and_then(|file| file.strip_suffix(".pid"))
                && self.pid(name).is_some()
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Process of tunnel `name`, if it is up.
    #[must_use]
    pub fn pid(&self, name: &str) -> Option<i32> {
        let mut file = OpenOptions::new().read(true).open(self.pid_path(name)).ok()?;
        // a dead process has lost its lock
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {}
            _ => return None,
        }
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }

    /// Removes what a tunnel that was killed left; whether there was something.
    ///
    /// # Errors
    /// [`RuntimeError::Directory`].
    pub fn remove_left_over(&self, name: &str) -> Result<bool, RuntimeError> {
        let failed = |error: io::Error| RuntimeError::Directory {
            dir: self.0.clone(),
            found: error.to_string(),
        };
        let removed = [self.socket_path(name), self.pid_path(name)].map(|path| remove(&path));
        let [socket, pid] = removed;
        Ok(socket.map_err(failed)? | pid.map_err(failed)?)
    }

    /// Sends `word` to tunnel `name`, and returns its answer.
    ///
    /// # Errors
    /// [`RuntimeError::NotRunning`], [`RuntimeError::NoAnswer`].
    pub fn ask(&self, name: &str, word: &str) -> Result<String, RuntimeError> {
        if self.pid(name).is_none() {
            return Err(RuntimeError::NotRunning {
                name: name.to_owned(),
                running: self.running()?,
            });
        }
        let failed = |found| RuntimeError::NoAnswer { name: name.to_owned(), found };
        let mut stream = UnixStream::connect(self.socket_path(name)).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        writeln!(stream, "{word}").map_err(failed)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(failed)?;
        Ok(answer)
    }
}

/// Removes the file at `path`, and returns whether there was one.
fn remove(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Claim {
    /// Calls `answer` with each word received, in a separate thread, until the process ends.
    ///
    /// # Errors
    /// A thread that the system does not give.
    pub fn serve(&mut self, answer: impl Fn(&str) -> String + Send + 'static) -> io::Result<()> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        std::thread::Builder::new().name("wire-status".into()).spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut word = String::new();
                let heard = stream.set_read_timeout(Some(PATIENCE)).is_ok()
                    && BufReader::new((&stream).take(64)).read_line(&mut word).is_ok();
                if heard {
                    // a client that left does not need the answer
                    let _ = stream.write_all(answer(word.trim()).as_bytes());
                }
            }
        })?;
        Ok(())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // the lock goes with the process: nobody else claims the name before
        let _ = std::fs::remove_file(&self.socket_path);
        let _ = std::fs::remove_file(&self.pid_path);
    }
}
