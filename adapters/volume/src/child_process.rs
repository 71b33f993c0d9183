//! A process of its own that serves a volume for the one that started it: it ends with that one,
//! in whatever way that ends, and takes away what is mounted from the volume. Not here: what the
//! process does (`sealstone volume attach --until-input-ends`).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::attachment::{self, Attached, Attachment};
use crate::error::Failure;
use crate::header::header;

/// Time in which a process serves its volume.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Time in which the last user of a file system lets go of it.
const UNMOUNT_LIMIT: Duration = Duration::from_secs(10);
/// Time that a process may take to put everything in place.
const END_LIMIT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);

/// Settings of such a process.
#[derive(Clone, Debug)]
pub struct Serving<'a> {
    /// The program `sealstone`.
    pub program: &'a Path,
    /// Directory of the volume.
    pub dir: &'a Path,
    /// The key, as `--key` takes it.
    pub key: &'a OsStr,
    /// File with the passphrase of the key.
    pub passphrase_file: Option<&'a Path>,
    /// Cryptographic module that computes, as `--module` takes it.
    pub module: Option<&'a str>,
    /// Name of the instruction set of the cipher.
    pub accel: &'a str,
    /// Directory in which the volume is shown, an absolute path.
    pub runtime_dir: &'a Path,
    /// New file for what the process prints.
    pub log: &'a Path,
}

/// A process that serves a volume, which ends with this value.
#[derive(Debug)]
pub struct ServingProcess {
    child: Child,
    attachment: Attachment,
    log: PathBuf,
    device: String,
}

impl Serving<'_> {
    /// Starts the process, and waits until it serves the volume.
    ///
    /// # Errors
    /// No volume there; the process does not start, or ends; [`Failure::NotServed`] with what it
    /// said. Nothing is attached then.
    pub fn start(&self) -> Result<ServingProcess, Failure> {
        let attachment = Attachment::of(self.runtime_dir, &header(self.dir)?.file_id);
        let named = |attempt, path: &Path| Failure::of(attempt, path.display().to_string());
        let log = File::create_new(self.log).map_err(named("make", self.log))?;
        let mut command = Command::new(self.program);
        command.args(["volume", "attach"]).arg(self.dir).arg("--key").arg(self.key);
        if let Some(file) = self.passphrase_file {
            command.arg("--passphrase-file").arg(file);
        }
        if let Some(module) = self.module {
            command.args(["--module", module]);
        }
        command.args(["--accel", self.accel, "--foreground", "--until-input-ends"]);
        command.arg("--runtime-dir").arg(self.runtime_dir);
        // an interrupt is for the process that started it, which ends it when it is done
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().map_err(named("start", self.program))?;
        // from here on it takes down what is there if anything fails
        let log = self.log.to_owned();
        let mut process = ServingProcess { child, attachment, log, device: String::new() };
        process.device = process.wait_for_device()?;
        Ok(process)
    }
}

impl ServingProcess {
    fn wait_for_device(&mut self) -> Result<String, Failure> {
        let begin = Instant::now();
        loop {
            if matches!(self.attachment.state(), Ok(Attached::Served(_)))
                && let Some(device) = self.attachment.devices()?.pop()
            {
                return Ok(device);
            }
            let said = || fs::read_to_string(&self.log).unwrap_or_default().trim().to_owned();
            if let Ok(Some(status)) = self.child.try_wait() {
                let said = said();
                let what = if said.is_empty() { status.to_string() } else { said };
                return Err(Failure::NotServed { what });
            }
            if begin.elapsed() > START_LIMIT {
                let what = format!("not within {} s\n{}", START_LIMIT.as_secs(), said());
                return Err(Failure::NotServed { what: what.trim().to_owned() });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns its block device.
    #[must_use]
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Returns the number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the place where the volume is attached.
    #[must_use]
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// Mounts the file system of the volume at `at`. Its device goes with the file system, even if
    /// this process is killed.
    ///
    /// # Errors
    /// As [`attachment::mount`].
    pub fn mount(&self, at: &Path, options: &[&str]) -> Result<(), Failure> {
        attachment::mount_with(&self.device, at, options)?;
        self.attachment.release_devices()
    }

    /// Ends the process at once: nobody wants what it would put in place.
    pub fn abandon(&mut self) {
        // it may have ended
        let _ = self.unmount();
        let _ = self.child.kill();
    }

    /// Unmounts the file system, puts everything in place, and waits for the end of the process.
    ///
    /// # Errors
    /// The file system is in use: it goes once it is not. The process had to be killed, or said
    /// that it failed.
    pub fn end(mut self) -> Result<(), Failure> {
        self.take_away()?;
        let status = self.wait().map_err(Failure::of("wait for", "the process"))?;
        if !status.success() {
            let said = fs::read_to_string(&self.log).unwrap_or_default();
            return Err(Failure::NotServed { what: format!("{status}\n{}", said.trim()) });
        }
        Ok(())
    }

    /// Unmounts whatever is mounted from it, lazily if somebody holds on to it.
    fn unmount(&self) -> Result<(), Failure> {
        let begin = Instant::now();
        for at in self.attachment.mounts()? {
            // servers that were killed hold their files a moment longer
            while let Err(failure) = attachment::unmount(&at) {
                if begin.elapsed() > UNMOUNT_LIMIT {
                    attachment::unmount_lazily(&at)?;
                    return Err(failure);
                }
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    /// Unmounts the file system, and takes its device away.
    ///
    /// # Errors
    /// The file system is in use: it goes once it is not.
    pub fn take_away(&self) -> Result<(), Failure> {
        self.unmount()?;
        self.attachment.detach()
    }

    fn wait(&mut self) -> std::io::Result<std::process::ExitStatus> {
        drop(self.child.stdin.take());
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if begin.elapsed() > END_LIMIT {
                let _ = self.child.kill();
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for ServingProcess {
    fn drop(&mut self) {
        // what is in its way stays mounted until nobody uses it any more
        let _ = self.take_away();
        let _ = self.wait();
        let _ = fs::remove_file(&self.log);
    }
}
