//! Messages in a server's log that matter when it does not start.

/// Most lines that are quoted.
pub(super) const LINES_MAX: usize = 4;
/// Message that it logs once it answers.
const READY: &str = "database system is ready to accept connections";
/// Message that it logs if another process listens on the port.
const PORT_TAKEN: &str = "Address already in use";
/// Messages that it logs while processes of a server that was killed have not ended yet.
const PREDECESSOR: &[&str] =
    &["pre-existing shared memory block", "lock file \"postmaster.pid\" already exists"];
/// Lines with these words explain why.
const GRAVE: &[&str] = &["FATAL:", "PANIC:", "ERROR:", "HINT:", "postgres:", "unshare:"];

/// Returns whether the log `text` shows that the server answers.
pub(super) fn is_ready(text: &str) -> bool {
    text.contains(READY)
}

/// Returns whether the log `text` shows that another process listens on the port.
pub(super) fn is_port_taken(text: &str) -> bool {
    text.contains(PORT_TAKEN)
}

/// Returns whether the log `text` shows that a server which was there before has not ended in full.
pub(super) fn is_predecessor_there(text: &str) -> bool {
    PREDECESSOR.iter().any(|words| text.contains(words))
}

/// Returns the lines of `text` that matter, without time and process.
pub(super) fn matters(text: &str) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_grave = GRAVE.iter().any(|words| line.contains(words)) || line.contains(PORT_TAKEN);
        // "DAY TIME ZONE [PID] LEVEL:  words"
        let words = line.split_once("] ").map_or(line, |(_, words)| words).trim();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        if is_grave && !said.contains(&words) {
            said.push(words);
        }
    }
    said.truncate(LINES_MAX);
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
2026-11-23 04:18:05.688 UTC [7] LOG:  starting PostgreSQL 15.18 on x86_64-pc-linux-gnu
2026-11-23 04:18:05.688 UTC [7] LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use
2026-11-23 04:18:05.688 UTC [7] HINT:  Is another postmaster already running on port 7?
2026-11-23 04:18:05.688 UTC [7] FATAL:  could not create any TCP/IP sockets
2026-11-23 04:18:05.688 UTC [7] LOG:  database system is shut down
";

    #[test]
    fn what_every_start_says_is_left_out() {
        let said = matters(LOG);
        let [taken, hint, fatal] = &said[..] else { panic!("{said:?}") };
        assert_eq!(taken, "LOG: could not bind IPv4 address \"127.0.0.1\": Address already in use");
        assert_eq!(hint, "HINT: Is another postmaster already running on port 7?");
        assert_eq!(fatal, "FATAL: could not create any TCP/IP sockets");
    }

    #[test]
    fn tells_readiness_and_a_taken_port() {
        let ready = "2026-11-23 04:18:05.696 UTC [7] LOG:  database system is ready to accept \
                     connections\n";
        assert!(is_ready(ready) && !is_ready(LOG) && is_port_taken(LOG) && !is_port_taken(ready));
        let left = "FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use\n";
        assert!(is_predecessor_there(left) && !is_predecessor_there(LOG));
    }
}
