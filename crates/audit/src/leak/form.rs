//! Forms: kinds of values that are looked for, such as payment cards, whatever the value.

use sealstone_fields::Format;

use super::email;
use super::hit::Encoding;
use super::number::{self, Token};
use super::unit::Units;
use super::window::View;

/// Most bytes before and behind a place that recognition looks at: the parts of an address in
/// UTF-16, 65 characters and 254.
pub(super) const BEHIND_BYTES: usize = 160;
/// See [`BEHIND_BYTES`].
pub(super) const AHEAD_BYTES: usize = 640;

/// A form of values that is looked for, such as payment cards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    shape: Shape,
    label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Card,
    Resident,
    Phone,
    Email,
}

impl Form {
    /// Returns the form of values of `format`; None for a format such as digits, which too many
    /// other things look like. Parameters of the format do not count.
    #[must_use]
    pub fn of(format: &Format) -> Option<Self> {
        let name = format.row().name;
        let shape = match name {
            "card" => Shape::Card,
            "rrn" => Shape::Resident,
            "phone" => Shape::Phone,
            "email" => Shape::Email,
            _ => return None,
        };
        Some(Self { shape, label: format!("form {name}") })
    }

    /// Returns the name to show, such as `form card`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// Calls `found` for every value in the piece, with the place of its form in `forms`, its encoding
/// and its offset.
pub(super) fn search(forms: &[Form], view: &View<'_>, found: &mut dyn FnMut(usize, Encoding, u64)) {
    let fits = |shape: Shape, token: &Token| match shape {
        Shape::Card => token.is_card(),
        Shape::Resident => token.is_resident(),
        Shape::Phone => token.is_phone(),
        Shape::Email => false,
    };
    if forms.iter().any(|form| form.shape != Shape::Email) {
        let read = |units: Units<'_>| {
            let token = Token::read(units)?;
            let fitting = forms.iter().map(|form| fits(form.shape, &token));
            let fitting = fitting.enumerate().filter(|(_, fits)| *fits);
            let fitting: Vec<usize> = fitting.map(|(place, _)| place).collect();
            (!fitting.is_empty()).then(|| (fitting, units.encoding(), view.offset(units.index(0))))
        };
        number::search(view, &read, &mut |(fitting, encoding, offset)| {
            fitting.into_iter().for_each(|place| found(place, encoding, offset));
        });
    }
    if let Some(place) = forms.iter().position(|form| form.shape == Shape::Email) {
        email::search(view, &mut |encoding, offset| found(place, encoding, offset));
    }
}
