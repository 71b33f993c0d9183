//! Elements that the addresses of all servers have in common: host and port, user and password,
//! letters that are written as `%41`, and the message about a wrong address, which quotes nothing
//! of it. Not here: the rest of an address, which differs by server; the parts that are shown
//! (`sealstone_message::shown_address`).

use percent_encoding::percent_decode_str;
use sealstone_message::{LEFT_OUT, Password, ShownAddress};

/// Parses `HOST`, `HOST:PORT` or `[IPV6]:PORT`; `default_port` where `text` names none.
///
/// # Errors
/// The mistake, in words that continue an error.
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
    let wrong_port = |_| "its port is not a number up to 65535".to_owned();
    let port = port.map_or(Ok(default_port), |port| port.parse().map_err(wrong_port))?;
    Ok((host.to_owned(), port))
}

/// Checks that the part before the `@` of an address, `who`, can be its user and password.
///
/// # Errors
/// The mistake in it, in words that continue an error.
pub(crate) fn check_user(who: &str) -> Result<(), String> {
    if who.contains(['/', '?', '#']) {
        return Err(
            "its user or password contains /, ? or #, which is written %2F, %3F or %23".into()
        );
    }
    if who == LEFT_OUT {
        return Err(format!("{LEFT_OUT} marks where something was left out of what was printed"));
    }
    Ok(())
}

/// Checks that the address `text` is unambiguous, so that its hosts can be named in messages.
///
/// # Errors
/// The mistake in it, in words that continue an error.
pub(crate) fn check_clear(text: &str) -> Result<(), String> {
    match ShownAddress::of(text).hosts() {
        Some(_) => Ok(()),
        None => Err(
            "it cannot be taken apart: in user, password and host, write what is no letter and \
             no digit as %41 is written for A"
                .into(),
        ),
    }
}

/// Describes the problem with a parameter `name` that is none of `known`. The name is not quoted:
/// it can be a piece of a password.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) fn unknown_parameter(name: &str, known: &[&str]) -> String {
    if ["password", "user", "sslpassword"].contains(&name) {
        return format!("its parameter {name} is not read: write USER:PASSWORD@ before the host");
    }
    match sealstone_message::similar(name, known.iter().copied()) {
        Some(meant) => {
            format!("one of its parameters is unknown{}", sealstone_message::suggestion(meant))
        }
        None => format!("one of its parameters is none of {}", known.join(", ")),
    }
}

/// Returns the user and password in `USER:PASSWORD`, `:PASSWORD` or `USER`.
pub(crate) fn credentials(text: &str) -> (Option<String>, Option<Password>) {
    let (user, password) =
        text.split_once(':').map_or((text, None), |(user, password)| (user, Some(password)));
    ((!user.is_empty()).then(|| decoded(user)), password.map(|password| decoded(password).into()))
}

/// Returns `text` with the letters that `%41` and the like stand for.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
