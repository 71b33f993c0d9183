//! Functions of PostgreSQL's pgcrypto for encrypting values: a row each.

use sealstone_store::ServerFunction;

use crate::sql::SqlFunction;

/// Function that pgcrypto's manual advises instead of its raw `encrypt`, which has neither a tag
/// nor a fresh nonce.
pub(super) static PGP_SYM_ENCRYPT: SqlFunction = SqlFunction {
    function: ServerFunction {
        name: "pgp_sym_encrypt",
        about: "pgcrypto's OpenPGP messages as it makes them by default: AES-128, a fresh salt for \
                each value, with which the password is hashed some 100,000 times, and a SHA-1 \
                against changes; values and key go to the server in the clear",
        is_one_way: false,
    },
    seal: |value| format!("pgp_sym_encrypt_bytea({value}, current_setting('sealstone.key'))"),
    open: |column| format!("pgp_sym_decrypt_bytea({column}, current_setting('sealstone.key'))"),
    install: Some((
        "CREATE EXTENSION IF NOT EXISTS pgcrypto",
        "install the server's contrib modules, and let the user create extensions in the database",
    )),
    // a setting of the session; its answer is not the key
    unlock: Some("SELECT set_config('sealstone.key', $1, false) IS NULL"),
};
