//! `sealstone workloads`: the table of workloads, and one of them as a file.

use sealstone_bench::workload::{Definition, Setting, Spec, definition, workloads};
use serde_json::{Value, json};

use crate::flags::WorkloadsFlags;
use crate::message::{Answer, print, print_json};
use crate::table::Table;
use crate::terminal;

/// Schema of the JSON that this command prints.
const SCHEMA: u32 = 1;

/// Prints the table, or one workload as a file.
pub(crate) fn run(flags: &WorkloadsFlags) -> anyhow::Result<Answer> {
    if let Some(name) = &flags.print {
        print(&file(&definition(name)?))?;
        return Ok(Answer::Done);
    }
    if flags.json {
        let workloads: Vec<Value> = workloads().map(as_json).collect();
        print_json(&json!({"schema": SCHEMA, "workloads": workloads}))?;
    } else {
        let mut table = Table::new(["WORKLOAD", "DATA SET", ">CLIENTS", "WHAT IT DOES"]);
        for spec in workloads() {
            let clients =
                spec.clients.map_or("--threads".to_string(), |clients| clients.to_string());
            table.row([spec.name, spec.dataset, &clients, &what(spec)]);
        }
        print(&table.render(terminal::stdout()))?;
        for setting in [Setting::Cold, Setting::Sync] {
            let can =
                workloads().filter(|spec| spec.settings.contains(&setting)).map(|spec| spec.name);
            print(&format!("\n{} {}", setting.named("NAME"), setting.about()))?;
            print(&format!(": {}\n", can.collect::<Vec<_>>().join(", ")))?;
        }
    }
    Ok(Answer::Done)
}

/// Returns a workload as a file that explains its use.
fn file(definition: &Definition) -> String {
    let usage = "# A workload: give it another name, change what you like, and name this file in\n\
                 #     sealstone compare --workloads FILE.toml\n\
                 # Every key is explained in docs/guide/workloads.md.\n\n";
    format!("{usage}{}", definition.to_toml())
}

/// Describes the work of `spec`, and the caveats of its figures.
fn what(spec: &Spec) -> String {
    [Some(spec.description), spec.remark].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn as_json(spec: &Spec) -> Value {
    json!({
        "name": spec.name,
        "description": spec.description,
        "data_set": spec.dataset,
        "unit": spec.unit,
        "clients": spec.clients,
        "settings": spec.settings,
        "cold": spec.cold,
        "from_empty": spec.from_empty,
        "remark": spec.remark,
    })
}
