//! One short text on a key server, which is not a key: kept as application specific information of
//! a separate object.
//!
//! The object is secret data of random bytes that nobody ever uses, Pre-Active, with a name that
//! the user chooses; it is made when the first text is written. KMIP has nothing else that holds a
//! text and can be changed after an object was made. An object without our text, or with several,
//! is an error, never taken over.
//!
//! Concurrent writers: a text is read before it is replaced, over the same connection. In KMIP 2.x
//! the request names the text that it replaces, so the second of two is refused. In KMIP 1.x a text
//! written between the read and the write is replaced unnoticed: the standard has no protection
//! against that.

use std::fmt;
use std::mem;
use std::sync::{Mutex, PoisonError};

use sealstone_cipher::memory::Generation;
use zeroize::Zeroizing;

use crate::check_key_id;
use crate::kmip::KmipError;
use crate::kmip::address::Address;
use crate::kmip::attribute::{Attributes, Information};
use crate::kmip::client::{Client, Connection, Idle};
use crate::kmip::enumeration::{State, UsageMask};
use crate::kmip::family::{by_id, named};
use crate::kmip::operation::{Destroy, GetAttributes, ModifyAttribute, Register};

/// The owner of the text, for the server and for other applications.
const NAMESPACE: &str = "sealstone";

/// Longest piece of a text that an error quotes, in characters.
const QUOTED_CHARS_MAX: usize = 100;

/// Length of the secret data of a new object, in bytes.
const MATERIAL_BYTES: usize = 32;

/// A text on a server, or on several that hold the same objects. Can be used by any number of
/// threads, one after the other.
pub struct Note {
    client: Client,
    what: &'static str,
    name: String,
    /// The process in which it was opened: a child opens a new connection for each call.
    opened_in: Generation,
    kept: Mutex<Kept>,
}

/// State that is kept from one call to the next.
#[derive(Default)]
struct Kept {
    idle: Idle,
    /// Unique identifier of the object, once it was found.
    id: Option<String>,
}

/// The text that was found, and where.
struct Found {
    id: String,
    information: Information,
}

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Note({} {})", self.what, self.describe())
    }
}

impl Note {
    /// Reads the address `url`, which names the object as it would name a key, and the certificates
    /// that it names. Does not connect yet.
    ///
    /// - `url`: `kmip://host[:5696]/NAME?cert=…&key=…&ca=…`, or `kmip:FILE.toml`; NAME is a name or
    ///   a unique identifier
    /// - `what`: the kind of text, for errors: `anchor`
    ///
    /// # Errors
    /// [`KmipError::Address`], [`KmipError::Read`], [`KmipError::File`].
    pub fn open(url: &str, what: &'static str) -> Result<Self, KmipError> {
        let address = Address::parse(url)?;
        let Some(name) = address.key_id.clone() else {
            let found = format!(
                "it does not name the {what}: write the name after the server, or as key_id in the \
                 file"
            );
            return Err(KmipError::Address { found });
        };
        let client = Client::new(address)?;
        Ok(Self { client, what, name, opened_in: Generation::current(), kept: Mutex::default() })
    }

