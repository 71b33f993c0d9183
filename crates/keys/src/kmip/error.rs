//! Errors concerning a key server, each reported with the server, the key, and the next step. Never
//! contains key bytes.

use std::io;
use std::path::PathBuf;

use super::enumeration::{Operation, ResultReason, State};

/// Reason why a key server returned no key, or did not carry out a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KmipError {
    /// The address of the server is not one.
    #[error(
        "not the address of a KMIP server: {found}\n\
         write kmip://HOST[:PORT]/KEY?cert=FILE&key=FILE&ca=FILE, or kmip:FILE.toml; see \
         docs/guide/keys.md"
    )]
    Address {
        /// Fault of the address.
        found: String,
    },
    /// A file named in the address cannot be used.
    #[error(
        "cannot use {} as {what}: {found}\n\
         name another file, or fix this one", path.display()
    )]
    File {
        /// Intended use of the file: `client certificate`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Fault of the file.
        found: String,
    },
    /// A file named in the address cannot be read.
    #[error("cannot read {what} {}: {source}", path.display())]
    Read {
        /// Intended use of the file: `client certificate`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
    /// No server gave an answer that could be used.
    #[error(
        "cannot {attempted}: no key server answered ({})\n\
         nothing was opened and nothing was written; fix the first server's problem, or name \
         another with server=",
        servers.join("; ")
    )]
    Unreachable {
        /// Action that was attempted: `get key orders`.
        attempted: String,
        /// Each server, in the order tried, and the outcome:
        /// `kms1:5696, 3 times: connection refused`.
        servers: Vec<String>,
    },
    /// A request that must not be sent twice had no answer.
    #[error(
        "cannot tell whether {server} did it: {attempted} was sent, then: {found}\n\
         {next}"
    )]
    Uncertain {
        /// Action that was attempted.
        attempted: String,
        /// The server it was sent to.
        server: String,
        /// Description of the data received instead of an answer.
        found: String,
        /// Advice on what to do next.
        next: &'static str,
    },
    /// The server refused.
    #[error(
        "cannot {attempted}: {server} refused {operation}: {reason}{}\n\
         {}", in_parentheses(message), refusal_hint(*reason)
    )]
    Refused {
        /// Action that was attempted.
        attempted: String,
        /// The server.
        server: String,
        /// Operation that the server refused.
        operation: Operation,
        /// Reason, as a code.
        reason: ResultReason,
        /// Reason, in the server's words; may be empty.
        message: String,
    },
    /// The key does not exist.
    #[error(
        "no key {key} on {server}: nothing there has this unique identifier or name\n\
         list the keys with sealstone keys list; a server also hides keys that belong to another \
         client certificate"
    )]
    NoKey {
        /// The requested unique identifier or name.
        key: String,
        /// The server.
        server: String,
    },
    /// Several objects have the name.
    #[error(
        "key {key} on {server} is not one key: {} keys have this name\n\
         give the unique identifier instead of the name", ids.join(", ")
    )]
    Ambiguous {
        /// The requested name.
        key: String,
        /// The server.
        server: String,
        /// Unique identifiers of the objects.
        ids: Vec<String>,
    },
    /// The key is in a state in which it must not be used for this.
    #[error(
        "key {key} on {server} is {state} and cannot {wanted}\n\
         {}", state_hint(*state)
    )]
    WrongState {
        /// Name or unique identifier.
        key: String,
        /// The server.
        server: String,
        /// State found.
        state: State,
        /// Intended use of the key: `protect new data`.
        wanted: &'static str,
    },
    /// The key has too few bits, or is not a key for us to use.
    #[error(
        "key {key} on {server} cannot be used: {found}\n\
         make one with sealstone keys new"
    )]
    Unusable {
        /// Name or unique identifier.
        key: String,
        /// The server.
        server: String,
        /// Fault of the key.
        found: String,
    },
    /// A new key was to have a name that is taken.
    #[error(
        "{server} already has a key named {name} ({id}), which was left as it is\n\
         choose another name, or rotate the key"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// The server.
        server: String,
        /// Unique identifier of the object that has it.
        id: String,
    },
    /// The object is not one that keeps one of our texts.
    #[error(
        "{note} on {server} cannot be used: {found}\n\
         give a name that no object there has yet, to create one; or that of an object created \
         this way"
    )]
    NoNote {
        /// Kind of text, and the requested name or unique identifier: `anchor orders-anchor`.
        note: String,
        /// The server.
        server: String,
        /// Fault of the object.
        found: String,
    },
    /// A text was to be replaced and is no longer there: another program wrote a different one.
    #[error(
        "cannot write {note} on {server}: it reads {found}\n\
         something else writes to it: make sure that only one store uses it, then try again"
    )]
    Overtaken {
        /// Kind of text, and the name or unique identifier of the object: `anchor orders-anchor`.
        note: String,
        /// The server.
        server: String,
        /// The text that is there, and the one that should be: `"second" by now, not "first"`.
        found: String,
    },
    /// Request that cannot be fulfilled.
    #[error("cannot {attempted}: {found}\n{next}")]
    NotPossible {
        /// Action that was attempted.
        attempted: String,
        /// Reason why it is not possible.
        found: String,
        /// Advice on what to do instead.
        next: String,
    },
    /// A new key was made and could not be made Active.
    #[error("{}\nthe new key {id} {left}; the existing keys are unchanged", first_line(cause))]
    NotActivated {
        /// Unique identifier of the new key.
        id: String,
        /// Error that occurred.
        cause: Box<KmipError>,
        /// Fate of the new key: `was destroyed again`.
        left: &'static str,
    },
    /// The operating system gave no randomness.
    #[error("no randomness from the operating system: {0}")]
    Random(String),
}

