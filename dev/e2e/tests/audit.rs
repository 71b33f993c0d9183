//! `sealstone audit` on real stores, volumes and files: what it finds is so, what it does not say
//! is not, and no text that was looked for is repeated.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealstone_e2e::kmip_server::{Kind, started};
use sealstone_e2e::sealed_places::{MARKER, call, plain_store, sealed};
use sealstone_e2e::volume_place::VolumePlace;
use serde_json::Value;

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a file");
    // no word of ours is taken for a part of an address on the command line
    assert!(!text.contains('…'), "{text}");
    serde_json::from_str(&text).expect("JSON")
}

/// Returns the page in `dir`, with the signs that it escapes.
fn page(dir: &Path) -> String {
    let page = fs::read_to_string(dir.join("audit.html")).expect("a page");
    page.replace("&#x2f;", "/")
}

#[test]
fn what_is_sealed_is_shown_with_its_keys() {
    let home = sealed();
    let dir = home.path();
    let done = call(dir, "audit db vol files --key orders.key --verify").done();
    assert!(done.starts_with("Nothing that was looked at is in the clear\n"), "{done}");
    assert!(done.ends_with("sealstone-audit/audit.html\n"), "{done}");
    let audit = json(&dir.join("sealstone-audit/audit.json"));
    assert_eq!(audit["verdict"]["is_sealed"], true);
    let places = audit["places"].as_array().expect("a list");
    let of = |at: usize| {
        let share = &places[at]["sealed"][0];
        let text = |name: &str| share[name].as_str().expect(name).to_owned();
        (text("cipher"), text("mode"), text("key_id"), share["key_version"].as_u64())
    };
    let sealed = |cipher: &str, mode: &str| {
        (cipher.to_owned(), mode.to_owned(), "orders".to_owned(), Some(1))
    };
    assert_eq!(of(0), sealed("aria-256", "gcm"));
    assert_eq!(of(1), sealed("lea-256", "gcm"));
    assert_eq!(of(2), sealed("seed-128", "aead"));
    assert_eq!(places[2]["sealed"][0]["column"], "memo");
    for place in places {
        assert_eq!(place["verified"]["state"], "checked", "{place}");
        assert_eq!(place["verified"]["is_whole"], true, "{place}");
    }
    let key = &audit["keys"][0];
    assert_eq!((&key["id"], &key["held"]["mode"]), (&"orders".into(), &"0600".into()));
    assert_eq!(key["held"]["protection"]["by"], "nothing");
    assert_eq!((&key["versions"][0]["places"], &key["is_overdue"]), (&3.into(), &false.into()));
    let facts = fs::metadata(dir.join("sealstone-audit/audit.json")).expect("a file");
    assert_eq!(facts.permissions().mode() & 0o777, 0o600);
    let page = fs::read_to_string(dir.join("sealstone-audit/audit.html")).expect("a page");
    for wanted in ["aria-256", "not a validated module", "orders.key", "<html lang=\"en\">"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    // the next one in Korean, beside it
    call(dir, "audit db vol files --key orders.key --lang ko").done();
    let page = fs::read_to_string(dir.join("sealstone-audit-2/audit.html")).expect("a page");
    for wanted in ["<html lang=\"ko\">", "암호화 점검 보고서", "평문으로 남은 것이 없습니다"]
    {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("Nothing that was looked at"));
}

#[test]
fn what_is_in_the_clear_damaged_or_unread_is_no() {
    let home = sealed();
    let dir = home.path();
    let mut number = 0;
    let mut no = |line: &str, what: &str| {
        number += 1;
        let done = call(dir, &format!("audit {line} --out out{number}"));
        assert_eq!(done.code, Some(1), "{line}: {}{}", done.stdout, done.stderr);
        let said = "Something is in the clear, damaged or unread\n";
        assert!(done.stdout.starts_with(said), "{line}: {}", done.stdout);
        let audit = json(&dir.join(format!("out{number}/audit.json")));
        assert_eq!(audit["verdict"]["open"][0]["what"], what, "{line}: {}", done.stdout);
        audit
    };
    plain_store(&dir.join("plain"));
    no("plain", "clear");
    fs::create_dir_all(dir.join("pg/base")).expect("room");
    fs::create_dir(dir.join("pg/global")).expect("room");
    fs::write(dir.join("pg/PG_VERSION"), "15\n").expect("room");
    no("pg", "clear");
    // one file among sealed ones, with a name that is no part of a page
    fs::write(dir.join("db/<script>alert(1)<b>.sst"), MARKER).expect("room");
    no("db", "clear");
    let page = fs::read_to_string(dir.join("out3/audit.html")).expect("a page");
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"), "{page}");
    fs::remove_file(dir.join("db/<script>alert(1)<b>.sst")).expect("it is there");
    // something else in the place of a file
    fs::create_dir(dir.join("db/link")).expect("room");
    std::os::unix::fs::symlink("/nonexistent", dir.join("db/link/000001.sst")).expect("room");
    no("db", "unread");
    fs::remove_dir_all(dir.join("db/link")).expect("it is there");
    // a byte of a table: headers do not show it, the check does
    let table = fs::read_dir(dir.join("db"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|ending| ending == "sst"))
        .expect("a table");
    let mut bytes = fs::read(&table).expect("a file");
    let last = bytes.len() - 100;
    bytes[last] ^= 1;
    fs::write(&table, &bytes).expect("room");
    let done = call(dir, "audit db --key orders.key --out headers").done();
    assert!(done.contains("db was not checked"), "{done}");
    no("db --key orders.key --verify", "damaged");
    // what an earlier audit found is shown where nothing is checked now
    let audit = no("db --key orders.key --previous out5/audit.json", "damaged");
    assert_eq!(audit["places"][0]["verified"]["earlier"], "out5/audit.json");
    // a file beside those of a volume, and one that is a table by its name alone
    fs::write(dir.join("vol/backup.sql"), MARKER).expect("room");
    no("vol --key orders.key", "clear");
    fs::remove_file(dir.join("vol/backup.sql")).expect("it is there");
    fs::create_dir(dir.join("mongodb")).expect("room");
    fs::write(dir.join("mongodb/WiredTiger"), "").expect("room");
    fs::write(dir.join("mongodb/collection-0.wt"), MARKER).expect("room");
    no("mongodb", "clear");
    // damage that ends the check before it has a finding
    let maps = ["vol/sealstone.map-0", "vol/sealstone.map-1"].map(|name| dir.join(name));
    let roots = maps.each_ref().map(|path| fs::read(path).expect("a file"));
    for (path, bytes) in maps.iter().zip(&roots) {
        fs::write(path, vec![0; bytes.len()]).expect("room");
    }
    no("vol --key orders.key --verify", "not_checked");
    let metrics = call(dir, "status vol --key orders.key --verify --prometheus");
    let success = "sealstone_verify_success{";
    let line = metrics.stdout.lines().find(|line| line.starts_with(success)).expect("a sample");
    assert!(line.ends_with(" 0"), "{line}");
    for (path, bytes) in maps.iter().zip(roots) {
        fs::write(path, bytes).expect("room");
    }
    // a manifest whose file is gone
    fs::copy(dir.join("files/people.csv.sealed.toml"), dir.join("files/old.csv.sealed.toml"))
        .expect("room");
    no("files --key orders.key", "unread");
    fs::remove_file(dir.join("files/old.csv.sealed.toml")).expect("it is there");
    // a row that was taken out of a sealed file
    let path = dir.join("files/people.csv");
    let text = fs::read_to_string(&path).expect("a file");
    let (first, _) = text.trim_end().rsplit_once('\n').expect("lines");
    fs::write(&path, format!("{first}\n")).expect("room");
    no("files --key orders.key --verify", "damaged");
}

/// Only names, values and errors stay in English.
#[test]
fn a_korean_page_explains_in_korean() {
    let home = sealed();
    let dir = home.path();
    let files = [
        "pg/base/1",
        "pg/global/1",
        "pg/PG_VERSION",
        "maria/ibdata1",
        "maria/aria_log_control",
        "maria/shop/t.frm",
        "maria/shop/t.MYI",
        "maria/shop/t.MYD",
        "maria/other",
        "mongo/WiredTiger",
        "mongo/collection-0.wt",
        "mongo/mongod.log",
        "mongo/_tmp/1",
        "mongo/other",
        "vol/backup.sql",
    ];
    for name in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("room");
        fs::write(path, MARKER.repeat(100)).expect("room");
    }
    let done = call(dir, "audit pg maria mongo vol files --lang ko --out ko");
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    let page = page(&dir.join("ko"));
    let audit = fs::read(dir.join("ko/audit.json")).expect("a file");
    let audit: Value = serde_json::from_slice(&audit).expect("JSON");
    let places = audit["places"].as_array().expect("a list");
    let lists = places.iter().flat_map(|place| ["clear", "beside"].map(|list| &place[list]));
    let files = lists.flat_map(|list| list.as_array().expect("a list"));
    let texts = files.flat_map(|file| [&file["name"], &file["remark"]]);
    let shares = places.iter().flat_map(|place| place["sealed"].as_array().expect("a list"));
    let leaks = shares.map(|share| &share["leaks"]);
    let words = texts.chain(leaks).filter_map(Value::as_str).filter(|text| text.contains(' '));
    let mut explained = 0;
    for text in words {
        // the page escapes some signs
        let begin = text.split(['\'', '"', '<', '&']).next().expect("a part");
        assert!(!page.contains(begin), "{text}");
        explained += 1;
    }
    assert!(explained > 20, "{explained}: {audit:#}");
}

