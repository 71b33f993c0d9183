//! TTLV, the binary encoding of KMIP: tag, type, length, value. Bytes in, a tree of items out, and
//! back.
//!
//! Strict: lengths, padding, types and text follow the standard, or the message is refused; so
//! every decoded message encodes back to the same bytes.
//!
//! Source: OASIS KMIP 1.4, section 9.1; KMIP 2.1, section 9.1 (Date-Time Extended).

use std::fmt;

use zeroize::Zeroizing;

use super::tag::Tag;

/// Bytes before each value: tag (3), type (1), length (4).
pub const HEADER_BYTES: usize = 8;

/// Limits on what a message may hold. Each is checked before anything is stored.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest message, in bytes, headers included.
    pub bytes_max: usize,
    /// Most structures inside one another.
    pub depth_max: usize,
    /// Most items in all.
    pub items_max: usize,
}

impl Limits {
    /// Limits on what this client accepts from a server: far more than any answer it requests.
    pub const RESPONSE: Self = Self { bytes_max: 1 << 20, depth_max: 24, items_max: 1 << 16 };
}

/// A tag and its value.
#[derive(PartialEq)]
pub struct Item {
    /// Tag of the item.
    pub tag: Tag,
    /// Value that the item holds.
    pub value: Value,
}

/// A value of one of the types of TTLV.
#[derive(PartialEq)]
pub enum Value {
    /// Items in their order (type 01).
    Structure(Vec<Item>),
    /// Signed, 32 bits (type 02).
    Integer(i32),
    /// Signed, 64 bits (type 03).
    LongInteger(i64),
    /// Signed, big-endian, a multiple of 8 bytes (type 04). May be a key, so it is zeroed like one.
    BigInteger(Zeroizing<Vec<u8>>),
    /// A number with a name, in our tables or not (type 05).
    Enumeration(u32),
    /// Type 06.
    Boolean(bool),
    /// UTF-8 (type 07).
    Text(String),
    /// May be a key: zeroed when dropped, and never printed (type 08).
    Bytes(Zeroizing<Vec<u8>>),
    /// Seconds since 1970, UTC (type 09).
    DateTime(i64),
    /// Seconds (type 0A).
    Interval(u32),
    /// Microseconds since 1970, UTC (type 0B, KMIP 2.0).
    DateTimeExtended(i64),
}

impl Value {
    fn type_code(&self) -> u8 {
        match self {
            Self::Structure(_) => 0x01,
            Self::Integer(_) => 0x02,
            Self::LongInteger(_) => 0x03,
            Self::BigInteger(_) => 0x04,
            Self::Enumeration(_) => 0x05,
            Self::Boolean(_) => 0x06,
            Self::Text(_) => 0x07,
            Self::Bytes(_) => 0x08,
            Self::DateTime(_) => 0x09,
            Self::Interval(_) => 0x0A,
            Self::DateTimeExtended(_) => 0x0B,
        }
    }

    /// Returns the name of its type, as the standard writes it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        type_name(self.type_code()).expect("every value has a known type")
    }

    /// Returns the length of the value without padding, in bytes: the value of its header.
    fn value_bytes(&self) -> usize {
        match self {
            Self::Structure(items) => items.iter().map(Item::encoded_bytes).sum(),
            Self::Integer(_) | Self::Enumeration(_) | Self::Interval(_) => 4,
            Self::LongInteger(_)
            | Self::Boolean(_)
            | Self::DateTime(_)
            | Self::DateTimeExtended(_) => 8,
            Self::BigInteger(bytes) | Self::Bytes(bytes) => bytes.len(),
            Self::Text(text) => text.len(),
        }
    }
}

fn type_name(code: u8) -> Option<&'static str> {
    const NAMES: [&str; 11] = [
        "Structure",
        "Integer",
        "Long Integer",
        "Big Integer",
        "Enumeration",
        "Boolean",
        "Text String",
        "Byte String",
        "Date-Time",
        "Interval",
        "Date-Time Extended",
    ];
    NAMES.get(usize::from(code).checked_sub(1)?).copied()
}

impl Item {
    /// Returns a structure of `items`.
    #[must_use]
    pub fn structure(tag: Tag, items: Vec<Self>) -> Self {
        Self { tag, value: Value::Structure(items) }
    }

    /// Returns an integer.
    #[must_use]
    pub fn integer(tag: Tag, number: i32) -> Self {
        Self { tag, value: Value::Integer(number) }
    }

    /// Returns an enumeration value.
    #[must_use]
    pub fn enumeration(tag: Tag, number: u32) -> Self {
        Self { tag, value: Value::Enumeration(number) }
    }

