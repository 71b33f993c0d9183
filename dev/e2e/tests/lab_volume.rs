//! Servers of a lab on a sealed volume: nothing of theirs in the clear, one volume for all of them,
//! its end and its return, a killed process, and what is refused.

use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_e2e::volume_place::{holds, is_skipped, tool};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{
    MARIADB_PROGRAM, MONGOD_PROGRAM, POSTGRES_PROGRAM, Program, REDIS_PROGRAM, SSDB_PROGRAM,
};
use serde_json::Value;

const MARKER: &str = "a text that no thief of the disk may read";

/// A directory with a lab in it, which ends however the test ends.
struct Home(tempfile::TempDir);

impl Home {
    fn lab(&self, arguments: &[&str]) -> Transcript {
        println!("sealstone lab {}", arguments.join(" "));
        run(&mut sealstone(self.0.path(), &[&["lab"], arguments].concat()))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the members that `lab status` lists, each with its kind.
    fn members(&self) -> Vec<(String, Value)> {
        let status = self.lab(&["status", "lab", "--json"]).stdout;
        let status: Value = serde_json::from_str(&status).unwrap();
        let kinds = status["servers"].as_array().unwrap().iter();
        kinds
            .flat_map(|kind| {
                let name = kind["server"].as_str().unwrap().to_owned();
                kind["members"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(move |one| (name.clone(), one.clone()))
            })
            .collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.lab(&["down", "lab"]);
    }
}

fn sql(address: &str, text: &str) -> String {
    tool("psql", &[address, "--quiet", "--no-align", "--tuples-only", "--command", text])
}

fn is_mounted(at: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(1) == at.to_str())
}

#[test]
fn servers_of_a_lab_are_on_a_sealed_volume() {
    let test = "servers_of_a_lab_are_on_a_sealed_volume";
    if !is_installed(&POSTGRES_PROGRAM, test) || !is_installed(&REDIS_PROGRAM, test) {
        return;
    }
    let home = Home(reachable());
    let up = ["up", "postgres", "--dir", "lab", "--cipher", "aria-256", "--size", "2GiB"];
    let started = home.lab(&up);
    if is_skipped(test, &started) {
        return;
    }
    let started = started.done();
    assert!(started.starts_with("postgres://sealstone@127.0.0.1:"), "{started}");
    let address = started.split_whitespace().next().unwrap();
    sql(
        address,
        &format!("create table t (a text); insert into t values ('{MARKER}'); checkpoint"),
    );

    // another server joins it, which needs no word about sealing, and is told about one
    let joins = home.lab(&["up", "redis", "--dir", "lab"]);
    assert!(joins.done().starts_with("redis://"), "another address first");
    let again = home.lab(&["up", "mariadb", "--dir", "lab", "--cipher", "aria-256"]);
    let has_one = "sealstone: the lab in lab has a sealed volume, and what joins it is on that\n";
    assert!(again.stderr.starts_with(has_one), "{}", again.stderr);
    let members = home.members();
    let kinds: Vec<&str> = members.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["redis", "postgres", "volume"]);
    for (kind, member) in &members {
        assert_eq!((&member["sealed"], &member["serves"]), (&true.into(), &true.into()), "{kind}");
    }
    assert!(members[1].1["data_dir"].as_str().unwrap().contains("/lab/lab.files/servers/"));
    assert!(
        holds(&home.at("lab/lab.files"), MARKER.as_bytes()),
        "it is readable through the mount"
    );

    // the process that serves the volume is killed, and the server with it
    let volume = members[2].1["pid"].as_i64().unwrap();
    kill(Pid::from_raw(volume as i32), Signal::SIGKILL).unwrap();
    home.lab(&["down", "lab"]).done();
    assert!(!is_mounted(&home.at("lab/lab.files")));
    let members = home.members();
    assert_eq!((members.len(), &members[0].1["state"]), (1, &"down".into()), "{members:?}");
    let names = [MARKER.as_bytes(), b"PG_VERSION", b"postgres.log"];
    for name in names {
        assert!(!holds(&home.at("lab"), name), "{}", String::from_utf8_lossy(name));
    }
    let joins = home.lab(&["up", "mariadb", "--dir", "lab"]);
    let down = "sealstone: the volume of the lab in lab is not mounted\n  start what is there \
                first: sealstone lab up --dir lab\n";
    joins.fails_with(down);

