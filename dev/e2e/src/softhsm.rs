//! A PKCS #11 token for tests, by SoftHSM (Debian: softhsm2): a program in place of an HSM.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::transcript::{Transcript, run, sealstone};

/// Places of its library in packages.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so",
    "/usr/lib64/softhsm/libsofthsm2.so",
];
/// PIN of the user of each token.
pub const PIN: &str = "user-pin-8417";

/// A directory with one token, and room for key files.
pub struct SoftHsm {
    home: TempDir,
    library: &'static str,
}

impl SoftHsm {
    /// Makes the token `label`; none, with a line that is counted as a skip of the test `name`,
    /// where SoftHSM is not installed.
    pub fn with_token(name: &str, label: &str) -> Option<Self> {
        let library = LIBRARIES.into_iter().find(|path| Path::new(path).exists());
        let Some(library) = library else {
            println!("SKIP: {name}: no SoftHSM, install it with: make setup-softhsm");
            return None;
        };
        let home = tempfile::tempdir().expect("a directory");
        let hsm = Self { home, library };
        fs::create_dir(hsm.at("tokens")).expect("room");
        let tokens = hsm.at("tokens");
        let settings = format!("directories.tokendir = {}\n", tokens.display());
        fs::write(hsm.at("softhsm2.conf"), settings).expect("room");
        hsm.secret("pin", PIN);
        hsm.init(label);
        Some(hsm)
    }

    /// Makes another token.
    pub fn init(&self, label: &str) {
        self.util(&[
            "--init-token",
            "--free",
            "--label",
            label,
            "--so-pin",
            "so-pin",
            "--pin",
            PIN,
        ]);
    }

    /// Puts the key `key` into the token `label` as `name`, by the program `token_key`.
    ///
    /// - `extractable`: true for a key that may leave the token
    ///
    /// # Panics
    /// If it fails.
    pub fn bring_key(
        &self,
        program: &Path,
        [label, name]: [&str; 2],
        key: &[u8],
        extractable: bool,
    ) {
        let mut child = self
            .command(program)
            .args([self.library, label, PIN, name, &extractable.to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .expect("token_key");
        child.stdin.take().expect("piped").write_all(key).expect("it reads");
        assert!(child.wait().expect("an end").success());
    }

    /// Returns what `token_pin`, at `program`, prints of the token `label` and the key file `file`.
    ///
    /// # Panics
    /// If it fails.
    pub fn change_pin(&self, program: &Path, label: &str, file: &str) -> String {
        let mut command = self.command(program);
        let done = command.args([self.library, label, PIN, "another-pin-1", file]).output();
        let done = done.expect("token_pin");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    }

    /// Returns a command in the directory, with the token at hand.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir()).env("SOFTHSM2_CONF", self.at("softhsm2.conf"));
        command
    }

    /// Runs `softhsm2-util`.
    ///
    /// # Panics
    /// If it fails.
    fn util(&self, arguments: &[&str]) {
        let mut util = Command::new("softhsm2-util");
        let done = util.args(arguments).env("SOFTHSM2_CONF", self.at("softhsm2.conf")).output();
        let done = done.expect("softhsm2-util");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Returns the directory in which commands run.
    pub fn dir(&self) -> &Path {
        self.home.path()
    }

    /// Returns the path of `name` there.
    pub fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a file that only its owner reads.
    pub fn secret(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::write(self.at(name), format!("{text}\n")).expect("room");
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o600)).expect("a mode");
    }

    /// Returns the address of the key `key` of the token `label`.
    pub fn address(&self, label: &str, key: &str) -> String {
        format!("pkcs11:token={label};object={key}?module-path={}", self.library)
    }

    /// Runs `sealstone` there, with the token at hand.
    pub fn sealstone(&self, arguments: &[&str]) -> Transcript {
        let mut command = sealstone(self.dir(), arguments);
        run(command.env("SOFTHSM2_CONF", self.at("softhsm2.conf")))
    }
}
