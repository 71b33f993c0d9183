//! Output of the commands on key files about them: versions, holders, and the cost of trying a
//! passphrase.

use sealstone_keys::{Cost, Holder, KeyFileSummary};
use serde_json::{Value, json};

use crate::message::{Answer, print, print_json};
use crate::table::Table;
use crate::terminal;

/// Schema of the JSON that these commands print.
pub(super) const SCHEMA: u32 = 1;

/// Returns the JSON description of a key file.
pub(super) fn facts(key: &KeyFileSummary) -> Value {
    let versions: Vec<Value> = key
        .versions
        .iter()
        .map(|(version, created)| json!({"version": version, "created": created}))
        .collect();
    let holders: Vec<Value> = key.holders.iter().map(holder_facts).collect();
    json!({
        "file": key.path, "id": key.id, "protected": key.is_protected(), "holders": holders,
        "token": key.token.as_ref().map(ToString::to_string), "versions": versions,
    })
}

/// Shows a key file, as JSON or for people.
pub(super) fn show(key: &KeyFileSummary, json: bool) -> anyhow::Result<Answer> {
    if json {
        let mut shown = facts(key);
        shown["schema"] = SCHEMA.into();
        print_json(&shown)?;
    } else {
        let mut table = Table::new(["KEY", ">VERSION", "MADE"]);
        for (version, created) in &key.versions {
            table.row([&key.id, &version.to_string(), created.as_str()]);
        }
        let versions = table.render(terminal::stdout());
        print(&format!("{}\n{}\n", versions.trim_end(), protection(key).trim_end()))?;
    }
    Ok(Answer::Done)
}

/// Returns the JSON description of a holder.
fn holder_facts(holder: &Holder) -> Value {
    let Cost { memory_kib, passes, lanes } = holder.cost;
    json!({
        "name": holder.name, "kdf": "argon2id", "memory_kib": memory_kib, "passes": passes,
        "lanes": lanes,
    })
}

/// Returns the word for the protection of a key file.
pub(super) fn protector(key: &KeyFileSummary) -> &'static str {
    match key.token {
        Some(_) => "token",
        None if key.has_passphrase() => "passphrase",
        None => "-",
    }
}

/// Describes the protection of a key file: the token, or the holders and the cost of trying a
/// passphrase.
fn protection(key: &KeyFileSummary) -> String {
    if let Some(token) = &key.token {
        return format!(
            "key {} of token {} protects it\n{token}",
            token.key_name(),
            token.token_name()
        );
    }
    match &key.holders[..] {
        [] => "no passphrase protects it".into(),
        [Holder { name: None, cost, .. }] => {
            format!("a passphrase protects it ({})", in_words(*cost))
        }
        holders => {
            let mut table = Table::new(["HOLDER", "PASSPHRASE"]);
            for holder in holders {
                table.row([holder.name.as_deref().unwrap_or("-"), &in_words(holder.cost)]);
            }
            format!("\n{}", table.render(terminal::stdout()))
        }
    }
}

fn in_words(Cost { memory_kib, passes, lanes }: Cost) -> String {
    let memory = match memory_kib {
        whole if whole % 1024 == 0 => format!("{} MiB", whole / 1024),
        other => format!("{other} KiB"),
    };
    format!("Argon2id, {memory}, {passes} passes, {lanes} lanes")
}
