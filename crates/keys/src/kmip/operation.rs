//! The operations: the content of each request and of its answer. No connection here (`client`).
//!
//! Source: OASIS KMIP 1.4, section 4; KMIP 2.1, section 6.

use std::fmt;

use zeroize::Zeroizing;

use super::attribute::{Attributes, Information};
use super::enumeration::{
    CryptographicAlgorithm, KeyFormatType, ObjectType, Operation, QueryFunction, RevocationReason,
    SecretDataType,
};
use super::message::{Payload, Version};
use super::tag::Tag;
use super::ttlv::{Item, Malformed, Value};

/// A request: its content, the reading of its answer, and the permission to send it twice.
pub trait Request {
    /// Contents of a successful answer.
    type Answer;

    /// Operation of the request.
    const OPERATION: Operation;

    /// True if sending it a second time changes nothing, so that a client that got no answer may
    /// try again. Otherwise, a lost answer leaves open whether the server did it.
    const REPEATABLE: bool;

    /// Returns the contents of the payload, in the order and spelling of `version`.
    fn payload(&self, version: Version) -> Vec<Item>;

    /// Reads the payload of a successful answer.
    ///
    /// # Errors
    /// [`Malformed`] if it is not as in the standard.
    fn answer(payload: Payload) -> Result<Self::Answer, Malformed>;
}

/// Request for the versions of the protocol that the server speaks, of the versions supported here.
#[derive(Debug)]
pub struct DiscoverVersions;

impl Request for DiscoverVersions {
    type Answer = Vec<Version>;
    const OPERATION: Operation = Operation::DISCOVER_VERSIONS;
    const REPEATABLE: bool = true;

    fn payload(&self, _: Version) -> Vec<Item> {
        Version::KNOWN.iter().map(|version| version.item()).collect()
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        let path = [payload.path(), &[Tag::PROTOCOL_VERSION]].concat();
        let read = |value| {
            let mut version = Payload::open(&path, Item { tag: Tag::PROTOCOL_VERSION, value })?;
            let major = version.integer(Tag::PROTOCOL_VERSION_MAJOR)?;
            Ok(Version { major, minor: version.integer(Tag::PROTOCOL_VERSION_MINOR)? })
        };
        payload.take_all(Tag::PROTOCOL_VERSION).into_iter().map(read).collect()
    }
}

/// Longest name of a maker that is passed on, in characters.
const VENDOR_CHARS_MAX: usize = 100;

/// Request for the server's capabilities and its maker.
#[derive(Debug)]
pub struct Query;

/// The answer to [`Query`].
#[derive(Debug, Default)]
pub struct Abilities {
    /// Operations it offers.
    pub operations: Vec<Operation>,
    /// Its maker, if reported.
    pub vendor: Option<String>,
}

impl Request for Query {
    type Answer = Abilities;
    const OPERATION: Operation = Operation::QUERY;
    const REPEATABLE: bool = true;

    fn payload(&self, _: Version) -> Vec<Item> {
        let ask = |function: QueryFunction| Item::enumeration(Tag::QUERY_FUNCTION, function.0);
        vec![ask(QueryFunction::OPERATIONS), ask(QueryFunction::SERVER_INFORMATION)]
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        let taken = payload.take_all(Tag::OPERATION);
        let read = |value| match value {
            Value::Enumeration(number) => Ok(Operation(number)),
            other => {
                Err(payload.fault(Tag::OPERATION, format!("{} is not its type", other.type_name())))
            }
        };
        let operations = taken.into_iter().map(read).collect::<Result<_, _>>()?;
        let vendor = payload.optional_text(Tag::VENDOR_IDENTIFICATION)?;
        let vendor = vendor.map(|vendor| {
            vendor.chars().filter(|c| !c.is_control()).take(VENDOR_CHARS_MAX).collect()
        });
        Ok(Abilities { operations, vendor })
    }
}

/// Objects that have all of these attributes.
#[derive(Debug)]
pub struct Locate {
    /// Attributes to look for.
    pub like: Attributes,
    /// Most ids to answer with.
    pub items_max: i32,
}

impl Request for Locate {
    type Answer = Vec<String>;
    const OPERATION: Operation = Operation::LOCATE;
    const REPEATABLE: bool = true;

