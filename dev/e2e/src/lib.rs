#![forbid(unsafe_code)]
//! Parts shared by the end-to-end tests: the binary under test, and a way to run it and check its
//! output.
//!
//! Not here: the tests themselves (`tests/`).

pub mod approved_lists;
pub mod binary;
pub mod crash_check;
pub mod crash_load;
pub mod failing_opencl;
pub mod help;
pub mod kmip_anchor_cases;
pub mod kmip_cases;
pub mod kmip_server;
pub mod ldb;
pub mod mariadb_place;
pub mod mongod;
pub mod mongod_place;
pub mod mysql_server;
pub mod pages;
pub mod promtool;
pub mod python_package;
pub mod redis_protocol;
pub mod rocksdb_tools;
pub mod sealed_by_hand;
pub mod sealed_places;
pub mod softhsm;
pub mod sql_server;
pub mod terminal;
pub mod transcript;
pub mod user_mode_kernel;
pub mod volume_place;
pub mod wiredtiger_attack;
pub mod wiredtiger_files;
pub mod wiredtiger_journal;
pub mod wiredtiger_program;
