//! The material of a key, as a server returns it.

use super::KmipError;
use super::client::Connection;
use super::operation::{Get, Material};

/// Fewest bits of key material that are accepted, in bits: the strength of 3DES, the weakest cipher
/// here.
const KEY_BITS_MIN: usize = 112;

/// Use that is permitted only for an Active key.
pub(crate) const PROTECT: &str = "protect new data";

/// Gets the material of the object `id`, of any length.
pub(crate) fn get(connection: &mut Connection, id: &str) -> Result<Material, KmipError> {
    let unusable = |connection: &Connection, found: String| KmipError::Unusable {
        key: id.to_owned(),
        server: connection.server(),
        found,
    };
    let material = connection.call(&Get { id: id.to_owned() })?;
    if material.id != id {
        return Err(unusable(connection, format!("the server gave {:?} instead", material.id)));
    }
    if material.bytes.len() * 8 < KEY_BITS_MIN {
        let found = format!(
            "it has {} bits, and at least {KEY_BITS_MIN} are needed",
            material.bytes.len() * 8
        );
        return Err(unusable(connection, found));
    }
    Ok(material)
}
