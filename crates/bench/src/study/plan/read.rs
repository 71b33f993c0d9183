//! Plans from TOML: an unknown setting, or a wrong type, is named with its line.

use std::path::Path;

use sealstone_file::trust;
use sealstone_message::Unknown;
use sealstone_message::without_addresses;
use toml::de::{DeTable, DeValue};

use super::{Plan, PlanError, full_table, settings};

/// Reads the TOML file `path`, which names keys and directories, so only its owner may be able to
/// change it.
fn text(path: &Path) -> Result<String, PlanError> {
    trust::read_to_string(path).map_err(|source| PlanError::Read { path: path.to_owned(), source })
}

impl Plan {
    /// Reads a plan from the TOML file `path`; missing settings are as in `usual`. Relative paths
    /// in it are relative to the current directory.
    ///
    /// # Errors
    /// `PlanError::Read`, `Syntax`, `UnknownKey`. Values are checked by [`Plan::check`].
    pub fn read_over(path: &Path, usual: &Self) -> Result<Self, PlanError> {
        let text = text(path)?;
        // reports errors in the file, by line
        Self::from_toml(&text, path)?;
        Ok(usual.suited(&text))
    }

    /// Returns whether the TOML file `path` sets `setting`.
    ///
    /// # Errors
    /// As [`Plan::read_over`].
    pub fn names(path: &Path, setting: &str) -> Result<bool, PlanError> {
        let text = text(path)?;
        Self::from_toml(&text, path)?;
        Ok(text.parse::<toml::Table>().is_ok_and(|table| table.contains_key(setting)))
    }

    /// Returns this plan with its settings replaced by the settings in `lines` of TOML, which suit
    /// a store better.
    ///
    /// # Panics
    /// If a line is not a setting. A test goes through all stores.
    #[must_use]
    pub fn suited(&self, lines: &str) -> Self {
        let mut table = toml::Table::try_from(self).expect("a plan is a table of plain values");
        table.extend(lines.parse::<toml::Table>().expect("lines of TOML"));
        table.try_into().expect("each line is a setting")
    }

    /// This plan with the setting `name` as `text` has it: a value as in the TOML table, or without
    /// its quotation marks; of a list, its values separated by commas, and of a table, `name=value`
    /// separated by commas.
    ///
    /// # Errors
    /// [`PlanError::Unknown`]: no such setting; [`PlanError::Set`]: a value that it cannot have.
    /// [`Plan::check`] checks further.
    pub fn with_setting(&self, name: &str, text: &str) -> Result<Self, PlanError> {
        let refuse =
            |reason: String| PlanError::Set { name: name.into(), found: text.into(), reason };
        let full = full_table();
        let Some(kind) = full.get(name) else {
            let known = full.keys().map(String::as_str);
            return Err(PlanError::Unknown(Unknown::new("setting", name, known)));
        };
        let value = |text: &str| {
            let read = format!("x = {text}")
                .parse::<toml::Table>()
                .ok()
                .and_then(|mut table| table.remove("x"));
            read.unwrap_or_else(|| toml::Value::String(text.trim().into()))
        };
        let mut given = value(text);
        if kind.is_array() && !given.is_array() {
            given = toml::Value::Array(text.split(',').map(value).collect());
        }
        if kind.is_table() && !given.is_table() {
            let pair = |pair: &str| {
                pair.split_once('=').map(|(name, text)| (name.trim().to_owned(), value(text)))
            };
            let pairs = text.split(',').map(pair).collect::<Option<toml::Table>>();
            let expected =
                || refuse("expected names with a value each, such as a=16,c-cold=4".into());
            given = toml::Value::Table(pairs.ok_or_else(expected)?);
        }
        let mut table = toml::Table::try_from(self).expect("a plan is a table of plain values");
        table.insert(name.into(), given);
        table.try_into().map_err(|error: toml::de::Error| {
            refuse(error.message().trim_end().replace('\n', "; "))
        })
    }

    /// Reads a plan from TOML `text`; `path` is named in errors only.
    ///
    /// # Errors
    /// `PlanError::Syntax`, `UnknownKey`.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, PlanError> {
        let line_of = |offset: usize| {
            text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
        };
        let syntax = |error: toml::de::Error| PlanError::Syntax {
            path: path.to_owned(),
            line: line_of(error.span().map_or(0, |span| span.start)),
            message: without_addresses(error.message().trim_end()).replace('\n', "; "),
        };
        let table = DeTable::parse(text).map_err(syntax)?;
        let known = settings();
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            if !known.iter().any(|setting| setting == name) {
                return Err(PlanError::UnknownKey {
                    path: path.to_owned(),
                    line: line_of(key.span().start),
                    unknown: Unknown::new("setting", name, known.iter().map(String::as_str)),
                });
            }
            if matches!(value.get_ref(), DeValue::Table(_))
                && name != "stores"
                && name != "threads-of"
            {
                let message = format!(
                    "{name} is a table; only the settings of single stores are tables, such as \
                     [stores.mongodb]"
                );
                return Err(PlanError::Syntax {
                    path: path.to_owned(),
                    line: line_of(key.span().start),
                    message,
                });
            }
        }
        toml::from_str(text).map_err(syntax)
    }
}

