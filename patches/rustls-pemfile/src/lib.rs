//! Certificates and keys of a PEM file, as the driver of MySQL asks for them; `rustls-pki-types`
//! reads the file.

#![forbid(unsafe_code)]

use std::io::{BufRead, Error, ErrorKind};

use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};

/// Returns the certificates of `pem`, in their order.
///
/// # Errors
/// The iterator gives an error for each part of the file that is not PEM, or cannot be read.
pub fn certs(
    pem: &mut dyn BufRead,
) -> impl Iterator<Item = Result<CertificateDer<'static>, Error>> {
    parts(pem)
}

/// Returns the private keys of RSA in the form of PKCS #1.
///
/// # Errors
/// As [`certs`].
pub fn rsa_private_keys(
    pem: &mut dyn BufRead,
) -> impl Iterator<Item = Result<PrivatePkcs1KeyDer<'static>, Error>> {
    parts(pem)
}

/// Returns the private keys in the form of PKCS #8.
///
/// # Errors
/// As [`certs`].
pub fn pkcs8_private_keys(
    pem: &mut dyn BufRead,
) -> impl Iterator<Item = Result<PrivatePkcs8KeyDer<'static>, Error>> {
    parts(pem)
}

/// Returns the private keys of elliptic curves in the form of SEC 1.
///
/// # Errors
/// As [`certs`].
pub fn ec_private_keys(
    pem: &mut dyn BufRead,
) -> impl Iterator<Item = Result<PrivateSec1KeyDer<'static>, Error>> {
    parts(pem)
}

fn parts<T: PemObject>(pem: &mut dyn BufRead) -> impl Iterator<Item = Result<T, Error>> {
    T::pem_reader_iter(pem).map(|part| {
        part.map_err(|error| match error {
            pem::Error::Io(error) => error,
            // its text may quote the line that it stumbled over
            _ => Error::new(ErrorKind::InvalidData, "not PEM, or cut off"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "a remark before\n-----BEGIN CERTIFICATE-----\nAQID\n-----END \
                        CERTIFICATE-----\n\
                        -----BEGIN EC PRIVATE KEY-----\nBAUG\n-----END EC PRIVATE KEY-----\n\
                        -----BEGIN CERTIFICATE-----\nBwgJ\n-----END CERTIFICATE-----\n\
                        -----BEGIN PRIVATE KEY-----\nCgsM\n-----END PRIVATE KEY-----\n\
                        -----BEGIN RSA PRIVATE KEY-----\nDQ4P\n-----END RSA PRIVATE KEY-----\n";

    #[test]
    fn each_kind_is_found_among_the_others_in_its_order() {
        let found: Vec<_> =
            certs(&mut FILE.as_bytes()).map(|part| part.unwrap().to_vec()).collect();
        assert_eq!(found, [[1, 2, 3], [7, 8, 9]]);
        let sec1: Vec<_> = ec_private_keys(&mut FILE.as_bytes()).map(|key| key.unwrap()).collect();
        assert_eq!(sec1.iter().map(|key| key.secret_sec1_der()).collect::<Vec<_>>(), [[4, 5, 6]]);
        let pkcs8: Vec<_> =
            pkcs8_private_keys(&mut FILE.as_bytes()).map(|key| key.unwrap()).collect();
        assert_eq!(
            pkcs8.iter().map(|key| key.secret_pkcs8_der()).collect::<Vec<_>>(),
            [[10, 11, 12]]
        );
        let pkcs1: Vec<_> =
            rsa_private_keys(&mut FILE.as_bytes()).map(|key| key.unwrap()).collect();
        assert_eq!(
            pkcs1.iter().map(|key| key.secret_pkcs1_der()).collect::<Vec<_>>(),
            [[13, 14, 15]]
        );
    }

    #[test]
    fn a_torn_file_is_an_error_and_ends() {
        let torn = &FILE[..FILE.find("-----END CERTIFICATE").unwrap()];
        let found: Vec<_> = certs(&mut torn.as_bytes()).take(9).collect();
        assert!(found.len() == 1 && found[0].is_err(), "{found:?}");
        let found: Vec<_> =
            certs(&mut FILE.replacen("AQID", "A*ID", 1).as_bytes()).take(9).collect();
        assert!(
            found.iter().any(Result::is_err) && !format!("{found:?}").contains("A*ID"),
            "{found:?}"
        );
        assert_eq!(certs(&mut &b"\0\x01\x02"[..]).count(), 0);
    }
}
