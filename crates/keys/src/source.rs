//! Opens the key source that a user names: a key file, or a key server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_cipher::Provider;
use sealstone_cipher::module::Module;
use sealstone_message::similar;

use crate::file::KeyFile;
use crate::{Ask, InModule, KeyError, KeySource, Passphrase};

/// Scheme that the address of a key server begins with, before a colon.
const KMIP: &str = "kmip";

/// The variable of the environment that names a file with the passphrase of a key file, where
/// nothing else does.
pub const PASSPHRASE_VARIABLE: &str = "SEALSTONE_PASSPHRASE_FILE";

/// Returns the file with the passphrase: `named`, or the one that [`PASSPHRASE_VARIABLE`] names;
/// None if neither does.
#[must_use]
pub fn passphrase_file(named: Option<&Path>) -> Option<PathBuf> {
    let variable =
        || std::env::var_os(PASSPHRASE_VARIABLE).filter(|value: &OsString| !value.is_empty());
    named.map(Path::to_owned).or_else(|| variable().map(PathBuf::from))
}

/// Opens the source `spec`.
///
/// - `spec`: the path of a key file; `kmip://HOST:PORT/KEY-ID…` or `kmip:FILE.toml` for a key
///   server
/// - `passphrase`: called for the passphrase of a key file that has one
/// - `module`: the cryptographic module to use the key in, if it must be used in one
///
/// A key file whose name begins with `kmip:` is reached as `./kmip:…`.
///
/// # Errors
/// Whatever keeps the source from being opened; [`KeyError::NoKmip`] for a key server if this
/// program was built without the feature `kmip`; [`KeyError::UnknownSource`] for what looks like a
/// misspelt address of one; [`KeyError::ProtectedInModule`] for a key file with a passphrase that
/// is to be used in a module.
pub fn open(
    spec: &str,
    passphrase: Ask<'_>,
    module: Option<&'static dyn Module>,
) -> Result<Arc<dyn KeySource>, KeyError> {
    let provider = module.map_or_else(Provider::own, Provider::Module);
    let keys: Arc<dyn KeySource> = if is_kmip(spec) {
        kmip(spec, provider)?
    } else {
        check_path(spec)?;
        if let Some(module) = module
            && KeyFile::inspect(spec)?.has_passphrase()
        {
            return Err(KeyError::ProtectedInModule { path: spec.into(), module: module.name() });
        }
        Arc::new(KeyFile::open_with(spec, passphrase)?)
    };
    Ok(InModule::used_by(keys, provider))
}

/// Opens the source `spec` for a library in another program, which cannot ask for a passphrase: it
/// is in the file `named`, or in that of [`PASSPHRASE_VARIABLE`].
///
/// # Errors
/// As [`open`]; [`KeyError::NoPassphrase`] where there is no such file and the key file needs one.
pub fn open_unattended(
    spec: &str,
    named: Option<&Path>,
    module: Option<&'static dyn Module>,
) -> Result<Arc<dyn KeySource>, KeyError> {
    let passphrase = |path: &Path| match passphrase_file(named) {
        Some(file) => Passphrase::from_file(file),
        None => Err(KeyError::NoPassphrase { path: path.to_owned() }),
    };
    open(spec, &passphrase, module)
}

/// Returns whether `spec` names a key server.
#[must_use]
pub fn is_kmip(spec: &str) -> bool {
    spec.split_once(':').is_some_and(|(scheme, _)| scheme == KMIP)
}

/// Checks that `spec`, which is no address of a key server, was not meant as one: `kmpi:kms.toml`
/// is a file if there is a file of that name, and otherwise probably a typing error.
///
/// # Errors
/// [`KeyError::UnknownSource`].
pub fn check_path(spec: &str) -> Result<(), KeyError> {
    let Some((scheme, _)) = spec.split_once(':') else { return Ok(()) };
    if scheme.contains('/')
        || is_kmip(spec)
        || Path::new(spec).exists()
        || similar(scheme, [KMIP]).is_none()
    {
        return Ok(());
    }
    Err(KeyError::UnknownSource { spec: spec.to_owned(), scheme: scheme.to_owned(), nearest: KMIP })
}

#[cfg(feature = "kmip")]
fn kmip(spec: &str, provider: Provider) -> Result<Arc<dyn KeySource>, KeyError> {
    Ok(Arc::new(crate::key_server::KmipSource::open_by(provider, spec)?))
}

#[cfg(not(feature = "kmip"))]
fn kmip(spec: &str, _: Provider) -> Result<Arc<dyn KeySource>, KeyError> {
    Err(KeyError::NoKmip { spec: spec.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_key_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kmip:odd name");
        let made = KeyFile::create(&path, "orders").unwrap();
        let never = |_: &std::path::Path| panic!("asked for a passphrase");
        let opened = open(path.to_str().unwrap(), &never, None).unwrap();
        assert_eq!(opened.current().unwrap().1.as_bytes(), made.current().unwrap().1.as_bytes());
        assert!(matches!(open("/nonexistent/x.key", &never, None), Err(KeyError::NoFile { .. })));
    }

    #[test]
    fn a_misspelt_server_is_no_file() {
        let never = |_: &std::path::Path| panic!("asked for a passphrase");
        for spec in ["kmpi:kms.toml", "KMIP://kms.example/17", "kmips:kms.toml"] {
            let scheme = spec.split(':').next().unwrap();
            let error = open(spec, &never, None).err().expect("no such source").to_string();
            assert_eq!(
                error,
                format!(
                    "no key file at {}, and {scheme}: is no kind of key source; did you mean \
                     kmip:?\n\
                     name a key file by its path, or a key server as kmip://HOST/KEY or \
                     kmip:FILE.toml",
                    sealstone_message::without_secrets(spec)
                )
            );
        }
        assert!(matches!(open("a:b", &never, None), Err(KeyError::NoFile { .. })));
        assert!(matches!(open("./kmpi:x", &never, None), Err(KeyError::NoFile { .. })));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kmpi:real");
        KeyFile::create(&path, "orders").unwrap();
        open(path.to_str().unwrap(), &never, None).unwrap();
    }

    #[cfg(not(feature = "kmip"))]
    #[test]
    fn a_key_server_needs_the_feature() {
        for spec in ["kmip://kms.example:5696/17", "kmip:kms.toml"] {
            let error = open(spec, &|_| unreachable!("no passphrase"), None)
                .err()
                .expect("no such source")
                .to_string();
            assert_eq!(
                error,
                format!(
                    "kmip not built in: {spec} names a key server\n\
                     install sealstone with it (make install, feature kmip), or give a key file"
                )
            );
        }
    }
}
