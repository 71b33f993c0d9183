//! Parts that the rows of SQL servers in the table of stores have in common.

/// Settings that suit them. A round trip takes longer than the work at its end: fewer records than
/// within this process, more clients.
pub(crate) const SUITED: &str = "workloads = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\n\
                                 records = 50000\noperations = 20000\nthreads = 8\n\
                                 rounds = 6\npairs = 3\nslice-ms = 500\n";
/// The minimum number of connections to a server: some workloads fix their clients, whatever
/// `--threads` is.
const CONNECTIONS_MIN: usize = 500;

/// Returns the number of connections that a server must take where `clients` use it at once.
pub(crate) fn connections(clients: usize) -> u32 {
    // a client may look something up while its transaction is open
    u32::try_from(CONNECTIONS_MIN.max(3 * clients)).unwrap_or(u32::MAX)
}
