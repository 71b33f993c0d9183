//! TLS to servers that a comparison starts, for variants with the suite `tls`: certificates by an
//! authority that is made for the purpose, and forgotten. Not here: TLS to the user's servers,
//! which their address requests.
//!
//! A variant with TLS has its own servers. The directory with the certificates goes to the code
//! that starts the servers, the authority's certificate to the client. Members of a replica set and
//! nodes of a cluster show the same certificate to each other, so it is valid for servers and
//! clients.
//!
//! Before a store is handed out, every one of its servers is queried: for version and cipher of the
//! connection where a server reports them (PostgreSQL, MariaDB), otherwise for its settings, which
//! must accept TLS and nothing else. A store whose servers give any other answer is not measured.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use sealstone_servers::{Authority, CertificateUse};
use sealstone_store::{StoreError, Tunnel, Variant, WireSuite};

/// Name of their directory within that of a lab, as one of its own files.
const DIRECTORY: &str = "lab.tls";

/// Returns the choice of the layer `wire` for a store whose server speaks TLS. Every client has it
/// from rustls.
#[must_use]
pub fn tunnel() -> Tunnel {
    Tunnel { suite: WireSuite::Tls, path: "rustls", caveats: Vec::new() }
}

/// Returns the directory with certificates for the server of `variant` in `dir`, which is made:
/// that of the authority in `ca.pem`, the server's in `server.pem`; none where the variant has no
/// TLS.
///
/// # Errors
/// A suite that no server speaks, files that cannot be written.
pub(crate) fn certificates(variant: &Variant, dir: &Path) -> Result<Option<PathBuf>, StoreError> {
    let Some(tunnel) = &variant.wire else { return Ok(None) };
    if tunnel.suite != WireSuite::Tls {
        return Err(StoreError::Lacks {
            caller: tunnel.suite.name(),
            ability: "packets on a link, which block devices have",
        });
    }
    let make = || -> std::io::Result<PathBuf> {
        // the server may run as another user, who can reach the files beside it
        std::fs::create_dir_all(dir)?;
        let dir = dir.join(DIRECTORY);
        // it holds a key
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let dir = dir.canonicalize()?;
        // servers of a set are also clients of each other
        Authority::make(&dir, "ca")?.sign("server", CertificateUse::Member)?;
        Ok(dir)
    };
    make().map(Some).map_err(|error| {
        StoreError::engine(format!("cannot make certificates in {}: {error}", dir.display()))
    })
}

/// Returns the error for a server that takes connections without TLS although it was started with
/// TLS, so that nothing is measured as what it is not.
pub(crate) fn unsealed(server: &str) -> StoreError {
    let step = "give a server program that was built with TLS";
    StoreError::engine(format!(
        "{server} was started with TLS, and says that the connection has none\n{step}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_made_for_the_variant_that_wants_them() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(certificates(&Variant::plain("none"), dir.path()).unwrap(), None);
        let made =
            certificates(&Variant { wire: Some(tunnel()), ..Variant::plain("tls") }, dir.path())
                .unwrap()
                .unwrap();
        assert!(
            ["ca.pem", "server.pem", "server-key.pem"].iter().all(|name| made.join(name).is_file())
        );
        assert!(!made.join("ca-key.pem").exists(), "nothing more can be signed");
        let suite = WireSuite::Esp(sealstone_cipher::suites::suite("aes-256-gcm").unwrap());
        let esp = Tunnel { suite, ..tunnel() };
        assert!(
            certificates(&Variant { wire: Some(esp), ..Variant::plain("esp") }, dir.path())
                .is_err()
        );
    }
}
