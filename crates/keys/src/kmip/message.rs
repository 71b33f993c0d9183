//! Messages: a header with the version, and one batch item with an operation. Bytes in, typed parts
//! out, and back.
//!
//! This client sends one operation a message. Not here: the content of operations (`operation`),
//! and the connection (`client`).
//!
//! Source: OASIS KMIP 1.4, sections 6 and 7.

use std::fmt;

use zeroize::Zeroizing;

use super::enumeration::{Operation, ResultReason, ResultStatus};
use super::tag::Tag;
use super::ttlv::{self, Item, Limits, Malformed, Value};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 1 or 2.
    pub major: i32,
    /// 0 and up.
    pub minor: i32,
}

impl Version {
    /// KMIP 1.2: the oldest version spoken here, also used to query servers for their versions.
    pub const V1_2: Self = Self { major: 1, minor: 2 };
    /// KMIP 2.0.
    pub(crate) const V2_0: Self = Self { major: 2, minor: 0 };
    /// Every version spoken here, the preferred one first.
    pub const KNOWN: &'static [Self] = &[
        Self { major: 2, minor: 1 },
        Self::V2_0,
        Self { major: 1, minor: 4 },
        Self { major: 1, minor: 3 },
        Self::V1_2,
    ];

    /// Returns the version spelled `text`, such as `1.4`, if it is spoken here.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::KNOWN.iter().copied().find(|version| version.to_string() == text)
    }

    /// Returns whether attributes have their own tags, as from KMIP 2.0 on, or are named in words.
    #[must_use]
    pub(crate) fn attributes_have_tags(self) -> bool {
        self.major >= 2
    }

    pub(crate) fn item(self) -> Item {
        let parts = vec![
            Item::integer(Tag::PROTOCOL_VERSION_MAJOR, self.major),
            Item::integer(Tag::PROTOCOL_VERSION_MINOR, self.minor),
        ];
        Item::structure(Tag::PROTOCOL_VERSION, parts)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Returns a request of one operation as bytes, zeroed when dropped: a Register carries a key.
///
/// - `payload`: the items of the operation, in the order of the standard
/// - `response_bytes_max`: longest answer the server may give, in bytes
#[must_use]
pub fn encode_request(
    version: Version,
    operation: Operation,
    payload: Vec<Item>,
    response_bytes_max: usize,
) -> Zeroizing<Vec<u8>> {
    let response_bytes_max = i32::try_from(response_bytes_max).unwrap_or(i32::MAX);
    let header = vec![
        version.item(),
        Item::integer(Tag::MAXIMUM_RESPONSE_SIZE, response_bytes_max),
        Item::integer(Tag::BATCH_COUNT, 1),
    ];
    let batch_item = vec![
        Item::enumeration(Tag::OPERATION, operation.0),
        Item::structure(Tag::REQUEST_PAYLOAD, payload),
    ];
    let message = vec![
        Item::structure(Tag::REQUEST_HEADER, header),
        Item::structure(Tag::BATCH_ITEM, batch_item),
    ];
    Item::structure(Tag::REQUEST_MESSAGE, message).encode()
}

/// Answer of a server to one operation.
#[derive(Debug)]
pub struct Response {
    /// Version it answered in.
    pub version: Version,
    /// The outcome of the operation.
    pub outcome: Result<Payload, Failure>,
}

/// A failure that the server reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Reason, as a code.
    pub reason: ResultReason,
    /// Reason, in the server's words, with unprintable characters removed.
    pub message: String,
}

/// Longest message of a server that is passed on, in characters.
const MESSAGE_CHARS_MAX: usize = 300;

