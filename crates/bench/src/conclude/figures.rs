//! Figures as a person reads them: `12.3 k ops/s`, `1.20 GB/s`, `−4.0 % ± 1.5`. Formatting only, no
//! statistics.

use crate::results::open_loop::{Percentile, Ratio};
use crate::results::{Interval, Overhead};
pub use crate::words::count::{count, counted};
use crate::words::verdict::Quantity;
use crate::workload::Unit;

/// The minus sign, which is as wide as a plus.
pub(crate) const MINUS: char = '\u{2212}';

/// A decimal prefix: how much it multiplies by, and its letter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// 1, 1000, …
    pub factor: f64,
    /// Nothing, `k`, `M`, `G`, `T`, ….
    pub letter: &'static str,
}

const PREFIXES: [Prefix; 7] = [
    Prefix { factor: 1e18, letter: "E" },
    Prefix { factor: 1e15, letter: "P" },
    Prefix { factor: 1e12, letter: "T" },
    Prefix { factor: 1e9, letter: "G" },
    Prefix { factor: 1e6, letter: "M" },
    Prefix { factor: 1e3, letter: "k" },
    Prefix { factor: 1.0, letter: "" },
];

/// Returns the largest prefix not above `value`, judged after rounding to three digits (999.7
/// counts as 1 k).
pub fn prefix(value: f64) -> Prefix {
    let rounded = value.abs() * 1.0005;
    PREFIXES.into_iter().find(|prefix| rounded >= prefix.factor).unwrap_or(PREFIXES[6])
}

/// Returns `value` with three significant digits and no prefix: `0.123`, `1.23`, `12.3`, `1234`;
/// nothing below a thousandth.
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let places = match size {
        _ if size < 0.0005 => 0,
        _ if size < 0.9995 => 3,
        _ if size < 9.995 => 2,
        _ if size < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{size:.places$}");
    if value < 0.0 && size >= 0.0005 { format!("{MINUS}{text}") } else { text }
}

/// Returns `value` of `unit` with a decimal prefix: `12.3 k`, `1.20 GB`.
fn prefixed(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let prefix = prefix(value);
    format!("{} {}{unit}", digits(value / prefix.factor), prefix.letter).trim_end().to_owned()
}

/// Formats a throughput in `unit` a second: `12.3 k ops/s`, `1.20 GB/s`.
pub fn rate(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => prefixed(value, "B/s"),
        Unit::Operations => format!("{} ops/s", per_s(value)),
    }
}

/// Formats a number of things a second without their name: `12.3 k`, `123`.
pub fn per_s(value: f64) -> String {
    match prefix(value).letter {
        "" => digits(value),
        _ => prefixed(value, ""),
    }
}

/// Formats a number of bytes, with decimal prefixes: `1.20 GB`.
pub fn bytes(value: u64) -> String {
    if value < 1000 { format!("{value} B") } else { prefixed(value as f64, "B") }
}

/// Formats an amount of memory, with binary prefixes: `16.0 GiB`.
pub fn memory(value: u64) -> String {
    let value = value as f64;
    match value {
        _ if value >= 1024.0 * 1024.0 * 1024.0 => {
            format!("{} GiB", digits(value / (1024.0 * 1024.0 * 1024.0)))
        }
        _ => format!("{} MiB", digits(value / (1024.0 * 1024.0))),
    }
}

/// Formats a time given in microseconds: `12.3 µs`, `1.23 ms`, `4.56 s`.
pub fn micros(value_us: f64) -> String {
    match scaled_micros(value_us) {
        (number, Some(unit)) => format!("{number} {unit}"),
        (number, None) => number,
    }
}

/// Returns a time in microseconds as a number and its unit; a dash without one if it is no number.
fn scaled_micros(value_us: f64) -> (String, Option<&'static str>) {
    if !value_us.is_finite() {
        return ("–".into(), None);
    }
    let (value, unit) = match value_us.abs() * 1.0005 {
        size if size >= 1e6 => (value_us / 1e6, "s"),
        size if size >= 1e3 => (value_us / 1e3, "ms"),
        size if size >= 1.0 || size == 0.0 => (value_us, "µs"),
        _ => (value_us * 1e3, "ns"),
    };
    (digits(value), Some(unit))
}

/// Formats a difference of times in microseconds, with its sign: `+12.3 µs`, `−1.23 ms`.
pub(crate) fn signed_micros(value_us: f64) -> String {
    let sign = if value_us > 0.0 { "+" } else { "" };
    format!("{sign}{}", micros(value_us))
}

/// Formats a percentile with its 95 % interval: `1.31 ms (1.25–1.40)`; the unit is that of the
/// percentile.
pub(crate) fn latency_interval(percentile: &Percentile) -> String {
    micros_interval(percentile.us, percentile.low_us, percentile.high_us)
}

