#![forbid(unsafe_code)]
//! Columns of tables, sealed value by value: in their own format (FF1), so that no schema changes, or as authenticated
//! records.
//!
//! A [`policy`] says which columns of which tables are sealed and how; [`format`] has the table of formats; a
//! [`ColumnCipher`] seals and opens the values of one column, many at a time; [`csv`] does so with whole files, read
//! and written as streams; the [`manifest`] beside a sealed file says under which key it is and shows whether it is the
//! same; [`migration`] seals a table of a database in place while others use it. The guide is docs/guide/fields.md,
//! the bytes are in docs/formats.md.
//!
//! Not here: ciphers and FF1 (`sealstone-cipher`), the record of an authenticated value (`sealstone-seal`), keys
//! (`sealstone-keys`), opening and renaming files (`sealstone-cli`).

pub mod alphabet;
mod calendar;
mod column;
pub mod csv;
mod error;
mod ff1_column;
pub mod format;
mod index;
mod keyed;
pub mod manifest;
pub mod migration;
mod misfit;
pub mod policy;
mod rank;
mod record_text;
mod shape;
mod table_manifest;
mod texts;

pub use column::ColumnCipher;
pub use error::FieldsError;
pub use keyed::Keyed;
pub use misfit::Misfit;
pub use texts::Texts;
