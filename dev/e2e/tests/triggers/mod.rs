//! Triggers of the user beside ours, on real servers: one that runs after ours writes a value in
//! the clear over a sealed one, whose mark stays. It is refused by its name whenever it is made,
//! and its values are never opened. Also the steps for a table that was made again, and the
//! required width of columns.

use std::thread;
use std::time::{Duration, Instant};

use sealstone_e2e::sql_server::SqlKind;
use sealstone_e2e::transcript::{Transcript, finish};
use serde_json::Value;

use super::Scene;

const SEAL: [&str; 4] = ["--table", "people", "--column", "phone=ff1:phone"];

/// Returns a server with the table `people` of five people: telephone number, and the number of
/// somebody to call for them.
fn scene(kind: SqlKind) -> Scene {
    let mut scene = Scene::new(kind);
    scene
        .create("people (id BIGINT PRIMARY KEY, phone VARCHAR(20), contact VARCHAR(20), seen INT)");
    let rows: Vec<String> =
        (1..=5).map(|id| format!("({id}, '010-1111-000{id}', '010-2222-000{id}', 0)")).collect();
    scene.session.done(&format!("INSERT INTO people VALUES {}", rows.join(", ")));
    if kind == SqlKind::Postgres {
        scene.session.done(
            "CREATE FUNCTION copies() RETURNS trigger LANGUAGE plpgsql AS $f$BEGIN IF TG_OP = \
             'UPDATE' AND NEW.contact IS DISTINCT FROM OLD.contact THEN NEW.phone := NEW.contact; \
             END IF; RETURN NEW; END$f$",
        );
    }
    scene
}

impl Scene {
    /// Makes a trigger called `name` that copies another column into the sealed one whenever that
    /// changes.
    fn make_copying(&mut self, name: &str, table: &str) {
        self.session.done(&match self.kind {
            SqlKind::MariaDb => {
                let value = "IF(NEW.contact <=> OLD.contact, NEW.phone, NEW.contact)";
                format!(
                    "CREATE TRIGGER `{name}` BEFORE UPDATE ON {table} FOR EACH ROW SET \
                     NEW.Phone = {value}"
                )
            }
            SqlKind::Postgres => format!(
                "CREATE TRIGGER \"{name}\" BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE \
                 FUNCTION copies()"
            ),
        });
    }

    fn drop_trigger(&mut self, name: &str) {
        self.session.done(&match self.kind {
            SqlKind::MariaDb => format!("DROP TRIGGER `{name}`"),
            SqlKind::Postgres => format!("DROP TRIGGER \"{name}\" ON people"),
        });
    }

    fn phones(&mut self) -> Vec<Vec<String>> {
        self.session.done("SELECT phone FROM people ORDER BY id")
    }

    /// Runs a migration that must be refused because of the trigger `name` of `table`, and changes
    /// no value.
    fn refuses(&mut self, flags: &[&str], name: &str, table: &str) -> Transcript {
        let before = self.phones();
        let said = self.migrate(flags);
        assert_eq!(said.code, Some(2), "{flags:?}: {}", said.stderr);
        let begin = format!(
            "sealstone: table {table} on {} at {}: trigger {name} ",
            self.kind.name(),
            self.server.address()
        );
        assert!(
            said.stderr.contains(&begin) && said.stderr.contains("runs after"),
            "{}",
            said.stderr
        );
        assert_eq!(self.phones(), before, "{flags:?}");
        said
    }
}

