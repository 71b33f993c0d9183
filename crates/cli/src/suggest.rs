//! Suggestions of what the user probably meant, in errors of the parser: by the measure that is
//! also used for the tables of names, instead of the parser's own.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use sealstone_message::similar;

/// Returns `error` of parsing `words`, the program's name first, with its suggestion by our
/// measure.
pub(crate) fn suggesting(
    mut error: clap::Error,
    mut definition: Command,
    words: &[OsString],
) -> clap::Error {
    definition.build();
    let command = innermost(&definition, words);
    let text = |error: &clap::Error, kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let Some(found) = text(&error, ContextKind::InvalidArg) else { return error };
            let Some(name) = found.strip_prefix("--") else { return error };
            let before = text(&error, ContextKind::SuggestedArg);
            let flags = command.get_arguments().flat_map(|flag| {
                let aliases = flag.get_visible_aliases().unwrap_or_default();
                flag.get_long().into_iter().chain(aliases)
            });
            let meant = similar(name, flags).map(|flag| format!("--{flag}"));
            if meant != before {
                // the usage that it had shows the flag that it suggested
                let usage = command.clone().render_usage();
                error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
                replace(&mut error, ContextKind::SuggestedArg, meant.map(ContextValue::String));
            }
        }
        ErrorKind::InvalidSubcommand => {
            let Some(found) = text(&error, ContextKind::InvalidSubcommand) else { return error };
            let meant = match (command.get_name(), found.as_str()) {
                // labs are those of every server, under a command of their own
                ("mongo", "lab") if cfg!(feature = "lab") => Some("sealstone lab".to_owned()),
                _ => similar(&found, command.get_subcommands().map(Command::get_name))
                    .map(str::to_owned),
            };
            let meant = meant.map(|name| ContextValue::Strings(vec![name]));
            replace(&mut error, ContextKind::SuggestedSubcommand, meant);
        }
        ErrorKind::InvalidValue => {
            let Some(found) = text(&error, ContextKind::InvalidValue) else { return error };
            let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else {
                return error;
            };
            let meant =
                similar(&found, valid.iter().map(String::as_str)).map(|value| value.to_owned());
            replace(&mut error, ContextKind::SuggestedValue, meant.map(ContextValue::String));
        }
        _ => {}
    }
    error
}

/// Replaces the entry of `error` under `kind` by `value`, or removes it.
fn replace(error: &mut clap::Error, kind: ContextKind, value: Option<ContextValue>) {
    match value {
        Some(value) => drop(error.insert(kind, value)),
        None => drop(error.remove(kind)),
    }
}

/// Returns the command that `words` name, as far as they name one.
fn innermost<'a>(definition: &'a Command, words: &[OsString]) -> &'a Command {
    let names = words.iter().skip(1).filter_map(|word| word.to_str());
    names.fold(definition, |command, name| command.find_subcommand(name).unwrap_or(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[&str]) -> String {
        let words: Vec<OsString> = ["sealstone"].iter().chain(words).map(OsString::from).collect();
        let error = crate::definition().try_get_matches_from(&words).unwrap_err();
        suggesting(error, crate::definition(), &words).render().to_string()
    }

    #[test]
    fn flags_commands_and_values_are_suggested_by_one_measure() {
        for (words, meant) in [
            (&["compare", "--recors", "5"][..], "'--records'"),
            // a part of the name, as in the tables
            (&["compare", "--from", "x"], "'--records-from'"),
            (&["compare", "--RECORDS", "5"], "'--records'"),
            (&["compare", "--rest", "none"], "'--at-rest'"),
            (&["rest", "verify", "x", "--keey", "y"], "'--key'"),
            (&["compar"], "'compare'"),
            (&["keys", "rotat"], "'rotate'"),
            // what others call it
            (&["benchmark"], "'compare'"),
            (&["keys", "create"], "'new'"),
            (&["field", "encrypt"], "'seal'"),
            (&["rest", "decrypt"], "'unseal'"),
            (&["compare", "--policy", "FIPS-140"], "'fips'"),
            (&["ciphers", "--speed", "--work", "open-it"], "'open'"),
        ] {
            let message = message(words);
            let tip = message
                .lines()
                .find(|line| line.contains("tip: "))
                .unwrap_or_else(|| panic!("{message}"));
            assert!(tip.contains(meant) && tip.contains("similar"), "{words:?}: {tip}");
        }
        #[cfg(feature = "lab")]
        assert!(message(&["mongo", "lab"]).contains("'sealstone lab'"));
    }

    #[test]
    fn what_is_like_nothing_gets_no_suggestion() {
        for words in [&["compare", "--zzz"][..], &["qqq"], &["compare", "--policy", "zzz"]] {
            assert!(!message(words).contains("similar"), "{}", message(words));
        }
        assert!(message(&["compare", "--zzz"]).contains("Usage: sealstone compare [OPTIONS]"));
    }
}
