//! The pages of help of the command and of every command below it, and the prose in them.

use std::path::Path;

use crate::transcript::{run, sealstone};

/// Help of one command.
#[derive(Clone, Debug)]
pub struct Help {
    /// Names of the command, such as `keys new`; empty for the program.
    pub command: String,
    /// Output of `-h`.
    pub short: String,
    /// Output of `--help`.
    pub long: String,
}

/// Returns the help of the program and of every command below it.
#[must_use]
pub fn pages() -> Vec<Help> {
    let mut pages = Vec::new();
    collect(&[], &mut pages);
    pages
}

fn collect(path: &[String], pages: &mut Vec<Help>) {
    let ask = |flag: &str| {
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain([flag]).collect();
        run(&mut sealstone(Path::new("."), &arguments)).done()
    };
    let (short, long) = (ask("-h"), ask("--help"));
    let commands = short.split("\nCommands:\n").nth(1).map(str::to_owned).unwrap_or_default();
    pages.push(Help { command: path.join(" "), short, long });
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        // what a command does goes on in lines that are further in
        let name = line.strip_prefix("  ").filter(|line| !line.starts_with(' '));
        let name = name.and_then(|line| line.split(' ').next()).filter(|name| *name != "help");
        if let Some(name) = name {
            collect(&[path, &[name.to_owned()]].concat(), pages);
        }
    }
}

/// Returns the paragraphs of a page of help: what it contains about the command, about each command
/// below it and about each flag. Usage, headings, names, examples and lists of values are none.
#[must_use]
pub fn paragraphs(help: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut pending = String::new();
    let mut is_example = false;
    for line in help.lines().chain([""]) {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        let begins = text.is_empty() || text.starts_with(['-', '[', '<']) || depth == 2;
        if begins && !pending.is_empty() {
            found.push(std::mem::take(&mut pending));
        }
        let is_heading = depth == 0 && text.ends_with(':');
        is_example = text.starts_with("sealstone ")
            || text.starts_with("Usage:")
            || (is_example && !begins && depth > 2);
        let said = match text {
            "Possible values:" => "",
            _ if text.is_empty() || is_heading || is_example || text.starts_with('[') => "",
            // a value with its meaning: `- name: meaning`
            _ if text.starts_with("- ") => text.split_once(": ").map_or("", |(_, said)| said),
            // a flag, an argument or a command, with its meaning behind it or in the next line
            _ if begins => text.split_once("  ").map_or("", |(_, said)| said.trim_start()),
            _ => text,
        };
        if !said.is_empty() {
            pending.push_str(if pending.is_empty() { "" } else { " " });
            pending.push_str(said);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Makes a key. It goes
into a file.

Usage: sealstone keys new [OPTIONS] <KEY>

Commands:
  list    Shows all keys, and
          what is in them
  help    Print this message

Arguments:
  <KEY>
          The file to make.

          [default: a.key]

Options:
      --id <ID>    Name of the key
      --kind <KIND>
          What it is for.

          Possible values:
          - a: The first
          - b: The second

Examples:
  sealstone keys new a.key
";

    #[test]
    fn prose_is_found() {
        let expected = [
            "Makes a key. It goes into a file.",
            "Shows all keys, and what is in them",
            "Print this message",
            "The file to make.",
            "Name of the key",
            "What it is for.",
            "The first",
            "The second",
        ];
        assert_eq!(paragraphs(HELP), expected);
    }
}
