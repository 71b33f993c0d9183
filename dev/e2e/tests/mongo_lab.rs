//! Labs of MongoDB that outlive their command, options with which a real mongod starts, the output
//! of `sealstone mongo check`, and the exact text of errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_cipher::{Provider, cipher_row};
use sealstone_e2e::binary::wiredtiger_extension;
use sealstone_e2e::kmip_cases::Place;
use sealstone_e2e::kmip_server::Kind;
use sealstone_e2e::transcript::{Transcript, finish, run, sealstone};
use sealstone_keys::{KeyFile, KeySource, Keyring, KmipSource};
use sealstone_seal::Fingerprint;
use sealstone_servers::testing::is_installed;
use sealstone_servers::{
    MONGOD_PROGRAM, Mongod, MongodOptions, PYKMIP_PROGRAM, PyKmip, PyKmipOptions, ReplicaSet,
};
use sealstone_wiredtiger::{EngineOptions, Settings};
use serde_json::Value;
use tempfile::TempDir;

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn available(name: &str) -> bool {
    is_installed(&MONGOD_PROGRAM, name)
}

/// Runs the command with the extension named by its variable.
fn runs_sealstone(dir: &Path, arguments: &[&str]) -> Transcript {
    println!("sealstone {}", arguments.join(" "));
    run(sealstone(dir, arguments).env("SEALSTONE_WT_EXTENSION", wiredtiger_extension()))
}

fn mongo(dir: &Path, arguments: &[&str]) -> Transcript {
    runs_sealstone(dir, &[&["mongo"], arguments].concat())
}

fn sealstone_lab(dir: &Path, arguments: &[&str]) -> Transcript {
    runs_sealstone(dir, &[&["lab"], arguments].concat())
}

fn fails(dir: &Path, arguments: &[&str], want: &str) {
    runs_sealstone(dir, arguments).fails_with(want);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
}

fn pids(standing: &Value) -> Vec<i64> {
    standing["servers"][0]["members"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|member| member["pid"].as_i64())
        .collect()
}

fn runs(pid: i64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Command lines of the processes that have something to do with the directory `lab`.
fn processes_in(lab: &Path) -> Vec<String> {
    let lab = lab.canonicalize().unwrap().display().to_string();
    let lines = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.contains(&lab))
        .collect()
}

/// Ends the lab in a directory, however the test ends.
struct Down<'a>(&'a Path);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        let labs = ["lab", "sealstone-lab"].into_iter().filter(|lab| self.0.join(lab).exists());
        labs.for_each(|lab| drop(run(&mut sealstone(self.0, &["lab", "down", lab]))));
    }
}

