//! How many of something, in words.

/// A whole number with thin groups of three: `100 000`.
pub fn count(value: u64) -> String {
    let text = value.to_string();
    let mut grouped = String::with_capacity(text.len() * 4 / 3);
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with what it counts: `1 round`, `3 rounds`.
pub fn counted(value: usize, one: &str) -> String {
    format!("{} {one}{}", count(value as u64), if value == 1 { "" } else { "s" })
}
