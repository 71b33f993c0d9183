#![forbid(unsafe_code)]
//! Columns of tables, sealed value by value: in their own format (FF1), so that no schema changes,
//! or as authenticated records.
//!
//! A [`policy`] states which columns of which tables are sealed and how; [`formats`] is the table
//! of formats; a [`ColumnCipher`] seals and opens the values of one column, many at a time; [`csv`]
//! does so with whole CSV files, read and written as streams, and [`pass`] is what passes over
//! other kinds of files have in common with that; the [`Manifest`] beside a sealed file names the
//! key that it is under and shows whether it is the same. [`Sealed`] is a data store around another
//! one, in which a [`FieldLayer`] states what is sealed; [`migration`] seals a table of a database
//! in place while others use it. The guide is docs/guide/fields.md, the bytes are in
//! docs/formats.md.
//!
//! Not here: ciphers and FF1 (`sealstone-cipher`), the record of an authenticated value
//! (`sealstone-seal`), keys (`sealstone-keys`), Parquet files (`sealstone-parquet`), opening and
//! renaming files (`sealstone-files`).
#![doc = include_str!("../README.md")]

mod alphabet;
mod any_manifest;
mod calendar;
mod column;
mod column_name;
pub mod csv;
mod error;
mod ff1_column;
mod format;
mod index;
mod layer;
mod manifest;
mod manifest_error;
mod manifest_text;
pub mod migration;
mod misfit;
pub mod pass;
mod permute;
pub mod policy;
mod rank;
mod record_text;
mod sealed_engine;
mod sealed_store;
mod shape;
mod table_key;
mod table_manifest;
mod texts;

pub use any_manifest::AnyManifest;
pub use column::ColumnCipher;
pub use column_name::places as columns_named;
pub use error::FieldsError;
pub use format::{Format, FormatError, FormatRow, formats};
pub use layer::{FieldLayer, LayerError};
pub use manifest::{ENDING as MANIFEST_ENDING, FileLayout, FileMac, Manifest};
pub use manifest_error::ManifestError;
pub use misfit::Misfit;
pub use permute::{Permutation, Permuter};
pub use sealed_engine::SealedEngine;
pub use sealed_store::{Sealed, SealedTable};
pub use table_key::{Keyed, numbered};
pub use texts::{Texts, Values};
