//! The tables of docs/guide/which-place.md agree with the program.

use sealstone_bench::words::Threat;
use sealstone_bench::words::{Place, entry};

/// Returns the tables of threats, of the protection of each place, and of the reasons.
fn tables() -> [String; 3] {
    let mut people = String::from("| name | who |\n|---|---|\n");
    for threat in Threat::ALL {
        people.push_str(&format!("| `{}` | {} |\n", threat.name(), threat.definition()));
    }
    let names = Threat::ALL.map(|threat| format!("`{}`", threat.name())).join(" | ");
    let mut places = format!("| | {names} |\n|{}\n", "---|".repeat(Threat::ALL.len() + 1));
    let mut reasons = String::from("| place | from | | why | source |\n|---|---|---|---|---|\n");
    for place in Place::ALL {
        let words = Threat::ALL.map(|threat| entry(place, threat).at(false).0.word());
        places.push_str(&format!("| {} | {} |\n", place.name(), words.join(" | ")));
        for threat in Threat::ALL {
            let entry = entry(place, threat);
            let (protection, mut reason) = (entry.protection.word(), entry.reason.to_owned());
            if let Some((within, why)) = entry.within_process {
                reason.push_str(&format!(
                    ". Within the process of its client: {}, {why}",
                    within.word()
                ));
            }
            let sources: Vec<String> = entry
                .sources
                .iter()
                .map(|source| format!("{} ({})", source.title, source.shown_by))
                .collect();
            let (place, threat) = (place.name(), threat.name());
            reasons.push_str(&format!(
                "| {place} | `{threat}` | {protection} | {reason} | {} |\n",
                sources.join("; ")
            ));
        }
    }
    [people, places, reasons]
}

#[test]
fn the_page_has_the_tables_of_the_program() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/which-place.md");
    let page = std::fs::read_to_string(path).unwrap();
    for table in tables() {
        assert!(page.contains(&table), "not in {path}:\n{table}");
    }
}
