//! A real PostgreSQL: started, ended, found again by another process.

mod life_cycle;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use life_cycle::{a_lab_takes, ends_and_is_found_again};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{
    LabError, POSTGRES_PROGRAM, POSTGRES_SERVER, PostgresOptions, process_family, start_postgres,
};

/// Returns whether there is a PostgreSQL; prints SKIP if not.
fn available(name: &str) -> bool {
    is_installed(&POSTGRES_PROGRAM, name)
}

fn options() -> PostgresOptions {
    PostgresOptions::default()
}

#[test]
fn a_postgres_starts_ends_and_is_found_again() {
    if !available("a_postgres_starts_ends_and_is_found_again") {
        return;
    }
    let dir = reachable();
    let mut server = start_postgres(
        dir.path(),
        PostgresOptions { password: Some("geheim".into()), ..options() },
    )
    .unwrap();
    let pid = server.pid().expect("it runs");
    assert!(process_family(pid).len() > 2, "it does its work in processes of their own");
    let rights =
        |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((rights("password"), rights("data")), (0o600, 0o700));
    for file in ["postgres.toml", "postgres.log", "data/postmaster.opts"] {
        let text = fs::read_to_string(dir.path().join(file)).unwrap();
        assert!(!text.contains("geheim"), "{file}: {text}");
    }
    assert!(
        !server.uri().contains("geheim") && !format!("{:?}", server.options()).contains("geheim")
    );
    assert!(matches!(start_postgres(dir.path(), options()), Err(LabError::Running { .. })));
    ends_and_is_found_again(dir.path(), server);
}

#[test]
fn a_postgres_that_does_not_start_says_why() {
    if !available("a_postgres_that_does_not_start_says_why") {
        return;
    }
    let dir = reachable();
    let start = |name: &str, options: PostgresOptions| {
        start_postgres(&dir.path().join(name), options).unwrap_err()
    };
    let arguments = vec!["-c".into(), "nosuch=1".into()];
    let error = start("a", PostgresOptions { arguments, ..options() }).to_string();
    assert!(error.starts_with("cannot start postgres in ") && error.contains("nosuch"), "{error}");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Some(listener.local_addr().unwrap().port());
    let error = start("a", PostgresOptions { port, ..options() }).to_string();
    assert!(error.contains("Address already in use"), "{error}");
    let error = start("b", PostgresOptions { program: Some("/nonexistent".into()), ..options() })
        .to_string();
    let want = "no postgres with initdb beside it found: looked in /nonexistent\ninstall it with: ";
    assert!(error.starts_with(want), "{error}");
    fs::create_dir_all(dir.path().join("c/data")).unwrap();
    fs::write(dir.path().join("c/data/mine"), "").unwrap();
    let error = start("c", options()).to_string();
    assert!(
        error.contains("initdb exited with ") && error.contains("exists but is not empty"),
        "{error}"
    );
}

#[test]
fn a_lab_takes_postgres() {
    if !available("a_lab_takes_postgres") {
        return;
    }
    a_lab_takes(&POSTGRES_SERVER, "postgres://sealstone@127.0.0.1:");
}
