//! A process whose token gets another PIN while it has a key file open, as a server does:
//! `token_pin LIBRARY TOKEN PIN NEW_PIN KEY_FILE`. It prints what each of three readings of the
//! changed file fails with.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::session::UserType;
use cryptoki::types::{AuthPin, RawAuthPin};
use sealstone_keys::{KeyFile, KeySource, Passphrase};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, token, pin, new, file] = &arguments[..] else { panic!("five words") };
    let asked = |_: &std::path::Path| Passphrase::new(pin.clone().into_bytes(), "a test");
    let keys = KeyFile::open_with(file, &asked).expect("a key file");
    let context = Pkcs11::new(library).expect("a library");
    // the key file has done so
    let _ = context.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK));
    let slot = context
        .get_slots_with_token()
        .expect("slots")
        .into_iter()
        .find(|slot| context.get_token_info(*slot).expect("a token").label() == token)
        .expect("that token");
    let session = context.open_rw_session(slot).expect("a session");
    let raw = RawAuthPin::new(Box::new(pin.clone().into_bytes()));
    session.login_with_raw(UserType::User, &raw).expect("the right PIN");
    let [pin, new] = [pin, new].map(|pin| AuthPin::new(pin.clone().into()));
    session.set_pin(&pin, &new).expect("another PIN");
    drop(session);
    for mode in [0o400, 0o600, 0o400] {
        // which changes its times, as a rotation would
        fs::set_permissions(file, Permissions::from_mode(mode)).expect("a mode");
        match keys.current() {
            Ok(_) => println!("opened"),
            Err(error) => println!("{}", error.to_string().lines().next().unwrap_or_default()),
        }
    }
}
