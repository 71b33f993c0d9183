//! A table of a MySQL 8.0.15 sealed in place: before 8.0.16 the catalogue has no check constraints,
//! and before 8.0.23 no column is invisible. Skipped where `sh dev/setup.sh mysql` was not run.

use std::fs;

use sealstone_e2e::mysql_server::MySqlServer;
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::KeyFile;

#[test]
fn a_table_of_mysql_is_sealed_in_place_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let name = "a_table_of_mysql_is_sealed_in_place_and_comes_back";
    let Some(server) = MySqlServer::start(name, &dir.path().join("mysql")) else { return };
    let path = dir.path();
    KeyFile::create(path.join("people.key"), "people").unwrap();
    fs::write(path.join("address"), server.url("sha")).unwrap();
    let field = |arguments: &[&str]| -> Transcript {
        run(&mut sealstone(path, &[&["field"], arguments].concat()))
    };
    let migrate = |arguments: &[&str]| {
        let begin =
            ["migrate", "@address", "--table", "people", "--key", "people.key", "--yes", "--quiet"];
        field(&[&begin[..], arguments].concat())
    };
    let _ = server.ask(
        "CREATE TABLE people (id BIGINT PRIMARY KEY, name VARCHAR(20) CHARSET utf8mb4, phone \
         VARCHAR(20), contact VARCHAR(20), memo VARCHAR(30) CHARSET utf8mb4, CHECK (length(phone) \
         > 3)); INSERT INTO people VALUES (1, '홍길동', '010-1111-0001', '010-2222-0001', 'first'), \
         (2, '김철수', '010-1111-0002', '010-2222-0002', NULL), (3, NULL, NULL, NULL, '')",
    );
    let before = server.ask("SELECT * FROM people");
    let columns = [
        "--column=name=ff1:hangul",
        "--column=phone=ff1:phone",
        "--column=memo=aead",
        "--tweak=memo=row:id",
    ];
    // MySQL's usual account wants its password over TLS
    let clear = migrate(&columns);
    assert!(clear.code == Some(2) && clear.stderr.contains("ssl-mode=REQUIRED"), "{clear:?}");
    // which this old one has only without elliptic curves
    fs::write(path.join("address"), server.url("sha") + "?ssl-mode=REQUIRED").unwrap();
    let old = migrate(&columns);
    assert!(old.code == Some(2) && old.stderr.contains("no cipher suite"), "{old:?}");
    fs::write(path.join("address"), server.url("sha") + "?get-server-public-key=true").unwrap();
    let narrow = migrate(&columns);
    assert!(
        narrow.code == Some(2) && narrow.stderr.contains("has room for 30 characters"),
        "{}",
        narrow.stderr
    );
    let widening =
        narrow.stderr[narrow.stderr.find("ALTER TABLE").unwrap()..].lines().next().unwrap();
    let _ = server.ask(widening);
    migrate(&columns).done();
    let marks = "SELECT id, name_sealed, phone_sealed, memo_sealed FROM people ORDER BY id";
    assert_eq!(server.ask(marks), "1\t1\t1\t1\n2\t1\t1\tNULL\n3\tNULL\tNULL\t1");
    assert!(!server.ask("SELECT * FROM people").contains("010-1111"));
    let _ = server.ask("UPDATE people SET phone = '010-3333-0002' WHERE id = 2");
    assert_eq!(server.ask("SELECT phone_sealed FROM people WHERE id = 2"), "NULL");
    migrate(&columns).done();
    let _ = server.ask(
        "CREATE TRIGGER copies BEFORE UPDATE ON people FOR EACH ROW SET NEW.phone = NEW.contact",
    );
    let late = migrate(&["--open"]);
    assert!(
        late.code == Some(2) && late.stderr.contains("trigger copies (BEFORE UPDATE) runs after"),
        "{late:?}"
    );
    let _ =
        server.ask("UPDATE people SET contact = '010-4444-0001' WHERE id = 1; DROP TRIGGER copies");
    let late = migrate(&["--open"]);
    assert!(
        late.code == Some(2)
            && late.stderr.contains("row id 1, column phone: something wrote over it"),
        "{late:?}"
    );
    let _ = server.ask("UPDATE people SET phone_sealed = NULL WHERE id = 1");
    migrate(&["--open"]).done();
    let wanted =
        before.replace("010-1111-0002", "010-3333-0002").replace("010-1111-0001", "010-4444-0001");
    assert_eq!(
        server.ask("SELECT * FROM people"),
        wanted.replace("010-2222-0001", "010-4444-0001")
    );

    // a table for each variant, in one server
    let url = "--mysql-url=@address";
    let compare = [
        "compare",
        "--store=mysql",
        url,
        "--layer=field",
        "--ciphers=none,aes-256",
        "--workloads=a,e,batch-load",
    ];
    let small = [
        "--records=200",
        "--operations=200",
        "--set=pairs=6",
        "--rounds=1",
        "--bytes=300k",
        "--set=slice-ms=50",
        "--threads=2",
    ];
    run(&mut sealstone(path, &[&compare[..], &small].concat())).done();
    assert_eq!(server.ask("SHOW TABLES"), "people");
}
