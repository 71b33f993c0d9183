//! Settings of TLS to the user's servers that several stores have. Not here: TLS to servers that a
//! comparison starts (`lab_tls`).

use sealstone_store::kind::{Form, Setting};

/// The setting that names the authorities.
pub(crate) const TLS_CA_FILE: Setting = Setting::new(
    "tls-ca-file",
    "FILE",
    Form::File,
    "Authorities that the certificate of your server is checked with",
);
/// The setting that names the client's certificate.
pub(crate) const TLS_CERTIFICATE_KEY_FILE: Setting = Setting::new(
    "tls-certificate-key-file",
    "FILE",
    Form::File,
    "Certificate and key to show to your server",
);
