//! `sealstone wire suites`: the table of suites.

use sealstone_cipher::NOT_A_MODULE;
use sealstone_seal::esp::{Suite, Transform, suites};
use serde_json::{Value, json};

use crate::message::{Answer, print, print_json};
use crate::table::{Table, wrap};
use crate::terminal::{self, Style};

/// Schema of the JSON that this command prints.
const SCHEMA: u32 = 1;

/// Prints the table.
pub(crate) fn run(json: bool) -> anyhow::Result<Answer> {
    if json {
        let suites: Vec<Value> = suites().iter().map(as_json).collect();
        let answer = json!({"schema": SCHEMA, "suites": suites, "validated_module": false});
        print_json(&answer)?;
    } else {
        print(&text(terminal::stdout()))?;
    }
    Ok(Answer::Done)
}

fn text(style: Style) -> String {
    let mut table = Table::new(["SUITE", "ENCRYPTS", "AUTHENTICATES", "APPROVED", "SOURCE"]);
    for suite in suites() {
        let encrypts = suite.cipher().map_or("nothing", |cipher| cipher.name);
        let authenticates = match (suite.mac, suite.cipher()) {
            (Some(mac), _) => mac.name,
            (None, Some(_)) => "the cipher's GCM",
            (None, None) => "nothing",
        };
        table.row([suite.name, encrypts, authenticates, suite.approval().words(), suite.source]);
    }
    let mut text = format!("{}\n", table.render(style));
    let mut said = Vec::new();
    for (part, caveat) in suites().iter().flat_map(parts) {
        if !said.contains(&part) {
            said.push(part);
            let lines = wrap(&format!("{part}: {caveat}"), style.columns() - 2);
            text.push_str(&format!("{}\n", lines.join("\n  ")));
        }
    }
    text.push_str(&format!("\n{}\n", wrap(NOT_A_MODULE, style.columns()).join("\n")));
    text
}

/// Returns the parts of a suite that have a caveat for the user.
fn parts(suite: &'static Suite) -> Vec<(&'static str, &'static str)> {
    if suite.cipher().is_none() {
        return suite.caveats().into_iter().map(|caveat| (suite.name, caveat)).collect();
    }
    let cipher = suite.cipher().and_then(|cipher| Some((cipher.name, cipher.caveat?)));
    let mac = suite.mac.and_then(|mac| Some((mac.name, mac.caveat?)));
    cipher.into_iter().chain(mac).collect()
}

fn as_json(suite: &Suite) -> Value {
    let (number, private) = match suite.transform {
        Transform::Iana(number) => (number, false),
        Transform::Private(number) => (number, true),
    };
    json!({
        "name": suite.name,
        "cipher": suite.cipher().map(|cipher| cipher.name),
        "mac": suite.mac.map(|mac| mac.name),
        "transform": number,
        "private_transform": private,
        "source": suite.source,
        "fips": suite.approval().fips,
        "kcmvp": suite.approval().kcmvp,
        "caveats": suite.caveats(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_the_screen_and_warns() {
        let text = text(Style::plain(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(suites().iter().all(|suite| text.contains(suite.name)));
        for part in ["3des: ", "blowfish: ", "hmac-md5-96: ", "null: "] {
            assert_eq!(text.lines().filter(|line| line.starts_with(part)).count(), 1, "{text}");
        }
    }
}
