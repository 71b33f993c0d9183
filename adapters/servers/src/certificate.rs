//! Certificates for the servers of a lab and their clients, made for the purpose by an authority
//! that nobody else trusts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use sealstone_file::output::{self, Access};

/// The one suite of TLS 1.3 that servers take which can be told so, and the one that others prefer.
/// The advice on ciphers goes by it.
pub(crate) const SUITE: &str = "TLS_AES_256_GCM_SHA384";

/// Purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateUse {
    /// A server on this machine: `127.0.0.1`, `localhost`.
    Server,
    /// As [`CertificateUse::Server`], of one that is also a client of others like it: a member of a
    /// replica set, a node of a cluster.
    Member,
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

    /// Makes a certificate for `usage`, in `NAME.pem` next to the authority's, and its key in
    /// `NAME-key.pem`.
    ///
    /// # Errors
    /// As [`Authority::make`].
    pub fn sign(&self, name: &str, usage: CertificateUse) -> io::Result<()> {
        let names = vec!["127.0.0.1".into(), "localhost".into()];
        let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = match usage {
            CertificateUse::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            CertificateUse::Member => {
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]
            }
            CertificateUse::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
        };
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        write(&self.dir.join(format!("{name}.pem")), &certificate.pem())?;
        write(&self.dir.join(format!("{name}-key.pem")), &key.serialize_pem())
    }
}

/// Writes the certificate `NAME.pem` in `dir` and its key `NAME-key.pem` into the file `into`, for
/// programs that require both in one file. An existing file is overwritten.
///
/// # Errors
/// A file that cannot be read or written.
pub fn join(dir: &Path, name: &str, into: &Path) -> io::Result<()> {
    let read = |name: String| fs::read_to_string(dir.join(name));
    write(into, &(read(format!("{name}.pem"))? + &read(format!("{name}-key.pem"))?))
}

/// Writes a file that only its owner may read.
fn write(path: &Path, text: &str) -> io::Result<()> {
    output::replace(path, Access::Private, text.as_bytes())
}
