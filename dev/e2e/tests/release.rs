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

/// Returns the lines of shell in the steps of a definition of CI; lines that `\` joins are one.
fn commands(definition: &str) -> Vec<String> {
    let is_of_key = |c: char| c == ' ' || c == '-';
    let indent = |line: &str, is_indent: &dyn Fn(char) -> bool| {
        line.len() - line.trim_start_matches(is_indent).len()
    };
    let mut found = Vec::new();
    let mut lines = definition.lines().peekable();
    while let Some(line) = lines.next() {
        let key = indent(line, &is_of_key);
        let Some(command) = line[key..].strip_prefix("run: ") else { continue };
        if !command.starts_with(['|', '>']) {
            found.push(command.to_owned());
            continue;
        }
        let mut whole = String::new();
        let is_in_block = |line: &&str| line.trim().is_empty() || indent(line, &|c| c == ' ') > key;
        while let Some(line) = lines.next_if(is_in_block) {
            match line.trim().strip_suffix('\\') {
                Some(begin) => whole.push_str(begin),
                None => found.push(std::mem::take(&mut whole) + line.trim()),
            }
        }
    }
    found
}

/// Returns what a line of shell calls of ours: `make TARGET` for each target, and scripts.
fn called(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in line.split(['&', '|', ';', '(', ')']) {
        let words: Vec<&str> = command
            .split_whitespace()
            .map(|word| word.trim_matches(['"', '\'']))
            .skip_while(|word| word.contains('=') || ["if", "then", "!", "exec"].contains(word))
            .collect();
        let is_target = |word: &&&str| !word.contains('=') && !word.starts_with('-');
        match words.as_slice() {
            ["make", targets @ ..] => {
                found.extend(targets.iter().filter(is_target).map(|name| format!("make {name}")));
            }
            ["sh", script, ..] | [script, ..] => {
                let is_ours = ["dev/", ".ci/"].iter().any(|folder| script.starts_with(folder));
                found.extend(is_ours.then(|| (*script).to_owned()));
            }
            [] => {}
        }
    }
    found
}

/// Returns whether what [`called`] returned is there.
fn is_there(called: &str) -> bool {
    let Some(target) = called.strip_prefix("make ") else { return root().join(called).is_file() };
    let makefile = read("Makefile");
    let has_rule =
        makefile.lines().any(|line| line.strip_prefix(target).is_some_and(|l| l.starts_with(':')));
    let setups = makefile.lines().find_map(|line| line.strip_prefix("SETUPS := ")).unwrap();
    let part = target.strip_prefix("setup-");
    has_rule || part.is_some_and(|part| setups.split(' ').any(|setup| setup == part))
}

#[test]
fn definitions_of_ci_call_what_is_there() {
    let mut count = 0;
    for path in definitions() {
        let text = fs::read_to_string(&path).unwrap();
        for called in commands(&text).iter().flat_map(|line| called(line)) {
            assert!(is_there(&called), "{}: {called}", path.display());
            count += 1;
        }
    }
    assert!(count >= 6, "{count} calls");
}

