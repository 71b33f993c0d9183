//! Values of fixed parts, some in the clear: `######-#******`. The grammar is in
//! docs/guide/fields.md.

use sealstone_message::Unknown;

use crate::alphabet::{ALPHABETS, Alphabet};
use crate::misfit::{Misfit, character};
use crate::rank::Ranks;
use crate::shape::{Shape, Taken, Word};

/// Most characters of a pattern.
const CHARS_MAX: usize = 256;

/// One character of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// This character.
    Literal(char),
    /// One of this alphabet, in the clear.
    Kept(usize),
    /// One of this alphabet, encrypted.
    Sealed(usize),
}

/// Reason why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("nothing in it is encrypted; write * for each encrypted digit, # for one in the clear")]
    NothingSealed,
    #[error("it is longer than {CHARS_MAX} characters")]
    TooLong,
    #[error("the {{ at character {0} has no }}")]
    Open(usize),
    #[error("a \\ at its end; write \\\\ for the character itself")]
    Escape,
    #[error(transparent)]
    Alphabet(Unknown),
    #[error("{0:?} is no count; write such as {{letters:3}}")]
    Count(String),
    #[error(
        "so much of it is encrypted that there are more than 2^{} values; use one alphabet in it",
        Ranks::BITS_MAX
    )]
    TooMany,
}

/// A pattern, ready to use.
#[derive(Debug)]
pub(crate) struct Pattern {
    places: Vec<Place>,
    alphabets: Vec<Alphabet>,
    /// The alphabet of all that is encrypted, if it is one; otherwise the values are numbered.
    only: Option<usize>,
    ranks: Option<Ranks>,
}

impl Pattern {
    /// Reads a pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let alphabets: Vec<Alphabet> =
            ALPHABETS.iter().map(|row| Alphabet::named(row.name).expect("in the table")).collect();
        let digits = 0;
        let mut places = Vec::new();
        let mut chars = text.chars().enumerate();
        while let Some((at, c)) = chars.next() {
            match c {
                '*' => places.push(Place::Sealed(digits)),
                '#' => places.push(Place::Kept(digits)),
                '\\' => places.push(Place::Literal(chars.next().ok_or(PatternError::Escape)?.1)),
                '{' => {
                    let inner: String =
                        chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                    let closed = text.chars().skip(at).any(|c| c == '}');
                    let (place, count) = class(if closed {
                        &inner
                    } else {
                        return Err(PatternError::Open(at + 1));
                    })?;
                    places.extend(std::iter::repeat_n(place, count));
                }
                other => places.push(Place::Literal(other)),
            }
            if places.len() > CHARS_MAX {
                return Err(PatternError::TooLong);
            }
        }
        Self::of(places, alphabets)
    }

    fn of(places: Vec<Place>, alphabets: Vec<Alphabet>) -> Result<Self, PatternError> {
        let sealed: Vec<usize> = places
            .iter()
            .filter_map(|place| if let Place::Sealed(one) = place { Some(*one) } else { None })
            .collect();
        let first = *sealed.first().ok_or(PatternError::NothingSealed)?;
        if sealed.iter().all(|one| *one == first) {
            return Ok(Self { places, alphabets, only: Some(first), ranks: None });
        }
        let values = sealed.iter().try_fold(1u128, |values, one| {
            values
                .checked_mul(u128::from(alphabets[*one].radix()))
                .filter(|values| *values <= 1 << Ranks::BITS_MAX)
        });
        let ranks = Ranks::below(values.ok_or(PatternError::TooMany)?);
        Ok(Self { places, alphabets, only: None, ranks: Some(ranks) })
    }

    fn expected(&self, place: Place) -> String {
        match place {
            Place::Literal(c) => format!("{c:?}"),
            Place::Kept(one) | Place::Sealed(one) => self.alphabets[one].one().to_owned(),
        }
    }
}

/// Parses the text between braces: `letters` or `letters:3`, with `=` before it if it stays in the
/// clear.
fn class(inner: &str) -> Result<(Place, usize), PatternError> {
    let (is_kept, inner) = inner.strip_prefix('=').map_or((false, inner), |inner| (true, inner));
    let (name, count) = inner.split_once(':').unwrap_or((inner, "1"));
    let known = ALPHABETS.iter().position(|row| row.name == name);
    let unknown = || Unknown::new("alphabet", name, ALPHABETS.iter().map(|row| row.name));
    let alphabet = known.ok_or_else(|| PatternError::Alphabet(unknown()))?;
    let count = count.parse().ok().filter(|count| (1..=CHARS_MAX).contains(count));
    let count = count.ok_or_else(|| PatternError::Count(inner.to_owned()))?;
    Ok((if is_kept { Place::Kept(alphabet) } else { Place::Sealed(alphabet) }, count))
}

