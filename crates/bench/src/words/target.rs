//! The rate of an open loop as a setting: operations a second, or `max` with a limit on latency.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use sealstone_message::SettingName;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// At which rate operations are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// This many a second, all clients together.
    Rate(f64),
    /// As many as each variant can sustain under a limit on latency, found by search.
    Max,
}

impl Target {
    /// Returns the rate, if it is a fixed one.
    #[must_use]
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::Rate(rate) => Some(rate),
            Self::Max => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(out),
            Self::Max => out.write_str("max"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            max if max.eq_ignore_ascii_case("max") => Ok(Self::Max),
            number => number.parse().map(Self::Rate).map_err(|_| {
                format!(
                    "{text:?} is not a rate; write operations a second, such as 2000, or max \
                     with {}",
                    SettingName("p99 10ms")
                )
            }),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rate(rate) => serializer.serialize_f64(*rate),
            Self::Max => serializer.serialize_str("max"),
        }
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Found {
            Rate(f64),
            Text(String),
        }
        match Found::deserialize(deserializer)? {
            Found::Rate(rate) => Ok(Self::Rate(rate)),
            Found::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// A latency that a percentile must not exceed, in microseconds; in text such as `10ms`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Microseconds.
    pub limit_us: f64,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#}", SignedDuration::from_nanos((self.limit_us * 1e3) as i64))
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // 0 needs no unit
        if text.trim().parse::<f64>().is_ok_and(|number| number == 0.0) {
            return Ok(Self { limit_us: 0.0 });
        }
        match text.trim().parse::<SignedDuration>() {
            Ok(duration) => Ok(Self { limit_us: duration.as_nanos() as f64 / 1e3 }),
            Err(_) => Err(format!(
                "{text:?} is not a duration; write a number with a unit, such as 10ms, 500us or 1s"
            )),
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_limits_are_read_as_they_are_written() {
        for (text, target) in
            [("2000", Target::Rate(2000.0)), ("0.5", Target::Rate(0.5)), ("MAX", Target::Max)]
        {
            let read: Target = text.parse().unwrap();
            assert_eq!(read, target);
            assert_eq!(read.to_string().parse(), Ok(target));
        }
        assert!("2 a minute".parse::<Target>().unwrap_err().contains("such as 2000, or max"));
        for (text, limit_us) in
            [("10ms", 10_000.0), ("500us", 500.0), ("1.5s", 1_500_000.0), ("250 µs", 250.0)]
        {
            let read: Limit = text.parse().unwrap();
            assert_eq!(read, Limit { limit_us }, "{text}");
            assert_eq!(read.to_string().parse(), Ok(read), "{read}");
        }
        assert_eq!("0".parse(), Ok(Limit { limit_us: 0.0 }));
        assert!("10".parse::<Limit>().unwrap_err().contains("with a unit, such as 10ms"));
    }
}
