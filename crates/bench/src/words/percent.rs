//! Shares as people write and read them: `2%`. Not here: figures of the report
//! (`conclude::figures`).

/// Reads a share: `2%`, `0.5 %`, or the number of percent alone.
///
/// # Errors
/// Text that is not such a number, with the text and the accepted values.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text.trim()).trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent.is_finite() => Ok(percent / 100.0),
        _ => Err(format!("{text:?} is not a share; write it in percent, such as 2% or 0.5%")),
    }
}

/// Formats a share in percent, with no place that it does not need: `2`, `0.5`.
#[must_use]
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a share in percent from which [`parse_percent`] reads the same share again.
fn exact(share: f64) -> String {
    let of = |places: usize| format!("{:.places$}%", share * 100.0);
    let same =
        |text: &String| parse_percent(text).is_ok_and(|read| read.to_bits() == share.to_bits());
    (0..=20).map(of).find(same).unwrap_or_else(|| of(20))
}

/// A share in a plan: written as `2%`, read as [`parse_percent`] does, or as a number of percent.
pub(crate) mod setting {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// As its parent, for a share that may be absent.
    pub(crate) mod optional {
        use serde::{Deserialize, Deserializer, Serializer};

        pub(crate) fn serialize<S: Serializer>(
            share: &Option<f64>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match share {
                Some(share) => super::serialize(share, serializer),
                None => serializer.serialize_none(),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<f64>, D::Error> {
            Option::<super::Share>::deserialize(deserializer)?.map(super::Share::read).transpose()
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Share {
        Percent(f64),
        Text(String),
    }

    pub(crate) fn serialize<S: Serializer>(share: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::exact(*share))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Share::deserialize(deserializer)?.read()
    }

    impl Share {
        fn read<E: Error>(self) -> Result<f64, E> {
            match self {
                Self::Percent(percent) => Ok(percent / 100.0),
                Self::Text(text) => super::parse_percent(&text).map_err(E::custom),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        for (text, share) in [("2%", 0.02), ("0.5 %", 0.005), (" 3", 0.03), ("10%", 0.1)] {
            assert!((parse_percent(text).unwrap() - share).abs() < 1e-12, "{text}");
        }
        for text in ["", "%", "two", "NaN%", "inf"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
        assert_eq!([0.02, 0.005, 0.1, 0.0].map(percent), ["2", "0.5", "10", "0"]);
        for text in ["2%", "7%", "0.1%", "0.123456%", "29.3%", "0%"] {
            assert_eq!(exact(parse_percent(text).unwrap()), text);
        }
    }
}
