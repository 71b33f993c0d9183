//! Wrong keys, and unsuitable directories: each is one clear error.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::Backend;
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{
    PlainEnv, SealedEnv, TABLE_PAGE_BYTES, check_directory, explain_failure, rest,
};

use crate::site::Site;
use crate::{files, fill, must_fail, options, read_all, tables};

/// Returns the answer to opening `dir` with `cipher`.
fn refusal(site: &Site, cipher: Option<&str>, dir: &Path) -> String {
    let cipher = cipher.map(|name| sealstone_cipher::cipher(name).unwrap());
    let opened = check_directory(dir, cipher).and_then(|()| {
        let opened = match cipher {
            Some(cipher) => {
                SealedEnv::new(site.keys.clone(), cipher, Backend::auto()).open(dir, &options())
            }
            None => PlainEnv::new().open(dir, &options()),
        };
        opened.map_err(|error| explain_failure("open", dir, &error))
    });
    let message = opened.map(drop).unwrap_err().to_string();
    assert!(message.contains('\n') && !message.ends_with('.'), "{message}");
    message
}

#[test]
fn another_key_and_a_missing_key_are_each_one_clear_error() {
    let site = Site::new();
    let key_one = KeyFile::create(site.path("one.key"), "orders").unwrap();
    let same_name = KeyFile::create(site.path("two.key"), "orders").unwrap();
    let other_name = KeyFile::create(site.path("three.key"), "payments").unwrap();
    let cipher = sealstone_cipher::cipher("aria-256").unwrap();
    let open = |key: KeyFile| {
        SealedEnv::new(Arc::new(key), cipher, Backend::auto()).open(&site.path("db"), &options())
    };
    let db = open(key_one).unwrap();
    fill(&db, 0..10, 0);
    drop(db);
    let before: Vec<_> =
        files(&site.path("db"), |_| true).iter().map(|path| fs::read(path).unwrap()).collect();
    let error = open(same_name).unwrap_err().text;
    assert!(
        error.contains("CURRENT: key orders version 1 from") && error.contains("does not open"),
        "{error}"
    );
    let error = open(other_name).unwrap_err().text;
    assert!(
        error.contains("key orders version 1 not found in") && error.contains("three.key"),
        "{error}"
    );
    let after: Vec<_> =
        files(&site.path("db"), |_| true).iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(before == after, "nothing is written without the key");
    assert_eq!(
        read_all(&open(KeyFile::open(site.path("one.key")).unwrap()).unwrap(), 0).unwrap(),
        10
    );
}

#[test]
fn plain_and_sealed_stores_are_not_mistaken_for_each_other() {
    let site = Site::new();
    let aes = sealstone_cipher::cipher("aes-256").unwrap();
    drop(PlainEnv::new().open(&site.path("plain"), &options()).unwrap());
    drop(
        SealedEnv::new(site.keys.clone(), aes, Backend::auto())
            .open(&site.path("sealed"), &options())
            .unwrap(),
    );

    let error = refusal(&site, Some("aes-256"), &site.path("plain"));
    assert!(error.contains("is not sealed, but was to be opened with aes-256\n"), "{error}");
    let error = refusal(&site, None, &site.path("sealed"));
    assert!(error.contains("is sealed, but was to be opened without encryption\n"), "{error}");
    let error = refusal(&site, Some("aria-256"), &site.path("sealed"));
    assert!(
        error.contains("is sealed with aes-256, but was to be opened with aria-256\n"),
        "{error}"
    );

    // without the check beforehand the file system refuses as well
    let error = site.open("plain").unwrap_err();
    assert!(error.text.contains("CURRENT: not a sealed file"), "{error}");
    // one plain file among sealed ones
    site.filled("db");
    let table = tables(&site.path("db")).pop().unwrap();
    fs::write(&table, vec![7; 50_000]).unwrap();
    must_fail(&site, "db", &table, "not a sealed file");
    assert_eq!(
        rest::status(&site.path("db")).unwrap().not_sealed,
        [table.file_name().unwrap().to_str().unwrap()]
    );
}

#[test]
fn unsuitable_directories_are_refused_with_a_next_step() {
    let site = Site::new();
    fs::create_dir(site.path("photos")).unwrap();
    fs::write(site.path("photos/cat.jpg"), b"meow").unwrap();
    let error = refusal(&site, None, &site.path("photos"));
    assert!(
        error.contains("is not a RocksDB store: it holds cat.jpg and has no file CURRENT\n"),
        "{error}"
    );
    let error = refusal(&site, None, &site.path("photos/cat.jpg"));
    assert!(error.contains("is a file, not a directory\n"), "{error}");

    site.filled("used");
    let _open = site.open("used").unwrap();
    let error = refusal(&site, Some("aes-256"), &site.path("used"));
    assert!(error.contains("is in use by another process\n"), "{error}");
}

