#![forbid(unsafe_code)]
//! Workloads, the runner that measures them, statistics, and the report.
//!
//! Knows the cipher table (names, standing, limits) and nothing about keys, seals or drivers: a
//! store that encrypts looks like any other.
//!
//! A *variant* is what protects a store: for each layer (`field`, `wire`, `rest`) a cipher with a
//! backend, or nothing; for the layer `server` a function of the server. A *cell* is a point on
//! named axes: variant, workload, and the axes of `words::axes`. Cells that differ only in variant
//! and workload are a *group*: they share a baseline and run in interleaved slices. The other axes
//! make groups, which are measured one after the other and are side by side in one report. Stores
//! are compared with each other only if the user asks for it, and the report then states that the
//! two were not interleaved.
//!
//! Names become values where the plan is checked (`Plan::variants`). Engines and seals get ciphers
//! and backends as values and look up none by name. Workloads on the blocks of a device are rows of
//! the same table as those on records, so slices, pairs and verdicts are the same functions.
//!
//! Nine folders, none of which uses a later one:
//!
//! - `words`: axes, sizes, rates, places, verdicts as people write them
//! - `workload`: the table of workloads, their data and their clients
//! - `study`: a comparison as it was asked for: plan, presets, machine
//! - `measure`: one slice: the runner, latencies, CPU time
//! - `results`: the record of a run, `results.json`
//! - `conclude`: from recorded slices to intervals, verdicts, rates, saturation
//! - `advise`: a cipher, a suite or places to take
//! - `compare`: a whole run, round by round, and several results together
//! - `report`: the page and the terminal screen
//!
//! ```
//! use sealstone_bench::conclude::{Estimate, judge};
//! use sealstone_bench::words::Verdict;
//!
//! // twelve pairs of slices; the one with a cipher did about four fifths of the other's work
//! let ratios = (0..12).map(|pair| 0.8 + 0.002 * f64::from(pair % 5));
//! let estimate = Estimate::from_pairs(&ratios.map(f64::ln).collect::<Vec<_>>());
//! assert_eq!(judge(&[estimate], 0.02)[0].verdict, Verdict::Costs);
//! ```
//!
//! Not here: stores (`sealstone-stores`), ciphers (`sealstone-cipher`), commands (`sealstone-cli`).

pub mod advise;
pub mod compare;
pub mod conclude;
pub mod measure;
pub mod report;
pub mod results;
pub mod study;
pub mod words;
pub mod workload;
