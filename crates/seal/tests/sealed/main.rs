//! Sealed files from outside: what is written reads back, and nothing else does.

mod engine_page;
mod fixture;
mod frames;
mod golden;
mod header;
mod paged;
mod rewrap;
mod toy;
mod toy_engine;