    /// Returns a text.
    #[must_use]
    pub fn text(tag: Tag, text: impl Into<String>) -> Self {
        Self { tag, value: Value::Text(text.into()) }
    }

    /// Returns a copy of `bytes`, zeroed when dropped. The caller still owns, and zeroes, the
    /// original.
    #[must_use]
    pub fn bytes(tag: Tag, bytes: &[u8]) -> Self {
        Self { tag, value: Value::Bytes(Zeroizing::new(bytes.to_vec())) }
    }

    /// Returns the length of the whole item when encoded, in bytes.
    #[must_use]
    pub(crate) fn encoded_bytes(&self) -> usize {
        HEADER_BYTES + self.value.value_bytes().next_multiple_of(8)
    }

    /// Returns the item as bytes. They may hold a key, so they are zeroed when dropped.
    ///
    /// # Panics
    /// If a value is 4 GiB or longer: a bug of the caller, since none of our messages comes near
    /// that.
    #[must_use]
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        // room for all of it at once: a growing vector leaves copies behind
        let mut out = Zeroizing::new(Vec::with_capacity(self.encoded_bytes()));
        self.encode_into(&mut out);
        out
    }

    fn encode_into(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.tag.0.to_be_bytes()[1..]);
        out.push(self.value.type_code());
        let value_bytes =
            u32::try_from(self.value.value_bytes()).expect("a value shorter than 4 GiB");
        out.extend_from_slice(&value_bytes.to_be_bytes());
        match &self.value {
            Value::Structure(items) => items.iter().for_each(|item| item.encode_into(out)),
            Value::Integer(number) => out.extend_from_slice(&number.to_be_bytes()),
            Value::Enumeration(number) | Value::Interval(number) => {
                out.extend_from_slice(&number.to_be_bytes())
            }
            Value::LongInteger(number)
            | Value::DateTime(number)
            | Value::DateTimeExtended(number) => {
                out.extend_from_slice(&number.to_be_bytes());
            }
            Value::Boolean(yes) => out.extend_from_slice(&u64::from(*yes).to_be_bytes()),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            Value::Bytes(bytes) | Value::BigInteger(bytes) => out.extend_from_slice(bytes),
        }
        out.resize(out.len().next_multiple_of(8), 0);
    }
}

/// Never prints byte strings and big integers, which may be keys: their lengths alone.
impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.tag, self.value)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure(items) => f.debug_list().entries(items).finish(),
            Self::Integer(number) => write!(f, "{number}"),
            Self::LongInteger(number) => write!(f, "{number}"),
            Self::Enumeration(number) => write!(f, "0x{number:x}"),
            Self::Boolean(yes) => write!(f, "{yes}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) | Self::BigInteger(bytes) => write!(f, "({} bytes)", bytes.len()),
            Self::DateTime(number) => write!(f, "{number} s"),
            Self::DateTimeExtended(number) => write!(f, "{number} us"),
            Self::Interval(number) => write!(f, "{number} s"),
        }
    }
}

/// Place where a message is not what it must be. Quotes no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}: {found}", offset.map(|offset| format!(" (byte {offset})")).unwrap_or_default())]
pub struct Malformed {
    /// Tags from the outermost item to the one at fault, with ` > ` between them.
    pub path: String,
    /// Position where the item at fault begins, in bytes from the start of the message, if known.
    pub offset: Option<usize>,
    /// Description of the value found there, and of the expected value.
    pub found: String,
}

impl Malformed {
    /// Returns the error at the end of `tags`, with no offset.
    #[must_use]
    pub fn at(tags: &[Tag], found: impl Into<String>) -> Self {
        Self { path: path_of(tags), offset: None, found: found.into() }
    }
}

fn path_of(tags: &[Tag]) -> String {
    let names: Vec<String> = tags.iter().map(Tag::to_string).collect();
    if names.is_empty() { "message".into() } else { names.join(" > ") }
}

/// Returns the length of the whole message that begins with `header`, headers included, in bytes: a
/// reader must have that many before it can decode.
///
/// # Errors
/// [`Malformed`] if no message begins so, or a message this long is not accepted.
pub fn message_bytes(
    header: &[u8; HEADER_BYTES],
    expected: Tag,
    limits: &Limits,
) -> Result<usize, Malformed> {
    let head = Head::read(header);
    let found = if head.tag != expected {
        format!("begins with {}, not with {expected}", head.tag)
    } else if head.type_code != 0x01 {
        format!("has type {:02x}, not Structure", head.type_code)
    } else if !head.value_bytes.is_multiple_of(8) {
        format!("{} bytes long, not a multiple of 8", head.value_bytes)
    } else if head.value_bytes > limits.bytes_max.saturating_sub(HEADER_BYTES) {
        format!(
            "{} bytes long, at most {} are accepted",
            head.value_bytes + HEADER_BYTES,
            limits.bytes_max
        )
    } else {
        return Ok(HEADER_BYTES + head.value_bytes);
    };
    Err(Malformed { path: path_of(&[]), offset: Some(0), found })
}