    /// Returns the name and server, for messages: `orders-anchor on kms1.example:5696`.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{} on {}", self.name, self.client.address().place())
    }

    /// Returns the text; `None` if there is no such object, or it was destroyed.
    ///
    /// # Errors
    /// [`KmipError::Ambiguous`] if several objects have the name; [`KmipError::NoNote`] for an
    /// object without our text; and everything that a server can do wrong.
    pub fn read(&self) -> Result<Option<String>, KmipError> {
        self.connected("read", |connection, id| {
            let found = self.find(connection)?;
            *id = found.as_ref().map(|found| found.id.clone());
            Ok(found.map(|found| found.information.data))
        })
    }

    /// Reads the text and replaces it with what `change` makes of it; makes the object if there is
    /// none yet.
    ///
    /// - `change`: gets the text, `None` if there is no object, and returns the new one, not empty;
    ///   `None` leaves it unchanged
    ///
    /// # Errors
    /// As [`Note::read`], and errors of `change`; [`KmipError::Overtaken`] if the server reports
    /// that another text was written in between; [`KmipError::NotPossible`] if no object can have
    /// the name; [`KmipError::Uncertain`] if the answer was lost and the server does not show the
    /// new text; and every fault of a server.
    pub fn update<E: From<KmipError>>(
        &self,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        self.connected("write", |connection, id| {
            let found = match id {
                Some(id) => Some(self.at(connection, id)?),
                None => self.find(connection)?,
            };
            let Some(text) = change(found.as_ref().map(|found| found.information.data.as_str()))?
            else {
                return Ok(());
            };
            *id = Some(match found {
                Some(found) => self.modify(connection, found, text)?,
                None => self.make(connection, text)?,
            });
            Ok(())
        })
    }

    /// Calls `ask` with the connection and the identifier of the last call.
    fn connected<T, E>(
        &self,
        verb: &str,
        ask: impl FnOnce(&mut Connection<'_>, &mut Option<String>) -> Result<T, E>,
    ) -> Result<T, E> {
        let attempted = format!("{verb} {} {}", self.what, self.name);
        if self.opened_in.check().is_err() {
            // the lock may be held by a thread that is not in this process
            return ask(&mut self.client.connection(attempted), &mut None);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut connection = self.client.resume(mem::take(&mut kept.idle), attempted);
        let answer = ask(&mut connection, &mut kept.id);
        kept.idle = connection.set_aside();
        answer
    }

    /// Returns the text of the object that has the name as unique identifier or as name.
    fn find(&self, connection: &mut Connection<'_>) -> Result<Option<Found>, KmipError> {
        if let Ok(found) = by_id(connection, &self.name)? {
            return self.text_of(connection, found.attributes).map(Some);
        }
        let mut found = named(connection, &self.name)?;
        // a server may remember what it destroyed
        found.retain(|one| !is_destroyed(one));
        if found.len() > 1 {
            let ids = found.into_iter().filter_map(|one| one.unique_identifier).collect();
            return Err(KmipError::Ambiguous {
                key: self.name.clone(),
                server: connection.server(),
                ids,
            });
        }
        found.pop().map(|one| self.text_of(connection, one)).transpose()
    }

    /// Returns the text of the object `id`, which had one before.
    fn at(&self, connection: &mut Connection<'_>, id: &str) -> Result<Found, KmipError> {
        match connection.call(&GetAttributes { id: id.to_owned() }) {
            Ok(attributes) => self.text_of(connection, attributes),
            Err(error) if error.is_missing() => {
                Err(self.no_note(connection, format!("its object {id} is gone")))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns our text among `attributes`.
    fn text_of(
        &self,
        connection: &Connection<'_>,
        attributes: Attributes,
    ) -> Result<Found, KmipError> {
        let no_note = |found: String| Err(self.no_note(connection, found));
        if is_destroyed(&attributes) {
            return no_note("it was destroyed".into());
        }
        let Some(id) = attributes.unique_identifier else {
            return no_note("it has no unique identifier".into());
        };
        let mut ours = attributes.information.into_iter().filter(|one| one.namespace == NAMESPACE);
        match (ours.next(), ours.count()) {
            (Some(information), 0) => Ok(Found { id, information }),
            (Some(_), more) => no_note(format!(
                "object {id} keeps {} texts for {NAMESPACE}, and there should be one",
                more + 1
            )),
            (None, _) => no_note(format!("object {id} keeps no text for {NAMESPACE}")),
        }
    }

    /// Replaces the text that was found by `text`. Returns the identifier of the object.
    fn modify(
        &self,
        connection: &mut Connection<'_>,
        found: Found,
        text: String,
    ) -> Result<String, KmipError> {
        let Found { id, information } = found;
        let request =
            ModifyAttribute { id: id.clone(), current: information.clone(), data: text.clone() };
        let Err(cause) = connection.call(&request) else { return Ok(id) };
        // refused, for which servers have many reasons, or never answered: the current text decides
        let Ok(now) = self.at(connection, &id) else { return Err(advised(cause)) };
        let now = now.information.data;
        if now == text && matches!(cause, KmipError::Uncertain { .. }) {
            Ok(id)
        } else if now == information.data {
            Err(advised(cause))
        } else {
            Err(self.overtaken(connection, Some(&now), &information.data))
        }
    }

    /// Makes the object with `text`. Returns its identifier.
    fn make(&self, connection: &mut Connection<'_>, text: String) -> Result<String, KmipError> {
        if let Err(error) = check_key_id(&self.name) {
            return Err(KmipError::NotPossible {
                attempted: format!("make {} {}", self.what, self.name),
                found: error.to_string(),
                next: "choose another name".into(),
            });
        }
        let mut material = Zeroizing::new([0; MATERIAL_BYTES]);
        getrandom::fill(&mut material[..])
            .map_err(|source| KmipError::Random(source.to_string()))?;
        let attributes = Attributes {
            names: vec![self.name.clone()],
            // an object must have one, and to some servers none is missing; this one opens nothing
            usage_mask: Some(UsageMask::VERIFY),
            information: vec![Information {
                namespace: NAMESPACE.into(),
                data: text.clone(),
                index: None,
            }],
            ..Attributes::default()
        };
        let made = connection.call(&Register { attributes, material: &material[..] });
        // a server may let a second object have the name, pass over an attribute, or lose its
        // answer
        match (made, self.find(connection)) {
            (Ok(id), Ok(Some(found))) if found.id == id && found.information.data == text => Ok(id),
            (Err(KmipError::Uncertain { .. }), Ok(Some(found)))
                if found.information.data == text =>
            {
                Ok(found.id)
            }
            (Ok(id), found) => {
                // it is of no use, and a failure to remove it matters less than the reason for that
                let _ = connection.call(&Destroy { id });
                let other = found?.map(|found| found.information.data);
                Err(self.overtaken(connection, other.as_deref(), &text))
            }
            (Err(cause), _) => Err(advised(cause)),
        }
    }

    fn no_note(&self, connection: &Connection<'_>, found: String) -> KmipError {
        KmipError::NoNote {
            note: format!("{} {}", self.what, self.name),
            server: connection.server(),
            found,
        }
    }

    fn overtaken(
        &self,
        connection: &Connection<'_>,
        found: Option<&str>,
        expected: &str,
    ) -> KmipError {
        let found =
            format!("{} by now, not {}", found.map_or("nothing".into(), quoted), quoted(expected));
        KmipError::Overtaken {
            note: format!("{} {}", self.what, self.name),
            server: connection.server(),
            found,
        }
    }
}

fn is_destroyed(attributes: &Attributes) -> bool {
    matches!(attributes.state, Some(State::DESTROYED | State::DESTROYED_COMPROMISED))
}

/// Returns `cause` with what to do after it, which differs from what one would do about a key.
fn advised(cause: KmipError) -> KmipError {
    match cause {
        KmipError::Uncertain { attempted, server, found, .. } => {
            let next =
                "try again: it is read before it is written, so nothing older takes its place";
            KmipError::Uncertain { attempted, server, found, next }
        }
        other => other,
    }
}

/// Returns `text` in quotes, without what does not print, and not too long: for errors.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_quoted_in_bounds() {
        assert_eq!(quoted("sealstone-anchor 1"), "\"sealstone-anchor 1\"");
        assert_eq!(quoted("two\nlines\u{1b}[31m"), "\"two\\nlines\\u{1b}[31m\"");
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), QUOTED_CHARS_MAX + 3);
    }

    #[test]
    fn an_address_must_name_the_object() {
        let error = Note::open("kmip://kms1?cert=c&key=k&ca=a", "anchor").unwrap_err().to_string();
        assert!(
            error.starts_with("not the address of a KMIP server: it does not name the anchor: "),
            "{error}"
        );
    }
}
