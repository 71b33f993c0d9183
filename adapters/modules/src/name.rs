//! Names of modules as users give them, `NAME?certificate=TEXT`: what is named, and what is stated
//! about it.

use std::borrow::Cow;
use std::io;
use std::path::{Path, absolute};

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use sealstone_message::Unknown;

use crate::error::ModuleError;

/// Scheme of OpenSSL's providers.
const OPENSSL: &str = "openssl";
/// The FIPS module of AWS-LC.
pub(crate) const AWS_LC: &str = "aws-lc-fips";
/// Words before the text of a certificate.
const CERTIFICATE: &str = "?certificate=";

/// Characters that files of options cannot hold.
const SPECIAL: AsciiSet = CONTROLS.add(b'"').add(b'\'').add(b'\\').add(b'#');

/// A name, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    /// The words before the certificate.
    named: &'a str,
    /// Text of the certificate, as it was given.
    stated: Option<&'a str>,
}

/// Statements of the user about a module, for as long as it lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stated {
    /// The name by which every process loads it, with the certificate.
    pub(crate) spec: &'static str,
    /// Text of its certificate.
    pub(crate) certificate: Option<&'static str>,
}

/// One module of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    /// The provider of OpenSSL with this name.
    OpenSsl(&'a str),
    /// The FIPS module of AWS-LC.
    AwsLc,
    /// The library in this file.
    Library(&'a str),
}

impl<'a> Name<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        match text.split_once(CERTIFICATE) {
            Some((named, stated)) => Self { named, stated: Some(stated) },
            None => Self { named: text, stated: None },
        }
    }

    /// Returns the kind of module, and which one it is.
    ///
    /// # Errors
    /// A name that names no module, or a kind of which there is none.
    pub(crate) fn kind(self) -> Result<Kind<'a>, ModuleError> {
        if let Some(file) = self.file() {
            return Ok(Kind::Library(file));
        }
        match self.named.split_once(':') {
            Some((OPENSSL, provider)) if !provider.is_empty() => Ok(Kind::OpenSsl(provider)),
            Some((scheme, _)) if scheme != OPENSSL => {
                Err(Unknown::new("kind of module", scheme, [OPENSSL]).into())
            }
            None if self.named == AWS_LC => Ok(Kind::AwsLc),
            _ => Err(ModuleError::Name { spec: self.named.to_owned() }),
        }
    }

    /// Returns the text of the certificate that is stated.
    pub(crate) fn certificate(self) -> Option<Cow<'a, str>> {
        self.stated.map(|text| percent_decode_str(text).decode_utf8_lossy())
    }

    fn file(self) -> Option<&'a str> {
        self.named.contains('/').then_some(self.named)
    }
}

/// Returns the name by which any process of this machine loads the module `name`, wherever it
/// runs: the path of a library becomes an absolute one, and all else stays.
///
/// # Errors
/// There is no current directory.
pub fn absolute_name(name: &str) -> io::Result<String> {
    let parsed = Name::new(name);
    let Some(file) = parsed.file() else { return Ok(name.to_owned()) };
    let file = absolute(Path::new(file))?;
    let rest = &name[parsed.named.len()..];
    // it came from text, and so did the current directory of nearly everybody
    Ok(format!("{}{rest}", file.to_str().ok_or(io::ErrorKind::InvalidFilename)?))
}

/// Returns the module name `name` with what files of options cannot hold percent-encoded in the
/// text of its certificate: it loads the same.
#[must_use]
pub fn plain_name(name: &str) -> String {
    match Name::new(name) {
        Name { named, stated: Some(stated) } => {
            format!("{named}{CERTIFICATE}{}", utf8_percent_encode(stated, &SPECIAL))
        }
        Name { stated: None, .. } => name.to_owned(),
    }
}

/// Returns whether `name` is the path of a library that is another one in another directory.
#[must_use]
pub fn is_relative_name(name: &str) -> bool {
    Name::new(name).file().is_some_and(|file| !file.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_no_part_of_a_name() {
        let name = Name::new("openssl:fips?certificate=CMVP%20#4985/2025");
        assert_eq!(name.kind(), Ok(Kind::OpenSsl("fips")));
        assert_eq!(name.certificate().as_deref(), Some("CMVP #4985/2025"));
        let name = Name::new("./lib.so?certificate=a?certificate=b");
        assert_eq!(name.kind(), Ok(Kind::Library("./lib.so")));
        assert_eq!(name.certificate().as_deref(), Some("a?certificate=b"));
        assert_eq!(Name::new(AWS_LC).kind(), Ok(Kind::AwsLc));
    }

    #[test]
    fn a_plain_name_says_the_same() {
        let name = "openssl:fips?certificate=FIPS 140-3 #4282, \"new\", 한";
        let plain = plain_name(name);
        let wanted = "openssl:fips?certificate=FIPS 140-3 %234282, %22new%22, %ED%95%9C";
        assert_eq!(plain, wanted);
        assert_eq!(Name::new(&plain).certificate(), Name::new(name).certificate());
        assert_eq!(plain_name("/a#b/lib.so"), "/a#b/lib.so");
    }

    #[test]
    fn a_library_alone_is_looked_for_in_a_directory() {
        for name in ["openssl:fips?certificate=4985/2025", "aws-lc-fips", "/a/lib.so?certificate=x"]
        {
            assert!(!is_relative_name(name), "{name}");
            assert_eq!(absolute_name(name).unwrap(), name);
        }
        assert!(is_relative_name("./lib.so?certificate=x/y"));
        let here = std::env::current_dir().unwrap();
        let found = absolute_name("./lib.so?certificate=x/y").unwrap();
        assert_eq!(found, format!("{}/lib.so?certificate=x/y", here.display()));
    }
}
