//! The flags of `sealstone wire`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use sealstone_seal::esp::suites;
use sealstone_wire::tunnel::{Config, ConfigError};

use super::names::Suggest;

const WIRE_EXAMPLES: &str = "\
Examples:
  sealstone keys new wire.key
      one key for both machines; copy the file over a safe way
  sealstone wire up --key wire.key --peer 203.0.113.7 --address 10.9.0.1/24
      on one of them; on the other one --peer is this machine's address, and
      --address 10.9.0.2/24. Then 10.9.0.2 is reached through the tunnel.
  sealstone wire up --key wire.key --address 10.9.0.2/24
      without --peer: waits for the other end, wherever it is
  sealstone wire up --associations /run/charon.keys --address 10.78.0.2/32
      with keys that strongSwan agreed on with the other end; with --route
      10.78.0.1/32 that end's address is reached through the tunnel
  sealstone wire up --config /etc/sealstone/wire.toml --foreground
      settings of a file, as a service: sealstone wire unit
  sealstone wire status
  sealstone wire down
      what its routes covered then goes nowhere; with --remove-guard it goes
      where other routes lead

It takes the right to make network devices: run it as root.";

#[derive(Debug, Subcommand)]
#[command(after_help = WIRE_EXAMPLES)]
pub(crate) enum WireCommand {
    /// Start this end of a tunnel
    #[command(after_help = WIRE_EXAMPLES)]
    Up(Box<WireUp>),
    /// Show the tunnels of this user and how they are doing; exit code 1 if one is not up
    Status {
        /// Only this tunnel
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        runtime: RuntimeFlag,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End a tunnel; its device goes away, and its guard stays
    Down {
        /// Its name
        #[arg(value_name = "NAME", default_value = sealstone_wire::tunnel::DEFAULT_NAME)]
        name: String,
        /// Remove its guard, too: what went through the tunnel then goes where other routes lead,
        /// in the clear
        #[arg(long)]
        remove_guard: bool,
        #[command(flatten)]
        runtime: RuntimeFlag,
    },
    /// Set up the guard of a tunnel that is not up yet: nothing goes to its networks until it is
    Guard(WireGuard),
    /// Print a unit for systemd that keeps a tunnel up
    Unit {
        /// Print the one that sets up its guard before the network, instead
        #[arg(long)]
        guard: bool,
        /// The configuration that it names
        #[arg(long, value_name = "FILE", default_value = "/etc/sealstone/wire.toml")]
        #[arg(value_hint = ValueHint::FilePath)]
        config: PathBuf,
    },
    /// List the suites: what encrypts and what authenticates packets
    Suites {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Location where running tunnels are recorded.
#[derive(Args, Debug, Default)]
pub(crate) struct RuntimeFlag {
    /// Directory of the running tunnels, for this user alone [default: /run/sealstone for root]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) runtime_dir: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct WireUp {
    /// TOML file with any of these settings; flags override it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: WireSettings,
    /// Stay in the foreground and say what happens
    #[arg(long)]
    pub(crate) foreground: bool,
    /// Set when a tunnel is started in the background.
    #[arg(long, hide = true, requires = "foreground")]
    pub(crate) detached: bool,
    #[command(flatten)]
    pub(crate) runtime: RuntimeFlag,
}

#[derive(Args, Debug)]
pub(crate) struct WireGuard {
    /// TOML file with the tunnel's settings; flags override it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Address of this end within the tunnel; may be repeated
    #[arg(long, value_name = "ADDRESS/BITS")]
    address: Vec<String>,
    /// A network behind the other end; may be repeated
    #[arg(long, value_name = "NETWORK/BITS")]
    route: Vec<String>,
    /// Name of the tunnel and its device [default: sealstone0]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    pub(crate) runtime: RuntimeFlag,
}

impl WireGuard {
    /// Returns the configuration given by the flags and the file.
    pub(crate) fn config(&self) -> Result<Config, ConfigError> {
        let file = self.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let (name, address, route) = (self.name.clone(), self.address.clone(), self.route.clone());
        Ok(Config { name, address, route, ..Config::default() }.over(file))
    }
}

/// The settings of a tunnel.
#[derive(Args, Debug)]
pub(crate) struct WireSettings {
    /// The key that both ends have: a key file, or kmip:...
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    key: Option<String>,
    /// File with the passphrase of the key file [default: SEALSTONE_PASSPHRASE_FILE, or a prompt]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    passphrase_file: Option<PathBuf>,
    /// Associations that others agreed on, instead of a key: strongSwan's log with keys, or what ip
    /// xfrm state prints
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    associations: Option<PathBuf>,
    /// With --associations: where it is recorded how far their keys have gone [default:
    /// /var/lib/sealstone/wire for root]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    /// The other end [default: it is waited for; port: 4500]
    #[arg(long, value_name = "HOST[:PORT]", value_hint = ValueHint::Hostname)]
    peer: Option<String>,
    /// Address to receive on [default: all addresses of IPv4, port 4500]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    listen: Option<String>,
    /// Address of this end within the tunnel, such as 10.9.0.1/24 or fd00:9::1/64; may be repeated
    #[arg(long, value_name = "ADDRESS/BITS")]
    address: Vec<String>,
    /// A network behind the other end; may be repeated
    #[arg(long, value_name = "NETWORK/BITS")]
    route: Vec<String>,
    /// Set up no guard: once the tunnel ends, what went through it goes where other routes lead, in
    /// the clear
    #[arg(long)]
    no_guard: bool,
    /// Suite that seals packets, see: sealstone wire suites [default: aes-256-gcm]
    #[arg(long, value_name = "SUITE", value_parser = Suggest(suite_names))]
    suite: Option<String>,
    /// Name of the tunnel and its device [default: sealstone0]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Seconds after which both ends agree on fresh keys [default: 3600]
    #[arg(long, value_name = "S")]
    rekey_after_s: Option<u64>,
}

impl WireSettings {
    /// Returns the configuration given by the flags.
    pub(crate) fn config(&self) -> Config {
        Config {
            name: self.name.clone(),
            key: self.key.clone(),
            passphrase_file: self.passphrase_file.clone(),
            associations: self.associations.clone(),
            state_dir: self.state_dir.clone(),
            peer: self.peer.clone(),
            listen: self.listen.clone(),
            address: self.address.clone(),
            route: self.route.clone(),
            suite: self.suite.clone(),
            rekey_after_s: self.rekey_after_s,
            guard: self.no_guard.then_some(false),
        }
    }
}

fn suite_names() -> Vec<&'static str> {
    suites().iter().map(|suite| suite.name).collect()
}
