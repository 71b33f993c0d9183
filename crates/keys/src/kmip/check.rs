//! Check that every server of an address answers, has the key, and gives it out.

use std::time::Instant;

use sealstone_cipher::Cipher;

use super::KmipError;
use super::client::{Client, Connection};
use super::enumeration::Operation;
use super::family::{KeyVersion, resolve};
use super::material::{PROTECT, get};
use super::message::Version;
use super::operation::Query;

/// Answers of all servers, in the order of the address.
#[derive(Debug)]
pub struct Check {
    /// One entry a server.
    pub servers: Vec<ServerCheck>,
}

impl Check {
    /// Returns whether every server answered, has the key, and gave it out.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.servers.iter().all(|server| {
            server.outcome.as_ref().is_ok_and(|found| found.key.as_ref().is_none_or(Result::is_ok))
        })
    }
}

/// Answer of one server.
#[derive(Debug)]
pub struct ServerCheck {
    /// Host and port.
    pub server: String,
    /// Answer of the server, or the reason why there was none.
    pub outcome: Result<ServerFound, KmipError>,
}

/// A server that answers.
#[derive(Debug)]
pub struct ServerFound {
    /// Version of the protocol that it speaks.
    pub version: Version,
    /// Its maker, if reported.
    pub vendor: Option<String>,
    /// True if it replaces keys itself.
    pub can_rekey: bool,
    /// From the first packet to the first answer, in milliseconds: connecting, TLS, versions, and
    /// one query.
    pub answer_ms: f64,
    /// The key; `None` if the address names none.
    pub key: Option<Result<KeyFound, KmipError>>,
}

/// A key that is there and was given out.
#[derive(Debug)]
pub struct KeyFound {
    /// The version that protects new data.
    pub current: KeyVersion,
    /// Number of versions.
    pub versions: usize,
    /// Length of the key material, in bits.
    pub material_bits: usize,
    /// Our cipher that it is for, if its attributes name one.
    pub cipher: Option<&'static Cipher>,
    /// Finding it and getting it, in milliseconds.
    pub get_ms: f64,
}

/// Queries each server of `client` for its version, its maker and the key of the address, and gets
/// that key.
pub(crate) fn check(client: &Client) -> Check {
    let servers = &client.address().servers;
    let one = |server: usize| ServerCheck {
        server: servers[server].to_string(),
        outcome: check_server(client, server),
    };
    Check { servers: (0..servers.len()).map(one).collect() }
}

fn check_server(client: &Client, server: usize) -> Result<ServerFound, KmipError> {
    let start = Instant::now();
    let mut connection = client.connection_to(server, "check the server");
    let abilities = connection.call(&Query)?;
    let answer_ms = start.elapsed().as_secs_f64() * 1e3;
    let version = connection.version().expect("it just answered");
    let key = client.address().key_id.as_deref().map(|key| check_key(&mut connection, key));
    let can_rekey = abilities.operations.contains(&Operation::REKEY);
    Ok(ServerFound { version, vendor: abilities.vendor, can_rekey, answer_ms, key })
}

fn check_key(connection: &mut Connection, key: &str) -> Result<KeyFound, KmipError> {
    let start = Instant::now();
    let family = resolve(connection, key)?;
    let Some(current) = family.current() else {
        let newest = family.newest();
        let server = connection.server();
        let state = newest.state(key, &server)?;
        return Err(KmipError::WrongState { key: key.to_owned(), server, state, wanted: PROTECT });
    };
    let material = get(connection, &current.id)?;
    Ok(KeyFound {
        current: current.clone(),
        versions: family.versions.len(),
        material_bits: material.bytes.len() * 8,
        cipher: current.attributes.cipher(),
        get_ms: start.elapsed().as_secs_f64() * 1e3,
    })
}