/// Decodes `bytes`, which must be one item and nothing else.
///
/// Stores at most about six times as many bytes as it was given, whatever they are.
///
/// # Errors
/// [`Malformed`] with tags and offset of the first item that violates the standard or exceeds
/// `limits`.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Item, Malformed> {
    let mut decoder =
        Decoder { bytes, at: 0, path: Vec::new(), items_left: limits.items_max, limits };
    if bytes.len() > limits.bytes_max {
        return Err(decoder.fault(
            0,
            format!("{} bytes long, at most {} are accepted", bytes.len(), limits.bytes_max),
        ));
    }
    let item = decoder.item(bytes.len())?;
    match bytes.len() - decoder.at {
        0 => Ok(item),
        more => {
            Err(decoder
                .fault(decoder.at, format!("{more} bytes more after the end of the message")))
        }
    }
}

/// Header that precedes each value.
struct Head {
    tag: Tag,
    type_code: u8,
    value_bytes: usize,
}

impl Head {
    fn read(header: &[u8; HEADER_BYTES]) -> Self {
        let [a, b, c, type_code, length @ ..] = *header;
        Self {
            tag: Tag(u32::from_be_bytes([0, a, b, c])),
            type_code,
            value_bytes: u32::from_be_bytes(length) as usize,
        }
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    path: Vec<Tag>,
    items_left: usize,
    limits: &'a Limits,
}

impl Decoder<'_> {
    fn fault(&self, offset: usize, found: impl Into<String>) -> Malformed {
        Malformed { path: path_of(&self.path), offset: Some(offset), found: found.into() }
    }

    /// Reads the header at `at`, which must end before `end`, with its whole value.
    fn head(&self, at: usize, end: usize) -> Result<Head, Malformed> {
        let header = self.bytes[at..end].first_chunk().ok_or_else(|| {
            self.fault(
                at,
                format!(
                    "ends after {} bytes, where an item of at least {HEADER_BYTES} bytes was \
                     expected",
                    end - at
                ),
            )
        })?;
        let head = Head::read(header);
        // the standard's tags begin with 42, extensions with 54; all others are reserved (9.1.1.1)
        if !matches!(head.tag.0 >> 16, 0x42 | 0x54) {
            return Err(self
                .fault(at, format!("{}, which is neither a KMIP tag nor an extension", head.tag)));
        }
        let room = end - at - HEADER_BYTES;
        if head.value_bytes.next_multiple_of(8) > room {
            return Err(self.fault(
                at,
                format!("{} says {} bytes, and {room} bytes follow", head.tag, head.value_bytes),
            ));
        }
        Ok(head)
    }

    /// Decodes the item at the current place, which must end before `end`.
    fn item(&mut self, end: usize) -> Result<Item, Malformed> {
        let start = self.at;
        let head = self.head(start, end)?;
        self.path.push(head.tag);
        if self.items_left == 0 {
            return Err(self.fault(start, format!("more than {} items", self.limits.items_max)));
        }
        self.items_left -= 1;
        self.at = start + HEADER_BYTES;
        let value = match head.type_code {
            0x01 => self.structure(start, head.value_bytes)?,
            code => self.leaf(start, code, head.value_bytes)?,
        };
        self.path.pop();
        Ok(Item { tag: head.tag, value })
    }

    fn structure(&mut self, start: usize, value_bytes: usize) -> Result<Value, Malformed> {
        if self.path.len() > self.limits.depth_max {
            return Err(self.fault(
                start,
                format!("more than {} structures inside one another", self.limits.depth_max),
            ));
        }
        let end = self.at + value_bytes;
        // counted first, so that the vector is as long as it must be and no longer
        let mut children = 0;
        let mut at = self.at;
        while at < end {
            at += HEADER_BYTES + self.head(at, end)?.value_bytes.next_multiple_of(8);
            children += 1;
        }
        if !value_bytes.is_multiple_of(8) {
            return Err(
                self.fault(start, format!("Structure of {value_bytes} bytes, not a multiple of 8"))
            );
        }
        if children > self.items_left {
            return Err(self.fault(start, format!("more than {} items", self.limits.items_max)));
        }
        let mut items = Vec::with_capacity(children);
        while self.at < end {
            items.push(self.item(end)?);
        }
        Ok(Value::Structure(items))
    }

