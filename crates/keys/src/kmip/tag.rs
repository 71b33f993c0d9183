//! Tags: the kind of an item. The names come from the standard, and so are also the names of
//! attributes in KMIP 1.x.
//!
//! Only the tags that this client sends, reads or names in an error; any other tag is kept as its
//! number. Source: OASIS KMIP 1.4, section 9.1.3.1; Attributes, Current Attribute and New Attribute
//! came with KMIP 2.0.

use std::fmt;

/// A tag: 3 bytes, the number of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(pub u32);

macro_rules! tags {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl Tag {
            $(#[doc = $text] pub const $name: Self = Self($number);)*

            /// Every tag that has a name here.
            pub const KNOWN: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name of the tag in the standard, if it is known here.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

tags! {
    ACTIVATION_DATE = 0x42_0001, "Activation Date";
    APPLICATION_DATA = 0x42_0002, "Application Data";
    APPLICATION_NAMESPACE = 0x42_0003, "Application Namespace";
    APPLICATION_SPECIFIC_INFORMATION = 0x42_0004, "Application Specific Information";
    ARCHIVE_DATE = 0x42_0005, "Archive Date";
    ATTRIBUTE = 0x42_0008, "Attribute";
    ATTRIBUTE_INDEX = 0x42_0009, "Attribute Index";
    ATTRIBUTE_NAME = 0x42_000A, "Attribute Name";
    ATTRIBUTE_VALUE = 0x42_000B, "Attribute Value";
    BATCH_COUNT = 0x42_000D, "Batch Count";
    BATCH_ITEM = 0x42_000F, "Batch Item";
    COMPROMISE_DATE = 0x42_0020, "Compromise Date";
    COMPROMISE_OCCURRENCE_DATE = 0x42_0021, "Compromise Occurrence Date";
    CRYPTOGRAPHIC_ALGORITHM = 0x42_0028, "Cryptographic Algorithm";
    CRYPTOGRAPHIC_LENGTH = 0x42_002A, "Cryptographic Length";
    CRYPTOGRAPHIC_PARAMETERS = 0x42_002B, "Cryptographic Parameters";
    CRYPTOGRAPHIC_USAGE_MASK = 0x42_002C, "Cryptographic Usage Mask";
    DEACTIVATION_DATE = 0x42_002F, "Deactivation Date";
    DESTROY_DATE = 0x42_0033, "Destroy Date";
    DIGEST = 0x42_0034, "Digest";
    INITIAL_DATE = 0x42_0039, "Initial Date";
    KEY = 0x42_003F, "Key";
    KEY_BLOCK = 0x42_0040, "Key Block";
    KEY_FORMAT_TYPE = 0x42_0042, "Key Format Type";
    KEY_MATERIAL = 0x42_0043, "Key Material";
    KEY_VALUE = 0x42_0045, "Key Value";
    KEY_WRAPPING_DATA = 0x42_0046, "Key Wrapping Data";
    LAST_CHANGE_DATE = 0x42_0048, "Last Change Date";
    LEASE_TIME = 0x42_0049, "Lease Time";
    LINK = 0x42_004A, "Link";
    LINK_TYPE = 0x42_004B, "Link Type";
    LINKED_OBJECT_IDENTIFIER = 0x42_004C, "Linked Object Identifier";
    MAXIMUM_ITEMS = 0x42_004F, "Maximum Items";
    MAXIMUM_RESPONSE_SIZE = 0x42_0050, "Maximum Response Size";
    NAME = 0x42_0053, "Name";
    NAME_TYPE = 0x42_0054, "Name Type";
    NAME_VALUE = 0x42_0055, "Name Value";
    OBJECT_GROUP = 0x42_0056, "Object Group";
    OBJECT_TYPE = 0x42_0057, "Object Type";
    OPERATION = 0x42_005C, "Operation";
    PROTOCOL_VERSION = 0x42_0069, "Protocol Version";
    PROTOCOL_VERSION_MAJOR = 0x42_006A, "Protocol Version Major";
    PROTOCOL_VERSION_MINOR = 0x42_006B, "Protocol Version Minor";
    QUERY_FUNCTION = 0x42_0074, "Query Function";
    REQUEST_HEADER = 0x42_0077, "Request Header";
    REQUEST_MESSAGE = 0x42_0078, "Request Message";
    REQUEST_PAYLOAD = 0x42_0079, "Request Payload";
    RESPONSE_HEADER = 0x42_007A, "Response Header";
    RESPONSE_MESSAGE = 0x42_007B, "Response Message";
    RESPONSE_PAYLOAD = 0x42_007C, "Response Payload";
    RESULT_MESSAGE = 0x42_007D, "Result Message";
    RESULT_REASON = 0x42_007E, "Result Reason";
    RESULT_STATUS = 0x42_007F, "Result Status";
    REVOCATION_MESSAGE = 0x42_0080, "Revocation Message";
    REVOCATION_REASON = 0x42_0081, "Revocation Reason";
    REVOCATION_REASON_CODE = 0x42_0082, "Revocation Reason Code";
    SECRET_DATA = 0x42_0085, "Secret Data";
    SECRET_DATA_TYPE = 0x42_0086, "Secret Data Type";
    SERVER_INFORMATION = 0x42_0088, "Server Information";
    STATE = 0x42_008D, "State";
    SYMMETRIC_KEY = 0x42_008F, "Symmetric Key";
    TEMPLATE_ATTRIBUTE = 0x42_0091, "Template-Attribute";
    TIME_STAMP = 0x42_0092, "Time Stamp";
    UNIQUE_BATCH_ITEM_ID = 0x42_0093, "Unique Batch Item ID";
    UNIQUE_IDENTIFIER = 0x42_0094, "Unique Identifier";
    VENDOR_IDENTIFICATION = 0x42_009D, "Vendor Identification";
    FRESH = 0x42_00A8, "Fresh";
    ATTRIBUTES = 0x42_0125, "Attributes";
    CURRENT_ATTRIBUTE = 0x42_013C, "Current Attribute";
    NEW_ATTRIBUTE = 0x42_013D, "New Attribute";
}

impl Tag {
    /// Returns the tag of this name, as attributes are named in KMIP 1.x.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::KNOWN.iter().copied().find(|tag| tag.name() == Some(name))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "tag 0x{:06X}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_tags_and_unknown_tags_stay_numbers() {
        for tag in Tag::KNOWN {
            assert_eq!(Tag::named(tag.name().unwrap()), Some(*tag), "{tag}");
        }
        assert_eq!(Tag::named("x-custom"), None);
        assert_eq!(Tag(0x54_0001).to_string(), "tag 0x540001");
    }
}
