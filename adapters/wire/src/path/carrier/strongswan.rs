//! strongSwan in user space at both ends of a link: the path that others compare with, and a peer
//! for ours. Not here: its key log (`charon`), and installing it (`dev/setup.sh strongswan`).
//!
//! One charon an end, with its plugin kernel-libipsec: it makes a TUN device `ipsec0`, and seals in
//! user space. Ciphers of libgcrypt come before OpenSSL's, since the old ciphers are faster there.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_cipher::suites::{Encryption, Hash, Suite};
use sealstone_cipher::{Cipher, cipher_row};
use tempfile::TempDir;

use crate::error::WireError;
use crate::links::{ADDRESSES, Links, command};
use crate::program;

/// Path of the daemon on Debian.
const CHARON: &str = "/usr/sbin/charon-systemd";
/// Program that sends commands to the daemon.
const SWANCTL: &str = "swanctl";
const INSTALL: &str = "install strongSwan's packages (make setup-strongswan), and run as root";
/// Longest time until a daemon must answer or end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Plugins that it loads; the order of cipher libraries is the order of preference.
const PLUGINS: &str = "random nonce gcrypt openssl sha1 sha2 md5 hmac gcm kdf pem pkcs1 pubkey \
                       curve25519 kernel-libipsec kernel-netlink socket-default vici";

/// The addresses inside the tunnel.
pub const INNER: [&str; 2] = ["10.78.0.1", "10.78.0.2"];

/// A tunnel between the ends of a link. It ends when it is dropped.
#[derive(Debug)]
pub struct StrongSwan {
    charons: [Option<Child>; 2],
    /// Settings, sockets and logs, in a folder for each end.
    folder: TempDir,
}

/// The daemon's names of block ciphers.
const CIPHERS: [(&Cipher, &str); 4] = [
    (cipher_row("aes-128"), "aes128"),
    (cipher_row("aes-256"), "aes256"),
    (cipher_row("3des"), "3des"),
    (cipher_row("blowfish"), "blowfish128"),
];

/// Returns the daemon's name for `suite`; `None` if it lacks the ciphers.
#[must_use]
pub fn proposal(suite: &Suite) -> Option<String> {
    let named =
        |cipher: &Cipher| CIPHERS.iter().find(|(row, _)| *row == cipher).map(|(_, name)| *name);
    match suite.encryption {
        Encryption::Null => None,
        Encryption::Gcm(cipher) => Some(format!("{}gcm{}", named(cipher)?, suite.tag_bytes())),
        Encryption::Cbc(cipher) => {
            let integrity = match suite.mac?.hash {
                Hash::Md5 => "md5",
                Hash::Sha1 => "sha1",
                Hash::Sha256 => "sha256",
            };
            Some(format!("{}-{integrity}", named(cipher)?))
        }
    }
}

/// Returns whether it is installed.
#[must_use]
pub fn is_installed() -> bool {
    let asked =
        Command::new(SWANCTL).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    Path::new(CHARON).exists() && asked.is_ok()
}

fn failed(command: &str, found: impl ToString) -> WireError {
    WireError::Command { command: command.to_owned(), found: found.to_string(), next: INSTALL }
}

impl StrongSwan {
    /// Starts it and lets both ends agree on keys for `proposal`. The first end initiates.
    ///
    /// # Errors
    /// [`WireError::Command`] with the last lines of what it logged, [`WireError::NoNamespaces`].
    pub fn start(links: &Links, proposal: &str) -> Result<Self, WireError> {
        Self::start_from(links, &[0, 1].map(|end| connection(end, proposal)))
    }

    /// Returns the same with what the two ends have in swanctl.conf: a child `net` between
    /// [`INNER`].
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_from(links: &Links, connections: &[String; 2]) -> Result<Self, WireError> {
        let folder = tempfile::tempdir().map_err(|error| failed(CHARON, error))?;
        let mut tunnel = Self { charons: [None, None], folder };
        for end in [0, 1] {
            let inner = format!("{}/32", INNER[end]);
            links.ends[end]
                .run(|| program::run("ip", &["address", "replace", &inner, "dev", "lo"]))?;
            tunnel.charons[end] = Some(tunnel.spawn(links, end, &connections[end])?);
        }
        // the responder has its connection before the initiator starts
        for end in [1, 0] {
            let settings = tunnel.path(end, "swanctl.conf");
            tunnel.ask_again(end, &["--load-all", "--file", &settings.to_string_lossy()])?;
        }
        tunnel.ask(0, &["--initiate", "--child", "net", "--timeout", "10"])?;
        Ok(tunnel)
    }

    fn path(&self, end: usize, name: &str) -> PathBuf {
        self.folder.path().join(end.to_string()).join(name)
    }

