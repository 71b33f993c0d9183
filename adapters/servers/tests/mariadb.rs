//! A real MariaDB: started, ended, found again by another process.

mod life_cycle;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use life_cycle::{a_lab_takes, ends_and_is_found_again};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{LabError, MARIADB_PROGRAM, MARIADB_SERVER, MariaDbOptions, start_mariadb};

/// Returns whether there is a MariaDB; prints SKIP if not.
fn available(name: &str) -> bool {
    is_installed(&MARIADB_PROGRAM, name)
}

fn options() -> MariaDbOptions {
    MariaDbOptions::default()
}

#[test]
fn a_mariadb_starts_ends_and_is_found_again() {
    if !available("a_mariadb_starts_ends_and_is_found_again") {
        return;
    }
    let dir = reachable();
    let server =
        start_mariadb(dir.path(), MariaDbOptions { password: Some("geheim".into()), ..options() })
            .unwrap();
    let rights =
        |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((rights("client.cnf"), rights("data")), (0o600, 0o700));
    for file in ["mariadb.toml", "mariadb.log", "install.out"] {
        let text = fs::read_to_string(dir.path().join(file)).unwrap();
        assert!(!text.contains("geheim"), "{file}: {text}");
    }
    assert!(
        !server.uri().contains("geheim") && !format!("{:?}", server.options()).contains("geheim")
    );
    assert!(matches!(start_mariadb(dir.path(), options()), Err(LabError::Running { .. })));
    ends_and_is_found_again(dir.path(), server);
}

#[test]
fn a_mariadb_that_does_not_start_says_why() {
    if !available("a_mariadb_that_does_not_start_says_why") {
        return;
    }
    let dir = reachable();
    let start = |name: &str, options: MariaDbOptions| {
        start_mariadb(&dir.path().join(name), options).unwrap_err()
    };
    let arguments = vec!["--nosuch=1".into()];
    let error = start("a", MariaDbOptions { arguments, ..options() }).to_string();
    assert!(error.starts_with("cannot start mariadbd in ") && error.contains("nosuch"), "{error}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Some(listener.local_addr().unwrap().port());
    let error = start("a", MariaDbOptions { port, ..options() }).to_string();
    assert!(error.contains("Address already in use"), "{error}");
    let error = start("b", MariaDbOptions { program: Some("/nonexistent".into()), ..options() })
        .to_string();
    let want = "no mariadbd found: looked in /nonexistent\ninstall it with: ";
    assert!(error.starts_with(want), "{error}");
    fs::create_dir_all(dir.path().join("c/data")).unwrap();
    fs::write(dir.path().join("c/data/mine"), "").unwrap();
    let error = start("c", options()).to_string();
    assert!(error.contains("c/data is not empty"), "{error}");
}

#[test]
fn a_lab_takes_mariadb() {
    if !available("a_lab_takes_mariadb") {
        return;
    }
    a_lab_takes(&MARIADB_SERVER, "mysql://sealstone@127.0.0.1:");
}
