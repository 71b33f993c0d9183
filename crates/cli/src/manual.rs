//! Manual pages from the definition of the commands, as `mandoc -T lint` requires them. Not here:
//! their output (`shell`).

use clap::Command;
use clap_mangen::Man;
use jiff::Timestamp;

/// Section of the manual: user commands.
const SECTION: &str = "1";
/// Longest line of running text, in bytes.
const LINE_BYTES: usize = 78;

/// Returns the name of the file and the text of every page: one for each command.
pub(crate) fn pages(definition: Command) -> Vec<(String, String)> {
    // `help` has no page of its own
    let mut definition = definition.disable_help_subcommand(true);
    definition.build();
    let mut pages = Vec::new();
    of_each(definition, &mut pages);
    pages
}

fn of_each(command: Command, pages: &mut Vec<(String, String)>) {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        of_each(inner.clone(), pages);
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    pages.push((format!("{name}.{SECTION}"), page(command)));
}

/// Returns the page of `command`.
pub(crate) fn page(command: Command) -> String {
    let title = command.get_display_name().unwrap_or_else(|| command.get_name()).to_uppercase();
    let source = concat!("sealstone ", env!("CARGO_PKG_VERSION"));
    // the crate omits the text of flags that the short help does not show
    let command = command.mut_args(|flag| match flag.get_help().cloned() {
        Some(words) if flag.get_long_help().is_none() => flag.long_help(words),
        _ => flag,
    });
    let page = Man::new(command)
        .title(title)
        .section(SECTION)
        .date(date())
        .source(source)
        .manual("Sealstone");
    let mut text = Vec::new();
    page.render(&mut text).expect("memory can be written");
    tidy(&String::from_utf8(text).expect("the definition is text"))
}

/// Returns the day of a reproducible build (reproducible-builds.org), otherwise today.
fn date() -> String {
    let second = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|second| second.parse().ok());
    let time = second
        .and_then(|second| Timestamp::from_second(second).ok())
        .unwrap_or_else(Timestamp::now);
    time.strftime("%Y-%m-%d").to_string()
}

/// Returns `page` without what a reader of its source objects to: doubled breaks, blanks at ends,
/// lines that are too long.
fn tidy(page: &str) -> String {
    let page = page
        .replace("\n.br\n\n.br\n", "\n.sp\n")
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n");
    let page = page.replace(".SH EXTRA\nExample:\n", ".SH EXAMPLES\n");
    let mut tidied = String::with_capacity(page.len() + 1_000);
    for line in page.lines() {
        let line = line.trim_end();
        // requests, and examples, which begin with blanks
        if line.starts_with(['.', '\'', ' ']) {
            tidied.push_str(line);
        } else {
            wrap(line, &mut tidied);
        }
        tidied.push('\n');
    }
    tidied
}

/// Adds `line` to `into`, in several if it is long: running text is filled again when it is shown.
fn wrap(line: &str, into: &mut String) {
    let mut length = 0;
    for word in line.split(' ') {
        if length > 0 && length + 1 + word.len() > LINE_BYTES {
            into.push('\n');
            length = 0;
            // which would make it a request
            if word.starts_with(['.', '\'']) {
                into.push_str("\\&");
            }
        } else if length > 0 {
            into.push(' ');
            length += 1;
        }
        into.push_str(word);
        length += word.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages(crate::definition());
        for name in [
            "sealstone.1",
            "sealstone-compare.1",
            "sealstone-rest-verify.1",
            "sealstone-keys-new.1",
        ] {
            let (_, page) =
                pages.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}"));
            let title = name.trim_end_matches(".1").to_uppercase();
            assert!(page.contains(&format!(".TH {title} 1 ")), "{page}");
        }
        assert!(
            pages.iter().all(|(_, page)| !page.contains(".br\n\n.br") && !page.contains(" \n"))
        );
    }

    /// Flags that the short help does not show, too.
    #[test]
    fn every_flag_is_explained() {
        for (name, page) in pages(crate::definition()) {
            let bare = page.lines().collect::<Vec<_>>();
            let bare = bare
                .windows(2)
                .find(|lines| lines[0].starts_with("\\fB\\-") && lines[1].is_empty());
            assert_eq!(bare, None, "{name}");
        }
    }

    #[test]
    fn long_lines_are_broken_and_stay_text() {
        let mut wrapped = String::new();
        let words = format!("{}words", "word ".repeat(14));
        wrap(&format!("{words} .so 'twas"), &mut wrapped);
        assert_eq!(wrapped, format!("{words}\n\\&.so 'twas"));
    }
}
