//! An anchor on a key server that speaks KMIP: the mark is the text of a note there.

use sealstone_keys::kmip::KmipError;
use sealstone_keys::{Note, quoted_note};

use super::{Anchor, AnchorError, Mark};

/// An anchor on a key server: a text that a separate object there keeps, as application specific
/// information.
///
/// A mark replaces only an older one of the same store. Where the server speaks KMIP 2.x, it
/// ensures that; where it speaks KMIP 1.x, the mark is read right before. One connection is kept
/// from call to call. Several servers in one address must show a change to one of them on all of
/// them at once: the mark on one that lags is an older mark.
#[derive(Debug)]
pub struct KmipAnchor {
    note: Note,
}

impl From<KmipError> for AnchorError {
    fn from(error: KmipError) -> Self {
        Self(error.to_string())
    }
}

impl KmipAnchor {
    /// Returns the anchor at `url`; its object is made when a mark is first written. Does not
    /// connect yet.
    ///
    /// - `url`: `kmip://host[:5696]/NAME?cert=…&key=…&ca=…`, or `kmip:FILE.toml` with the name as
    ///   `key_id`; NAME is a name that no key has, or the unique identifier of the object
    ///
    /// # Errors
    /// A mistake in the address, or in the certificates that it names.
    pub fn open(url: &str) -> Result<Self, AnchorError> {
        Ok(Self { note: Note::open(url, "anchor")? })
    }

    fn mark(&self, text: &str) -> Result<Mark, AnchorError> {
        text.parse().map_err(|()| {
            AnchorError(format!(
                "{} is not an anchor of a store: it reads {}\n\
                 give the name that was the anchor when the store was last open, or one that is \
                 not taken",
                self.note.describe(),
                quoted_note(text)
            ))
        })
    }

    /// Refuses to write `mark` where `there` belongs to another store or is newer.
    fn check(&self, there: &Mark, mark: &Mark) -> Result<(), AnchorError> {
        if there.store == mark.store && there <= mark {
            return Ok(());
        }
        let found = match there.store == mark.store {
            true => format!("it remembers {} by now, newer than {}", there.age(), mark.age()),
            false => "it remembers another store".into(),
        };
        Err(AnchorError(format!(
            "cannot write the anchor {}: {found}\n\
             look for what else writes to it, such as a copy of the store; each store needs its \
             own anchor",
            self.note.describe()
        )))
    }
}

impl Anchor for KmipAnchor {
    fn read(&self) -> Result<Option<Mark>, AnchorError> {
        self.note.read()?.map(|text| self.mark(&text)).transpose()
    }

    fn write(&self, mark: &Mark) -> Result<(), AnchorError> {
        self.note.update(|text| {
            let there = text.map(|text| self.mark(text)).transpose()?;
            if let Some(there) = &there {
                self.check(there, mark)?;
            }
            Ok((there != Some(*mark)).then(|| mark.to_string()))
        })
    }

    fn describe(&self) -> String {
        self.note.describe()
    }
}
