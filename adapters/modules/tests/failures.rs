//! Modules that are missing, fail their self test, lack what is needed or die midway: one error
//! that reports it, nothing sealed, and our own code never steps in.

use std::sync::Arc;

use sealstone_cipher::cbc_feistel::cbc_feistel;
use sealstone_cipher::module::Module;
use sealstone_cipher::{Backend, Error, Provider, aead, cbc_cs1, cipher, ctr};
use sealstone_keys::{EphemeralKey, InModule, KeyError, KeyFile, KeySource, Secret, source};
use sealstone_modules::ModuleError;
use sealstone_modules::testing::compiled;
use sealstone_seal::frame::{FrameReader, FrameWriter};
use sealstone_seal::paged::PageWriter;
use sealstone_seal::volume::VolumeKeys;
use sealstone_seal::{FileKind, HEADER_BYTES, Identity, Layout, SealError, SealedFile};

/// Loads the reference shim with the fault that `defines` choose, under the name `name`.
fn failing(name: &str, defines: &[&str]) -> Result<&'static dyn Module, ModuleError> {
    let dir = tempfile::tempdir().unwrap();
    let named = format!("NAME=\"{name}\"");
    let defines = [&[named.as_str()], defines].concat();
    let library = compiled(dir.path(), "failing.c", &defines);
    sealstone_modules::load(library.to_str().unwrap())
}

fn keys(module: &'static dyn Module) -> InModule {
    InModule::new(Arc::new(EphemeralKey::new().unwrap()), module)
}

fn create(keys: &dyn KeySource) -> Result<(SealedFile, [u8; HEADER_BYTES]), SealError> {
    SealedFile::create(keys, cipher("aria-256").unwrap(), Backend::auto(), Layout::Frames)
}

#[test]
fn a_module_that_fails_its_self_test_is_not_loaded() {
    let error = failing("fails", &["FAILS_TEST"]).unwrap_err();
    assert!(
        matches!(&error, ModuleError::SelfTest { found, .. } if found == "it reported a failure")
    );
    let text = error.to_string();
    assert!(
        text.contains("failed its self test: it reported a failure\nnothing is sealed"),
        "{text}"
    );
    let error = failing("untested", &["NO_TEST"]).unwrap_err();
    assert!(matches!(&error, ModuleError::SelfTest { found, .. } if found == "it has none"));
}

#[test]
fn a_library_with_another_interface_is_not_loaded() {
    for (define, found) in [
        ("OTHER_INTERFACE", "version 7 of the interface, and 1 is known"),
        ("OTHER_LENGTH", "a table of 160 bytes"),
        ("HALF_AEAD", "some functions for a keyed cipher, and not all"),
        ("HALF_BLOCKS", "some functions for CBC, and not all"),
    ] {
        let error = failing("other", &[define]).unwrap_err();
        assert!(
            matches!(&error, ModuleError::Interface { found: said, .. } if said == found),
            "{error}"
        );
    }
    for name in ["two words", "", "이름"] {
        let error = failing(name, &[]).unwrap_err();
        assert!(matches!(error, ModuleError::Interface { .. }), "{name:?}: {error}");
    }
    // some other library
    let error = sealstone_modules::load("/lib/x86_64-linux-gnu/libcrypto.so.3").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("has no function sealstone_module_table\n"), "{text}");
}

#[test]
fn a_name_too_long_for_a_header_seals_nothing() {
    let long = "n".repeat(70);
    let module = failing(&long, &[]).unwrap();
    let error = create(&keys(module)).unwrap_err();
    assert!(matches!(&error, SealError::ModuleTitle { title } if title.starts_with(&long)));
}

#[test]
fn a_provider_that_is_not_there_is_an_error() {
    for (spec, provider) in [("openssl:no-such", "no-such"), ("openssl:../fips", "../fips")] {
        let error = sealstone_modules::load(spec).unwrap_err();
        if spec.contains('/') {
            // a path: no library is there
            assert!(matches!(error, ModuleError::Load { .. }), "{error}");
            continue;
        }
        assert!(
            matches!(&error, ModuleError::Provider { provider: named, .. } if named == provider),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.starts_with("OpenSSL cannot load its provider no-such: error:"), "{text}");
    }
}

