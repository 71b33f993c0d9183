//! The table of servers that a lab can run.

use sealstone_message::Unknown;

use crate::LabError;
use crate::server::Server;

/// One row for each server, in the order in which the servers of a lab are stopped; they are
/// started in reverse. So a server that others need is below them.
static SERVERS: &[&Server] = &[
    #[cfg(feature = "mongodb")]
    &crate::mongod::SERVER,
    #[cfg(feature = "redis")]
    &crate::redis::SERVER,
    &crate::postgres::SERVER,
    &crate::mariadb::SERVER,
    &crate::ssdb::SERVER,
    &crate::tgt::SERVER,
    &crate::pykmip::SERVER,
];

/// Returns all servers, in the order of the table.
#[must_use]
pub fn servers() -> &'static [&'static Server] {
    SERVERS
}

/// Returns the server `name`.
///
/// # Errors
/// [`LabError::UnknownServer`], with the names that there are.
pub fn server(name: &str) -> Result<&'static Server, LabError> {
    SERVERS.iter().find(|server| server.name == name).copied().ok_or_else(|| {
        Unknown::new("server", name, SERVERS.iter().map(|server| server.name)).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_and_options_of_their_own() {
        for (at, row) in servers().iter().enumerate() {
            assert!(
                servers()[..at].iter().all(|other| other.name != row.name),
                "{} is there twice",
                row.name
            );
            assert_eq!(server(row.name).unwrap().name, row.name);
            assert!(!row.about.is_empty() && !row.about.ends_with('.'), "{}", row.about);
            let flags: Vec<&str> = row.options.iter().map(|option| option.name).collect();
            assert!(
                flags.contains(&row.program.flag),
                "--{} names the program of {}",
                row.program.flag,
                row.name
            );
            assert!((1..flags.len()).all(|at| !flags[..at].contains(&flags[at])), "{flags:?}");
        }
        let error = server("mongo").unwrap_err().to_string();
        assert!(
            error.starts_with("unknown server \"mongo\"; did you mean mongodb?\nknown servers: "),
            "{error}"
        );
    }
}
