//! A place with a sealed volume in it, as the tests of volumes have it, and a search for what must
//! not be readable in one.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Whence, lseek};
use serde_json::Value;

use crate::transcript::{Transcript, run, sealstone};

/// Time in which the last user of a file system lets go of it.
const UNMOUNT_LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// Reasons, in the program's own words, why a machine has no volumes: a container may have the
/// devices and no right to use them.
const LACKS: [&str; 4] = [
    "two steps need root",
    "no store can be put on a sealed volume here: ",
    "cannot make a sealed volume on this machine: ",
    "FUSE refused",
];

/// Reasons that `losetup` and `mount` give for it; whatever else they say is a failure of ours.
const REFUSALS: [&str; 5] = [
    "ermission denied",
    "ot permitted",
    "must be superuser",
    "cannot find an unused loop device",
    "failed to access loop",
];

/// Returns whether `transcript` failed because this machine has no volumes; prints that `test` is
/// skipped then.
pub fn is_skipped(test: &str, transcript: &Transcript) -> bool {
    let is_refusal = |line: &str| {
        let names = line.contains("losetup:") || line.contains("mount:");
        names && REFUSALS.iter().any(|refusal| line.contains(refusal))
    };
    let is_lack = |line: &&str| LACKS.iter().any(|lack| line.contains(lack)) || is_refusal(line);
    let lack = transcript.stderr.lines().find(is_lack).filter(|_| transcript.code == Some(2));
    if let Some(line) = lack {
        println!("SKIP: {test}: {line}");
    }
    lack.is_some()
}

/// A directory with the key file `k.key`, the volume `vol` and the directory `m` to mount it at. It
/// is unmounted at the end.
pub struct VolumePlace {
    home: tempfile::TempDir,
}

impl VolumePlace {
    /// Makes them in `home`, but for the volume.
    #[must_use]
    pub fn without_volume(home: tempfile::TempDir) -> Self {
        Self::with_key(home, &[])
    }

    /// As [`VolumePlace::without_volume`], with more flags of `keys new`.
    #[must_use]
    pub fn with_key(home: tempfile::TempDir, more: &[&str]) -> Self {
        let place = Self { home };
        fs::create_dir(place.at("m")).expect("a new directory");
        place.sealstone(&[&["keys", "new", "k.key"], more].concat()).done();
        place
    }

    /// Makes them in `home`, the volume of `size`.
    #[must_use]
    pub fn new(home: tempfile::TempDir, cipher: &str, size: &str) -> Self {
        let place = Self::without_volume(home);
        let create = ["volume", "create", "vol", "--size", size, "--key", "k.key"];
        place.sealstone(&[&create[..], &["--cipher", cipher]].concat()).done();
        place
    }

    /// Returns the path of `name` there.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs a command there.
    pub fn sealstone(&self, arguments: &[&str]) -> Transcript {
        run(&mut sealstone(self.home.path(), arguments))
    }

    /// Runs a command on the volume where it may be attached.
    pub fn volume(&self, arguments: &[&str]) -> Transcript {
        let runtime = ["--runtime-dir", "run"];
        self.sealstone(&[&["volume"], arguments, &runtime[..]].concat())
    }

    /// Mounts the volume.
    pub fn mount(&self, more: &[&str]) -> Transcript {
        self.volume(&[&["mount", "vol", "m", "--key", "k.key"], more].concat())
    }

    /// Mounts a new file system; false, with a SKIP for `test`, where this machine cannot.
    pub fn mounts_new(&self, test: &str) -> bool {
        let mounted = self.mount(&["--mkfs", "ext4"]);
        let is_skipped = is_skipped(test, &mounted);
        assert!(is_skipped || mounted.code == Some(0), "{}", mounted.stderr);
        !is_skipped
    }

    /// Returns the state, as the program prints it for others.
    #[must_use]
    pub fn status(&self) -> Value {
        let said = self.volume(&["status", "vol", "--json"]).done();
        serde_json::from_str(&said).expect("JSON")
    }

    /// Returns the process that serves it.
    #[must_use]
    pub fn process(&self) -> Pid {
        let process = self.status()["served"]["process"].as_i64().expect("it is served");
        Pid::from_raw(process as i32)
    }

    /// Checks the volume.
    pub fn verify(&self) -> Transcript {
        self.sealstone(&["volume", "verify", "vol", "--key", "k.key"])
    }

    /// Kills the process that serves the volume, and waits until it is gone.
    pub fn kill(&self) {
        kill(self.process(), Signal::SIGKILL).expect("a process of ours");
        while self.status()["attached"] != "dead" {
            std::thread::sleep(LOOK);
        }
    }

    /// Unmounts the file system alone, once nobody uses it any more.
    pub fn unmount(&self) {
        let (begin, at) = (Instant::now(), self.at("m"));
        // processes that were killed hold their files a moment longer
        while !Command::new("umount").arg(&at).output().expect("umount").status.success() {
            assert!(begin.elapsed() < UNMOUNT_LIMIT, "{} is in use", at.display());
            std::thread::sleep(LOOK);
        }
    }

    /// Has the check of the file system find nothing. The volume is attached and not mounted.
    /// Returns the device.
    pub fn file_system_is_whole(&self) -> String {
        let device = self.status()["devices"][0].as_str().expect("a device").to_owned();
        tool("e2fsck", &["-fn", &device]);
        device
    }

    /// Has the checks of the file system and of the volume find nothing, and detaches it between
    /// them. It is not mounted.
    pub fn is_whole(&self) {
        self.file_system_is_whole();
        self.volume(&["detach", "vol"]).done();
        assert!(self.verify().done().starts_with("vol is whole: "));
    }
}

impl Drop for VolumePlace {
    fn drop(&mut self) {
        // whatever a failed test left
        let _ = Command::new("umount").arg("--lazy").arg(self.at("m")).output();
        let _ = self.volume(&["detach", "vol"]);
    }
}

/// Runs a program that must succeed, and returns what it prints.
pub fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("a program to run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}{failed}");
    said
}

/// Returns whether a file below `dir` has `marker` in it.
#[must_use]
pub fn holds(dir: &Path, marker: &[u8]) -> bool {
    fs::read_dir(dir).expect("a directory").any(|entry| {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a type");
        let is_in = |extent: &Vec<u8>| memchr::memmem::find(extent, marker).is_some();
        // a server's socket holds nothing
        kind.is_dir() && holds(&entry.path(), marker)
            || kind.is_file() && extents(&entry.path()).iter().any(is_in)
    })
}

/// Returns the stretches of a file that take space: that of a volume is sparse, and longer than
/// memory.
fn extents(path: &Path) -> Vec<Vec<u8>> {
    let file = match fs::File::open(path) {
        // the programs that use them rename and remove files
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        opened => opened.expect("a file"),
    };
    let bytes = file.metadata().expect("a length").len() as i64;
    let mut found = Vec::new();
    let mut end = 0;
    // an error means that no data follows
    while end < bytes
        && let Ok(begin) = lseek(&file, end, Whence::SeekData)
    {
        end = lseek(&file, begin, Whence::SeekHole).expect("the end of a stretch");
        let mut extent = vec![0; (end - begin) as usize];
        file.read_exact_at(&mut extent, begin as u64).expect("a stretch that reads");
        found.push(extent);
    }
    found
}