#[test]
fn what_a_module_lacks_is_said_and_nothing_is_sealed() {
    let module = failing("no-ciphers", &["NO_AEAD"]).unwrap();
    let error = create(&keys(module)).unwrap_err();
    let lacks = Error::Lacks { module: "no-ciphers", what: "gcm", cipher: "aria-256" };
    assert!(matches!(error, SealError::Module(found) if found == lacks), "{error:?}");
    let module = failing("no-random", &["NO_RANDOM"]).unwrap();
    let error = create(&keys(module)).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("module no-random has no generator of random bytes\n"), "{text}");
    let path = tempfile::tempdir().unwrap().path().join("orders.key");
    let error = KeyFile::create_by(Provider::Module(module), &path, "orders").unwrap_err();
    assert!(matches!(error, KeyError::Cipher(Error::Lacks { .. })), "{error:?}");
    assert!(!path.exists());
}

/// A library of the time before CBC is loaded, and lacks what its table does not have.
#[test]
fn a_library_with_the_earlier_table_has_what_it_had() {
    let module = failing("earlier", &["BEFORE_BLOCKS"]).unwrap();
    create(&keys(module)).unwrap();
    let (aria, module) = (cipher("aria-256").unwrap(), Provider::Module(module));
    for (what, error) in
        [("cbc", cbc_cs1(aria, &[7; 32], module).err()), ("ctr", ctr(aria, &[7; 32], module).err())]
    {
        assert_eq!(error, Some(Error::Lacks { module: "earlier", what, cipher: "aria-256" }));
    }
    let module = Provider::Module(failing("no-ctr", &["NO_CTR"]).unwrap());
    assert!(cbc_cs1(aria, &[7; 32], module).is_ok());
    let lacks = Error::Lacks { module: "no-ctr", what: "ctr", cipher: "aria-256" };
    assert_eq!(ctr(aria, &[7; 32], module).err(), Some(lacks));
}

/// A page that a dying module did not encipher leaves nothing of it.
#[test]
fn a_module_that_dies_while_it_chains_leaves_nothing() {
    for calls in 0..3 {
        let (name, limit) = (format!("dies-chaining-{calls}"), format!("CALLS={calls}"));
        let module = failing(&name, &["FAILS_CBC", &limit]).unwrap();
        let keyed =
            cbc_cs1(cipher("aria-256").unwrap(), &[7; 32], Provider::Module(module)).unwrap();
        let mut page = [7; 100];
        let done = keyed.iv(&[1; 16]).and_then(|iv| {
            let done = keyed.encrypt(&iv, &mut page);
            assert_eq!(page, [0; 100], "{calls}");
            done
        });
        assert_eq!(done, Err(Error::Module { module: module.name(), doing: "encrypting" }));
    }
}

/// A record that a dying module did not encipher leaves nothing of it, wherever the module dies: at
/// the beginning, among whole blocks, or in one of the rounds over its end; and it does not go on.
#[test]
fn a_module_that_dies_within_a_record_leaves_nothing() {
    for calls in 0..13 {
        let (name, limit) = (format!("dies-recording-{calls}"), format!("CALLS={calls}"));
        let module = failing(&name, &["FAILS_CBC", &limit]).unwrap();
        let (aria, provider) = (cipher("aria-256").unwrap(), Provider::Module(module));
        let keyed = cbc_feistel(aria, [&[7; 32], &[8; 32]], provider).unwrap();
        let died = Error::Module { module: module.name(), doing: "encrypting" };
        let mut chain = match keyed.begin(&[1; 16]) {
            Err(error) => {
                assert_eq!((calls, error), (0, died));
                continue;
            }
            Ok(chain) => chain,
        };
        let mut record = [7; 37];
        assert_eq!(keyed.encrypt(&mut chain, &mut record), Err(died), "{calls}");
        assert_eq!(record, [0; 37], "{calls}");
        let next = keyed.encrypt(&mut chain, &mut [7; 16]);
        assert_eq!(next, Err(Error::AfterEnd), "{calls}");
    }
    let module = failing("records", &["FAILS_CBC", "CALLS=13"]).unwrap();
    let (aria, provider) = (cipher("aria-256").unwrap(), Provider::Module(module));
    let keyed = cbc_feistel(aria, [&[7; 32], &[8; 32]], provider).unwrap();
    keyed.encrypt(&mut keyed.begin(&[1; 16]).unwrap(), &mut [7; 37]).unwrap();
}

