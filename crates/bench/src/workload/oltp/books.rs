//! Check that the books of `oltp` balance: sums over all tables that agree if, and only if, every
//! transaction was applied whole and none was lost.

use super::tables::{
    CUSTOMER, DISTRICT, DataSet, LINE, ORDER, PAID, STOCK, STOCK_AT_FIRST, STOCK_REFILL, customer,
    district, line, number, order, payment, stock,
};
use sealstone_store::{Record, Store, StoreError, Table};

/// Rows read at a time.
const PAGE_ROWS: usize = 1_000;

/// Sums over all tables.
#[derive(Debug, Default)]
pub(super) struct Books {
    customers: Customers,
    districts: Districts,
    stock: Stock,
    orders: Orders,
    lines: Lines,
    payments: Payments,
    expected_customers: i64,
    expected_districts: i64,
}

#[derive(Debug, Default)]
struct Customers {
    rows: i64,
    ordered: i64,
    paid: i64,
    orders: i64,
    payments: i64,
}

#[derive(Debug, Default)]
struct Districts {
    rows: i64,
    orders: i64,
    ordered: i64,
    paid: i64,
    payments: i64,
}

#[derive(Debug, Default)]
struct Stock {
    rows: i64,
    sold: i64,
}

#[derive(Debug, Default)]
struct Orders {
    rows: i64,
    lines: i64,
    total: i64,
}

#[derive(Debug, Default)]
struct Lines {
    rows: i64,
    quantity: i64,
    amount: i64,
}

#[derive(Debug, Default)]
struct Payments {
    rows: i64,
    amount: i64,
}

impl Books {
    /// Reads every row of every table.
    ///
    /// # Errors
    /// The store's error, a damaged row, a row that does not add up by itself.
    pub(super) fn read(data: &DataSet, store: &dyn Store) -> Result<Self, StoreError> {
        let mut books = Self {
            expected_customers: data.customers as i64,
            expected_districts: data.districts as i64,
            ..Self::default()
        };
        let Self { customers, districts, stock, orders, lines, payments, .. } = &mut books;
        let read = |table: usize, add: &mut dyn FnMut(Numbers) -> Result<(), StoreError>| {
            let table = &*data.tables[table];
            each_row(store, table, &mut |record| add(&|field| number(table, record, field)))
        };
        read(CUSTOMER, &mut |row| customers.add(row))?;
        read(DISTRICT, &mut |row| districts.add(row))?;
        read(STOCK, &mut |row| stock.add(row))?;
        read(ORDER, &mut |row| orders.add(row))?;
        read(LINE, &mut |row| lines.add(row))?;
        read(PAID, &mut |row| payments.add(row))?;
        Ok(books)
    }

    /// Compares the sums.
    ///
    /// # Errors
    /// The first two that differ.
    pub(super) fn balance(&self) -> Result<(), StoreError> {
        let Self { customers, districts, stock, orders, lines, payments, .. } = self;
        let equal = |left: (&str, i64), right: (&str, i64)| match left.1 == right.1 {
            true => Ok(()),
            false => Err(StoreError::Differs(format!(
                "the books of oltp do not balance: {} {}, {} {}\na transaction was lost or applied \
                 in part",
                left.0, left.1, right.0, right.1
            ))),
        };
        equal(
            ("customers in the store", customers.rows),
            ("customers loaded", self.expected_customers),
        )?;
        equal(("items in the store", stock.rows), ("items loaded", self.expected_customers))?;
        equal(
            ("districts in the store", districts.rows),
            ("districts loaded", self.expected_districts),
        )?;
        equal(
            ("orders in the store", orders.rows),
            ("orders counted by districts", districts.orders),
        )?;
        equal(
            ("orders in the store", orders.rows),
            ("orders counted by customers", customers.orders),
        )?;
        equal(
            ("order lines in the store", lines.rows),
            ("order lines counted by orders", orders.lines),
        )?;
        equal(
            ("cents of all orders", orders.total),
            ("cents ordered by customers", customers.ordered),
        )?;
        equal(
            ("cents of all orders", orders.total),
            ("cents ordered in districts", districts.ordered),
        )?;
        equal(("cents of all orders", orders.total), ("cents of all order lines", lines.amount))?;
        equal(
            ("pieces of all order lines", lines.quantity),
            ("pieces taken from stock", stock.sold),
        )?;
        equal(
            ("payments in the store", payments.rows),
            ("payments counted by districts", districts.payments),
        )?;
        equal(
            ("payments in the store", payments.rows),
            ("payments counted by customers", customers.payments),
        )?;
        equal(
            ("cents of all payments", payments.amount),
            ("cents paid by customers", customers.paid),
        )?;
        equal(
            ("cents of all payments", payments.amount),
            ("cents paid in districts", districts.paid),
        )
    }
}

