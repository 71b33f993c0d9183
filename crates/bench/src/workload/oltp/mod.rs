//! `oltp`: an order-entry mix of 80 % reading and 20 % updating transactions by 80 clients, after
//! the study that measured the cost of encryption for an OLTP system.
//!
//! In the spirit of TPC-C and much smaller; its figures are not TPC-C's. Customers belong to
//! districts; an order takes items from stock and puts its total on the customer's account; a
//! payment takes it off. Orders and payments are kept in several tables, so that a lost or
//! half-applied transaction shows as books that do not balance.
//!
//! Every transaction locks in the order customer, stock by ascending number, district; so there can
//! be no deadlock.

mod books;
mod tables;

use std::sync::Arc;
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use self::books::Books;
use self::tables::{
    BYTES_PER_CUSTOMER, CUSTOMER, DISTRICT, DataSet, Key, LINE, LOADED_LINES, ORDER, PAID, STOCK,
    STOCK_REFILL, customer, district, line, order, stock,
};
use super::contract::{
    Client, Done, Position, Recorder, SizedBy, Spec, Unit, Workload, eighth, split,
};
use super::distribution::{HotSpot, stream};
use super::entry::{Entry, Make};
use super::error::Error;
use super::setting::Setting;
use super::sorted_load::load_sorted;
use super::sources::Sources;
use sealstone_store::{Record, StoreError, Table, Target, Transaction};

pub(super) const OLTP: Entry = Entry::row(SPEC, &OrderEntry);

const SPEC: Spec = Spec {
    name: "oltp",
    base: "oltp",
    setting: Setting::Warm,
    settings: &[Setting::Cold, Setting::Sync],
    label: "order entry",
    description: "order entry by 80 clients: 80 % reading, 20 % updating transactions",
    unit: Unit::Operations,
    dataset: "oltp",
    clients: Some(80),
    device: false,
    cold: false,
    from_empty: false,
    sized_by: SizedBy::EighthOfBytes,
    checks_values: true,
    cache_hits_min: 0.95,
    remark: Some("after TPC-C and much smaller: its figures are not TPC-C's"),
};

/// The share of customers and items that are hot: a fifth, which gets nine tenths of the requests.
/// They are adjacent, so that their pages stay cached.
const HOT_PART: f64 = 0.2;
const HOT_SHARE: f64 = 0.9;

/// Fewest and most lines of a new order.
const LINES: (usize, usize) = (5, 10);
/// Most pieces in a line of a new order.
const QUANTITY_MAX: i64 = 10;
/// An item's stock is refilled when fewer than this many pieces would be left.
const STOCK_LOW: i64 = 20;
/// Most cents in a payment.
const PAYMENT_CENTS_MAX: i64 = 500_000;
/// Orders of a district that a stock-level check looks through, the newest.
const CHECKED_ORDERS: i64 = 2;

/// The transactions, with the share of each in percent. The first three only read.
const MIX: [(&str, u8); 5] = [
    ("order-status", 30),
    ("customer-lookup", 30),
    ("stock-level", 20),
    ("payment", 10),
    ("new-order", 10),
];

/// The workload.
struct Oltp {
    spec: Spec,
    data: Arc<DataSet>,
    operations: u64,
}

/// Kind of the workload.
#[derive(Debug)]
struct OrderEntry;

impl Make for OrderEntry {
    fn make(&self, spec: &Spec, sources: &Sources) -> Result<Box<dyn Workload>, Error> {
        let data = sources.data;
        Ok(Box::new(Oltp {
            spec: spec.clone(),
            data: Arc::new(DataSet::new(eighth(data.bytes), data.seed)),
            operations: data.operations,
        }))
    }
}

impl Workload for Oltp {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn tables(&self) -> &[Arc<Table>] {
        &self.data.tables
    }

    fn load_rows(&self) -> u64 {
        self.data.districts + self.data.customers * (3 + LOADED_LINES)
    }

