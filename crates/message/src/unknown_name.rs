//! The error for an unknown name.

use crate::suggestion::nearest;

/// A name that is in no table, with the probable name and all known names.
///
/// ```
/// # use sealstone_message::Unknown;
/// let unknown = Unknown::new("store", "rockdb", ["rocksdb", "redis"]);
/// let said = unknown.to_string();
/// assert!(said.starts_with("unknown store \"rockdb\"; did you mean rocksdb?\n"));
/// assert!(said.ends_with("\nknown stores: rocksdb, redis"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {name:?}{}\nknown {what}s: {}", self.hint(), known.join(", "))]
pub struct Unknown {
    /// Kind of thing, such as `cipher`; an `s` behind it makes it several.
    pub what: &'static str,
    /// The requested name.
    pub name: String,
    /// The nearest known name; empty if none is near.
    pub nearest: String,
    /// All known names, in the order of their table.
    pub known: Vec<String>,
}

impl Unknown {
    /// Returns the error for `name`, which is not among `known`.
    pub fn new<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let nearest = nearest(name, known.iter().copied()).to_owned();
        Self {
            what,
            name: name.to_owned(),
            nearest,
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Returns the end of a sentence about the name, which suggests the one that was probably
    /// meant; nothing where no name is like it.
    #[must_use]
    pub fn hint(&self) -> String {
        suggestion(&self.nearest)
    }
}

/// Returns `; did you mean NAME?`, or nothing for an empty name. A name of somebody else's, which
/// may hold anything, is quoted where it is no plain word of two letters.
#[must_use]
pub fn suggestion(name: &str) -> String {
    let is_word = |name: &str| {
        name.chars().nth(1).is_some()
            && name.chars().all(|c| c.is_alphanumeric() || "_-.:+".contains(c))
    };
    match name {
        "" => String::new(),
        name if is_word(name) => format!("; did you mean {name}?"),
        name => format!("; did you mean {name:?}?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_several_words_is_quoted() {
        let hint = |name: &str, known: &str| Unknown::new("column", name, [known]).hint();
        assert_eq!(hint("phnoe", "phone"), "; did you mean phone?");
        assert_eq!(hint("휴대전화번회", "휴대전화번호"), "; did you mean 휴대전화번호?");
        assert_eq!(hint("home adress", "home address"), "; did you mean \"home address\"?");
        assert_eq!(hint("A", "a"), "; did you mean \"a\"?");
        assert_eq!(hint("x", "phone"), "");
    }
}