/// Returns a number field of a row.
type Numbers<'a> = &'a dyn Fn(usize) -> Result<i64, StoreError>;

impl Customers {
    fn add(&mut self, row: Numbers) -> Result<(), StoreError> {
        let (balance, ordered, paid) =
            (row(customer::BALANCE)?, row(customer::ORDERED)?, row(customer::PAID)?);
        if balance != ordered - paid {
            return Err(StoreError::Differs(format!(
                "customer {} ordered for {ordered} cents and paid {paid}, yet the balance is \
                 {balance}",
                row(customer::NUMBER)?
            )));
        }
        self.rows += 1;
        self.ordered += ordered;
        self.paid += paid;
        self.orders += row(customer::ORDERS)?;
        self.payments += row(customer::PAYMENTS)?;
        Ok(())
    }
}

impl Districts {
    fn add(&mut self, row: Numbers) -> Result<(), StoreError> {
        self.rows += 1;
        self.orders += row(district::NEXT_ORDER)?;
        self.ordered += row(district::ORDERED)?;
        self.paid += row(district::PAID)?;
        self.payments += row(district::PAYMENTS)?;
        Ok(())
    }
}

impl Stock {
    fn add(&mut self, row: Numbers) -> Result<(), StoreError> {
        let (quantity, sold, refills) =
            (row(stock::QUANTITY)?, row(stock::SOLD)?, row(stock::REFILLS)?);
        if quantity < 0 || quantity != STOCK_AT_FIRST + refills * STOCK_REFILL - sold {
            return Err(StoreError::Differs(format!(
                "an item of which {sold} pieces were sold and {refills} times {STOCK_REFILL} \
                 refilled has {quantity} left"
            )));
        }
        self.rows += 1;
        self.sold += sold;
        Ok(())
    }
}

impl Orders {
    fn add(&mut self, row: Numbers) -> Result<(), StoreError> {
        self.rows += 1;
        self.lines += row(order::LINE_COUNT)?;
        self.total += row(order::TOTAL)?;
        Ok(())
    }
}

impl Lines {
    fn add(&mut self, row: Numbers) -> Result<(), StoreError> {
        self.rows += 1;
        self.quantity += row(line::QUANTITY)?;
        self.amount += row(line::AMOUNT)?;
        Ok(())
    }
}

impl Payments {
    fn add(&mut self, row: Numbers) -> Result<(), StoreError> {
        self.rows += 1;
        self.amount += row(payment::AMOUNT)?;
        Ok(())
    }
}

/// Calls `each` with every row of `table`, a page at a time.
fn each_row(
    store: &dyn Store,
    table: &Table,
    each: &mut dyn FnMut(&Record) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut start = Vec::new();
    let mut last = Vec::new();
    loop {
        let mut result = Ok(());
        let rows = store.scan(table, &start, PAGE_ROWS, &mut |key, record| {
            if result.is_ok() {
                result = each(record);
            }
            last.clear();
            last.extend_from_slice(key);
        });
        result?;
        if rows? < PAGE_ROWS {
            return Ok(());
        }
        // the least key after the last one seen
        last.push(0);
        std::mem::swap(&mut start, &mut last);
    }
}
