//! The store as a benchmark uses it, on a real PostgreSQL, and its errors when the server fails.

mod conformance;
mod sql;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance::{all, key};
use sealstone_servers::testing::{SmallDisk, is_installed, reachable};
use sealstone_servers::{
    Authority, CertificateUse, POSTGRES_PROGRAM, Postgres as Server,
    PostgresOptions as ServerOptions, join_certificate, start_postgres,
};
use sealstone_store::{
    Field, Kind, OpenStore, Record, Row, Store, StoreOptions, Table, Transaction, Upkeep,
};
use sealstone_stores::{Postgres, PostgresOptions, PostgresStore};
use sql::{options, record, record_of, table};

/// Returns a server to test on, in its directory; it ends with the value. None, with a SKIP, if
/// there is no PostgreSQL.
fn server(name: &str, options: ServerOptions) -> Option<(tempfile::TempDir, Server)> {
    if !is_installed(&POSTGRES_PROGRAM, name) {
        return None;
    }
    let dir = reachable();
    let server = start_postgres(dir.path(), options).unwrap();
    Some((dir, server))
}

fn at(uri: impl Into<String>) -> PostgresOptions {
    PostgresOptions { uri: uri.into(), ..PostgresOptions::default() }
}

fn open(server: &Server, tables: &[Arc<Table>]) -> PostgresStore {
    Postgres::connect(&at(server.uri())).unwrap().open_store(&options(tables)).unwrap()
}

fn refused(options: &PostgresOptions) -> String {
    let error = Postgres::connect(options).expect_err("there is no such server").to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(!format!("{error} {options:?}").contains("geheim"), "{error}");
    error
}