/// A frame that a dying module did not seal is not written, and neither is any after it; what was
/// written before opens with our own code.
#[test]
fn a_module_that_dies_while_it_seals_leaves_what_was_whole() {
    // the header, its tag of synced length, and three frames
    let module = failing("dies-sealing", &["FAILS_SEAL", "CALLS=4"]).unwrap();
    let own: Arc<dyn KeySource> = Arc::new(EphemeralKey::new().unwrap());
    let keys = InModule::new(own.clone(), module);
    let (file, header) = create(&keys).unwrap();
    let mut stored = header.to_vec();
    let mut writer = FrameWriter::new(&file).unwrap();
    let secret = b"a record that must not be in the clear";
    let mut whole = 0;
    let error = loop {
        let before = stored.clone();
        match writer.append(secret, &mut stored) {
            Ok(()) => whole += 1,
            Err(error) => {
                assert!(stored == before, "a failed frame left bytes behind");
                break error;
            }
        }
    };
    assert_eq!(whole, 3);
    let died = Error::Module { module: "dies-sealing", doing: "encrypting" };
    assert!(matches!(error, SealError::Module(found) if found == died), "{error:?}");
    assert!(error.to_string().starts_with("module dies-sealing failed: encrypting; nothing"));
    assert!(!stored.windows(secret.len()).any(|window| window == secret));
    let file = SealedFile::open(&*own, Backend::auto(), &stored).unwrap();
    let mut reader = FrameReader::new(&file, stored.len() as u64).unwrap();
    reader.push(&stored[HEADER_BYTES..]);
    for _ in 0..whole {
        assert_eq!(reader.next_frame().unwrap().unwrap().data, secret);
    }
    assert!(reader.next_frame().unwrap().is_none());
}

/// Pages that a dying module did not seal are not written, and the error names the module, wherever
/// in a run of pages it dies.
#[test]
fn a_module_that_dies_while_it_seals_pages_is_named() {
    let secret = b"a row that must not be in the clear ".repeat(700);
    let layout = Layout::Paged { page_bytes: 1024 };
    let (mut died, mut longest) = (0, 0);
    for calls in [1, 2, 5, 12, 20] {
        let (name, limit) = (format!("dies-paging-{calls}"), format!("CALLS={calls}"));
        let keys = keys(failing(&name, &["FAILS_SEAL", &limit]).unwrap());
        let aria = cipher("aria-256").unwrap();
        let (file, header) = SealedFile::create(&keys, aria, Backend::auto(), layout).unwrap();
        let mut stored = header.to_vec();
        let mut pages = PageWriter::new(&file).unwrap();
        let done =
            secret.chunks(5_000).try_for_each(|chunk| pages.append(chunk, &mut stored)).err();
        let error = done.or_else(|| pages.finish(&mut stored).err()).expect("it dies");
        let module = Error::Module { module: file.provider().name(), doing: "encrypting" };
        assert!(matches!(&error, SealError::Module(found) if *found == module), "{error:?}");
        assert!(error.to_string().starts_with(&format!("module {name} failed: encrypting;")));
        assert!(!stored.windows(36).any(|window| window == &secret[..36]), "{calls}");
        (died, longest) = (died + 1, longest.max(stored.len()));
    }
    assert!(died == 5 && longest > 8_192, "it died after pages were written, too: {longest}");
}