/// Formats a time in microseconds with the ends of its interval.
pub(crate) fn micros_interval(us: f64, low_us: f64, high_us: f64) -> String {
    let [(_, unit), (low, low_unit), (high, high_unit)] = [us, low_us, high_us].map(scaled_micros);
    let text = micros(us);
    // a unit that all three share is written once
    match low_unit == unit && high_unit == unit {
        true => format!("{text} ({low}–{high})"),
        false => format!("{text} ({}–{})", micros(low_us), micros(high_us)),
    }
}

/// Formats a ratio with half of its interval, as the change it makes: `+12 % ± 4`.
pub fn ratio(ratio: &Ratio) -> String {
    let places = |percent: f64| usize::from(percent.abs() < 9.95);
    let percent = (ratio.ratio - 1.0) * 100.0;
    let half = (ratio.high - ratio.low) * 50.0;
    let sign = if percent < 0.0 { MINUS } else { '+' };
    format!("{sign}{:.*} % ± {half:.*}", places(percent), percent.abs(), places(half))
}

/// Formats a time given in seconds: `4.56 s`, `2 min 03 s`, `1 h 02 min`.
pub fn seconds(value_s: f64) -> String {
    if !value_s.is_finite() {
        return "–".into();
    }
    let whole = value_s.round() as u64;
    match whole {
        0..60 if value_s < 59.95 => micros(value_s * 1e6),
        0..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Formats a point in time, given in RFC 3339, to the minute; text in another form is left
/// unchanged.
pub fn moment(rfc3339: &str) -> String {
    match rfc3339.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => rfc3339.to_owned(),
    }
}

/// Formats a share of one as per cent: `12.3 %`.
pub fn share(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    format!("{} %", one_place(value * 100.0, false))
}

/// Returns `value` with one place, none from a hundred up; never `−0.0`. With `sign`, a plus if it
/// is positive.
fn one_place(value: f64, sign: bool) -> String {
    let places = usize::from(value.abs() < 99.95);
    let text = format!("{:.places$}", value.abs());
    match text.bytes().any(|byte| matches!(byte, b'1'..=b'9')) {
        false => text,
        true if value < 0.0 => format!("{MINUS}{text}"),
        true if sign => format!("+{text}"),
        true => text,
    }
}

/// Formats a ratio as the change it makes, in per cent with its sign: 0.96 is `−4.0 %`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "–".into();
    }
    format!("{} %", one_place((ratio - 1.0) * 100.0, true))
}

/// Returns half the width of the 95 % interval, in percentage points: `± 1.5`; without an interval,
/// the number of pairs: `4 pairs`.
pub fn half_width(overhead: &Overhead) -> String {
    match half_percent(overhead) {
        Some(percent) => format!("± {}", one_place(percent, false)),
        None => counted(overhead.pairs, "pair"),
    }
}

fn half_percent(overhead: &Overhead) -> Option<f64> {
    overhead
        .interval
        .map(|Interval { low, high }| (high - low) * 50.0)
        .filter(|percent| percent.is_finite())
}

/// Returns the throughput against the baseline with its 95 % interval: `−4.0 % ± 1.5`; without one,
/// `−4.0 %, 4 pairs`.
pub fn overhead(overhead: &Overhead) -> String {
    let gap = if overhead.interval.is_some() { " " } else { ", " };
    format!("{}{gap}{}", change(overhead.ratio), half_width(overhead))
}

/// Returns the same in per cent, without spaces and the sign of per cent: `−4.0±1.5`; without an
/// interval, `−4.0,4pairs`.
pub(crate) fn terse(overhead: &Overhead) -> String {
    let change = match overhead.ratio.is_finite() {
        true => one_place((overhead.ratio - 1.0) * 100.0, true),
        false => "–".into(),
    };
    match half_percent(overhead) {
        Some(percent) => format!("{change}±{}", one_place(percent, false)),
        None => {
            format!("{change},{}pair{}", overhead.pairs, if overhead.pairs == 1 { "" } else { "s" })
        }
    }
}

/// Returns the 95 % interval of the change: `−5.5 to −2.5 %`; a dash without one.
pub fn interval(overhead: &Overhead) -> String {
    let end = |ratio: f64| one_place((ratio - 1.0) * 100.0, true);
    match overhead.interval {
        Some(Interval { low, high }) if low.is_finite() && high.is_finite() => {
            format!("{} to {} %", end(low), end(high))
        }
        _ => "–".into(),
    }
}

/// Returns the lower end of that interval, by which a table sorts it.
pub(crate) fn lower_end(overhead: &Overhead) -> f64 {
    overhead.interval.map_or(f64::NAN, |interval| interval.low)
}