/// Sizes in TOML: whole numbers, or text with a unit.
pub(super) mod size {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Size {
        Bytes(u64),
        Text(String),
    }

    impl Size {
        fn bytes<E: Error>(self) -> Result<u64, E> {
            match self {
                Self::Bytes(bytes) => Ok(bytes),
                Self::Text(text) => crate::words::size::parse_bytes(&text).map_err(E::custom),
            }
        }
    }

    pub(in crate::study::plan) fn required<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<u64, D::Error> {
        Size::deserialize(from)?.bytes()
    }

    pub(in crate::study::plan) fn optional<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<u64>, D::Error> {
        Option::<Size>::deserialize(from)?.map(Size::bytes).transpose()
    }
}

/// Counts in TOML: whole numbers, or text as on the command line, such as `"1M"`.
pub(super) mod count {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    use crate::words::count::Count;

    pub(in crate::study::plan) fn deserialize<'de, D, T>(from: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: TryFrom<u64>,
    {
        small(Count::deserialize(from)?)
    }

    pub(super) fn small<T: TryFrom<u64>, E: Error>(Count(count): Count) -> Result<T, E> {
        T::try_from(count).map_err(|_| E::custom(format!("{count} is too large")))
    }
}

/// Lists of counts.
pub(super) mod counts {
    use serde::Deserializer;

    pub(in crate::study::plan) use super::list::serialize;

    pub(in crate::study::plan) fn deserialize<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: TryFrom<u64>,
    {
        super::list::deserialize(from)?.into_iter().map(super::count::small).collect()
    }
}

/// A count of 64 bits: TOML has no number above 2^63, so it is text there.
pub(super) mod seed {
    use serde::Serializer;

    pub(in crate::study::plan) use super::count::deserialize;

    pub(in crate::study::plan) fn serialize<S: Serializer>(
        seed: &u64,
        into: S,
    ) -> Result<S::Ok, S::Error> {
        match i64::try_from(*seed) {
            Ok(seed) => into.serialize_i64(seed),
            Err(_) => into.serialize_str(&seed.to_string()),
        }
    }
}

/// Settings that are lists: in TOML one value, or several in brackets.
pub(super) mod list {
    use std::fmt;
    use std::marker::PhantomData;

    use serde::de::value::SeqAccessDeserializer;
    use serde::de::{Error, IntoDeserializer, SeqAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A visitor and no untagged enum, whose error would not name the value found.
    struct OneOrSeveral<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrSeveral<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a value, or several in brackets")
        }

        fn visit_str<E: Error>(self, value: &str) -> Result<Vec<T>, E> {
            Ok(vec![T::deserialize(value.into_deserializer())?])
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<Vec<T>, E> {
            Ok(vec![T::deserialize(value.into_deserializer())?])
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<Vec<T>, E> {
            Ok(vec![T::deserialize(value.into_deserializer())?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<Vec<T>, A::Error> {
            let values = Vec::deserialize(SeqAccessDeserializer::new(values))?;
            if values.is_empty() {
                return Err(A::Error::custom("an empty list; name at least one value"));
            }
            Ok(values)
        }
    }

    pub(in crate::study::plan) fn deserialize<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        from.deserialize_any(OneOrSeveral(PhantomData))
    }

    pub(in crate::study::plan) fn serialize<S: Serializer, T: Serialize>(
        values: &[T],
        into: S,
    ) -> Result<S::Ok, S::Error> {
        match values {
            [value] => value.serialize(into),
            values => values.serialize(into),
        }
    }
}

/// Settings of single stores: tables of tables, a value being text, a number, a truth value, or a
/// list of text.
pub(super) mod stores {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Stores = BTreeMap<String, BTreeMap<String, Vec<String>>>;

    #[derive(Deserialize, Serialize)]
    #[serde(untagged)]
    enum Value {
        Bool(bool),
        Number(i64),
        Text(String),
        Several(Vec<String>),
    }

    pub(in crate::study::plan) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Stores, D::Error> {
        let stores = BTreeMap::<String, BTreeMap<String, Value>>::deserialize(from)?;
        let read = |value| match value {
            Value::Bool(value) => vec![value.to_string()],
            Value::Number(value) => vec![value.to_string()],
            Value::Text(value) => vec![value],
            Value::Several(values) => values,
        };
        let settings = |settings: BTreeMap<String, Value>| {
            settings.into_iter().map(|(name, value)| (name, read(value))).collect()
        };
        Ok(stores.into_iter().map(|(store, found)| (store, settings(found))).collect())
    }

    pub(in crate::study::plan) fn serialize<S: Serializer>(
        stores: &Stores,
        into: S,
    ) -> Result<S::Ok, S::Error> {
        let written = |values: &Vec<String>| match &values[..] {
            [value] => Value::Text(value.clone()),
            values => Value::Several(values.to_vec()),
        };
        let table = |settings: &BTreeMap<String, Vec<String>>| {
            settings
                .iter()
                .map(|(name, values)| (name.clone(), written(values)))
                .collect::<BTreeMap<_, _>>()
        };
        stores
            .iter()
            .map(|(store, settings)| (store, table(settings)))
            .collect::<BTreeMap<_, _>>()
            .serialize(into)
    }
}
