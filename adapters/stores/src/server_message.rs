//! Part of a server's message that may be shown: the beginning, which is the server's own, without
//! the values and names that it quotes after it. Messages about duplicate keys, values that do not
//! fit and failed checks quote the row.

use sealstone_message::printable;

/// The longest text of a server that is shown, in characters.
const CHARS_MAX: usize = 160;
/// As many digits in a row may be a person's number.
const DIGITS_IN_A_ROW: usize = 4;

/// Returns `message` up to the first possible quote: text in quotes or brackets, text behind a
/// colon or an equal sign, a longer number. An ellipsis replaces the rest.
pub(crate) fn without_values(message: &str) -> String {
    let message = message.trim();
    let mut digits = 0;
    let quoted = message.char_indices().find_map(|(at, c)| {
        digits = if c.is_numeric() { digits + 1 } else { 0 };
        match c {
            '\'' | '"' | '`' | '(' | '[' | '{' | '<' | ':' | '=' | '@' | '«' | '“' | '”' | '‘'
            | '’' | '„' | '\n' => Some(at),
            _ if digits == DIGITS_IN_A_ROW => Some(at + 1 - DIGITS_IN_A_ROW),
            _ => None,
        }
    });
    let limit = message.char_indices().nth(CHARS_MAX).map(|(at, _)| at);
    let end = quoted.into_iter().chain(limit).min();
    let said = printable(message[..end.unwrap_or(message.len())].trim_end()).into_owned();
    match end {
        None => said,
        Some(_) if said.is_empty() => "…".into(),
        Some(_) => format!("{said} …"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_quote_is_left_out() {
        for (message, want) in [
            ("Duplicate entry '870605-1234567' for key 'PRIMARY'", "Duplicate entry …"),
            (
                "Incorrect string value: '\\xF0' for column `d`.`t`.`c` at row 1",
                "Incorrect string value …",
            ),
            (
                "invalid input syntax for type integer: \"870605\"",
                "invalid input syntax for type integer …",
            ),
            ("Key (rrn)=(870605-1234567) already exists.", "Key …"),
            ("new row for relation \"t\" violates check constraint", "new row for relation …"),
            (
                "E110 duplicate key error collection: t dup key: { _id: 1 }",
                "E110 duplicate key error collection …",
            ),
            (
                "ERR unknown command 'AUTH', with args beginning with: 'default' 'geheim'",
                "ERR unknown command …",
            ),
            ("870605-1234567 is not a number", "…"),
            ("value 홍길동 870605-1234567", "value 홍길동 …"),
            (
                "terminating connection due to administrator command",
                "terminating connection due to administrator command",
            ),
            ("\x1b[2Jgone", "\\u{1b} …"),
        ] {
            assert!(
                without_values(message).starts_with(want.trim_end_matches(" …")),
                "{}",
                without_values(message)
            );
            assert_eq!(without_values(message).ends_with('…'), want.ends_with('…'), "{message}");
        }
        assert!(without_values(&"x ".repeat(1 << 20)).len() < 200);
    }
}
