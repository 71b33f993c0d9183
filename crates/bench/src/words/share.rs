//! One of several clients, each a machine of its own, that load the same servers together: its
//! number, its part of the work, and the common start.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Most clients of one comparison.
const MOST: usize = 1_000;

/// Number of a client and of all clients, written `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its number, from 1.
    pub number: usize,
    /// Number of all clients.
    pub of: usize,
}

impl Share {
    /// The only client.
    pub const ALONE: Self = Self { number: 1, of: 1 };

    /// Returns the number in the store of the record that this client counts as `number`: the same
    /// number for records that were loaded, and beyond them every `of`-th, so that no two clients
    /// insert the same record.
    ///
    /// - `loaded`: records before the first insert
    #[inline]
    #[must_use]
    pub fn record(self, loaded: u64, number: u64) -> u64 {
        match number.checked_sub(loaded) {
            None => number,
            Some(own) => loaded + own * self.of as u64 + (self.number as u64 - 1),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) && (2..=MOST).contains(&of) => {
                Ok(Self { number, of })
            }
            _ => Err(format!(
                "expected which of how many clients this is, such as 2/8 (2 to {MOST} clients)"
            )),
        }
    }
}

/// One client, and when all of them begin to measure.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Share of this client.
    pub share: Share,
    /// The time at which the first slice begins.
    pub start: Timestamp,
}

/// Facts in results about the client that produced them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientFacts {
    /// Its number, from 1.
    pub number: usize,
    /// Number of all clients.
    pub of: usize,
    /// The time at which all of them began to measure, RFC 3339, UTC.
    pub start_at: String,
}

impl From<&Client> for ClientFacts {
    fn from(client: &Client) -> Self {
        let Client { share, start } = client;
        Self { number: share.number, of: share.of, start_at: start.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_different_clients_never_meet() {
        let clients: Vec<Share> = ["1/3", "2/3", "3/3"].map(|text| text.parse().unwrap()).to_vec();
        let mut seen = std::collections::BTreeSet::new();
        for client in &clients {
            assert_eq!(client.record(100, 99), 99);
            assert!((100..200).all(|number| seen.insert(client.record(100, number))), "{client}");
        }
        assert_eq!((seen.len(), seen.first(), seen.last()), (300, Some(&100), Some(&399)));
        assert_eq!(Share::ALONE.record(100, 150), 150);
        for wrong in ["", "1", "0/2", "3/2", "1/1", "a/b", "1/2/3", "1/100000"] {
            assert!(wrong.parse::<Share>().unwrap_err().contains("such as 2/8"), "{wrong}");
        }
    }
}