/// Returns the largest cost that an interval leaves possible: `at most 6.5 %`, or that it costs
/// nothing.
pub fn bound(overhead: &Overhead) -> String {
    match largest_cost(overhead) {
        None => "not bounded".into(),
        Some(0.0) => Quantity::Throughput.no_cost().into(),
        Some(percent) => format!("at most {} %", one_place(percent, false)),
    }
}

/// Returns the same as a number of per cent: `6.5`, or `0`.
pub(crate) fn bound_percent(overhead: &Overhead) -> String {
    match largest_cost(overhead) {
        None => "–".into(),
        Some(0.0) => "0".into(),
        Some(percent) => one_place(percent, false),
    }
}

/// Returns the largest cost that the interval leaves possible, in per cent, 0 or more.
fn largest_cost(overhead: &Overhead) -> Option<f64> {
    overhead.interval.map(|interval| ((1.0 - interval.low) * 100.0).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::verdict::Verdict;

    #[test]
    fn rates_have_three_digits_and_a_prefix() {
        for (value, wanted) in [
            (0.0, "0 ops/s"),
            (0.25, "0.250 ops/s"),
            (7.0, "7.00 ops/s"),
            (999.4, "999 ops/s"),
            (999.7, "1.00 k ops/s"),
            (12_345.0, "12.3 k ops/s"),
            (123_456.0, "123 k ops/s"),
            (1e15, "1.00 P ops/s"),
            (f64::NAN, "– ops/s"),
        ] {
            assert_eq!(rate(value, Unit::Operations), wanted);
        }
        assert_eq!(rate(1.2e9, Unit::Bytes), "1.20 GB/s");
        assert_eq!(rate(0.0, Unit::Bytes), "0 B/s");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(256_000_000), "256 MB");
        assert_eq!(memory(16 << 30), "16.0 GiB");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn times_choose_their_unit() {
        for (value_us, wanted) in [
            (0.0, "0 µs"),
            (0.25, "250 ns"),
            (12.34, "12.3 µs"),
            (999.9, "1.00 ms"),
            (1234.0, "1.23 ms"),
            (4.56e6, "4.56 s"),
        ] {
            assert_eq!(micros(value_us), wanted);
        }
        assert_eq!(seconds(12.0), "12.0 s");
        assert_eq!(seconds(59.99), "1 min 00 s");
        assert_eq!(seconds(123.4), "2 min 03 s");
        assert_eq!(seconds(3725.0), "1 h 02 min");
        assert_eq!(moment("2026-03-02T10:14:05.25+01:00"), "2026-03-02 09:14 UTC");
        assert_eq!(moment("yesterday"), "yesterday");
    }

    #[test]
    fn changes_have_signs_but_zero_has_none() {
        assert_eq!(change(0.96), "−4.0 %");
        assert_eq!(change(1.031), "+3.1 %");
        assert_eq!(change(0.99999), "0.0 %");
        assert_eq!(change(3.5), "+250 %");
        let measured = Overhead {
            ratio: 0.96,
            interval: Some(Interval { low: 0.945, high: 0.975 }),
            pairs: 9,
            loads: 3,
            verdict: Verdict::Costs,
            words: String::new(),
            cpu_ratio: 1.0,
        };
        assert_eq!(overhead(&measured), "−4.0 % ± 1.5");
        assert_eq!(interval(&measured), "−5.5 to −2.5 %");
        // too few pairs for an interval show none, however close they are
        let few =
            Overhead { interval: None, pairs: 4, verdict: Verdict::CannotConclude, ..measured };
        assert_eq!((overhead(&few).as_str(), interval(&few).as_str()), ("−4.0 %, 4 pairs", "–"));
    }

    #[test]
    fn short_forms_keep_sign_and_width() {
        let measured = Overhead {
            ratio: 0.96,
            interval: Some(Interval { low: 0.945, high: 0.975 }),
            pairs: 12,
            loads: 3,
            verdict: Verdict::Costs,
            words: String::new(),
            cpu_ratio: 1.0,
        };
        assert_eq!((terse(&measured), bound_percent(&measured)), ("−4.0±1.5".into(), "5.5".into()));
        let few = |pairs| terse(&Overhead { interval: None, pairs, ..measured.clone() });
        assert_eq!((few(4), few(1)), ("−4.0,4pairs".into(), "−4.0,1pair".into()));
        let faster = Overhead {
            ratio: 1.04,
            interval: Some(Interval { low: 1.01, high: 1.07 }),
            ..measured
        };
        assert_eq!((bound(&faster), bound_percent(&faster)), ("costs nothing".into(), "0".into()));
    }
}
