//! Modules by the name that users give them, each loaded once for the life of the process. Not
//! here: how each kind is loaded (`openssl`, `library`).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use percent_encoding::percent_decode_str;
use sealstone_cipher::module::Module;
use sealstone_message::Unknown;

use crate::error::ModuleError;
use crate::lifelong::lifelong;
use crate::{library, openssl};

/// Scheme of OpenSSL's providers.
const OPENSSL: &str = "openssl";
/// The FIPS module of AWS-LC.
const AWS_LC: &str = "aws-lc-fips";
/// Words before the text of a certificate.
const CERTIFICATE: &str = "?certificate=";

/// Loads the module `spec` and has it test itself; a module that was loaded before is returned
/// again. It stays loaded as long as the process lives.
///
/// - `spec`: `openssl:PROVIDER`, such as `openssl:fips`; `aws-lc-fips`; or the path of a library
///   with a `/` in it. `?certificate=TEXT` may follow, percent-encoded where it must be: what the
///   user states about the module's certificate, which reports repeat
///
/// # Errors
/// [`ModuleError`] for anything that is wrong with the name or the module.
pub fn load(spec: &str) -> Result<&'static dyn Module, ModuleError> {
    static LOADED: Mutex<BTreeMap<String, &'static dyn Module>> = Mutex::new(BTreeMap::new());
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(module) = loaded.get(spec) {
        return Ok(*module);
    }
    let (name, certificate) = match spec.split_once(CERTIFICATE) {
        Some((name, text)) => {
            (name, Some(percent_decode_str(text).decode_utf8_lossy().into_owned()))
        }
        None => (spec, None),
    };
    let certificate = certificate.map(|text| lifelong(&text));
    let unnamed = || ModuleError::Name { spec: spec.to_owned() };
    let module: &'static dyn Module = if name.contains('/') {
        Box::leak(Box::new(library::Library::load(name, certificate)?))
    } else {
        match name.split_once(':') {
            Some((OPENSSL, "")) => return Err(unnamed()),
            Some((OPENSSL, provider)) => {
                Box::leak(Box::new(openssl::OpenSsl::load(provider, certificate)?))
            }
            Some((scheme, _)) => {
                return Err(Unknown::new("kind of module", scheme, [OPENSSL]).into());
            }
            None if name == AWS_LC => aws_lc(certificate)?,
            None => return Err(unnamed()),
        }
    };
    loaded.insert(spec.to_owned(), module);
    Ok(module)
}

#[cfg(feature = "aws-lc-fips")]
fn aws_lc(certificate: Option<&'static str>) -> Result<&'static dyn Module, ModuleError> {
    Ok(Box::leak(Box::new(crate::aws_lc::AwsLc::load(certificate)?)))
}

#[cfg(not(feature = "aws-lc-fips"))]
fn aws_lc(_: Option<&'static str>) -> Result<&'static dyn Module, ModuleError> {
    Err(ModuleError::NotBuilt { module: AWS_LC })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_says_nothing_is_refused() {
        for spec in ["", "aes", "openssl:", "openssl:?certificate=x"] {
            assert!(matches!(load(spec), Err(ModuleError::Name { .. })), "{spec:?}");
        }
        let error = load("opensll:fips").unwrap_err().to_string();
        assert!(error.contains("did you mean openssl?"), "{error}");
    }

    #[cfg(not(feature = "aws-lc-fips"))]
    #[test]
    fn a_module_that_is_not_built_in_is_an_error() {
        let error = load("aws-lc-fips").unwrap_err().to_string();
        assert!(error.starts_with("aws-lc-fips not built in\n"), "{error}");
    }

    #[test]
    fn a_library_that_is_not_there_is_an_error() {
        let error = load("/nonexistent/libmodule.so").unwrap_err().to_string();
        assert!(
            error.starts_with(
                "cannot load module /nonexistent/libmodule.so from /nonexistent/libmodule.so: "
            ),
            "{error}"
        );
    }
}
