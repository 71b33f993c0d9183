//! Tests of `make install` and `make deb` on a build: that all of it is installed, and works from
//! there.
//!
//! Not here: a fresh Debian (`make test-deb`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_docs::links::resolve;
use sealstone_docs::page::Page;
use sealstone_e2e::binary;
use sealstone_e2e::transcript::{plain, run};
use tempfile::TempDir;

/// Returns a directory as cargo leaves it, with the program and the libraries under test.
fn build() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(binary::sealstone(), dir.path().join("sealstone")).unwrap();
    for library in [
        binary::wiredtiger_extension(),
        binary::mariadb_plugin(),
        binary::rocksdb_plugin(),
        binary::fields_library(),
    ] {
        fs::copy(library, dir.path().join(library.file_name().unwrap())).unwrap();
    }
    dir
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Returns the files below `dir`, as paths from it.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(dir).unwrap().to_owned()),
            }
        }
    }
    found
}

/// Returns the links of the pages below `doc` that lead to nothing there.
fn dead_links(doc: &Path) -> Vec<String> {
    let mut dead = Vec::new();
    for file in files(doc).iter().filter(|file| file.extension().is_some_and(|end| end == "md")) {
        let page = Page::parse(&fs::read_to_string(doc.join(file)).unwrap());
        let place = file.to_str().unwrap();
        let leads = |target: &str| {
            resolve(place, target).is_none_or(|(target, _)| doc.join(target).exists())
        };
        let of_page = page.links().filter(|link| !leads(&link.target));
        dead.extend(of_page.map(|link| format!("{place}:{}: {}", link.line, link.target)));
    }
    dead
}

/// Asserts that the installation below `root` is whole.
fn works(root: &Path) {
    for file in [
        "bin/sealstone",
        "lib/sealstone/libsealstone_wiredtiger.so",
        "lib/sealstone/libsealstone_mariadb.so",
        "lib/sealstone/libsealstone_rocksdb_plugin.so",
        "lib/sealstone/libsealstone_fields.so",
        "include/sealstone_fields.h",
        "include/sealstone_module.h",
        "include/sealstone_rocksdb.h",
        "share/bash-completion/completions/sealstone",
        "share/fish/vendor_completions.d/sealstone.fish",
        "share/doc/sealstone/README.md",
        "share/doc/sealstone/README.ko.md",
        "share/doc/sealstone/docs/guide/keys.md",
        "share/doc/sealstone/docs/ko/keys.md",
        "share/doc/sealstone/examples/volume.conf",
        // paths in the pages lead to them
        "share/doc/sealstone/CITATION.cff",
        "share/doc/sealstone/CONTRIBUTING.md",
        "share/doc/sealstone/adapters/fields-c/examples/people.c",
        "share/doc/sealstone/adapters/java/example/pom.xml",
        "share/doc/sealstone/adapters/modules/shim/reference.c",
        "share/doc/sealstone/adapters/rocksdb-plugin/examples/sealed_store.cc",
    ] {
        assert!(root.join(file).is_file(), "{file} is missing");
    }
    let doc = root.join("share/doc/sealstone");
    assert_eq!(dead_links(&doc), [""; 0]);
    // what stays in the repository is named instead
    let runs = fs::read_to_string(doc.join("results/runs.md")).unwrap();
    assert!(runs.contains("| main-job (`results/runs/main-job.json.gz` in the repository) |"));
    let man = fs::read_dir(root.join("share/man/man1")).unwrap().count();
    assert!(man > 20, "{man} manual pages");
    let dir = tempfile::tempdir().unwrap();
    let installed = |arguments: &[&str]| {
        run(plain(&root.join("bin/sealstone"), dir.path(), arguments)
            .env_remove("SEALSTONE_WT_EXTENSION"))
        .done()
    };
    assert!(installed(&["--version"]).starts_with("sealstone "));
    installed(&["keys", "new", "store.key"]);
    let options = installed(&["mongo", "config", "--dbpath", "db", "--key", "store.key"]);
    let extension = root.canonicalize().unwrap().join("lib/sealstone/libsealstone_wiredtiger.so");
    assert!(options.contains(extension.to_str().unwrap()), "{options}");
}