#[test]
fn what_must_not_be_anywhere_is_found_and_not_repeated() {
    let home = sealed();
    let dir = home.path();
    fs::write(dir.join("markers.txt"), format!("# planted\n\n{MARKER}\ncall before noon\n"))
        .expect("room");
    fs::create_dir(dir.join("logs")).expect("room");
    fs::write(dir.join("logs/app.log"), "nothing to see\n").expect("room");
    let search = "audit db vol files --leak-markers markers.txt --search logs . --out";
    let done = call(dir, &format!("{search} clean")).done();
    assert!(done.starts_with("Nothing that was looked at"), "{done}");
    let audit = json(&dir.join("clean/audit.json"));
    assert_eq!(audit["search"]["markers"], 2);
    assert!(audit["search"]["files"].as_u64().expect("a number") > 5);

    let slow = format!("query took 3 s: {MARKER}\n");
    fs::write(dir.join("logs/slow.log"), &slow).expect("room");
    let utf16: Vec<u8> = MARKER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(dir.join("logs/core.17"), [&[0; 5000][..], &utf16, b"\0\0"].concat()).expect("room");
    let mut gzip = std::process::Command::new("gzip")
        .stdin(std::process::Stdio::piped())
        .stdout(fs::File::create(dir.join("logs/old.log.gz")).expect("room"))
        .spawn()
        .expect("gzip");
    gzip.stdin.take().expect("piped").write_all(slow.as_bytes()).expect("it reads");
    assert!(gzip.wait().expect("an end").success());
    let done = call(dir, &format!("{search} leaks"));
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let audit = json(&dir.join("leaks/audit.json"));
    let hits = audit["search"]["hits"].as_object().expect("a table");
    let real = dir.display().to_string();
    for (file, encoding, offset) in [
        ("logs/slow.log", "plain", 16),
        ("logs/core.17", "utf16le", 5000),
        ("logs/old.log.gz", "plain", 0),
    ] {
        let hit = &hits[&format!("{real}/{file}")][0];
        assert_eq!(hit["encoding"], encoding, "{file}: {hit}");
        assert_eq!(hit["first_offset"], offset, "{file}: {hit}");
        assert_eq!(hit["what"], "line 3 of markers.txt", "{file}: {hit}");
    }
    // the markers themselves and the audits are no leaks, and nothing repeats a text
    assert_eq!(hits.len(), 3, "{hits:?}");
    let page = fs::read_to_string(dir.join("leaks/audit.html")).expect("a page");
    for text in [page, audit.to_string(), done.stdout, done.stderr] {
        assert!(!text.contains(MARKER) && !text.contains("call before noon"), "{text}");
    }
}

