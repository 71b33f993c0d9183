//! Attributes that a server reports about a key, and that it receives when a key is made, in both
//! their spellings.
//!
//! KMIP 1.x puts each attribute into a structure that names it in words; KMIP 2.x puts it under its
//! own tag. The words are the names of the tags, so one table serves both. Attributes that mean
//! nothing here are ignored.
//!
//! Source: OASIS KMIP 1.4, sections 2.1.1 and 3; KMIP 2.1, section 4.

use sealstone_cipher::{Cipher, ciphers};

use super::enumeration::{
    CryptographicAlgorithm, LinkType, NameType, ObjectType, State, UsageMask,
};
use super::message::Version;
use super::tag::Tag;
use super::ttlv::{Item, Malformed, Value};

/// Application specific information: a text that an application keeps with an object.
///
/// Source: OASIS KMIP 1.4, section 3.36; KMIP 2.1, section 4.3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Information {
    /// The application that it is for.
    pub namespace: String,
    /// The text.
    pub data: String,
    /// Its number among the object's attributes of this name, from 0, if the server sent it: in
    /// KMIP 1.x, and not for every first attribute.
    pub index: Option<i32>,
}

impl Information {
    /// Returns the item under its own tag.
    pub(crate) fn item(&self) -> Item {
        let parts = vec![
            Item::text(Tag::APPLICATION_NAMESPACE, &self.namespace),
            Item::text(Tag::APPLICATION_DATA, &self.data),
        ];
        Item::structure(Tag::APPLICATION_SPECIFIC_INFORMATION, parts)
    }

    /// As KMIP 1.x has it: an attribute that is named in words, with its index if it has one.
    pub(crate) fn item_by_name(&self) -> Item {
        by_name(self.item(), self.index)
    }
}

/// Attributes of one object; unknown values are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// The server's own name for the object, never given twice.
    pub unique_identifier: Option<String>,
    /// Names that people gave it.
    pub names: Vec<String>,
    /// Kind of object.
    pub object_type: Option<ObjectType>,
    /// Algorithm that a key is for.
    pub algorithm: Option<CryptographicAlgorithm>,
    /// Length of the key, in bits.
    pub length_bits: Option<i32>,
    /// Uses that are allowed for it.
    pub usage_mask: Option<UsageMask>,
    /// State in its life.
    pub state: Option<State>,
    /// Time at which the object was made, in seconds since 1970.
    pub initial_date: Option<i64>,
    /// Time at which it became or will become active, in seconds since 1970.
    pub activation_date: Option<i64>,
    /// Time at which it stopped or will stop being active, in seconds since 1970.
    pub deactivation_date: Option<i64>,
    /// The object that this one replaced, by Re-key.
    pub replaced: Option<String>,
    /// The object that replaced this one, by Re-key.
    pub replacement: Option<String>,
    /// Information that applications keep with it.
    pub information: Vec<Information>,
}