fn made_after(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = scene(kind);
    let open = ["--table", "people", "--open"];
    let reseal = ["--table", "people", "--reseal"];
    scene.session.done("UPDATE people SET contact = '010-9999-0003' WHERE id = 3");
    for name in ["zzzz_copy", "zzz_sealstone2", "{copy", "~copy", "가나다"] {
        scene.migrate(&SEAL).done();
        scene.make_copying(name, "people");
        scene.session.done("UPDATE people SET contact = '010-2222-0003' WHERE id = 3");
        assert_eq!(scene.phones()[2], ["010-2222-0003"]);
        for flags in [&SEAL[..], &open, &reseal] {
            scene.refuses(flags, name, "people");
        }
        let checked =
            scene.field(&["check", "@address", "--table", "people", "--column", "phone=ff1:phone"]);
        assert!(checked.code == Some(2) && checked.stderr.contains(name), "{}", checked.stderr);
        scene.drop_trigger(name);
        // its value is still marked as sealed, and ff1 would make another number of it
        let said = scene.migrate(&open);
        let want = "table people, row id 3, column phone: something wrote over it after it was \
                    sealed, past the trigger";
        assert!(said.code == Some(2) && said.stderr.contains(want), "{}", said.stderr);
        assert_eq!(scene.phones()[2], ["010-2222-0003"]);
        scene.session.done("UPDATE people SET phone_sealed = NULL WHERE id = 3");
        scene.migrate(&open).done();
        assert_eq!(scene.phones()[2], ["010-2222-0003"]);
        scene.session.done(
            "UPDATE people SET phone = '010-1111-0003', contact = '010-9999-0003' WHERE id = 3",
        );
        let wanted: Vec<_> = (1..=5).map(|id| vec![format!("010-1111-000{id}")]).collect();
        assert_eq!(scene.phones(), wanted);
    }
}

fn made_before(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = scene(kind);
    scene.make_copying("zzzz_copy", "people");
    if kind == SqlKind::Postgres {
        let before = scene.catalogue();
        let said = scene.refuses(&SEAL, "zzzz_copy", "people");
        assert_eq!(scene.catalogue(), before, "something was added");
        // its advice helps
        let step = said.stderr.lines().find(|line| line.contains("ALTER TRIGGER")).unwrap();
        scene.session.done(step.split_once(": ").unwrap().1);
    }
    // it runs before ours, which see what it writes
    let sealed = [&SEAL[..], &["--json"]].concat();
    assert_eq!(scene.migrated(&sealed)["changed_rows"].as_u64(), Some(5));
    scene.session.done("UPDATE people SET contact = '010-3333-0003' WHERE id = 3");
    assert_eq!(
        scene.session.done("SELECT phone, phone_sealed FROM people WHERE id = 3"),
        [["010-3333-0003", "NULL"]]
    );
    assert_eq!(scene.migrated(&sealed)["changed_rows"].as_u64(), Some(1));
    scene.migrate(&["--table", "people", "--open"]).done();
    assert_eq!(scene.phones()[2], ["010-3333-0003"]);
}

fn made_meanwhile(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = scene(kind);
    let rows: Vec<String> =
        (6..=600).map(|id| format!("({id}, '010-1111-{id:04}', '010-2222-{id:04}', 0)")).collect();
    scene.session.done(&format!("INSERT INTO people VALUES {}", rows.join(", ")));
    let slow = [&SEAL[..], &["--batch", "10", "--rows-per-second", "100"]].concat();
    let open = ["--table", "people", "--open", "--batch", "10", "--rows-per-second", "100"];
    for (flags, again, at_most) in [(&slow[..], &SEAL[..], 600), (&open[..], &open[..3], 500)] {
        let child = scene.spawn(flags);
        let begin = Instant::now();
        let sealed = |scene: &mut Scene| -> usize {
            let rows = scene.session.ask("SELECT count(phone_sealed) FROM people");
            rows.concat().concat().parse().unwrap_or(0)
        };
        while !(1..at_most).contains(&sealed(&mut scene)) {
            assert!(begin.elapsed() < Duration::from_secs(30), "nothing is changed");
            thread::sleep(Duration::from_millis(20));
        }
        scene.make_copying("zzzz_copy", "people");
        // a row that it comes to last
        scene.session.ask("UPDATE people SET contact = '010-3333-0599' WHERE id = 599");
        let said = finish(child);
        assert!(
            said.code == Some(2) && said.stderr.contains("trigger zzzz_copy "),
            "{}",
            said.stderr
        );
        scene.drop_trigger("zzzz_copy");
        scene.session.done(
            "UPDATE people SET phone = '010-1111-0599', phone_sealed = NULL, contact = '' \
             WHERE id = 599",
        );
        scene.migrate(again).done();
    }
    let rows = scene.session.done(
        "SELECT count(*) FROM people WHERE phone = concat('010-1111-', lpad(concat(id, ''), \
         4, '0'))",
    );
    assert_eq!(rows, [["600"]]);
}