    fn load(
        &self,
        target: Target<'_>,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError> {
        let store = target.records("loading")?;
        let districts = split(self.data.districts, part, parts);
        if districts.is_empty() {
            return Ok(());
        }
        [DISTRICT, CUSTOMER, STOCK, ORDER, LINE].into_iter().try_for_each(|table| {
            load_sorted(
                store,
                &self.data.tables[table],
                self.data.rows(table, districts.clone()),
                progress,
            )
        })
    }

    fn data_bytes(&self) -> u64 {
        self.data.customers * BYTES_PER_CUSTOMER
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn client(&self, at: Position) -> Box<dyn Client> {
        let place = [at.round, at.slice, at.client].map(|number| number as u64);
        let hot = |count: u64| HotSpot::new(count, (count as f64 * HOT_PART) as u64, HOT_SHARE);
        Box::new(OltpClient {
            customers: hot(self.data.customers),
            items: hot(self.data.items()),
            random: stream(self.data.seed, SPEC.name, &place),
            data: Arc::clone(&self.data),
            lines: Vec::new(),
            memory: Memory::default(),
        })
    }

    fn check(&self, target: Target<'_>) -> Result<(), StoreError> {
        Books::read(&self.data, target.records(SPEC.name)?)?.balance()
    }
}

/// A line of a new order.
#[derive(Clone, Copy, Debug)]
struct NewLine {
    item: u64,
    quantity: i64,
}

/// Request of a client, drawn before the transaction begins, because a conflict runs its body
/// again.
#[derive(Clone, Copy, Debug)]
enum Request<'a> {
    OrderStatus { customer: u64 },
    CustomerLookup { customer: u64 },
    StockLevel { district: u64 },
    Payment { customer: u64, amount_cents: i64 },
    NewOrder { customer: u64, lines: &'a [NewLine] },
}

struct OltpClient {
    data: Arc<DataSet>,
    customers: HotSpot,
    items: HotSpot,
    random: SmallRng,
    lines: Vec<NewLine>,
    memory: Memory,
}

/// Memory that a client reuses from transaction to transaction.
#[derive(Default)]
struct Memory {
    key: Vec<u8>,
    row: Record,
    changed: Record,
}

impl OltpClient {
    /// Draws the lines of a new order into `lines`: different items, ascending, since that is the
    /// order of locking.
    fn draw_lines(&mut self) {
        self.lines.clear();
        let count = self.random.random_range(LINES.0..=LINES.1);
        while self.lines.len() < count {
            let item = self.items.draw(&mut self.random);
            let quantity = self.random.random_range(1..=QUANTITY_MAX);
            if self.lines.iter().all(|line| line.item != item) {
                self.lines.push(NewLine { item, quantity });
            }
        }
        self.lines.sort_unstable_by_key(|line| line.item);
    }

    /// Draws which transaction of `MIX` comes next.
    fn draw_transaction(&mut self) -> usize {
        let mut left = self.random.random_range(0..100_u8);
        let chosen = MIX
            .iter()
            .position(|&(_, share)| left.checked_sub(share).map(|rest| left = rest).is_none());
        chosen.expect("the shares add up to 100")
    }
}

impl Client for OltpClient {
    fn next(
        &mut self,
        target: Target<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let Some(transactional) = target.records("oltp")?.transactional() else {
            return Err(StoreError::Lacks { caller: "oltp", ability: "atomic transactions" });
        };
        let chosen = self.draw_transaction();
        let customer = self.customers.draw(&mut self.random);
        let text_seed = self.random.random();
        let request = match chosen {
            0 => Request::OrderStatus { customer },
            1 => Request::CustomerLookup { customer },
            2 => Request::StockLevel { district: self.data.district_of(customer) },
            3 => Request::Payment {
                customer,
                amount_cents: self.random.random_range(1..=PAYMENT_CENTS_MAX),
            },
            _ => {
                self.draw_lines();
                Request::NewOrder { customer, lines: &self.lines }
            }
        };
        let mut done = Done::default();
        let start = Instant::now();
        transactional.transaction(&mut |transaction| {
            let memory = &mut self.memory;
            let mut work =
                Work { data: &self.data, transaction, memory, text_seed, done: Done::default() };
            work.run(request)?;
            done = work.done;
            Ok(())
        })?;
        recorder.record(MIX[chosen].0, start);
        Ok(done)
    }
}

/// One transaction at work.
struct Work<'a> {
    data: &'a DataSet,
    transaction: &'a mut dyn Transaction,
    memory: &'a mut Memory,
    /// Decides the texts of new rows.
    text_seed: u64,
    done: Done,
}

