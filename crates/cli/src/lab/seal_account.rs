//! Account of the sealed data in the data directories of a lab's servers, by their files: settings
//! show what a server was started with, but a member may have been converted since, or a collection
//! created in the clear. Not here: the full account of one directory (`sealed_server`).

use std::path::Path;

use sealstone_seal::account::Standing;
use sealstone_stores::sealed_server;

/// Extent to which one data directory is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sealed {
    /// Everything that should be.
    Yes,
    /// Nothing, and there is something.
    No,
    /// Some of it; and files with something that is not sealed.
    Partly(Vec<String>),
    /// Nothing is there, or it cannot be looked at, or nothing could seal it.
    Unknown,
}

impl Sealed {
    /// Looks at the data directory `dir` of a server of the kind `server`.
    pub(super) fn of(server: &str, dir: &Path) -> Self {
        let account = sealed_server(server).and_then(|server| server.account(dir).ok());
        let Some(account) = account else { return Self::Unknown };
        if account.is_sealed() {
            return Self::Yes;
        }
        let open = account
            .files
            .iter()
            .filter(|file| matches!(file.standing, Standing::Clear | Standing::Unread));
        let open: Vec<String> = open.map(|file| file.name.clone()).collect();
        match (account.sealed.is_empty(), open.is_empty()) {
            (true, true) => Self::Unknown,
            (true, false) => Self::No,
            (false, _) => Self::Partly(open),
        }
    }

    /// Returns it as shown in a table.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Partly(_) => "partly",
            Self::Unknown => "–",
        }
    }

    /// Returns it as written in JSON.
    pub(super) fn flag(&self) -> Option<bool> {
        match self {
            Self::Yes => Some(true),
            Self::No | Self::Partly(_) => Some(false),
            Self::Unknown => None,
        }
    }

    /// Returns the files with something that is not sealed, where another part is.
    pub(super) fn open_files(&self) -> &[String] {
        match self {
            Self::Partly(files) => files,
            _ => &[],
        }
    }
}