/// Triggers that cannot do any harm, and a trigger of MariaDB that names its place.
#[test]
fn only_what_can_change_a_sealed_column_of_mariadb_is_refused() {
    let name = "only_what_can_change_a_sealed_column_of_mariadb_is_refused";
    if !SqlKind::MariaDb.is_available(name) {
        return;
    }
    let mut scene = scene(SqlKind::MariaDb);
    scene.migrate(&SEAL).done();
    scene.session.done(
        "CREATE TRIGGER stamp BEFORE UPDATE ON people FOR EACH ROW SET NEW.seen = NEW.seen + 1",
    );
    scene.session.done(
        "CREATE TRIGGER after_all AFTER UPDATE ON people FOR EACH ROW SET @phone = NEW.phone",
    );
    scene.migrate(&SEAL).done();
    for place in ["PRECEDES sealstone_update_people", "FOLLOWS sealstone_update_people"] {
        let text = "FOR EACH ROW %% IF NEW.phone IS NULL THEN SET NEW.phone = NEW.contact; END IF";
        scene.session.done(&format!(
            "DELIMITER //\nCREATE TRIGGER fills BEFORE UPDATE ON people {} //\nDELIMITER ;\nSELECT \
             1",
            text.replace("%%", place)
        ));
        if place.starts_with("FOLLOWS") {
            let said = scene.refuses(&SEAL, "fills", "people");
            assert!(said.stderr.contains("PRECEDES `sealstone_update_people`"), "{}", said.stderr);
        } else {
            scene.migrate(&SEAL).done();
        }
        scene.drop_trigger("fills");
    }
}

