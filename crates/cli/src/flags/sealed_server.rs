//! The flags of the commands for servers whose files are sealed, such as `sealstone mongo`: one
//! command for each server in the table.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueHint};
use sealstone_stores::at_rest::SealedServer;
use sealstone_stores::sealed_servers;

use super::key_access::OpeningFlags;
use super::names::{Suggest, accel_names, cipher_names_only};

/// Key, cipher and library of a server.
#[derive(Args, Debug, Default)]
pub(crate) struct SealingFlags {
    /// Cipher [default: the key's, if a key server knows it; else aes-256]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
    /// CPU instructions to use [default: the fastest]
    #[arg(long, value_name = "NAME", value_parser = Suggest(accel_names))]
    pub(crate) accel: Option<String>,
    /// The library that the server loads
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) extension: Option<PathBuf>,
}

/// Action on a server.
#[derive(Debug, Subcommand)]
pub(crate) enum SealedServerAction {
    /// Print the options that make the server seal its files
    Config {
        /// The data directory
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data_dir: PathBuf,
        /// The key file, or kmip:...
        #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        #[command(flatten)]
        sealing: SealingFlags,
        /// Format to write them in
        #[arg(long)]
        format: String,
    },
    /// Show what is sealed in a data directory and what is not; exit code 1 if there is data in the
    /// clear
    Check {
        /// The data directory; the server may be running
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// A command for a server whose files are sealed.
pub(crate) struct SealedServerCommand {
    /// The server.
    pub(crate) server: &'static dyn SealedServer,
    /// The action.
    pub(crate) action: SealedServerAction,
}

impl std::fmt::Debug for SealedServerCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple(self.server.name()).field(&self.action).finish()
    }
}

/// Adds to `command` the help of its flag for the library that `server` loads.
pub(super) fn with_library(command: Command, server: &dyn SealedServer) -> Command {
    let help = format!(
        "The library that {} loads [default: {}, or next to this program]",
        server.product(),
        server.library_variable()
    );
    command.mut_arg("extension", |flag| flag.help(help))
}

/// Returns the command for `server`.
fn of_server(server: &'static dyn SealedServer) -> Command {
    let about = format!("{} with its files sealed: options, and what is sealed", server.product());
    let command =
        Command::new(server.name()).subcommand_required(true).arg_required_else_help(true);
    // the actions bring a description of their own
    let command = SealedServerAction::augment_subcommands(command).about(about);
    command.mut_subcommand("config", |config| {
        let formats =
            server.formats().iter().map(|(name, help)| PossibleValue::new(*name).help(*help));
        let formats = PossibleValuesParser::new(formats.collect::<Vec<_>>());
        let default = server.formats().first().map(|(name, _)| *name);
        with_library(config, server)
            .mut_arg("data_dir", |flag| {
                flag.long(server.data_dir_option().0).help(server.data_dir_help())
            })
            .mut_arg("format", |flag| {
                flag.value_parser(formats).default_value(default).required(false)
            })
    })
}

impl Subcommand for SealedServerCommand {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(sealed_servers().map(of_server))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        sealed_servers().any(|server| server.name() == name)
    }
}

impl FromArgMatches for SealedServerCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let found = matches.subcommand().and_then(|(name, matches)| {
            sealed_servers().find(|server| server.name() == name).map(|server| (server, matches))
        });
        let (server, matches) =
            found.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        Ok(Self { server, action: SealedServerAction::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
