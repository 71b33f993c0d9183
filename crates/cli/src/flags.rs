//! Every command and flag: the one table from which help, completions and manual pages are made.
//!
//! Parsing does nothing else; values are interpreted where they are used.

mod audit;
mod columns;
mod examples;
mod field;
mod figures;
mod key_access;
mod keys;
#[cfg(feature = "lab")]
mod lab;
mod language;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod migrate;
mod names;
mod places;
mod properties;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod read_back;
mod rest;
mod sealed_server;
mod setting;
mod short_help;
mod start;
mod status;
mod stores;
#[cfg(feature = "volume")]
mod volume;
#[cfg(feature = "wire")]
mod wire;

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use jiff::Timestamp;
use sealstone_bench::study::NAMED;
use sealstone_bench::study::plan::{Plan, Policy};
use sealstone_bench::study::preset::Preset;
use sealstone_bench::words::MaxTime;
use sealstone_bench::words::Share;
use sealstone_bench::words::parse_bytes;
use sealstone_bench::words::parse_count;
use sealstone_bench::words::parse_percent;
use sealstone_bench::words::{Limit, Target};
use sealstone_cipher::speed::Work;

use crate::count::parse_small;
pub(crate) use audit::AuditFlags;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use columns::ServerTls;
pub(crate) use columns::{ApprovedName, ColumnFlags};
pub(crate) use field::{
    FieldCheckFlags, FieldColumns, FieldCommand, FieldDevice, FieldLayout, FieldOpenFlags,
    FieldOutput, FieldResealFlags, FieldSealFlags, SealedFields,
};
use figures::DrawnFlags;
pub(crate) use key_access::{HolderFlags, OpeningFlags};
pub(crate) use keys::{HolderCommand, KeysCommand, SealedWith, TokenFlags};
use language::LanguageName;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use migrate::FieldMigrateFlags;
use names::{
    Suggest, accel_names, cipher_names, cipher_names_only, layer_names, link_names, seal_names,
    store_names, study_names, suite_names, threat_names, workload_names,
};
pub(crate) use places::{PlacesFlags, TablesFlags};
use properties::parse_property;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use read_back::{FieldGetFlags, FieldScanFlags, FieldStatusFlags, SealedTable};
pub(crate) use rest::{DumpFlags, GetFlags, ReadFlags, ScanFlags, SealedStore, UnsealFlags};
use setting::parse_setting;
use start::parse_start;
use stores::StoreFlags;

#[cfg(feature = "lab")]
pub(crate) use lab::{LabCommand, LabSeal, LabSealing, LabUp};
pub(crate) use sealed_server::{SealedServerAction, SealedServerCommand, SealingFlags};
pub(crate) use setting::PLAN_ONLY;
pub(crate) use status::StatusFlags;

#[cfg(feature = "volume")]
pub(crate) use volume::{
    FileSystem, VolumeAttachFlags, VolumeCommand, VolumeCreateFlags, VolumeMountFlags, VolumePlace,
    VolumeResealFlags, VolumeRuntime, VolumeUnsealFlags,
};
#[cfg(feature = "wire")]
pub(crate) use wire::{WireCommand, WireGuard, WireUp};

const EXAMPLES: &str = "\
Examples:
  sealstone compare
      what encrypting at rest costs on this machine, in about two minutes
  sealstone compare --ciphers none,aes-256,aria-256,3des --workloads a,b,c
      these ciphers under these workloads
  sealstone ciphers --speed
      how fast each cipher is, by buffer size
  sealstone keys new store.key
      your own key

Exit codes: 0 done, 1 negative answer (damage found, not sealed, cost grown, key
version still in use), 2 error, 3 inconclusive (--fail-if), 130 ended by Ctrl-C";

