//! A volume that is attached: the directory in which its file is shown, the loop device on that,
//! and the places where it is mounted. All of it is read from the kernel each time, so nothing of
//! it can be out of date.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Failure;
use crate::front::fuse::{CONTROL_NAME, FILE_NAME, STATUS_NAME};
use crate::service::{AttachedStatus, Order};
use crate::tool;

/// Directory in which volumes are shown.
pub const RUNTIME_DIR: &str = "/run/sealstone/volumes";

/// Returns what keeps this machine from attaching volumes, in words; none if nothing does.
#[must_use]
pub fn lack() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("losetup and mount take root".into());
    }
    let lacks = |path: &&str| !Path::new(path).exists();
    let missing = ["/dev/fuse", "/dev/loop-control"].into_iter().find(lacks)?;
    Some(format!("{missing} is missing"))
}

/// Time that a process which serves a volume may take to end, beyond its checkpoint.
const PATIENCE: Duration = Duration::from_secs(120);

/// The place of one volume that is, or would be, attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    dir: PathBuf,
}

/// State of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    /// Nothing is attached.
    No,
    /// A process serves it.
    Served(AttachedStatus),
    /// The process that served it is gone.
    Dead,
}

impl Attachment {
    /// Returns that of the volume `id`.
    ///
    /// - `runtime_dir`: [`RUNTIME_DIR`], or another directory in a test
    #[must_use]
    pub fn of(runtime_dir: &Path, id: &[u8; 16]) -> Self {
        let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { dir: runtime_dir.join(name) }
    }

    /// Returns every attachment below `runtime_dir`.
    ///
    /// # Errors
    /// Of the system.
    pub fn all(runtime_dir: &Path) -> Result<Vec<Self>, Failure> {
        let entries = match fs::read_dir(runtime_dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Failure::of("list", runtime_dir.display().to_string()))?,
        };
        let is_id = |dir: &PathBuf| {
            let name = dir.file_name().unwrap_or_default().as_encoded_bytes();
            name.len() == 32 && name.iter().all(u8::is_ascii_hexdigit)
        };
        let dirs = entries.flatten().map(|entry| entry.path()).filter(is_id);
        Ok(dirs.map(|dir| Self { dir }).collect())
    }

    /// Returns the directory in which the volume is shown.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes that directory, for its owner alone.
    ///
    /// # Errors
    /// Of the system.
    pub fn make(&self) -> Result<(), Failure> {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)
            .map_err(Failure::of("make", self.dir.display().to_string()))
    }

    /// Returns the state.
    ///
    /// # Errors
    /// Of the system.
    pub fn state(&self) -> Result<Attached, Failure> {
        let path = self.dir.join(STATUS_NAME);
        match fs::read_to_string(&path) {
            Ok(text) => {
                let status = serde_json::from_str(&text).map_err(|error| {
                    let error = std::io::Error::new(ErrorKind::InvalidData, error);
                    Failure::of("understand", path.display().to_string())(error)
                })?;
                Ok(Attached::Served(status))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Attached::No),
            // the second while it is being cut off
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::ENOTCONN | libc::ECONNABORTED)) =>
            {
                Ok(Attached::Dead)
            }
            Err(error) => Err(Failure::of("read", path.display().to_string())(error)),
        }
    }

    /// Gives an order to the process that serves it.
    ///
    /// # Errors
    /// It was not obeyed; the reason is in the state.
    pub fn order(&self, order: Order) -> Result<(), Failure> {
        let path = self.dir.join(CONTROL_NAME);
        let write = || {
            use std::io::Write;
            fs::OpenOptions::new().write(true).open(&path)?.write_all(order.to_string().as_bytes())
        };
        write().map_err(|error| match self.state() {
            Ok(Attached::Served(AttachedStatus { last_failure: Some(said), .. })) => {
                Failure::Refused { said }
            }
            _ => Failure::of("write to", path.display().to_string())(error),
        })
    }

    /// Makes a block device of the file, and returns its path.
    ///
    /// # Errors
    /// [`Failure::Tool`].
    pub fn add_device(&self) -> Result<String, Failure> {
        let file = self.dir.join(FILE_NAME);
        let args = ["--find", "--show", "--direct-io=on", "--sector-size", "4096"];
        let args = args.map(std::ffi::OsStr::new).into_iter().chain([file.as_os_str()]);
        tool::run("losetup", &args.collect::<Vec<_>>())
    }

    /// Returns the block devices that are on the file.
    ///
    /// # Errors
    /// [`Failure::Tool`].
    pub fn devices(&self) -> Result<Vec<String>, Failure> {
        // by name, since the file itself is out of reach once its process is dead
        let all =
            tool::run("losetup", &["--list", "--noheadings", "--raw", "-O", "NAME,BACK-FILE"])?;
        let file = self.dir.join(FILE_NAME);
        let is_ours = |back: &str| Path::new(back.trim_end_matches(" (deleted)")) == file;
        Ok(all
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(_, back)| is_ours(&back.replace("\\x20", " ")))
            .map(|(name, _)| name.to_owned())
            .collect())
    }

    /// Has the kernel take its block devices away once nothing is mounted from them any more.
    ///
    /// # Errors
    /// [`Failure::Tool`].
    pub(crate) fn release_devices(&self) -> Result<(), Failure> {
        self.devices()?
            .iter()
            .try_for_each(|device| tool::run("losetup", &["--detach", device.as_str()]).map(drop))
    }

    /// Makes a file system of `kind` on its block device `device`.
    ///
    /// # Errors
    /// [`Failure::Tool`], if there is one already, for example.
    pub fn make_file_system(&self, kind: &str, device: &str) -> Result<(), Failure> {
        let is_new = matches!(self.state()?, Attached::Served(status) if status.frames == 0);
        make_file_system(kind, device, is_new)
    }

    /// Tells the block devices that the file has another length.
    ///
    /// # Errors
    /// [`Failure::Tool`].
    pub fn resize_devices(&self) -> Result<(), Failure> {
        // the kernel learns the length when it is requested
        let file = self.dir.join(FILE_NAME);
        fs::metadata(&file).map_err(Failure::of("look at", file.display().to_string()))?;
        for device in self.devices()? {
            tool::run("losetup", &["--set-capacity", &device])?;
        }
        Ok(())
    }

    /// Returns where file systems on its devices are mounted.
    ///
    /// # Errors
    /// Of the system.
    pub fn mounts(&self) -> Result<Vec<PathBuf>, Failure> {
        let devices = self.devices()?;
        let is_ours = |mount: &Mount| devices.contains(&mount.source);
        Ok(mounts()?.into_iter().filter(is_ours).map(|mount| mount.at).collect())
    }

    /// Takes away devices and directory, and waits until the process has put everything in place.
    /// Of a process that is dead, what it left.
    ///
    /// # Errors
    /// [`Failure::Mounted`] where a file system is still mounted; [`Failure::Tool`].
    pub fn detach(&self) -> Result<(), Failure> {
        if let Some(at) = self.mounts()?.into_iter().next() {
            return Err(Failure::Mounted { at });
        }
        for device in self.devices()? {
            tool::run("losetup", &["--detach", &device])?;
        }
        let begin = Instant::now();
        // the last closing of a device comes a moment after it was detached
        while let Err(failure) = tool::run("umount", &[self.dir.as_os_str()]) {
            if begin.elapsed() > PATIENCE {
                return Err(failure);
            }
            if self.state()? == Attached::No {
                break;
            }
            // mounted while the device was taken away, by a command that had begun to
            if let Some(at) = self.mounts()?.into_iter().next() {
                return Err(Failure::Mounted { at });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // by now there may be another volume, or somebody is looking at it
        let _ = fs::remove_dir(&self.dir);
        Ok(())
    }
}

/// A mount, as the kernel lists it.
struct Mount {
    source: String,
    at: PathBuf,
}

fn mounts() -> Result<Vec<Mount>, Failure> {
    let name = "/proc/self/mounts";
    let text = fs::read_to_string(name).map_err(Failure::of("read", name))?;
    let mounts = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (source, at) = (words.next()?.to_owned(), words.next()?);
        Some(Mount { source, at: PathBuf::from(unescaped(at)) })
    });
    Ok(mounts.collect())
}

