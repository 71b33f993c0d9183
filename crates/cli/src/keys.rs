//! `sealstone keys`: makes and shows key files. Secrets never appear.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use sealstone_keys::check_key_id;
use sealstone_keys::file::KeyFile;
use serde_json::{Value, json};

use crate::flags::KeysCommand;
use crate::message::{Answer, print, print_json, say};
use crate::table::Table;
use crate::terminal;

/// Schema of the JSON that these commands print.
const SCHEMA: u32 = 1;

/// Runs one of the commands.
pub(crate) fn run(command: &KeysCommand) -> anyhow::Result<Answer> {
    match command {
        KeysCommand::New { file, id, json } => {
            let id = id.clone().unwrap_or_else(|| some_id(file));
            let key = KeyFile::create(file, &id)?;
            say(&format!(
                "made key {id} in {}; without this file nothing sealed under it can be read: keep a copy apart from the data",
                file.display()
            ));
            show(&key, *json)
        }
        KeysCommand::Show { file, json } => show(&KeyFile::open(file)?, *json),
    }
}

/// A name for a key: the file's own, and four random bytes so that two keys are not called the same by accident.
fn some_id(file: &Path) -> String {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| stem.len() <= 40);
    let stem = stem.filter(|stem| check_key_id(stem).is_ok()).unwrap_or("key");
    format!("{stem}-{:08x}", RandomState::new().hash_one(file) as u32)
}

fn show(key: &KeyFile, json: bool) -> anyhow::Result<Answer> {
    if json {
        let versions: Vec<Value> =
            key.versions().map(|(version, created)| json!({"version": version, "created": created})).collect();
        print_json(&json!({"schema": SCHEMA, "file": key.path(), "id": key.id(), "versions": versions}))?;
    } else {
        let mut table = Table::new(["KEY", ">VERSION", "MADE"]);
        for (version, created) in key.versions() {
            table.row([key.id(), &version.to_string(), created]);
        }
        print(&table.render(terminal::stdout()))?;
    }
    Ok(Answer::Done)
}
