//! Key files that a PKCS #11 token protects: made, used, rotated and moved into and out of one, in
//! a cryptographic module, too; a wrong PIN, a token that is away, another key and changed files
//! are one error, and nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealstone_cipher::{Provider, aead, cipher};
use sealstone_e2e::softhsm::{PIN, SoftHsm};

const PEOPLE: &str = "id,memo\n1,call before noon\n2,PLANTED-MARKER-q7Zx2\n";

/// Runs `sealstone` with the words of `line`, the PIN in its file.
fn with_pin(hsm: &SoftHsm, line: &str) -> sealstone_e2e::transcript::Transcript {
    let words: Vec<&str> = line.split(' ').chain(["--passphrase-file", "pin"]).collect();
    hsm.sealstone(&words)
}

/// Makes a key file `orders.key` under a new key of the token `prod`.
fn made(test: &str) -> Option<SoftHsm> {
    let hsm = SoftHsm::with_token(test, "prod")?;
    let address = hsm.address("prod", "kek");
    let new = format!("keys new orders.key --id orders --token {address} --new-token-key");
    with_pin(&hsm, &new).done();
    Some(hsm)
}

/// Puts a key into a token, and returns it.
fn bring_key(hsm: &SoftHsm, label_and_name: [&str; 2], extractable: bool) -> Vec<u8> {
    let key: Vec<u8> = (0..32).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_token_key"));
    hsm.bring_key(program, label_and_name, &key, extractable);
    key
}

#[test]
fn a_token_protects_a_key_file() {
    let Some(hsm) = made("a_token_protects_a_key_file") else { return };
    let address = hsm.address("prod", "kek");
    let text = fs::read_to_string(hsm.at("orders.key")).expect("a file");
    assert!(text.contains("format = 4\n") && text.contains(&address), "{text}");
    assert!(!text.contains(PIN), "{text}");
    // what it shows takes no token
    let shown = hsm.sealstone(&["keys", "show", "orders.key"]).done();
    assert!(shown.contains("key kek of token prod protects it"), "{shown}");
    let listed = hsm.sealstone(&["keys", "list", "orders.key"]).done();
    assert!(listed.contains("token"), "{listed}");
    let json = hsm.sealstone(&["keys", "show", "orders.key", "--json"]).done();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["protected"], &json["token"]), (&true.into(), &address.clone().into()));

    // what was sealed before a rotation and after it opens
    let checked = with_pin(&hsm, "keys check orders.key").done();
    assert!(checked.contains("wraps and unwraps"), "{checked}");
    fs::write(hsm.at("people.csv"), PEOPLE).expect("room");
    let seal = "field seal people.csv --column memo=aead --key orders.key --out";
    with_pin(&hsm, &format!("{seal} one.csv")).done();
    with_pin(&hsm, "keys rotate orders.key").done();
    with_pin(&hsm, &format!("{seal} two.csv")).done();
    for (sealed, opened) in [("one.csv", "1.csv"), ("two.csv", "2.csv")] {
        with_pin(&hsm, &format!("field open {sealed} --key orders.key --out {opened}")).done();
        assert_eq!(fs::read_to_string(hsm.at(opened)).expect("a file"), PEOPLE);
    }
    // in a module, which opens no passphrases: here the token does that
    let module = "--module openssl:default";
    with_pin(&hsm, &format!("keys rotate orders.key {module}")).done();
    with_pin(&hsm, &format!("{seal} three.csv {module}")).done();
    let open = "field open three.csv --key orders.key --out 3.csv";
    with_pin(&hsm, &format!("{open} {module}")).done();
    assert_eq!(fs::read_to_string(hsm.at("3.csv")).expect("a file"), PEOPLE);
}

