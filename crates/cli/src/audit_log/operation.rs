//! Commands that are operations of the audit log: those that seal, open, migrate, rotate or retire,
//! and those that make or hand on keys.

use std::path::Path;

use sealstone_keys::source::is_kmip;
use sealstone_message::{may_hold_secret, shown_address, without_secrets};

#[cfg(any(feature = "mysql", feature = "postgres"))]
use crate::flags::SealedTable;
#[cfg(feature = "wire")]
use crate::flags::WireCommand;
use crate::flags::{Command, FieldCommand, HolderCommand, KeysCommand, RestCommand, SealedStore};
#[cfg(feature = "volume")]
use crate::flags::{VolumeAttachFlags, VolumeCommand};

/// An operation.
#[derive(Debug)]
pub(super) struct Operation {
    /// Words of the command, such as `rest rotate`.
    pub(super) command: &'static str,
    /// Places that it works on, and that it makes; addresses without their secrets.
    pub(super) places: Vec<String>,
}

/// Returns the operation that `command` is; none where it is not one of those.
pub(super) fn of(command: &Command) -> Option<Operation> {
    let (command, places) = match command {
        Command::Keys(command) => of_keys(command)?,
        Command::Rest(command) => of_rest(command)?,
        Command::Field(command) => of_field(command)?,
        #[cfg(feature = "volume")]
        Command::Volume(command) => of_volume(command)?,
        // the process in the background belongs to the operation that started it
        #[cfg(feature = "wire")]
        Command::Wire(WireCommand::Up(flags)) if !flags.detached => {
            ("wire up", flags.config.iter().map(|path| at(path)).collect())
        }
        #[cfg(feature = "wire")]
        Command::Wire(_) => return None,
        // labs and comparisons have keys and data of their own
        #[cfg(feature = "lab")]
        Command::Lab(_) => return None,
        Command::Compare(_)
        | Command::Report(_)
        | Command::Ciphers(_)
        | Command::Workloads(_)
        | Command::Audit(_)
        | Command::Status(_)
        | Command::SealedServer(_)
        | Command::Completions(_)
        | Command::Man(_) => return None,
    };
    Some(Operation { command, places })
}

type Found = Option<(&'static str, Vec<String>)>;

fn of_keys(command: &KeysCommand) -> Found {
    use KeysCommand::{Check, Export, Holder, Import, List, New, Passwd, Retire, Rotate, Show};
    Some(match command {
        New { key, .. } => ("keys new", vec![source(key)]),
        Passwd { key, .. } => ("keys passwd", vec![at(key)]),
        Holder(HolderCommand::Add { key, .. }) => ("keys holder add", vec![at(key)]),
        Holder(HolderCommand::Remove { key, .. }) => ("keys holder remove", vec![at(key)]),
        Rotate { key, .. } => ("keys rotate", vec![source(key)]),
        Retire { key, .. } => ("keys retire", vec![source(key)]),
        Export { key, out, .. } => ("keys export", vec![source(key), at(out)]),
        Import { key, from, .. } => ("keys import", vec![source(key), at(from)]),
        List { .. } | Show { .. } | Check { .. } => return None,
    })
}

fn of_rest(command: &RestCommand) -> Found {
    let store = |store: &SealedStore| vec![at(&store.dir)];
    Some(match command {
        RestCommand::Rotate { store: of, .. } => ("rest rotate", store(of)),
        RestCommand::Reseal(flags) => ("rest reseal", store(&flags.store)),
        RestCommand::Unseal(flags) => ("rest unseal", vec![at(&flags.store.dir), at(&flags.out)]),
        RestCommand::Get(flags) => ("rest get", store(&flags.read.store)),
        RestCommand::Scan(flags) => ("rest scan", store(&flags.read.store)),
        RestCommand::Dump(flags) => ("rest dump", store(&flags.read.store)),
        RestCommand::Status { .. } | RestCommand::Verify { .. } => return None,
    })
}

fn of_field(command: &FieldCommand) -> Found {
    Some(match command {
        FieldCommand::Seal(flags) => ("field seal", vec![at(&flags.file), at(&flags.output.out)]),
        FieldCommand::Open(flags) => {
            ("field open", vec![at(&flags.sealed.file), at(&flags.output.out)])
        }
        FieldCommand::Reseal(flags) => {
            ("field reseal", vec![at(&flags.sealed.file), at(&flags.output.out)])
        }
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Migrate(flags) => {
            let command = match (flags.open, flags.reseal, flags.forget) {
                (true, ..) => "field migrate --open",
                (_, true, _) => "field migrate --reseal",
                (.., true) => "field migrate --forget",
                _ => "field migrate",
            };
            (command, vec![table(&flags.address, &flags.table)])
        }
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Get(flags) => ("field get", read(&flags.table)),
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Scan(flags) => ("field scan", read(&flags.table)),
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Status(_) => return None,
        FieldCommand::Check(_) => return None,
    })
}

#[cfg(feature = "volume")]
fn of_volume(command: &VolumeCommand) -> Found {
    // the process in the background belongs to the operation that started it
    let attached = |flags: &VolumeAttachFlags| (!flags.detached).then(|| at(&flags.store.dir));
    Some(match command {
        VolumeCommand::Create(flags) => {
            let from = flags.from.iter().map(|from| at(from));
            ("volume create", [at(&flags.store.dir)].into_iter().chain(from).collect())
        }
        VolumeCommand::Reseal(flags) => {
            ("volume reseal", vec![at(&flags.store.dir), at(&flags.out)])
        }
        VolumeCommand::Unseal(flags) => {
            ("volume unseal", vec![at(&flags.store.dir), at(&flags.out)])
        }
        VolumeCommand::Attach(flags) => ("volume attach", vec![attached(flags)?]),
        VolumeCommand::Mount(flags) => {
            ("volume mount", vec![attached(&flags.attach)?, at(&flags.path)])
        }
        VolumeCommand::Rotate { store } => ("volume rotate", vec![at(&store.dir)]),
        VolumeCommand::Detach { .. }
        | VolumeCommand::Unmount { .. }
        | VolumeCommand::Status { .. }
        | VolumeCommand::Verify { .. }
        | VolumeCommand::Freeze { .. }
        | VolumeCommand::Grow { .. }
        | VolumeCommand::Unit { .. } => return None,
    })
}

/// Returns the whole path of a file or directory; of what may be an address, where a path was
/// wanted, the part without secrets.
fn at(path: &Path) -> String {
    let text = path.to_string_lossy();
    if may_hold_secret(&text) {
        return shown_address(&text);
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Returns a key source: a path, or the address of a key server.
fn source(spec: &str) -> String {
    if is_kmip(spec) { without_secrets(spec) } else { at(Path::new(spec)) }
}

/// Returns the table that is read, and the file that gets its rows in the clear.
#[cfg(any(feature = "mysql", feature = "postgres"))]
fn read(of: &SealedTable) -> Vec<String> {
    let out = of.out.iter().map(|out| at(out));
    [table(&of.address, &of.table)].into_iter().chain(out).collect()
}

#[cfg(any(feature = "mysql", feature = "postgres"))]
fn table(address: &str, table: &str) -> String {
    format!("{}#{table}", without_secrets(address))
}
