//! Parts of a release besides the program: the definitions of CI, units and drop-ins for
//! systemd, the version, and the scripts that make it.
//!
//! Not here: an installation (`package.rs`), a fresh Debian (`make test-release`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_e2e::binary;
use sealstone_e2e::transcript::run;
use sealstone_servers::cache_directory;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the definitions of CI.
fn definitions() -> Vec<PathBuf> {
    let dir = fs::read_dir(root().join(".github/workflows")).unwrap();
    let mut found: Vec<_> = dir.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

#[test]
fn definitions_of_ci_have_the_form_of_their_forge() {
    let linter = cache_directory().join("workflows/bin/check-jsonschema");
    if !linter.is_file() {
        println!(
            "SKIP: definitions_of_ci_have_the_form_of_their_forge: no check-jsonschema \
             (make setup-workflows)"
        );
        return;
    }
    let check = |files: &[PathBuf]| {
        let mut command = Command::new(&linter);
        run(command.args(["--builtin-schema", "vendor.github-workflows"]).args(files))
    };
    check(&definitions()).done();
    // and it would not take whatever it is given
    let dir = tempfile::tempdir().unwrap();
    let wrong = dir.path().join("ci.yml");
    fs::write(&wrong, read(".github/workflows/ci.yml").replace("runs-on:", "run-on:")).unwrap();
    assert_ne!(check(&[wrong]).code, Some(0));
}

#[test]
fn definitions_of_ci_call_what_is_there() {
    let mut called = 0;
    for path in definitions() {
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().map(|line| line.trim_start_matches(['-', ' '])) {
            let Some(command) = line.strip_prefix("run: ") else { continue };
            if let Some(target) = command.strip_prefix("make ") {
                let target = target.split(' ').next().unwrap();
                assert!(read("Makefile").contains(&format!("\n{target}: ")), "make {target}");
                called += 1;
            } else if command == ".ci/run" {
                assert!(root().join(".ci/run").is_file());
                called += 1;
            }
        }
    }
    assert!(called >= 2, "{called} commands");
}

#[test]
fn crates_for_others_can_be_packed() {
    let packages: Vec<String> = read("Cargo.toml")
        .lines()
        .filter(|line| line.starts_with("sealstone-") && line.contains("version = "))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert!(packages.len() >= 12, "{packages:?}");
    let target = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(["package", "--locked", "--offline", "--no-verify", "--allow-dirty", "--quiet"]);
    command.args(packages.iter().flat_map(|package| ["--package", package]));
    run(command.arg("--target-dir").arg(target.path()).current_dir(root())).done();
    for package in &packages {
        let name = format!("{package}-{}", env!("CARGO_PKG_VERSION"));
        let packed = target.path().join(format!("package/{name}.crate"));
        let files = run(Command::new("tar").arg("-tzf").arg(&packed)).done();
        let has = |file: &str| files.lines().any(|line| line == format!("{name}/{file}"));
        assert!(has("README.md") && has("src/lib.rs"), "{files}");
        // what the conformance suite compiles in is outside of the crate
        assert_eq!(has("vectors/aes.txt"), package == "sealstone-cipher", "{package}");
    }
}

#[test]
fn the_version_is_the_same_everywhere() {
    let version = env!("CARGO_PKG_VERSION");
    let printed = run(Command::new(binary::sealstone()).arg("--version")).done();
    assert!(printed.starts_with(&format!("sealstone {version}")), "{printed}");
    assert!(read("CHANGELOG.md").contains(&format!("\n## {version} ")));
}

#[test]
fn units_for_systemd_are_taken() {
    let version = Command::new("systemd-analyze").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("SKIP: units_for_systemd_are_taken: no systemd-analyze here");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let program = binary::sealstone();
    let unit = read("packaging/systemd/sealstone-volume@.service")
        .replace("/usr/bin/sealstone", program.to_str().unwrap())
        // its manual is installed with it
        .replace("Documentation=", "# ");
    let verified = |unit: &str, dropin: &str| {
        fs::write(dir.path().join("sealstone-volume@.service"), unit).unwrap();
        let base = "[Service]\nExecStart=/bin/true\n";
        fs::write(dir.path().join("sealstone-database.service"), base).unwrap();
        let folder = dir.path().join("sealstone-database.service.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("sealstone.conf"), dropin).unwrap();
        let mut command = Command::new("systemd-analyze");
        command.arg("verify").arg(dir.path().join("sealstone-volume@pg.service"));
        command.arg(dir.path().join("sealstone-database.service"));
        String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
    };
    let examples = ["database-on-a-volume", "mongod", "mariadb"];
    for example in examples.map(|name| read(&format!("packaging/examples/{name}.conf"))) {
        let said = verified(&unit, &example);
        // messages about other units of this machine do not matter
        assert!(!said.contains("sealstone-"), "{said}");
    }
    let example = read("packaging/examples/database-on-a-volume.conf");
    let said = verified(&unit.replace("Type=", "Tipe="), &example.replace("After=", "Aftre="));
    assert!(said.contains("Tipe") && said.contains("Aftre"), "{said}");
}

#[test]
fn the_unit_of_a_volume_uses_what_its_example_sets() {
    let unit = read("packaging/systemd/sealstone-volume@.service");
    let example = read("packaging/examples/volume.conf");
    let set: Vec<&str> = example
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    assert_eq!(set, ["VOLUME", "MOUNTED_AT", "KEY", "OPTIONS"]);
    for name in set {
        let used = [format!("${{{name}}}"), format!("${name}")];
        assert!(used.iter().any(|used| unit.contains(used)), "{name}");
    }
}

#[test]
fn what_nobody_filled_in_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("dev")).unwrap();
    let write = |path: &str, text: &str| fs::write(dir.path().join(path), text).unwrap();
    write("dev/to-fill-in.sh", &read("dev/to-fill-in.sh"));
    write("Cargo.toml", "[workspace.package]\n");
    write("SECURITY.md", "<security address: to be filled in by the publisher>\n");
    write("dev/deb.sh", "Maintainer: us <sealstone@localhost>\n");
    let list = || run(Command::new("sh").arg(dir.path().join("dev/to-fill-in.sh"))).done();
    let before = list();
    for place in ["Cargo.toml", "SECURITY.md", "dev/deb.sh"] {
        assert!(before.contains(place), "{before}");
    }
    write("Cargo.toml", "[workspace.package]\nrepository = \"https://forge.example/sealstone\"\n");
    write("SECURITY.md", "Write to security@forge.example\n");
    write("dev/deb.sh", "Maintainer: us <us@forge.example>\n");
    assert_eq!(list(), "");
}

