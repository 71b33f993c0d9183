//! Standard texts, for crates whose package has no licence but whose manifest names one.

use anyhow::{Result, bail};

/// The Apache License 2.0, which is complete without the name of anybody.
const APACHE: &str = include_str!("../../../../LICENSE-APACHE");

/// The MIT licence, with our own line of copyright.
const MIT: &str = include_str!("../../../../LICENSE-MIT");

/// Returns a text for the crate `name`, which `authors` put under `licence`, and what it is. Where
/// there is a choice it is the Apache License, whose text is the same for everybody. Fails where
/// the licence is another one.
pub(crate) fn text(name: &str, licence: &str, authors: &[String]) -> Result<(String, String)> {
    let alternatives = licence.replace('/', " OR ");
    let offers = |wanted: &str| alternatives.split(" OR ").any(|offered| offered.trim() == wanted);
    if offers("Apache-2.0") {
        return Ok((APACHE.trim_end().to_owned(), "the standard text of Apache-2.0".into()));
    }
    if offers("MIT") && !authors.is_empty() {
        let names: Vec<&str> = authors.iter().map(|author| without_address(author)).collect();
        let holders = format!("Copyright (c) {}", names.join(", "));
        let line = |line| if is_copyright(line) { holders.as_str() } else { line };
        let text: Vec<&str> = MIT.trim_end().lines().map(line).collect();
        let what = "the standard text of MIT, with the authors that its manifest names";
        return Ok((text.join("\n"), what.into()));
    }
    let named = if licence.is_empty() { "no licence" } else { licence };
    bail!(
        "the package of {name} has no licence text, and its manifest names {named}, of which no \
         standard text is at hand\nget the text from its authors and give it as {name}=FILE"
    );
}

fn is_copyright(line: &str) -> bool {
    line.starts_with("Copyright (c)")
}

fn without_address(author: &str) -> &str {
    author.split_once(" <").map_or(author, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_text_is_that_of_a_licence_which_is_offered() {
        let authors = ["A <a@a.example>".to_owned(), "B".to_owned()];
        for licence in ["Apache-2.0", "MIT OR Apache-2.0", "MIT/Apache-2.0/BSD-3-Clause"] {
            let (text, _) = text("a", licence, &authors).unwrap();
            assert!(text.contains("Apache License"), "{licence}");
            // left for the copyright owner to fill in
            assert!(text.contains("[name of copyright owner]"), "{licence}");
        }
        let (text, _) = text("a", "MIT", &authors).unwrap();
        assert!(text.starts_with("MIT License\n\nCopyright (c) A, B\n\nPermission"), "{text}");
        assert!(!text.contains("Sealstone"), "{text}");
    }

    #[test]
    fn another_licence_fails_with_the_name_and_the_remedy() {
        let authors = ["A".to_owned()];
        for licence in ["BSD-3-Clause", "MIT AND BSD-3-Clause", "Apache-2.0 WITH LLVM-exception"] {
            let said = format!("{:#}", text("a-crate", licence, &authors).unwrap_err());
            assert!(said.contains(licence) && said.contains("a-crate=FILE"), "{said}");
        }
        assert!(text("a", "MIT", &[]).is_err());
    }
}