/// A file of a store is identified by its name, which is text: a path that is not text is one clear
/// error everywhere, and never another directory.
#[test]
fn a_path_that_is_not_text_is_one_clear_error() {
    let site = Site::new();
    site.filled("db");
    let dir = site.dir.path().join(OsStr::from_bytes(b"caf\xe9"));
    let (keys, stop, out) = (site.keys.clone(), AtomicBool::new(false), site.path("out"));
    let refused =
        |what: &str, error: String| assert!(error.contains("path is not UTF-8"), "{what}: {error}");
    refused("making a store", site.env().open(&dir, &options()).unwrap_err().text);
    assert!(!dir.exists(), "nothing was made");
    fs::rename(site.path("db"), &dir).unwrap();
    refused("opening", site.env().open(&dir, &options()).unwrap_err().text);
    refused("opening as stored", site.env().open_stored(&dir).unwrap_err().text);
    refused("reading", site.env().open_for_reading(&dir, &[]).unwrap_err().text);
    refused("backups", site.env().backups(&dir).map(drop).unwrap_err().text);
    refused("status", rest::status(&dir).unwrap_err().to_string());
    let verified = |dir: &Path| rest::verify(dir, &*site.keys, Backend::auto(), None, &mut |_| ());
    refused("verify", verified(&dir).unwrap_err().to_string());
    refused("rotate", rest::rotate(&dir, &*site.keys, &mut |_| ()).unwrap_err().to_string());
    let unsealed = |dir: &Path, out: &Path| {
        rest::unseal(dir, keys.clone(), Backend::auto(), out, &stop, &mut |_| ()).map(drop)
    };
    refused("unseal", unsealed(&dir, &out).unwrap_err().to_string());
    let opened = rest::Records::open(&dir, site.keys.clone(), Backend::auto(), "default");
    refused("records", opened.map(drop).unwrap_err().to_string());

    // under a name that is, the same store is itself
    symlink(&dir, site.path("link")).unwrap();
    assert!(verified(&site.path("link")).unwrap().is_whole());
    assert_eq!(read_all(&site.open("link").unwrap(), 0).unwrap(), 2000);
    refused(
        "unsealing to there",
        unsealed(&site.path("link"), &dir.join("out")).unwrap_err().to_string(),
    );
    unsealed(&site.path("link"), &out).unwrap();
}

#[test]
fn status_needs_no_key_and_says_everything() {
    let site = Site::new();
    let key = KeyFile::create(site.path("key"), "orders").unwrap();
    let env = SealedEnv::new(
        Arc::new(key),
        sealstone_cipher::cipher("aria-256").unwrap(),
        Backend::auto(),
    );
    let db = env.open(&site.path("db"), &options()).unwrap();
    fill(&db, 0..1000, 0);
    db.flush().unwrap();
    drop(db);
    let status = rest::status(&site.path("db")).unwrap();
    assert_eq!(status.totals.len(), 1);
    let total = &status.totals[0];
    assert_eq!(
        (total.cipher.name, total.key_id.as_str(), total.key_version),
        ("aria-256", "orders", 1)
    );
    assert_eq!(total.stored_bytes, status.stored_bytes);
    let table = status.files.iter().find(|file| file.name.ends_with(".sst")).unwrap();
    let rest::State::Sealed(sealed) = &table.state else { panic!("{table:?}") };
    assert_eq!((sealed.format, sealed.page_bytes), ("pages", Some(TABLE_PAGE_BYTES)));
    assert!(sealed.logical_bytes.unwrap() < table.stored_bytes);
    let log = status.files.iter().find(|file| file.name.ends_with(".log")).unwrap();
    assert!(matches!(&log.state, rest::State::Sealed(sealed) if sealed.format == "frames"));
    let lock = status.files.iter().find(|file| file.name == "LOCK").unwrap();
    assert_eq!(lock.state, rest::State::Empty);
    assert!(
        rest::status(&site.path("nowhere"))
            .unwrap_err()
            .to_string()
            .contains("cannot read directory")
    );
    let wrong =
        rest::verify(&site.path("db"), &*site.keys, Backend::auto(), None, &mut |_| ()).unwrap();
    assert!(
        wrong.failures.iter().all(|finding| finding.what.contains("orders version 1")),
        "{:?}",
        wrong.failures
    );
    assert_eq!(wrong.failures.len() as u64, total.files);
}
