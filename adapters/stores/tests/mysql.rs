//! The store as a benchmark uses it, on a real MariaDB, and its errors when the server fails.

mod conformance;
mod sql;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance::{all, key};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{
    Authority, CertificateUse, MARIADB_DATABASE, MARIADB_PROGRAM, MariaDb as Server,
    MariaDbOptions as ServerOptions, join_certificate, start_mariadb,
};
use sealstone_store::{Field, Kind, OpenStore, Record, Store, Table, Transaction};
use sealstone_stores::{Mysql, MysqlOptions, MysqlStore};
use sql::{options, record_of, table};

/// Returns a server to test on, in its directory; it ends with the value. None, with a SKIP, if
/// there is no MariaDB.
fn server(name: &str, options: ServerOptions) -> Option<(tempfile::TempDir, Server)> {
    if !is_installed(&MARIADB_PROGRAM, name) {
        return None;
    }
    let dir = reachable();
    let server = start_mariadb(dir.path(), options).unwrap();
    Some((dir, server))
}

fn at(uri: impl Into<String>) -> MysqlOptions {
    MysqlOptions { uri: uri.into(), ..MysqlOptions::default() }
}

fn open(server: &Server, tables: &[Arc<Table>]) -> MysqlStore {
    Mysql::connect(&at(server.uri())).unwrap().open_store(&options(tables)).unwrap()
}

fn refused(options: &MysqlOptions) -> String {
    let error = Mysql::connect(options).expect_err("there is no such server").to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(!format!("{error} {options:?}").contains("geheim"), "{error}");
    error
}

/// Runs `statements` in MariaDB's own client.
fn client(server: &Server, statements: &str) -> String {
    let mut client = Command::new("mariadb");
    client.arg(format!("--defaults-file={}", server.secrets_path().display()));
    client.args([
        "-h",
        "127.0.0.1",
        "-P",
        &server.port().to_string(),
        "-N",
        "-B",
        MARIADB_DATABASE,
        "-e",
        statements,
    ]);
    let said = client.output().unwrap();
    assert!(said.status.success(), "{statements}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

#[test]
fn mariadb_answers_as_a_store_in_memory_does() {
    let name = "mariadb_answers_as_a_store_in_memory_does";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let tables = [table(1, "t"), table(2, "Other \"table`")];
    let store = open(&server, &tables);
    sql::answers_as_a_model(&store, &tables);
    sql::refuses_what_does_not_fit(&store, &tables[0]);
    store.drop_tables().unwrap();
    assert_eq!(client(&server, "SHOW TABLES"), "");
}

#[test]
fn accounts_log_in_as_they_are_told_to_or_are_told_why_not() {
    let name = "accounts_log_in_as_they_are_told_to_or_are_told_why_not";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let uri = |user: &str, password: &str| {
        at(format!("mysql://{user}:{password}@127.0.0.1:{}/{}", server.port(), MARIADB_DATABASE))
    };
    client(
        &server,
        "INSTALL SONAME 'auth_ed25519'; CREATE USER signs@'127.0.0.1' IDENTIFIED VIA ed25519 USING \
         PASSWORD('geheim'); GRANT ALL ON *.* TO signs@'127.0.0.1'",
    );
    let store = Mysql::connect(&uri("signs", "geheim"))
        .unwrap()
        .open_store(&options(&[table(1, "t")]))
        .unwrap();
    assert!(all(&store, &table(1, "t"), b"", 1).is_empty());
    let error = refused(&uri("signs", "geheim2"));
    assert!(error.contains("it refused the user name and password"), "{error}");
    let unsigned = at(format!("mysql://signs@127.0.0.1:{}/{}", server.port(), MARIADB_DATABASE));
    assert!(refused(&unsigned).contains("it refused the user name and password"));

    client(
        &server,
        "INSTALL SONAME 'auth_pam_v1'; CREATE USER pam@'127.0.0.1' IDENTIFIED VIA pam USING \
         'mariadb'; GRANT ALL ON *.* TO pam@'127.0.0.1'",
    );
    let error = refused(&uri("pam", "geheim"));
    assert!(
        error.contains("its account logs in by dialog, which this program cannot\nuse an account"),
        "{error}"
    );
}

/// Something that speaks no MySQL, or breaks off while it does.
#[test]
fn a_server_that_answers_nonsense_is_one_error() {
    for answer in [
        &b""[..],
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x01\x00\x00\x00\x0a",
        // a greeting that is cut, and a greeting followed by an empty packet in place of the answer
        // to the password
        b"\x05\x00\x00\x00\x0a5.7\x00",
        &[GREETING, &[0, 0, 0, 2][..]].concat(),
        &[GREETING, &[1, 0, 0, 2, 0xfe][..]].concat(),
        &[GREETING, &[1, 0, 0, 2, 0x01][..]].concat(),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = answer.to_vec();
        let peer = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut stream, &answer).unwrap();
            // the client's data is read, so that the answer is not lost with the connection
            stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
            let _ = std::io::Read::read(&mut stream, &mut [0; 1024]);
        });
        let error = refused(&at(format!("mysql://u:geheim@127.0.0.1:{port}/d")));
        assert!(error.starts_with("cannot connect to MySQL at 127.0.0.1:"), "{error}");
        peer.join().unwrap();
    }
}