#[test]
fn an_installation_is_whole() {
    let (built, root) = (build(), tempfile::tempdir().unwrap());
    let install = || {
        run(Command::new("sh").arg(script("install.sh")).arg(built.path()).arg(root.path())).done()
    };
    install();
    works(root.path());
    // over an older one
    install();
    works(root.path());
    assert!(root.path().join("share/zsh/site-functions/_sealstone").is_file());
}

#[test]
fn a_package_installs_and_runs() {
    for program in ["dpkg-deb", "dpkg-shlibdeps", "strip"] {
        if !Command::new(program)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
        {
            println!("SKIP: a_package_installs_and_runs: {program} is not installed");
            return;
        }
    }
    let (built, out) = (build(), tempfile::tempdir().unwrap());
    let mut make = Command::new("sh");
    // compressing takes most of the time
    make.arg(script("deb.sh"))
        .arg(built.path())
        .arg(out.path())
        .env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    let made = run(&mut make).done();
    let package = made.trim_end();
    let field = |name: &str| run(Command::new("dpkg-deb").args(["--field", package, name])).done();
    assert_eq!(field("Version").trim(), env!("CARGO_PKG_VERSION"));
    let recommends = field("Recommends");
    for needed in ["e2fsprogs", "iproute2", "mount"] {
        assert!(recommends.contains(needed), "{recommends}");
    }
    let depends = field("Depends");
    assert!(depends.contains("libc6 (>= ") && depends.contains("librocksdb"), "{depends}");
    let root = tempfile::tempdir().unwrap();
    for dir in ["var/lib/dpkg/updates", "var/lib/dpkg/info"] {
        fs::create_dir_all(root.path().join(dir)).unwrap();
    }
    fs::write(root.path().join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = |arguments: &[&str]| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.path().display()));
        // its dependencies are on this machine, not in that root
        command.args(["--force-depends", "--force-not-root", "--force-script-chrootless"]);
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        run(command.args(arguments).env("PATH", path))
    };
    dpkg(&["--install", package]).done();
    works(&root.path().join("usr"));
    for file in [
        "mysql/plugin/libsealstone_mariadb.so",
        "systemd/system/sealstone-volume@.service",
        "systemd/system/sealstone-status.service",
        "systemd/system/sealstone-status.timer",
        "systemd/system/sealstone-audit.service",
        "systemd/system/sealstone-audit.timer",
    ] {
        // a link is followed: what it names is there
        assert!(root.path().join("usr/lib").join(file).is_file(), "{file} is missing");
    }
    let page = root.path().join("usr/share/man/man1/sealstone-compare.1.gz");
    assert!(
        page.is_file() && root.path().join("usr/share/zsh/vendor-completions/_sealstone").is_file()
    );
    // as systemctl enables a unit of the package, and one that the administrator wrote
    let units = root.path().join("etc/systemd/system");
    let (volumes, timers) =
        (units.join("multi-user.target.wants"), units.join("timers.target.wants"));
    let enabled = [
        (
            volumes.join("sealstone-volume@pg.service"),
            "/lib/systemd/system/sealstone-volume@.service",
        ),
        (timers.join("sealstone-audit.timer"), "/usr/lib/systemd/system/sealstone-audit.timer"),
    ];
    let of_administrator = volumes.join("sealstone-wire.service");
    fs::create_dir_all(&volumes).unwrap();
    fs::create_dir_all(&timers).unwrap();
    for (link, unit) in &enabled {
        symlink(unit, link).unwrap();
    }
    symlink("/etc/systemd/system/sealstone-wire.service", &of_administrator).unwrap();
    // an upgrade leaves them enabled
    dpkg(&["--install", package]).done();
    assert!(enabled.iter().all(|(link, _)| link.is_symlink()));
    dpkg(&["--remove", "sealstone"]).done();
    assert!(!root.path().join("usr/bin").exists() && !root.path().join("usr/lib").exists());
    assert!(enabled.iter().all(|(link, _)| !link.is_symlink()) && of_administrator.is_symlink());
    // nothing is left that only `--purge` would remove
    let status = fs::read_to_string(root.path().join("var/lib/dpkg/status")).unwrap();
    assert!(!status.contains("config-files"), "{status}");
}