    fn payload(&self, version: Version) -> Vec<Item> {
        let mut payload = vec![Item::integer(Tag::MAXIMUM_ITEMS, self.items_max)];
        payload.extend(self.like.for_search(version));
        payload
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        let taken = payload.take_all(Tag::UNIQUE_IDENTIFIER);
        let read = |value| match value {
            Value::Text(id) => Ok(id),
            other => Err(payload
                .fault(Tag::UNIQUE_IDENTIFIER, format!("{} is not its type", other.type_name()))),
        };
        taken.into_iter().map(read).collect()
    }
}

/// A new symmetric key, drawn by the server.
#[derive(Debug)]
pub struct Create {
    /// Name, algorithm, length and usage mask of the key.
    pub attributes: Attributes,
}

impl Request for Create {
    type Answer = String;
    const OPERATION: Operation = Operation::CREATE;
    const REPEATABLE: bool = false;

    fn payload(&self, version: Version) -> Vec<Item> {
        vec![
            Item::enumeration(Tag::OBJECT_TYPE, ObjectType::SYMMETRIC_KEY.0),
            self.attributes.for_new_object(version),
        ]
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        payload.text(Tag::UNIQUE_IDENTIFIER)
    }
}

/// A key that was drawn elsewhere: as symmetric key where KMIP has a code for its algorithm,
/// otherwise as secret data.
pub struct Register<'a> {
    /// Name, algorithm, length and usage mask.
    pub attributes: Attributes,
    /// The key.
    pub material: &'a [u8],
}

impl fmt::Debug for Register<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Register {{ {:?}, material: ({} bytes) }}", self.attributes, self.material.len())
    }
}

impl Register<'_> {
    fn object(&self) -> (ObjectType, Item) {
        let value =
            Item::structure(Tag::KEY_VALUE, vec![Item::bytes(Tag::KEY_MATERIAL, self.material)]);
        let block = |format: KeyFormatType, algorithm: Option<CryptographicAlgorithm>| {
            let mut parts = vec![Item::enumeration(Tag::KEY_FORMAT_TYPE, format.0), value];
            if let Some(algorithm) = algorithm {
                let length_bits = i32::try_from(self.material.len() * 8).unwrap_or(i32::MAX);
                parts.push(Item::enumeration(Tag::CRYPTOGRAPHIC_ALGORITHM, algorithm.0));
                parts.push(Item::integer(Tag::CRYPTOGRAPHIC_LENGTH, length_bits));
            }
            Item::structure(Tag::KEY_BLOCK, parts)
        };
        match self.attributes.algorithm {
            Some(algorithm) => {
                let parts = vec![block(KeyFormatType::RAW, Some(algorithm))];
                (ObjectType::SYMMETRIC_KEY, Item::structure(Tag::SYMMETRIC_KEY, parts))
            }
            None => {
                let kind = Item::enumeration(Tag::SECRET_DATA_TYPE, SecretDataType::SEED.0);
                let parts = vec![kind, block(KeyFormatType::OPAQUE, None)];
                (ObjectType::SECRET_DATA, Item::structure(Tag::SECRET_DATA, parts))
            }
        }
    }
}

impl Request for Register<'_> {
    type Answer = String;
    const OPERATION: Operation = Operation::REGISTER;
    const REPEATABLE: bool = false;

    fn payload(&self, version: Version) -> Vec<Item> {
        let (kind, object) = self.object();
        vec![
            Item::enumeration(Tag::OBJECT_TYPE, kind.0),
            self.attributes.for_new_object(version),
            object,
        ]
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        payload.text(Tag::UNIQUE_IDENTIFIER)
    }
}

/// The material of a key.
#[derive(Debug)]
pub struct Get {
    /// Unique identifier of the object.
    pub id: String,
}

/// The answer to [`Get`].
pub struct Material {
    /// Kind of object.
    pub object_type: ObjectType,
    /// Unique identifier of the object.
    pub id: String,
    /// The key.
    pub bytes: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Material {{ {} {:?}, ({} bytes) }}", self.object_type, self.id, self.bytes.len())
    }
}

impl Request for Get {
    type Answer = Material;
    const OPERATION: Operation = Operation::GET;
    const REPEATABLE: bool = true;