#[test]
fn every_way_past_the_trigger_of_postgres_is_noticed() {
    let name = "every_way_past_the_trigger_of_postgres_is_noticed";
    if !SqlKind::Postgres.is_available(name) {
        return;
    }
    let mut scene = scene(SqlKind::Postgres);
    let open = ["--table", "people", "--open"];
    scene.migrate(&SEAL).done();
    scene.make_copying("~copy", "people");
    scene.session.done("ALTER TABLE people DISABLE TRIGGER \"~copy\"");
    scene.migrate(&SEAL).done();
    for way in ["ENABLE REPLICA", "ENABLE ALWAYS", "ENABLE"] {
        scene.session.done(&format!("ALTER TABLE people {way} TRIGGER \"~copy\""));
        scene.refuses(&open, "~copy", "people");
    }
    scene.drop_trigger("~copy");
    // one that the server has built in
    scene.session.done(
        "CREATE TRIGGER zzzz_min BEFORE UPDATE ON people FOR EACH ROW EXECUTE FUNCTION \
         suppress_redundant_updates_trigger()",
    );
    scene.migrate(&SEAL).done();
    // ours does not run
    for (off, on) in [
        ("DISABLE TRIGGER zzz_sealstone", "ENABLE TRIGGER zzz_sealstone"),
        ("ENABLE REPLICA TRIGGER zzz_sealstone", "ENABLE ALWAYS TRIGGER zzz_sealstone"),
    ] {
        scene.session.done(&format!("ALTER TABLE people {off}"));
        let said = scene.migrate(&open);
        assert!(
            said.code == Some(2)
                && said.stderr.contains("zzz_sealstone on people is missing, disabled"),
            "{said:?}"
        );
        scene.session.done("UPDATE people SET phone = '010-3333-0001' WHERE id = 1");
        scene.session.done(&format!("ALTER TABLE people {on}"));
        let said = scene.migrate(&open);
        assert!(
            said.code == Some(2)
                && said.stderr.contains("row id 1, column phone: something wrote over"),
            "{said:?}"
        );
        assert_eq!(scene.phones()[0], ["010-3333-0001"]);
        scene.session.done("UPDATE people SET phone_sealed = NULL WHERE id = 1");
        scene.migrate(&open).done();
        scene.migrate(&SEAL).done();
    }
    scene.session.done(
        "SET session_replication_role = replica; UPDATE people SET phone = contact WHERE id = 2; \
         SET session_replication_role = origin",
    );
    let said = scene.migrate(&open);
    assert!(
        said.code == Some(2)
            && said.stderr.contains("row id 2, column phone: something wrote over"),
        "{said:?}"
    );
    // a rule, and a partition with a trigger of its own
    scene.session.done("CREATE RULE zap AS ON UPDATE TO people DO ALSO NOTHING");
    let said = scene.migrate(&open);
    assert!(
        said.code == Some(2) && said.stderr.contains("rules rewrite what is said to it"),
        "{said:?}"
    );
    scene.session.done(
        "DROP RULE zap ON people; CREATE TABLE parted (id BIGINT PRIMARY KEY, phone VARCHAR(20), \
         contact VARCHAR(20)) PARTITION BY RANGE (id); CREATE TABLE part_1 PARTITION OF parted FOR \
         VALUES FROM (0) TO (100); INSERT INTO parted VALUES (1, '010-1111-0001', '010-2222-0001')",
    );
    let parted = ["--table", "parted", "--column", "phone=ff1:phone"];
    scene.migrate(&parted).done();
    scene.make_copying("zzzz_copy", "part_1");
    scene.refuses(&parted, "zzzz_copy", "part_1");
    scene
        .session
        .done("DROP TRIGGER zzzz_copy ON part_1; ALTER TABLE part_1 DISABLE TRIGGER zzz_sealstone");
    let said = scene.migrate(&["--table", "parted", "--open"]);
    assert!(
        said.code == Some(2) && said.stderr.contains("zzz_sealstone on part_1 is missing"),
        "{said:?}"
    );
}

/// Checks a sealed table, widths, and a table that was made again.
fn is_looked_at(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = scene(kind);
    let check = |scene: &Scene| {
        scene.field(&["check", "@address", "--table", "people", "--column", "phone=ff1:phone"])
    };
    scene.migrate(&SEAL).done();
    let said = check(&scene).done();
    let want = "table people is sealed: aes-256, key people version 1; 5 of 5 rows have no value \
                in the clear (marks phone_sealed)\n";
    assert!(said.ends_with(want) && said.contains("SEALED"), "{said}");
    scene.session.done(
        "UPDATE people SET phone = 'none' WHERE id = 1; UPDATE people SET phone = \
         NULL WHERE id = 2",
    );
    let said = check(&scene);
    assert_eq!(said.code, Some(1));
    for want in [
        "table people is sealed in part: ",
        "; 3 of 5 rows have no",
        "1 of 2 rows not sealed do not fit\n",
    ] {
        assert!(said.stdout.contains(want), "{}\nwant: {want}", said.stdout);
    }
    let other =
        scene.field(&["check", "@address", "--table", "people", "--column", "phone=ff1:digits"]);
    assert!(
        other.code == Some(2)
            && other.stderr.contains("is sealed already, or in part, and in another way")
    );

    // dropped, and made again
    scene.session.done("DROP TABLE people");
    scene.create("people (id BIGINT PRIMARY KEY, phone VARCHAR(20))");
    scene.session.done("INSERT INTO people VALUES (1, '010-4444-0001')");
    for flags in [&SEAL[..], &["--table", "people", "--open"]] {
        let said = scene.migrate(flags);
        let want = "it was dropped and recreated, or restored without what sealing added";
        assert!(said.code == Some(2) && said.stderr.contains(want), "{}", said.stderr);
    }
    let forget = ["field", "migrate", "@address", "--table", "people", "--forget", "--yes"];
    let forgets = |scene: &Scene| {
        sealstone_e2e::transcript::run(&mut sealstone_e2e::transcript::sealstone(
            scene.path(),
            &forget,
        ))
    };
    assert!(forgets(&scene).done().ends_with(": aes-256, key people version 1\n"));
    scene.migrate(&SEAL).done();
    let said = forgets(&scene);
    assert!(
        said.code == Some(2) && said.stderr.contains("still has phone_sealed, "),
        "{}",
        said.stderr
    );
    scene.session.done("DROP TABLE people");
    forgets(&scene).done();
    assert!(forgets(&scene).stderr.contains("is not sealed"));
    let left = scene.catalogue();
    assert!(!format!("{left:?}").contains("sealstone_fields"), "{left:?}");
}

