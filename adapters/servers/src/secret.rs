//! Secrets that only a server and its owner may read: passwords, keys of certificates, and the
//! files with them.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use sealstone_file::output::{Access, Output};
use sealstone_message::Password;

use crate::LabError;
use crate::error::io;
use crate::privilege::Identity;

/// Makes a password that nobody guesses.
///
/// # Errors
/// A system without random numbers.
pub(crate) fn random_password() -> Result<Password, LabError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| io("read", source, error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
}

/// Writes a file that only the server of `identity` may read.
///
/// # Errors
/// [`LabError::Io`].
pub(crate) fn write(path: &Path, text: &str, identity: &Identity) -> Result<(), LabError> {
    let begun = match identity.owner() {
        Some((owner, group)) => Output::replace_for(path, Access::Private, owner, group),
        None => Output::replace(path, Access::Private),
    };
    begun
        .and_then(|mut output| output.write_all(text.as_bytes()).map(|()| output))
        .and_then(|output| output.commit().map(drop))
        .map_err(|error| io("write", path, error))
}

/// Copies the certificates in the directory `certificates`, and the key of a server, into its own,
/// `dir`, where the server of `identity` may read them.
///
/// # Errors
/// [`LabError::Io`].
pub(crate) fn hand_over(
    certificates: &Path,
    dir: &Path,
    identity: &Identity,
) -> Result<(), LabError> {
    for name in ["ca.pem", "server.pem", "server-key.pem"] {
        let from = certificates.join(name);
        let text = fs::read_to_string(&from).map_err(|error| io("read", &from, error))?;
        write(&dir.join(name), &text, identity)?;
    }
    Ok(())
}

/// Returns `path` as written within an address.
pub(crate) fn escaped(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let each =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_an_address_has_nothing_that_ends_it() {
        assert_eq!(escaped(Path::new("/tmp/a b&c/p-1_x.pem")), "/tmp/a%20b%26c/p-1_x.pem");
        assert_ne!(random_password().unwrap(), random_password().unwrap());
    }
}