/// The greeting of a MySQL 8, which requires caching_sha2_password (MySQL's
/// Protocol::HandshakeV10).
const GREETING: &[u8] =
    b"\x4a\x00\x00\x00\x0a8.0.36\x00\x01\x00\x00\x00abcdefgh\x00\xff\xf7\x21\x02\x00\xff\xdf\x15\
      \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00abcdefghijkl\x00caching_sha2_password\x00";

#[test]
fn mariadb_loads_all_or_nothing_and_its_transactions_are_isolated() {
    let name = "mariadb_loads_all_or_nothing_and_its_transactions_are_isolated";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let tables = [table(1, "t"), table(2, "u")];
    let store = open(&server, &tables);
    sql::bulk_loading_is_all_or_nothing(&store, &tables[0]);
    sql::transactions_are_atomic_and_isolated(&store, &tables[1]);
}

#[test]
fn every_workload_runs_on_mariadb_and_finds_its_data_again() {
    let name = "every_workload_runs_on_mariadb_and_finds_its_data_again";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let opened = |tables: &[Arc<Table>]| OpenStore::records(open(&server, tables));
    workloads::every_workload_finds_its_data_again(&opened, &|tables| {
        open(&server, tables).remove().unwrap()
    });
}

/// In the layout of YCSB's JDBC binding, and in the obvious columns for other tables.
#[test]
fn records_lie_in_columns_of_mariadb() {
    let Some((_dir, server)) =
        server("records_lie_in_columns_of_mariadb", ServerOptions::default())
    else {
        return;
    };
    let field = |n: usize| Field { name: format!("field{n}"), kind: Kind::Bytes };
    let users =
        Arc::new(Table { id: 1, name: "usertable".into(), fields: (0..3).map(field).collect() });
    let store = open(&server, &[Arc::clone(&users), table(2, "t")]);
    let mut values = Record::new();
    ["a", "b", "c"].iter().for_each(|value| values.push(value.as_bytes()));
    store.insert(&users, b"user1", &values).unwrap();
    store.update(&users, b"user1", &[(1, b"x")]).unwrap();
    assert_eq!(
        client(&server, "SELECT YCSB_KEY, FIELD0, FIELD1, FIELD2 FROM usertable"),
        "user1\ta\tx\tc"
    );
    client(&server, "INSERT INTO usertable (YCSB_KEY, FIELD2) VALUES ('user0', 'z')");
    let mut want = Record::new();
    ["", "", "z"].iter().for_each(|value| want.push(value.as_bytes()));
    assert_eq!(all(&store, &users, b"", 1), [(b"user0".to_vec(), want)]);
    let types = client(
        &server,
        "SELECT group_concat(data_type ORDER BY ordinal_position) FROM \
         information_schema.columns WHERE table_name = 't'",
    );
    assert_eq!(types, "varbinary,longtext,bigint,longtext,longblob");

    // a table that go-ycsb made
    client(
        &server,
        "DROP TABLE usertable; CREATE TABLE usertable (YCSB_KEY VARCHAR(64) PRIMARY KEY, FIELD0 \
         VARCHAR(100), FIELD1 VARCHAR(100), FIELD2 VARCHAR(100))",
    );
    let store = open(&server, std::slice::from_ref(&users));
    store.insert_many(&users, &[(b"user2".to_vec(), values.clone())]).unwrap();
    assert_eq!(all(&store, &users, b"", 9), [(b"user2".to_vec(), values)]);
    client(&server, "ALTER TABLE usertable DROP COLUMN FIELD2");
    let error = open(&server, std::slice::from_ref(&users)).read(
        &users,
        b"user2",
        None,
        &mut Record::new(),
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("another program's: name another database"), "{error}");
}

