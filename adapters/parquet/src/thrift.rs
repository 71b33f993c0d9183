//! Thrift's compact protocol as a tree of values, of any type and field: reading and writing again
//! gives the same bytes, including a newer writer's fields. Footers and offset indexes of Parquet
//! files use it.

/// Limit on how deep values may be nested; a footer of Parquet needs about ten levels.
const DEPTH_MAX: usize = 64;

const BOOL_TRUE: u8 = 1;
const BOOL_FALSE: u8 = 2;
const I8: u8 = 3;
pub(crate) const I16: u8 = 4;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
const DOUBLE: u8 = 7;
pub(crate) const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(crate) const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Any value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    I8(i8),
    /// A number of the type I16, I32 or I64.
    Number(u8, i64),
    Double([u8; 8]),
    Uuid([u8; 16]),
    Binary(Vec<u8>),
    /// The type LIST or SET, the type of the elements, and these.
    List(u8, u8, Vec<Value>),
    Map(u8, u8, Vec<(Value, Value)>),
    Struct(Struct),
}

/// Fields in the order in which they are stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Struct(Vec<(i16, Value)>);

/// Error for bytes that are not a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Struct {
    pub(crate) fn get(&self, id: i16) -> Option<&Value> {
        self.0.iter().find(|(found, _)| *found == id).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, id: i16) -> Option<&mut Value> {
        self.0.iter_mut().find(|(found, _)| *found == id).map(|(_, value)| value)
    }

    /// Sets a field, in its place among the others.
    pub(crate) fn set(&mut self, id: i16, value: Value) {
        match self.get_mut(id) {
            Some(found) => *found = value,
            None => {
                let at = self.0.iter().position(|(found, _)| *found > id).unwrap_or(self.0.len());
                self.0.insert(at, (id, value));
            }
        }
    }

    pub(crate) fn remove(&mut self, id: i16) {
        self.0.retain(|(found, _)| *found != id);
    }

    /// Keeps the fields of these numbers alone.
    pub(crate) fn keep(&mut self, ids: std::ops::RangeInclusive<i16>) {
        self.0.retain(|(found, _)| ids.contains(found));
    }

    pub(crate) fn number(&self, id: i16) -> Option<i64> {
        match self.get(id) {
            Some(Value::Number(_, number)) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn structure(&self, id: i16) -> Option<&Self> {
        match self.get(id) {
            Some(Value::Struct(found)) => Some(found),
            _ => None,
        }
    }

    pub(crate) fn structure_mut(&mut self, id: i16) -> Option<&mut Self> {
        match self.get_mut(id) {
            Some(Value::Struct(found)) => Some(found),
            _ => None,
        }
    }

    /// Returns the elements of a list; none where the list is missing.
    pub(crate) fn list(&self, id: i16) -> &[Value] {
        match self.get(id) {
            Some(Value::List(_, _, elements)) => elements,
            _ => &[],
        }
    }

    pub(crate) fn list_mut(&mut self, id: i16) -> Option<&mut Vec<Value>> {
        match self.get_mut(id) {
            Some(Value::List(_, _, elements)) => Some(elements),
            _ => None,
        }
    }

    /// Gives a list of structs its type where it is empty and was stored without one; returns
    /// whether that was so.
    pub(crate) fn give_type(&mut self, id: i16) -> bool {
        match self.get_mut(id) {
            Some(Value::List(_, of @ 0, elements)) if elements.is_empty() => {
                *of = STRUCT;
                true
            }
            _ => false,
        }
    }

    /// Reads a struct from the beginning of `data`; returns how long it is, too.
    pub(crate) fn read(data: &[u8]) -> Result<(Self, usize), Malformed> {
        let mut reader = Reader { data, at: 0 };
        let read = reader.structure(0)?;
        Ok((read, reader.at))
    }

    /// Appends the struct as bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut last = 0;
        for (id, value) in &self.0 {
            let kind = match value {
                Value::Bool(true) => BOOL_TRUE,
                Value::Bool(false) => BOOL_FALSE,
                value => value.kind(),
            };
            match id.wrapping_sub(last) {
                delta @ 1..=15 => out.push((delta as u8) << 4 | kind),
                _ => {
                    out.push(kind);
                    write_number(i64::from(*id), out);
                }
            }
            if !matches!(value, Value::Bool(_)) {
                value.write(out);
            }
            last = *id;
        }
        out.push(0);
    }
}

