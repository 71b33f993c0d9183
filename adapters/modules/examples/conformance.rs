//! The conformance suite over a module, for who brings one: `cargo run --release --package
//! sealstone-modules --example conformance -- openssl:fips`, or the path of a library.

use std::process::ExitCode;

use sealstone_cipher::cbc_feistel::cbc_feistel;
use sealstone_cipher::module::title;
use sealstone_cipher::testing::{
    aead_conformance, cbc_cs1_conformance, cbc_feistel_conformance, cmac_conformance,
    ctr_conformance,
};
use sealstone_cipher::{Error, Provider, aead, cbc_cs1, ciphers, cmac, ctr};
use sealstone_keys::{HmacSha256, Secret, subkey};

fn main() -> ExitCode {
    let Some(spec) = std::env::args().nth(1) else {
        eprintln!("name a module: openssl:PROVIDER, or the path of a library");
        return ExitCode::from(2);
    };
    let module = match sealstone_modules::load(&spec) {
        Ok(module) => module,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    println!("{}, certificate: {}", title(module), module.certificate().unwrap_or("none stated"));
    let module = Provider::Module(module);
    let mut conform = 0;
    let mut tell = |what: String, error: Option<Error>, run: &dyn Fn() -> String| match error {
        Some(Error::Lacks { .. }) => println!("{what}: the module has none"),
        Some(error) => println!("{what}: {error}"),
        None => {
            // a check that fails panics, and names itself
            println!("{what}: {}", run());
            conform += 1;
        }
    };
    for cipher in ciphers() {
        let key = vec![7; cipher.key_bytes];
        let set = |key: &[u8]| aead(cipher, key, module);
        let what = format!("{} in {}", cipher.name, cipher.mode.word());
        tell(what, set(&key).err(), &|| format!("{:?}", aead_conformance(cipher, &set)));
        let set = |key: &[u8]| ctr(cipher, key, module);
        let what = format!("{} in ctr", cipher.name);
        tell(what, set(&key).err(), &|| format!("{:?}", ctr_conformance(cipher, &set)));
        if cipher.block_bytes == 16 {
            let set = |key: &[u8]| cbc_cs1(cipher, key, module);
            let what = format!("{} in cbc, with stealing", cipher.name);
            tell(what, set(&key).err(), &|| format!("{:?}", cbc_cs1_conformance(cipher, &set)));
            let set = |keys: [&[u8]; 2]| cbc_feistel(cipher, keys, module);
            let what = format!("{} in cbc, with an end of less than a block", cipher.name);
            let lacks = set([&key, &key]).err();
            tell(what, lacks, &|| format!("{:?}", cbc_feistel_conformance(cipher, &set)));
        }
        let set = |key: &[u8]| cmac(cipher, key, module);
        let what = format!("{} in cmac", cipher.name);
        tell(what, set(&key).err(), &|| format!("{:?}", cmac_conformance(cipher, &set)));
    }
    let mac = |provider: Provider| {
        let mut mac = HmacSha256::new(provider, &[7; 32])?;
        mac.update(b"one piece, ");
        mac.update(b"another");
        mac.finish()
    };
    tell("HMAC-SHA-256".into(), mac(module).err(), &|| {
        assert_eq!(mac(module), mac(Provider::own()), "the MAC of two pieces");
        "equal to ours".into()
    });
    let derive = |provider: Provider| {
        let mut out = [0; 100];
        subkey(provider, &[7; 32], "pages", &[b"a file"], &mut out).map(|()| out)
    };
    tell("HKDF-SHA-256".into(), derive(module).err(), &|| {
        assert_eq!(derive(module), derive(Provider::own()), "100 bytes of a subkey");
        "equal to ours".into()
    });
    let drawn = [(); 2].map(|()| Secret::random(module).map(|secret| *secret.as_bytes()));
    match drawn {
        [Ok(one), Ok(other)] if one != other => println!("random bytes: drawn"),
        [Err(error), _] | [_, Err(error)] => println!("random bytes: {error}"),
        _ => println!("random bytes: the same twice"),
    }
    println!("{conform} of them conform; the others are errors where they are asked for");
    ExitCode::SUCCESS
}
