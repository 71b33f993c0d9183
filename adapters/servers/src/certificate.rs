//! Certificates for the servers of a lab and their clients, made on the spot by an authority that nobody else trusts.
//! Not here: which side presents which one (`pykmip`).

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// What a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateUse {
    /// A server on this machine: `127.0.0.1`, `localhost`.
    Server,
    /// A client.
    Client,
}

/// An authority whose own key is in no file: nothing can be signed once it is dropped.
pub struct Authority {
    dir: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes one, with its certificate in `dir/NAME.pem`. An existing file is overwritten.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn make(dir: &Path, name: &str) -> io::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        write(&dir.join(format!("{name}.pem")), &certificate.pem())?;
        Ok(Self { dir: dir.to_owned(), issuer: Issuer::new(params, key) })
    }

    /// Makes a certificate for `usage`, in `NAME.pem` next to the authority's, and its key in `NAME-key.pem`.
    ///
    /// # Errors
    /// As [`Authority::make`].
    pub fn sign(&self, name: &str, usage: CertificateUse) -> io::Result<()> {
        let names = vec!["127.0.0.1".into(), "localhost".into()];
        let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![match usage {
            CertificateUse::Server => ExtendedKeyUsagePurpose::ServerAuth,
            CertificateUse::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        write(&self.dir.join(format!("{name}.pem")), &certificate.pem())?;
        write(&self.dir.join(format!("{name}-key.pem")), &key.serialize_pem())
    }
}

/// A file that only its owner may read.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