const COMPARE_EXAMPLES: &str = "\
Examples:
  sealstone compare
      the default ciphers and workloads
  sealstone compare --accel auto,portable
      with the CPU's AES instructions and without, side by side
  sealstone compare --records-from people.csv --records 1M --workloads a,b,c,d,e,f
      your own records, repeated under fresh keys up to a million
  sealstone compare --workloads a,orders.toml
      your own workload, too: sealstone workloads --print a > orders.toml
  sealstone compare --workloads workloads/workloada -p fieldlength=400
      YCSB's own file, and one of its properties changed
  sealstone compare --threads 1,8,32 --records 10k,1M --workloads a,c
      the same with few to many clients, on little to much data: a chart with a
      line for each cipher
  sealstone compare --target 2000
      requests due at 2000 a second: p50, p99 and CPU time at that rate
  sealstone compare --target max --p99 10ms --workloads a,b
      the highest rate at which 99 of 100 requests take at most 10 ms
  sealstone compare --policy kcmvp --ciphers none,aria-256
      recommend only algorithms and modes on the Korean validation list (Sealstone
      is not a validated module)
  sealstone compare --baseline old/results.json --fail-if 5%
      exit code 1 if a cost is shown to have grown by more than 5 % since then,
      3 if that is neither shown nor ruled out
  sealstone compare --until 2% --max-time 20m
      as many rounds as it takes to know every cost to ± 2 %, 20 minutes at most
  sealstone compare --study tablespace --dry-run
      a published study: its points, and about how long they take
  sealstone compare --print-config > compare.toml
      every setting as a file, for: sealstone compare --config compare.toml

Ctrl-C ends the run, keeps what was measured and writes the report; a second one
aborts at once. sealstone compare --resume DIR continues it, also after a kill,
and with --rounds 6, --until 2% or --max-time 10m adds rounds to a whole one.";

const RESEAL_EXAMPLES: &str = "\
Examples:
  sealstone rest reseal orders --key orders.key --cipher aria-256
      every file under ARIA
  sealstone rest reseal orders --key orders.key
      every file under the newest version of its key, with the same cipher
  sealstone rest reseal orders --key orders.key --from-plain
      a plain RocksDB store becomes a sealed one; asks first, and needs --yes
      where there is no terminal to ask on

Ctrl-C stops after the current file. The same command resumes from there, also
after a crash.";

/// Heading of the flags that are not settings of the comparison.
const OPTIONS: &str = "Options";

/// Returns the whole definition, with the defaults of the comparison's settings in their help.
pub(crate) fn definition() -> clap::Command {
    let defaults = toml::Table::try_from(Plan::default()).unwrap_or_default();
    let definition = Sealstone::command().mut_subcommand("compare", |mut compare| {
        let about = sealstone_stores::stores()
            .iter()
            .map(|store| format!("{}, {}", store.name, store.about))
            .collect::<Vec<_>>();
        compare = compare.mut_arg("store", |flag| {
            flag.help(format!("The stores to encrypt: {}", about.join("; ")))
        });
        for (setting, value) in
            defaults.into_iter().filter(|(setting, _)| !PLAN_ONLY.contains(&setting.as_str()))
        {
            let value = match value {
                toml::Value::Array(values) => {
                    values.into_iter().map(plain).collect::<Vec<_>>().join(",")
                }
                other => plain(other),
            };
            compare = compare.mut_arg(setting.replace('-', "_"), |flag| {
                let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
                flag.help(format!("{help} [default: {value}]"))
            });
        }
        compare = compare.mut_arg("study", |flag| {
            let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
            let studies = NAMED.iter().map(|study| format!("{}, {}", study.name, study.about));
            flag.help(format!("{help}: {}", studies.collect::<Vec<_>>().join("; ")))
        });
        compare = compare.mut_arg("set", |flag| {
            let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
            flag.help(format!("{help}: {}", PLAN_ONLY.join(", ")))
        });
        short_help::with_few_flags(compare)
    });
    examples::with_examples(definition, "")
}