impl Attributes {
    /// Returns our cipher that the object is for: by its algorithm and length if KMIP has a code
    /// for the algorithm, by a cipher's name within its own name if it is secret data, such as
    /// `orders-lea-256`.
    #[must_use]
    pub fn cipher(&self) -> Option<&'static Cipher> {
        match self.object_type {
            Some(ObjectType::SECRET_DATA) => self.names.iter().find_map(|name| cipher_in(name)),
            _ => cipher_of(self.algorithm?, self.length_bits?),
        }
    }

    /// As items with their own tags, in the order of the standard: how KMIP 2.x has them.
    fn items(&self) -> Vec<Item> {
        let name = |name: &String| {
            let parts = vec![
                Item::text(Tag::NAME_VALUE, name),
                Item::enumeration(Tag::NAME_TYPE, NameType::TEXT.0),
            ];
            Item::structure(Tag::NAME, parts)
        };
        let mut items = Vec::new();
        items.extend(
            self.unique_identifier.as_ref().map(|id| Item::text(Tag::UNIQUE_IDENTIFIER, id)),
        );
        items.extend(self.names.iter().map(name));
        items.extend(self.object_type.map(|kind| Item::enumeration(Tag::OBJECT_TYPE, kind.0)));
        items.extend(
            self.algorithm.map(|code| Item::enumeration(Tag::CRYPTOGRAPHIC_ALGORITHM, code.0)),
        );
        items.extend(self.length_bits.map(|bits| Item::integer(Tag::CRYPTOGRAPHIC_LENGTH, bits)));
        items.extend(
            self.usage_mask.map(|mask| Item::integer(Tag::CRYPTOGRAPHIC_USAGE_MASK, mask.0)),
        );
        items.extend(self.state.map(|state| Item::enumeration(Tag::STATE, state.0)));
        items.extend(self.information.iter().map(Information::item));
        items
    }

    /// Returns one item for each attribute, spelled as in KMIP 1.x.
    fn items_by_name(&self) -> Vec<Item> {
        let mut indices = self.information.iter().map(|information| information.index);
        let named = |item: Item| {
            let index = match item.tag {
                Tag::APPLICATION_SPECIFIC_INFORMATION => indices.next().flatten(),
                _ => None,
            };
            by_name(item, index)
        };
        self.items().into_iter().map(named).collect()
    }

    /// Returns the contents of a request that makes an object, in the spelling of `version`.
    pub(crate) fn for_new_object(&self, version: Version) -> Item {
        if version.attributes_have_tags() {
            Item::structure(Tag::ATTRIBUTES, self.items())
        } else {
            Item::structure(Tag::TEMPLATE_ATTRIBUTE, self.items_by_name())
        }
    }

    /// Returns the contents of a request that searches for objects, in the spelling of `version`.
    pub(crate) fn for_search(&self, version: Version) -> Vec<Item> {
        if version.attributes_have_tags() {
            vec![Item::structure(Tag::ATTRIBUTES, self.items())]
        } else {
            self.items_by_name()
        }
    }

    /// Reads the attributes among `items`, in whichever spelling they are.
    ///
    /// # Errors
    /// [`Malformed`] if an attribute that means something here has another type than in the
    /// standard.
    pub(crate) fn read(path: &[Tag], items: &[Item]) -> Result<Self, Malformed> {
        let mut read = Self::default();
        for item in items {
            let path = [path, &[item.tag]].concat();
            match (item.tag, &item.value) {
                (Tag::ATTRIBUTES, Value::Structure(inner)) => {
                    inner
                        .iter()
                        .try_for_each(|item| read.take(&path, item.tag, &item.value, None))?;
                }
                (Tag::ATTRIBUTE, Value::Structure(inner)) => {
                    let part =
                        |tag| inner.iter().find(|item| item.tag == tag).map(|item| &item.value);
                    let Some(Value::Text(name)) = part(Tag::ATTRIBUTE_NAME) else {
                        return Err(Malformed::at(&path, "no Attribute Name"));
                    };
                    let index = match part(Tag::ATTRIBUTE_INDEX) {
                        Some(Value::Integer(index)) => Some(*index),
                        _ => None,
                    };
                    if let (Some(tag), Some(value)) = (Tag::named(name), part(Tag::ATTRIBUTE_VALUE))
                    {
                        read.take(&path, tag, value, index)?;
                    }
                }
                _ => {}
            }
        }
        Ok(read)
    }

    /// Notes one attribute, which may have a number among the attributes of its name.
    fn take(
        &mut self,
        path: &[Tag],
        tag: Tag,
        value: &Value,
        index: Option<i32>,
    ) -> Result<(), Malformed> {
        match (tag, value) {
            (Tag::UNIQUE_IDENTIFIER, Value::Text(id)) => self.unique_identifier = Some(id.clone()),
            (Tag::NAME, Value::Structure(inner)) => {
                let is_text = |item: &&Item| item.tag == Tag::NAME_VALUE;
                if let Some(Value::Text(name)) = inner.iter().find(is_text).map(|item| &item.value)
                {
                    self.names.push(name.clone());
                }
            }
            (Tag::OBJECT_TYPE, Value::Enumeration(number)) => {
                self.object_type = Some(ObjectType(*number))
            }
            (Tag::CRYPTOGRAPHIC_ALGORITHM, Value::Enumeration(number)) => {
                self.algorithm = Some(CryptographicAlgorithm(*number));
            }
            (Tag::CRYPTOGRAPHIC_LENGTH, Value::Integer(bits)) => self.length_bits = Some(*bits),
            (Tag::CRYPTOGRAPHIC_USAGE_MASK, Value::Integer(mask)) => {
                self.usage_mask = Some(UsageMask(*mask))
            }
            (Tag::STATE, Value::Enumeration(number)) => self.state = Some(State(*number)),
            (Tag::INITIAL_DATE, Value::DateTime(seconds)) => self.initial_date = Some(*seconds),
            (Tag::ACTIVATION_DATE, Value::DateTime(seconds)) => {
                self.activation_date = Some(*seconds)
            }
            (Tag::DEACTIVATION_DATE, Value::DateTime(seconds)) => {
                self.deactivation_date = Some(*seconds)
            }
            (Tag::LINK, Value::Structure(inner)) => self.take_link(inner),
            (Tag::APPLICATION_SPECIFIC_INFORMATION, Value::Structure(inner)) => {
                self.take_information(inner, index)
            }
            (
                Tag::UNIQUE_IDENTIFIER
                | Tag::NAME
                | Tag::OBJECT_TYPE
                | Tag::CRYPTOGRAPHIC_ALGORITHM
                | Tag::CRYPTOGRAPHIC_LENGTH
                | Tag::CRYPTOGRAPHIC_USAGE_MASK
                | Tag::STATE
                | Tag::APPLICATION_SPECIFIC_INFORMATION,
                other,
            ) => {
                let path = [path, &[tag]].concat();
                return Err(Malformed::at(
                    &path,
                    format!("{}, which this attribute is not", other.type_name()),
                ));
            }
            // a date in another spelling, or an attribute that means nothing here
            _ => {}
        }
        Ok(())
    }

    /// Takes a text: without a namespace it has no owner; without data, which KMIP 1.3 allows, it
    /// is empty.
    fn take_information(&mut self, parts: &[Item], index: Option<i32>) {
        let text = |tag| match parts.iter().find(|item| item.tag == tag).map(|item| &item.value) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        if let Some(namespace) = text(Tag::APPLICATION_NAMESPACE) {
            let data = text(Tag::APPLICATION_DATA).unwrap_or_default();
            self.information.push(Information { namespace, data, index });
        }
    }

    fn take_link(&mut self, parts: &[Item]) {
        let part = |tag| parts.iter().find(|item| item.tag == tag).map(|item| &item.value);
        if let (Some(Value::Enumeration(kind)), Some(Value::Text(id))) =
            (part(Tag::LINK_TYPE), part(Tag::LINKED_OBJECT_IDENTIFIER))
        {
            match LinkType(*kind) {
                LinkType::REPLACED_OBJECT => self.replaced = Some(id.clone()),
                LinkType::REPLACEMENT_OBJECT => self.replacement = Some(id.clone()),
                _ => {}
            }
        }
    }
}

