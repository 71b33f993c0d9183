//! The encryption that MariaDB brings itself, as a rival: its plug-in `file_key_management`, whose
//! keys are in a file and which has AES alone.

use std::fmt::Write as _;
use std::io;
use std::io::Write as _;
use std::path::Path;

use sealstone_cipher::Provider;
use sealstone_file::output::{Access, Output};
use sealstone_keys::{KeyError, Secret};
use zeroize::Zeroizing;

use crate::server_options::{ENCRYPTING, TABLE_KEY_ID};

/// Numbers of the keys that the server requests: its logs, its temporary files, and tables.
const KEY_IDS: [u32; 3] = [1, 2, TABLE_KEY_ID];

/// Writes a file of fresh random keys of 256 bits at `path`, where nothing may be, readable by its
/// owner alone.
///
/// # Errors
/// No random numbers; `AlreadyExists`, or the system's error: then there is no file.
pub fn write_keys(path: &Path) -> Result<(), KeysError> {
    let mut text = Zeroizing::new(String::new());
    for id in KEY_IDS {
        let secret = Secret::random(Provider::own())?;
        let _ = write!(text, "{id};");
        for byte in secret.as_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\n');
    }
    let mut output = Output::new_file(path, Access::Private)?;
    output.write_all(text.as_bytes())?;
    output.commit()?;
    Ok(())
}

/// Reason why there is no file of keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// No random numbers.
    #[error(transparent)]
    Random(#[from] KeyError),
    /// Error of the system.
    #[error(
        "cannot write keys for the server: {0}\ncheck that the directory for temporary files is \
         writable"
    )]
    Io(#[from] io::Error),
}

/// Returns the arguments under which a server encrypts everything that it can with `algorithm`,
/// `AES_CTR` or `AES_CBC`, under the keys in the file `keys`.
#[must_use]
pub fn arguments(keys: &Path, algorithm: &str) -> Vec<String> {
    let own = [
        "--plugin-load-add=file_key_management".to_owned(),
        format!("--file-key-management-filename={}", keys.display()),
        format!("--file-key-management-encryption-algorithm={algorithm}"),
        format!("--innodb-default-encryption-key-id={TABLE_KEY_ID}"),
    ];
    let encrypting =
        ENCRYPTING.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-")));
    own.into_iter().chain(encrypting).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn keys_are_private_and_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        write_keys(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let ids: Vec<&str> = text.lines().map(|line| line.split_once(';').unwrap().0).collect();
        assert_eq!(ids, ["1", "2", "100"]);
        assert!(text.lines().all(|line| line.split_once(';').unwrap().1.len() == 64));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = write_keys(&path).unwrap_err();
        assert!(error.to_string().starts_with("cannot write keys for the server: "), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn the_rival_encrypts_as_much() {
        let arguments = arguments(Path::new("/k"), "AES_CBC");
        assert!(arguments.contains(&"--innodb-encrypt-tables=FORCE".to_owned()), "{arguments:?}");
        assert!(arguments.iter().any(|one| one.ends_with("-algorithm=AES_CBC")), "{arguments:?}");
    }
}
