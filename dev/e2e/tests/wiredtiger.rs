//! WiredTiger alone, in MongoDB 8.0's release, with our extension, through its own program `wt`.

use std::fs;
use std::process::{Command, Output};

use sealstone_e2e::wiredtiger_files::{
    assert_no_nonce_twice, blocks, change_under_checksum, files,
};
use sealstone_e2e::wiredtiger_program::{Database, MARKER, said};
use sealstone_keys::KeyFile;

/// Asserts that it failed, and that our message `what` comes before any error of WiredTiger.
fn refused(output: &Output, what: &str) {
    assert!(!output.status.success(), "wt did not refuse: {output:?}");
    let said = said(output);
    let ours = said.find(what).unwrap_or_else(|| panic!("wanted {what:?}, found:\n{said}"));
    let line = said[..ours].rfind('\n').map_or(0, |at| at + 1);
    assert!(said[line..ours].contains("sealstone: "), "{said}");
    assert!(!said[..line].contains("ERROR"), "{said}");
}

#[test]
fn sealed_tables_read_back_and_verify() {
    let Some(database) = Database::new("sealed_tables_read_back_and_verify") else { return };
    let key = KeyFile::create(database.key(), "orders").unwrap();
    let config = database.config(",cipher=lea-256");
    database.fill(&config, 0, 2000, "first");
    let output = database.wt(&config, &["verify", "table:t"]);
    assert!(
        output.status.success() && said(&output).contains("sealing with lea-256 in gcm ("),
        "{output:?}"
    );
    let dump = database.dump(&config);
    assert_eq!(dump.matches(MARKER).count(), 2000);

    key.rotate().unwrap();
    database.fill(&config, 2000, 100, "first");
    assert_eq!(database.dump(&config).matches(MARKER).count(), 2100);
    let found = blocks(&database.db());
    assert!(found.iter().any(|block| block.info.key_version == 1));
    assert!(found.iter().any(|block| block.info.key_version == 2));
    assert_no_nonce_twice(&found);
    for file in files(&database.db()) {
        let bytes = fs::read(&file).unwrap();
        assert!(
            memchr::memmem::find(&bytes, MARKER.as_bytes()).is_none(),
            "{} is in the clear",
            file.display()
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(database) = Database::new("what_does_not_fit_is_refused") else { return };
    KeyFile::create(database.key(), "orders").unwrap();
    let config = database.config(",cipher=aria-256");
    database.fill(&config, 0, 100, "first");
    let with = |settings: &str| database.wt(&database.config(settings), &["list"]);
    refused(
        &with(",cipher=aes-256"),
        "a block is sealed with aria-256, and this opening is set to aes-256",
    );
    refused(
        &with(",cipher=aria-256,series=\"6.0\""),
        "says series 6.0, and this server has WiredTiger 11.3.1, series 8.0",
    );
    refused(&with(",cipher=aria-256,series=\"9.9\""), "unknown series \"9.9\"");
    refused(&with(",cipher=aria-256,color=red"), "unknown setting \"color\"");
    let other = config.replace("keyid=\"orders\"", "keyid=\"others\"");
    refused(&database.wt(&other, &["list"]), "names another key than key file ");
    // without the extension WiredTiger itself has no way in
    assert!(!database.wt("create,log=(enabled=true)", &["list"]).status.success());
    fs::rename(database.key(), database.dir().join("away.key")).unwrap();
    refused(&database.wt(&config, &["list"]), "no key file at ");
    KeyFile::create(database.key(), "orders").unwrap();
    refused(&database.wt(&config, &["list"]), "wrong key: a block is sealed under fingerprint ");
    fs::rename(database.dir().join("away.key"), database.key()).unwrap();
    assert_eq!(database.dump(&config).matches(MARKER).count(), 100);
}

#[test]
fn a_changed_page_is_refused() {
    let Some(database) = Database::new("a_changed_page_is_refused") else { return };
    KeyFile::create(database.key(), "orders").unwrap();
    let config = database.config(",cipher=aes-256");
    database.fill(&config, 0, 2000, "first");
    let table = database.db().join("t.wt");
    let found: Vec<_> = blocks(&database.db())
        .into_iter()
        .filter(|block| block.file == table && block.page_bytes > 200)
        .collect();
    assert!(!found.is_empty());
    let change = || found.iter().for_each(|block| change_under_checksum(&table, block.at + 100));
    change();
    refused(
        &database.wt(&config, &["dump", "table:t"]),
        "failed authentication: it was changed after it was sealed",
    );
    change();
    assert_eq!(database.dump(&config).matches(MARKER).count(), 2000);
}

/// A library without symbols proves nothing about its layout: then the settings must name the
/// series.
#[test]
fn without_symbols_the_series_must_be_named() {
    let Some(database) = Database::new("without_symbols_the_series_must_be_named") else { return };
    KeyFile::create(database.key(), "orders").unwrap();
    let library = database.dir().join("lib");
    fs::create_dir(&library).unwrap();
    for entry in fs::read_dir(database.program()).unwrap() {
        let from = entry.unwrap().path();
        let name = from.file_name().unwrap().to_str().unwrap();
        if name.starts_with("libwiredtiger") {
            let to = library.join(name);
            fs::copy(&from, &to).unwrap();
            assert!(Command::new("strip").arg(&to).status().expect("strip starts").success());
        }
    }
    let config = database.config(",cipher=aria-256");
    let output = database.wt_of(&library, &config, &["list"]);
    refused(
        &output,
        "this server has WiredTiger 11.3.1, which is in series 8.0, and no symbols that would \
         prove it",
    );
    let named = database.config(",cipher=aria-256,series=\"8.0\"");
    let output = database.wt_of(&library, &named, &["create", "table:t"]);
    assert!(output.status.success(), "{output:?}");
    let other = database.config(",cipher=aria-256,series=\"7.0\"");
    refused(
        &database.wt_of(&library, &other, &["list"]),
        "says series 7.0, and this server has WiredTiger 11.3.1",
    );
}
