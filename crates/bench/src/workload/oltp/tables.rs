//! The tables of `oltp`: their columns, keys, and the rows that loading writes.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use rand::rngs::SmallRng;

use crate::workload::contract::split;
use crate::workload::distribution::stream;
use crate::workload::records::printable;
use sealstone_store::{Field, Kind, Record, Row, StoreError, Table};

/// Bytes of values that loading writes for each customer: its row, its stock item, its order of
/// five lines, and its share of a district.
pub(super) const BYTES_PER_CUSTOMER: u64 = 900;
/// The fewest customers, and so items: an order must find different items for its lines.
const ITEMS_MIN: u64 = 50;
/// Customers in a district.
const CUSTOMERS_PER_DISTRICT: u64 = 100;
/// Lines of an order that loading writes.
pub(super) const LOADED_LINES: u64 = 5;
/// Pieces in each of these lines.
pub(super) const LOADED_QUANTITY: i64 = 5;
/// Pieces of an item in stock at first.
pub(super) const STOCK_AT_FIRST: i64 = 1_000;
/// Pieces that a refill adds to an item's stock.
pub(super) const STOCK_REFILL: i64 = 1_000;

/// The tables, by their place in the list of tables.
pub(super) const DISTRICT: usize = 0;
pub(super) const CUSTOMER: usize = 1;
pub(super) const STOCK: usize = 2;
pub(super) const ORDER: usize = 3;
pub(super) const LINE: usize = 4;
pub(super) const PAID: usize = 5;

/// Layout of a table: its number fields first, then its text fields with their bytes.
struct Layout {
    name: &'static str,
    numbers: &'static [&'static str],
    texts: &'static [(&'static str, usize)],
}

const LAYOUTS: [Layout; 6] = [
    Layout {
        name: "district",
        numbers: &["next_order", "ordered_cents", "paid_cents", "payments"],
        texts: &[("name", 24)],
    },
    Layout {
        name: "customer",
        numbers: &[
            "number",
            "balance_cents",
            "ordered_cents",
            "paid_cents",
            "orders",
            "payments",
            "last_order",
        ],
        texts: &[("name", 24), ("address", 60), ("notes", 260)],
    },
    Layout {
        name: "stock",
        numbers: &["quantity", "sold", "refills", "price_cents"],
        texts: &[("name", 24), ("description", 200)],
    },
    Layout {
        name: "orders",
        numbers: &["customer", "line_count", "total_cents"],
        texts: &[("remark", 40)],
    },
    Layout {
        name: "order_line",
        numbers: &["item", "quantity", "amount_cents"],
        texts: &[("delivery", 40)],
    },
    Layout { name: "payment", numbers: &["customer", "amount_cents"], texts: &[("reference", 40)] },
];

/// Bytes of the longest text field.
const TEXT_BYTES_MAX: usize = 260;

// Places of the number fields, as in `LAYOUTS`.

pub(super) mod district {
    pub(in crate::workload::oltp) const NEXT_ORDER: usize = 0;
    pub(in crate::workload::oltp) const ORDERED: usize = 1;
    pub(in crate::workload::oltp) const PAID: usize = 2;
    pub(in crate::workload::oltp) const PAYMENTS: usize = 3;
}

pub(super) mod customer {
    pub(in crate::workload::oltp) const NUMBER: usize = 0;
    pub(in crate::workload::oltp) const BALANCE: usize = 1;
    pub(in crate::workload::oltp) const ORDERED: usize = 2;
    pub(in crate::workload::oltp) const PAID: usize = 3;
    pub(in crate::workload::oltp) const ORDERS: usize = 4;
    pub(in crate::workload::oltp) const PAYMENTS: usize = 5;
    pub(in crate::workload::oltp) const LAST_ORDER: usize = 6;
}

pub(super) mod stock {
    pub(in crate::workload::oltp) const QUANTITY: usize = 0;
    pub(in crate::workload::oltp) const SOLD: usize = 1;
    pub(in crate::workload::oltp) const REFILLS: usize = 2;
    pub(in crate::workload::oltp) const PRICE: usize = 3;
}

pub(super) mod order {
    pub(in crate::workload::oltp) const CUSTOMER: usize = 0;
    pub(in crate::workload::oltp) const LINE_COUNT: usize = 1;
    pub(in crate::workload::oltp) const TOTAL: usize = 2;
}

