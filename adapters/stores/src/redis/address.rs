//! Addresses of servers: one server, several nodes of a cluster, or sentinels of a server.

use sealstone_message::{Password, scheme_words, shown_address};

use crate::address::{check_clear, check_user, credentials, host_and_port};
use crate::server_error::ServerError;

/// Port of a server, of a sentinel and of SSDB, where the address has none.
const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
const SSDB_PORT: u16 = 8888;
/// Forms of an address, for errors.
const FORMS: &str = "write redis://HOST:PORT, rediss:// for TLS, several HOST:PORT with commas \
                     between them for a cluster, or redis+sentinel://HOST:PORT,HOST:PORT/NAME";

/// Location of servers, and how a client identifies itself.
#[derive(Clone)]
pub(super) struct Address {
    /// Host and port of each server, or of each sentinel.
    pub(super) hosts: Vec<(String, u16)>,
    /// True if connections are encrypted.
    pub(super) tls: bool,
    /// Name of the primary for requests to sentinels; absent: the hosts are the servers.
    pub(super) sentinel: Option<String>,
    pub(super) user: Option<String>,
    pub(super) password: Option<Password>,
    /// Number of the database.
    pub(super) database: i64,
}

impl Address {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// [`ServerError::Address`], which does not quote a password.
    pub(super) fn parse(text: &str) -> Result<Self, ServerError> {
        let wrong = |found: String| {
            let shown = shown_address(text);
            ServerError::Address { server: "Redis", shown, found, forms: FORMS }
        };
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("it has no scheme".into()))?;
        let (tls, sentinel, default_port) = match scheme {
            "redis" => (false, false, PORT),
            "rediss" => (true, false, PORT),
            "redis+sentinel" => (false, true, SENTINEL_PORT),
            "rediss+sentinel" => (true, true, SENTINEL_PORT),
            "ssdb" => (false, false, SSDB_PORT),
            _ => return Err(wrong(scheme_words(scheme))),
        };
        let (who, place) =
            rest.rsplit_once('@').map_or((None, rest), |(who, place)| (Some(who), place));
        check_user(who.unwrap_or_default()).map_err(wrong)?;
        if place.contains(['?', '#']) {
            return Err(wrong(
                "it has parameters, and none is read: write USER:PASSWORD@ before the host".into(),
            ));
        }
        let (hosts, path) = place.split_once('/').unwrap_or((place, ""));
        let hosts = hosts.split(',').map(|host| host_and_port(host, default_port).map_err(wrong));
        let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        check_clear(text).map_err(wrong)?;
        let (name, database) = match (sentinel, path.split_once('/')) {
            (false, None) => (None, path),
            (true, None) => (Some(path), ""),
            (true, Some((name, database))) => (Some(name), database),
            (false, Some(_)) => {
                return Err(wrong("its path is more than the number of a database".into()));
            }
        };
        if name.is_some_and(str::is_empty) {
            return Err(wrong(
                "it does not say which primary the sentinels are to be asked for".into(),
            ));
        }
        let number = |text: &str| {
            text.parse().map_err(|_| wrong("its path is not the number of a database".into()))
        };
        let database = if database.is_empty() { 0 } else { number(database)? };
        if database != 0 && hosts.len() > 1 && name.is_none() {
            return Err(wrong("a cluster has database 0 alone".into()));
        }
        let (user, password) = who.map_or((None, None), credentials);
        Ok(Self { hosts, tls, sentinel: name.map(String::from), user, password, database })
    }

    /// Returns the hosts, without secrets.
    pub(super) fn shown(&self) -> String {
        self.hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(text: &str) -> String {
        let Err(error) = Address::parse(text) else { panic!("{text} is an address") };
        let error = error.to_string();
        assert!(error.lines().count() == 2 && !error.contains("geheim"), "{error}");
        error
    }

    #[test]
    fn addresses_are_taken_apart() {
        let one = Address::parse("rediss://me:ge%3Aheim@db.example/2").unwrap();
        assert_eq!((one.shown().as_str(), one.tls, one.database), ("db.example:6379", true, 2));
        assert_eq!((one.user.as_deref(), one.password), (Some("me"), Some("ge:heim".into())));
        let cluster = Address::parse("redis://:p@a:1,[::1]:2,c").unwrap();
        assert_eq!(cluster.hosts, [("a".into(), 1), ("::1".into(), 2), ("c".into(), 6379)]);
        assert_eq!((cluster.user, cluster.password), (None, Some("p".into())));
        let sentinel = Address::parse("redis+sentinel://a,b:7/main/3").unwrap();
        assert_eq!((sentinel.shown().as_str(), sentinel.database), ("a:26379,b:7", 3));
        assert_eq!(sentinel.sentinel.as_deref(), Some("main"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        assert!(fails("localhost:6379").contains("it has no scheme"));
        assert!(fails("http://u:geheim@h").contains("its scheme is http\nwrite redis://"));
        assert!(fails("redis://u:geheim@h:70000").contains("its port is not a number up to 65535"));
        assert!(fails("redis://").contains("it names no host"));
        assert!(
            fails("redis://u:geheim@h/first").contains("its path is not the number of a database")
        );
        assert!(fails("redis://u:geheim/geheim@h").contains("which is written %2F, %3F or %23"));
        assert!(fails("redis://a,b/1").contains("a cluster has database 0 alone"));
        assert!(fails("redis+sentinel://a").contains("which primary"));
        assert!(fails("redis://u:geheim@h/1/2").contains("its path"));
    }
}