#[test]
fn a_mariadb_that_dies_is_reported_and_found_again() {
    let name = "a_mariadb_that_dies_is_reported_and_found_again";
    let Some((_dir, mut server)) = server(name, ServerOptions::default()) else { return };
    let t = table(1, "t");
    let store = open(&server, std::slice::from_ref(&t));
    store.insert(&t, &key(1), &record_of(b"1")).unwrap();
    server.kill().unwrap();
    let begin = Instant::now();
    let error = store.insert(&t, &key(2), &record_of(b"1")).unwrap_err().to_string();
    let want =
        format!("cannot write a record of table t (INSERT) on MariaDB at {}: ", server.address());
    assert!(
        error.starts_with(&want) && error.contains("\ncheck whether the server still runs"),
        "{error}"
    );
    let error = store.read(&t, &key(2), None, &mut Record::new()).unwrap_err().to_string();
    let want = format!(
        "cannot connect to MariaDB at {}: connection refused\nstart the server, ",
        server.address()
    );
    assert!(error.starts_with(&want), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(10));
    server.start_again().unwrap();
    assert!(
        store.read(&t, &key(1), None, &mut Record::new()).unwrap(),
        "what was acknowledged is there"
    );
}

#[test]
fn a_mariadb_that_refuses_says_why() {
    let password = Some("geheim: \"so\\'".into());
    let options = ServerOptions { password, ..ServerOptions::default() };
    let Some((_dir, mut server)) = server("a_mariadb_that_refuses_says_why", options) else {
        return;
    };
    let address = server.address();
    assert!(Mysql::connect(&at(server.uri())).is_ok(), "with the password in its file");
    let right = "sealstone:geheim%3A%20%22so%5C'";
    assert!(Mysql::connect(&at(format!("mysql://{right}@{address}/sealstone"))).is_ok());
    let step = "\ngive user and password in the address: mysql://USER:PASSWORD@HOST:PORT/DATABASE, \
                and ?ssl-mode=REQUIRED behind it if the server wants TLS";
    for wrong in ["sealstone", "sealstone:geheimnis", "nobody:geheim"] {
        let error = refused(&at(format!("mysql://{wrong}@{address}/sealstone")));
        let want = format!(
            "cannot connect to MySQL at {address}: it refused the user name and password{step}"
        );
        assert_eq!(error, want);
    }
    let error = refused(&at(format!("mysql://{right}@{address}/shop")));
    assert!(
        error.contains("it has no database of that name\ncreate it (CREATE DATABASE)"),
        "{error}"
    );
    let error = refused(&at(format!("mysql://{right}@{address}/sealstone?ssl-mode=REQUIRED")));
    assert!(error.contains(": it takes no TLS\ncheck whether the server takes TLS"), "{error}");
    let error = refused(&at(format!("mysql://u@{address}/d?defaults-file=/nonexistent")));
    assert!(error.starts_with("cannot read the settings in /nonexistent: "), "{error}");
    server.stop().unwrap();
    let error = refused(&at(format!("mysql://u:geheim@{address}/d")));
    assert!(
        error.starts_with(&format!("cannot connect to MySQL at {address}: connection refused\n")),
        "{error}"
    );
}

