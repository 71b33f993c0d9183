//! The scale along one side of a chart: the position of a value on it, and the labelled values.

use crate::conclude::figures;

/// A scale.
pub(super) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Values to mark, with their text.
    pub(super) ticks: Vec<(f64, String)>,
    /// The value that others are compared with, if it should stand out.
    pub(super) reference: Option<f64>,
    /// Meanings of the two sides of the reference in a word: `slower`, `faster`.
    pub(super) sides: Option<(String, String)>,
}

impl Axis {
    /// Returns an even scale from `low` to `high`, with about `aim` ticks, each written by `text`
    /// from the value and the number of decimals that distinguishes the ticks.
    pub(super) fn linear(
        low: f64,
        high: f64,
        aim: usize,
        text: impl Fn(f64, usize) -> String,
    ) -> Self {
        let (low, high) =
            if high > low && (high - low).is_finite() { (low, high) } else { (low, low + 1.0) };
        let (step, places) = step((high - low) / aim.max(1) as f64);
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let ticks = (first..=last)
            .map(|number| number as f64 * step)
            .map(|value| (value, text(value, places)))
            .collect();
        Self { low, high, logarithmic: false, ticks, reference: None, sides: None }
    }

    /// Returns a logarithmic scale of times in microseconds; else as [`Axis::logarithmic`].
    pub(super) fn micros(low: f64, high: f64, aim: usize) -> Self {
        Self::logarithmic(low, high, aim, |value| trimmed(&figures::micros(value)))
    }

    /// Returns a logarithmic scale around `low` and `high`, with at most `aim` ticks, each written
    /// by `text`. Values that are not positive are put at its lower end.
    pub(super) fn logarithmic(
        low: f64,
        high: f64,
        aim: usize,
        text: impl Fn(f64) -> String,
    ) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let low = if low.is_finite() && low > 0.0 && low <= high { low } else { high / 10.0 };
        let (low, high) = (low / 1.2, high * 1.2);
        let within = |mantissas: &[f64], every: i32| -> Vec<f64> {
            let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
            decades
                .filter(|decade| decade.rem_euclid(every) == 0)
                .flat_map(|decade| {
                    mantissas.iter().map(move |mantissa| mantissa * 10f64.powi(decade))
                })
                .filter(|value| (low..=high).contains(value))
                .collect()
        };
        let choices: [(&[f64], i32); 5] =
            [(&[1.0, 2.0, 5.0], 1), (&[1.0, 3.0], 1), (&[1.0], 1), (&[1.0], 2), (&[1.0], 3)];
        let ticks = choices
            .iter()
            .map(|(mantissas, every)| within(mantissas, *every))
            .find(|ticks| ticks.len() <= aim);
        let mut ticks = ticks.unwrap_or_default();
        if ticks.len() < 2 {
            ticks = vec![low * 1.2, high / 1.2];
            ticks.dedup_by(|a, b| (*a / *b - 1.0).abs() < 0.2);
        }
        let ticks = ticks.into_iter().map(|value| (value, text(value))).collect();
        Self { low, high, logarithmic: true, ticks, reference: None, sides: None }
    }

    /// Returns the same scale with `value` as the reference.
    pub(super) fn against(mut self, value: f64) -> Self {
        self.reference = Some(value);
        self
    }

    /// Returns the same scale with words for what is below its reference and above it.
    pub(super) fn sided(mut self, below: impl Into<String>, above: impl Into<String>) -> Self {
        self.sides = Some((below.into(), above.into()));
        self
    }

    /// Returns the position of `value`, 0 at the lower end and 1 at the upper; values beyond an end
    /// are put at it.
    pub(super) fn position(&self, value: f64) -> f64 {
        let position = match self.logarithmic {
            false => (value - self.low) / (self.high - self.low),
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns whether `value` is beyond the lower end, and whether it is beyond the upper end.
    pub(super) fn beyond(&self, value: f64) -> (bool, bool) {
        (value < self.low, value > self.high)
    }
}

/// Returns the step of 1, 2 or 5 times a power of ten that is not below `rough`, and the decimals
/// it needs.
fn step(rough: f64) -> (f64, usize) {
    let decade = rough.log10().floor();
    let power = 10f64.powf(decade);
    let mantissa = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|mantissa| mantissa * power >= rough * 0.999)
        .unwrap_or(10.0);
    let step = mantissa * power;
    (step, (-(step * 1.001).log10().floor()).clamp(0.0, 12.0) as usize)
}

/// Returns `10.0 µs` as `10 µs`: decimals that are all zero are dropped.
fn trimmed(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn even_ticks_are_round() {
        let plain = |value: f64, places: usize| format!("{value:.places$}");
        assert_eq!(texts(&Axis::linear(0.0, 10.3, 4, plain)), ["0", "5", "10"]);
        assert_eq!(texts(&Axis::linear(-0.31, 0.1, 4, plain)), ["-0.2", "0.0"]);
        assert_eq!(texts(&Axis::linear(0.0, 0.0, 4, plain)), ["0.0", "0.5", "1.0"]);
        assert_eq!(Axis::linear(0.0, f64::NAN, 4, plain).position(0.5), 0.5);
    }

    #[test]
    fn logarithmic_ticks_are_few_and_at_least_one() {
        assert_eq!(texts(&Axis::micros(3.0, 8000.0, 5)), ["10 µs", "100 µs", "1 ms"]);
        assert_eq!(texts(&Axis::micros(10.0, 25.0, 5)), ["10 µs", "20 µs"]);
        assert!(!texts(&Axis::micros(0.0, 0.0, 5)).is_empty());
        for exponent in 0..12 {
            let axis = Axis::micros(1.0, 10f64.powi(exponent), 5);
            assert!((1..=5).contains(&axis.ticks.len()), "{exponent}: {:?}", texts(&axis));
        }
        assert_eq!(Axis::micros(1.0, 100.0, 4).position(0.0), 0.0);
        assert_eq!(Axis::micros(1.0, 100.0, 4).position(1e9), 1.0);
    }
}