    fn spawn(&self, links: &Links, end: usize, connection: &str) -> Result<Child, WireError> {
        let folder = self.path(end, "");
        let write = |name: &str, text: String| fs::write(folder.join(name), text);
        let written = fs::create_dir(&folder)
            .and_then(|()| write("strongswan.conf", daemon_settings(&folder)))
            .and_then(|()| write("swanctl.conf", connection.to_owned()))
            // keys are in it: it is this user's alone before it is written
            .and_then(|()| {
                fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(folder.join("log"))
            })
            .map(drop);
        written.map_err(|error| failed(CHARON, error))?;
        links.ends[end].run(|| {
            let mut charon = command(CHARON);
            charon.env("STRONGSWAN_CONF", folder.join("strongswan.conf"));
            charon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            charon.spawn().map_err(|error| failed(CHARON, error))
        })
    }

    fn ask(&self, end: usize, arguments: &[&str]) -> Result<(), WireError> {
        let socket = format!("unix://{}", self.path(end, "vici").display());
        let asked = Command::new(SWANCTL).args(arguments).args(["--uri", &socket]).output();
        let named = format!("{SWANCTL} {}", arguments.join(" "));
        let output = asked.map_err(|error| failed(&named, error))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(&named, self.last_words(end))),
        }
    }

    /// Repeats a request to a daemon that may not be ready yet.
    fn ask_again(&self, end: usize, arguments: &[&str]) -> Result<(), WireError> {
        let since = Instant::now();
        loop {
            match self.ask(end, arguments) {
                Err(_) if since.elapsed() < PATIENCE => sleep(Duration::from_millis(20)),
                answered => return answered,
            }
        }
    }

    fn last_words(&self, end: usize) -> String {
        let log = self.log(end);
        // lines that may contain keys are left out
        let lines: Vec<&str> = log.lines().filter(|line| !line.contains("[CHD]")).collect();
        lines[lines.len().saturating_sub(5)..].join("; ")
    }

    /// Returns the log of end `end`, including its keys.
    #[must_use]
    pub fn log(&self, end: usize) -> String {
        fs::read_to_string(self.log_path(end)).unwrap_or_default()
    }

    /// Returns the file with that.
    #[must_use]
    pub fn log_path(&self, end: usize) -> PathBuf {
        self.path(end, "log")
    }

    /// Returns the ids of its processes.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.charons.iter().flatten().map(Child::id).collect()
    }

    /// Kills one end at once, without notice to the other.
    pub fn kill(&mut self, end: usize) {
        if let Some(mut charon) = self.charons[end].take() {
            let _ = charon.kill();
            let _ = charon.wait();
        }
    }
}

impl Drop for StrongSwan {
    fn drop(&mut self) {
        for charon in self.charons.iter_mut().flatten() {
            let _ = kill(Pid::from_raw(charon.id() as i32), Signal::SIGTERM);
        }
        let since = Instant::now();
        for charon in self.charons.iter_mut().flatten() {
            while matches!(charon.try_wait(), Ok(None)) && since.elapsed() < PATIENCE {
                sleep(Duration::from_millis(5));
            }
            let _ = charon.kill();
            let _ = charon.wait();
        }
    }
}

/// Settings of the daemon at FOLDER.
const DAEMON: &str = "charon-systemd {
  load_modular = no
  load = PLUGINS
  plugins {
    vici {
      socket = unix://FOLDER/vici
    }
    kernel-libipsec {
      allow_peer_ts = no
    }
  }
  filelog {
    keys {
      path = FOLDER/log
      default = 1
      chd = 4
      flush_line = yes
    }
  }
}
";

fn daemon_settings(folder: &Path) -> String {
    DAEMON.replace("PLUGINS", PLUGINS).replace("FOLDER", &folder.display().to_string())
}

/// Connection that an end agrees to. The secret protects nothing: nobody else is in the namespaces.
const CONNECTION: &str = "connections {
  wire {
    version = 2
    local_addrs = OWN_ADDRESS
    remote_addrs = OTHER_ADDRESS
    proposals = aes128-sha256-curve25519
    encap = yes
    local {
      auth = psk
      id = OWN_END
    }
    remote {
      auth = psk
      id = OTHER_END
    }
    children {
      net {
        local_ts = OWN_INNER/32
        remote_ts = OTHER_INNER/32
        esp_proposals = PROPOSAL
      }
    }
  }
}
secrets {
  ike-1 {
    id-1 = end0
    id-2 = end1
    secret = \"known to all\"
  }
}
";

fn connection(end: usize, proposal: &str) -> String {
    let mut text = CONNECTION.replace("PROPOSAL", proposal);
    for (whose, end) in [("OWN", end), ("OTHER", 1 - end)] {
        text = text.replace(&format!("{whose}_ADDRESS"), &ADDRESSES[end].to_string());
        text = text.replace(&format!("{whose}_END"), &format!("end{end}"));
        text = text.replace(&format!("{whose}_INNER"), INNER[end]);
    }
    text
}

#[cfg(test)]
mod tests {
    use sealstone_seal::esp::suites;

    use super::*;

    #[test]
    fn what_both_have_has_a_name_there() {
        let shared: Vec<String> = suites().iter().filter_map(proposal).collect();
        assert_eq!(shared.len(), 14);
        assert!(
            shared.contains(&"3des-md5".to_owned()) && shared.contains(&"aes256gcm16".to_owned())
        );
    }
}
