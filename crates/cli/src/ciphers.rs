//! `sealstone ciphers`: the tables of ciphers and modes; with `--speed`, their speed on this
//! machine.

use sealstone_bench::words::human_bytes;

use sealstone_cipher::{Approval, Cipher, ModeFacts, NOT_A_MODULE, modes};
use serde_json::{Value, json};

#[cfg(feature = "gpu")]
use crate::devices;
use crate::flags::CiphersFlags;
use crate::message::{Answer, print, print_json};
use crate::table::{Table, wrap};
use crate::{speed, terminal};

/// Schema of the JSON that this command prints.
const SCHEMA: u32 = 1;

/// Prints the table, or measures.
pub(crate) fn run(flags: &CiphersFlags) -> anyhow::Result<Answer> {
    #[cfg(feature = "gpu")]
    {
        if flags.devices {
            return devices::list(flags.json);
        }
        if let Some(device) = &flags.device {
            return devices::speed(flags, device);
        }
    }
    let ciphers = chosen(flags.ciphers.as_deref())?;
    if flags.speed {
        return speed::run(flags, &ciphers);
    }
    if flags.json {
        let ciphers: Vec<Value> = ciphers.iter().map(|cipher| as_json(cipher)).collect();
        let modes: Vec<Value> = modes().iter().map(mode_as_json).collect();
        print_json(&json!({"schema": SCHEMA, "ciphers": ciphers, "modes": modes,
                "validated_module": false}))?;
    } else {
        print(&text(&ciphers))?;
        if flags.ciphers.is_none() {
            print(&format!("\n{}", modes_text()))?;
        }
        print(&format!("\n{}\n", approved_text()))?;
    }
    Ok(Answer::Done)
}

/// Returns the ciphers named, in the table's order when none is named.
fn chosen(names: Option<&[String]>) -> anyhow::Result<Vec<&'static Cipher>> {
    match names {
        None => Ok(sealstone_cipher::ciphers().iter().collect()),
        Some(names) => {
            Ok(names.iter().map(|name| sealstone_cipher::cipher(name)).collect::<Result<_, _>>()?)
        }
    }
}

fn text(ciphers: &[&Cipher]) -> String {
    let mut table = Table::new([
        "CIPHER",
        ">BLOCK",
        ">KEY",
        "MODE",
        "STANDING",
        "APPROVED",
        ">A KEY FOR",
        "SOURCE",
    ]);
    for cipher in ciphers {
        table.row([
            cipher.name.to_string(),
            (cipher.block_bytes * 8).to_string(),
            (cipher.key_bytes * 8).to_string(),
            cipher.mode.word().to_string(),
            cipher.standing.word().to_string(),
            approved(cipher.approval()).to_string(),
            human_bytes(cipher.limits.bytes_per_key),
            cipher.source.to_string(),
        ]);
    }
    let mut text = table.render(terminal::stdout());
    let caveats: Vec<_> =
        ciphers.iter().filter_map(|cipher| cipher.caveat.map(|caveat| (cipher, caveat))).collect();
    if !caveats.is_empty() {
        text.push('\n');
    }
    for (cipher, caveat) in caveats {
        let lines = wrap(&format!("{}: {caveat}", cipher.name), terminal::stdout().columns() - 2);
        text.push_str(&lines.join("\n  "));
        text.push('\n');
    }
    text
}

fn modes_text() -> String {
    let mut table =
        Table::new(["MODE", ">BLOCK", "HIDES", "NOTICES CHANGES", "APPROVED", "SOURCE"]);
    for mode in modes() {
        table.row([
            mode.name.to_string(),
            mode.block_bytes
                .iter()
                .map(|bytes| (bytes * 8).to_string())
                .collect::<Vec<_>>()
                .join(" "),
            if mode.encrypts { "yes" } else { "no" }.to_string(),
            if mode.authenticates.is_some() { "yes" } else { "no" }.to_string(),
            approved(Approval { fips: mode.fips, kcmvp: mode.kcmvp }).to_string(),
            mode.source.to_string(),
        ]);
    }
    table.render(terminal::stdout())
}

/// Returns the explanation of `APPROVED`.
fn approved_text() -> String {
    let text = format!(
        "APPROVED: what seals data under a cipher is on a list if cipher and mode both are: \
         aria-256 in ff1 is on none. {NOT_A_MODULE}"
    );
    wrap(&text, terminal::stdout().columns()).join("\n")
}

/// Returns the lists, without what would make the column wider.
fn approved(approval: Approval) -> &'static str {
    match (approval.fips, approval.kcmvp) {
        (true, true) => "FIPS KCMVP",
        (true, false) => "FIPS",
        (false, true) => "KCMVP",
        (false, false) => "-",
    }
}

fn as_json(cipher: &Cipher) -> Value {
    json!({
        "name": cipher.name,
        "id": cipher.id,
        "block_bytes": cipher.block_bytes,
        "key_bytes": cipher.key_bytes,
        "mode": cipher.mode.word(),
        "standing": cipher.standing.word(),
        "source": cipher.source,
        "fips": cipher.approval().fips,
        "kcmvp": cipher.approval().kcmvp,
        "modes": cipher.modes().map(|mode| {
            let Approval { fips, kcmvp } = cipher.approval_in(mode.mode);
            json!({"mode": mode.name, "fips": fips, "kcmvp": kcmvp})
        }).collect::<Vec<_>>(),
        "limits": {
            "bytes_per_key": cipher.limits.bytes_per_key,
            "messages_per_key": cipher.limits.messages_per_key,
            "message_bytes": cipher.limits.message_bytes,
            "source": cipher.limits.source,
        },
        "caveat": cipher.caveat,
    })
}

fn mode_as_json(mode: &ModeFacts) -> Value {
    json!({
        "name": mode.name,
        "block_bytes": mode.block_bytes,
        "encrypts": mode.encrypts,
        "authenticates": mode.authenticates,
        "fips": mode.fips,
        "kcmvp": mode.kcmvp,
        "source": mode.source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_the_screen() {
        let all: Vec<&Cipher> = sealstone_cipher::ciphers().iter().collect();
        let text = text(&all);
        assert!(
            text.lines().all(|line| line.chars().count() <= terminal::stdout().columns()),
            "{text}"
        );
        for cipher in all {
            assert!(text.contains(cipher.name));
        }
        let text = modes_text();
        assert!(
            text.lines().all(|line| line.chars().count() <= terminal::stdout().columns()),
            "{text}"
        );
        for mode in modes() {
            assert!(text.contains(mode.name) && text.contains(mode.source), "{text}");
        }
    }
}
