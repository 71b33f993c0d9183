//! Messages in a server's log that matter when it does not start.

/// Most lines that are quoted.
pub(super) const LINES_MAX: usize = 4;
/// Message on the line that it logs once it answers.
const READY: &str = "ready for connections";
/// Message that it logs if another process listens on the port.
const PORT_TAKEN: &str = "Bind on TCP/IP port";
/// Lines with these words explain why.
const GRAVE: &[&str] = &["[ERROR]", "mariadbd:", "unshare:"];

/// Returns whether the log `text` shows that the server answers.
pub(super) fn is_ready(text: &str) -> bool {
    text.contains(READY)
}

/// Returns whether the log `text` shows that another process listens on the port.
pub(super) fn is_port_taken(text: &str) -> bool {
    text.contains(PORT_TAKEN)
}

/// Returns the lines of `text` that matter, without time and thread.
pub(super) fn matters(text: &str) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| GRAVE.iter().any(|words| line.contains(words))) {
        // "DAY TIME THREAD [ERROR] words"
        let words = line.split_once("[ERROR] ").map_or(line, |(_, words)| words).trim().to_owned();
        if !said.contains(&words) {
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
2026-11-23  4:18:05 0 [Note] InnoDB: Completed initialization of buffer pool
2026-11-23  4:18:05 0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use
2026-11-23  4:18:05 0 [ERROR] Aborting
";

    #[test]
    fn what_every_start_says_is_left_out() {
        let said = matters(LOG);
        let [taken, aborting] = &said[..] else { panic!("{said:?}") };
        assert!(taken.starts_with("Can't start server: ") && aborting == "Aborting", "{said:?}");
    }

    #[test]
    fn tells_readiness_and_a_taken_port() {
        let ready = "2026-11-23  4:18:05 0 [Note] mariadbd: ready for connections.\n";
        assert!(is_ready(ready) && !is_ready(LOG) && is_port_taken(LOG) && !is_port_taken(ready));
    }
}
