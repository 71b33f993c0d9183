//! What the addresses of all servers have in common: host and port, user and password, letters that are written as
//! `%41`. Not here: the rest of an address, which each server has its own.

use percent_encoding::percent_decode_str;

/// `HOST`, `HOST:PORT` or `[IPV6]:PORT`, taken apart; `default_port` where `text` names none.
///
/// # Errors
/// What is wrong, in words that continue an error.
pub(crate) fn host_and_port(text: &str, default_port: u16) -> Result<(String, u16), String> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("it names no host".into());
    }
    if text.contains(',') {
        return Err("it names several hosts".into());
    }
    let port = port.map_or(Ok(default_port), |port| port.parse().map_err(|_| format!("{port:?} is not a port")))?;
    Ok((host.to_owned(), port))
}

/// User and password in `USER:PASSWORD`, `:PASSWORD` or `USER`.
pub(crate) fn credentials(text: &str) -> (Option<String>, Option<String>) {
    let (user, password) = text.split_once(':').map_or((text, None), |(user, password)| (user, Some(password)));
    ((!user.is_empty()).then(|| decoded(user)), password.map(decoded))
}

/// `text` with the letters that `%41` and the like stand for.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