impl Value {
    pub(crate) fn i32(number: i32) -> Self {
        Self::Number(I32, number.into())
    }

    pub(crate) fn i64(number: i64) -> Self {
        Self::Number(I64, number)
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Binary(text.as_bytes().to_vec())
    }

    pub(crate) fn structs(structs: Vec<Struct>) -> Self {
        Self::List(LIST, STRUCT, structs.into_iter().map(Self::Struct).collect())
    }

    pub(crate) fn as_struct(&self) -> Option<&Struct> {
        match self {
            Self::Struct(found) => Some(found),
            _ => None,
        }
    }

    /// Returns the number of its type; of a truth value, that of a true one.
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::Bool(_) => BOOL_TRUE,
            Self::I8(_) => I8,
            Self::Number(kind, _) => *kind,
            Self::Double(_) => DOUBLE,
            Self::Uuid(_) => UUID,
            Self::Binary(_) => BINARY,
            Self::List(kind, _, _) => *kind,
            Self::Map(..) => MAP,
            Self::Struct(_) => STRUCT,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bool(value) => out.push(if *value { BOOL_TRUE } else { BOOL_FALSE }),
            Self::I8(number) => out.push(*number as u8),
            Self::Number(_, number) => write_number(*number, out),
            Self::Double(bytes) => out.extend_from_slice(bytes),
            Self::Uuid(bytes) => out.extend_from_slice(bytes),
            Self::Binary(bytes) => {
                write_unsigned(bytes.len() as u64, out);
                out.extend_from_slice(bytes);
            }
            Self::List(_, of, elements) => {
                // some writers give no type to a list that is empty, and then something may have
                // been added
                let of = match elements.first() {
                    None | Some(Self::Bool(_)) => *of,
                    Some(first) => first.kind(),
                };
                match elements.len() {
                    length @ 0..15 => out.push((length as u8) << 4 | of),
                    length => {
                        out.push(0xf0 | of);
                        write_unsigned(length as u64, out);
                    }
                }
                elements.iter().for_each(|element| element.write(out));
            }
            Self::Map(keys, values, entries) => {
                write_unsigned(entries.len() as u64, out);
                if !entries.is_empty() {
                    out.push(keys << 4 | values);
                }
                for (key, value) in entries {
                    key.write(out);
                    value.write(out);
                }
            }
            Self::Struct(fields) => fields.write(out),
        }
    }
}