#[cfg(feature = "kmip")]
impl KmipError {
    /// Returns whether the server reports that there is no such object.
    pub(crate) fn is_missing(&self) -> bool {
        let missing = [ResultReason::ITEM_NOT_FOUND, ResultReason::OBJECT_NOT_FOUND];
        matches!(self, Self::Refused { reason, .. } if missing.contains(reason))
    }

    /// Returns whether the server reports that there is no such object, hides it, or rejects its
    /// identifier.
    pub(crate) fn is_not_found(&self) -> bool {
        let hidden = [
            ResultReason::ITEM_NOT_FOUND,
            ResultReason::OBJECT_NOT_FOUND,
            ResultReason::INVALID_FIELD,
            ResultReason::PERMISSION_DENIED,
        ];
        matches!(self, Self::Refused { reason, .. } if hidden.contains(reason))
    }

    /// Returns whether the server reports that it cannot do this at all, with any key.
    pub(crate) fn is_inability(&self) -> bool {
        let unable = [
            ResultReason::OPERATION_NOT_SUPPORTED,
            ResultReason::FEATURE_NOT_SUPPORTED,
            ResultReason::INVALID_FIELD,
            ResultReason::CRYPTOGRAPHIC_FAILURE,
        ];
        matches!(self, Self::Refused { reason, .. } if unable.contains(reason))
    }
}

fn first_line(error: &KmipError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn in_parentheses(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" ({message})") }
}

fn refusal_hint(reason: ResultReason) -> &'static str {
    match reason {
        ResultReason::PERMISSION_DENIED | ResultReason::AUTHENTICATION_NOT_SUCCESSFUL => {
            "check on the server what the owner of the client certificate may do"
        }
        ResultReason::ITEM_NOT_FOUND | ResultReason::OBJECT_NOT_FOUND => {
            "list the keys with sealstone keys list"
        }
        ResultReason::APPLICATION_NAMESPACE_NOT_SUPPORTED => {
            "allow the application namespace sealstone on the server"
        }
        ResultReason::OPERATION_NOT_SUPPORTED | ResultReason::FEATURE_NOT_SUPPORTED => {
            "this server cannot do it; sealstone keys check shows what it can do"
        }
        _ => "the server's own log says more",
    }
}

fn state_hint(state: State) -> &'static str {
    match state {
        State::PRE_ACTIVE => {
            "activate it on the server, or make a new one with sealstone keys rotate"
        }
        State::DEACTIVATED => {
            "it still opens old data; make a new version with sealstone keys rotate"
        }
        State::COMPROMISED => {
            "it was revoked as compromised: restore the data from elsewhere under another key"
        }
        State::DESTROYED | State::DESTROYED_COMPROMISED => {
            "its material is gone for good; what was sealed under it opens only with a backup of \
             the key server"
        }
        _ => "check the key server",
    }
}