/// Runs `statements` in psql, as the server's own user.
fn psql(server: &Server, statements: &str) -> String {
    let mut psql = Command::new("psql");
    psql.args([&server.uri(), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements]);
    let said = psql.output().unwrap();
    assert!(said.status.success(), "{statements}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8_lossy(&said.stdout).trim().to_owned()
}

#[test]
fn postgres_answers_as_a_store_in_memory_does() {
    let name = "postgres_answers_as_a_store_in_memory_does";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let tables = [table(1, "t"), table(2, "Other \"table\"")];
    let store = open(&server, &tables);
    sql::answers_as_a_model(&store, &tables);
    sql::refuses_what_does_not_fit(&store, &tables[0]);
    store.drop_tables().unwrap();
    assert_eq!(psql(&server, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}

#[test]
fn postgres_loads_all_or_nothing_and_its_transactions_are_isolated() {
    let name = "postgres_loads_all_or_nothing_and_its_transactions_are_isolated";
    let arguments = vec!["-c".into(), "deadlock_timeout=50ms".into()];
    let Some((_dir, server)) =
        server(name, ServerOptions { arguments, ..ServerOptions::default() })
    else {
        return;
    };
    let tables = [table(1, "t"), table(2, "u")];
    let store = open(&server, &tables);
    sql::bulk_loading_is_all_or_nothing(&store, &tables[0]);
    sql::transactions_are_atomic_and_isolated(&store, &tables[1]);
}

#[test]
fn every_workload_runs_on_postgres_and_finds_its_data_again() {
    let name = "every_workload_runs_on_postgres_and_finds_its_data_again";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let opened = |tables: &[Arc<Table>]| OpenStore::records(open(&server, tables));
    workloads::every_workload_finds_its_data_again(&opened, &|tables| {
        open(&server, tables).remove().unwrap()
    });
}

/// In the layout of YCSB's JDBC binding, and in the obvious columns for other tables.
#[test]
fn records_lie_in_columns() {
    let Some((_dir, server)) = server("records_lie_in_columns", ServerOptions::default()) else {
        return;
    };
    let field = |n: usize| Field { name: format!("field{n}"), kind: Kind::Bytes };
    let users =
        Arc::new(Table { id: 1, name: "usertable".into(), fields: (0..3).map(field).collect() });
    let t = table(2, "t");
    let store = open(&server, &[Arc::clone(&users), Arc::clone(&t)]);
    let mut values = Record::new();
    ["a", "b", "c"].iter().for_each(|value| values.push(value.as_bytes()));
    store.insert(&users, b"user1", &values).unwrap();
    store.update(&users, b"user1", &[(1, b"x")]).unwrap();
    // names without quotes, as YCSB writes them
    assert_eq!(
        psql(&server, "SELECT YCSB_KEY, FIELD0, FIELD1, FIELD2 FROM usertable"),
        "user1|a|x|c"
    );
    psql(&server, "INSERT INTO usertable (YCSB_KEY, FIELD2) VALUES ('user0', 'z')");
    let mut want = Record::new();
    ["", "", "z"].iter().for_each(|value| want.push(value.as_bytes()));
    assert_eq!(all(&store, &users, b"", 1), [(b"user0".to_vec(), want)]);
    // one update writes one column
    assert!(
        psql(
            &server,
            "SELECT string_agg(data_type, ',' ORDER BY ordinal_position) FROM \
             information_schema.columns WHERE table_name = 't'"
        )
        .starts_with("text,text,bigint,numeric,bytea")
    );

    // a table that go-ycsb made
    psql(
        &server,
        "DROP TABLE usertable; CREATE TABLE usertable (YCSB_KEY VARCHAR(64) PRIMARY KEY, FIELD0 \
         VARCHAR(100), FIELD1 VARCHAR(100), FIELD2 VARCHAR(100))",
    );
    let store = open(&server, std::slice::from_ref(&users));
    store.insert_many(&users, &[(b"user2".to_vec(), values.clone())]).unwrap();
    assert_eq!(all(&store, &users, b"", 9), [(b"user2".to_vec(), values)]);
    psql(&server, "ALTER TABLE usertable DROP COLUMN FIELD2");
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
fn writes_wait_for_the_disk_only_where_they_must() {
    let name = "writes_wait_for_the_disk_only_where_they_must";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let t = table(1, "t");
    let reached =
        Postgres::connect(&PostgresOptions { may_lag: true, ..at(server.uri()) }).unwrap();
    let syncs_of = |sync_writes: bool| {
        let store = reached
            .open_store(&StoreOptions { sync_writes, ..options(std::slice::from_ref(&t)) })
            .unwrap();
        let before = store.counters().syncs;
        for n in 0..60 {
            store.insert(&t, &key(n), &record_of(b"1")).unwrap();
        }
        // figures come a second late
        std::thread::sleep(Duration::from_millis(1300));
        store.insert(&t, &key(0), &record_of(b"1")).unwrap();
        store.counters().syncs - before
    };
    let (lagging, synced) = (syncs_of(false), syncs_of(true));
    assert!(synced >= 60 && lagging < 30, "{synced} syncs, and {lagging} without");
    let facts = reached.open_store(&options(&[])).unwrap();
    assert!(facts.counters().written_bytes == 0);
}

#[test]
fn a_postgres_that_dies_is_reported_and_found_again() {
    let name = "a_postgres_that_dies_is_reported_and_found_again";
    let Some((_dir, mut server)) = server(name, ServerOptions::default()) else { return };
    let t = table(1, "t");
    let store = open(&server, std::slice::from_ref(&t));
    store.insert(&t, &key(1), &record_of(b"1")).unwrap();
    server.kill().unwrap();
    let begin = Instant::now();
    // its process for our connection may live a moment longer
    let error = loop {
        match store.insert(&t, &key(2), &record_of(b"1")) {
            Err(error) => break error.to_string(),
            Ok(()) => assert!(begin.elapsed() < Duration::from_secs(5), "it still answers"),
        }
    };
    let want = format!(
        "cannot write a record of table t (INSERT) on PostgreSQL at {}: ",
        server.address()
    );
    assert!(
        error.starts_with(&want) && error.contains("\ncheck whether the server still runs"),
        "{error}"
    );
    let error = store.read(&t, &key(2), None, &mut Record::new()).unwrap_err().to_string();
    let want = format!(
        "cannot connect to PostgreSQL at {}: connection refused\nstart the server, ",
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
fn a_postgres_that_refuses_says_why() {
    let password = Some("geheim: \"so\\".into());
    let options = ServerOptions { password, ..ServerOptions::default() };
    let Some((_dir, mut server)) = server("a_postgres_that_refuses_says_why", options) else {
        return;
    };
    let address = server.address();
    assert!(Postgres::connect(&at(server.uri())).is_ok(), "with the password in its file");
    let right = "sealstone:geheim%3A%20%22so%5C";
    assert!(Postgres::connect(&at(format!("postgres://{right}@{address}/postgres"))).is_ok());
    let step =
        "\ngive user and password in the address: postgres://USER:PASSWORD@HOST:PORT/DATABASE";
    let error = refused(&at(format!("postgres://sealstone@{address}/postgres")));
    assert_eq!(
        error,
        format!("cannot connect to PostgreSQL at {address}: it wants a password{step}")
    );
    let error = refused(&at(format!("postgres://sealstone:geheimnis@{address}/postgres")));
    let want = format!(
        "cannot connect to PostgreSQL at {address}: it refused the user name and password{step}"
    );
    assert_eq!(error, want);
    let error = refused(&at(format!("postgres://{right}@{address}/shop")));
    assert!(
        error.contains("it has no database of that name\ncreate it (CREATE DATABASE)"),
        "{error}"
    );
    let error = refused(&at(format!("postgres://{right}@{address}/postgres?sslmode=require")));
    assert!(error.contains(": it takes no TLS\ncheck whether the server takes TLS"), "{error}");
    let error = refused(&at(format!(
        "postgres://u:geheim@{address}/d?passfile=/nonexistent&sslmode=disable"
    )));
    assert!(
        error.contains("it refused the user name and password"),
        "a password in the address counts: {error}"
    );
    let error = refused(&at(format!("postgres://u@{address}/d?passfile=/nonexistent")));
    assert!(error.starts_with("cannot read the passwords in /nonexistent: "), "{error}");
    server.stop().unwrap();
    let error = refused(&at(format!("postgres://u:geheim@{address}/d")));
    assert!(
        error.starts_with(&format!(
            "cannot connect to PostgreSQL at {address}: connection refused\n"
        )),
        "{error}"
    );
}

#[test]
fn a_postgres_with_tls_is_checked() {
    if !is_installed(&POSTGRES_PROGRAM, "a_postgres_with_tls_is_checked") {
        return;
    }
    let dir = reachable();
    let dir = dir.path().canonicalize().unwrap();
    let authority = Authority::make(&dir, "ca").unwrap();
    authority.sign("server", CertificateUse::Server).unwrap();
    authority.sign("client", CertificateUse::Client).unwrap();
    join_certificate(&dir, "client", &dir.join("both.pem")).unwrap();
    Authority::make(&dir, "other").unwrap();
    let password = Some("geheim".into());
    let with = ServerOptions {
        certificates: Some(dir.clone()),
        client_certificates: true,
        password,
        ..ServerOptions::default()
    };
    let server = start_postgres(&dir.join("server"), with).unwrap();
    let file = |name: &str| -> Option<PathBuf> { Some(dir.join(name)) };
    let port = server.port();
    let options = |host: &str, mode: &str, tls_ca_file, tls_certificate_key_file| PostgresOptions {
        uri: format!("postgres://sealstone:geheim@{host}:{port}/postgres{mode}"),
        tls_ca_file,
        tls_certificate_key_file,
        may_lag: false,
    };
    let host = "127.0.0.1";
    let all_right = options(host, "", file("ca.pem"), file("both.pem"));
    let t = table(1, "t");
    let store = Postgres::connect(&all_right)
        .unwrap()
        .open_store(&sql::options(std::slice::from_ref(&t)))
        .unwrap();
    store.insert(&t, b"a", &record_of(b"1")).unwrap();
    // as users of PostgreSQL know it: require takes any certificate, verify-ca any name,
    // verify-full neither
    let parameters = |mode: &str, authority: &str| {
        let path = |name: &str| dir.join(name).display().to_string();
        let (own, key) = (path("client.pem"), path("client-key.pem"));
        let more = if authority.is_empty() {
            String::new()
        } else {
            format!("&sslrootcert={}", path(authority))
        };
        format!("?sslmode={mode}&sslcert={own}&sslkey={key}{more}")
    };
    // leads to this machine, too, and is in no certificate
    let other_name = "0.0.0.0";
    for (host, mode, authority) in [
        (host, "require", ""),
        (host, "prefer", ""),
        (other_name, "verify-ca", "ca.pem"),
        (host, "verify-full", "ca.pem"),
    ] {
        Postgres::connect(&options(host, &parameters(mode, authority), None, None)).unwrap();
    }
    let error = refused(&options(host, "?sslmode=disable", None, None));
    assert!(error.contains("without TLS") && error.contains("\nwrite sslmode=require"), "{error}");
    let error = refused(&options(host, &parameters("verify-full", ""), None, None));
    assert!(
        error.contains("not trusted here\nname the authority's certificate as tls-ca-file"),
        "{error}"
    );
    let error = refused(&options(other_name, &parameters("verify-full", "ca.pem"), None, None));
    assert!(
        error.contains("\ncheck the server's certificate, and the host name in the address"),
        "{error}"
    );
    let error = refused(&options(host, &parameters("verify-ca", "other.pem"), None, None));
    assert!(error.contains("not trusted here\n") || error.contains("certificate"), "{error}");
    let error = refused(&options(host, "", file("ca.pem"), None));
    assert!(
        error.contains("it wants a certificate of the client\nname certificate and key as"),
        "{error}"
    );
    let error = refused(&options(host, "", Some(Path::new("/nonexistent").into()), None));
    assert!(
        error.starts_with("cannot read the certificate of an authority /nonexistent: "),
        "{error}"
    );
    let error = refused(&options(host, "", file("client-key.pem"), None));
    assert!(error.contains("for TLS: it has no certificate\nname a file in PEM form"), "{error}");
}

#[test]
fn a_postgres_that_takes_no_writes_says_so() {
    let name = "a_postgres_that_takes_no_writes_says_so";
    let Some((_dir, server)) = server(name, ServerOptions::default()) else { return };
    let t = table(1, "t");
    let store = open(&server, std::slice::from_ref(&t));
    store.insert(&t, b"a", &record_of(b"1")).unwrap();
    psql(&server, "ALTER SYSTEM SET default_transaction_read_only = on");
    psql(&server, "SELECT pg_reload_conf()");
    std::thread::sleep(Duration::from_millis(300));
    let error = store.update(&t, b"a", &[(0, b"x")]).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot change a record of table t (UPDATE) on PostgreSQL at {}: it takes no writes: \
             it is a standby, or default_transaction_read_only is on\nname its primary, or switch \
             default_transaction_read_only off",
            server.address()
        )
    );
    let write =
        &mut |transaction: &mut dyn Transaction| transaction.put(&t, b"a", &record_of(b"1"));
    let error = store.transactional().unwrap().transaction(write).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot write a record of table t within a transaction (INSERT) on"),
        "{error}"
    );
    assert!(store.read(&t, b"a", None, &mut Record::new()).unwrap(), "it can be read");
}

#[test]
fn a_full_disk_is_named() {
    let Some((dir, mut server)) = server("a_full_disk_is_named", ServerOptions::default()) else {
        return;
    };
    // mounted where the server looks for it
    let small = match SmallDisk::mount(
        &dir.path().canonicalize().unwrap().join("small"),
        "size=4m,mode=0777",
    ) {
        Ok(small) => small,
        Err(reason) => {
            println!("SKIP: a_full_disk_is_named: no file system of its own: {reason}");
            return;
        }
    };
    server.stop().unwrap();
    server.start_again().unwrap();
    psql(&server, &format!("CREATE TABLESPACE small LOCATION '{}'", small.path().display()));
    psql(&server, "ALTER SYSTEM SET default_tablespace = 'small'");
    psql(&server, "SELECT pg_reload_conf()");
    std::thread::sleep(Duration::from_millis(300));
    let t = table(1, "t");
    let store = open(&server, std::slice::from_ref(&t));
    let long = vec![b'x'; 1500];
    let row = |n: u64| -> Row { (key(n), record([&long, b"1", b"", b""])) };
    let error =
        store.bulk().unwrap().bulk_load(&t, &mut (0..5000).map(row)).unwrap_err().to_string();
    let want = format!(
        "cannot load into table t (INSERT) on PostgreSQL at {}: its disk is full\n\
         free space on the server's disk, or load fewer records",
        server.address()
    );
    assert_eq!(error, want);
    assert_eq!(all(&store, &t, b"", 10), [], "nothing of it is there");
    let error = (0..5000)
        .find_map(|n| store.insert(&t, &row(n).0, &row(n).1).err())
        .expect("it fills up")
        .to_string();
    assert!(
        error.contains("(INSERT) on PostgreSQL at ") && error.contains("its disk is full"),
        "{error}"
    );
    drop(store);
    server.kill().unwrap();
}