/// Reads the answer to `operation`.
///
/// # Errors
/// [`Malformed`] if `bytes` are not one response to one operation, this one. A failure of the
/// operation on the server is not an error here, but an outcome.
pub fn decode_response(
    bytes: &[u8],
    operation: Operation,
    limits: &Limits,
) -> Result<Response, Malformed> {
    let path = [Tag::RESPONSE_MESSAGE];
    let mut message = Payload::open(&path, ttlv::decode(bytes, limits)?)?;
    let mut header = message.payload(Tag::RESPONSE_HEADER)?;
    let mut version = header.payload(Tag::PROTOCOL_VERSION)?;
    let version = Version {
        major: version.integer(Tag::PROTOCOL_VERSION_MAJOR)?,
        minor: version.integer(Tag::PROTOCOL_VERSION_MINOR)?,
    };
    match header.integer(Tag::BATCH_COUNT)? {
        1 => {}
        count => {
            return Err(header.fault(Tag::BATCH_COUNT, format!("{count} answers to one request")));
        }
    }
    let mut item = message.payload(Tag::BATCH_ITEM)?;
    if message.has(Tag::BATCH_ITEM) {
        return Err(message.fault(Tag::BATCH_ITEM, "more answers than one"));
    }
    let answered = item.optional_enumeration(Tag::OPERATION)?.map(Operation);
    if let Some(other) = answered.filter(|answered| *answered != operation) {
        return Err(item.fault(Tag::OPERATION, format!("{other}, where {operation} was asked for")));
    }
    let outcome = match ResultStatus(item.enumeration(Tag::RESULT_STATUS)?) {
        ResultStatus::SUCCESS if item.has(Tag::RESPONSE_PAYLOAD) => {
            Ok(item.payload(Tag::RESPONSE_PAYLOAD)?)
        }
        ResultStatus::SUCCESS => Ok(Payload { path: item.path.clone(), items: Vec::new() }),
        status => {
            let reason = item
                .optional_enumeration(Tag::RESULT_REASON)?
                .map_or(ResultReason::GENERAL_FAILURE, ResultReason);
            let said = item.optional_text(Tag::RESULT_MESSAGE)?.unwrap_or_default();
            let clean = |c: char| if c.is_control() { ' ' } else { c };
            let mut message: String = said.chars().take(MESSAGE_CHARS_MAX).map(clean).collect();
            if status != ResultStatus::FAILED {
                message = format!("{status} {message}");
            }
            Err(Failure { reason, message: message.trim().to_owned() })
        }
    };
    Ok(Response { version, outcome })
}

/// The items of a structure, taken out one after the other, with the path to name in errors.
#[derive(Debug)]
pub struct Payload {
    path: Vec<Tag>,
    items: Vec<Item>,
}

impl Payload {
    /// Opens `item`, which must be a structure under the last tag of `path`.
    pub(crate) fn open(path: &[Tag], item: Item) -> Result<Self, Malformed> {
        let expected = *path.last().expect("a path has a tag");
        if item.tag != expected {
            return Err(Malformed::at(
                &[],
                format!("begins with {}, not with {expected}", item.tag),
            ));
        }
        match item.value {
            Value::Structure(items) => Ok(Self { path: path.to_vec(), items }),
            other => Err(Malformed::at(path, format!("{}, not Structure", other.type_name()))),
        }
    }

    /// Returns the error for something wrong at `tag` in this payload.
    pub(crate) fn fault(&self, tag: Tag, found: impl Into<String>) -> Malformed {
        Malformed::at(&[&self.path[..], &[tag]].concat(), found)
    }

    /// Tags from the outermost structure to this one.
    pub(crate) fn path(&self) -> &[Tag] {
        &self.path
    }

    /// Returns the items that have not been taken out yet.
    pub(crate) fn rest(&self) -> &[Item] {
        &self.items
    }

    /// Returns whether a `tag` is still in here.
    pub(crate) fn has(&self, tag: Tag) -> bool {
        self.items.iter().any(|item| item.tag == tag)
    }

    /// Takes out the first `tag`, if there is one.
    pub(crate) fn take(&mut self, tag: Tag) -> Option<Value> {
        let at = self.items.iter().position(|item| item.tag == tag)?;
        Some(self.items.remove(at).value)
    }

    /// Takes out every `tag`, in order.
    pub(crate) fn take_all(&mut self, tag: Tag) -> Vec<Value> {
        let (taken, rest) =
            std::mem::take(&mut self.items).into_iter().partition(|item| item.tag == tag);
        self.items = rest;
        let taken: Vec<Item> = taken;
        taken.into_iter().map(|item| item.value).collect()
    }

