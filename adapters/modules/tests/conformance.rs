//! Every module through the conformance suite that our own ciphers pass, and against our own code:
//! what it has is the same to the bit, and what it lacks is an error that names it.

use sealstone_cipher::cbc::cbc;
use sealstone_cipher::cbc_feistel::cbc_feistel;
use sealstone_cipher::module::Module;
use sealstone_cipher::testing::{
    aead_conformance, bytes, cbc_conformance, cbc_cs1_conformance, cbc_feistel_conformance,
    cmac_conformance, ctr_conformance,
};
use sealstone_cipher::{
    Error, Provider, aead, blocks, cbc_cs1, cipher, ciphers, cmac, ctr, hctr2, module,
};
use sealstone_keys::{HmacSha256, subkey};
use sealstone_modules::testing::compiled;

/// Ciphers that libcrypto has in GCM and in counter mode.
const IN_LIBCRYPTO: [&str; 6] =
    ["aes-128", "aes-192", "aes-256", "aria-128", "aria-192", "aria-256"];

fn openssl() -> &'static dyn Module {
    sealstone_modules::load("openssl:default").unwrap()
}

/// Returns every module whose derivation, MAC and random bytes are compared with ours.
fn modules() -> Vec<&'static dyn Module> {
    vec![
        openssl(),
        reference(),
        #[cfg(feature = "aws-lc-fips")]
        sealstone_modules::load("aws-lc-fips").unwrap(),
    ]
}

fn reference() -> &'static dyn Module {
    let dir = tempfile::tempdir().unwrap();
    let library = compiled(dir.path(), "reference.c", &[]);
    sealstone_modules::load(library.to_str().unwrap()).unwrap()
}

