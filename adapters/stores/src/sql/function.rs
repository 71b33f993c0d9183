//! Values that go through a function of the server itself: its row in a dialect. Not here: the rows
//! (`mysql`, `postgres`), the statements (`statements`), the key (`function_key`).

use sealstone_store::ServerFunction;

/// A function of a server, as statements call it.
#[derive(Debug)]
pub struct SqlFunction {
    /// Description of the function for a comparison.
    pub function: ServerFunction,
    /// Expression for the stored form of a value, given the expression for the value in a
    /// statement.
    pub seal: fn(&str) -> String,
    /// Expression for the value that is read from a column.
    pub open: fn(&str) -> String,
    /// Makes it available in the database, where that is not the case already; and what to do if
    /// that fails.
    pub install: Option<(&'static str, &'static str)>,
    /// Gives a connection the key, its only value, in hexadecimal digits; absent for a function
    /// without one.
    pub unlock: Option<&'static str>,
}
