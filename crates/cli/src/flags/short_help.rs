//! The flags of `compare` in its short help, in words that fit: the flags that a first user needs.
//! All others, and the full texts, are under `--help`.

use clap::Command;

/// Flags by the names of their values, each in a few words.
const SHOWN: &[(&str, &str)] = &[
    ("store", "rocksdb, mongodb, redis, postgres, mysql, ..."),
    ("layer", "rest (files), field (values), wire, field+rest, ..."),
    ("protect_from", "Advise the cheapest place that keeps these out"),
    ("ciphers", "Ciphers, and none for the baseline"),
    ("suites", "With --layer wire: tls, or suites of packets"),
    ("workloads", "a to f, oltp, batch-load, ..., and files of yours"),
    ("preset", "warm, cold, sync or all"),
    ("policy", "any, fips or kcmvp: algorithms, no validated module"),
    ("records", "Records in the data set"),
    ("records_from", "Take the records from a CSV file"),
    ("threads", "Client threads"),
    ("rounds", "More of them narrow the intervals"),
    ("target", "Operations a second, or max"),
    ("out", "Where report and results go; results there stay"),
    ("resume", "Continue the run whose results are in DIR"),
    ("baseline", "Also compare with an earlier results.json"),
    ("study", "Repeat a published study by its name"),
    ("dry_run", "List the points and about how long they take"),
    ("fail_if", "Exit code 1 if a cost grew by more, 3 inconclusive"),
    ("key", "Seal with this key [default: a random one]"),
    ("config", "TOML file with any of these settings"),
    ("print_config", "Print all settings as such a file, and stop"),
    ("json", "Print the results as JSON"),
    ("quiet", "No progress"),
];

/// Returns `compare` with only these flags in its short help.
pub(super) fn with_few_flags(compare: Command) -> Command {
    let ids: Vec<String> = compare.get_arguments().map(|flag| flag.get_id().to_string()).collect();
    ids.into_iter().fold(compare, |compare, id| {
        let shown = SHOWN.iter().find(|(name, _)| *name == id);
        compare.mut_arg(id, |flag| match shown {
            Some((_, words)) => {
                let all = flag.get_long_help().or(flag.get_help()).cloned().unwrap_or_default();
                let takes_value = flag.get_action().takes_values();
                let flag = flag.help(*words).long_help(all);
                if takes_value { flag.hide_possible_values(true) } else { flag }
            }
            None => flag.hide_short_help(true),
        })
    })
}
