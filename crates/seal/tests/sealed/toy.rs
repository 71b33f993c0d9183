//! A cipher of one file and one row seals a file, and is found again by the id in the header.

use sealstone_cipher::cipher_by_id;
use sealstone_cipher::testing::{TOY_CIPHERS, add_ciphers};
use sealstone_seal::SealError;

use crate::fixture::{data, open, read_paged, seal_paged};

#[test]
fn a_toy_cipher_seals_and_its_files_open_once_it_is_added() {
    let toy = &TOY_CIPHERS[0];
    let data = data(10_000);
    // sealing takes the row as a value: nothing looks it up
    let stored = seal_paged(toy, &data);
    assert!(matches!(open(&stored), Err(SealError::UnknownCipher { id }) if id == toy.id));
    add_ciphers(TOY_CIPHERS);
    assert_eq!(cipher_by_id(toy.id), Some(toy));
    assert_eq!(open(&stored).unwrap().info().cipher, toy);
    assert_eq!(read_paged(&stored).unwrap(), data);
}
