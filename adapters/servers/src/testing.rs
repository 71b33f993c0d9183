//! Helpers that tests with real servers share: checks that a program is there and that a process
//! runs, a directory that its user can reach, a disk that fills up, data sent there and back.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use tempfile::TempDir;

use crate::Program;

/// Returns whether `program` is installed; if not, reports that the test `name` is skipped.
#[must_use]
pub fn is_installed(program: &Program, name: &str) -> bool {
    let found = program.find(None);
    if let Err(error) = &found {
        println!("SKIP: {name}: {}", error.to_string().lines().next().unwrap_or_default());
    }
    found.is_ok()
}

/// Returns a directory that the user of a server can reach, where that is another one than who runs
/// the test.
///
/// # Panics
/// If none can be made.
#[must_use]
pub fn reachable() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).expect("to open it to others");
    dir
}

/// Returns whether the process `pid` is there and has not ended.
#[must_use]
pub fn runs(pid: i32) -> bool {
    let facts = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    facts.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// A small file system in memory, which ends with the value.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one at `dir`, which is made.
    ///
    /// - `options`: of `tmpfs`, such as `size=4m,mode=0777`
    ///
    /// # Errors
    /// The reason why this user cannot.
    pub fn mount(dir: &Path, options: &str) -> Result<Self, String> {
        fs::create_dir(dir).map_err(|error| error.to_string())?;
        let made =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(dir).output();
        let made = made.map_err(|error| error.to_string())?;
        match made.status.success() {
            true => Ok(Self(dir.to_owned())),
            false => Err(String::from_utf8_lossy(&made.stderr).trim().to_owned()),
        }
    }

    /// Returns the path at which it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // a mount left by a test is no reason to fail it
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Sends `data` to `listener` on a stream that `connect` makes, and back; returns the data that
/// came back, and the address that the listener saw.
///
/// # Panics
/// If the connection fails.
pub fn echo(
    listener: &TcpListener,
    connect: impl FnOnce() -> TcpStream,
    data: &[u8],
) -> (Vec<u8>, IpAddr) {
    thread::scope(|scope| {
        let echoing = scope.spawn(|| {
            let (mut stream, peer) = listener.accept().expect("a client");
            let mut back = stream.try_clone().expect("the same stream");
            // a client that is gone reports it itself
            let _ = std::io::copy(&mut stream, &mut back);
            peer.ip()
        });
        let mut stream = connect();
        let mut writer = stream.try_clone().expect("the same stream");
        let writing = scope.spawn(move || {
            writer.write_all(data).expect("to send");
            writer.shutdown(Shutdown::Write).expect("to end");
        });
        let mut back = Vec::new();
        stream.read_to_end(&mut back).expect("an answer");
        writing.join().expect("the thread that sends");
        (back, echoing.join().expect("the thread that answers"))
    })
}
