//! The client's side of mutual TLS: certificates and keys from files into a configuration of
//! rustls.
//!
//! TLS 1.2 and 1.3 as rustls has them; a server's certificate is always checked.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use sealstone_file::input;
use zeroize::Zeroizing;

use super::KmipError;
use super::address::Address;

/// Longest certificate or key file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads what `address` names.
///
/// # Errors
/// [`KmipError::Read`] and [`KmipError::File`] with the file and the mistake in it.
pub(super) fn config(address: &Address) -> Result<Arc<ClientConfig>, KmipError> {
    const CERT: &str = "client certificate";
    const KEY: &str = "private key of the client certificate";
    const CA: &str = "certificate authority";
    let fault =
        |what, path: &Path, found: String| KmipError::File { what, path: path.to_owned(), found };

    let mut roots = RootCertStore::empty();
    for certificate in certificates(CA, &address.ca)? {
        roots.add(certificate).map_err(|error| fault(CA, &address.ca, error.to_string()))?;
    }
    let chain = certificates(CERT, &address.cert)?;
    check_private(KEY, &address.key)?;
    let text = read(KEY, &address.key)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        fault(KEY, &address.key, "it holds no private key in PEM without a passphrase".into())
    })?;

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(CERT, &address.cert, error.to_string()))?;
    let mut config =
        versions.with_root_certificates(roots).with_client_auth_cert(chain, key).map_err(
            |error| fault(KEY, &address.key, format!("it does not fit the certificate: {error}")),
        )?;
    // each connection proves both certificates again; and PyKMIP refuses every request on a resumed
    // session
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Returns the name that the certificate of a server must carry.
///
/// # Errors
/// [`KmipError::Address`] if `host` is neither a host name nor an IP address.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, KmipError> {
    ServerName::try_from(host.to_owned()).map_err(|_| KmipError::Address {
        found: format!("{host:?} is neither a host name nor an IP address"),
    })
}

fn certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, KmipError> {
    let fault = |found: String| KmipError::File { what, path: path.to_owned(), found };
    let text = read(what, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(certificates) if certificates.is_empty() => {
            Err(fault("it holds no certificate in PEM".into()))
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(fault(format!("it is not in PEM: {error}"))),
    }
}

fn read(what: &'static str, path: &Path) -> Result<Zeroizing<Vec<u8>>, KmipError> {
    let io_error = |source| KmipError::Read { what, path: path.to_owned(), source };
    let mut file = input::open(path).map_err(io_error)?;
    let bytes = file.metadata().map_err(io_error)?.len();
    if bytes > FILE_BYTES_MAX {
        let found = format!("it has {bytes} bytes, and at most {FILE_BYTES_MAX} are read");
        return Err(KmipError::File { what, path: path.to_owned(), found });
    }
    let mut text = Zeroizing::new(Vec::with_capacity(bytes as usize + 1));
    file.read_to_end(&mut text).map_err(io_error)?;
    Ok(text)
}

/// Checks that not everybody may read the private key: it would prove nothing. Its group may read
/// it: daemons are run that way.
#[cfg(unix)]
fn check_private(what: &'static str, path: &Path) -> Result<(), KmipError> {
    use std::os::unix::fs::PermissionsExt;
    let found = fs::metadata(path).map_err(|source| KmipError::Read {
        what,
        path: path.to_owned(),
        source,
    })?;
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o007 != 0 {
        let found = format!(
            "it is open to everyone (mode {mode:04o}); restrict it with: chmod o= {}",
            path.display()
        );
        return Err(KmipError::File { what, path: path.to_owned(), found });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &'static str, _: &Path) -> Result<(), KmipError> {
    Ok(())
}