/// Checks that a check and `migrate` give the same advice on width, and that the width advised is
/// enough for whatever the column takes now.
fn is_widened(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = Scene::new(kind);
    scene.create("notes (id BIGINT PRIMARY KEY, memo VARCHAR(30) NOT NULL)");
    scene.session.done("INSERT INTO notes VALUES (1, 'short'), (2, 'some memo')");
    let seal = ["--table", "notes", "--column", "memo=aead"];
    let check = |scene: &Scene, key: &[&str]| {
        scene.field(&[&["check", "@address"], &seal[..], key].concat())
    };
    let refused = scene.migrate(&seal);
    let widening = |text: &str| -> String {
        let at = text.find("ALTER TABLE").unwrap_or_else(|| panic!("{text}"));
        text[at..].lines().next().unwrap().to_owned()
    };
    assert!(
        refused.stderr.contains("has room for 30 characters, and its values need "),
        "{}",
        refused.stderr
    );
    let checked = check(&scene, &["--key", "people.key"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert!(checked.stdout.contains("2 of 2 rows do not fit"), "{}", checked.stdout);
    assert_eq!(widening(&checked.stdout), widening(&refused.stderr));
    let json: Value = serde_json::from_str(&check(&scene, &["--json"]).stdout).unwrap();
    assert_eq!(
        (json["rows_that_do_not"].as_u64(), json["columns"][0]["narrow"]["room"].as_u64()),
        (Some(2), Some(30))
    );
    scene.session.done(&widening(&refused.stderr));
    check(&scene, &["--key", "people.key"]).done();
    scene.migrate(&seal).done();
    // the longest values that the column took before
    scene.session.done(&format!("INSERT INTO notes VALUES (3, '{}')", "🔑".repeat(30)));
    scene.session.done(&format!("UPDATE notes SET memo = '{}' WHERE id = 1", "가".repeat(30)));
    scene.migrate(&seal).done();
    scene.migrate(&["--table", "notes", "--open"]).done();
    assert_eq!(scene.session.done("SELECT memo FROM notes WHERE id = 3"), [["🔑".repeat(30)]]);
}

macro_rules! on_both {
    ($($test:ident, $mariadb:ident, $postgres:ident;)*) => {$(
        #[test]
        fn $mariadb() {
            $test(SqlKind::MariaDb, stringify!($mariadb));
        }

        #[test]
        fn $postgres() {
            $test(SqlKind::Postgres, stringify!($postgres));
        }
    )*};
}

on_both! {
    made_after, a_trigger_of_mariadb_made_after_sealing_is_refused,
        a_trigger_of_postgres_made_after_sealing_is_refused;
    made_before, a_trigger_of_mariadb_made_before_sealing_runs_before,
        a_trigger_of_postgres_made_before_is_refused;
    made_meanwhile, a_trigger_of_mariadb_made_meanwhile_is_refused,
        a_trigger_of_postgres_made_meanwhile_is_refused;
    is_looked_at, a_check_of_a_sealed_mariadb_says_so, a_check_of_a_sealed_postgres_says_so;
    is_widened, a_column_of_mariadb_is_widened_for_all_it_takes,
        a_column_of_postgres_is_widened_for_all_it_takes;
}