/// Runs the suite for each cipher in the authenticated mode, and returns those that ran.
fn authenticated(module: &'static dyn Module) -> Vec<&'static str> {
    let mut ran = Vec::new();
    for cipher in ciphers() {
        let key = vec![7; cipher.key_bytes];
        match aead(cipher, &key, Provider::Module(module)) {
            Ok(keyed) => {
                assert_eq!(keyed.backend(), module.name());
                let make = |key: &[u8]| aead(cipher, key, Provider::Module(module));
                let summary = aead_conformance(cipher, &make);
                println!("{} in {}: {summary:?}", cipher.name, module.name());
                assert!(summary.vectors > 0 && summary.forgeries > 1000);
                ran.push(cipher.name);
            }
            Err(error) => {
                let (module, what) = (module.name(), cipher.mode.word());
                assert_eq!(error, Error::Lacks { module, what, cipher: cipher.name });
                let text = error.to_string();
                assert!(
                    text.starts_with(&format!("module {module} has no {what} with ")),
                    "{text}"
                );
            }
        }
    }
    ran
}

#[test]
fn openssl_conforms_in_authenticated_modes() {
    assert_eq!(authenticated(openssl()), IN_LIBCRYPTO);
}

#[test]
fn a_library_conforms_in_authenticated_modes() {
    assert_eq!(authenticated(reference()), IN_LIBCRYPTO);
}

#[cfg(feature = "aws-lc-fips")]
#[test]
fn aws_lc_fips_conforms() {
    let module = sealstone_modules::load("aws-lc-fips").unwrap();
    assert_eq!(authenticated(module), IN_LIBCRYPTO[..3]);
    assert_eq!(in_counter_mode(module), IN_LIBCRYPTO[..3]);
    assert_eq!(chained(module), IN_LIBCRYPTO[..3]);
    let title = module::title(module);
    assert!(title.starts_with("aws-lc-fips ") && title.len() <= 63, "{title}");
    println!("{title}");
}

#[test]
fn openssl_conforms_in_counter_mode() {
    assert_eq!(in_counter_mode(openssl()), IN_LIBCRYPTO);
}

#[test]
fn a_library_conforms_in_counter_mode() {
    assert_eq!(in_counter_mode(reference()), IN_LIBCRYPTO);
}

#[test]
fn modules_conform_in_cbc_and_in_what_is_made_of_it() {
    for module in [openssl(), reference()] {
        assert_eq!(chained(module), IN_LIBCRYPTO, "{module:?}");
    }
}

/// Runs the suites for each cipher in CBC, and returns those that ran.
fn chained(module: &'static dyn Module) -> Vec<&'static str> {
    let module = Provider::Module(module);
    let mut ran = Vec::new();
    for cipher in ciphers() {
        match cbc(cipher, &vec![7; cipher.key_bytes], module) {
            Ok(keyed) => {
                assert_eq!(keyed.backend(), module.name());
                let summary = cbc_conformance(cipher, &|key| cbc(cipher, key, module));
                assert!(summary.messages > 40, "{summary:?}");
                let summary = cbc_cs1_conformance(cipher, &|key| cbc_cs1(cipher, key, module));
                assert!(summary.messages > 200, "{summary:?}");
                assert!(summary.vectors > 0 || !cipher.name.starts_with("aes"), "{summary:?}");
                let set = |keys: [&[u8]; 2]| cbc_feistel(cipher, keys, module);
                let summary = cbc_feistel_conformance(cipher, &set);
                assert!(summary.messages > 200, "{summary:?}");
                ran.push(cipher.name);
            }
            Err(error) => assert_eq!(
                error,
                Error::Lacks { module: module.name(), what: "cbc", cipher: cipher.name }
            ),
        }
    }
    ran
}

/// Runs the suite for each cipher in counter mode, and returns those that ran.
fn in_counter_mode(module: &'static dyn Module) -> Vec<&'static str> {
    let module = Provider::Module(module);
    let mut ran = Vec::new();
    for cipher in ciphers() {
        match ctr(cipher, &vec![7; cipher.key_bytes], module) {
            Ok(_) => {
                let summary = ctr_conformance(cipher, &|key| ctr(cipher, key, module));
                assert!(summary.messages > 100, "{summary:?}");
                ran.push(cipher.name);
            }
            Err(error) => assert_eq!(
                error,
                Error::Lacks { module: module.name(), what: "ctr", cipher: cipher.name }
            ),
        }
    }
    ran
}

#[test]
fn modules_conform_in_cmac() {
    for module in [openssl(), reference()] {
        let provider = Provider::Module(module);
        let mut ran = Vec::new();
        for cipher in ciphers() {
            match cmac(cipher, &vec![7; cipher.key_bytes], provider) {
                Ok(_) => {
                    let summary = cmac_conformance(cipher, &|key| cmac(cipher, key, provider));
                    assert!(summary.messages > 50 && summary.forgeries > 50, "{summary:?}");
                    ran.push(cipher.name);
                }
                Err(error) => assert_eq!(
                    error,
                    Error::Lacks { module: module.name(), what: "cmac", cipher: cipher.name }
                ),
            }
        }
        assert_eq!(ran, IN_LIBCRYPTO, "{module:?}");
    }
}

/// Derivation and MAC are ours to the bit, for secrets and texts of every length that occurs, none
/// and empty parts among them.
#[test]
fn derivation_and_mac_are_ours_to_the_bit() {
    for module in modules() {
        for length in [1, 16, 31, 32, 33, 64, 100] {
            let secret = bytes("module secret", length);
            for context in [&[][..], &[b"".as_slice()], &[b"a", b"", b"bc"], &[&[7; 300]]] {
                for out_bytes in [1, 16, 32, 33, 64, 8160] {
                    let mut outs = [vec![1; out_bytes], vec![2; out_bytes]];
                    let [ours, theirs] = &mut outs;
                    subkey(Provider::own(), &secret, "pages", context, ours).unwrap();
                    subkey(Provider::Module(module), &secret, "pages", context, theirs).unwrap();
                    assert!(ours == theirs, "{module:?}: {length}, {context:?}, {out_bytes}");
                }
            }
        }
        // RFC 4231, test case 2, whole and in parts
        let wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let message: [&[&[u8]]; 2] =
            [&[b"what do ya want for nothing?"], &[b"what do ya ", b"", b"want for nothing?"]];
        for parts in message {
            let mut mac = HmacSha256::new(Provider::Module(module), b"Jefe").unwrap();
            parts.iter().for_each(|part| mac.update(part));
            let tag = mac.finish().unwrap();
            let tag: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(tag, wanted, "{module:?}");
        }
    }
}

#[test]
fn random_bytes_differ_and_fill_everything() {
    for module in modules() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..100 {
            let mut drawn = [0; 24];
            module.random(&mut drawn).unwrap();
            assert!(seen.insert(drawn), "{module:?}");
        }
        let zeros = seen.iter().flatten().filter(|byte| **byte == 0).count();
        assert!(zeros < 50, "{module:?}: {zeros} zeros of 2400");
    }
}

/// Modes that only our own code has are refused for a module, whatever the cipher.
#[test]
fn what_a_module_has_not_is_an_error_and_nothing_takes_its_place() {
    let module = Provider::Module(openssl());
    let aria = cipher("aria-256").unwrap();
    let key = [7; 32];
    let lacks = |error: Option<Error>, what: &str| {
        assert!(
            matches!(error, Some(Error::Lacks { what: found, .. }) if found == what),
            "{what}: {error:?}"
        );
    };
    lacks(blocks(aria, &key, module).err(), "block cipher by itself");
    let lea = cipher("lea-256").unwrap();
    lacks(cmac(lea, &key, module).err(), "cmac");
    lacks(hctr2(aria, &key, module).err(), "hctr2");
    lacks(cbc_cs1(lea, &key, module).err(), "cbc");
    let ahead = sealstone_cipher::Ahead::new(aria, &key, module).unwrap();
    assert!(ahead.is_none(), "no key stream of GCM comes out of a module");
}

#[test]
fn a_module_says_what_it_is_and_what_its_user_states() {
    let module = openssl();
    assert_eq!((module.name(), module.certificate()), ("openssl:default", None));
    let title = module::title(module);
    assert!(title.starts_with("openssl:default 3."), "{title}");
    let stated = sealstone_modules::load("openssl:default?certificate=FIPS%20140-3%20%234282");
    let stated = stated.unwrap();
    assert_eq!(stated.certificate(), Some("FIPS 140-3 #4282"));
    assert_eq!(stated.spec(), "openssl:default?certificate=FIPS%20140-3%20%234282");
    assert_eq!(module.spec(), "openssl:default");
    assert_eq!(reference().name(), "reference-shim");
    // once for the life of the process
    assert!(std::ptr::eq(openssl(), openssl()));
}
