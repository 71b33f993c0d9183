//! A message of any content decodes, and encodes back to the same bytes, or is refused: no panic,
//! bounded memory.

use arbitrary::{Result, Unstructured};
use sealstone_keys::kmip::enumeration::Operation;
use sealstone_keys::kmip::message::decode_response;
use sealstone_keys::kmip::operation::{
    Activate, Create, Destroy, DiscoverVersions, Get, GetAttributes, Locate, ModifyAttribute,
    Query, Register, Rekey, Request, Revoke,
};
use sealstone_keys::kmip::tag::Tag;
use sealstone_keys::kmip::ttlv::{HEADER_BYTES, Item, Limits, Value, decode, message_bytes};

/// Limits low enough that inputs of a fuzzer meet them.
const LOW: Limits = Limits { bytes_max: 2048, depth_max: 6, items_max: 60 };

/// Bytes that `item` holds in memory, itself included: room that vectors reserved counts, too.
fn held_bytes(item: &Item) -> usize {
    let inside = match &item.value {
        Value::Structure(items) => {
            let unused = (items.capacity() - items.len()) * size_of::<Item>();
            unused + items.iter().map(held_bytes).sum::<usize>()
        }
        Value::Bytes(bytes) | Value::BigInteger(bytes) => bytes.capacity(),
        Value::Text(text) => text.capacity(),
        _ => 0,
    };
    size_of::<Item>() + inside
}

fn depth(item: &Item) -> usize {
    match &item.value {
        Value::Structure(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn items(item: &Item) -> usize {
    match &item.value {
        Value::Structure(inner) => 1 + inner.iter().map(items).sum::<usize>(),
        _ => 1,
    }
}

fn decode_within(input: &[u8], limits: &Limits) {
    let Ok(item) = decode(input, limits) else { return };
    assert!(item.encode()[..] == *input, "{item:?} encodes to other bytes");
    assert!(
        input.len() <= limits.bytes_max
            && depth(&item) <= limits.depth_max
            && items(&item) <= limits.items_max
    );
    let held = held_bytes(&item);
    assert!(held <= 8 * input.len(), "{} bytes became {held}", input.len());
}

/// Reads `input` as the answer to `R`.
fn answer<R: Request>(input: &[u8]) {
    let response = decode_response(input, R::OPERATION, &Limits::RESPONSE);
    if let Ok(payload) = response.map_err(drop).and_then(|response| response.outcome.map_err(drop))
    {
        let _ = R::answer(payload);
    }
}

/// Returns an item derived from the input: known tags more often than others, and at most `depth`
/// structures deep.
fn grow(input: &mut Unstructured, depth: usize) -> Result<Item> {
    let tag = if input.ratio(9, 10)? {
        *input.choose(Tag::KNOWN)?
    } else {
        Tag(*input.choose(&[0x42_0000, 0x54_0000])? | u32::from(input.arbitrary::<u16>()?))
    };
    let value = match input.int_in_range(0..=if depth > 0 { 16 } else { 10 })? {
        0 => Value::Integer(input.arbitrary()?),
        1 => Value::LongInteger(input.arbitrary()?),
        2 => Value::BigInteger(vec![input.arbitrary()?; 8 * input.int_in_range(1..=4)?].into()),
        3 | 4 => Value::Enumeration(input.int_in_range(0..=0x30)?),
        5 => Value::Boolean(input.arbitrary()?),
        6 => Value::Text(
            "Unique Identifier".chars().cycle().take(input.int_in_range(0..=40)?).collect(),
        ),
        7 => Value::Bytes(vec![input.arbitrary()?; input.int_in_range(0..=40)?].into()),
        8 => Value::DateTime(input.arbitrary()?),
        9 => Value::Interval(input.arbitrary()?),
        10 => Value::DateTimeExtended(input.arbitrary()?),
        _ => {
            let mut items = Vec::new();
            for _ in 0..input.int_in_range(0..=6)? {
                items.push(grow(input, depth - 1)?);
            }
            Value::Structure(items)
        }
    };
    Ok(Item { tag, value })
}

/// Checks that a message derived from the input comes back unchanged; then with some of its bytes
/// changed, like any other input.
fn run(input: &mut Unstructured) -> Result<()> {
    let item = grow(input, 8)?;
    let mut bytes = item.encode().to_vec();
    let decoded = decode(&bytes, &Limits::RESPONSE);
    assert!(decoded.as_ref() == Ok(&item), "{item:?} came back as {decoded:?}");
    check_bytes(&bytes);
    for _ in 0..input.int_in_range(1..=3)? {
        let at = input.choose_index(bytes.len())?;
        match input.int_in_range(0..=3)? {
            0 => bytes[at] = input.arbitrary()?,
            1 => bytes[at] ^= 1 << input.int_in_range(0..=7)?,
            2 => bytes.truncate(at.max(1)),
            _ => bytes.extend_from_within(at..),
        }
    }
    check_bytes(&bytes);
    Ok(())
}

/// Checks one input, whatever it is: as an item, as a response to each operation, as the contents
/// of one, and as the plan of a message and of damage to it.
///
/// # Panics
/// If a decoded item encodes to other bytes, exceeds a limit, or takes much more memory than its
/// length.
pub fn check(input: &[u8]) {
    check_bytes(input);
    let _ = run(&mut Unstructured::new(input));
}

fn check_bytes(input: &[u8]) {
    decode_within(input, &Limits::RESPONSE);
    decode_within(input, &LOW);
    if let Some(header) = input.first_chunk::<HEADER_BYTES>()
        && let Ok(bytes) = message_bytes(header, Tag::RESPONSE_MESSAGE, &LOW)
    {
        assert!(bytes <= LOW.bytes_max);
    }
    for bytes in [input, &inside_a_response(input)] {
        answer::<DiscoverVersions>(bytes);
        answer::<Query>(bytes);
        answer::<Locate>(bytes);
        answer::<Create>(bytes);
        answer::<Register>(bytes);
        answer::<Get>(bytes);
        answer::<GetAttributes>(bytes);
        answer::<ModifyAttribute>(bytes);
        answer::<Activate>(bytes);
        answer::<Revoke>(bytes);
        answer::<Destroy>(bytes);
        answer::<Rekey>(bytes);
        let _ = decode_response(bytes, Operation(0), &LOW);
    }
}

/// Returns a response that succeeded, with `input` as its payload where that decodes as items, so
/// that a fuzzer soon gets past the outer layers.
fn inside_a_response(input: &[u8]) -> Vec<u8> {
    let mut payload = Tag::RESPONSE_PAYLOAD.0.to_be_bytes()[1..].to_vec();
    payload.push(0x01);
    payload.extend_from_slice(&(input.len() as u32).to_be_bytes());
    payload.extend_from_slice(input);
    let Ok(payload) = decode(&payload, &Limits::RESPONSE) else { return Vec::new() };
    let version = vec![
        Item::integer(Tag::PROTOCOL_VERSION_MAJOR, 1),
        Item::integer(Tag::PROTOCOL_VERSION_MINOR, 4),
    ];
    let header =
        vec![Item::structure(Tag::PROTOCOL_VERSION, version), Item::integer(Tag::BATCH_COUNT, 1)];
    let batch_item = vec![Item::enumeration(Tag::RESULT_STATUS, 0), payload];
    let message = vec![
        Item::structure(Tag::RESPONSE_HEADER, header),
        Item::structure(Tag::BATCH_ITEM, batch_item),
    ];
    Item::structure(Tag::RESPONSE_MESSAGE, message).encode().to_vec()
}
