//! Messages in a server's log that matter when it does not start: messages of the extension first,
//! then errors.

use serde_json::Value;

/// Most lines that are quoted.
const LINES_MAX: usize = 4;

/// The number of the line `Waiting for connections`.
const WAITING: i64 = 23016;
/// The number of the line `Failed to set up listener`: the port is taken.
const NO_LISTENER: i64 = 20568;

/// Returns whether the log `text` shows that the server answers.
pub(super) fn is_ready(text: &str) -> bool {
    entries(text).any(|entry| entry["id"] == WAITING)
}

/// Returns whether the log `text` shows that the port takes TLS, as of the last start.
pub(super) fn has_tls(text: &str) -> bool {
    entries(text)
        .filter(|entry| entry["id"] == WAITING)
        .last()
        .is_some_and(|entry| entry["attr"]["ssl"] == "on")
}

/// Returns whether the log `text` shows that another process listens on the port.
pub(super) fn is_port_taken(text: &str) -> bool {
    entries(text).any(|entry| {
        entry["id"] == NO_LISTENER || entry.to_string().contains("Address already in use")
    })
}

/// Returns the lines of the log `text` that matter, worded for a reader; if there are none, the
/// lines of `output`, which was printed elsewhere.
pub(super) fn matters(text: &str, output: &str) -> Vec<String> {
    let mut of_extension = Vec::new();
    let mut errors = Vec::new();
    for entry in entries(text) {
        let words = words(&entry);
        if words.is_empty() {
            continue;
        }
        if words.contains("sealstone") {
            of_extension.push(words);
        } else if matches!(entry["s"].as_str(), Some("E" | "F")) {
            errors.push(words);
        }
    }
    let mut said: Vec<String> = Vec::new();
    for line in of_extension.into_iter().chain(errors) {
        if !said.contains(&line) {
            said.push(line);
        }
    }
    if said.is_empty() {
        said = output
            .lines()
            .filter(|line| !line.starts_with('{') && !line.trim().is_empty())
            .map(String::from)
            .collect();
    }
    said.truncate(LINES_MAX);
    said
}

fn entries(text: &str) -> impl Iterator<Item = Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// Returns the text of an entry: WiredTiger's own words if it passes them on, otherwise the message
/// and its error.
fn words(entry: &Value) -> String {
    let attributes = &entry["attr"];
    let handed_on = match &attributes["message"] {
        Value::String(text) => Some(text.as_str()),
        Value::Object(fields) => fields.get("msg").and_then(Value::as_str),
        _ => None,
    };
    if let Some(text) = handed_on {
        // "[seconds:micros][process:thread], what: text"
        let text = if text.starts_with('[') {
            text.split_once("], ").map_or(text, |(_, rest)| rest)
        } else {
            text
        };
        return one_line(text);
    }
    let message = entry["msg"].as_str().unwrap_or_default();
    match &attributes["error"] {
        Value::String(error) => one_line(&format!("{message}: {error}")),
        Value::Object(error) => {
            let error = error.get("errmsg").and_then(Value::as_str).unwrap_or_default();
            one_line(&format!("{message}: {error}"))
        }
        _ => one_line(message),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WT: &str = concat!(
        r#"{"s":"E","c":"WT","id":22435,"ctx":"initandlisten","msg":"WiredTiger error message","#,
        r#""attr":{"error":-31802,"message":"[1700000000:123][77:0x7f], wiredtiger_open: loading failed"}}"#,
    );
    const OURS: &str = concat!(
        r#"{"s":"I","c":"WTCHKPT","id":22430,"msg":"WiredTiger message","attr":{"message":{"ts_sec":1,"#,
        r#""msg":"sealstone: no key\nlook for it"}}}"#,
    );
    const READY: &str =
        r#"{"s":"I","c":"NETWORK","id":23016,"msg":"Waiting for connections","attr":{"port":1}}"#;
    const TAKEN: &str = concat!(
        r#"{"s":"E","c":"CONTROL","id":20568,"msg":"Error setting up listener","#,
        r#""attr":{"error":{"code":9001,"errmsg":"Address already in use"}}}"#,
    );

    #[test]
    fn the_extension_comes_before_errors_and_all_else_is_left_out() {
        let text = [WT, READY, WT, OURS, "not JSON"].join("\n");
        assert_eq!(
            matters(&text, "x"),
            ["sealstone: no key look for it", "wiredtiger_open: loading failed"]
        );
        assert_eq!(matters(TAKEN, ""), ["Error setting up listener: Address already in use"]);
    }

    #[test]
    fn without_entries_the_output_is_reported() {
        assert_eq!(
            matters("", "{\"s\":1}\n\nError parsing command line: x\n"),
            ["Error parsing command line: x"]
        );
    }

    #[test]
    fn tells_tls_of_the_last_start() {
        let start = |ssl: &str| READY.replace("1}", &format!("1,\"ssl\":{ssl:?}}}"));
        assert!(has_tls(&[start("off"), start("on")].join("\n")));
        assert!(
            !has_tls(&[start("on"), start("off")].join("\n")) && !has_tls(READY) && !has_tls("")
        );
    }

    #[test]
    fn tells_readiness_and_a_taken_port() {
        assert!(is_ready(READY) && !is_ready(TAKEN) && is_port_taken(TAKEN) && !is_port_taken(WT));
    }
}
