//! Longest duration of a comparison, as a setting: text such as `10m`.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time in text such as `10m`, `90s` or `1h 30m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxTime {
    /// Seconds.
    pub seconds: f64,
}

impl fmt::Display for MaxTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:#}", SignedDuration::from_millis((self.seconds * 1e3).round() as i64))
    }
}

impl FromStr for MaxTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().parse::<SignedDuration>() {
            Ok(duration) => Ok(Self { seconds: duration.as_secs_f64() }),
            Err(_) => Err(format!(
                "{text:?} is not a length of time; write a number with a unit, such as 90s or 10m"
            )),
        }
    }
}

impl Serialize for MaxTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MaxTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_they_are_written() {
        for (text, seconds) in [("10m", 600.0), ("90s", 90.0), ("1h 30m", 5_400.0), ("1.5s", 1.5)] {
            let read: MaxTime = text.parse().unwrap();
            assert_eq!(read, MaxTime { seconds }, "{text}");
            assert_eq!(read.to_string().parse(), Ok(read), "{read}");
        }
        assert!("10".parse::<MaxTime>().unwrap_err().contains("with a unit, such as 90s or 10m"));
    }
}
