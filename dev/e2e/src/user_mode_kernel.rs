//! Another kernel for a test: Debian's user-mode Linux, a whole kernel in one process, with the
//! files of this machine below it, which it cannot change. For features that this machine's kernel
//! may lack.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::binary;

/// The kernel, and where its modules are.
const PROGRAM: &str = "/usr/bin/linux.uml";
const MODULES: &str = "/usr/lib/uml/modules";
/// Loads modules, for us and for the kernel when it needs one.
const MODPROBE: &str = "/sbin/modprobe";
/// The variable that marks a test within that kernel.
const INSIDE: &str = "SEALSTONE_IN_USER_MODE_KERNEL";
/// Path, within that kernel, of the directory shared with the outside.
const SHARED: &str = "/run/shared";
/// Environment variables that tests find outside, and need inside.
const PASSED_ON: [&str; 2] = ["SEALSTONE_TGTD", "PATH"];
/// Printed by a kernel that can run no program here: it does not know how large the registers of
/// this machine's processor are, as those of AMX.
const UNABLE: &str = "ptrace set fp regs failed";
/// Longest that a test may take there.
const PATIENCE: Duration = Duration::from_secs(700);

/// Runs `test` here if `lacks` finds nothing missing, and otherwise within a user-mode kernel, by
/// starting this program again there for the test called `name` alone. Prints that it is skipped
/// where that kernel is missing, too.
///
/// - `modules`: modules that the kernel must load for it; it finds ciphers and the like
///   automatically
///
/// # Panics
/// If the test fails there, with its output.
pub fn run_where_possible(
    name: &str,
    modules: &[&str],
    lacks: impl FnOnce() -> Option<String>,
    test: impl FnOnce(),
) {
    let Some(lacking) = lacks() else { return test() };
    assert!(
        std::env::var_os(INSIDE).is_none(),
        "the user-mode kernel cannot do it either: {lacking}"
    );
    for needed in [PROGRAM, MODULES, MODPROBE] {
        if !Path::new(needed).exists() {
            println!(
                "SKIP: {name}: {lacking}; and there is no {needed}, which make \
                 setup-user-mode-kernel installs"
            );
            return;
        }
    }
    println!("{lacking}; so within a user-mode kernel");
    let said = run_inside(name, modules);
    println!("{said}");
    if said.contains(UNABLE) {
        println!(
            "SKIP: {name}: {lacking}; and the user-mode kernel cannot run programs on this \
             processor ({UNABLE})"
        );
        return;
    }
    // a filter that fits no test would pass
    assert!(
        said.contains("1 passed; 0 failed"),
        "the test failed, or did not end, within the user-mode kernel"
    );
}

/// Starts a kernel whose first process runs the test `name` of this program; returns all that was
/// printed.
fn run_inside(name: &str, modules: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let (init, log) = (dir.path().join("init"), dir.path().join("log"));
    fs::write(&init, first_process(dir.path(), name, modules)).expect("to write there");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&init, executable).expect("a file of ours");
    let output = fs::File::create(&log).expect("to write there");
    let mut command = Command::new(PROGRAM);
    command.args([
        "mem=1G",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "quiet",
        "con=null",
    ]);
    command.args(["con0=null,fd:1", &format!("uml_dir={}/", dir.path().display())]);
    command.arg(format!("init={}", init.display())).process_group(0);
    command.stdin(Stdio::null()).stderr(output.try_clone().expect("a file of ours")).stdout(output);
    let mut kernel = Kernel(command.spawn().expect("the kernel starts"));
    let begin = Instant::now();
    while kernel.0.try_wait().expect("a child of ours").is_none() && begin.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(20));
    }
    drop(kernel);
    let read = |path: PathBuf| {
        fs::read(path).map_or(String::new(), |text| String::from_utf8_lossy(&text).into_owned())
    };
    let said = read(dir.path().join("said"));
    // the kernel's output matters where the test printed nothing
    if said.contains("test result: ") { said } else { format!("{}\n{said}", read(log)) }
}

/// A kernel with its processes, which are processes of this machine, too. All of them end with the
/// value.
struct Kernel(Child);

impl Drop for Kernel {
    fn drop(&mut self) {
        let group = nix::unistd::Pid::from_raw(self.0.id() as i32);
        // one that has ended has no processes any more
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// Returns the script that is the first process: file systems, modules, the test, the end.
fn first_process(dir: &Path, name: &str, modules: &[&str]) -> String {
    let program = std::env::current_exe().expect("a running program");
    let passed_on = PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    // nothing can be built inside
    let binary = ("SEALSTONE_BIN", binary::sealstone().as_os_str().to_owned());
    let exports =
        passed_on.chain([binary]).map(|(name, value)| (name, quoted(&value.to_string_lossy())));
    let exports: String = exports.map(|(name, value)| format!("export {name}={value}\n")).collect();
    format!(
        "#!/bin/sh\n\
         {exports}export \
         PATH=\"$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\n\
         export {INSIDE}=1 RUST_BACKTRACE=0\n\
         mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run\n\
         mkdir -p {SHARED} /run/kernel/lib/modules /dev/shm\n\
         mount -t hostfs -o {dir} hostfs {SHARED} && exec >{SHARED}/said 2>&1 </dev/null\n\
         mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /dev/shm && ln -s /proc/self/fd \
         /dev/fd\n\
         ln -s {MODULES}/$(uname -r) /run/kernel/lib/modules/$(uname -r)\n\
         printf '#!/bin/sh\\nexec {MODPROBE} -d /run/kernel \"$@\"\\n' >/run/modprobe && chmod 755 \
         /run/modprobe\n\
         echo /run/modprobe >/proc/sys/kernel/modprobe\n\
         ip link set lo up\n\
         for module in {modules}; do /run/modprobe $module || echo \"no module $module\"; done\n\
         cd /run && {program} --exact {name} --nocapture --test-threads=1\n\
         sync\n\
         echo o >/proc/sysrq-trigger\n\
         poweroff -f\n",
        dir = quoted(&dir.to_string_lossy()),
        modules = modules.join(" "),
        program = quoted(&program.to_string_lossy()),
    )
}

/// Returns `text` as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