pub(super) mod line {
    pub(in crate::workload::oltp) const ITEM: usize = 0;
    pub(in crate::workload::oltp) const QUANTITY: usize = 1;
    pub(in crate::workload::oltp) const AMOUNT: usize = 2;
}

pub(super) mod payment {
    pub(in crate::workload::oltp) const AMOUNT: usize = 1;
}

/// A row's name within its table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    /// District, customer or item number.
    One(u64),
    /// District, and order or payment number within it.
    Two(u64, i64),
    /// District, order number within it, and line number within that.
    Three(u64, i64, u64),
}

impl Key {
    /// Bytes of the longest key.
    const BYTES_MAX: usize = 24;

    /// Writes the key as stored into `into`, cleared first: decimal with leading zeros, so that it
    /// sorts by number.
    pub(super) fn write(self, into: &mut Vec<u8>) {
        into.clear();
        match self {
            Self::One(number) => push_digits(number, 12, into),
            Self::Two(district, number) => {
                push_digits(district, 10, into);
                into.push(b'-');
                push_digits(number.cast_unsigned(), 10, into);
            }
            Self::Three(district, order, line) => {
                Self::Two(district, order).write(into);
                into.push(b'-');
                push_digits(line, 2, into);
            }
        }
    }
}

/// Appends `number` in decimal, with leading zeros up to `width` digits. Written by hand, since
/// formatting would be half of what a transaction costs the load generator.
fn push_digits(mut number: u64, width: usize, into: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    while number > 0 {
        first -= 1;
        digits[first] += (number % 10) as u8;
        number /= 10;
    }
    into.extend_from_slice(&digits[first.min(digits.len() - width)..]);
}

/// Returns number field `field` of `record`.
pub(super) fn number(table: &Table, record: &Record, field: usize) -> Result<i64, StoreError> {
    let value = record.get(field).unwrap_or_default();
    std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).ok_or_else(|| {
        let name = table.fields.get(field).map_or("?", |field| &field.name);
        StoreError::Differs(format!(
            "a row of {} came back damaged: {name} is not a number",
            table.name
        ))
    })
}

/// Puts `old` into `new`, cleared first, with `changes` to its number fields.
pub(super) fn change(old: &Record, changes: &[(usize, i64)], new: &mut Record) {
    new.clear();
    for (field, value) in old.iter().enumerate() {
        match changes.iter().find(|(changed, _)| *changed == field) {
            Some((_, number)) => push_number(*number, new),
            None => new.push(value),
        }
    }
}

pub(super) fn push_number(number: i64, into: &mut Record) {
    let mut digits = [0; 20];
    let mut rest = &mut digits[..];
    write!(rest, "{number}").expect("20 bytes hold every 64-bit number with its sign");
    let unused = rest.len();
    into.push(&digits[..digits.len() - unused]);
}

/// The data set: how many there are of each, and what their rows hold at first.
#[derive(Debug)]
pub(super) struct DataSet {
    pub(super) tables: [Arc<Table>; 6],
    pub(super) customers: u64,
    pub(super) districts: u64,
    pub(super) seed: u64,
}

impl DataSet {
    pub(super) fn new(bytes: u64, seed: u64) -> Self {
        let customers = (bytes / BYTES_PER_CUSTOMER).max(ITEMS_MIN);
        let table = |id: usize| {
            let Layout { name, numbers, texts } = LAYOUTS[id];
            let number = |&name: &&str| Field { name: name.into(), kind: Kind::Integer };
            let text = |&(name, _): &(&str, usize)| Field { name: name.into(), kind: Kind::Text };
            let fields = numbers.iter().map(number).chain(texts.iter().map(text)).collect();
            Arc::new(Table { id: id as u8, name: name.into(), fields })
        };
        Self {
            tables: std::array::from_fn(table),
            customers,
            districts: customers.div_ceil(CUSTOMERS_PER_DISTRICT),
            seed,
        }
    }

    /// Returns the number of items in stock: as many as customers.
    pub(super) fn items(&self) -> u64 {
        self.customers
    }

