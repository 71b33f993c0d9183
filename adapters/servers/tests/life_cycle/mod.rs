//! The life of a server that is one process, and of one in a lab: ended, found again, stopped.

use std::net::TcpStream;
use std::path::Path;

use sealstone_servers::testing::{reachable, runs};
use sealstone_servers::{Instance, Lab, Server, ServerKind, Settings, list, process_family};

/// Kills `server`, which was started in `dir`, starts it again, takes it over as another process
/// does, and stops it.
pub(crate) fn ends_and_is_found_again<K: ServerKind>(dir: &Path, mut server: Instance<K>) {
    let (port, pid) = (server.port(), server.pid().expect("it runs"));
    assert!(runs(pid) && TcpStream::connect(server.address()).is_ok());
    server.kill().unwrap();
    assert!(!server.is_running() && !runs(pid));
    server.start_again().unwrap();
    assert_eq!(server.port(), port);

    // as another process does it
    let pid = server.pid().unwrap();
    server.leave_running();
    let mut found = Instance::<K>::find(dir).unwrap().expect("a record");
    assert_eq!((found.pid(), found.port()), (Some(pid), port));
    let family = process_family(pid);
    found.stop().unwrap();
    assert!(!family.into_iter().any(runs), "all of it has ended");
}

/// Starts `row` in a lab, which is listed, stopped, started again and stopped; its address begins
/// with `uri`.
pub(crate) fn a_lab_takes(row: &'static Server, uri: &str) {
    let dir = reachable();
    let mut lab = Lab::new(&dir.path().join("one"));
    lab.start(row, &Settings::default()).unwrap();
    let standing = lab.standing();
    assert!(standing.serves() && standing.servers[0].uri.starts_with(uri));
    lab.leave_running();
    let listed = list(dir.path()).unwrap();
    assert_eq!(listed.len(), 1);
    assert!(listed[0].standing.as_ref().unwrap().serves());
    assert_eq!(Lab::open(&dir.path().join("one")).unwrap().stop().unwrap(), 1);
    let again = Lab::open(&dir.path().join("one")).unwrap().start_again(None, false).unwrap();
    assert_eq!(again.stop().unwrap(), 1);
}
