//! A moment of the clock from the command line: the common start of several machines.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// Reads an RFC 3339 time, or a time of today in this machine's time zone.
///
/// # Errors
/// Neither of the two.
pub(super) fn parse_start(text: &str) -> Result<Timestamp, String> {
    at(text, &Zoned::now())
}

/// As [`parse_start`], where it is `now`.
fn at(text: &str, now: &Zoned) -> Result<Timestamp, String> {
    if let Ok(found) = text.parse::<Timestamp>() {
        return Ok(found);
    }
    let wrong = || {
        "expected a time such as 12:00:00, or 2026-03-02T12:00:00Z where time zones differ"
            .to_owned()
    };
    let time: Time = text.parse().map_err(|_| wrong())?;
    let zone: TimeZone = now.time_zone().clone();
    let today = now.date().to_datetime(time).to_zoned(zone).map_err(|_| wrong())?;
    Ok(today.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_moment_or_a_time_of_today() {
        let now: Zoned = "2026-03-02T09:00:00+01:00[Europe/Berlin]".parse().unwrap();
        for text in ["12:00:00", "2026-03-02T11:00:00Z", "2026-03-02T12:00:00+01:00"] {
            assert_eq!(at(text, &now).unwrap().to_string(), "2026-03-02T11:00:00Z", "{text}");
        }
        assert!(at("noon", &now).unwrap_err().contains("such as 12:00:00"));
    }
}