/// Returns `item` as KMIP 1.x has attributes.
fn by_name(item: Item, index: Option<i32>) -> Item {
    let name = item.tag.name().expect("every attribute's tag has a name");
    let mut parts = vec![Item::text(Tag::ATTRIBUTE_NAME, name)];
    parts.extend(index.map(|index| Item::integer(Tag::ATTRIBUTE_INDEX, index)));
    parts.push(Item { tag: Tag::ATTRIBUTE_VALUE, value: item.value });
    Item::structure(Tag::ATTRIBUTE, parts)
}

/// Description of a key for one of our ciphers to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyKind {
    /// Code of the algorithm; `None` where KMIP has none, and the key is kept as secret data whose
    /// name contains the cipher.
    pub algorithm: Option<CryptographicAlgorithm>,
    /// Length of the key, in bits.
    pub length_bits: i32,
}

impl KeyKind {
    /// Returns the kind of key for `cipher`.
    #[must_use]
    pub fn of_cipher(cipher: &Cipher) -> Self {
        let algorithm = cipher.kmip.map(|kmip| CryptographicAlgorithm(kmip.algorithm));
        Self { algorithm, length_bits: 8 * cipher.key_bytes as i32 }
    }
}

/// Returns our cipher for an algorithm and a key length, in bits, which may be counted without
/// parity bits.
fn cipher_of(algorithm: CryptographicAlgorithm, length_bits: i32) -> Option<&'static Cipher> {
    let bits = usize::try_from(length_bits).ok()?;
    let is_it = |row: &&Cipher| {
        let Some(kmip) = row.kmip else { return false };
        kmip.algorithm == algorithm.0
            && (row.takes_key_bits(bits) || kmip.bits_without_parity == Some(bits))
    };
    ciphers().iter().find(is_it)
}