fn write_unsigned(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn write_number(number: i64, out: &mut Vec<u8>) {
    write_unsigned(((number << 1) ^ (number >> 63)) as u64, out);
}

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.data.get(self.at).ok_or(Malformed)?;
        self.at += 1;
        Ok(byte)
    }

    fn bytes(&mut self, count: u64) -> Result<&[u8], Malformed> {
        let end = usize::try_from(count)
            .ok()
            .and_then(|count| self.at.checked_add(count))
            .ok_or(Malformed)?;
        let bytes = self.data.get(self.at..end).ok_or(Malformed)?;
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.bytes(N as u64)?.try_into().map_err(|_| Malformed)
    }

    fn unsigned(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed)
    }

    fn number(&mut self) -> Result<i64, Malformed> {
        let number = self.unsigned()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn structure(&mut self, depth: usize) -> Result<Struct, Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed);
        }
        let (mut fields, mut last): (Vec<(i16, Value)>, i16) = (Vec::new(), 0);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(Struct(fields));
            }
            last = match head >> 4 {
                0 => i16::try_from(self.number()?).map_err(|_| Malformed)?,
                delta => last.checked_add(delta.into()).ok_or(Malformed)?,
            };
            // a reader of this file may take either
            if fields.iter().any(|(found, _)| *found == last) {
                return Err(Malformed);
            }
            let value = match head & 15 {
                BOOL_TRUE => Value::Bool(true),
                BOOL_FALSE => Value::Bool(false),
                kind => self.value(kind, depth)?,
            };
            fields.push((last, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value, Malformed> {
        if depth > DEPTH_MAX {
            return Err(Malformed);
        }
        Ok(match kind {
            BOOL_TRUE | BOOL_FALSE => Value::Bool(self.byte()? == BOOL_TRUE),
            I8 => Value::I8(self.byte()? as i8),
            I16 | I32 | I64 => Value::Number(kind, self.number()?),
            DOUBLE => Value::Double(self.array()?),
            UUID => Value::Uuid(self.array()?),
            BINARY => {
                let length = self.unsigned()?;
                Value::Binary(self.bytes(length)?.to_vec())
            }
            LIST | SET => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
                let mut elements = Vec::new();
                for _ in 0..count {
                    elements.push(self.value(head & 15, depth + 1)?);
                }
                Value::List(kind, head & 15, elements)
            }
            MAP => {
                let count = self.unsigned()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                let mut entries = Vec::new();
                for _ in 0..count {
                    entries.push((
                        self.value(kinds >> 4, depth + 1)?,
                        self.value(kinds & 15, depth + 1)?,
                    ));
                }
                Value::Map(kinds >> 4, kinds & 15, entries)
            }
            STRUCT => Value::Struct(self.structure(depth + 1)?),
            _ => return Err(Malformed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Struct {
        let inner = Struct(vec![
            (1, Value::Bool(true)),
            (2, Value::Bool(false)),
            (40, Value::text("텍스트")),
        ]);
        Struct(vec![
            (1, Value::i32(-7)),
            (2, Value::i64(i64::MIN)),
            (3, Value::Number(I16, 300)),
            (4, Value::I8(-1)),
            (5, Value::Double([1, 2, 3, 4, 5, 6, 7, 8])),
            (6, Value::List(LIST, I32, (0..20).map(Value::i32).collect())),
            (7, Value::List(SET, BOOL_TRUE, vec![Value::Bool(true), Value::Bool(false)])),
            (9, Value::Map(BINARY, I64, vec![(Value::text("a"), Value::i64(1))])),
            (10, Value::Map(0, 0, Vec::new())),
            (11, Value::structs(vec![inner.clone(), Struct::default()])),
            (12, Value::Uuid([9; 16])),
            (3000, Value::Struct(inner)),
        ])
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        sample().write(&mut bytes);
        bytes.extend_from_slice(b"more");
        let (read, length) = Struct::read(&bytes).unwrap();
        assert_eq!((read, length), (sample(), bytes.len() - 4));
        let mut changed = sample();
        changed.set(8, Value::i32(8));
        // a list without elements, and without a type
        let mut empty = Struct(vec![(1, Value::List(LIST, 0, Vec::new()))]);
        empty.list_mut(1).unwrap().push(Value::Struct(Struct::default()));
        let mut bytes = Vec::new();
        empty.write(&mut bytes);
        assert_eq!(
            Struct::read(&bytes).unwrap().0,
            Struct(vec![(1, Value::structs(vec![Struct::default()]))])
        );
        changed.set(1, Value::i32(1));
        changed.remove(12);
        changed.keep(1..=11);
        assert_eq!(
            changed.0.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
        );
        assert_eq!(
            (changed.number(1), changed.number(8), changed.list(6).len()),
            (Some(1), Some(8), 20)
        );
    }

    #[test]
    fn any_bytes_are_read_or_refused() {
        let mut bytes = Vec::new();
        sample().write(&mut bytes);
        for at in 0..bytes.len() {
            assert_eq!(Struct::read(&bytes[..at]).err(), Some(Malformed), "cut at {at}");
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                if let Ok((read, length)) = Struct::read(&changed) {
                    let mut again = Vec::new();
                    read.write(&mut again);
                    assert_eq!(
                        Struct::read(&again).unwrap().0,
                        read,
                        "byte {at}, bit {bit}, of {length}"
                    );
                }
            }
        }
        // nested deeper than any stack is
        assert_eq!(Struct::read(&[0x1c; 100_000]).err(), Some(Malformed));
        // a list of four thousand million elements in a few bytes
        assert_eq!(
            Struct::read(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f]).err(),
            Some(Malformed)
        );
        // one field twice
        assert_eq!(Struct::read(&[0x15, 2, 0x05, 2, 4, 0]).err(), Some(Malformed));
    }
}
