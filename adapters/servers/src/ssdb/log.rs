//! Messages in a server's log that matter when it does not start.

/// Most lines that are quoted.
const LINES_MAX: usize = 4;
/// Message that it logs once it listens.
const READY: &str = "ssdb server started.";
/// Message that it logs if another process listens on the port.
const PORT_TAKEN: &str = "Address already in use";
/// Levels of messages that explain a failure, as they stand in a line.
const LEVELS: &[&str] = &["[FATAL] ", "[ERROR] "];
/// Lines that it prints at every start.
const ALWAYS: &[&str] = &["ssdb-server ", "Copyright "];

/// Returns whether the log `text` shows that the server answers.
pub(super) fn is_ready(text: &str) -> bool {
    text.contains(READY)
}

/// Returns whether the log `text` shows that another process listens on the port.
pub(super) fn is_port_taken(text: &str) -> bool {
    text.contains(PORT_TAKEN)
}

/// Returns the lines that matter: the failures of its log `text`, then its output.
pub(super) fn matters(text: &str, output: &str) -> Vec<String> {
    let printed = output.lines().map(str::trim);
    let printed = printed.filter(|line| !ALWAYS.iter().any(|usual| line.starts_with(usual)));
    let mut said: Vec<String> = Vec::new();
    for line in text.lines().filter_map(failure).chain(printed) {
        if !line.is_empty() && !said.iter().any(|known| known == line) {
            said.push(line.to_owned());
        }
    }
    said.truncate(LINES_MAX);
    said
}

/// Returns the words of a line `DAY TIME [LEVEL] file.cpp(line): words`, if it is of a failure.
fn failure(line: &str) -> Option<&str> {
    let words = LEVELS.iter().find_map(|level| Some(line.split_once(level)?.1))?;
    Some(words.split_once("): ").map_or(words, |(_, words)| words))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKEN: &str = "\
2026-11-30 00:43:22.129 [INFO ] ssdb-server.cpp(46): ssdb-server 1.9.8
2026-11-30 00:43:22.133 [FATAL] server.cpp(150): error opening server socket! Address already in use
";
    const PRINTED: &str = "\
ssdb-server 1.9.8
Copyright (c) 2012-2015 ssdb.io

error opening server socket! Address already in use
";

    #[test]
    fn tells_readiness_and_a_taken_port() {
        let ready = "2026-11-30 00:43:21.125 [INFO ] ssdb-server.cpp(86): ssdb server started.\n";
        assert!(is_ready(ready) && !is_port_taken(ready) && matters(ready, "").is_empty());
        assert!(!is_ready(TAKEN) && is_port_taken(TAKEN));
    }

    #[test]
    fn a_failure_is_said_once() {
        let found = "error opening server socket! Address already in use";
        assert_eq!(matters(TAKEN, PRINTED), [found]);
        assert_eq!(matters("", PRINTED), [found], "before there is a log");
    }
}
