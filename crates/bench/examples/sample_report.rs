//! Writes reports of made-up results into a directory, for looking at the design. Nothing in them
//! was measured.
//!
//! `cargo run -p sealstone-bench --example sample_report -- DIRECTORY`

#[path = "../tests/fixtures/mod.rs"]
mod fixtures;

use std::path::PathBuf;

use sealstone_bench::report::{self, Options, summary};
use sealstone_bench::results::Results;
use sealstone_message::Language;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("name the directory to write to")?);
    std::fs::create_dir_all(&directory)?;
    let samples: [(&str, Vec<Results>); 11] = [
        ("recorded", vec![fixtures::recorded()?]),
        ("ordinary", vec![fixtures::ordinary()]),
        ("alone", vec![fixtures::alone()]),
        ("large", vec![fixtures::large()]),
        ("interrupted", vec![fixtures::interrupted()]),
        ("undecided", vec![fixtures::undecided()]),
        ("places", vec![fixtures::places()]),
        ("two-machines", fixtures::two_machines()),
        ("korean", vec![fixtures::korean()]),
        ("extreme", vec![fixtures::extreme()]),
        ("hostile", vec![fixtures::hostile()]),
    ];
    for (name, results) in samples {
        let options = Options {
            title: Some(format!("MADE-UP DATA, nothing was measured ({name})")),
            ..Options::default()
        };
        let path = directory.join(format!("{name}.html"));
        std::fs::write(&path, report::html_with(&results, &options)?)?;
        let korean = Options { language: Language::Korean, ..options.clone() };
        std::fs::write(
            directory.join(format!("{name}-ko.html")),
            report::html_with(&results, &korean)?,
        )?;
        for (name, options) in [(name.to_owned(), &options), (format!("{name}-ko"), &korean)] {
            let path = directory.join(format!("{name}-summary.html"));
            std::fs::write(path, report::one_page(&results, options)?)?;
        }
        println!("=== {}\n{}", path.display(), summary::screen(&results[0], 80, false));
    }
    Ok(())
}
