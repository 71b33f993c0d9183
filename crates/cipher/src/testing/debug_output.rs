//! Output of `Debug` for a keyed object: nothing of its key.

use std::fmt::Write;

/// Looks for any four bytes of `key` in a row, as hexadecimal or as a list of numbers.
pub(super) fn assert_prints_no_key(printed: &str, key: &[u8]) {
    let printed = printed.to_lowercase().replace(char::is_whitespace, "");
    for window in key.windows(4) {
        let mut digits = String::new();
        window.iter().for_each(|byte| write!(digits, "{byte:02x}").expect("strings grow"));
        let numbers = window.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        assert!(
            !printed.contains(&digits) && !printed.contains(&numbers),
            "Debug prints key bytes"
        );
    }
}
