//! Tables and their columns.

/// Kind of content of a field, inferred from a CSV or fixed by a workload. Stores with column types
/// use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Whole numbers in decimal ASCII.
    Integer,
    /// Decimal numbers in ASCII.
    Decimal,
    /// UTF-8 text.
    Text,
    /// Bytes that mean nothing, as YCSB's own values.
    Bytes,
}

/// A named, typed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Column name, as stored with each record by schema-free stores.
    pub name: String,
    /// Kind of content.
    pub kind: Kind,
}

/// A table: its name, and the fields of each of its records in order.
#[derive(Debug)]
pub struct Table {
    /// Small number, unique within one data set; embedded stores use it as key prefix.
    pub id: u8,
    /// Table name, such as `usertable`.
    pub name: String,
    /// Fields in order; a `Record` has one value for each.
    pub fields: Vec<Field>,
}
