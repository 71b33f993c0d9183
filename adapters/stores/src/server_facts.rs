//! Facts that the servers of a comparison report about themselves. All servers of an engine are
//! identical, so those of the first one that is opened are taken.

use std::sync::{Mutex, PoisonError};

use sealstone_store::EngineFacts;

/// Facts about the servers of an engine, as far as they are known.
#[derive(Debug)]
pub(crate) struct ServerFacts {
    name: &'static str,
    known: Mutex<Option<EngineFacts>>,
    /// Description of TLS, from a server that was reached by it.
    tls: Mutex<Option<String>>,
}

impl ServerFacts {
    /// Returns those of the store called `name`, of which no server was opened so far.
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, known: Mutex::default(), tls: Mutex::default() }
    }

    /// Keeps what `facts` returns, unless there are some.
    pub(crate) fn learn(&self, facts: impl FnOnce() -> EngineFacts) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(facts);
    }

    /// Keeps the description of TLS, `words`.
    pub(crate) fn set_tls(&self, words: Option<String>) {
        *self.tls.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    /// Returns what is known.
    pub(crate) fn get(&self) -> EngineFacts {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut facts = known.unwrap_or_else(|| EngineFacts {
            name: self.name.into(),
            version: "unknown".into(),
            build: "server".into(),
            ..EngineFacts::default()
        });
        let tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        facts.settings.extend(tls.map(|words| ("tls".to_owned(), words)));
        facts
    }
}
