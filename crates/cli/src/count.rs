//! Counts as people write them: `5000`, `1_000_000`, `100k`, `2.5M`. Sizes in bytes are read by the library.

const UNITS: &[(&str, u64)] = &[("k", 1000), ("m", 1000 * 1000), ("g", 1000 * 1000 * 1000), ("", 1)];

/// Reads a count; `k`, `M` and `G` stand for thousands, millions and thousand millions.
///
/// # Errors
/// One line that says what is accepted.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| "expected a whole number below 2^64 such as 5000, 1_000_000, 100k or 5M".to_string())
}

/// Reads a count of things that a machine holds, such as threads.
///
/// # Errors
/// As `parse`.
pub(crate) fn parse_small(text: &str) -> Result<usize, String> {
    usize::try_from(parse(text)?).map_err(|_| "expected a smaller number".to_string())
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '_' && c != '.').unwrap_or(text.len());
    let (figure, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| unit.trim().eq_ignore_ascii_case(name))?.1;
    let figure = figure.replace('_', "");
    match figure.split_once('.') {
        None => figure.parse::<u64>().ok()?.checked_mul(factor),
        Some((whole, part)) if !whole.is_empty() && (1..=9).contains(&part.len()) => {
            let scale = 10u64.pow(part.len() as u32);
            let rest = part.parse::<u64>().ok()?.checked_mul(factor)?;
            // a fraction of a record is a slip of the pen
            if rest % scale != 0 {
                return None;
            }
            whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(rest / scale)
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_written() {
        for (text, want) in [("0", 0), ("5000", 5000), ("1_000_000", 1_000_000), ("100k", 100_000), ("2.5M", 2_500_000)]
        {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
        for text in ["", "k", "-1", "1.5", "1.", ".5k", "2GB", "many", "99999999999G", "0x10", "1e6"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
