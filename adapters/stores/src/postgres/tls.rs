//! TLS to a server: trusted authorities, and our certificate. Made once, for all connections. Not
//! here: the use of TLS (`address`).

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
};

use super::address::SslMode;
use crate::server_error::ServerError;
use crate::sql::Error;

/// Files for TLS.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Files<'a> {
    /// Authorities that the server's certificate is checked with; without it the system's.
    pub(super) authorities: Option<&'a Path>,
    /// Certificate of the client, and its key.
    pub(super) own: Option<(&'a Path, &'a Path)>,
}

/// Returns the configuration that protects connections under `mode`.
///
/// # Errors
/// [`ServerError::File`], [`Error::Tls`].
pub(super) fn config(mode: SslMode, files: Files<'_>) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let trust: Arc<dyn ServerCertVerifier> = match mode {
        SslMode::VerifyFull | SslMode::VerifyCa => {
            let roots = Arc::new(authorities(files.authorities)?);
            let checked =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            let checked = checked.map_err(|error| Error::Tls {
                file: shown(files.authorities),
                found: error.to_string(),
            })?;
            Arc::new(Checked { checked, any_name: mode == SslMode::VerifyCa })
        }
        SslMode::Disable | SslMode::Prefer | SslMode::Require => {
            Arc::new(Unchecked(Arc::clone(&provider)))
        }
    };
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("ring has ciphers for TLS 1.2 and 1.3");
    let config = config.dangerous().with_custom_certificate_verifier(trust);
    let Some((certificate, key)) = files.own else { return Ok(config.with_no_client_auth()) };
    let what = "certificate and key of the client";
    let chain = certificates(certificate, what)?;
    let bad = |file: &Path, found: String| Error::Tls { file: file.display().to_string(), found };
    let text = read(key, what)?;
    let secret =
        PrivateKeyDer::from_pem_slice(&text).map_err(|error| bad(key, error.to_string()))?;
    config.with_client_auth_cert(chain, secret).map_err(|error| bad(certificate, error.to_string()))
}

fn shown(file: Option<&Path>) -> String {
    file.map_or_else(|| "the authorities of this system".into(), |file| file.display().to_string())
}

/// Returns the authorities in `file`, or those that this system trusts.
fn authorities(file: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(file) => {
            for certificate in certificates(file, "the certificate of an authority")? {
                let bad = |error: TlsError| Error::Tls {
                    file: file.display().to_string(),
                    found: error.to_string(),
                };
                roots.add(certificate).map_err(bad)?;
            }
        }
        // one that cannot be read is not trusted, and that is all
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn certificates(file: &Path, what: &'static str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let text = read(file, what)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let bad = |found: String| Error::Tls { file: file.display().to_string(), found };
    match found {
        Ok(found) if found.is_empty() => Err(bad("it has no certificate".into())),
        Ok(found) => Ok(found),
        Err(error) => Err(bad(error.to_string())),
    }
}

fn read(file: &Path, what: &'static str) -> Result<Vec<u8>, ServerError> {
    sealstone_file::input::read(file).map_err(ServerError::unread(what, file))
}

/// A server must have a certificate of an authority that is trusted.
#[derive(Debug)]
struct Checked {
    checked: Arc<WebPkiServerVerifier>,
    /// True if the certificate may be for another host.
    any_name: bool,
}

impl ServerCertVerifier for Checked {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match self.checked.verify_server_cert(own, others, name, ocsp, now) {
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.checked.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.checked.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.checked.supported_verify_schemes()
    }
}

/// Any server will do, as long as it has the key of the certificate that it shows: the meaning of
/// `sslmode=require` in PostgreSQL. It protects against listeners, but not against impostors of the
/// server.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