#[test]
fn protection_moves_into_a_token_and_out() {
    let Some(hsm) = made("protection_moves_into_a_token_and_out") else { return };
    let fingerprint = |name: &str| {
        // the same secret comes out whatever protects it
        let out = format!("{name}.plain");
        let export = format!("keys export {name} --out {out} --unprotected");
        with_pin(&hsm, &export).done();
        let text = fs::read_to_string(hsm.at(&out)).expect("a file");
        fs::remove_file(hsm.at(&out)).expect("it is there");
        text.lines().find(|line| line.starts_with("secret")).expect("a secret").to_owned()
    };
    let before = fingerprint("orders.key");
    // out of the token, to a passphrase, and back
    hsm.secret("words", "correct horse");
    let out = "keys passwd orders.key --new-passphrase-file words";
    with_pin(&hsm, out).done();
    let text = fs::read_to_string(hsm.at("orders.key")).expect("a file");
    assert!(text.contains("format = 2\n"), "{text}");
    let address = hsm.address("prod", "kek");
    let into = ["keys", "passwd", "orders.key", "--token", &address, "--passphrase-file", "words"];
    let said = hsm.sealstone(&[&into[..], &["--new-passphrase-file", "pin"]].concat());
    assert!(said.stderr.contains("protects key file orders.key from now on"), "{}", said.stderr);
    said.done();
    assert_eq!(fingerprint("orders.key"), before);
    with_pin(&hsm, "keys passwd orders.key --no-passphrase").done();
    let text = fs::read_to_string(hsm.at("orders.key")).expect("a file");
    assert!(text.contains("format = 1\n") && text.contains(&before), "{text}");
    // nothing leaves it unasked
    let plain = ["keys", "passwd", "orders.key", "--token", &address];
    hsm.sealstone(&[&plain[..], &["--new-passphrase-file", "pin"]].concat()).done();
    let refused = with_pin(&hsm, "keys export orders.key --out plain.key");
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("--unprotected"), "{}", refused.stderr);
}

#[test]
fn what_is_wrong_with_a_token_is_said_and_loses_nothing() {
    let test = "what_is_wrong_with_a_token_is_said_and_loses_nothing";
    let Some(hsm) = made(test) else { return };
    let text = fs::read_to_string(hsm.at("orders.key")).expect("a file");
    let fails = |line: &str, wanted: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let refused = hsm.sealstone(&words);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{line}");
        assert!(refused.stderr.contains(wanted), "{line}: {}", refused.stderr);
        assert!(!refused.stderr.contains(PIN), "{}", refused.stderr);
        assert_eq!(fs::read_to_string(hsm.at("orders.key")).expect("a file"), text);
    };
    let check = "keys check orders.key";
    fails(check, "is sealed by token prod, and no PIN was given");
    hsm.secret("wrong", "another-pin");
    fails(
        &format!("{check} --passphrase-file wrong"),
        "token prod does not take this PIN: CKR_PIN_INCORRECT",
    );
    fails(&format!("{check} --passphrase-file pin --module openssl:none"), "provider none");
    let new = "keys new k --passphrase-file pin --token";
    let [kek, other] = ["kek", "other"].map(|key| hsm.address("prod", key));
    fails(&format!("{new} {other}"), "token prod has no secret key other");
    fails(&format!("{new} {kek} --new-token-key"), "token prod has a key kek already");
    bring_key(&hsm, ["prod", "loose"], true);
    let loose = hsm.address("prod", "loose");
    fails(&format!("{new} {loose}"), "key loose of token prod may leave the token, wrapped");
    let dev = hsm.address("dev", "kek");
    fails(&format!("{new} {dev}"), "no token dev is there (present: prod)");
    let library = kek.split_once("module-path=").expect("a library").0.to_owned();
    fails(&format!("{new} {library}module-path=/none.so"), "cannot load the PKCS #11 library");
    fails(&format!("{new} {library}module-path=/usr/bin/true"), "PKCS #11 library /usr/bin/true: ");
    fails(&format!("{new} {kek}&pin-value={PIN}"), "--passphrase-file");
    assert!(!hsm.at("k").exists());
    // a library that everybody may replace is not loaded
    fs::create_dir(hsm.at("open")).expect("room");
    fs::copy(kek.split_once("module-path=").expect("a library").1, hsm.at("open/l.so"))
        .expect("room");
    fs::set_permissions(hsm.at("open"), fs::Permissions::from_mode(0o777)).expect("a mode");
    let open = hsm.at("open/l.so");
    let line = format!("{new} {library}module-path={}", open.display());
    fails(&line, "everybody may put another file in its place");

    let holder = "keys holder add orders.key --name bob --new-passphrase-file wrong";
    fails(&format!("{holder} --passphrase-file pin"), "is under a token, which has one PIN");

    // two tokens of one name are none
    hsm.init("prod");
    fails(&format!("{check} --passphrase-file pin"), "2 tokens are meant by");
}

/// A process that reads its key file again and again does not lock the token with a PIN that is not
/// the token's any more.
#[test]
fn a_pin_that_was_refused_is_not_given_again() {
    let Some(hsm) = made("a_pin_that_was_refused_is_not_given_again") else { return };
    let program = Path::new(env!("CARGO_BIN_EXE_token_pin"));
    let said = hsm.change_pin(program, "prod", "orders.key");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].contains("does not take this PIN: CKR_PIN_INCORRECT"), "{said}");
    for line in &lines[1..] {
        assert!(line.contains("did not take the PIN of this process before"), "{said}");
    }
}

