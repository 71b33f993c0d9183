//! Wherever a list of approved algorithms is named, the same text states that Sealstone is no
//! validated module: in the pages, in every page of help, in what commands print and write. What
//! the commands of the pages print is looked at as they are run (`pages.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use sealstone_e2e::approved_lists::is_misleading;
use sealstone_e2e::help::pages;
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

#[test]
fn every_page_of_help_says_it() {
    let pages = pages();
    let texts = || pages.iter().flat_map(|page| [&page.short, &page.long]);
    assert!(texts().count() > 80, "{} pages of help", texts().count());
    let found: Vec<_> = texts().filter(|text| is_misleading(text)).collect();
    assert!(found.is_empty(), "these name a list alone: {found:#?}");
    assert!(texts().any(|text| text.to_lowercase().contains("kcmvp")));
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