#[test]
fn a_sealed_lab_goes_up_and_down_and_up_again() {
    if !available("a_sealed_lab_goes_up_and_down_and_up_again") {
        return;
    }
    let dir = empty();
    let _down = Down(dir.path());
    let up = ["up", "mongodb", "--dir", "lab", "--nodes", "2", "--cipher", "aria-256", "--json"];
    let started = json(&sealstone_lab(dir.path(), &up).done());
    assert_eq!(pids(&started).len(), 2);
    assert!(pids(&started).into_iter().all(runs));
    assert!(started["servers"][0]["uri"].as_str().unwrap().ends_with("/?replicaSet=sealstone"));

    // a lab that runs is one that is up
    let again = sealstone_lab(dir.path(), &["up", "--dir", "lab", "--json"]);
    assert_eq!(again.stderr, "runs already in lab\n");
    assert_eq!(pids(&json(&again.done())), pids(&started));

    let status = sealstone_lab(dir.path(), &["status", "lab"]).done();
    assert!(
        status.contains("PRIMARY") && status.contains("SECONDARY") && !status.contains(" no "),
        "{status}"
    );
    for member in started["servers"][0]["members"].as_array().unwrap() {
        let data = member["data_dir"].as_str().unwrap();
        let text = mongo(dir.path(), &["check", data]).done();
        assert!(
            text.contains("every block of data and every record of the journal is sealed\n"),
            "{text}"
        );
        for clear in ["WiredTiger.turtle (", "storage.bson (", "diagnostic.data/ (", "the log, "] {
            assert!(text.contains(clear), "{clear} in:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let audit = json(&run(&mut sealstone(dir.path(), &["audit", data, "--json"])).done());
        let share = &audit["places"][0]["sealed"][0];
        assert_eq!((&share["cipher"], &share["mode"]), (&"aria-256".into(), &"gcm".into()));
        let report = json(&mongo(dir.path(), &["check", data, "--json"]).done());
        let unknown: Vec<&Value> = report["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|file| file["content"] == "unknown")
            .collect();
        assert!(unknown.is_empty(), "{unknown:#?}");
        let journal = |file: &&Value| file["content"] == "journal" && file["standing"] == "sealed";
        assert!(
            report["files"].as_array().unwrap().iter().any(|file| journal(&file)),
            "{report:#}"
        );
    }

    assert_eq!(sealstone_lab(dir.path(), &["down", "lab"]).done(), "2 servers stopped\n");
    assert!(!pids(&started).into_iter().any(runs));
    assert_eq!(sealstone_lab(dir.path(), &["status", "lab"]).code, Some(1), "none of them serves");
    // a server that stopped in order left the name of its key
    for member in started["servers"][0]["members"].as_array().unwrap() {
        let data = member["data_dir"].as_str().unwrap();
        let report = json(&mongo(dir.path(), &["check", data, "--json"]).done());
        assert_eq!(report["key_id"], "lab", "{:#}", report["sealed"]);
    }
    assert_eq!(sealstone_lab(dir.path(), &["down", "lab"]).done(), "nothing ran\n");
    fails(
        dir.path(),
        &["lab", "up", "mongodb", "--dir", "lab", "--nodes", "3"],
        &format!(
            "sealstone: the lab in {} is started again as it was, and takes no settings\n  \
             leave the flags out, or choose another directory\n",
            dir.path().join("lab").canonicalize().unwrap().display()
        ),
    );
    let back = json(&sealstone_lab(dir.path(), &["up", "--dir", "lab", "--json"]).done());
    assert_eq!(back["servers"][0]["uri"], started["servers"][0]["uri"], "the ports are kept");
}

#[test]
fn a_lab_in_the_clear_is_reported() {
    if !available("a_lab_in_the_clear_is_reported") {
        return;
    }
    let dir = empty();
    let _down = Down(dir.path());
    let started = json(
        &sealstone_lab(dir.path(), &["up", "mongodb", "--dir", "lab", "--nodes", "1", "--json"])
            .done(),
    );
    assert_eq!(started["servers"][0]["members"][0]["sealed"], false);
    sealstone_lab(dir.path(), &["down", "lab"]).done();
    let data = started["servers"][0]["members"][0]["data_dir"].as_str().unwrap();
    let found = mongo(dir.path(), &["check", data]);
    assert_eq!(found.code, Some(1));
    assert!(found.stdout.contains("nothing is sealed:\n"), "{}", found.stdout);
    assert!(found.stdout.contains("resync this member with the extension"), "{}", found.stdout);
    // as does an audit
    let audit = run(&mut sealstone(dir.path(), &["audit", data, "--json"]));
    let open = &json(&audit.stdout)["verdict"]["open"][0]["what"];
    assert_eq!((audit.code, open), (Some(1), &"clear".into()));
    // options for such a directory come with a warning
    run(&mut sealstone(dir.path(), &["keys", "new", "orders.key"])).done();
    let config = mongo(dir.path(), &["config", "--dbpath", data, "--key", "orders.key"]);
    assert!(config.stderr.contains("contains data in the clear"), "{}", config.stderr);
    config.done();
}

/// The cipher comes with the key, a rotated key seals from the next start on, and without its
/// server nothing starts.
#[test]
fn a_lab_takes_its_key_from_a_key_server() {
    let test = "a_lab_takes_its_key_from_a_key_server";
    if !available(test) {
        return;
    }
    let Some(mut kms) = Place::start(Kind::PyKmip, test) else { return };
    let url = |key: &str| kms.certificates.url(kms.server.port, key, "&retries=0");
    let ring = Keyring::open(&url("")).unwrap();
    ring.create("orders", cipher_row("aria-256")).unwrap();
    let dir = empty();
    let _down = Down(dir.path());
    let up = ["up", "mongodb", "--dir", "lab", "--nodes", "1", "--key", &url("orders"), "--json"];
    let started = json(&sealstone_lab(dir.path(), &up).done());
    let data = started["servers"][0]["members"][0]["data_dir"].as_str().unwrap();
    let shares = || -> BTreeSet<(String, u64)> {
        let report = json(&mongo(dir.path(), &["check", data, "--json"]).done());
        let shares = report["sealed"].as_array().unwrap().iter();
        let share = |share: &Value| {
            (share["cipher"].as_str().unwrap().into(), share["key_version"].as_u64().unwrap())
        };
        shares.map(share).collect()
    };
    assert_eq!(shares(), BTreeSet::from([("aria-256".into(), 1)]));
    sealstone_lab(dir.path(), &["down", "lab"]).done();
    ring.rotate("orders").unwrap();
    sealstone_lab(dir.path(), &["up", "--dir", "lab"]).done();
    assert_eq!(shares(), BTreeSet::from([("aria-256".into(), 1), ("aria-256".into(), 2)]));

    kms.server.kill();
    sealstone_lab(dir.path(), &["down", "lab"]).done();
    let refused = sealstone_lab(dir.path(), &["up", "--dir", "lab"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(refused.stderr.contains("no key server answered"), "{}", refused.stderr);
    assert_eq!(sealstone_lab(dir.path(), &["down", "lab"]).done(), "nothing ran\n");
}

/// Returns whether there is a PyKMIP; prints SKIP if not.
fn has_key_server(name: &str) -> bool {
    is_installed(&PYKMIP_PROGRAM, name)
}

/// The lines as the guide has them: the key lives in a key server of the lab's own, which comes
/// first and goes last.
#[test]
fn a_lab_has_its_own_key_server() {
    let test = "a_lab_has_its_own_key_server";
    if !available(test) || !has_key_server(test) {
        return;
    }
    let dir = empty();
    let _down = Down(dir.path());
    let up = ["up", "mongodb", "--nodes", "3", "--cipher", "aria-256", "--kmip"];
    let started = sealstone_lab(dir.path(), &up);
    assert!(
        started.stderr.contains("made key lab-aria-256 on the key server at 127.0.0.1:"),
        "{}",
        started.stderr
    );
    assert!(started.done().contains("\npykmip   127.0.0.1:"));
    let lab = dir.path().join("sealstone-lab").canonicalize().unwrap();
    let standing = || json(&sealstone_lab(dir.path(), &["status", "--json"]).stdout);
    let started = standing();
    assert_eq!(pids(&started).len(), 3);
    let (address, key_server) = (
        &started["servers"][1]["members"][0]["address"],
        started["servers"][1]["members"][0]["pid"].as_i64().unwrap(),
    );
    assert!(runs(key_server));

    // everything is under the key that the server has
    let spec = format!("kmip:{}", lab.join("lab.kms/key.toml").display());
    let (key, secret) = KmipSource::open(&spec).unwrap().current().unwrap();
    let fingerprint = Fingerprint::of(&key, &secret, Provider::own()).unwrap().to_string();
    for member in started["servers"][0]["members"].as_array().unwrap() {
        let report = json(
            &mongo(dir.path(), &["check", member["data_dir"].as_str().unwrap(), "--json"]).done(),
        );
        let shares = report["sealed"].as_array().unwrap();
        assert_eq!(shares.len(), 1, "{shares:?}");
        assert_eq!(
            (&shares[0]["cipher"], &shares[0]["fingerprint"]),
            (&"aria-256".into(), &fingerprint.clone().into())
        );
    }
    let keys = run(&mut sealstone(dir.path(), &["keys", "show", &spec])).done();
    assert!(keys.contains("lab-aria-256") && keys.contains("Active"), "{keys}");

    assert_eq!(sealstone_lab(dir.path(), &["down"]).done(), "4 servers stopped\n");
    assert_eq!(processes_in(&lab), Vec::<String>::new());
    let status = sealstone_lab(dir.path(), &["status"]);
    assert_eq!(status.code, Some(1));
    assert!(
        status.stdout.contains("\nkmip:") && status.stdout.contains("  down  "),
        "{}",
        status.stdout
    );
    assert_eq!(sealstone_lab(dir.path(), &["down"]).done(), "nothing ran\n");
    let anew = sealstone_lab(dir.path(), &up);
    assert!(
        anew.stderr.contains("is started again as it was, and takes no settings\n"),
        "{}",
        anew.stderr
    );
    sealstone_lab(dir.path(), &["up"]).done();
    let back = standing();
    assert_eq!(
        (&back["servers"][1]["members"][0]["address"], &back["servers"][0]["uri"]),
        (address, &started["servers"][0]["uri"]),
        "the ports are kept"
    );
    sealstone_lab(dir.path(), &["status"]).done();

    // without it the members keep running, and none that has stopped starts
    let pid = back["servers"][1]["members"][0]["pid"].as_i64().unwrap();
    kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
    wait_until("the key server has ended", || !runs(pid));
    assert_eq!(sealstone_lab(dir.path(), &["status"]).code, Some(1), "not all of it runs");
    let mut set = ReplicaSet::open(&lab).unwrap();
    set.member_mut(0).stop().unwrap();
    let refused = set.member_mut(0).start_again().unwrap_err().to_string();
    set.leave_running();
    assert!(refused.contains("no key server answered"), "{refused}");
    // restarted while the members run
    sealstone_lab(dir.path(), &["up"]);
    assert_eq!(standing()["servers"][1]["members"][0]["address"], *address);
    assert_eq!(standing()["servers"][1]["members"][0]["serves"], true);
    assert_eq!(sealstone_lab(dir.path(), &["down"]).done(), "3 servers stopped\n");
    assert_eq!(processes_in(&lab), Vec::<String>::new());

    sealstone_lab(dir.path(), &["up"]).done();
    assert_eq!(standing()["servers"][1]["members"][0]["address"], *address);
    assert_eq!(sealstone_lab(dir.path(), &["down"]).done(), "4 servers stopped\n");
    assert_eq!(processes_in(&lab), Vec::<String>::new());
}

/// If the members do not start, the key server is stopped, too; a start that was broken off is
/// ended by `lab down`.
#[test]
fn a_key_server_without_a_lab_is_not_left_behind() {
    let test = "a_key_server_without_a_lab_is_not_left_behind";
    if !available(test) || !has_key_server(test) {
        return;
    }
    let dir = empty();
    let _down = Down(dir.path());
    fs::write(dir.path().join("not.so"), "no library").unwrap();
    let failed = sealstone_lab(
        dir.path(),
        &["up", "mongodb", "--dir", "lab", "--kmip", "--extension", "not.so"],
    );
    assert!(failed.stderr.contains("cannot start mongod in "), "{}", failed.stderr);
    assert_eq!(failed.code, Some(2));
    wait_until("no process is left", || processes_in(&dir.path().join("lab")).is_empty());

    let lab = dir.path().join("sealstone-lab");
    let key = PyKmipOptions { key_id: Some("lab-aes-256".into()), ..PyKmipOptions::default() };
    PyKmip::start(&lab, key).unwrap().leave_running();
    assert!(!processes_in(&lab).is_empty());
    let refused = sealstone_lab(dir.path(), &["up", "mongodb", "--kmip"]);
    assert!(refused.stderr.contains("a lab is already running in "), "{}", refused.stderr);
    assert_eq!(refused.code, Some(2));
    assert!(!processes_in(&lab).is_empty(), "it was left alone");
    assert_eq!(sealstone_lab(dir.path(), &["down"]).done(), "1 server stopped\n");
    assert_eq!(processes_in(&lab), Vec::<String>::new());
    // and its directory can be used by the next attempt
    sealstone_lab(dir.path(), &["up", "mongodb", "--nodes", "1", "--kmip"]).done();
    assert_eq!(sealstone_lab(dir.path(), &["down"]).done(), "2 servers stopped\n");
}

/// A version is retired when no block in any data directory is under it.
#[test]
fn a_version_that_still_seals_a_server_is_not_retired() {
    let test = "a_version_that_still_seals_a_server_is_not_retired";
    if !available(test) {
        return;
    }
    let dir = empty();
    let keys =
        |arguments: &[&str]| run(&mut sealstone(dir.path(), &[&["keys"], arguments].concat()));
    keys(&["new", "orders.key", "--id", "orders"]).done();
    keys(&["new", "other.key", "--id", "other"]).done();
    let start = |name: &str, key: &str| {
        let sealing = EngineOptions {
            extension: wiredtiger_extension().to_owned(),
            key_id: key.into(),
            settings: Settings {
                cipher: Some("aes-256".into()),
                ..Settings::new(
                    dir.path()
                        .join(format!("{key}.key"))
                        .canonicalize()
                        .unwrap()
                        .display()
                        .to_string(),
                )
            },
        };
        let sealed = MongodOptions {
            engine_config: Some(sealing.engine_config().unwrap()),
            ..Default::default()
        };
        Mongod::start(&dir.path().join(name), sealed).unwrap().stop().unwrap();
    };
    start("old", "orders");
    keys(&["rotate", "orders.key"]).done();
    start("new", "orders");
    // the same number, and another key
    start("others", "other");
    Mongod::start(&dir.path().join("plain"), MongodOptions::default()).unwrap().stop().unwrap();

    let retire = |stores: &[&str]| {
        keys(&[&["retire", "orders.key", "--version", "1", "--store"], stores].concat())
    };
    let refused = retire(&["new/data", "others/data", "old/data"]);
    let (first, second) = refused.stderr.split_once('\n').unwrap();
    assert!(first.starts_with("sealstone: key orders version 1 was not retired: "), "{first}");
    assert!(first.contains(" still under it in old/data, such as in "), "{first}");
    assert_eq!(
        second,
        "  resync that member with the newest version first, which rewrites all of it \
         (docs/guide/mongodb.md)\n"
    );
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    retire(&["plain/data"]).fails_with(
        "sealstone: key orders version 1 was not retired: no sealed block in plain/data\n  \
         give the data directory of a sealed server\n",
    );
    let retired = retire(&["new/data", "others/data"]);
    assert!(
        retired.stderr.starts_with("key orders version 1 is retired; none of "),
        "{}",
        retired.stderr
    );
    retired.done();
    // data under the newest version still opens
    start("new", "orders");
}

/// A server's directories are often links to other devices: the targets are data of the server,
/// too.
#[test]
fn a_version_that_seals_what_links_lead_to_is_not_retired() {
    let test = "a_version_that_seals_what_links_lead_to_is_not_retired";
    if !available(test) {
        return;
    }
    let dir = empty();
    let keys =
        |arguments: &[&str]| run(&mut sealstone(dir.path(), &[&["keys"], arguments].concat()));
    keys(&["new", "orders.key", "--id", "orders"]).done();
    let options = sealed_options(&dir.path().join("orders.key"), "orders", &["--directoryperdb"]);
    Mongod::start(&dir.path().join("server"), options.clone()).unwrap().stop().unwrap();
    keys(&["rotate", "orders.key"]).done();
    let at = |name: &str| dir.path().join(name);
    let retire = |store: &str| keys(&["retire", "orders.key", "--version", "1", "--store", store]);
    let refused = |store: &str, words: &[&str]| {
        let transcript = retire(store);
        assert!(transcript.code.is_some_and(|code| code > 0), "{}", transcript.stderr);
        let first = transcript.stderr.lines().next().unwrap();
        assert!(first.starts_with("sealstone: key orders version 1 was not retired: "), "{first}");
        words.iter().for_each(|word| assert!(first.contains(word), "no {word:?} in {first}"));
    };

    // a directory with nothing but links to the journal, to a database, to one file; and a link to
    // the directory itself
    for (link, to) in
        [("journal", "journal"), ("local", "local"), ("collection.wt", "sizeStorer.wt")]
    {
        let shell = at(&format!("of-{link}"));
        fs::create_dir(&shell).unwrap();
        fs::write(shell.join("WiredTiger"), "WiredTiger").unwrap();
        std::os::unix::fs::symlink(at("server/data").join(to), shell.join(link)).unwrap();
        refused(&format!("of-{link}"), &["still under it in", link]);
        // somewhere below, beside other things
        refused(".", &["still under it in ."]);
    }
    std::os::unix::fs::symlink("server/data", at("linked")).unwrap();
    refused("linked", &["still under it in linked"]);
    // where it is unknown
    let shell = at("unknown");
    fs::create_dir(&shell).unwrap();
    fs::write(shell.join("WiredTiger"), "WiredTiger").unwrap();
    std::os::unix::fs::symlink("nowhere", shell.join("journal")).unwrap();
    refused("unknown", &["journal", "nothing is there"]);
    fs::remove_file(shell.join("journal")).unwrap();
    nix::unistd::mkfifo(&shell.join("collection-0.wt"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused("unknown", &["collection-0.wt", "FIFO"]);
    assert_eq!(
        KeyFile::open(at("orders.key")).unwrap().versions().count(),
        2,
        "both versions are there"
    );
}

/// Options of a server that seals with AES-256 under the key file `key`, whose key is called `id`.
fn sealed_options(key: &Path, id: &str, arguments: &[&str]) -> MongodOptions {
    let sealing = EngineOptions {
        extension: wiredtiger_extension().to_owned(),
        key_id: id.into(),
        settings: Settings {
            cipher: Some("aes-256".into()),
            ..Settings::new(key.canonicalize().unwrap().display().to_string())
        },
    };
    MongodOptions {
        engine_config: Some(sealing.engine_config().unwrap()),
        arguments: arguments.iter().map(ToString::to_string).collect(),
        ..MongodOptions::default()
    }
}

/// Settings do not show a collection that was created in the clear; files do.
#[test]
fn a_lab_says_of_its_files_what_is_sealed() {
    let test = "a_lab_says_of_its_files_what_is_sealed";
    if !available(test) {
        return;
    }
    let dir = empty();
    run(&mut sealstone(dir.path(), &["keys", "new", "lab.key", "--id", "lab"])).done();
    let mut options = sealed_options(&dir.path().join("lab.key"), "lab", &[]);
    let config = options.engine_config.take().unwrap();
    options.engine_config =
        Some(config.replace("cipher=aes-256", "cipher=aes-256,clear_files=accept"));
    let mut set = ReplicaSet::start(&dir.path().join("lab"), &[options]).unwrap();
    let database = mongodb::sync::Client::with_uri_str(set.uri()).unwrap().database("shop");
    let clear = bson::doc! { "wiredTiger": { "configString": "encryption=(name=none)" } };
    database.run_command(bson::doc! { "create": "clear", "storageEngine": clear }).run().unwrap();
    let documents: Vec<bson::Document> =
        (0..300).map(|n| bson::doc! { "v": format!("{n}-").repeat(40) }).collect();
    database.collection::<bson::Document>("clear").insert_many(documents).run().unwrap();
    set.stop().unwrap();
    // nobody else opens the lab before
    drop(set);
    let status = sealstone_lab(dir.path(), &["status", "lab"]).stdout;
    let (table, rest) = status.split_once("\nnot sealed in ").unwrap_or_else(|| panic!("{status}"));
    assert!(table.contains("  partly  "), "{table}");
    assert!(
        rest.contains("\n  collection-") && rest.contains("\nsee: sealstone mongo check "),
        "{rest}"
    );
    let status = json(&sealstone_lab(dir.path(), &["status", "lab", "--json"]).stdout);
    let member = &status["servers"][0]["members"][0];
    assert_eq!(
        (&member["sealed"], member["not_sealed"].as_array().unwrap().len()),
        (&false.into(), 1),
        "{status:#}"
    );
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it took too long until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A mongod started by hand, as a user starts it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts mongod in `dir` with `arguments` and waits until it reports that it seals.
fn starts_sealed(dir: &Path, arguments: &str, log: &str) {
    let program = MONGOD_PROGRAM.find(None).unwrap();
    let begin = Instant::now();
    loop {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let line = format!(
            "exec {} {arguments} --bind_ip 127.0.0.1 --port {port} --nounixsocket",
            program.display()
        );
        let child = Command::new("sh")
            .args(["-c", &line])
            .current_dir(dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Server(child);
        let said = || fs::read_to_string(dir.join(log)).unwrap_or_default();
        while server.0.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(120) {
            if said().contains("Waiting for connections") {
                assert!(said().contains("sealing with aria-256"), "{}", said());
                return;
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        // another process may have taken the port: then with a different one
        assert!(said().contains("Address already in use"), "it did not start: {}", said());
        fs::remove_file(dir.join(log)).unwrap();
    }
}

#[test]
fn mongod_starts_with_the_options_as_printed() {
    if !available("mongod_starts_with_the_options_as_printed") {
        return;
    }
    let dir = empty();
    // names that a shell and the engine's notation have to quote
    let home = dir.path().join("it's here");
    fs::create_dir(&home).unwrap();
    run(&mut sealstone(&home, &["keys", "new", "orders.key"])).done();
    let config = |dbpath: &str, format: &str| {
        fs::create_dir(home.join(dbpath)).unwrap();
        let words = [
            "config",
            "--dbpath",
            dbpath,
            "--key",
            "orders.key",
            "--cipher",
            "aria-256",
            "--format",
            format,
        ];
        mongo(&home, &words).done()
    };
    let options = config("one", "options");
    starts_sealed(&home, &format!("{} --logpath one.log", options.trim_end()), "one.log");
    assert!(mongo(&home, &["check", "one"]).done().contains("is sealed\n"));

    let log = home.join("two.log").display().to_string().replace('\'', "''");
    let yaml =
        format!("{}systemLog:\n  destination: file\n  path: '{log}'\n", config("two", "yaml"));
    fs::write(home.join("mongod.conf"), yaml).unwrap();
    starts_sealed(&home, "--config mongod.conf", "two.log");
    assert!(mongo(&home, &["check", "two"]).done().contains("is sealed\n"));
}

#[test]
fn a_lab_that_cannot_start_leaves_no_process() {
    if !available("a_lab_that_cannot_start_leaves_no_process") {
        return;
    }
    let dir = empty();
    fs::write(dir.path().join("not.so"), "no library").unwrap();
    let up = ["up", "mongodb", "--dir", "lab", "--cipher", "aria-256", "--extension", "not.so"];
    let failed = sealstone_lab(dir.path(), &up);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(2), ""));
    assert!(
        failed.stderr.contains("cannot start mongod in ") && failed.stderr.contains("not.so"),
        "{}",
        failed.stderr
    );
    assert_eq!(sealstone_lab(dir.path(), &["down", "lab"]).done(), "nothing ran\n");
    assert_eq!(processes_in(&dir.path().join("lab")), Vec::<String>::new());
    let lab = dir.path().join("lab").canonicalize().unwrap().display().to_string();
    fails(
        dir.path(),
        &["lab", "up", "--dir", "lab"],
        &format!(
            "sealstone: {lab} is not empty and is not a lab\n  choose a new or empty directory\n"
        ),
    );
}

#[test]
fn an_interrupted_start_leaves_no_process() {
    if !available("an_interrupted_start_leaves_no_process") {
        return;
    }
    let dir = empty();
    let lab = dir.path().join("lab");
    let mut command =
        sealstone(dir.path(), &["lab", "up", "mongodb", "--dir", "lab", "--nodes", "3"]);
    let mut up = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !lab.exists() || processes_in(&lab).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60) && up.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(up.id() as i32), Signal::SIGINT).unwrap();
    let said = finish(up);
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(said.stderr.contains("stopped; what was created remains in lab"), "{}", said.stderr);
    let begin = Instant::now();
    while !processes_in(&lab).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(20), "a server was left behind");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(
        sealstone_lab(dir.path(), &["up", "--dir", "lab"]).code,
        Some(2),
        "half a lab is none"
    );
}

#[test]
fn a_directory_is_opened_as_it_was_made_and_else_left_alone() {
    if !available("a_directory_is_opened_as_it_was_made_and_else_left_alone") {
        return;
    }
    let dir = empty();
    let key = KeyFile::create(dir.path().join("orders.key"), "orders").unwrap();
    let sealing = EngineOptions {
        extension: wiredtiger_extension().to_owned(),
        key_id: "orders".into(),
        settings: Settings {
            cipher: Some("aes-256".into()),
            ..Settings::new(key.path().canonicalize().unwrap().display().to_string())
        },
    };
    let plain = MongodOptions::default();
    let sealed =
        MongodOptions { engine_config: Some(sealing.engine_config().unwrap()), ..plain.clone() };
    for (name, made, other) in [("plain", &plain, &sealed), ("sealed", &sealed, &plain)] {
        let mut server = Mongod::start(&dir.path().join(name), made.clone()).unwrap();
        server.stop().unwrap();
        server.set_options(other.clone());
        let refused = server.start_again().unwrap_err().to_string();
        println!("{refused}");
        assert!(!server.is_running());
        server.set_options(made.clone());
        server.start_again().unwrap();
    }
}

#[test]
fn impossible_requests_say_why() {
    let dir = empty();
    fails(
        dir.path(),
        &["lab", "up", "mongodb", "--dir", "lab", "--mongod", "/nonexistent/mongod"],
        "sealstone: no mongod found: looked in /nonexistent/mongod\n  name one with --mongod or in \
         SEALSTONE_MONGOD, or install one for tests with: make setup-mongod\n",
    );
    for nodes in ["0", "8", "1000000"] {
        fails(
            dir.path(),
            &["lab", "up", "mongodb", "--dir", "lab", "--nodes", nodes],
            &format!(
                "sealstone: a lab of {nodes} members is not possible\n  \
                 choose 1 to 7: a replica set has no more voting members\n"
            ),
        );
    }
    for cache in ["0.1", "nan", "1e9"] {
        let failed =
            sealstone_lab(dir.path(), &["up", "mongodb", "--dir", "lab", "--cache-gb", cache]);
        assert!(failed.stderr.contains("choose 0.25 to 10000\n"), "{}", failed.stderr);
    }
    fails(
        dir.path(),
        &["lab", "down", "lab"],
        "sealstone: no lab in lab\n  start one with: sealstone lab up mongodb --dir lab\n",
    );
    fails(
        dir.path(),
        &["lab", "down"],
        "sealstone: no lab in sealstone-lab\n  start one with: sealstone lab up mongodb --dir \
         sealstone-lab\n",
    );
    let failed = sealstone_lab(dir.path(), &["up", "mongodb", "--kmip", "--key", "orders.key"]);
    assert!(failed.stderr.contains("cannot be used with"), "{}", failed.stderr);
    fails(
        dir.path(),
        &["mongo", "check", "."],
        "sealstone: no MongoDB data in .: there is no file WiredTiger\n  give the data directory \
         of a server (--dbpath)\n",
    );
    fails(
        dir.path(),
        &["mongo", "config", "--dbpath", "db", "--key", "orders.key", "--extension", "nothing.so"],
        "sealstone: no libsealstone_wiredtiger.so found: looked in nothing.so\n  build it with: \
         cargo build --release -p sealstone-wiredtiger; then name it with --extension or in \
         SEALSTONE_WT_EXTENSION\n",
    );
    let failed = mongo(dir.path(), &["config", "--dbpath", "db", "--key", "orders.key"]);
    assert!(failed.code == Some(2) && failed.stderr.contains("orders.key"), "{}", failed.stderr);
    let failed =
        sealstone_lab(dir.path(), &["up", "mongodb", "--dir", "lab", "--cipher", "aria-265"]);
    assert!(failed.stderr.contains("did you mean aria-256?"), "{}", failed.stderr);
    assert!(!dir.path().join("lab").exists(), "nothing was made");
}
