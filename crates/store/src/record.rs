//! The values of one record, and a row: a key with its record.

/// The values of one record, flat, so that a client can reuse its memory for every operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Record {
    /// Returns an empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an empty record with room for `values` values of `bytes` bytes together.
    pub fn with_capacity(values: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(values) }
    }

    /// Drops all values and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Takes over all values of `other` and keeps the memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.bytes.clone_from(&other.bytes);
        self.ends.clone_from(&other.ends);
    }

    /// Appends a value (decimal ASCII for numbers, UTF-8 for text; empty means absent).
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether it holds no value.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Value number `field`, if there is one.
    pub fn get(&self, field: usize) -> Option<&[u8]> {
        let end = *self.ends.get(field)? as usize;
        let start = if field == 0 { 0 } else { self.ends[field - 1] as usize };
        Some(&self.bytes[start..end])
    }

    /// Returns all values in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|field| self.get(field).expect("in range"))
    }

    /// Returns all values joined, without what separates them.
    pub fn joined(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of all values together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// A row for bulk loading: key and record.
pub type Row = (Vec<u8>, Record);
