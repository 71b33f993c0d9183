//! MongoDB's row in the table of stores: its servers, extension and key.

use std::path::Path;

use sealstone_servers::MONGOD_PROGRAM;
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Engine, EngineFacts, Layer, OpenStore, StoreError, StoreOptions, Variant};
use tempfile::TempDir;

use super::engine::NAME;
use super::{AT_REST, CACHE_BYTES_MIN, ClusterEngine, LabEngine, LabOptions, MongoDbOptions};
use crate::at_rest::EXTENSION;
use crate::run_key::{self, RunSealing};

/// The row. A server takes a tenth of a millisecond for what an embedded store does in a
/// microsecond, and its background work continues for longer: fewer records, longer slices.
pub(crate) static KIND: StoreKind = StoreKind {
    name: NAME,
    about: "with servers started on this machine",
    replicated: true,
    layers: &[Layer::Field, Layer::Wire, Layer::Rest],
    rest_modes: None,
    server_rest: &[],
    on_volume: cfg!(feature = "volume"),
    functions: &[],
    device: false,
    in_memory: false,
    cache_bytes_min: CACHE_BYTES_MIN,
    cache_decided_by: Some("cluster"),
    shared_by: Some("cluster"),
    shared_by_variant: true,
    suited: "nodes = 3\nworkloads = [\"a\", \"b\", \"c\", \"e\"]\nrecords = 50000\noperations = \
             20000\nthreads = 32\nrounds = 3\nload-every = 10000\npairs = 6\n\
             slice-ms = 500\n",
    settings: &[
        Setting::new(
            "mongod",
            "FILE",
            Form::File,
            "The server program [default: SEALSTONE_MONGOD, or mongod on the search path]",
        ),
        EXTENSION,
        Setting {
            excludes: &["mongod", "extension", "nodes"],
            ..Setting::new(
                "cluster",
                "CIPHER=URL",
                Form::Several,
                "Your own cluster for one cipher or for none, instead of servers started here: \
                 aria-256=mongodb://... or aria-256=@FILE with the address in the file; once for \
                 each",
            )
        },
        Setting::new(
            "write-concern",
            "CONCERN",
            Form::Text,
            "What acknowledges a write: majority, or a number of members",
        ),
        Setting::new(
            "journal",
            "BOOL",
            Form::Bool,
            "Whether a write must be in the journal before it is acknowledged",
        ),
        Setting::new(
            "read-preference",
            "WHO",
            Form::Text,
            "Members to read from: primary, primaryPreferred, secondary, secondaryPreferred, \
             nearest",
        ),
        Setting::new(
            "read-concern",
            "LEVEL",
            Form::Text,
            "What is read: local, available, majority, linearizable",
        ),
        Setting::new(
            "tls-ca-file",
            "FILE",
            Form::File,
            "Authorities that the certificates of your clusters are checked with; turns TLS on",
        ),
        Setting::new(
            "tls-certificate-key-file",
            "FILE",
            Form::File,
            "Certificate and key to show to your clusters; turns TLS on",
        ),
    ],
    engine,
};

/// Reason for which the servers of a comparison cannot be set up.
#[derive(Debug, thiserror::Error)]
enum SetUpError {
    #[error(
        "a cluster without the name of its cipher\nname it as CIPHER=URL, such as \
         none=mongodb://db1.example/test"
    )]
    NoCipher,
    #[error(
        "cannot read the address of cluster {label} from {file}: {source}\nname a file that this \
         user may read"
    )]
    Address { label: String, file: String, source: std::io::Error },
}

/// Servers started on this machine, or the user's own.
fn engine(request: &Request) -> Result<Opened, StoreError> {
    let text = |name: &str| request.setting(name).map(String::from);
    let client = MongoDbOptions {
        threads: request.clients,
        write_concern: text("write-concern"),
        journal: request.setting("journal").map(|value| value == "true"),
        read_preference: text("read-preference"),
        read_concern: text("read-concern"),
        tls_ca_file: request.file("tls-ca-file"),
        tls_certificate_key_file: request.file("tls-certificate-key-file"),
        ..MongoDbOptions::default()
    };
    let clusters = request.several("cluster");
    if !clusters.is_empty() {
        let clusters = clusters.iter().map(|text| cluster(text, &client)).collect::<Result<_, _>>();
        let engine = ClusterEngine::new(clusters.map_err(StoreError::engine)?);
        let engine = if request.joins { engine.joining() } else { engine };
        let engine = if request.tls { engine.comparing_tls() } else { engine };
        return Ok(Opened { engine: Box::new(engine), notes: Vec::new() });
    }
    let sealed = request.own_seal.then(|| run_key::for_server(&AT_REST, request)).transpose()?;
    let (seal, key, note) = match sealed {
        Some(RunSealing { sealing, key_dir, note }) => (Some(sealing), key_dir, note),
        None => (None, None, None),
    };
    let options = LabOptions {
        program: Some(
            MONGOD_PROGRAM.find(request.file("mongod").as_deref()).map_err(StoreError::engine)?,
        ),
        members: request.members,
        seal,
        client,
        keep: request.keep.is_some(),
    };
    let engine = OneRun { engine: LabEngine::new(options), _key: key };
    Ok(Opened { engine: Box::new(engine), notes: note.into_iter().collect() })
}

/// An engine whose servers read a key that is removed with it.
struct OneRun {
    engine: LabEngine,
    _key: Option<TempDir>,
}

impl Engine for OneRun {
    fn facts(&self) -> EngineFacts {
        self.engine.facts()
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        self.engine.open(variant, dir, options)
    }
}

/// Returns a cluster as a setting names it: `CIPHER=URL`, or `CIPHER=@FILE` with the address in the
/// file.
fn cluster(text: &str, client: &MongoDbOptions) -> Result<(String, MongoDbOptions), SetUpError> {
    // a label is named in messages, and the part before the first = of an address can be anything
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || "-_+. ".contains(c))
    };
    let named = text.split_once('=').filter(|(label, _)| is_label(label));
    let (label, place) = named.ok_or(SetUpError::NoCipher)?;
    let label = label.to_owned();
    let uri = match place.strip_prefix('@') {
        Some(file) => match sealstone_file::input::read_given_to_string(Path::new(file)) {
            Ok(address) => address.trim().to_owned(),
            Err(source) => return Err(SetUpError::Address { label, file: file.into(), source }),
        },
        None => place.to_owned(),
    };
    Ok((label, MongoDbOptions { uri, ..client.clone() }))
}