/// Values of the forms of a policy are found wherever they are in the clear, and numbers that are
/// only as long are not.
#[test]
fn values_of_the_forms_of_a_policy_are_found() {
    let home = sealed();
    let dir = home.path();
    let policy = "cipher = \"aria-256\"\n[tables.people.columns]\n\
                  rrn = { method = \"ff1\", format = \"rrn\" }\n\
                  note = { method = \"aead\" }\n";
    fs::write(dir.join("policy.toml"), policy).expect("room");
    fs::create_dir(dir.join("logs")).expect("room");
    let search = "audit db --leak-policy policy.toml --search logs --out";
    // one digit off, so that it is no resident number
    fs::write(dir.join("logs/app.log"), "order 900101-1234567 went out\n").expect("room");
    let done = call(dir, &format!("{search} clean"));
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    fs::write(dir.join("logs/app.log"), "resident 900101-1234568 called\n").expect("room");
    let done = call(dir, &format!("{search} leaks"));
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    let audit = json(&dir.join("leaks/audit.json"));
    let hit = &audit["search"]["hits"][&format!("{}/logs/app.log", dir.display())][0];
    assert_eq!((&hit["encoding"], &hit["first_offset"]), (&"plain".into(), &9.into()), "{audit}");
    let page = fs::read_to_string(dir.join("leaks/audit.html")).expect("a page");
    assert!(!page.contains("1234568") && !audit.to_string().contains("1234568"));
    // a policy without such a form is refused, and nothing is searched
    fs::write(dir.join("policy.toml"), policy.replace("rrn = {", "# rrn = {")).expect("room");
    let refused = call(dir, &format!("{search} none"));
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
}

