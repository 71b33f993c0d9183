//! Wherever a list of approved algorithms is named, the same text says that Sealstone is no
//! validated module: in the pages, in every page of help, in what commands print and write. What
//! the commands of the pages print is looked at as they are run (`pages.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use sealstone_e2e::approved_lists::is_misleading;
use sealstone_e2e::transcript::{run, sealstone};

/// Pages outside of docs/ that are for users.
const PAGES: [&str; 5] =
    ["README.md", "README.ko.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_page_says_it() {
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|page| root().join(page)).collect();
    let mut folders = vec![root().join("docs"), root().join("results")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                Some(ending) if ending == "md" => pages.push(path),
                _ if path.is_dir() => folders.push(path),
                _ => {}
            }
        }
    }
    let misleading = |page: &&PathBuf| is_misleading(&fs::read_to_string(page).unwrap());
    let found: Vec<_> = pages.iter().filter(misleading).collect();
    assert!(found.is_empty(), "these name a list alone: {found:#?}");
}

/// Returns the pages of help of the command `path` and of those below it, both the short and the
/// long ones.
fn help(path: &[String], pages: &mut Vec<(String, String)>) {
    let ask = |flag: &str| {
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain([flag]).collect();
        run(&mut sealstone(Path::new("."), &arguments)).done()
    };
    let short = ask("-h");
    let commands = short.split("\nCommands:\n").nth(1).map(str::to_owned).unwrap_or_default();
    pages.push((path.join(" "), short));
    pages.push((path.join(" "), ask("--help")));
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        // what a command does goes on in lines that are further in
        let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
        let name = name.and_then(|line| line.split(' ').next()).filter(|name| *name != "help");
        if let Some(name) = name {
            help(&[path, &[name.to_owned()]].concat(), pages);
        }
    }
}

#[test]
fn every_page_of_help_says_it() {
    let mut pages = Vec::new();
    help(&[], &mut pages);
    assert!(pages.len() > 80, "{} pages of help", pages.len());
    let found: Vec<_> = pages.iter().filter(|(_, page)| is_misleading(page)).collect();
    assert!(found.is_empty(), "these name a list alone: {found:#?}");
    assert!(pages.iter().any(|(_, page)| page.to_lowercase().contains("kcmvp")));
}

#[test]
fn every_answer_says_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    fs::write(path.join("people.csv"), "name,phone\n홍길동,010-1234-5678\n").unwrap();
    run(&mut sealstone(path, &["keys", "new", "people.key"])).done();
    let small = ["--records=200", "--operations=200", "--rounds=1", "--set=pairs=6"];
    let compare = ["compare", "--store=rocksdb", "--layer=field", "--workloads=c", "--quiet"];
    let compare = [&compare[..], &small, &["--set=slice-ms=1", "--ciphers=none,aria-256"]].concat();
    let seal = ["field", "seal", "people.csv", "--key=people.key", "--column=phone=ff1:phone"];
    let said: Vec<String> = [
        &["ciphers"][..],
        &["ciphers", "--json"],
        &["ciphers", "--ciphers=aria-256"],
        &["wire", "suites"],
        &["wire", "suites", "--json"],
        &[&compare[..], &["--policy=kcmvp"]].concat(),
        &[&compare[..], &["--policy=fips", "--out=fips"]].concat(),
        &[&compare[..], &["--json", "--policy=kcmvp", "--out=json"]].concat(),
        &[&seal[..], &["--out=a.csv", "--approved=kcmvp"]].concat(),
        &[&seal[..], &["--out=b.csv", "--json"]].concat(),
    ]
    .iter()
    .map(|arguments| {
        let done = run(&mut sealstone(path, arguments));
        let is_refused = arguments.contains(&"--approved=kcmvp");
        assert_eq!(done.code, Some(if is_refused { 2 } else { 0 }), "{done:?}");
        format!("{arguments:?}\n{}{}", done.stdout, done.stderr)
    })
    .collect();
    let found: Vec<&String> = said
        .iter()
        .filter(|said| is_misleading(said.split_once('\n').map_or("", |(_, said)| said)))
        .collect();
    assert!(found.is_empty(), "these name a list alone: {found:#?}");
    for out in ["sealstone-results", "fips", "json"] {
        let report = fs::read_to_string(path.join(out).join("report.html")).unwrap();
        assert!(!is_misleading(&report), "{out}: the report names a list alone");
    }
}
