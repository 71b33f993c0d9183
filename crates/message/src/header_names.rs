//! Error text about the column names in the first line of a file, for when a column is not among
//! them.
//!
//! A file without a header line has data there: a message that lists "the columns" would quote a
//! person's number. So names are shown only where the line is a header line for certain, and even
//! there none that looks like data.

use strsim::osa_distance;

use crate::shown_address::may_hold_secret;
use crate::suggestion::{nearest, similar};
use crate::unknown_name::suggestion;

/// Letters of a name for each letter of it that may be wrong.
const LETTERS_A_SLIP: usize = 4;
/// As many digits in a row, and as many in all, are a number of something rather than a name.
const DIGITS_IN_A_ROW: usize = 4;
const DIGITS: usize = 6;
/// Longer names are rather data, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Returns words that continue `no column "x"`: the probable name and all names, or the number of
/// columns and the requirement on the line.
///
/// - `wanted`: the missing column
/// - `others`: the other requested columns
/// - `names`: the names in the line
#[must_use]
pub fn not_among<'a>(
    wanted: &str,
    others: impl IntoIterator<Item = &'a str>,
    names: &[&str],
) -> String {
    let clear = || names.iter().copied().filter(|name| !looks_like_data(name));
    let is_named = others.into_iter().any(|other| names.contains(&other));
    let meant = match is_named {
        true => similar(wanted, clear()).unwrap_or_default(),
        false => nearest(wanted, clear().filter(|name| is_slip(wanted, name))),
    };
    if !is_named && meant.is_empty() {
        let columns = match names.len() {
            1 => "is 1 column, whose name is not shown, since it".to_owned(),
            count => format!("are {count} columns, whose names are not shown, since they"),
        };
        return format!(
            "; there {columns} may be data\n\
             the first line must name the columns: look at it, and correct the name or write such \
             a line"
        );
    }
    let known: Vec<String> = (1..).zip(names).map(|(at, name)| shown_name(at, name)).collect();
    let known = known.join(", ");
    match meant {
        "" => format!("\ncolumns: {known}"),
        meant => format!("{}\ncolumns: {known}", suggestion(meant)),
    }
}

/// Returns the name `name` of column number `at`, from 1, or its number if the name looks like
/// data.
fn shown_name(at: usize, name: &str) -> String {
    if looks_like_data(name) { format!("(column {at})") } else { name.to_owned() }
}

/// Returns whether `name` is `wanted` with a typing error: different case, or one letter in four
/// wrong.
fn is_slip(wanted: &str, name: &str) -> bool {
    let plain = |text: &str| text.trim().to_lowercase().replace(['_', ' '], "-");
    let (wanted, name) = (plain(wanted), plain(name));
    let may = wanted.chars().count() / LETTERS_A_SLIP;
    osa_distance(&wanted, &name) <= may
}

/// Returns whether `name` looks like a value rather than a name: a number, an address, nothing at
/// all.
fn looks_like_data(name: &str) -> bool {
    let is_digit = |c: char| c.is_numeric();
    let longest = name.split(|c| !is_digit(c)).map(|row| row.chars().count()).max().unwrap_or(0);
    let all = name.chars().filter(|c| is_digit(*c)).count();
    name.trim().is_empty()
        || longest >= DIGITS_IN_A_ROW
        || all >= DIGITS
        || name.contains('@')
        || name.chars().count() > NAME_CHARS_MAX
        || may_hold_secret(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_the_place_of_names_are_not_shown() {
        for line in [
            &["홍길동", "870605-1234567", "010-1234-5678"][..],
            &["홍길동", "서울"],
            &["870605-1234567"],
            &["Jane", "jane@example.org"],
            &["mysql://me:geheim@db.example/shop"],
            &["host=h password=geheim"],
        ] {
            for wanted in ["rrn", "주민등록번호", "phone", "name"] {
                let said = not_among(wanted, ["memo"], line);
                let count = line.len();
                let start = if count == 1 {
                    "; there is 1 column,"
                } else {
                    &*format!("; there are {count} columns,")
                };
                assert!(said.starts_with(start), "{said}");
                assert!(line.iter().all(|value| !said.contains(value)), "{said}");
            }
        }
    }

    #[test]
    fn names_are_shown_where_one_of_them_was_meant() {
        let names = ["id", "phone", "memo"];
        assert_eq!(
            not_among("phnoe", [], &names),
            "; did you mean phone?\ncolumns: id, phone, memo"
        );
        assert_eq!(
            not_among("Phone", [], &names),
            "; did you mean phone?\ncolumns: id, phone, memo"
        );
        assert_eq!(not_among("x", ["memo"], &names), "\ncolumns: id, phone, memo");
        assert_eq!(
            not_among("idd", ["memo"], &names),
            "; did you mean id?\ncolumns: id, phone, memo"
        );
        assert!(!not_among("idd", [], &names).contains("\"id\""), "three letters say too little");
        assert!(
            not_among("x", [], &names)
                .starts_with("; there are 3 columns, whose names are not shown")
        );
    }

    #[test]
    fn a_value_among_names_is_shown_by_its_number() {
        let names = ["phone", "870605-1234567", "a@b", "sales_2024"];
        let said = not_among("phnoe", [], &names);
        assert_eq!(
            said,
            "; did you mean phone?\ncolumns: phone, (column 2), (column 3), (column 4)"
        );
    }
}