#[test]
fn a_mariadb_with_tls_is_checked() {
    if !is_installed(&MARIADB_PROGRAM, "a_mariadb_with_tls_is_checked") {
        return;
    }
    let dir = reachable();
    let dir = dir.path().canonicalize().unwrap();
    let authority = Authority::make(&dir, "ca").unwrap();
    authority.sign("server", CertificateUse::Server).unwrap();
    authority.sign("client", CertificateUse::Client).unwrap();
    join_certificate(&dir, "client", &dir.join("both.pem")).unwrap();
    let password = Some("geheim".into());
    let with =
        ServerOptions { certificates: Some(dir.clone()), password, ..ServerOptions::default() };
    let server = start_mariadb(&dir.join("server"), with).unwrap();
    let file = |name: &str| -> Option<PathBuf> { Some(dir.join(name)) };
    let port = server.port();
    let options = |host: &str, mode: &str, tls_ca_file| MysqlOptions {
        uri: format!("mysql://sealstone:geheim@{host}:{port}/sealstone{mode}"),
        tls_ca_file,
        tls_certificate_key_file: None,
    };
    let host = "127.0.0.1";
    let t = table(1, "t");
    let store = Mysql::connect(&options(host, "", file("ca.pem"))).unwrap();
    let store = store.open_store(&sql::options(std::slice::from_ref(&t))).unwrap();
    store.insert(&t, b"a", &record_of(b"1")).unwrap();
    Mysql::connect(&at(server.uri())).unwrap();
    // leads to this machine, too, and is in no certificate
    let other_name = "0.0.0.0";
    Mysql::connect(&options(host, "?ssl-mode=REQUIRED", None)).unwrap();
    Mysql::connect(&options(other_name, "?ssl-mode=VERIFY_CA", file("ca.pem"))).unwrap();
    let error = refused(&options(other_name, "?ssl-mode=VERIFY_IDENTITY", file("ca.pem")));
    assert!(
        error.contains("\ncheck the server's certificate, and the host name in the address"),
        "{error}"
    );
    let error = refused(&options(host, "", None));
    assert!(error.ends_with("ssl-mode=REQUIRED behind it if the server wants TLS"), "{error}");
    let error = refused(&options(host, "?ssl-mode=VERIFY_IDENTITY", None));
    assert!(
        error.contains("not trusted here\nname the authority's certificate as tls-ca-file"),
        "{error}"
    );
    let error = refused(&options(host, "", Some(Path::new("/nonexistent").into())));
    assert!(
        error.starts_with("cannot read the certificate of an authority /nonexistent: "),
        "{error}"
    );

    // an account that must show a certificate: in one file with its key, or each in its own
    client(
        &server,
        "CREATE USER x IDENTIFIED BY 'geheim' REQUIRE SUBJECT '/CN=client'; GRANT ALL ON \
         sealstone.* TO x",
    );
    let as_x = |more: &str, tls_certificate_key_file| MysqlOptions {
        uri: format!("mysql://x:geheim@{host}:{port}/sealstone?ssl-mode=REQUIRED{more}"),
        tls_ca_file: None,
        tls_certificate_key_file,
    };
    Mysql::connect(&as_x("", file("both.pem"))).unwrap();
    let path = |name: &str| dir.join(name).display().to_string();
    let (own, key) = (path("client.pem"), path("client-key.pem"));
    Mysql::connect(&as_x(&format!("&ssl-cert={own}&ssl-key={key}"), None)).unwrap();
    let error = refused(&as_x("", None));
    assert!(error.contains("it refused the user name and password"), "{error}");
}

#[test]
fn a_mariadb_that_takes_no_writes_says_so() {
    let name = "a_mariadb_that_takes_no_writes_says_so";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let t = table(1, "t");
    let store = open(&server, std::slice::from_ref(&t));
    store.insert(&t, b"a", &record_of(b"1")).unwrap();
    // one who may do everything may write all the same
    client(
        &server,
        "CREATE USER u@'127.0.0.1' IDENTIFIED BY 'geheim'; GRANT SELECT, INSERT, UPDATE, DELETE, \
         CREATE ON sealstone.* TO u@'127.0.0.1'; SET GLOBAL read_only = ON",
    );
    let reached =
        Mysql::connect(&at(format!("mysql://u:geheim@{}/sealstone", server.address()))).unwrap();
    let error = reached.open_store(&options(&[table(3, "new")])).unwrap_err().to_string();
    assert!(
        error.contains(
            "it takes no writes: read_only is on\nname its primary, or switch read_only off"
        ),
        "{error}"
    );
    client(&server, "SET GLOBAL read_only = OFF");
    let store = reached.open_store(&options(std::slice::from_ref(&t))).unwrap();
    client(&server, "SET GLOBAL read_only = ON");
    let error = store.update(&t, b"a", &[(0, b"x")]).unwrap_err().to_string();
    let want = format!(
        "cannot change a record of table t (UPDATE) on MariaDB at {}: it takes no",
        server.address()
    );
    assert!(error.starts_with(&want), "{error}");
    let write =
        &mut |transaction: &mut dyn Transaction| transaction.put(&t, b"a", &record_of(b"1"));
    let error = store.transactional().unwrap().transaction(write).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot write a record of table t within a transaction (INSERT) on"),
        "{error}"
    );
    assert!(store.read(&t, b"a", None, &mut Record::new()).unwrap(), "it can be read");
}
