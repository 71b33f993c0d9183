//! Draws the picture in README from the samples recorded in `results/default-run.csv`.
//!
//! `cargo run -p sealstone-bench --example readme_picture > docs/report.svg`

#[path = "../tests/fixtures/mod.rs"]
mod fixtures;

use sealstone_bench::report::{self, Options, Theme};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let recorded = [fixtures::recorded()?];
    let pictures = report::pictures(&recorded, &Options::default(), Theme::OfReader)?;
    print!("{}", pictures.first().ok_or("nothing was compared")?.svg);
    Ok(())
}
