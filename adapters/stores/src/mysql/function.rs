//! Functions of MySQL and MariaDB for encrypting and digesting values: a row each.

use sealstone_store::ServerFunction;

use crate::sql::SqlFunction;

/// A variable of the session, which is set by a statement with the key as its value.
const UNLOCK: &str = "SET @sealstone_key = UNHEX(?)";

/// AES with a key of 128 bits in ECB mode, unless the server is configured otherwise.
pub(super) static AES_ENCRYPT: SqlFunction = SqlFunction {
    function: ServerFunction {
        name: "AES_ENCRYPT",
        about: "the server's AES-128 in ECB mode with one key for all values, no tag: equal values \
                and equal blocks of 16 bytes are seen, changes are not; values and key go to the \
                server in the clear",
        is_one_way: false,
    },
    seal: |value| format!("AES_ENCRYPT({value}, @sealstone_key)"),
    open: |column| format!("AES_DECRYPT({column}, @sealstone_key)"),
    install: None,
    unlock: Some(UNLOCK),
};

/// A digest of 256 bits, in hexadecimal digits.
pub(super) static SHA2: SqlFunction = SqlFunction {
    function: ServerFunction {
        name: "SHA2 (one-way)",
        // recorded runs have this sentence, and a page in Korean finds it by its English
        about: "the server's SHA-256 without a key: what is written is a digest, reads return that \
                digest and never the value, and whoever can guess a value can check the guess",
        is_one_way: true,
    },
    seal: |value| format!("SHA2({value}, 256)"),
    open: str::to_owned,
    install: None,
    unlock: None,
};