/// Returns a value as a flag takes it.
fn plain(value: toml::Value) -> String {
    match value {
        toml::Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Encrypt a data store with the cipher you choose, and measure what it costs
#[derive(Debug, Parser)]
#[command(name = "sealstone", version, after_help = EXAMPLES, max_term_width = 80)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Sealstone {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Write each operation on sealed data or keys to this file, which is appended to, or to
    /// syslog; what cannot be written there is not begun [default: SEALSTONE_AUDIT_LOG]
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE|syslog",
        value_hint = ValueHint::FilePath, help_heading = "Audit log")]
    pub(crate) audit_log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what encryption costs, cipher by cipher and workload by workload
    Compare(Box<CompareFlags>),
    /// Redraw the report from results.json files, merging several machines into one
    Report(ReportFlags),
    /// List the ciphers with standing and limits, or measure their speed
    Ciphers(CiphersFlags),
    /// List the workloads
    Workloads(WorkloadsFlags),
    /// Make, protect, share, rotate and retire keys
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Make a page for an auditor: what is sealed, what is in the clear, which keys
    Audit(Box<AuditFlags>),
    /// Show how much is sealed in places of any kind, for people or for Prometheus
    Status(Box<StatusFlags>),
    /// Inspect and check sealed directories, rotate their keys
    #[command(subcommand)]
    Rest(RestCommand),
    /// Seal columns of files, in their own format or authenticated
    #[command(subcommand)]
    Field(FieldCommand),
    /// A server with its files sealed: options, and what is sealed
    #[command(flatten)]
    SealedServer(SealedServerCommand),
    #[cfg(feature = "lab")]
    /// Run real servers on this machine, for an experiment
    #[command(subcommand)]
    Lab(LabCommand),
    #[cfg(feature = "volume")]
    /// A sealed block device for the files of any database: PostgreSQL, MySQL, MariaDB, Redis
    #[command(subcommand)]
    Volume(VolumeCommand),
    #[cfg(feature = "wire")]
    /// A tunnel of sealed packets between two machines
    #[command(subcommand)]
    Wire(WireCommand),
    /// Print the completion script of a shell
    Completions(CompletionsFlags),
    /// Print the manual page
    Man(ManFlags),
}

#[derive(Args, Debug)]
#[command(after_help = COMPARE_EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct CompareFlags {
    #[command(flatten)]
    pub(crate) plan: PlanFlags,
    #[command(flatten)]
    pub(crate) stores: StoreFlags,
    /// TOML file with any of these settings; flags override it
    #[arg(long, help_heading = OPTIONS, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Repeat a published study with its settings; flags override them
    #[arg(long, help_heading = OPTIONS, value_name = "NAME", value_parser = Suggest(study_names),
        conflicts_with_all = ["config", "preset"])]
    pub(crate) study: Option<String>,
    /// Also compare with the results.json of an earlier run: has the cost grown?
    #[arg(long, help_heading = OPTIONS, value_name = "RESULTS", value_hint = ValueHint::FilePath)]
    pub(crate) baseline: Option<PathBuf>,
    /// With --baseline: exit code 1 if a cost is shown to have grown by more than this, 3 if it is
    /// not shown either way
    #[arg(long, help_heading = OPTIONS, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) fail_if: Option<f64>,
    /// With --fail-if: also write the answer as JUnit XML, a test case a workload and variant
    #[arg(long, help_heading = OPTIONS, value_name = "FILE.xml", value_hint = ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// A property of YCSB, before those of the property files among --workloads; may be repeated
    #[arg(long = "property", short = 'p', help_heading = OPTIONS, value_name = "NAME=VALUE")]
    #[arg(value_parser = parse_property)]
    pub(crate) properties: Vec<(String, String)>,
    /// Name of this machine in the report [default: its CPU and cores]
    #[arg(long, help_heading = OPTIONS, value_name = "NAME",
        value_parser = NonEmptyStringValueParser::new())]
    pub(crate) label: Option<String>,
    /// Continue the run whose results are in DIR: what was measured whole stays, the rest is
    /// measured; with --rounds, --until or --max-time, rounds are added to all of it
    #[arg(long, help_heading = OPTIONS, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) resume: Option<PathBuf>,
    /// Measure together with other machines, on the same servers: which of how many this is, such
    /// as 2/8
    #[arg(long, help_heading = OPTIONS, value_name = "I/N", requires = "start_at",
        conflicts_with = "resume")]
    pub(crate) client: Option<Share>,
    /// With --client: when all of them begin to measure, such as 12:00:00 or 2026-03-02T12:00:00Z
    #[arg(long, help_heading = OPTIONS, value_name = "TIME", requires = "client",
        value_parser = parse_start)]
    pub(crate) start_at: Option<Timestamp>,
    /// Language of the report
    #[arg(long, help_heading = OPTIONS, value_enum, value_name = "LANGUAGE", default_value = "en")]
    pub(crate) lang: LanguageName,
    /// Print the effective settings as TOML and stop
    #[arg(long, help_heading = OPTIONS)]
    pub(crate) print_config: bool,
    /// List the points that would be measured, with about how long that takes, and stop; nothing is
    /// started
    #[arg(long, help_heading = OPTIONS, conflicts_with = "print_config")]
    pub(crate) dry_run: bool,
    /// Seal with this key: a key file, or kmip:... [default: a random key, forgotten at the end]
    #[arg(long, help_heading = OPTIONS, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<String>,
    /// File with the passphrase of the key file [default: SEALSTONE_PASSPHRASE_FILE, or a prompt]
    #[arg(long, help_heading = OPTIONS, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Print the results as JSON instead of the answer
    #[arg(long, help_heading = OPTIONS)]
    pub(crate) json: bool,
    /// No progress, only the answer
    #[arg(long, short, help_heading = OPTIONS)]
    pub(crate) quiet: bool,
}