impl Shape for Pattern {
    fn words(&self) -> Vec<Word> {
        match (self.only, self.ranks) {
            (_, Some(ranks)) => vec![Word { radix: ranks.radix, values: Some(ranks.count as f64) }],
            (Some(one), None) => {
                let radix = self.alphabets[one].radix();
                let length =
                    self.places.iter().filter(|place| matches!(place, Place::Sealed(_))).count();
                vec![Word { radix, values: Some(f64::from(radix).powi(length as i32)) }]
            }
            (None, None) => unreachable!("a pattern encrypts something"),
        }
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        let (mut rank, mut length) = (0u128, 0);
        for (at, c) in value.chars().enumerate() {
            length += 1;
            let Some(&place) = self.places.get(at) else { continue };
            let unexpected = || character(at + 1, c, self.expected(place));
            match place {
                Place::Literal(literal) if literal == c => {}
                Place::Literal(_) => return Err(unexpected()),
                Place::Kept(one) => {
                    self.alphabets[one].numeral(c).ok_or_else(unexpected)?;
                    into.kept.push(c);
                }
                Place::Sealed(one) => {
                    let numeral = self.alphabets[one].numeral(c).ok_or_else(unexpected)?;
                    match self.ranks {
                        None => into.numerals.push(numeral),
                        Some(_) => {
                            rank =
                                rank * u128::from(self.alphabets[one].radix()) + u128::from(numeral)
                        }
                    }
                }
            }
        }
        if length != self.places.len() {
            let expected = self.places.len().to_string().into();
            return Err(Misfit::Length { found: length, what: "characters", expected });
        }
        if let Some(ranks) = self.ranks {
            ranks.write(rank, &mut into.numerals);
        }
        Ok(0)
    }

    fn accepts(&self, _value: &str, _word: usize, numerals: &[u16]) -> bool {
        self.ranks.is_none_or(|ranks| ranks.holds(numerals))
    }

    fn put(&self, value: &str, _word: usize, numerals: &[u16], out: &mut String) {
        let mut numbered = Vec::new();
        if let Some(ranks) = self.ranks {
            let mut rank = ranks.read(numerals);
            for place in self.places.iter().rev() {
                if let Place::Sealed(one) = place {
                    let radix = u128::from(self.alphabets[*one].radix());
                    numbered.push((rank % radix) as u16);
                    rank /= radix;
                }
            }
            numbered.reverse();
        }
        let mut next = if self.ranks.is_some() { numbered.iter() } else { numerals.iter() };
        for (c, place) in value.chars().zip(&self.places) {
            let sealed = if let Place::Sealed(one) = place {
                next.next().map(|found| (one, found))
            } else {
                None
            };
            out.push(sealed.map_or(c, |(one, &numeral)| self.alphabets[*one].character(numeral)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_pattern_is_said() {
        let error = |text| Pattern::parse(text).unwrap_err();
        assert_eq!(error("###-##"), PatternError::NothingSealed);
        assert_eq!(error("**{letters"), PatternError::Open(3));
        assert_eq!(error("**\\"), PatternError::Escape);
        let unknown = error("{leters:2}").to_string();
        assert!(unknown.starts_with("unknown alphabet \"leters\"; did you mean letters?\n"));
        assert_eq!(error("{letters:x}"), PatternError::Count("letters:x".into()));
        assert_eq!(error("{hangul:200}**"), PatternError::TooMany);
        assert_eq!(error(&"*".repeat(257)), PatternError::TooLong);
    }

    #[test]
    fn parts_are_taken_and_put_back() {
        for (pattern, value, kept) in [
            ("######-#******", "870605-1234567", "8706051"),
            ("{upper:2}-{=upper}***{hangul}", "AB-C123김", "C"),
            ("\\**{digits:3}", "*1234", ""),
            ("{hangul:3}", "홍길동", ""),
        ] {
            let shape = Pattern::parse(pattern).unwrap();
            let mut taken = Taken::default();
            shape.take(value, &mut taken).unwrap();
            assert_eq!(taken.kept, kept, "{pattern}");
            assert!(shape.accepts(value, 0, &taken.numerals));
            let mut again = String::new();
            shape.put(value, 0, &taken.numerals, &mut again);
            assert_eq!(again, value, "{pattern}");
        }
        let shape = Pattern::parse("######-#******").unwrap();
        let misfit = |value| shape.take(value, &mut Taken::default()).unwrap_err().to_string();
        assert_eq!(misfit("870605 1234567"), "character 7 is a space, expected '-'");
        assert_eq!(misfit("870605-12345"), "it has 12 characters, expected 14");
    }
}