    fn leaf(&mut self, start: usize, code: u8, value_bytes: usize) -> Result<Value, Malformed> {
        let Some(name) = type_name(code) else {
            return Err(self.fault(start, format!("type {code:02x}, which TTLV does not have")));
        };
        let fits = match code {
            0x02 | 0x05 | 0x0A => value_bytes == 4,
            0x03 | 0x06 | 0x09 | 0x0B => value_bytes == 8,
            0x04 => value_bytes > 0 && value_bytes.is_multiple_of(8),
            _ => true,
        };
        if !fits {
            return Err(self.fault(start, format!("{name} of {value_bytes} bytes")));
        }
        let value = &self.bytes[self.at..self.at + value_bytes];
        let padded = self.at + value_bytes.next_multiple_of(8);
        if self.bytes[self.at + value_bytes..padded].iter().any(|byte| *byte != 0) {
            return Err(self.fault(start, "padding that is not zero"));
        }
        let narrow = || u32::from_be_bytes(value.try_into().expect("4 bytes, checked above"));
        let wide = || i64::from_be_bytes(value.try_into().expect("8 bytes, checked above"));
        let read = match code {
            0x02 => Value::Integer(narrow() as i32),
            0x03 => Value::LongInteger(wide()),
            0x04 => Value::BigInteger(Zeroizing::new(value.to_vec())),
            0x05 => Value::Enumeration(narrow()),
            0x06 => match wide() {
                0 => Value::Boolean(false),
                1 => Value::Boolean(true),
                _ => return Err(self.fault(start, "Boolean that is neither 0 nor 1")),
            },
            0x07 => match std::str::from_utf8(value) {
                Ok(text) => Value::Text(text.to_owned()),
                Err(_) => return Err(self.fault(start, "Text String that is not UTF-8")),
            },
            0x08 => Value::Bytes(Zeroizing::new(value.to_vec())),
            0x09 => Value::DateTime(wide()),
            0x0A => Value::Interval(narrow()),
            _ => Value::DateTimeExtended(wide()),
        };
        self.at = padded;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Tag = Tag(0x42_0020);

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|byte| byte.is_ascii_hexdigit()).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn refusal(text: &str) -> String {
        decode(&hex(text), &Limits::RESPONSE).unwrap_err().to_string()
    }

    /// The examples of KMIP 1.4, section 9.1.2, byte for byte.
    #[test]
    fn the_examples_of_the_standard() {
        let with = |value| Item { tag: ANY, value };
        let secret = |text| Zeroizing::new(hex(text));
        let compound =
            vec![Item::enumeration(Tag(0x42_0004), 254), Item::integer(Tag(0x42_0005), 255)];
        for (item, want) in [
            (with(Value::Integer(8)), "42 00 20 | 02 | 00 00 00 04 | 00 00 00 08 00 00 00 00"),
            (
                with(Value::LongInteger(123456789000000000)),
                "420020 | 03 | 00000008 | 01B69B4BA5749200",
            ),
            (
                with(Value::BigInteger(secret("0000000003FD35EB6BC2DF4618080000"))),
                "420020 | 04 | 00000010 | 0000000003FD35EB6BC2DF4618080000",
            ),
            (with(Value::Enumeration(255)), "420020 | 05 | 00000004 | 000000FF00000000"),
            (with(Value::Boolean(true)), "420020 | 06 | 00000008 | 0000000000000001"),
            (
                with(Value::Text("Hello World".into())),
                "420020 | 07 | 0000000B | 48656C6C6F20576F726C640000000000",
            ),
            (with(Value::Bytes(secret("010203"))), "420020 | 08 | 00000003 | 0102030000000000"),
            (with(Value::DateTime(0x47DA67F8)), "420020 | 09 | 00000008 | 0000000047DA67F8"),
            (with(Value::Interval(864000)), "420020 | 0A | 00000004 | 000D2F0000000000"),
            (
                with(Value::Structure(compound)),
                "420020 | 01 | 00000020 | 420004 | 05 | 00000004 | 000000FE 00000000 | 420005 | 02 \
                 | 00000004 | 000000FF 00000000",
            ),
        ] {
            assert_eq!(item.encode()[..], hex(want)[..], "{item:?}");
            assert_eq!(item.encoded_bytes(), hex(want).len());
            assert_eq!(decode(&hex(want), &Limits::RESPONSE).unwrap(), item);
        }
    }

