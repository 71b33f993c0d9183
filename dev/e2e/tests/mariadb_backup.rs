//! Backups of a MariaDB with our plug-in, by `mariabackup`: restored beside the original, where
//! both go on.

use sealstone_e2e::mariadb_place::{MariaDbPlace, can_back_up, does};
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::volume_place::holds;
use sealstone_servers::start_mariadb;

const MARKER: &str = "a text that no thief of the disk may read";

#[test]
fn a_backup_goes_on_beside_its_original() {
    let test = "a_backup_goes_on_beside_its_original";
    if !SqlKind::MariaDb.is_available(test) || !can_back_up(test) {
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

    place.back_up(&original.address());
    assert!(!holds(&place.at("copy/data"), &MARKER.as_bytes()[..16]));
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
