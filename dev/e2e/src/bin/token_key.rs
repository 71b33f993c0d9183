//! Puts a key for AES whose bytes are known into a PKCS #11 token, which no tool of SoftHSM does:
//! `token_key LIBRARY TOKEN PIN LABEL EXTRACTABLE`, the last `true` or `false`, the 32 bytes on
//! standard input.

use std::io::Read;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::object::{Attribute, KeyType, ObjectClass};
use cryptoki::session::UserType;
use cryptoki::types::RawAuthPin;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [library, token, pin, label, extractable] = &arguments[..] else { panic!("five words") };
    let mut key = Vec::new();
    std::io::stdin().read_to_end(&mut key).expect("a key");
    let context = Pkcs11::new(library).expect("a library");
    context
        .initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK))
        .expect("a library that works");
    let slot = context
        .get_slots_with_token()
        .expect("slots")
        .into_iter()
        .find(|slot| context.get_token_info(*slot).expect("a token").label() == token)
        .expect("that token");
    let session = context.open_rw_session(slot).expect("a session");
    let pin = RawAuthPin::new(Box::new(pin.clone().into_bytes()));
    session.login_with_raw(UserType::User, &pin).expect("the right PIN");
    let template = [
        Attribute::Class(ObjectClass::SECRET_KEY),
        Attribute::KeyType(KeyType::AES),
        Attribute::Value(key),
        Attribute::Token(true),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(extractable == "true"),
        Attribute::Encrypt(true),
        Attribute::Decrypt(true),
        Attribute::Label(label.clone().into_bytes()),
    ];
    session.create_object(&template).expect("room");
}
