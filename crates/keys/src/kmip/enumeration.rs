//! Enumerations: numbers with names. A number that has no name here is kept and printed unchanged,
//! never refused.
//!
//! Only the values that this client sends, reads or explains. Source: OASIS KMIP 1.4, sections
//! 9.1.3.2 (enumerations) and 9.1.3.3 (bit masks); values that came with KMIP 2.0, including ARIA
//! and SEED: KMIP 2.1, section 11.

use std::fmt;

macro_rules! enumeration {
    ($(#[$doc:meta])* $type:ident { $($name:ident = $number:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $type(pub u32);

        impl $type {
            $(#[doc = $text] pub const $name: Self = Self($number);)*

            /// Returns the name of the value, if it is known here.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "0x{:X}", self.0),
                }
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

enumeration! {
    /// Operation of a request.
    Operation {
        CREATE = 0x01, "Create";
        REGISTER = 0x03, "Register";
        REKEY = 0x04, "Re-key";
        LOCATE = 0x08, "Locate";
        GET = 0x0A, "Get";
        GET_ATTRIBUTES = 0x0B, "Get Attributes";
        MODIFY_ATTRIBUTE = 0x0E, "Modify Attribute";
        ACTIVATE = 0x12, "Activate";
        REVOKE = 0x13, "Revoke";
        DESTROY = 0x14, "Destroy";
        QUERY = 0x18, "Query";
        DISCOVER_VERSIONS = 0x1E, "Discover Versions";
    }
}

enumeration! {
    /// Outcome of a request.
    ResultStatus {
        SUCCESS = 0x00, "Success";
        FAILED = 0x01, "Operation Failed";
        PENDING = 0x02, "Operation Pending";
        UNDONE = 0x03, "Operation Undone";
    }
}

enumeration! {
    /// Reason why a request failed.
    ResultReason {
        ITEM_NOT_FOUND = 0x01, "Item Not Found";
        RESPONSE_TOO_LARGE = 0x02, "Response Too Large";
        AUTHENTICATION_NOT_SUCCESSFUL = 0x03, "Authentication Not Successful";
        INVALID_MESSAGE = 0x04, "Invalid Message";
        OPERATION_NOT_SUPPORTED = 0x05, "Operation Not Supported";
        MISSING_DATA = 0x06, "Missing Data";
        INVALID_FIELD = 0x07, "Invalid Field";
        FEATURE_NOT_SUPPORTED = 0x08, "Feature Not Supported";
        CANCELED = 0x09, "Operation Canceled By Requester";
        CRYPTOGRAPHIC_FAILURE = 0x0A, "Cryptographic Failure";
        ILLEGAL_OPERATION = 0x0B, "Illegal Operation";
        PERMISSION_DENIED = 0x0C, "Permission Denied";
        OBJECT_ARCHIVED = 0x0D, "Object Archived";
        APPLICATION_NAMESPACE_NOT_SUPPORTED = 0x0F, "Application Namespace Not Supported";
        KEY_FORMAT_TYPE_NOT_SUPPORTED = 0x10, "Key Format Type Not Supported";
        KEY_VALUE_NOT_PRESENT = 0x13, "Key Value Not Present";
        ATTESTATION_REQUIRED = 0x14, "Attestation Required";
        ATTESTATION_FAILED = 0x15, "Attestation Failed";
        SENSITIVE = 0x16, "Sensitive";
        NOT_EXTRACTABLE = 0x17, "Not Extractable";
        OBJECT_ALREADY_EXISTS = 0x18, "Object Already Exists";
        ATTRIBUTE_INSTANCE_NOT_FOUND = 0x20, "Attribute Instance Not Found";
        ATTRIBUTE_NOT_FOUND = 0x21, "Attribute Not Found";
        OBJECT_DESTROYED = 0x36, "Object Destroyed";
        OBJECT_NOT_FOUND = 0x37, "Object Not Found";
        GENERAL_FAILURE = 0x100, "General Failure";
    }
}

enumeration! {
    /// Kind of managed object.
    ObjectType {
        CERTIFICATE = 0x01, "Certificate";
        SYMMETRIC_KEY = 0x02, "Symmetric Key";
        PUBLIC_KEY = 0x03, "Public Key";
        PRIVATE_KEY = 0x04, "Private Key";
        SPLIT_KEY = 0x05, "Split Key";
        TEMPLATE = 0x06, "Template";
        SECRET_DATA = 0x07, "Secret Data";
        OPAQUE_OBJECT = 0x08, "Opaque Object";
    }
}

enumeration! {
    /// Algorithm a key is for.
    CryptographicAlgorithm {
        DES = 0x01, "DES";
        TRIPLE_DES = 0x02, "3DES";
        AES = 0x03, "AES";
        RSA = 0x04, "RSA";
        HMAC_SHA256 = 0x09, "HMAC-SHA256";
        BLOWFISH = 0x10, "Blowfish";
        CAMELLIA = 0x11, "Camellia";
        CHACHA20 = 0x1C, "ChaCha20";
        ARIA = 0x29, "ARIA";
        SEED = 0x2A, "SEED";
        SM4 = 0x2D, "SM4";
    }
}

enumeration! {
    /// State of a key in its life. Source: KMIP 1.4, section 3.22.
    State {
        PRE_ACTIVE = 0x01, "Pre-Active";
        ACTIVE = 0x02, "Active";
        DEACTIVATED = 0x03, "Deactivated";
        COMPROMISED = 0x04, "Compromised";
        DESTROYED = 0x05, "Destroyed";
        DESTROYED_COMPROMISED = 0x06, "Destroyed Compromised";
    }
}

enumeration! {
    /// Layout of key material.
    KeyFormatType {
        RAW = 0x01, "Raw";
        OPAQUE = 0x02, "Opaque";
        TRANSPARENT_SYMMETRIC_KEY = 0x07, "Transparent Symmetric Key";
    }
}

enumeration! {
    /// Type of a secret.
    SecretDataType {
        PASSWORD = 0x01, "Password";
        SEED = 0x02, "Seed";
    }
}

enumeration! {
    /// Type of a name.
    NameType {
        TEXT = 0x01, "Uninterpreted Text String";
        URI = 0x02, "URI";
    }
}

enumeration! {
    /// Relationship between two objects.
    LinkType {
        REPLACEMENT_OBJECT = 0x106, "Replacement Object Link";
        REPLACED_OBJECT = 0x107, "Replaced Object Link";
    }
}

enumeration! {
    /// Question to a server about itself.
    QueryFunction {
        OPERATIONS = 0x01, "Query Operations";
        OBJECTS = 0x02, "Query Objects";
        SERVER_INFORMATION = 0x03, "Query Server Information";
    }
}

enumeration! {
    /// Reason why a key is revoked.
    RevocationReason {
        UNSPECIFIED = 0x01, "Unspecified";
        KEY_COMPROMISE = 0x02, "Key Compromise";
        CA_COMPROMISE = 0x03, "CA Compromise";
        AFFILIATION_CHANGED = 0x04, "Affiliation Changed";
        SUPERSEDED = 0x05, "Superseded";
        CESSATION_OF_OPERATION = 0x06, "Cessation of Operation";
        PRIVILEGE_WITHDRAWN = 0x07, "Privilege Withdrawn";
    }
}

/// Permitted uses of a key: one bit per use.
///
/// Source: KMIP 1.4, section 9.1.3.3.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageMask(pub i32);

impl UsageMask {
    /// Verify signatures.
    pub const VERIFY: Self = Self(0x02);
    /// Wrap and unwrap keys, encrypt and decrypt: the uses of a key-encryption key.
    pub const KEK: Self = Self(0x04 | 0x08 | 0x10 | 0x20);

    /// Returns whether every bit of `other` is set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for UsageMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 12] = [
            "sign",
            "verify",
            "encrypt",
            "decrypt",
            "wrap key",
            "unwrap key",
            "export",
            "generate MAC",
            "verify MAC",
            "derive key",
            "content commitment",
            "key agreement",
        ];
        let mut uses: Vec<String> = (0..NAMES.len())
            .filter(|bit| self.0 >> bit & 1 == 1)
            .map(|bit| NAMES[bit].to_owned())
            .collect();
        let others = self.0 & !((1 << NAMES.len()) - 1);
        if others != 0 {
            uses.push(format!("0x{others:X}"));
        }
        f.write_str(if uses.is_empty() { "nothing".into() } else { uses.join(", ") }.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_without_a_name_are_kept() {
        assert_eq!(CryptographicAlgorithm(0x29).to_string(), "ARIA");
        assert_eq!(CryptographicAlgorithm(0x8000_0001).to_string(), "0x80000001");
        assert_eq!(format!("{:?}", State::ACTIVE), "Active");
        assert_eq!(UsageMask::KEK.to_string(), "encrypt, decrypt, wrap key, unwrap key");
        assert_eq!(UsageMask(0x10_0004).to_string(), "encrypt, 0x100000");
        assert_eq!(UsageMask(0).to_string(), "nothing");
    }
}