impl Work<'_> {
    fn run(&mut self, request: Request) -> Result<(), StoreError> {
        match request {
            Request::OrderStatus { customer } => self.order_status(customer),
            Request::CustomerLookup { customer } => self.customer_lookup(customer),
            Request::StockLevel { district } => self.stock_level(district),
            Request::Payment { customer, amount_cents } => self.payment(customer, amount_cents),
            Request::NewOrder { customer, lines } => self.new_order(customer, lines),
        }
    }

    /// Reads a row that must be there into `memory.row`.
    fn read(&mut self, table: usize, key: Key, for_update: bool) -> Result<(), StoreError> {
        key.write(&mut self.memory.key);
        let Memory { key, row, .. } = &mut *self.memory;
        if !self.transaction.read(&self.data.tables[table], key, for_update, row)? {
            let (key, table) = (String::from_utf8_lossy(key), &self.data.tables[table].name);
            return Err(StoreError::Differs(format!(
                "row {key} of {table} is not in the store, although it was committed"
            )));
        }
        self.done.rows += 1;
        self.done.bytes += row.bytes() as u64;
        Ok(())
    }

    /// Returns number field `field` of `memory.row`, which is of table `table`.
    fn number(&self, table: usize, field: usize) -> Result<i64, StoreError> {
        tables::number(&self.data.tables[table], &self.memory.row, field)
    }

    /// Writes `memory.row` back with `changes` to its number fields.
    fn rewrite(
        &mut self,
        table: usize,
        key: Key,
        changes: &[(usize, i64)],
    ) -> Result<(), StoreError> {
        tables::change(&self.memory.row, changes, &mut self.memory.changed);
        self.write(table, key)
    }

    /// Writes a new row with `numbers` and random texts.
    fn create(
        &mut self,
        table: usize,
        key: Key,
        numbers: &[i64],
        random: &mut SmallRng,
    ) -> Result<(), StoreError> {
        self.memory.changed.clear();
        numbers.iter().for_each(|&number| tables::push_number(number, &mut self.memory.changed));
        tables::push_texts(table, random, &mut self.memory.changed);
        self.done.rows += 1;
        self.write(table, key)
    }

    /// Writes `memory.changed`.
    fn write(&mut self, table: usize, key: Key) -> Result<(), StoreError> {
        key.write(&mut self.memory.key);
        self.done.bytes += self.memory.changed.bytes() as u64;
        self.transaction.put(&self.data.tables[table], &self.memory.key, &self.memory.changed)
    }

    /// Reads the status of a customer's last order: customer, order, its lines.
    fn order_status(&mut self, customer: u64) -> Result<(), StoreError> {
        self.read(CUSTOMER, Key::One(customer), false)?;
        let last = self.number(CUSTOMER, customer::LAST_ORDER)?;
        let name = self.number(CUSTOMER, customer::NUMBER)?;
        let district = self.data.district_of(customer);
        self.read(ORDER, Key::Two(district, last), false)?;
        let owner = self.number(ORDER, order::CUSTOMER)?;
        if owner != name {
            let message = format!(
                "customer {name}'s last order {district}/{last} belongs to customer {owner}"
            );
            return Err(StoreError::Differs(message));
        }
        for line in 0..self.number(ORDER, order::LINE_COUNT)? as u64 {
            self.read(LINE, Key::Three(district, last, line), false)?;
        }
        Ok(())
    }

    /// Reads a customer's account: customer and district.
    fn customer_lookup(&mut self, customer: u64) -> Result<(), StoreError> {
        self.read(CUSTOMER, Key::One(customer), false)?;
        self.read(DISTRICT, Key::One(self.data.district_of(customer)), false)
    }

    /// Is enough left of what a district ordered last? District, its newest orders, their lines,
    /// the stock of each.
    fn stock_level(&mut self, district: u64) -> Result<(), StoreError> {
        self.read(DISTRICT, Key::One(district), false)?;
        let next = self.number(DISTRICT, district::NEXT_ORDER)?;
        for number in (next - CHECKED_ORDERS).max(0)..next {
            self.read(ORDER, Key::Two(district, number), false)?;
            for line in 0..self.number(ORDER, order::LINE_COUNT)? as u64 {
                self.read(LINE, Key::Three(district, number, line), false)?;
                let item = self.number(LINE, line::ITEM)? as u64;
                self.read(STOCK, Key::One(item), false)?;
            }
        }
        Ok(())
    }

    /// Runs a payment: off the account, into the district's till, and a receipt.
    fn payment(&mut self, customer: u64, amount_cents: i64) -> Result<(), StoreError> {
        self.read(CUSTOMER, Key::One(customer), true)?;
        let name = self.number(CUSTOMER, customer::NUMBER)?;
        let changes = [
            (customer::BALANCE, self.number(CUSTOMER, customer::BALANCE)? - amount_cents),
            (customer::PAID, self.number(CUSTOMER, customer::PAID)? + amount_cents),
            (customer::PAYMENTS, self.number(CUSTOMER, customer::PAYMENTS)? + 1),
        ];
        self.rewrite(CUSTOMER, Key::One(customer), &changes)?;

        let district = self.data.district_of(customer);
        self.read(DISTRICT, Key::One(district), true)?;
        let payments = self.number(DISTRICT, district::PAYMENTS)?;
        let changes = [
            (district::PAID, self.number(DISTRICT, district::PAID)? + amount_cents),
            (district::PAYMENTS, payments + 1),
        ];
        self.rewrite(DISTRICT, Key::One(district), &changes)?;
        let mut random = SmallRng::seed_from_u64(self.text_seed);
        self.create(PAID, Key::Two(district, payments), &[name, amount_cents], &mut random)
    }

    /// Runs an order: off the stock, onto the account, and the order with its lines.
    fn new_order(&mut self, customer: u64, lines: &[NewLine]) -> Result<(), StoreError> {
        self.read(CUSTOMER, Key::One(customer), true)?;
        let customer_row = std::mem::take(&mut self.memory.row);
        let result = self.order_items(customer, &customer_row, lines);
        self.memory.row = customer_row;
        result
    }

    fn order_items(
        &mut self,
        customer: u64,
        customer_row: &Record,
        lines: &[NewLine],
    ) -> Result<(), StoreError> {
        let of_customer =
            |work: &Self, field| tables::number(&work.data.tables[CUSTOMER], customer_row, field);
        let mut amounts = [0; LINES.1];
        for (line, amount) in lines.iter().zip(&mut amounts) {
            *amount = line.quantity * self.take_from_stock(*line)?;
        }
        let total: i64 = amounts.iter().sum();

        let district = self.data.district_of(customer);
        self.read(DISTRICT, Key::One(district), true)?;
        let number = self.number(DISTRICT, district::NEXT_ORDER)?;
        let ordered = self.number(DISTRICT, district::ORDERED)? + total;
        let changes = [(district::NEXT_ORDER, number + 1), (district::ORDERED, ordered)];
        self.rewrite(DISTRICT, Key::One(district), &changes)?;

        let changes = [
            (customer::BALANCE, of_customer(self, customer::BALANCE)? + total),
            (customer::ORDERED, of_customer(self, customer::ORDERED)? + total),
            (customer::ORDERS, of_customer(self, customer::ORDERS)? + 1),
            (customer::LAST_ORDER, number),
        ];
        tables::change(customer_row, &changes, &mut self.memory.changed);
        self.write(CUSTOMER, Key::One(customer))?;

        let mut random = SmallRng::seed_from_u64(self.text_seed);
        let numbers = [of_customer(self, customer::NUMBER)?, lines.len() as i64, total];
        self.create(ORDER, Key::Two(district, number), &numbers, &mut random)?;
        for (at, (line, amount)) in (0..).zip(lines.iter().zip(amounts)) {
            let numbers = [line.item as i64, line.quantity, amount];
            self.create(LINE, Key::Three(district, number, at), &numbers, &mut random)?;
        }
        Ok(())
    }

    /// Takes the items of `line` from stock. Returns the price of a piece, in cents.
    fn take_from_stock(&mut self, line: NewLine) -> Result<i64, StoreError> {
        self.read(STOCK, Key::One(line.item), true)?;
        let left = self.number(STOCK, stock::QUANTITY)? - line.quantity;
        let refill = i64::from(left < STOCK_LOW);
        let changes = [
            (stock::QUANTITY, left + refill * STOCK_REFILL),
            (stock::SOLD, self.number(STOCK, stock::SOLD)? + line.quantity),
            (stock::REFILLS, self.number(STOCK, stock::REFILLS)? + refill),
        ];
        self.rewrite(STOCK, Key::One(line.item), &changes)?;
        self.number(STOCK, stock::PRICE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::plan::Plan;
    use crate::workload::testing::{
        self, Journal, Names, alone, assert_distributed, load, make, run,
    };
    use sealstone_store::{MemoryStore, Store};

    fn plan() -> Plan {
        Plan { bytes: 3_200_000, ..testing::plan() }
    }

    /// Returns a loaded store, its workload, and a number field of one row that can be changed.
    fn loaded() -> (Box<dyn Workload>, MemoryStore) {
        let (workload, store) = (make(&plan(), "oltp"), MemoryStore::new());
        load(&*workload, &store, 3);
        (workload, store)
    }

    #[test]
    fn loading_writes_what_it_announces_and_books_that_balance() {
        for (plain, call) in [(false, "bulk "), (true, "insert ")] {
            let (workload, store) =
                (make(&plan(), "oltp"), Journal { plain, ..Journal::default() });
            let rows = load(&*workload, &store, 3);
            let calls = store.take();
            assert_eq!((rows, calls.len() as u64), (workload.load_rows(), workload.load_rows()));
            assert!(calls.iter().all(|line| line.starts_with(call)));
            workload.check((&store).into()).unwrap();
        }
    }

    #[test]
    fn the_data_has_the_size_asked_for() {
        let (workload, store) = loaded();
        let mut bytes = 0;
        for table in workload.tables() {
            store
                .scan(table, b"", usize::MAX, &mut |_, record| bytes += record.bytes() as u64)
                .unwrap();
        }
        let asked = eighth(plan().bytes);
        assert!((asked - 900..=asked).contains(&workload.data_bytes()));
        assert!(
            (asked * 95 / 100..asked * 105 / 100).contains(&bytes),
            "{bytes} bytes stored, {asked} asked for"
        );
    }

    #[test]
    fn every_customer_belongs_to_the_district_that_has_it() {
        for bytes in [0, 50_000, 99_000, 101_000, 1_234_567] {
            let data = DataSet::new(bytes, 1);
            let mut customers = 0;
            for district in 0..data.districts {
                for customer in data.customers_of(district) {
                    assert_eq!(data.district_of(customer), district);
                    customers += 1;
                }
            }
            assert_eq!(customers, data.customers);
        }
    }

    #[test]
    fn keys_sort_by_their_numbers() {
        let name = |key: Key| {
            let mut name = Vec::new();
            key.write(&mut name);
            String::from_utf8(name).unwrap()
        };
        assert_eq!(name(Key::One(0)), "000000000000");
        assert_eq!(name(Key::One(907)), "000000000907");
        assert_eq!(name(Key::One(999_999_999_999)), "999999999999");
        assert_eq!(name(Key::Two(12, 30)), "0000000012-0000000030");
        assert_eq!(name(Key::Three(12, 30, 9)), "0000000012-0000000030-09");
    }

    #[test]
    fn four_fifths_of_the_transactions_only_read() {
        let (workload, store) = loaded();
        let (names, done) = run(&mut *workload.client(alone(0, 0)), &store, 10_000);
        let counts: Vec<u64> = MIX.iter().map(|(name, _)| names.count(name) as u64).collect();
        assert_eq!(counts.iter().sum::<u64>(), 10_000);
        assert_distributed(&counts, &MIX.map(|(_, share)| f64::from(share) / 100.0));
        assert!(done.rows > 50_000);

        let journal = Journal { store, ..Journal::default() };
        let mut client = workload.client(alone(0, 1));
        for _ in 0..1_000 {
            let mut names = Names::default();
            client.next((&journal).into(), &mut names).unwrap();
            let reads = ["order-status", "customer-lookup", "stock-level"].contains(&names.0[0]);
            let calls = journal.take();
            assert_eq!(
                reads,
                !calls.iter().any(|call| call.starts_with("put ") || call.starts_with("lock "))
            );
            assert_eq!(calls.iter().filter(|call| *call == "begin").count(), 1);
        }
    }

    #[test]
    fn locks_are_taken_in_one_order() {
        let (workload, store) = loaded();
        let journal = Journal { store, ..Journal::default() };
        run(&mut *workload.client(alone(0, 0)), &journal, 2_000);
        let calls = journal.take();
        let mut orders = 0;
        for transaction in calls.split(|call| call == "begin") {
            let lock = |call: &String| {
                let (table, key) = call.strip_prefix("lock ")?.split_once(' ')?;
                let table = ["customer", "stock", "district"]
                    .iter()
                    .position(|name| *name == table)
                    .unwrap();
                Some((table, key.to_owned()))
            };
            let locks: Vec<_> = transaction.iter().filter_map(lock).collect();
            assert!(locks.is_sorted_by(|a, b| a < b), "{locks:?}");
            // whatever is written and was there before was locked first
            for put in transaction.iter().filter_map(|call| call.strip_prefix("put ")) {
                let mut words = put.split(' ');
                let name = format!("lock {} {}", words.next().unwrap(), words.next().unwrap());
                let new =
                    ["orders", "order_line", "payment"].iter().any(|table| put.starts_with(table));
                assert!(new || transaction.contains(&name), "{name}");
            }
            orders += usize::from(locks.len() > 2);
        }
        assert!(orders > 100);
    }

    #[test]
    fn two_variants_are_asked_the_same_and_two_rounds_are_not() {
        let calls = |variant, round| {
            let (workload, store) = loaded();
            let journal = Journal { store, ..Journal::default() };
            run(&mut *workload.client(alone(variant, round)), &journal, 500);
            journal.take()
        };
        let first = calls(0, 0);
        assert_eq!(first, calls(1, 0));
        assert_ne!(first, calls(1, 1));
    }

    #[test]
    fn the_books_balance_after_many_clients_at_once() {
        let (workload, store) = loaded();
        assert_eq!(workload.spec().clients, Some(80));
        let client = |client| {
            let mut client = workload.client(Position { client, clients: 80, ..alone(0, 0) });
            run(&mut *client, &store, 100);
        };
        std::thread::scope(|scope| {
            (0..80).for_each(|number| drop(scope.spawn(move || client(number))))
        });
        workload.check((&store).into()).unwrap();
        let mut payments = 0;
        store.scan(&workload.tables()[PAID], b"", usize::MAX, &mut |_, _| payments += 1).unwrap();
        assert!((600..1_000).contains(&payments), "{payments} payments in 8,000 transactions");
    }

    /// Returns the error of the check after number field `field` of row `key` of table `table` was
    /// raised by one.
    fn check_error(table: usize, key: Key, field: usize) -> String {
        let (workload, store) = loaded();
        run(&mut *workload.client(alone(0, 0)), &store, 500);
        let table = &workload.tables()[table];
        let (mut name, mut row, mut changed) = (Vec::new(), Record::new(), Record::new());
        key.write(&mut name);
        assert!(store.read(table, &name, None, &mut row).unwrap());
        let value = tables::number(table, &row, field).unwrap();
        tables::change(&row, &[(field, value + 1)], &mut changed);
        store.insert(table, &name, &changed).unwrap();
        let error = workload.check((&store).into()).unwrap_err().to_string();
        // figures depend on the draws
        let mut hidden = String::new();
        for character in error.chars() {
            match character.is_ascii_digit() {
                true if hidden.ends_with('#') => {}
                true => hidden.push('#'),
                false => hidden.push(character),
            }
        }
        hidden
    }

    #[test]
    fn the_check_notices_what_was_applied_in_part() {
        let books = |left: &str, right: &str| {
            format!(
                "the books of oltp do not balance: {left} #, {right} #\na transaction was lost or \
                 applied in part"
            )
        };
        let one = Key::One(0);
        assert_eq!(
            check_error(DISTRICT, one, district::PAID),
            books("cents of all payments", "cents paid in districts")
        );
        assert_eq!(
            check_error(DISTRICT, one, district::NEXT_ORDER),
            books("orders in the store", "orders counted by districts")
        );
        assert_eq!(
            check_error(ORDER, Key::Two(0, 0), order::TOTAL),
            books("cents of all orders", "cents ordered by customers")
        );
        assert_eq!(
            check_error(LINE, Key::Three(0, 0, 0), line::QUANTITY),
            books("pieces of all order lines", "pieces taken from stock")
        );
        assert_eq!(
            check_error(CUSTOMER, one, customer::ORDERS),
            books("orders in the store", "orders counted by customers")
        );
        let balance = check_error(CUSTOMER, one, customer::BALANCE);
        assert!(
            balance.starts_with("customer # ordered for # cents and paid #, yet the balance is #"),
            "{balance}"
        );
        let stock = check_error(STOCK, one, stock::SOLD);
        assert!(
            stock.starts_with(
                "an item of which # pieces were sold and # times # refilled has # left"
            ),
            "{stock}"
        );
    }

    #[test]
    fn missing_or_damaged_rows_are_errors() {
        let workload = make(&plan(), "oltp");
        let next =
            |target: Target<'_>| workload.client(alone(0, 0)).next(target, &mut Names::default());
        let gone = next((&MemoryStore::new()).into()).unwrap_err().to_string();
        assert!(
            gone.starts_with("row 00")
                && gone.ends_with(" is not in the store, although it was committed"),
            "{gone}"
        );
        let plain =
            next((&Journal { plain: true, ..Journal::default() }).into()).unwrap_err().to_string();
        assert_eq!(plain, "oltp needs atomic transactions, which this store lacks");

        let (workload, store) = loaded();
        let mut name = Vec::new();
        Key::One(0).write(&mut name);
        store.update(&workload.tables()[CUSTOMER], &name, &[(customer::PAID, b"1x")]).unwrap();
        let damaged = workload.check((&store).into()).unwrap_err().to_string();
        assert_eq!(damaged, "a row of customer came back damaged: paid_cents is not a number");
        let empty = workload.check((&MemoryStore::new()).into()).unwrap_err().to_string();
        assert_eq!(
            empty,
            "the books of oltp do not balance: customers in the store 0, customers loaded 444\n\
             a transaction was lost or applied in part"
        );
    }
}
