//! Queries to a running tunnel through its socket.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use super::error::ServiceError;
use crate::tunnel::runtime::Claim;

/// A query with its reply channel.
pub(super) enum Question {
    /// Question about the state of the tunnel.
    Status(Sender<String>),
    /// It is to end.
    Down,
}

/// Returns the questions that arrive from now on at the socket of `claim`.
///
/// # Errors
/// [`ServiceError::Ended`]: no thread for it.
pub(super) fn listen(claim: &mut Claim) -> Result<Receiver<Question>, ServiceError> {
    let (asks, asked) = mpsc::channel();
    let serve = move |word: &str| answer(&asks, word);
    claim
        .serve(serve)
        .map_err(|error| ServiceError::Ended(format!("cannot answer for status: {error}")))?;
    Ok(asked)
}

/// Answers `word`, in the thread of the client.
fn answer(asks: &Sender<Question>, word: &str) -> String {
    match word {
        "status" => {
            let (reply, answer) = mpsc::channel();
            let asked = asks.send(Question::Status(reply));
            asked
                .ok()
                .and_then(|()| answer.recv_timeout(Duration::from_secs(5)).ok())
                .unwrap_or_default()
        }
        "down" => asks.send(Question::Down).map(|()| "ending".to_owned()).unwrap_or_default(),
        _ => String::new(),
    }
}
