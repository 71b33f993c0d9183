//! The rows of block devices in the table of stores.

use sealstone_message::SettingName;
use sealstone_servers::{TGT_PROGRAM, TgtOptions};
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::engine::{FileEngine, Named, TargetEngine, UserEngine};
use super::link_target::LinkedEngine;

/// Settings that suit devices: slices that are long compared with filling and emptying a queue.
const SUITED: &str = "workloads = [\"seq-read\", \"seq-write\", \"rand-read\", \"rand-write\", \
                      \"rand-mix\"]\n\
                      rounds = 3\nload-every = 10000\npairs = 6\nslice-ms = 250\n";

/// The setting of the target that chooses TCP's congestion control.
const CONGESTION: &str = "congestion";

/// A file or a disk of this machine, or a unit behind iSCSI.
pub static BLOCK: StoreKind = DEVICE;

const DEVICE: StoreKind = StoreKind {
    name: "block",
    about: "a block device: a file, a disk, or one behind iSCSI",
    replicated: false,
    layers: &[],
    rest_modes: None,
    server_rest: &[],
    on_volume: false,
    functions: &[],
    device: true,
    in_memory: false,
    cache_bytes_min: 0,
    cache_decided_by: None,
    shared_by: None,
    shared_by_variant: false,
    suited: SUITED,
    settings: &[
        Setting {
            name: "device",
            value: "DEVICE",
            help: "An empty disk or file of your own instead of one made here: a path, or \
                   iscsi://HOST:PORT/TARGET/LUN; what is on it is lost",
            form: Form::Text,
            excludes: &[],
        },
        Setting {
            name: "erase",
            value: "BOOL",
            help: "Whether to overwrite that device though something is on it [default: false]",
            form: Form::Bool,
            excludes: &[],
        },
    ],
    engine: block,
};

/// A target that is started on this machine.
pub static ISCSI: StoreKind = StoreKind {
    name: "iscsi",
    about: "a block device behind an iSCSI target started on this machine",
    layers: &[Layer::Wire],
    settings: &[
        Setting::new(
            "tgtd",
            "FILE",
            Form::File,
            "The target's program [default: SEALSTONE_TGTD, or tgtd on the search path]",
        ),
        Setting::new(
            CONGESTION,
            "NAME",
            Form::Text,
            "On the layer wire: TCP's congestion control at both ends of the link, such as reno or \
             cubic [default: the machine's]",
        ),
    ],
    engine: iscsi,
    ..DEVICE
};

fn block(request: &Request) -> Result<Opened, StoreError> {
    let bytes = request.device_bytes;
    let Some(named) = request.setting("device") else {
        return Ok(Opened { engine: Box::new(FileEngine::new(bytes)), notes: Vec::new() });
    };
    let named = match named.starts_with("iscsi:") {
        true => Named::Iscsi(named.parse().map_err(StoreError::engine)?),
        false => Named::Path(named.into()),
    };
    let erase = request.setting("erase") == Some("true");
    Ok(Opened { engine: Box::new(UserEngine::new(named, bytes, erase)), notes: Vec::new() })
}

fn iscsi(request: &Request) -> Result<Opened, StoreError> {
    let program =
        Some(TGT_PROGRAM.find(request.file("tgtd").as_deref()).map_err(StoreError::engine)?);
    let options = TgtOptions { program, bytes: request.device_bytes, ..TgtOptions::default() };
    let congestion = request.setting(CONGESTION);
    if let Some(link) = &request.link {
        return Ok(Opened {
            engine: Box::new(LinkedEngine::new(link, congestion, options)?),
            notes: Vec::new(),
        });
    }
    if let Some(name) = congestion {
        return Err(StoreError::engine(format!(
            "{CONGESTION} is {name}: it is about TCP over a link that is made here; add {}",
            SettingName("layer wire")
        )));
    }
    Ok(Opened { engine: Box::new(TargetEngine::new(options)), notes: Vec::new() })
}
