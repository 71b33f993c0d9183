//! Several hundred pseudorandom inputs for each check, the same in every run; `make fuzz` continues
//! the search.

use sealstone_cipher::testing::bytes;

fn feed(check: fn(&[u8]), label: &str, inputs: usize) {
    for i in 0..inputs {
        // lengths that leave room for all choices, and some that do not
        let input_bytes = [0, 1, 17, 60, 100, 200, 400, 3000][i % 8];
        check(&bytes(&format!("{label} {i}"), input_bytes));
    }
}

#[test]
fn backends_agree() {
    feed(sealstone_fuzz::ciphers::check, "ciphers", 800);
}

#[test]
fn damage_never_returns_other_data() {
    feed(sealstone_fuzz::seals::check, "seals", 4000);
}

#[test]
fn kmip_messages_decode_or_are_refused() {
    feed(sealstone_fuzz::kmip::check, "kmip", 20_000);
}

#[test]
fn a_changed_key_file_opens_to_its_key_or_not_at_all() {
    feed(sealstone_fuzz::key_files::check, "key files", 3000);
}
