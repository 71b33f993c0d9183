//! Real Redis servers and clusters: started, ended, found again by another process.

mod life_cycle;

use std::fs;

use life_cycle::{a_lab_takes, ends_and_is_found_again};
use sealstone_servers::testing::{is_installed, runs};
use sealstone_servers::{
    Authority, CertificateUse, LabError, Persistence, REDIS_PROGRAM, REDIS_SERVER, RedisOptions,
    RedisServers, Settings, start_redis,
};

/// Returns whether there is a redis-server; prints SKIP if not.
fn available(name: &str) -> bool {
    is_installed(&REDIS_PROGRAM, name)
}

fn options() -> RedisOptions {
    RedisOptions::default()
}

#[test]
fn a_redis_starts_ends_and_is_found_again() {
    if !available("a_redis_starts_ends_and_is_found_again") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = start_redis(dir.path(), options()).unwrap();
    assert_eq!(server.uri(), format!("redis://127.0.0.1:{}", server.port()));
    assert!(matches!(start_redis(dir.path(), options()), Err(LabError::Running { .. })));
    ends_and_is_found_again(dir.path(), server);
}

#[test]
fn a_redis_that_does_not_start_says_why() {
    if !available("a_redis_that_does_not_start_says_why") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let start = |name: &str, options: RedisOptions| {
        start_redis(&dir.path().join(name), options).unwrap_err()
    };
    let error =
        start("a", RedisOptions { arguments: vec!["--nosuch".into(), "1".into()], ..options() })
            .to_string();
    assert!(
        error.starts_with("cannot start redis-server in ") && error.contains("nosuch"),
        "{error}"
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Some(listener.local_addr().unwrap().port());
    let error = start("b", RedisOptions { port, ..options() }).to_string();
    assert!(error.contains("Address already in use"), "{error}");
    let error =
        start("c", RedisOptions { program: Some("/nonexistent".into()), ..options() }).to_string();
    assert!(
        error.starts_with("no redis-server found: looked in /nonexistent\ninstall it with: "),
        "{error}"
    );
}

#[test]
fn a_password_is_in_no_argument_and_a_server_with_tls_takes_nothing_else() {
    if !available("a_password_is_in_no_argument_and_a_server_with_tls_takes_nothing_else") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let authority = Authority::make(&dir, "ca").unwrap();
    authority.sign("server", CertificateUse::Server).unwrap();
    let password = Some("not \"shown\"".into());
    let with = RedisOptions { password, certificates: Some(dir.clone()), ..options() };
    assert!(!format!("{with:?}").contains("shown"));
    let mut server = start_redis(&dir.join("server"), with).unwrap();
    assert!(server.uri().starts_with("rediss://127.0.0.1:"), "{}", server.uri());
    let line = fs::read_to_string(format!("/proc/{}/cmdline", server.pid().unwrap())).unwrap();
    assert!(!line.contains("shown"), "{line}");
    let record = fs::read_to_string(dir.join("server/redis.toml")).unwrap();
    assert!(!record.contains("shown"), "{record}");
    server.kill().unwrap();
    server.start_again().unwrap();
}

#[test]
fn a_cluster_is_made_and_started_again_with_its_data() {
    if !available("a_cluster_is_made_and_started_again_with_its_data") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for nodes in [0, 2] {
        let error = RedisServers::start(dir.path(), nodes, &options()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("cannot start redis with nodes {nodes}: choose 1 ")),
            "{error}"
        );
    }
    let kept = RedisOptions { persistence: Persistence::Snapshot, ..options() };
    let mut cluster = RedisServers::start(dir.path(), 6, &kept).unwrap();
    let pids = cluster.pids();
    assert_eq!((pids.len(), cluster.uri().matches("127.0.0.1:").count()), (6, 6));
    let states = |cluster: &mut RedisServers| -> Vec<String> {
        cluster
            .status()
            .into_iter()
            .map(|member| format!("{} {}", member.state, member.serves))
            .collect()
    };
    assert_eq!(states(&mut cluster)[..3], ["primary true"; 3]);
    assert_eq!(states(&mut cluster)[3..], ["replica true"; 3]);
    assert!(matches!(RedisServers::start(dir.path(), 6, &kept), Err(LabError::InUse { .. })));
    cluster.leave_running();

    let mut found = RedisServers::open(dir.path()).unwrap().expect("a cluster");
    assert_eq!(found.pids(), pids);
    found.stop().unwrap();
    assert!(!pids.into_iter().any(runs));
    assert_eq!(states(&mut found), ["down false"; 6]);
    found.start_again().unwrap();
    assert!(found.status().iter().all(|member| member.serves));
}

#[test]
fn a_lab_takes_redis() {
    if !available("a_lab_takes_redis") {
        return;
    }
    a_lab_takes(&REDIS_SERVER, "redis://127.0.0.1:");
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.set("nodes", "2");
    assert!(
        (REDIS_SERVER.check)(dir.path(), &settings)
            .unwrap_err()
            .to_string()
            .contains("nodes 2: choose 1 ")
    );
}