/// Data of a server that seals nothing is sealed if it is on a volume, and a search looks at the
/// volume's own files, not through the mount.
#[test]
fn a_server_on_a_sealed_volume_is_sealed() {
    let test = "a_server_on_a_sealed_volume_is_sealed";
    let home = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let place = VolumePlace::new(home, "aria-256", "64MiB");
    if !place.mounts_new(test) {
        return;
    }
    for name in ["m/pg/base", "m/pg/global"] {
        fs::create_dir_all(place.at(name)).expect("room");
    }
    fs::write(place.at("m/pg/PG_VERSION"), "15\n").expect("room");
    fs::write(place.at("m/pg/base/1"), MARKER.repeat(100)).expect("room");
    fs::write(place.at("markers"), format!("{MARKER}\n")).expect("room");
    let audit = |more: &[&str], out: &str| {
        let begin = ["audit", "--runtime-dir", "run", "--leak-markers", "markers", "--out", out];
        let done = place.sealstone(&[&begin[..], more].concat());
        (done.code, json(&place.at(out).join("audit.json")))
    };
    let key = ["--key", "k.key", "--verify"];
    let (code, found) = audit(&[&["vol", "m/pg"], &key[..]].concat(), "mounted");
    assert_eq!(code, Some(0), "{found:#}");
    let places = &found["places"];
    assert_eq!(places[1]["on_volume"], places[0]["name"], "{places}");
    assert_eq!(places[0]["verified"]["why"], "in_use", "{places}");
    // what a link leads to is on another disk, however it is named
    fs::create_dir(place.at("wal")).expect("room");
    fs::write(place.at("wal/1"), "records").expect("room");
    std::os::unix::fs::symlink(place.at("wal"), place.at("m/pg/pg_wal")).expect("room");
    let (code, found) = audit(&["vol", "m/pg"], "linked");
    let clear = found["places"][1]["clear"].as_array().expect("a list");
    assert_eq!((code, clear.len()), (Some(1), 1), "{found:#}");
    assert_eq!((&clear[0]["name"], &clear[0]["bytes"]), (&"pg_wal/".into(), &7.into()));
    fs::remove_file(place.at("m/pg/pg_wal")).expect("it is there");
    // without the volume it is data in the clear, with what must not be there
    let (code, found) = audit(&["m/pg"], "alone");
    assert_eq!((code, &found["places"][0]["on_volume"]), (Some(1), &Value::Null));
    assert_eq!(found["verdict"]["open"].as_array().expect("a list").len(), 2, "{found:#}");
    place.volume(&["unmount", "m"]).done();
    let (code, found) = audit(&[&["vol"], &key[..]].concat(), "unmounted");
    assert_eq!((code, &found["places"][0]["verified"]["is_whole"]), (Some(0), &true.into()));
}