    /// Customers of district `district`.
    pub(super) fn customers_of(&self, district: u64) -> Range<u64> {
        split(self.customers, district as usize, self.districts as usize)
    }

    /// Returns the district of customer `customer`: the inverse of `customers_of`.
    pub(super) fn district_of(&self, customer: u64) -> u64 {
        ((customer + 1) * self.districts - 1) / self.customers
    }

    pub(super) fn price_cents(&self, item: u64) -> i64 {
        100 + (item * 37 % 9_900) as i64
    }

    /// Returns the item in line `line` of the order that loading writes for customer `customer`.
    /// Over all customers every item is taken the same number of times.
    fn loaded_item(&self, customer: u64, line: u64) -> u64 {
        (customer * LOADED_LINES + line) % self.items()
    }

    pub(super) fn loaded_total(&self, customer: u64) -> i64 {
        (0..LOADED_LINES)
            .map(|line| LOADED_QUANTITY * self.price_cents(self.loaded_item(customer, line)))
            .sum()
    }

    /// Returns a row of table `table` with `numbers` and text that depends on `key` alone.
    pub(super) fn row(&self, table: usize, key: Key, numbers: &[i64]) -> Row {
        let mut bytes = Vec::with_capacity(Key::BYTES_MAX);
        key.write(&mut bytes);
        let place = match key {
            Key::One(one) => [one, 0, 0],
            Key::Two(one, two) => [one, two as u64, 0],
            Key::Three(one, two, three) => [one, two as u64, three],
        };
        let mut random = stream(self.seed, LAYOUTS[table].name, &place);
        let texts = LAYOUTS[table].texts;
        let text_bytes: usize = texts.iter().map(|(_, bytes)| bytes).sum();
        let mut record =
            Record::with_capacity(numbers.len() + texts.len(), text_bytes + 12 * numbers.len());
        numbers.iter().for_each(|&number| push_number(number, &mut record));
        push_texts(table, &mut random, &mut record);
        (bytes, record)
    }

    /// Returns the rows of table `table` that loading writes for districts `districts`, in key
    /// order.
    pub(super) fn rows(
        &self,
        table: usize,
        districts: Range<u64>,
    ) -> Box<dyn Iterator<Item = Row> + '_> {
        let orders = districts.clone().flat_map(|district| {
            (0..)
                .zip(self.customers_of(district))
                .map(move |(order, customer)| (district, order, customer))
        });
        match table {
            DISTRICT => Box::new(districts.map(move |district| {
                let ordered =
                    self.customers_of(district).map(|customer| self.loaded_total(customer)).sum();
                let orders = self.customers_of(district).count() as i64;
                self.row(table, Key::One(district), &[orders, ordered, 0, 0])
            })),
            CUSTOMER => Box::new(orders.map(move |(_, order, customer)| {
                let total = self.loaded_total(customer);
                self.row(
                    table,
                    Key::One(customer),
                    &[customer as i64, total, total, 0, 1, 0, order],
                )
            })),
            STOCK => Box::new(orders.map(move |(_, _, item)| {
                let sold = LOADED_LINES as i64 * LOADED_QUANTITY;
                self.row(
                    table,
                    Key::One(item),
                    &[STOCK_AT_FIRST - sold, sold, 0, self.price_cents(item)],
                )
            })),
            ORDER => Box::new(orders.map(move |(district, order, customer)| {
                let numbers = [customer as i64, LOADED_LINES as i64, self.loaded_total(customer)];
                self.row(table, Key::Two(district, order), &numbers)
            })),
            LINE => Box::new(orders.flat_map(move |(district, order, customer)| {
                (0..LOADED_LINES).map(move |line| {
                    let item = self.loaded_item(customer, line);
                    let numbers =
                        [item as i64, LOADED_QUANTITY, LOADED_QUANTITY * self.price_cents(item)];
                    self.row(table, Key::Three(district, order, line), &numbers)
                })
            })),
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// Appends random values for the text fields of table `table`.
pub(super) fn push_texts(table: usize, random: &mut SmallRng, record: &mut Record) {
    let mut text = [0; TEXT_BYTES_MAX];
    for (_, bytes) in LAYOUTS[table].texts {
        let text = &mut text[..*bytes];
        printable(random, text);
        record.push(text);
    }
}
