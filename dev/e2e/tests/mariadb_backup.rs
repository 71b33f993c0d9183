//! Backups of a MariaDB with our plug-in, by `mariabackup`: restored beside the original, where
//! both go on. Not here: everything else about the plug-in (`mariadb_plugin`).

use std::fs;
use std::path::Path;
use std::process::Command;

use sealstone_e2e::mariadb_place::{MariaDbPlace, does};
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::volume_place::holds;
use sealstone_servers::start_mariadb;

const MARKER: &str = "a text that no thief of the disk may read";

/// Runs `mariabackup`, which must succeed.
fn backup(place: &MariaDbPlace, arguments: &[String]) {
    let plugins = format!("--plugin-dir={}", place.at("plugins").display());
    let target = format!("--target-dir={}", place.at("copy/data").display());
    let mut command = Command::new("mariabackup");
    let output = command.args(arguments).args([target, plugins]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("completed OK!"), "{arguments:?}: {said}");
}

#[test]
fn a_backup_goes_on_beside_its_original() {
    let test = "a_backup_goes_on_beside_its_original";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    if Command::new("mariabackup").arg("--version").output().is_err() {
        println!("SKIP: {test}: no mariabackup is installed; make setup-mariadb installs it");
        return;
    }
    let place = MariaDbPlace::new();
    let settings = place.settings("k.key", "aria-256");
    let original = start_mariadb(&place.at("server"), place.options(&settings)).unwrap();
    let original = SqlServer::MariaDb(original);
    let mut session = original.session();
    does(
        &mut session,
        &format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200), KEY (a)) ENGINE=InnoDB; \
             INSERT INTO t SELECT seq, CONCAT('{MARKER} ', MD5(seq)) FROM seq_1_to_20000; \
             CREATE TABLE aria (id INT PRIMARY KEY, a VARCHAR(200)) ENGINE=Aria; \
             INSERT INTO aria SELECT seq, MD5(seq) FROM seq_1_to_1000"
        ),
    );
    let sums = "CHECKSUM TABLE t, aria EXTENDED";
    let loaded = session.ask(sums);

    fs::create_dir_all(place.at("copy/tmp")).unwrap();
    let address = original.address();
    let port = address.rsplit_once(':').unwrap().1;
    let data = format!("--datadir={}", place.at("server/data").display());
    let reached = ["--backup", "--host=127.0.0.1", "--user=sealstone", "--password=geheim"];
    let reached = reached.map(String::from).into_iter();
    backup(&place, &reached.chain([format!("--port={port}"), data]).collect::<Vec<_>>());
    backup(&place, &["--prepare".into()]);
    assert!(!holds(&place.at("copy/data"), &MARKER.as_bytes()[..16]));

    // what the copy has of its own is its accounts' password alone
    for name in ["first.sql", "client.cnf"] {
        fs::copy(place.at("server").join(name), place.at("copy").join(name)).unwrap();
    }
    as_the_original(&place.at("copy"), &place.at("server/data"));
    let copy = start_mariadb(&place.at("copy"), place.options(&settings)).unwrap();
    let mut copy = SqlServer::MariaDb(copy);
    assert_eq!(copy.session().ask(sums), loaded);
    does(&mut copy.session(), "UPDATE t SET a = REVERSE(a) WHERE id % 2; DELETE FROM aria");
    does(&mut session, "UPDATE t SET a = UPPER(a) WHERE id % 3 = 0");
    let (of_copy, of_original) = (copy.session().ask(sums), session.ask(sums));
    assert_ne!(of_copy, of_original);
    copy.kill();
    copy.start_again();
    assert_eq!(copy.session().ask(sums), of_copy);
    assert_eq!(session.ask(sums), of_original);
    for dir in ["copy/data", "server/data"] {
        assert!(!holds(&place.at(dir), &MARKER.as_bytes()[..16]), "{dir}");
    }
}

/// Gives everything in `dir` to the owner of `original`.
fn as_the_original(dir: &Path, original: &Path) {
    use std::os::unix::fs::MetadataExt;
    let owner = fs::metadata(original).unwrap();
    let owner = format!("{}:{}", owner.uid(), owner.gid());
    let own = ["data", "tmp"].map(|name| dir.join(name));
    let given = Command::new("chown").arg("-R").arg(owner).args(own).status().unwrap();
    assert!(given.success());
}
