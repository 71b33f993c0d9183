//! Flags for the settings of single stores, made from the table of stores.

use std::collections::BTreeMap;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use sealstone_store::kind::{Form, Setting, Settings};
use sealstone_stores::stores;

/// Settings given for stores: a store may have none.
#[derive(Default)]
pub(crate) struct StoreFlags(pub(crate) BTreeMap<String, Settings>);

// addresses among the values may contain passwords
impl std::fmt::Debug for StoreFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.values().flat_map(BTreeMap::keys)).finish()
    }
}

impl Args for StoreFlags {
    fn augment_args(command: Command) -> Command {
        let mut command = command;
        let mut known: Vec<&str> = Vec::new();
        for kind in stores() {
            for setting in kind.settings {
                // a setting that several stores have is one flag, which applies to the measured
                // store
                if !known.contains(&setting.name) {
                    known.push(setting.name);
                    command = command
                        .arg(flag(setting).help_heading(format!("With --store {}", kind.name)));
                }
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn flag(setting: &'static Setting) -> Arg {
    let flag =
        Arg::new(setting.name).long(setting.name).value_name(setting.value).help(setting.help);
    match setting.form {
        Form::Text => flag,
        Form::Bool => flag
            .value_parser(PossibleValuesParser::new(["true", "false"]))
            .hide_possible_values(true),
        Form::OneOf(words) => {
            flag.value_parser(PossibleValuesParser::new(words)).hide_possible_values(true)
        }
        Form::File => flag.value_hint(ValueHint::FilePath),
        Form::Several => flag.action(ArgAction::Append),
    }
}

impl FromArgMatches for StoreFlags {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(found)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        for kind in stores() {
            for setting in kind.settings {
                if let Some(values) = found.get_many::<String>(setting.name) {
                    let settings = self.0.entry(kind.name.into()).or_default();
                    settings.insert(setting.name.into(), values.cloned().collect());
                }
            }
        }
        Ok(())
    }
}
