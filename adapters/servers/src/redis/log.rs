//! Messages in a server's log that matter when it does not start.

/// Most lines that are quoted.
const LINES_MAX: usize = 4;
/// Message that it logs once it answers.
const READY: &str = "Ready to accept connections";
/// Messages that it logs if another process listens on the port.
const PORT_TAKEN: &[&str] = &["Address already in use", "Failed listening on port"];
/// Warnings of every start, which do not explain a failure.
const ALWAYS: &[&str] =
    &["overcommit", "transparent_hugepage", "TCP backlog", "Warning: no config file"];

/// Returns whether the log `text` shows that the server answers.
pub(super) fn is_ready(text: &str) -> bool {
    text.contains(READY)
}

/// Returns whether the log `text` shows that another process listens on the port.
pub(super) fn is_port_taken(text: &str) -> bool {
    PORT_TAKEN.iter().any(|words| text.contains(words))
}

/// Returns the lines that matter: its output (an unknown setting), then the warnings of its log
/// `text`.
pub(super) fn matters(text: &str, output: &str) -> Vec<String> {
    let printed =
        output.lines().map(|line| line.trim_matches(|letter| letter == '*' || letter == ' '));
    // "PID:ROLE DAY MONTH YEAR TIME # words"
    let warned =
        text.lines().filter_map(|line| line.split_once(" # ")).map(|(_, words)| words.trim());
    let mut said: Vec<String> = Vec::new();
    for line in printed.chain(warned) {
        let dull = line.is_empty()
            || line.contains("oO0OoO0")
            || ALWAYS.iter().any(|words| line.contains(words));
        if !dull && !said.iter().any(|known| known == line) {
            said.push(line.to_owned());
        }
    }
    said.truncate(LINES_MAX);
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
71:C 23 Nov 2026 00:40:58.001 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo
71:M 23 Nov 2026 00:40:58.002 # WARNING Memory overcommit must be enabled!
71:M 23 Nov 2026 00:40:58.003 * monotonic clock: POSIX clock_gettime
71:M 23 Nov 2026 00:40:58.004 # Warning: Could not create server TCP listening socket *:7: bind: Address already in use
";

    #[test]
    fn what_every_start_says_is_left_out() {
        let said =
            matters(LOG, "\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\n>>> 'nosuch \"1\"'\n");
        let [fatal, quoted, taken] = &said[..] else { panic!("{said:?}") };
        assert_eq!(fatal, "FATAL CONFIG FILE ERROR (Redis 7.0.15)");
        assert_eq!(quoted, ">>> 'nosuch \"1\"'");
        assert!(
            taken.starts_with("Warning: Could not create server TCP listening socket"),
            "{taken}"
        );
    }

    #[test]
    fn tells_readiness_and_a_taken_port() {
        let ready = "71:M 23 Nov 2026 00:40:58.004 * Ready to accept connections\n";
        assert!(is_ready(ready) && !is_ready(LOG) && is_port_taken(LOG) && !is_port_taken(ready));
    }
}
