//! The flags of `sealstone lab`: the flags of each server come from the table of servers.

use std::path::PathBuf;

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, ValueEnum, ValueHint,
    value_parser,
};
use sealstone_bench::words::parse_bytes;
use sealstone_servers::{Server, ServerOption, Settings, server, servers};
use sealstone_stores::sealed_server;

use super::sealed_server::{SealingFlags, with_library};

/// Directory of a lab, unless another is given.
const LAB_DIR: &str = "sealstone-lab";

const LAB_EXAMPLES: &str = "\
Examples:
  sealstone lab up mongodb
      three servers in the clear, as a replica set, in ./sealstone-lab
  sealstone lab up mongodb --nodes 3 --cipher aria-256
      the same sealed, under a key file made for it: sealstone-lab/lab.key
  sealstone lab up mongodb --nodes 3 --cipher aria-256 --kmip
      the same under a key from a key server (PyKMIP), which is started with it
  sealstone lab up mongodb --cipher aria-256 --key kmip:kms.toml
      the same under a key from your own key server
  sealstone lab up pykmip --dir kms
      a key server alone; then: sealstone keys new kmip:kms/lab.kms/key.toml
  sealstone lab up redis --nodes 6 --dir r
      a cluster of Redis: three primaries, each with a replica
  sealstone lab up postgres --dir p
      a PostgreSQL; psql takes the address that is printed
  sudo sealstone lab up postgres --dir p --cipher aria-256
      the same with all of its files on a sealed volume (see: sealstone volume)
  sealstone lab up mariadb --dir m
      a MariaDB
  sealstone lab down
      stops them; lab up starts them again with their data

All listen on 127.0.0.1 only. Ctrl-C while they start stops them. Remove the
directory to delete the data.";

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start the servers of a lab, or start them again
    #[command(after_help = LAB_EXAMPLES)]
    Up(Box<LabUp>),
    /// List the labs in a directory, and their state
    List {
        /// A lab, or a directory that contains labs
        #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the state of the servers of a lab; exit code 1 if not all of them serve
    Status {
        /// The directory of the lab
        #[arg(value_name = "DIR", default_value = LAB_DIR, value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop the servers of a lab; their data remain
    Down {
        /// The directory of the lab
        #[arg(value_name = "DIR", default_value = LAB_DIR, value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Request made to `lab up`.
#[derive(Debug)]
pub(crate) struct LabUp {
    /// The directory of the lab.
    pub(crate) dir: PathBuf,
    /// The servers to start; absent: those that the lab has.
    pub(crate) server: Option<&'static Server>,
    /// Their settings.
    pub(crate) settings: Settings,
    /// Settings for sealing their data.
    pub(crate) sealing: LabSealing,
    /// True if JSON is printed.
    pub(crate) json: bool,
}

/// Settings for sealing the data of the servers of a lab.
#[derive(Args, Debug, Default)]
pub(crate) struct LabSealing {
    /// Seal with this key: a key file, or kmip:... [default: a new key file in the lab, if a cipher
    /// is named]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<String>,
    /// Start a key server (PyKMIP) with the members, and seal with a key made in it
    #[arg(long, conflicts_with = "key")]
    pub(crate) kmip: bool,
    /// Seal by the server itself, or by a volume below it, which takes root [default: own]
    #[arg(long, value_enum, value_name = "SEAL")]
    pub(crate) seal: Option<LabSeal>,
    /// Size of the volume; space is taken as it is written to [default: 10GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) size: Option<u64>,
    #[command(flatten)]
    pub(crate) flags: SealingFlags,
}

/// A way to seal the files of a server of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabSeal {
    /// The server's own files, by what it loads
    Own,
    /// A sealed volume
    Volume,
}

impl Args for LabUp {
    fn augment_args(command: Command) -> Command {
        let dir = Arg::new("dir").long("dir").value_name("DIR").default_value(LAB_DIR).global(true);
        let dir = dir.value_hint(ValueHint::DirPath).value_parser(value_parser!(PathBuf));
        let dir = dir.help("The directory of the lab: new or empty, or that of a stopped lab");
        let json = Arg::new("json")
            .long("json")
            .action(ArgAction::SetTrue)
            .global(true)
            .display_order(900);
        let json = json.help("Print JSON");
        command
            .arg(dir)
            .arg(json)
            .subcommand_value_name("SERVER")
            .subcommand_help_heading("Servers")
            .disable_help_subcommand(true)
            .subcommands(servers().iter().map(|server| of_server(server)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the command that starts `server`.
fn of_server(server: &Server) -> Command {
    let shown = server.options.iter().filter(|option| !option.help.is_empty());
    let command = Command::new(server.name).about(server.about).args(shown.map(flag));
    if !takes_sealing(server) {
        return command;
    }
    // whose description would become that of the command
    let command = LabSealing::augment_args(command).about(server.about);
    match sealed_server(server.name) {
        Some(way) => with_library(command, way),
        None => command
            .mut_arg("seal", |flag| flag.hide(true))
            .mut_arg("extension", |flag| flag.hide(true)),
    }
}

/// Returns whether the files of `server` can be sealed, by itself or on a volume.
fn takes_sealing(server: &Server) -> bool {
    server.fits_a_volume || sealed_server(server.name).is_some()
}

fn flag(option: &ServerOption) -> Arg {
    let hint = if option.value == "FILE" { ValueHint::FilePath } else { ValueHint::Other };
    Arg::new(option.name)
        .long(option.name)
        .value_name(option.value)
        .value_hint(hint)
        .help(option.help)
}

impl FromArgMatches for LabUp {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut up = Self {
            dir: matches.get_one("dir").cloned().unwrap_or_else(|| LAB_DIR.into()),
            server: None,
            settings: Settings::default(),
            sealing: LabSealing::default(),
            json: matches.get_flag("json"),
        };
        let Some((name, matches)) = matches.subcommand() else { return Ok(up) };
        let row = server(name)
            .map_err(|error| clap::Error::raw(clap::error::ErrorKind::InvalidSubcommand, error))?;
        for option in row.options.iter().filter(|option| !option.help.is_empty()) {
            if let Some(value) = matches.get_one::<String>(option.name) {
                up.settings.set(option.name, value);
            }
        }
        if takes_sealing(row) {
            up.sealing = LabSealing::from_arg_matches(matches)?;
        }
        up.server = Some(row);
        Ok(up)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
