//! Draws the picture in README from the samples recorded in `results/default-run.csv`.
//!
//! `cargo run -p sealstone-bench --example readme_picture > docs/report.svg`

#[path = "../tests/fixtures/mod.rs"]
mod fixtures;

use sealstone_bench::report;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", report::picture(&fixtures::recorded()?)?);
    Ok(())
}
