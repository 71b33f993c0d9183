//! Setting up on a fresh machine. `dev/apt.sh`, through which everything is installed, waits for an
//! apt that is at work: with the real apt-get, in a root directory of its own, with a package of
//! its own. `make compare` explains the installation.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use sealstone_e2e::transcript::{Transcript, run};
use tempfile::TempDir;

const CONTROL: &str = "Package: sealstone-probe\nVersion: 1\nArchitecture: all\n\
                       Maintainer: nobody <nobody@localhost>\nDescription: probe\n";

/// Returns a root directory for apt, and a repository with one package; `None` where there is no
/// apt.
fn apt_root() -> Option<TempDir> {
    let has = |program: &str| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    if !has("apt-get") || !has("dpkg-deb") {
        println!("SKIP: apt: no apt-get on this system");
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display();
    for name in [
        "var/lib/apt/lists/partial",
        "var/lib/dpkg/updates",
        "var/lib/dpkg/info",
        "var/cache/apt/archives/partial",
        "var/log/apt",
        "etc/apt/apt.conf.d",
        "etc/apt/preferences.d",
        "package/DEBIAN",
        "package/opt/probe",
        "repository",
    ] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    let write = |name: &str, text: String| fs::write(dir.path().join(name), text).unwrap();
    write("var/lib/dpkg/status", String::new());
    write("etc/apt/sources.list", format!("deb [trusted=yes] file:{path}/repository ./\n"));
    write("package/DEBIAN/control", CONTROL.into());
    let built = Command::new("dpkg-deb")
        .args(["--build", "package", "repository/probe.deb"])
        .current_dir(&dir)
        .output();
    assert!(built.unwrap().status.success());
    let size = fs::metadata(dir.path().join("repository/probe.deb")).unwrap().len();
    let sum = Command::new("sha256sum")
        .arg("repository/probe.deb")
        .current_dir(&dir)
        .output()
        .unwrap()
        .stdout;
    let sum = String::from_utf8_lossy(&sum[..64]).into_owned();
    write(
        "repository/Packages",
        format!("{CONTROL}Filename: ./probe.deb\nSize: {size}\nSHA256: {sum}\n\n"),
    );
    write(
        "apt.conf",
        format!(
            "Dir \"{path}/\";\nDir::Bin::dpkg \"/usr/bin/dpkg\";\nDir::Bin::methods \
             \"/usr/lib/apt/methods\";\n\
             APT::Sandbox::User \"root\";\n\
             DPkg::Options \
             {{ \"--root={path}\"; \"--force-script-chrootless\"; \"--force-not-root\"; }};\n"
        ),
    );
    Some(dir)
}

fn apt(root: &Path, wait_s: u32, arguments: &[&str]) -> Transcript {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apt.sh");
    let mut command = Command::new("sh");
    command.arg(script).args(arguments).env("APT_CONFIG", root.join("apt.conf"));
    run(command.env("SEALSTONE_APT_WAIT_S", wait_s.to_string()))
}

/// Locks the file `name` as apt does, until the result is dropped.
fn lock(root: &Path, name: &str) -> File {
    let file =
        File::options().create(true).truncate(false).write(true).open(root.join(name)).unwrap();
    let whole =
        libc::flock { l_type: libc::F_WRLCK as i16, l_whence: 0, l_start: 0, l_len: 0, l_pid: 0 };
    fcntl(&file, FcntlArg::F_SETLK(&whole)).unwrap();
    file
}

#[test]
fn another_apt_is_waited_for() {
    let Some(root) = apt_root() else { return };
    let waits = |lock_name: &str, arguments: &[&str]| {
        let held = lock(root.path(), lock_name);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| apt(root.path(), 300, arguments));
            // longer than apt itself waits
            thread::sleep(Duration::from_secs(8));
            assert!(!waiting.is_finished(), "{arguments:?} did not wait for {lock_name}");
            drop(held);
            let transcript = waiting.join().unwrap();
            assert_eq!(transcript.code, Some(0), "{}", transcript.stderr);
            let said = transcript.stderr.matches("setup: another apt is at work (").count();
            assert!(said == 1 && transcript.stderr.contains(lock_name), "{}", transcript.stderr);
        });
    };
    waits("var/lib/apt/lists/lock", &["update", "-qq"]);
    waits("var/lib/dpkg/lock-frontend", &["install", "-y", "-qq", "sealstone-probe"]);
    assert!(root.path().join("opt/probe").is_dir(), "the package is installed");
}

#[test]
fn the_wait_ends() {
    let Some(root) = apt_root() else { return };
    let held = lock(root.path(), "var/lib/apt/lists/lock");
    let transcript = apt(root.path(), 1, &["update", "-qq"]);
    assert_eq!(transcript.code, Some(100));
    assert!(transcript.stderr.contains("E: Could not get lock "), "{}", transcript.stderr);
    drop(held);
    // errors other than a lock are not waited for
    let transcript = apt(root.path(), 300, &["install", "-y", "-qq", "no-such-package"]);
    assert_eq!(transcript.code, Some(100));
    assert!(
        transcript.stderr.contains("Unable to locate package no-such-package"),
        "{}",
        transcript.stderr
    );
    assert!(!transcript.stderr.contains("another apt is at work"), "{}", transcript.stderr);
}

#[test]
fn a_comparison_says_how_to_install() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let make = |arguments: &[&str], path: &str| {
        run(Command::new("make").args(arguments).current_dir(&root).env("PATH", path))
    };
    let system = "/usr/bin:/bin";
    // not run, only shown; recipes that call make again run nevertheless
    let shown = make(&["-n", "compare"], system);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    // the last line of a comparison is the path of its report
    let [hint, compare] =
        ["install it with: make install", "release/sealstone\" compare"].map(|words| {
            shown.stdout.find(words).unwrap_or_else(|| panic!("no {words:?} in {}", shown.stdout))
        });
    assert!(hint < compare, "{}", shown.stdout);
    let said = make(&["--no-print-directory", "say-install"], system);
    assert_eq!(
        said.stderr,
        "the command sealstone is not installed; install it with: make install\n"
    );
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/true", dir.path().join("sealstone")).unwrap();
    let silent = make(
        &["--no-print-directory", "say-install"],
        &format!("{}:{system}", dir.path().display()),
    );
    assert_eq!((silent.code, silent.stderr.as_str()), (Some(0), ""));
}
