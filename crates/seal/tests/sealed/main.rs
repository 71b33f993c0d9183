//! Sealed files from outside: only written data reads back.

mod engine_page;
mod fixture;
mod frames;
mod golden;
mod header;
mod paged;
mod rewrap;
mod toy;
mod toy_engine;
mod volume;