#[test]
fn what_a_definition_of_ci_calls_is_read_from_each_line() {
    let definition = r#"
    steps:
      - run: .ci/run
      - name: More
        run: |
          apt-get install make procps
          make wheel no-such-target \
            JOBS=2 && sh dev/no-such.sh
        env:
          run: none
      - run: test -z "$(sh dev/to-fill-in.sh)"
      - run: CI=1 make setup-mongod setup-no-such
"#;
    let all: Vec<String> = commands(definition).iter().flat_map(|line| called(line)).collect();
    let (there, lacking): (Vec<&String>, Vec<&String>) = all.iter().partition(|it| is_there(it));
    assert_eq!(there, [".ci/run", "make wheel", "dev/to-fill-in.sh", "make setup-mongod"]);
    assert_eq!(lacking, ["make no-such-target", "dev/no-such.sh", "make setup-no-such"]);
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
    let verified = |(right, wrong): (&str, &str), dropin: &str| {
        let mut command = Command::new("systemd-analyze");
        command.arg("verify");
        for entry in fs::read_dir(root().join("packaging/systemd")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let unit = read(&format!("packaging/systemd/{name}"))
                .replace("/usr/bin/sealstone", program.to_str().unwrap())
                // its manual is installed with it
                .replace("Documentation=", "# ")
                .replace(right, wrong);
            fs::write(dir.path().join(&name), unit).unwrap();
            command.arg(dir.path().join(name.replace('@', "@pg")));
        }
        let base = "[Service]\nExecStart=/bin/true\n";
        fs::write(dir.path().join("sealstone-database.service"), base).unwrap();
        let folder = dir.path().join("sealstone-database.service.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("sealstone.conf"), dropin).unwrap();
        command.arg(dir.path().join("sealstone-database.service"));
        String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned()
    };
    let examples = ["database-on-a-volume", "mongod", "mariadb"];
    for example in examples.map(|name| read(&format!("packaging/examples/{name}.conf"))) {
        let said = verified(("Type=", "Type="), &example);
        // messages about other units of this machine do not matter
        assert!(!said.contains("sealstone-"), "{said}");
    }
    let example = read("packaging/examples/database-on-a-volume.conf");
    let misspelt = [("Type=", "Tipe="), ("OnCalendar=weekly", "OnCalendar=weakly")];
    for (right, wrong) in misspelt {
        let said = verified((right, wrong), &example.replace("After=", "Aftre="));
        let word = wrong.trim_start_matches("OnCalendar=").trim_end_matches('=');
        assert!(said.contains(word) && said.contains("Aftre"), "{word}: {said}");
    }
}

#[test]
fn units_use_what_their_examples_set() {
    let volume = (
        &["sealstone-volume@.service"][..],
        "examples/volume.conf",
        ["VOLUME", "MOUNTED_AT", "KEY", "OPTIONS"],
    );
    let monitoring = (
        &["sealstone-status.service", "sealstone-audit.service"][..],
        "examples/monitoring.conf",
        ["PLACES", "KEYS", "STATUS_OPTIONS", "AUDIT_OPTIONS"],
    );
    for (units, example, names) in [volume, monitoring] {
        let units: String =
            units.iter().map(|unit| read(&format!("packaging/systemd/{unit}"))).collect();
        let example = read(&format!("packaging/{example}"));
        let set: Vec<&str> = example
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        assert_eq!(set, names);
        for name in set {
            let used = [format!("${{{name}}}"), format!("${name} "), format!("${name}\n")];
            assert!(used.iter().any(|used| units.contains(used)), "{name}");
        }
    }
}

#[test]
fn what_nobody_filled_in_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("dev/to-fill-in.sh", &read("dev/to-fill-in.sh"));
    let list = || run(Command::new("sh").arg(dir.path().join("dev/to-fill-in.sh"))).done();
    let packages = "[workspace.package]\nversion = \"1.2.3\"\n";
    let dependencies = "[workspace.dependencies]\n\
        sealstone-a = { path = \"crates/a\", version = \"=1.2.3\" }\n\
        sealstone-b = { path = \"crates/b\" }\n";
    let repository = "repository = \"https://forge.example/sealstone\"\n";
    // a file, its text as it is left, and as it is filled in
    let places = [
        ("Cargo.toml", "", repository),
        ("adapters/python/pyproject.toml", "[project]\n", "[project]\n\n[project.urls]\n"),
        ("adapters/java/pom.xml", "<project>\n", "<project>\n  <url>https://x</url>\n"),
        ("adapters/java/spark/pom.xml", "<project>\n", "<project>\n  <url>https://x</url>\n"),
        (
            "CITATION.cff",
            "version: 1.2.3\ndate-released: 2026-12-01\n",
            "repository-code: https://x\ndate-released: 2026-12-31\n",
        ),
        (
            "SECURITY.md",
            "<security address: to be filled in by the publisher>\n",
            "Write to security@forge.example\n",
        ),
        (
            "dev/deb.sh",
            "Maintainer: us <sealstone@localhost>\n",
            "Maintainer: us <us@forge.example>\n",
        ),
        ("CHANGELOG.md", "## 1.2.3 (not yet published)\n", "## 1.2.3 (2026-12-31)\n"),
        ("README.md", "No release has been published yet: `make`\n", "Get it.\n"),
        ("README.ko.md", "아직 공개된 릴리스는 없으며\n", "설치\n"),
    ];
    let set = |path: &str, text: &str| match path {
        "Cargo.toml" => write(path, &format!("{packages}{text}{dependencies}")),
        _ => write(path, text),
    };
    for (path, left, _) in places {
        set(path, left);
    }
    write("crates/a/Cargo.toml", "[package]\nrepository.workspace = true\n");
    let before = list();
    for (path, _, filled_in) in places {
        assert!(before.contains(&format!("  {path}: ")), "{path}: {before}");
        set(path, filled_in);
    }
    assert_eq!(list(), "");
    // a day that is another than the changelog's, and a crate for others without the repository
    write("CITATION.cff", "repository-code: https://x\ndate-released: 2026-12-30\n");
    write("crates/a/Cargo.toml", "[package]\n");
    let after = list();
    assert!(after.contains("date-released: 2026-12-31"), "{after}");
    assert!(after.contains("crates/a/Cargo.toml: repository.workspace"), "{after}");
    assert_eq!(after.lines().count(), 3, "{after}");
}

#[test]
fn before_the_first_release_both_readmes_say_so() {
    // the script knows their sentences by the words
    let changelog = read("CHANGELOG.md");
    let versions: Vec<&str> = changelog.lines().filter(|line| line.starts_with("## ")).collect();
    if versions.len() > 1 || !versions[0].contains("not yet published") {
        return;
    }
    let listed = run(Command::new("sh").arg(root().join("dev/to-fill-in.sh"))).done();
    for page in ["README.md", "README.ko.md"] {
        assert!(listed.contains(&format!("{page}: that no release")), "{listed}");
    }
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
    let refused = |file: &str| {
        let mut command = Command::new("sh");
        command.arg(root().join("dev/tarball.sh")).args([built.path(), built.path(), out.path()]);
        let refused = run(&mut command);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        let said = format!("tarball: {file} still needs a library");
        assert!(refused.stderr.contains(&said), "{}", refused.stderr);
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
    };
    refused("sealstone");
    // a library is looked at like the program
    let fields = binary::fields_library();
    fs::copy(binary::rocksdb_plugin(), built.path().join(fields.file_name().unwrap())).unwrap();
    refused(fields.file_name().unwrap().to_str().unwrap());
}