/// So are blocks of a volume.
#[test]
fn a_module_that_dies_while_it_seals_blocks_is_named() {
    let module = failing("dies-blocking", &["FAILS_SEAL", "CALLS=4"]).unwrap();
    let layout = Layout::Volume { block_bytes: 4096 };
    let aria = cipher("aria-256").unwrap();
    let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
    let keys = keys(module);
    let (file, _) = SealedFile::create_as(&identity, &keys, aria, Backend::auto(), layout).unwrap();
    let epoch = VolumeKeys::new(file, Vec::new()).unwrap().begin().unwrap();
    let numbers: Vec<u64> = (0..16).collect();
    let error = epoch.seal_blocks(&numbers, &mut vec![7; 16 * 4096]).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("module dies-blocking failed: encrypting;"), "{text}");
}

/// A module that fails while it opens is no wrong key and no tampering: another error, and no data.
#[test]
fn a_module_that_dies_while_it_opens_is_not_mistaken_for_tampering() {
    let module = failing("dies-opening", &["FAILS_OPEN"]).unwrap();
    let own: Arc<dyn KeySource> = Arc::new(EphemeralKey::new().unwrap());
    let (_, header) = create(&*own).unwrap();
    let keys = InModule::new(own, module);
    let error = SealedFile::open(&keys, Backend::auto(), &header).unwrap_err();
    let died = Error::Module { module: "dies-opening", doing: "decrypting" };
    assert!(matches!(error, SealError::Module(found) if found == died), "{error:?}");
    let keyed = aead(cipher("aes-256").unwrap(), &[7; 32], Provider::Module(module)).unwrap();
    let mut data = *b"what was sealed";
    let tag = keyed.seal(&[0; 12], b"", &mut data).unwrap();
    assert_eq!(keyed.open(&[0; 12], b"", &mut data, &tag), Err(died));
    assert_eq!(data, [0; 15]);
}

#[test]
fn a_module_that_dies_drawing_or_deriving_seals_nothing() {
    for (define, doing) in
        [("FAILS_RANDOM", "drawing random bytes"), ("FAILS_HKDF", "deriving with HKDF-SHA-256")]
    {
        let mut failures = 0;
        // it dies at each of the calls that a new file takes
        for calls in 0..8 {
            let (name, limit) = (format!("{define}-{calls}"), format!("CALLS={calls}"));
            let module = failing(&name, &[define, &limit]).unwrap();
            let Err(error) = create(&keys(module)) else { continue };
            let text = error.to_string();
            assert!(text.contains(&format!("module {name} failed: {doing}")), "{text}");
            failures += 1;
        }
        assert!((1..8).contains(&failures), "{define}: {failures}");
    }
    let module = failing("no-draw", &["FAILS_RANDOM"]).unwrap();
    let drawn = Secret::random(Provider::Module(module));
    assert!(matches!(drawn, Err(KeyError::Cipher(Error::Module { .. }))), "{drawn:?}");
}

/// A key file with a passphrase would need Argon2id and AES of ours.
#[test]
fn a_key_file_with_a_passphrase_is_not_for_a_module() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    let file = dir.path().join("passphrase");
    std::fs::write(&file, "correct horse\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let passphrase = sealstone_keys::Passphrase::from_file(&file).unwrap();
    let cost = sealstone_keys::Cost { memory_kib: 64, passes: 1, lanes: 1 };
    KeyFile::create_protected(&path, "orders", &passphrase, cost).unwrap();
    let module = sealstone_modules::load("openssl:default").unwrap();
    let never = |_: &std::path::Path| panic!("asked for a passphrase that is of no use");
    let error = source::open(path.to_str().unwrap(), &never, Some(module)).err().unwrap();
    let text = error.to_string();
    assert!(text.contains("has a passphrase, and module openssl:default opens none"), "{text}");
}
