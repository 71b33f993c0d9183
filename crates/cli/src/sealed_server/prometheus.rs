//! Account of a data directory, in the text format of Prometheus, for the textfile collector of its
//! node_exporter. Not here: the account for people (`check`).

use std::fmt::Write as _;

use sealstone_seal::account::{Account, Share};

/// One metric, by what follows the name of the server in its name, and its samples: labels besides
/// the directory, and the value.
struct Metric {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Vec<(&'static str, String)>, u64)>,
}

/// Returns `account` of a directory of `server` as metrics, each with the directory as a label.
pub(super) fn text(server: &str, account: &Account) -> String {
    let alone = |value: u64| vec![(Vec::new(), value)];
    let by_key = |value: fn(&Share) -> u64| {
        let sample = |share: &Share| {
            let labels = vec![
                ("cipher", share.cipher.to_owned()),
                ("key", account.key_id.clone().unwrap_or_default()),
                ("key_version", share.key_version.to_string()),
                ("fingerprint", share.fingerprint.clone()),
            ];
            (labels, value(share))
        };
        account.sealed.iter().map(sample).collect()
    };
    let metrics = [
        Metric {
            name: "sealed",
            help: "Whether every block of data and every journal record in the directory is \
                   sealed.",
            samples: alone(u64::from(account.is_sealed())),
        },
        Metric {
            name: "sealed_blocks",
            help: "Sealed blocks and journal records, by cipher and key.",
            samples: by_key(|share| share.blocks),
        },
        Metric {
            name: "sealed_bytes",
            help: "Bytes of these on the disk.",
            samples: by_key(|share| share.bytes),
        },
        Metric {
            name: "clear_blocks",
            help: "Blocks and journal records in the clear.",
            samples: alone(account.clear_blocks),
        },
        Metric {
            name: "clear_bytes",
            help: "Bytes of these on the disk.",
            samples: alone(account.clear_bytes),
        },
        Metric {
            name: "other_blocks",
            help: "Blocks that are damaged, of a newer format, or encrypted by something else.",
            samples: alone(account.other_blocks),
        },
        Metric {
            name: "unread_files",
            help: "Files that could not be looked at.",
            samples: alone(account.unread_files),
        },
    ];
    let dir = account.dir.display().to_string();
    let mut text = String::new();
    for Metric { name, help, samples } in metrics {
        let name = format!("sealstone_{server}_{name}");
        writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge")
            .expect("a string takes everything");
        for (labels, value) in samples {
            let labels = [("dir", dir.clone())].into_iter().chain(labels);
            let labels: Vec<String> =
                labels.map(|(label, value)| format!("{label}=\"{}\"", escaped(&value))).collect();
            writeln!(text, "{name}{{{}}} {value}", labels.join(","))
                .expect("a string takes everything");
        }
    }
    text
}

/// Returns a label's value as the format has it.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_written_as_the_format_has_it() {
        let share = |cipher, key_version, blocks, bytes| Share {
            cipher,
            key_version,
            fingerprint: "0a1b2c3d".into(),
            blocks,
            bytes,
        };
        let account = Account {
            schema: 1,
            dir: "/data/\"new\"\\db".into(),
            key_id: Some("orders".into()),
            files: Vec::new(),
            sealed: vec![share("aria-256", 2, 7, 28_672), share("aes-256", 1, 1, 4_096)],
            clear_blocks: 3,
            clear_bytes: 12_288,
            other_blocks: 0,
            unread_files: 0,
            elsewhere: Vec::new(),
        };
        let dir = r#"dir="/data/\"new\"\\db""#;
        let [newer, older] = [("aria-256", 2), ("aes-256", 1)].map(|(cipher, version)| {
            format!(r#"{dir},cipher="{cipher}",key="orders",key_version="{version}",fingerprint="0a1b2c3d""#)
        });
        let want = format!(
            "# HELP sealstone_mongo_sealed Whether every block of data and every journal record in \
             the directory is sealed.\n\
             # TYPE sealstone_mongo_sealed gauge\n\
             sealstone_mongo_sealed{{{dir}}} 0\n\
             # HELP sealstone_mongo_sealed_blocks Sealed blocks and journal records, by cipher and \
             key.\n\
             # TYPE sealstone_mongo_sealed_blocks gauge\n\
             sealstone_mongo_sealed_blocks{{{newer}}} 7\n\
             sealstone_mongo_sealed_blocks{{{older}}} 1\n\
             # HELP sealstone_mongo_sealed_bytes Bytes of these on the disk.\n\
             # TYPE sealstone_mongo_sealed_bytes gauge\n\
             sealstone_mongo_sealed_bytes{{{newer}}} 28672\n\
             sealstone_mongo_sealed_bytes{{{older}}} 4096\n\
             # HELP sealstone_mongo_clear_blocks Blocks and journal records in the clear.\n\
             # TYPE sealstone_mongo_clear_blocks gauge\n\
             sealstone_mongo_clear_blocks{{{dir}}} 3\n\
             # HELP sealstone_mongo_clear_bytes Bytes of these on the disk.\n\
             # TYPE sealstone_mongo_clear_bytes gauge\n\
             sealstone_mongo_clear_bytes{{{dir}}} 12288\n\
             # HELP sealstone_mongo_other_blocks Blocks that are damaged, of a newer format, or \
             encrypted by something else.\n\
             # TYPE sealstone_mongo_other_blocks gauge\n\
             sealstone_mongo_other_blocks{{{dir}}} 0\n\
             # HELP sealstone_mongo_unread_files Files that could not be looked at.\n\
             # TYPE sealstone_mongo_unread_files gauge\n\
             sealstone_mongo_unread_files{{{dir}}} 0\n"
        );
        assert_eq!(text("mongo", &account), want);
        let all = Account { clear_blocks: 0, clear_bytes: 0, ..account };
        assert!(text("mongo", &all).contains(&format!("\nsealstone_mongo_sealed{{{dir}}} 1\n")));
    }
}
