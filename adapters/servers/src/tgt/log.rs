//! Messages in tgtd's log that matter when it does not start.

/// Most lines that are quoted.
const LINES_MAX: usize = 4;
/// Last message that it logs before it serves.
const READY: &str = "bs_init(";
/// Message that it logs if another process listens on the port; it then goes on without a port.
const PORT_TAKEN: &str = "Address already in use";
/// Messages that it logs wherever it runs, to no effect.
const USUAL: &[&str] = &["iser_ib_init", "oom-killer", "nr_open", "work_timer_start", "bs_init"];

/// Returns whether the log `text` shows that the target answers.
pub(super) fn is_ready(text: &str) -> bool {
    text.contains(READY) && !text.contains("failed to create/bind to portal")
}

/// Returns whether the log `text` shows that another process listens on the port.
pub(super) fn is_port_taken(text: &str) -> bool {
    text.contains(PORT_TAKEN)
}

/// Returns the lines of `text` that matter.
pub(super) fn matters(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let unusual = lines.filter(|line| !USUAL.iter().any(|words| line.contains(words)));
    unusual
        .map(|line| line.strip_prefix("tgtd: ").unwrap_or(line).to_owned())
        .take(LINES_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVING: &str = "\
tgtd: iser_ib_init(3431) Failed to initialize RDMA; load kernel modules?
can't adjust oom-killer's pardon /proc/self/oom_score_adj, Permission denied
tgtd: work_timer_start(146) use timer_fd based scheduler
tgtd: bs_init(387) use signalfd notification
";

    #[test]
    fn tells_readiness_and_a_taken_port() {
        let taken = format!(
            "tgtd: iscsi_tcp_init_portal(351) unable to bind server socket, Address already in \
             use\n\
             tgtd: iscsi_add_portal(416) failed to create/bind to portal 127.0.0.1:7\n{SERVING}"
        );
        assert!(is_ready(SERVING) && !is_port_taken(SERVING) && matters(SERVING).is_empty());
        assert!(!is_ready(&taken) && is_port_taken(&taken));
        let said = matters(&taken);
        assert!(
            said.len() == 2 && said[0].starts_with("iscsi_tcp_init_portal(351) unable to bind"),
            "{said:?}"
        );
    }
}