/// Returns `text` without the octal escapes of the kernel.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// Makes a file system on `device`.
///
/// - `is_new`: nothing was ever written to the volume
///
/// # Errors
/// [`Failure::Tool`], if there is one already, for example.
fn make_file_system(kind: &str, device: &str, is_new: bool) -> Result<(), Failure> {
    let make = |quiet: &[&str]| {
        let args: Vec<&str> = quiet.iter().copied().chain([device]).collect();
        tool::run(&format!("mkfs.{kind}"), &args).map(drop)
    };
    // a new volume is zeros already, and discarding them all would write to its log
    match kind {
        "ext4" => {
            // otherwise ext4 writes zeros to the journal now and to its tables beside its users
            // later; e2fsprogs before 1.47 does not know the option
            let zeroed =
                is_new && make(&["-q", "-E", "nodiscard,assume_storage_prezeroed=1"]).is_ok();
            let plain = ["-q", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"];
            if zeroed { Ok(()) } else { make(&plain) }
        }
        "xfs" => make(&["-q", "-K"]),
        _ => make(&[]),
    }
}

/// Mounts `device` at `at`.
///
/// # Errors
/// [`Failure::Tool`].
pub fn mount(device: &str, at: &Path) -> Result<(), Failure> {
    mount_with(device, at, &[])
}

/// Mounts `device` at `at` with `options` of `mount`.
///
/// # Errors
/// [`Failure::Tool`].
pub fn mount_with(device: &str, at: &Path, options: &[&str]) -> Result<(), Failure> {
    let options = options.iter().map(std::ffi::OsStr::new);
    let all: Vec<_> = options.chain([device.as_ref(), at.as_os_str()]).collect();
    tool::run("mount", &all).map(drop)
}

/// Unmounts what is mounted at `at`, even while it is in use; what is open stays until it is
/// closed.
///
/// # Errors
/// [`Failure::Tool`].
pub fn unmount_lazily(at: &Path) -> Result<(), Failure> {
    tool::run("umount", &["--lazy".as_ref(), at.as_os_str()]).map(drop)
}

/// Unmounts what is mounted at `at`.
///
/// # Errors
/// [`Failure::Tool`].
pub fn unmount(at: &Path) -> Result<(), Failure> {
    tool::run("umount", &[at.as_os_str()]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_with_spaces_are_understood() {
        assert_eq!(unescaped("/a\\040b\\134c"), "/a b\\c");
    }
}
