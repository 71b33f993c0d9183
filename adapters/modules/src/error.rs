//! Errors of loading a module. Not here: those of using one (`sealstone_cipher::Error`).

use sealstone_message::Unknown;

/// Reason why a module is not available. Nothing was sealed, and nothing else takes its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The name is that of no kind of module.
    #[error(transparent)]
    Kind(#[from] Unknown),
    /// The name names no module.
    #[error(
        "module {spec:?} names none\n\
         name a provider of OpenSSL 3 as openssl:NAME, such as openssl:fips, aws-lc-fips, or a \
         library by its path"
    )]
    Name {
        /// Name that was given.
        spec: String,
    },
    /// A module that this build does not have.
    #[error(
        "{module} not built in\n\
         build Sealstone with it: FEATURES=\"--features {module}\", which needs cmake, a C \
         compiler and Go"
    )]
    NotBuilt {
        /// Name of the module.
        module: &'static str,
    },
    /// A library could not be loaded.
    #[error(
        "cannot load module {module} from {file}: {found}\n\
         install it, or correct its path; without it nothing is sealed or opened"
    )]
    Load {
        /// Name that was given.
        module: String,
        /// File that was to be loaded.
        file: String,
        /// Words of the dynamic linker.
        found: String,
    },
    /// OpenSSL has no such provider, or could not start it.
    #[error(
        "OpenSSL cannot load its provider {provider}: {found}\n\
         a provider is configured in OpenSSL's own configuration ($OPENSSL_CONF, or the file that \
         `openssl version -d` leads to); for fips, `openssl fipsinstall` makes its part"
    )]
    Provider {
        /// Name of the provider.
        provider: String,
        /// Words of OpenSSL.
        found: String,
    },
    /// A module failed its own tests.
    #[error(
        "module {module} failed its self test: {found}\n\
         nothing is sealed or opened with it; its vendor can say what that means"
    )]
    SelfTest {
        /// Name that was given.
        module: String,
        /// Report of the module.
        found: String,
    },
    /// A library has another interface than ours.
    #[error(
        "module {module} has {found}\n\
         build its shim against sealstone_module.h of this version: docs/guide/modules.md"
    )]
    Interface {
        /// Name that was given.
        module: String,
        /// Defect that was found.
        found: String,
    },
}