    let back = home.lab(&["up", "--dir", "lab"]).done();
    assert!(back.contains(address), "{back}");
    assert_eq!(sql(address, "select a from t").trim(), MARKER);
    assert!(home.lab(&["up", "postgres", "--dir", "lab"]).stderr.contains("runs already in "));
    assert_eq!(home.lab(&["down", "lab"]).done(), "2 servers stopped\n");
    assert_eq!(home.lab(&["down", "lab"]).done(), "nothing ran\n");
    let verify = ["volume", "verify", "lab/lab.volume", "--key", "lab/lab.key"];
    let whole = run(&mut sealstone(home.0.path(), &verify)).done();
    assert!(whole.starts_with("lab/lab.volume is whole: "), "{whole}");
}

/// A server that could seal its files itself, or that nobody packages, is started on a volume,
/// which has all of its files; it comes back on it.
fn is_on_the_volume_of_its_lab(test: &str, kind: &str, program: &Program) {
    if !is_installed(program, test) {
        return;
    }
    let home = Home(reachable());
    let sealed = ["--seal", "volume", "--cipher", "lea-256", "--size", "2GiB"];
    let started = home.lab(&[&["up", kind, "--dir", "lab"], &sealed[..]].concat());
    if is_skipped(test, &started) {
        return;
    }
    let address = started.done().split_whitespace().next().unwrap().to_owned();
    for _ in 0..2 {
        let members = home.members();
        // some have several members
        let mut kinds: Vec<&str> = members.iter().map(|(kind, _)| kind.as_str()).collect();
        kinds.dedup();
        assert_eq!(kinds, [kind, "volume"]);
        let member = &members[0].1;
        assert_eq!((&member["sealed"], &member["serves"]), (&true.into(), &true.into()));
        let data = member["data_dir"].as_str().unwrap();
        assert!(data.contains("/lab/lab.files/servers/"), "{data}");
        // unmounted, none of its files is left
        home.lab(&["down", "lab"]).done();
        assert!(!Path::new(data).exists(), "{data} is in the clear");
        assert!(home.lab(&["up", "--dir", "lab"]).done().contains(&address));
    }
}

#[test]
fn a_mariadb_is_on_the_volume_of_its_lab() {
    let test = "a_mariadb_is_on_the_volume_of_its_lab";
    is_on_the_volume_of_its_lab(test, "mariadb", &MARIADB_PROGRAM);
}

#[test]
fn a_mongod_is_on_the_volume_of_its_lab() {
    let test = "a_mongod_is_on_the_volume_of_its_lab";
    is_on_the_volume_of_its_lab(test, "mongodb", &MONGOD_PROGRAM);
}

#[test]
fn an_ssdb_is_on_the_volume_of_its_lab() {
    is_on_the_volume_of_its_lab("an_ssdb_is_on_the_volume_of_its_lab", "ssdb", &SSDB_PROGRAM);
}

#[test]
fn what_cannot_be_sealed_so_is_refused_before_anything_is_made() {
    let home = Home(reachable());
    let refusals: [(&[&str], &str); 6] = [
        (&["redis", "--seal", "own", "--cipher", "aes-256"], "redis does not seal its files\n"),
        (&["redis", "--seal", "volume"], "no cipher and no key to seal with\n"),
        (&["redis", "--size", "1GiB"], "no cipher and no key to seal with\n"),
        (&["redis", "--cipher", "arai"], "unknown cipher"),
        (&["mongodb", "--cipher", "aes-256", "--size", "1GiB"], "--size is that of a volume\n"),
        (&["redis", "--cipher", "aes-256", "--extension", "x"], "--extension is a library that "),
    ];
    for (arguments, said) in refusals {
        let refused = home.lab(&[&["up"], arguments, &["--dir", "lab"]].concat());
        if is_skipped("what_cannot_be_sealed_so_is_refused_before_anything_is_made", &refused) {
            return;
        }
        let is_missing = refused.stderr.contains("found: looked ");
        assert!(refused.code == Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(said) || is_missing, "{}", refused.stderr);
    }
    assert!(!home.at("lab").exists());
}