#[test]
fn keys_that_are_old_or_missing_ask_for_attention() {
    let home = sealed();
    let dir = home.path();
    let done = call(dir, "audit db files").done();
    assert!(done.contains("nobody who was named holds key orders, version 1"), "{done}");
    let key = dir.join("orders.key");
    let text = fs::read_to_string(&key).expect("a file");
    let at = text.find("created = \"").expect("a time") + 11;
    fs::write(&key, format!("{}2020{}", &text[..at], &text[at + 4..])).expect("room");
    let done = call(dir, "audit db files --key orders.key").done();
    assert!(done.contains("key orders was to be rotated by 202"), "{done}");
    assert!(done.contains("anyone who reads the file of key orders has the key"), "{done}");
    // a newer version is what counts
    call(dir, "keys rotate orders.key").done();
    let done = call(dir, "audit db files --key orders.key").done();
    assert!(!done.contains("was to be rotated"), "{done}");
}

#[test]
fn what_is_wrong_is_said_before_any_work() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    fs::create_dir(dir.join("photos")).expect("room");
    fs::write(dir.join("photos/a.jpg"), "x").expect("room");
    fs::write(dir.join("short"), "abc\n").expect("room");
    fs::create_dir(dir.join("done")).expect("room");
    fs::write(dir.join("done/audit.json"), "{}").expect("room");
    plain_store(&dir.join("db"));
    for (line, wanted) in [
        ("audit nowhere", "cannot look at nowhere"),
        ("audit photos", "photos is no store, no data of a server, no sealed volume"),
        ("audit db --search /tmp", "--search without anything to look for"),
        ("audit db --leak-markers short", "line 1 of short"),
        ("audit db --leak-markers none", "cannot read none"),
        ("audit db --out done", "done has an earlier audit, which stays"),
        ("audit db --previous done/audit.json", "is no audit of this version"),
        ("audit db --key none.key", "no key file at none.key"),
        ("audit db --verify", "--key"),
        ("audit db --rotate-after 0", "0"),
    ] {
        let refused = call(dir, line);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{line}");
        assert!(refused.stderr.contains(wanted), "{line}: {}", refused.stderr);
        assert!(!dir.join("sealstone-audit/audit.json").exists(), "{line}");
    }
    // a FIFO in a place that is searched holds nothing, and nobody waits for it
    nix::unistd::mkfifo(&dir.join("db/pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    fs::write(dir.join("markers"), "some long text\n").expect("room");
    let done = call(dir, "audit db --leak-markers markers --search db");
    assert_eq!(done.code, Some(1), "{}", done.stderr);
}

/// Sealed data names a version of a key by the server's own identifier, and a person names the key:
/// both are the same key, and a server that does not answer takes nothing else from the page.
fn keys_of_a_server(kind: Kind, test: &str) {
    let Some((certificates, mut server)) = started(kind, test) else { return };
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    let url = certificates.url(server.port, "orders", "&retries=0");
    let made = call(dir, &format!("keys new {url} --cipher aes-256 --json")).done();
    plain_store(&dir.join("db"));
    call(dir, &format!("rest reseal db --key {url} --cipher aria-256 --from-plain --yes")).done();
    fs::write(dir.join("people.csv"), "id,memo\n1,call before noon\n").expect("room");
    fs::create_dir(dir.join("files")).expect("room");
    let seal = format!("field seal people.csv --column memo=aead --key {url}");
    call(dir, &format!("{seal} --out files/old.csv")).done();
    let made = call(dir, &format!("keys rotate {url} --json")).done() + &made;
    call(dir, &format!("{seal} --out files/new.csv")).done();
    fs::remove_file(dir.join("people.csv")).expect("it is there");

    let line = format!("audit db files --key {url} --verify --out whole");
    let done = call(dir, &line).done();
    assert!(!done.contains("nobody who was named"), "{done}");
    let audit = json(&dir.join("whole/audit.json"));
    let places = audit["places"].as_array().expect("a list");
    for (place, version) in places.iter().zip([1, 2, 1]) {
        assert_eq!(place["sealed"][0]["key_version"], version, "{place}");
        assert_eq!(place["verified"]["is_whole"], true, "{place}");
    }
    assert_eq!((places.len(), audit["keys"].as_array().expect("a list").len()), (3, 1));
    let key = &audit["keys"][0];
    assert_eq!(
        (&key["id"], &key["held"]["protection"]["by"]),
        (&"orders".into(), &"server".into())
    );
    let place = key["held"]["place"].as_str().expect("an address");
    assert!(place.starts_with(&format!("kmip://127.0.0.1:{}/orders", server.port)), "{place}");
    for absent in [&key["held"]["owner"], &key["held"]["mode"]] {
        assert!(absent.is_null(), "{key:#}");
    }
    // the server records when it made the key
    let rotate_by = key["rotate_by"].as_str().expect("a day");
    assert_eq!(key["is_overdue"], false);
    let versions = key["versions"].as_array().expect("a list");
    assert_eq!(versions.len(), 2, "{key:#}");
    for (version, (number, used)) in versions.iter().zip([(1, 2), (2, 1)]) {
        assert_eq!((&version["version"], &version["places"]), (&number.into(), &used.into()));
        assert_eq!((&version["is_held"], &version["age_days"]), (&true.into(), &0.into()));
        // what the data and the server call it
        let id = version["id"].as_str().expect("an identifier");
        assert!(made.contains(&format!("\"id\": \"{id}\"")), "{id}: {made}");
        let share = places.iter().find(|place| place["sealed"][0]["key_version"] == number);
        assert_eq!(share.expect("a place")["sealed"][0]["key_id"], id);
    }
    let page = page(&dir.join("whole"));
    for wanted in ["<td>orders</td>", "the key server", rotate_by, "<html lang=\"en\">"] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    let first = versions[0]["id"].as_str().expect("an identifier");
    assert!(page.contains(&format!("version 1 ({first}), under it: 2 places")), "{page}");

    // a stranger's certificate, a key that is not there, and a server that is not there
    let stranger = certificates.query("other-client", "ca");
    let stranger = format!("kmip://127.0.0.1:{}/orders?{stranger}&retries=0", server.port);
    without_the_key(dir, &stranger, "no key server answered", "stranger");
    let other = certificates.url(server.port, "others", "&retries=0");
    without_the_key(dir, &other, "no key others on ", "other");
    server.kill();
    without_the_key(dir, &url, "no key server answered", "gone");
    // what is wrong with the address itself is said before any work
    let wrong = url.replace("client.pem", "none.pem");
    let refused = call(dir, &format!("audit db --key {wrong} --out refused"));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{}", refused.stderr);
    assert!(refused.stderr.contains("none.pem"), "{}", refused.stderr);
    assert!(!dir.join("refused/audit.json").exists());
}

/// Audits with the key `url`, which cannot be looked at for the reason `why`.
fn without_the_key(dir: &Path, url: &str, why: &str, out: &str) {
    let done = call(dir, &format!("audit db files --key {url} --verify --out {out}"));
    assert_eq!(done.code, Some(1), "{}{}", done.stdout, done.stderr);
    let (address, _) = url.split_once('?').expect("a query");
    let about: Vec<&str> = done.stdout.lines().filter(|line| line.contains("kmip:")).collect();
    assert_eq!(about.len(), 1, "{}", done.stdout);
    for wanted in [address, "could not be looked at: ", why] {
        assert!(about[0].contains(wanted), "{wanted}: {}", done.stdout);
    }
    // of a key that was not seen nobody can say that it has no version of it
    assert!(!done.stdout.contains("nobody who was named"), "{}", done.stdout);
    let audit = json(&dir.join(out).join("audit.json"));
    let open = audit["verdict"]["open"].as_array().expect("a list");
    assert_eq!((open.len(), &open[0]["what"]), (1, &"not_looked_at".into()));
    let places = audit["places"].as_array().expect("a list");
    assert_eq!((places.len(), &places[3]["kind"]), (4, &"key".into()));
    for place in &places[..3] {
        assert_eq!(place["verified"]["why"], "no_key", "{place}");
        assert!(!place["sealed"].as_array().expect("a list").is_empty(), "{place}");
    }
    let keys = audit["keys"].as_array().expect("a list");
    assert_eq!(keys.len(), 2, "the two that the data names");
    assert!(keys.iter().all(|key| key["held"].is_null()));
    let page = page(&dir.join(out));
    for wanted in ["aria-256", "/old.csv", "/new.csv", why, "could not be looked at"] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    for wrong in ["nothing is sealed", "may be anything", "nobody who was named"] {
        assert!(!page.contains(wrong), "{wrong}: {page}");
    }
}

#[test]
fn keys_of_pykmip_are_shown() {
    keys_of_a_server(Kind::PyKmip, "keys_of_pykmip_are_shown");
}

#[test]
fn keys_of_the_go_server_are_shown() {
    keys_of_a_server(Kind::Go, "keys_of_the_go_server_are_shown");
}