    fn payload(&self, _: Version) -> Vec<Item> {
        vec![Item::text(Tag::UNIQUE_IDENTIFIER, &self.id)]
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        let object_type = ObjectType(payload.enumeration(Tag::OBJECT_TYPE)?);
        let id = payload.text(Tag::UNIQUE_IDENTIFIER)?;
        let tag = match object_type {
            ObjectType::SYMMETRIC_KEY => Tag::SYMMETRIC_KEY,
            ObjectType::SECRET_DATA => Tag::SECRET_DATA,
            other => {
                let found = format!("{other}, and not a symmetric key or secret data");
                return Err(payload.fault(Tag::OBJECT_TYPE, found));
            }
        };
        let mut block = payload.payload(tag)?.payload(Tag::KEY_BLOCK)?;
        if block.has(Tag::KEY_WRAPPING_DATA) {
            return Err(block.fault(
                Tag::KEY_WRAPPING_DATA,
                "wrapped under another key, which was not asked for",
            ));
        }
        let format = KeyFormatType(block.enumeration(Tag::KEY_FORMAT_TYPE)?);
        let mut value = block.payload(Tag::KEY_VALUE)?;
        let bytes = match format {
            KeyFormatType::RAW | KeyFormatType::OPAQUE => value.take(Tag::KEY_MATERIAL),
            KeyFormatType::TRANSPARENT_SYMMETRIC_KEY => {
                value.payload(Tag::KEY_MATERIAL)?.take(Tag::KEY)
            }
            other => {
                return Err(
                    block.fault(Tag::KEY_FORMAT_TYPE, format!("{other}, which is not read here"))
                );
            }
        };
        match bytes {
            Some(Value::Bytes(bytes)) => Ok(Material { object_type, id, bytes }),
            Some(other) => {
                Err(value
                    .fault(Tag::KEY_MATERIAL, format!("{} is not its type", other.type_name())))
            }
            None => Err(value.fault(Tag::KEY_MATERIAL, "missing")),
        }
    }
}

/// Every attribute of an object.
#[derive(Debug)]
pub struct GetAttributes {
    /// Unique identifier of the object.
    pub id: String,
}

impl Request for GetAttributes {
    type Answer = Attributes;
    const OPERATION: Operation = Operation::GET_ATTRIBUTES;
    const REPEATABLE: bool = true;

    fn payload(&self, _: Version) -> Vec<Item> {
        vec![Item::text(Tag::UNIQUE_IDENTIFIER, &self.id)]
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        let id = payload.text(Tag::UNIQUE_IDENTIFIER)?;
        let mut attributes = Attributes::read(payload.path(), payload.rest())?;
        attributes.unique_identifier = Some(id);
        Ok(attributes)
    }
}

/// Replaces a text that an object keeps with another.
///
/// KMIP 2.x names the text that is replaced, so of two that replace the same one the second is
/// refused. KMIP 1.x names only its index: there the later one wins, and a caller that must not
/// lose a text checks before.
#[derive(Debug)]
pub struct ModifyAttribute {
    /// Unique identifier of the object.
    pub id: String,
    /// The text as it was read, with its index.
    pub current: Information,
    /// The new text.
    pub data: String,
}

impl Request for ModifyAttribute {
    type Answer = ();
    const OPERATION: Operation = Operation::MODIFY_ATTRIBUTE;
    // in KMIP 2.x the second request finds its text replaced and is refused, in 1.x it may undo a
    // write between the two
    const REPEATABLE: bool = false;

    fn payload(&self, version: Version) -> Vec<Item> {
        let id = Item::text(Tag::UNIQUE_IDENTIFIER, &self.id);
        let new = Information { data: self.data.clone(), ..self.current.clone() };
        if version.attributes_have_tags() {
            let current = Item::structure(Tag::CURRENT_ATTRIBUTE, vec![self.current.item()]);
            vec![id, current, Item::structure(Tag::NEW_ATTRIBUTE, vec![new.item()])]
        } else {
            vec![id, new.item_by_name()]
        }
    }

    fn answer(_: Payload) -> Result<Self::Answer, Malformed> {
        Ok(())
    }
}