/// Returns the cipher in the name of an object: a cipher whose name occurs in it, with no letter or
/// digit next to it.
pub(crate) fn cipher_in(name: &str) -> Option<&'static Cipher> {
    let name = name.to_ascii_lowercase();
    let stands = |cipher: &str| {
        name.match_indices(cipher).any(|(at, _)| {
            let before = name[..at].chars().next_back();
            let after = name[at + cipher.len()..].chars().next();
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
    };
    // Ciphers without a KMIP number come first: only for them must the name contain the cipher.
    let (coded, uncoded): (Vec<&'static Cipher>, Vec<&'static Cipher>) =
        ciphers().iter().partition(|row| row.kmip.is_some());
    uncoded.into_iter().chain(coded).find(|cipher| stands(cipher.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(algorithm: CryptographicAlgorithm, length_bits: i32) -> Option<&'static str> {
        let object_type = Some(ObjectType::SYMMETRIC_KEY);
        let key = Attributes {
            object_type,
            algorithm: Some(algorithm),
            length_bits: Some(length_bits),
            ..Attributes::default()
        };
        key.cipher().map(|cipher| cipher.name)
    }

    fn secret(name: &str) -> Option<&'static str> {
        let (object_type, names) = (Some(ObjectType::SECRET_DATA), vec![name.into()]);
        let found = Attributes { object_type, names, ..Attributes::default() }.cipher();
        found.map(|cipher| cipher.name)
    }

    #[test]
    fn the_attributes_of_a_key_name_its_cipher() {
        assert_eq!(key(CryptographicAlgorithm::AES, 192), Some("aes-192"));
        assert_eq!(key(CryptographicAlgorithm::ARIA, 256), Some("aria-256"));
        assert_eq!(key(CryptographicAlgorithm::SEED, 128), Some("seed-128"));
        assert_eq!(key(CryptographicAlgorithm::TRIPLE_DES, 192), Some("3des"));
        assert_eq!(key(CryptographicAlgorithm::TRIPLE_DES, 168), Some("3des"));
        assert_eq!(key(CryptographicAlgorithm::BLOWFISH, 448), Some("blowfish"));
        for none in [(CryptographicAlgorithm::AES, 512), (CryptographicAlgorithm::CAMELLIA, 256)] {
            assert_eq!(key(none.0, none.1), None, "{none:?}");
        }
        assert_eq!(key(CryptographicAlgorithm(0x29), 128), Some("aria-128"));
        assert_eq!(key(CryptographicAlgorithm::TRIPLE_DES, 112), None);
    }

    /// A key's description is read back as the same cipher: each row by its number and length, or
    /// by its name.
    #[test]
    fn every_row_is_found_again() {
        for row in ciphers() {
            let kind = KeyKind::of_cipher(row);
            let found = match kind.algorithm {
                Some(algorithm) => key(algorithm, kind.length_bits),
                None => secret(&format!("orders-{}", row.name)),
            };
            assert_eq!(found, Some(row.name));
        }
    }

    #[test]
    fn the_name_of_secret_data_names_its_cipher() {
        assert_eq!(secret("orders-lea-256"), Some("lea-256"));
        assert_eq!(secret("LEA-128/2"), Some("lea-128"));
        assert_eq!(secret("db_hight"), Some("hight"));
        for none in ["orders", "highting", "lea-2560", "azalea-256"] {
            assert_eq!(secret(none), None, "{none}");
        }
    }

    #[test]
    fn both_spellings_are_read_the_same() {
        let attributes = Attributes {
            names: vec!["orders".into()],
            object_type: Some(ObjectType::SYMMETRIC_KEY),
            algorithm: Some(CryptographicAlgorithm::ARIA),
            length_bits: Some(256),
            usage_mask: Some(UsageMask::KEK),
            state: Some(State::ACTIVE),
            information: vec![
                Information { namespace: "another".into(), data: "its".into(), index: None },
                Information { namespace: "sealstone".into(), data: "ours".into(), index: None },
            ],
            ..Attributes::default()
        };
        for version in Version::KNOWN {
            let read = Attributes::read(&[], &attributes.for_search(*version)).unwrap();
            assert_eq!(read, attributes, "{version}");
        }
    }

    #[test]
    fn information_keeps_its_index_where_the_version_has_one() {
        let one = |index| Information { namespace: "sealstone".into(), data: "text".into(), index };
        let attributes = Attributes {
            information: vec![one(None), one(Some(1)), one(Some(7))],
            ..Attributes::default()
        };
        assert_eq!(
            format!("{:?}", attributes.for_search(Version::V1_2)[1]),
            "Attribute: [Attribute Name: \"Application Specific Information\", Attribute Index: 1, \
             Attribute Value: [Application Namespace: \"sealstone\", Application Data: \"text\"]]"
        );
        assert_eq!(
            format!("{:?}", attributes.information[1].item()),
            "Application Specific Information: [Application Namespace: \"sealstone\", Application \
             Data: \"text\"]"
        );
        assert_eq!(
            Attributes::read(&[], &attributes.for_search(Version::V1_2)).unwrap(),
            attributes
        );
        let without = Attributes { information: vec![one(None); 3], ..Attributes::default() };
        assert_eq!(Attributes::read(&[], &attributes.for_search(Version::V2_0)).unwrap(), without);
    }

    #[test]
    fn an_attribute_of_another_type_is_refused_and_an_unknown_one_passed_over() {
        let items = [Item::structure(Tag::ATTRIBUTES, vec![Item::text(Tag::STATE, "Active")])];
        let error = Attributes::read(&[Tag::RESPONSE_PAYLOAD], &items).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Response Payload > Attributes > State: Text String, which this attribute is not"
        );
        let items = [Item::structure(
            Tag::ATTRIBUTE,
            vec![
                Item::text(Tag::ATTRIBUTE_NAME, "x-purpose"),
                Item::text(Tag::ATTRIBUTE_VALUE, "test"),
            ],
        )];
        assert_eq!(Attributes::read(&[], &items).unwrap(), Attributes::default());
    }
}
