//! E-mail addresses: letters and digits before the @ are encrypted, all else stays.

use crate::alphabet::Alphabet;
use crate::misfit::{Misfit, character};
use crate::shape::{Shape, Taken, Word};

/// Characters allowed besides letters and digits before the @ (RFC 5322, 3.2.3: atext and dots).
const OTHERS: &str = "!#$%&'*+-/=?^_`{|}~.";

/// `hong.gildong@example.com`.
#[derive(Debug)]
pub(crate) struct Email {
    pub(crate) alphanumerics: Alphabet,
}

impl Email {
    pub(crate) fn new() -> Self {
        Self { alphanumerics: Alphabet::named("alphanumerics").expect("in the table") }
    }
}

impl Shape for Email {
    fn words(&self) -> Vec<Word> {
        vec![Word { radix: self.alphanumerics.radix(), values: None }]
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        let Some(at) = value.rfind('@') else {
            let found = value.chars().filter(|&c| c == '@').count();
            return Err(Misfit::Length { found, what: "@ characters", expected: "1".into() });
        };
        let (local, domain) = value.split_at(at);
        for (index, c) in local.chars().enumerate() {
            match self.alphanumerics.numeral(c) {
                Some(numeral) => into.numerals.push(numeral),
                None if OTHERS.contains(c) => {}
                None => {
                    return Err(character(
                        index + 1,
                        c,
                        "a letter, a digit or a character of an address",
                    ));
                }
            }
        }
        let before = local.chars().count() + 1;
        if domain.len() == 1 {
            return Err(Misfit::Length {
                found: 0,
                what: "characters after the @",
                expected: "a domain".into(),
            });
        }
        if let Some((index, c)) =
            domain[1..].chars().enumerate().find(|(_, c)| c.is_whitespace() || c.is_control())
        {
            return Err(character(before + index + 1, c, "a character of a domain"));
        }
        into.kept.push_str(domain);
        Ok(0)
    }

    fn put(&self, value: &str, _word: usize, numerals: &[u16], out: &mut String) {
        let local = value.rfind('@').unwrap_or(value.len());
        let mut next = numerals.iter();
        for c in value[..local].chars() {
            let sealed = self.alphanumerics.numeral(c).and_then(|_| next.next());
            out.push(sealed.map_or(c, |&numeral| self.alphanumerics.character(numeral)));
        }
        out.push_str(&value[local..]);
    }
}