/// Makes a Pre-Active key Active.
#[derive(Debug)]
pub struct Activate {
    /// Unique identifier of the object.
    pub id: String,
}

impl Request for Activate {
    type Answer = ();
    const OPERATION: Operation = Operation::ACTIVATE;
    const REPEATABLE: bool = false;

    fn payload(&self, _: Version) -> Vec<Item> {
        vec![Item::text(Tag::UNIQUE_IDENTIFIER, &self.id)]
    }

    fn answer(_: Payload) -> Result<Self::Answer, Malformed> {
        Ok(())
    }
}

/// Makes a key Deactivated, or Compromised where that is the reason.
#[derive(Debug)]
pub struct Revoke {
    /// Unique identifier of the object.
    pub id: String,
    /// Reason for the revocation.
    pub reason: RevocationReason,
    /// Time of the possible compromise, in seconds since 1970: present exactly with a reason of
    /// compromise.
    pub compromised_since: Option<i64>,
}

impl Request for Revoke {
    type Answer = ();
    const OPERATION: Operation = Operation::REVOKE;
    const REPEATABLE: bool = false;

    fn payload(&self, _: Version) -> Vec<Item> {
        let reason = vec![Item::enumeration(Tag::REVOCATION_REASON_CODE, self.reason.0)];
        let mut payload = vec![
            Item::text(Tag::UNIQUE_IDENTIFIER, &self.id),
            Item::structure(Tag::REVOCATION_REASON, reason),
        ];
        let since = |seconds| Item {
            tag: Tag::COMPROMISE_OCCURRENCE_DATE,
            value: Value::DateTime(seconds),
        };
        payload.extend(self.compromised_since.map(since));
        payload
    }

    fn answer(_: Payload) -> Result<Self::Answer, Malformed> {
        Ok(())
    }
}

/// Takes the material of a key away for good.
#[derive(Debug)]
pub struct Destroy {
    /// Unique identifier of the object.
    pub id: String,
}

impl Request for Destroy {
    type Answer = ();
    const OPERATION: Operation = Operation::DESTROY;
    const REPEATABLE: bool = false;

    fn payload(&self, _: Version) -> Vec<Item> {
        vec![Item::text(Tag::UNIQUE_IDENTIFIER, &self.id)]
    }

    fn answer(_: Payload) -> Result<Self::Answer, Malformed> {
        Ok(())
    }
}

/// A new key in place of a symmetric key: it takes over the old one's name, and the two are linked.
#[derive(Debug)]
pub struct Rekey {
    /// Unique identifier of the key to be replaced.
    pub id: String,
}

impl Request for Rekey {
    type Answer = String;
    const OPERATION: Operation = Operation::REKEY;
    const REPEATABLE: bool = false;

    fn payload(&self, _: Version) -> Vec<Item> {
        vec![Item::text(Tag::UNIQUE_IDENTIFIER, &self.id)]
    }

    fn answer(mut payload: Payload) -> Result<Self::Answer, Malformed> {
        payload.text(Tag::UNIQUE_IDENTIFIER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_replaced_by_index_or_by_what_it_was() {
        let modify = |index| ModifyAttribute {
            id: "7".into(),
            current: Information { namespace: "sealstone".into(), data: "old".into(), index },
            data: "new".into(),
        };
        let by_name = |index: &str| {
            format!(
                "[Unique Identifier: \"7\", Attribute: [Attribute Name: \"Application Specific \
                 Information\", {index}Attribute Value: [Application Namespace: \"sealstone\", \
                 Application Data: \"new\"]]]"
            )
        };
        assert_eq!(
            format!("{:?}", modify(Some(2)).payload(Version::V1_2)),
            by_name("Attribute Index: 2, ")
        );
        assert_eq!(format!("{:?}", modify(None).payload(Version::V1_2)), by_name(""));
        assert_eq!(
            format!("{:?}", modify(Some(2)).payload(Version::V2_0)),
            "[Unique Identifier: \"7\", Current Attribute: [Application Specific Information: \
             [Application Namespace: \"sealstone\", Application Data: \"old\"]], New Attribute: \
             [Application Specific Information: [Application Namespace: \"sealstone\", Application \
             Data: \"new\"]]]"
        );
    }
}