    #[test]
    fn whatever_is_not_as_the_standard_says_is_refused_with_its_place() {
        assert_eq!(
            refusal(""),
            "message (byte 0): ends after 0 bytes, where an item of at least 8 bytes was expected"
        );
        assert_eq!(
            refusal("420020 02 00000004 00000008 00000001"),
            "Compromise Date (byte 0): padding that is not zero"
        );
        assert_eq!(
            refusal("420020 02 00000008 0000000800000001"),
            "Compromise Date (byte 0): Integer of 8 bytes"
        );
        assert_eq!(
            refusal("420020 06 00000008 0000000000000002"),
            "Compromise Date (byte 0): Boolean that is neither 0 nor 1"
        );
        assert_eq!(
            refusal("420020 04 00000004 0000000000000002"),
            "Compromise Date (byte 0): Big Integer of 4 bytes"
        );
        assert_eq!(
            refusal("420020 07 00000001 FF00000000000000"),
            "Compromise Date (byte 0): Text String that is not UTF-8"
        );
        assert_eq!(
            refusal("420020 0C 00000008 0000000000000002"),
            "Compromise Date (byte 0): type 0c, which TTLV does not have"
        );
        assert_eq!(
            refusal("120020 02 00000004 0000000000000000"),
            "message (byte 0): tag 0x120020, which is neither a KMIP tag nor an extension"
        );
        assert_eq!(
            refusal("420020 08 FFFFFFFF 0000000000000000"),
            "message (byte 0): Compromise Date says 4294967295 bytes, and 8 bytes follow"
        );
        assert_eq!(
            refusal("420020 02 00000004 0000000000000000 00"),
            "message (byte 16): 1 bytes more after the end of the message"
        );
        assert_eq!(
            refusal("42007B 01 00000018 42000F 01 00000010 42007F 05 00000005 0000000000000000"),
            "Response Message > Batch Item > Result Status (byte 16): Enumeration of 5 bytes"
        );
    }

    #[test]
    fn nesting_items_and_length_have_their_limits() {
        let nested = |levels: usize| {
            (1..levels)
                .fold(Item::structure(ANY, vec![]), |inner, _| Item::structure(ANY, vec![inner]))
                .encode()
        };
        let limits = Limits { bytes_max: 4096, depth_max: 5, items_max: 20 };
        decode(&nested(5), &limits).unwrap();
        let found = decode(&nested(6), &limits).unwrap_err();
        assert_eq!(
            (found.offset, found.found.as_str()),
            (Some(40), "more than 5 structures inside one another")
        );

        let wide = |items: usize| {
            let items = (1..items).map(|_| Item::structure(ANY, vec![])).collect();
            Item::structure(ANY, items).encode()
        };
        decode(&wide(20), &limits).unwrap();
        assert_eq!(decode(&wide(21), &limits).unwrap_err().found, "more than 20 items");

        let long = Item::bytes(ANY, &[1; 4088]).encode();
        decode(&long, &limits).unwrap();
        let longer = Item::bytes(ANY, &[1; 4089]).encode();
        assert_eq!(
            decode(&longer, &limits).unwrap_err().found,
            "4104 bytes long, at most 4096 are accepted"
        );
    }

    #[test]
    fn the_length_of_a_message_is_known_from_its_first_eight_bytes() {
        let length = |text: &str| {
            let header = hex(text).try_into().unwrap();
            message_bytes(&header, Tag::RESPONSE_MESSAGE, &Limits::RESPONSE)
                .map_err(|error| error.to_string())
        };
        assert_eq!(length("42007B 01 00000018"), Ok(32));
        assert_eq!(
            length("42007B 01 00000019"),
            Err("message (byte 0): 25 bytes long, not a multiple of 8".into())
        );
        assert_eq!(
            length("42007B 02 00000018"),
            Err("message (byte 0): has type 02, not Structure".into())
        );
        assert_eq!(
            length("485454 50 2F312E31"),
            Err("message (byte 0): begins with tag 0x485454, not with Response Message".into())
        );
        assert_eq!(
            length("42007B 01 FFFFFFF8"),
            Err("message (byte 0): 4294967296 bytes long, at most 1048576 are accepted".into())
        );
    }

    #[test]
    fn debug_shows_no_bytes() {
        let item = Item::structure(ANY, vec![Item::bytes(Tag::KEY_MATERIAL, &[0xAB; 32])]);
        assert_eq!(format!("{item:?}"), "Compromise Date: [Key Material: (32 bytes)]");
    }
}