/// The settings of a comparison; what is absent comes from the file or the defaults.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "What to compare")]
pub(crate) struct PlanFlags {
    /// The stores to encrypt
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(store_names))]
    pub(crate) store: Option<Vec<String>>,
    /// Also compare the other stores with this one
    #[arg(long, value_name = "STORE", value_parser = Suggest(store_names))]
    pub(crate) against: Option<String>,
    /// Members of each replica set, in stores that have them
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_small)]
    pub(crate) nodes: Option<Vec<usize>>,
    /// Place where data is encrypted: rest (files), field (values, before they reach the store),
    /// server (by functions of its own, such as AES_ENCRYPT), wire (the connection: TLS, or tunnels
    /// on links made on this machine), or two places at once: field+rest
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(layer_names))]
    pub(crate) layer: Option<Vec<String>>,
    /// With --layer rest: what seals the files: own (what the store has for it), volume (a sealed
    /// volume below the store, which takes root, FUSE and a loop device), server (what the server
    /// itself brings, to compare with), or several side by side
    /// [default: own; where --layer names rest, volume for a store that has none]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(seal_names))]
    pub(crate) seal: Option<Vec<String>>,
    /// Advise the cheapest of these places that protects from: disk-thief, backup-reader, network,
    /// dba, server-admin
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(threat_names))]
    pub(crate) protect_from: Option<Vec<String>>,
    /// With --layer field: the policy that names the fields to seal [default: all of them,
    /// authenticated]
    #[arg(long, value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) fields: Option<PathBuf>,
    /// Ciphers, and `none` for the baseline
    #[arg(long, visible_alias = "at-rest", value_name = "LIST", value_delimiter = ',')]
    #[arg(value_parser = Suggest(cipher_names))]
    pub(crate) ciphers: Option<Vec<String>>,
    /// CPU instructions to use: auto, or backends by name
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(accel_names))]
    pub(crate) accel: Option<Vec<String>>,
    /// Cryptographic modules that compute the ciphers: none (Sealstone itself), openssl:PROVIDER,
    /// or paths of libraries
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) module: Option<Vec<String>>,
    /// With --layer wire: suites that seal packets, or tls, and `none` for the baseline [default:
    /// none,tls where the store speaks TLS, or none,aes-256-gcm]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(suite_names))]
    pub(crate) suites: Option<Vec<String>>,
    /// With --layer wire: links between client and store, made on this machine, in Mbit/s: 1000,
    /// 100, 5.28, unlimited [default: unlimited]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(link_names))]
    pub(crate) links: Option<Vec<String>>,
    /// Workloads (see: sealstone workloads), and files of your own: TOML, or properties of YCSB
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suggest(workload_names))]
    pub(crate) workloads: Option<Vec<String>>,
    /// Cache and durability: warm (the cache holds the records), cold (it holds a sixteenth), sync
    /// (each write waits for the disk), all [default: a mix of them]
    #[arg(long, value_name = "PRESET", value_parser = PossibleValuesParser::new(Preset::WORDS))]
    #[arg(hide_possible_values = true)]
    pub(crate) preset: Option<String>,
    /// Policy on which ciphers may be recommended: by algorithm and mode in every place; Sealstone
    /// is not a validated module
    #[arg(long, value_enum)]
    pub(crate) policy: Option<PolicyName>,
    /// Difference in throughput that does not matter to you: within it, two count as equal
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) margin: Option<f64>,
    /// Records in the YCSB data set
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_count)]
    pub(crate) records: Option<Vec<u64>>,
    /// Take the records from a CSV file (UTF-8 or CP949)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) records_from: Option<PathBuf>,
    /// Bytes of records for the batch workloads, of which oltp takes an eighth, and of the blocks
    /// that workloads on block devices use
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) bytes: Option<u64>,
    /// Bytes of a request to a block device
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) block_bytes: Option<u64>,
    /// Compare every block that is read with what was written to it
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
        value_name = "BOOL")]
    pub(crate) verify: Option<bool>,
    /// Operations a round
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) operations: Option<u64>,
    /// Client threads, unless the workload fixes them [default: as many as it takes to fill the
    /// CPUs, or the store]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_small)]
    pub(crate) threads: Option<Vec<usize>>,
    /// Rounds; more of them narrow the confidence intervals. With --resume: so many more
    #[arg(long, value_name = "N", value_parser = parse_small, conflicts_with_all = ["until",
        "max_time"])]
    pub(crate) rounds: Option<usize>,
    /// Instead of a number of rounds: go on until every interval is ± this, or --max-time is up
    /// [default: an hour]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) until: Option<f64>,
    /// Instead of a number of rounds: go on for this long at each point of the lists, such as 10m,
    /// and for one round at least
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<MaxTime>,
    /// Rounds after which the stores are loaded again; intervals are over loads
    #[arg(long, value_name = "N", value_parser = parse_small)]
    pub(crate) load_every: Option<usize>,
    /// Cache of the store [default: sized to the data]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) cache: Option<u64>,
    /// Operations a second (open loop), or `max`: the most that --p99 allows [default: as fast as
    /// possible]
    #[arg(long, value_name = "RATE")]
    pub(crate) target: Option<Target>,
    /// With --target max: what 99 of 100 requests must not exceed, such as 10ms
    #[arg(long, value_name = "LATENCY")]
    pub(crate) p99: Option<Limit>,
    /// Operations that may fail, at each point of the lists, before the run ends with what was
    /// measured until then
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) max_errors: Option<u64>,
    /// Directory for report.html, results.json and results.csv, without results of an earlier run;
    /// where none is named, the default, or the same with -2, -3 and so on
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Set what has no flag of its own, as in the file of --config; may be repeated
    #[arg(long, value_name = "SETTING=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Leave the sealed stores in DIR for inspection
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ReportFlags {
    /// results.json of one or more runs, also compressed by gzip, or their directories
    #[arg(required = true, value_name = "RESULTS", value_hint = ValueHint::FilePath)]
    pub(crate) results: Vec<PathBuf>,
    /// The file to write, which must be new [default: report.html, or report-2.html and so on]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Write over a report that is there
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) replace: bool,
    /// Names for the machine of each results.json, in the same order [default: CPU and cores]
    #[arg(long = "label", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) labels: Vec<String>,
    /// Print the results, merged, as JSON, and write no file
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the answer as Markdown, and write no file
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) drawn: DrawnFlags,
    /// Write the findings as CSV and no page: a row for each point, workload and variant; - is
    /// stdout
    #[arg(long, value_name = "FILE.csv", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["json", "markdown", "out", "summary", "svg", "lang"])]
    pub(crate) findings: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CiphersFlags {
    /// Only these ciphers
    #[arg(long, value_name = "LIST", value_delimiter = ',',
        value_parser = Suggest(cipher_names_only))]
    pub(crate) ciphers: Option<Vec<String>>,
    /// Measure GB/s and cycles a byte by buffer size on this machine
    #[arg(long)]
    pub(crate) speed: bool,
    /// With --speed: CPU instructions to use: auto, or backends by name
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "speed",
        value_parser = Suggest(accel_names))]
    pub(crate) accel: Option<Vec<String>>,
    /// With --speed: cryptographic modules that compute: none (Sealstone itself), openssl:PROVIDER,
    /// or paths of libraries
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "speed")]
    pub(crate) module: Option<Vec<String>>,
    /// List the devices (GPUs) that can run ciphers
    #[cfg(feature = "gpu")]
    #[arg(long, conflicts_with_all = ["speed", "ciphers"])]
    pub(crate) devices: bool,
    /// With --speed: counter mode and FF1 on this device beside the CPU, with and without copying:
    /// cuda:0, opencl:0
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "DEVICE", requires = "speed",
        conflicts_with_all = ["accel", "module", "work"])]
    pub(crate) device: Option<String>,
    /// With --speed --device: write a page with charts of the speeds by size
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath, requires = "device")]
    pub(crate) out: Option<PathBuf>,
    /// With --speed: buffer sizes
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "speed",
        value_parser = parse_bytes)]
    pub(crate) sizes: Option<Vec<u64>>,
    /// With --speed: what to do with the buffers
    #[arg(long, value_enum, requires = "speed", default_value_t = WorkName::Seal)]
    pub(crate) work: WorkName,
    /// With --speed: seconds a measurement
    #[arg(long, value_name = "S", requires = "speed", default_value_t = 0.2)]
    pub(crate) seconds: f64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct WorkloadsFlags {
    /// Print this workload as a TOML file, to be changed and named in: sealstone
    /// compare --workloads
    #[arg(long, value_name = "WORKLOAD", conflicts_with = "json",
        value_parser = Suggest(workload_names))]
    pub(crate) print: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RestCommand {
    /// Show what is sealed, with which cipher, key id and version; needs no key
    Status {
        /// The directory of the store
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check every page and frame; exit code 1 if damage is found
    Verify {
        #[command(flatten)]
        store: SealedStore,
        /// A file elsewhere, or kmip:..., that remembers how new the store was: an older copy of
        /// all of it is a failure
        ///
        /// It is created if it does not exist. Once the store is found whole, it remembers its
        /// state. On a key server it is a separate object with the name in the address:
        /// kmip://HOST/NAME?cert=...&key=...&ca=...
        #[arg(long, value_name = "ANCHOR", value_hint = ValueHint::FilePath)]
        anchor: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Rewrap every file under the newest version of its key; touches no data, and the store may be
    /// in use
    Rotate {
        #[command(flatten)]
        store: SealedStore,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Rewrite a store that no process has open, under another cipher or the newest key
    #[command(after_help = RESEAL_EXAMPLES)]
    Reseal(ResealFlags),
    /// Make a plain RocksDB store of a sealed one that no process has open; the sealed one stays as
    /// it is
    Unseal(UnsealFlags),
    /// Show the value of one record of a store that no process has open; exit code 1 if there is
    /// none
    Get(GetFlags),
    /// Show the records of a range, of a store that no process has open
    Scan(ScanFlags),
    /// Write every record in the form that `ldb load --hex` reads
    Dump(DumpFlags),
}

#[derive(Args, Debug)]
pub(crate) struct ResealFlags {
    #[command(flatten)]
    pub(crate) store: SealedStore,
    /// Cipher of the new files [default: the key's, if a key server knows it; otherwise the
    /// store's; else aes-256]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    /// Bytes a second, at most [default: as fast as possible]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) rate: Option<u64>,
    /// Seal a store that is in the clear; until it is done, plain files in it are trusted
    #[arg(long)]
    pub(crate) from_plain: bool,
    /// With --from-plain: seal without asking first
    #[arg(long, requires = "from_plain")]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsFlags {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManFlags {
    /// Write one page for each command into DIR [default: the main page to stdout]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

/// `Policy` as the parser needs it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PolicyName {
    /// Every cipher in good standing
    Any,
    /// Cipher and mode approved under FIPS 140; no validated module
    Fips,
    /// Cipher and mode on the Korean validation list; no validated module
    Kcmvp,
    /// As fips, and computed in a cryptographic module (--module)
    FipsModule,
    /// As kcmvp, and computed in a cryptographic module (--module)
    KcmvpModule,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Any => Self::Any,
            PolicyName::Fips => Self::Fips,
            PolicyName::Kcmvp => Self::Kcmvp,
            PolicyName::FipsModule => Self::FipsModule,
            PolicyName::KcmvpModule => Self::KcmvpModule,
        }
    }
}

/// `Work` as the parser needs it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WorkName {
    /// Encrypt and authenticate
    Seal,
    /// Authenticate and decrypt
    Open,
    /// Counter mode alone
    Ctr,
}

impl From<WorkName> for Work {
    fn from(name: WorkName) -> Self {
        match name {
            WorkName::Seal => Self::Seal,
            WorkName::Open => Self::Open,
            WorkName::Ctr => Self::Ctr,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_definition_is_sound() {
        crate::definition().debug_assert();
    }
}