#[test]
fn a_wheel_has_the_licences_that_are_put_beside_its_project() {
    let project = read("adapters/python/pyproject.toml");
    let named = project.lines().find_map(|line| line.strip_prefix("license-files = [")).unwrap();
    let named: Vec<&str> =
        named.trim_end_matches(']').split(", ").map(|file| file.trim_matches('"')).collect();
    let makefile = read("Makefile");
    let put = makefile
        .lines()
        .find_map(|line| line.strip_prefix("WHEEL_LICENCES := $(addprefix adapters/python/,"))
        .unwrap();
    assert_eq!(named, put.trim_end_matches(')').split(' ').collect::<Vec<_>>());
    assert!(named.contains(&"LICENCES-THIRD-PARTY.txt"), "{named:?}");
}

#[test]
fn a_tarball_with_a_foreign_library_is_refused() {
    let (built, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::copy(binary::sealstone(), built.path().join("sealstone")).unwrap();
    for library in [
        binary::wiredtiger_extension(),
        binary::mariadb_plugin(),
        binary::rocksdb_plugin(),
        binary::fields_library(),
    ] {
        fs::copy(library, built.path().join(library.file_name().unwrap())).unwrap();
    }
    let mut command = Command::new("sh");
    command.arg(root().join("dev/tarball.sh")).args([built.path(), built.path(), out.path()]);
    let refused = run(&mut command);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("still needs a library"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
}