#[test]
fn a_changed_file_and_another_key_do_not_open() {
    let Some(hsm) = made("a_changed_file_and_another_key_do_not_open") else { return };
    with_pin(&hsm, "keys rotate orders.key").done();
    let text = fs::read_to_string(hsm.at("orders.key")).expect("a file");
    let refused = |changed: &str, what: &str| {
        assert_ne!(changed, text, "{what}");
        fs::write(hsm.at("orders.key"), changed).expect("room");
        let refused = with_pin(&hsm, "keys check orders.key");
        assert_eq!(refused.code, Some(2), "{what}: {}", refused.stdout);
        let said = refused.stderr;
        assert!(said.contains("does not open it") && said.contains("CKR_"), "{what}: {said}");
    };
    let address = hsm.address("prod", "other");
    with_pin(&hsm, &format!("keys new other.key --token {address} --new-token-key")).done();
    refused(&text.replace("object=kek", "object=other"), "another key of the token");
    refused(&text.replace("id = \"orders\"", "id = \"orderz\""), "another name");
    refused(&text.replacen("version = 2", "version = 3", 1), "another version");
    let year = text.find("created = \"20").expect("a time") + 12;
    refused(&format!("{}1{}", &text[..year], &text[year + 1..]), "another time");
    for name in ["nonce", "secret", "tag"] {
        let at = text.find(&format!("{name} = \"")).expect(name) + name.len() + 4;
        let other = if text.as_bytes()[at] == b'0' { '1' } else { '0' };
        refused(&format!("{}{other}{}", &text[..at], &text[at + 1..]), name);
    }
    // a version taken out
    let second = text.rfind("\n[[keys]]").expect("two versions");
    refused(&text[..second], "an older version alone");
    fs::write(hsm.at("orders.key"), &text).expect("room");
    with_pin(&hsm, "keys check orders.key").done();
}

/// A file that another program wrote from `docs/formats.md` opens in a token that has its key.
#[test]
fn a_golden_file_opens() {
    let Some(hsm) = SoftHsm::with_token("a_golden_file_opens", "golden") else { return };
    bring_key(&hsm, ["golden", "golden"], false);
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/formats");
    let golden = fs::read_to_string(vectors.join("key-format-4.key")).expect("a vector");
    // where the library is on this machine is no part of what is sealed
    let found = golden.split("pkcs11:").nth(1).and_then(|rest| rest.split('"').next());
    let address = format!("pkcs11:{}", found.expect("an address"));
    hsm.secret("orders.key", golden.replace(&address, &hsm.address("golden", "golden")).trim_end());
    with_pin(&hsm, "keys export orders.key --out plain.key --unprotected").done();
    let secret = |path: &Path| {
        let text = fs::read_to_string(path).expect("a file");
        text.lines().find(|line| line.starts_with("secret")).expect("a secret").to_owned()
    };
    assert_eq!(secret(&hsm.at("plain.key")), secret(&vectors.join("v1.key")));
}

/// The file is as `docs/formats.md` describes: anyone who has the token's key can read it without
/// the token.
#[test]
fn the_format_is_as_documented() {
    let Some(hsm) = SoftHsm::with_token("the_format_is_as_documented", "prod") else { return };
    let key = bring_key(&hsm, ["prod", "kek"], false);
    let address = hsm.address("prod", "kek");
    with_pin(&hsm, &format!("keys new orders.key --id orders --token {address}")).done();
    let text = fs::read_to_string(hsm.at("orders.key")).expect("a file");
    let file: toml::Table = text.parse().expect("TOML");
    let version = &file["keys"][0];
    let hex = |name: &str| -> Vec<u8> {
        let digits = version[name].as_str().expect("text");
        (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..][..2], 16).expect("digits"))
            .collect()
    };
    let part = |bytes: &[u8]| [&(bytes.len() as u64).to_be_bytes()[..], bytes].concat();
    let created = version["created"].as_str().expect("a time");
    let associated = [
        part(b"orders"),
        part(&1u32.to_be_bytes()),
        part(created.as_bytes()),
        part(&1u32.to_be_bytes()),
        part(b"sealstone key file 4"),
    ]
    .concat();
    let aes = aead(cipher("aes-256").expect("a row"), &key, Provider::own()).expect("a key");
    let mut secret = hex("secret");
    let tag = hex("tag").try_into().expect("16 bytes");
    aes.open(&hex("nonce"), &associated, &mut secret, &tag).expect("the right key");
    let export = "keys export orders.key --out plain.key --unprotected";
    with_pin(&hsm, export).done();
    let plain = fs::read_to_string(hsm.at("plain.key")).expect("a file");
    let digits: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(plain.contains(&digits), "another secret");
}