    fn typed<T>(
        &mut self,
        tag: Tag,
        read: impl FnOnce(Value) -> Result<T, Value>,
    ) -> Result<Option<T>, Malformed> {
        match self.take(tag).map(read) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(other)) => {
                Err(self.fault(tag, format!("{} is not its type", other.type_name())))
            }
        }
    }

    fn required<T>(&self, tag: Tag, value: Option<T>) -> Result<T, Malformed> {
        value.ok_or_else(|| self.fault(tag, "missing"))
    }

    pub(crate) fn payload(&mut self, tag: Tag) -> Result<Self, Malformed> {
        let value = self.take(tag);
        let value = self.required(tag, value)?;
        Self::open(&[&self.path[..], &[tag]].concat(), Item { tag, value })
    }

    pub(crate) fn integer(&mut self, tag: Tag) -> Result<i32, Malformed> {
        let number = self.typed(tag, |value| {
            if let Value::Integer(number) = value { Ok(number) } else { Err(value) }
        })?;
        self.required(tag, number)
    }

    pub(crate) fn optional_enumeration(&mut self, tag: Tag) -> Result<Option<u32>, Malformed> {
        self.typed(tag, |value| {
            if let Value::Enumeration(number) = value { Ok(number) } else { Err(value) }
        })
    }

    pub(crate) fn enumeration(&mut self, tag: Tag) -> Result<u32, Malformed> {
        let number = self.optional_enumeration(tag)?;
        self.required(tag, number)
    }

    pub(crate) fn optional_text(&mut self, tag: Tag) -> Result<Option<String>, Malformed> {
        self.typed(tag, |value| if let Value::Text(text) = value { Ok(text) } else { Err(value) })
    }

    pub(crate) fn text(&mut self, tag: Tag) -> Result<String, Malformed> {
        let text = self.optional_text(tag)?;
        self.required(tag, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a response with the batch item `parts`.
    fn response(parts: Vec<Item>) -> Vec<u8> {
        let header = vec![
            Version::V1_2.item(),
            Item { tag: Tag::TIME_STAMP, value: Value::DateTime(0) },
            Item::integer(Tag::BATCH_COUNT, 1),
        ];
        let message = vec![
            Item::structure(Tag::RESPONSE_HEADER, header),
            Item::structure(Tag::BATCH_ITEM, parts),
        ];
        Item::structure(Tag::RESPONSE_MESSAGE, message).encode().to_vec()
    }

    fn decode(bytes: &[u8]) -> Result<Response, String> {
        decode_response(bytes, Operation::GET, &Limits::RESPONSE).map_err(|error| error.to_string())
    }

    #[test]
    fn a_request_is_laid_out_as_the_standard_says() {
        let payload = vec![Item::text(Tag::UNIQUE_IDENTIFIER, "7")];
        let bytes = encode_request(Version::V1_2, Operation::GET, payload, 1 << 20);
        let message = ttlv::decode(&bytes, &Limits::RESPONSE).unwrap();
        assert_eq!(
            format!("{message:?}"),
            "Request Message: [Request Header: [Protocol Version: [Protocol Version Major: 1, \
             Protocol Version Minor: 2], Maximum Response Size: 1048576, Batch Count: 1], Batch \
             Item: [Operation: 0xa, Request Payload: [Unique Identifier: \"7\"]]]"
        );
    }

    #[test]
    fn a_success_has_a_payload_and_a_failure_has_a_reason() {
        let payload =
            Item::structure(Tag::RESPONSE_PAYLOAD, vec![Item::text(Tag::UNIQUE_IDENTIFIER, "7")]);
        let good = response(vec![
            Item::enumeration(Tag::OPERATION, Operation::GET.0),
            Item::enumeration(Tag::RESULT_STATUS, 0),
            payload,
        ]);
        let mut payload = decode(&good).unwrap().outcome.unwrap();
        assert_eq!(payload.text(Tag::UNIQUE_IDENTIFIER).unwrap(), "7");
        assert_eq!(
            payload.text(Tag::UNIQUE_IDENTIFIER).unwrap_err().to_string(),
            "Response Message > Batch Item > Response Payload > Unique Identifier: missing"
        );

        let bad = response(vec![
            Item::enumeration(Tag::RESULT_STATUS, 1),
            Item::enumeration(Tag::RESULT_REASON, 1),
            Item::text(Tag::RESULT_MESSAGE, "no\nsuch \u{1b}[31mkey"),
        ]);
        let failure = decode(&bad).unwrap().outcome.unwrap_err();
        assert_eq!(
            failure,
            Failure { reason: ResultReason::ITEM_NOT_FOUND, message: "no such  [31mkey".into() }
        );
    }

    #[test]
    fn an_answer_to_something_else_is_refused() {
        let other = response(vec![
            Item::enumeration(Tag::OPERATION, Operation::DESTROY.0),
            Item::enumeration(Tag::RESULT_STATUS, 0),
        ]);
        assert_eq!(
            decode(&other).unwrap_err(),
            "Response Message > Batch Item > Operation: Destroy, where Get was asked for"
        );
        let none = response(vec![]);
        assert_eq!(
            decode(&none).unwrap_err(),
            "Response Message > Batch Item > Result Status: missing"
        );
        let odd = response(vec![Item::integer(Tag::RESULT_STATUS, 0)]);
        assert_eq!(
            decode(&odd).unwrap_err(),
            "Response Message > Batch Item > Result Status: Integer is not its type"
        );
        let request = encode_request(Version::V1_2, Operation::GET, vec![], 0);
        assert_eq!(
            decode(&request).unwrap_err(),
            "message: begins with Request Message, not with Response Message"
        );
    }
}
