//! The published vectors under `vectors/`, read and checked: known answers for blocks, counter
//! mode, CBC, CMAC, HMAC, FF1 and AEADs.
//!
//! A malformed file stops the program: a vector that is skipped by accident proves nothing.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::facts::Cipher;
use crate::hmac::{Mac, evidence};

/// Subject of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Case {
    /// Whole blocks, each encrypted alone.
    Block {
        /// Plaintext, whole blocks.
        plaintext: Vec<u8>,
        /// Ciphertext, as long.
        ciphertext: Vec<u8>,
    },
    /// Counter mode over the whole block.
    Ctr {
        /// The first counter block.
        counter: Vec<u8>,
        /// Plaintext, any length.
        plaintext: Vec<u8>,
        /// Ciphertext, as long.
        ciphertext: Vec<u8>,
    },
    /// Cipher block chaining.
    Cbc {
        /// The initialisation vector, one block.
        iv: Vec<u8>,
        /// Plaintext, whole blocks.
        plaintext: Vec<u8>,
        /// Ciphertext, as long.
        ciphertext: Vec<u8>,
    },
    /// Cipher block chaining with ciphertext stealing, CBC-CS1.
    CbcCs1 {
        /// The initialisation vector, one block.
        iv: Vec<u8>,
        /// Plaintext, 16 bytes and more.
        plaintext: Vec<u8>,
        /// Ciphertext, as long.
        ciphertext: Vec<u8>,
    },
    /// CMAC.
    Cmac {
        /// The message, any length.
        message: Vec<u8>,
        /// The tag, one block.
        tag: Vec<u8>,
        /// True if the tag is right.
        valid: bool,
    },
    /// HMAC.
    Hmac {
        /// The message, any length.
        message: Vec<u8>,
        /// The hash function's output, or the beginning of it.
        tag: Vec<u8>,
    },
    /// FF1.
    Ff1 {
        /// The radix.
        radix: u32,
        /// The tweak, any length.
        tweak: Vec<u8>,
        /// Numerals, the most significant first.
        plaintext: Vec<u16>,
        /// Numerals, as many.
        ciphertext: Vec<u16>,
    },
    /// HCTR2.
    Hctr2 {
        /// The tweak, any length.
        tweak: Vec<u8>,
        /// Plaintext, 16 bytes and more.
        plaintext: Vec<u8>,
        /// Ciphertext, as long.
        ciphertext: Vec<u8>,
    },
    /// The cipher's authenticated mode.
    Aead {
        /// Nonce, of any length: implementations refuse lengths they do not offer.
        nonce: Vec<u8>,
        /// Associated data.
        associated: Vec<u8>,
        /// Plaintext, or nothing where opening must fail.
        plaintext: Option<Vec<u8>>,
        /// Ciphertext.
        ciphertext: Vec<u8>,
        /// The tag, 16 bytes.
        tag: [u8; 16],
    },
}

/// One known answer.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Name of the cipher or MAC, as in the tables of these.
    pub cipher: &'static str,
    /// File and line where its fields begin, such as `aes.txt:12`.
    pub place: String,
    /// The publisher.
    pub source: &'static str,
    /// The key, of any length: implementations use the lengths they offer.
    pub key: Vec<u8>,
    /// The rest.
    pub case: Case,
}

/// Returns the vectors for `cipher` in the files that its row names, in their order.
///
/// # Panics
/// If a file is malformed.
pub fn vectors_of(cipher: &Cipher) -> impl Iterator<Item = &'static Vector> {
    let name = cipher.name;
    cipher
        .evidence
        .vectors
        .iter()
        .flat_map(|(file, text)| read(file, text))
        .filter(move |vector| vector.cipher == name)
}

/// Returns the vectors for `mac` in the file that its row names, in their order.
///
/// # Panics
/// If the file is malformed.
pub fn vectors_of_mac(mac: &Mac) -> impl Iterator<Item = &'static Vector> {
    let (name, (file, text)) = (mac.name, evidence(mac).vectors);
    read(file, text).iter().filter(move |vector| vector.cipher == name)
}

/// Returns the vectors of a file, parsed once.
fn read(file: &'static str, text: &'static str) -> &'static [Vector] {
    static READ: Mutex<BTreeMap<&str, &[Vector]>> = Mutex::new(BTreeMap::new());
    // A malformed file panics here, and the first test to read it fails; others may go on.
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.entry(file).or_insert_with(|| parse(file, text).leak())
}

fn parse(file: &str, text: &'static str) -> Vec<Vector> {
    let mut vectors = Vec::new();
    let mut section = None;
    let mut source = None;
    let mut fields = Fields::default();
    for (line, number) in text.lines().chain([""]).zip(1..) {
        let place = || format!("{file}:{number}");
        if let Some(comment) = line.strip_prefix('#') {
            source = comment.trim().strip_prefix("source:").map(str::trim).or(source);
        } else if let Some(heading) = line.strip_prefix('[') {
            let heading = heading.strip_suffix(']').and_then(|heading| heading.split_once(' '));
            section = Some(heading.unwrap_or_else(|| panic!("{}: not a section: {line}", place())));
        } else if let Some((name, value)) = line.split_once('=') {
            fields.first_line.get_or_insert(number);
            fields.values.push((name.trim(), value.trim()));
        } else if !line.trim().is_empty() {
            panic!("{}: neither comment, section nor field: {line}", place());
        } else if let Some(first) = fields.first_line {
            let (cipher, kind) =
                section.unwrap_or_else(|| panic!("{}: vector outside a section", place()));
            let source =
                source.take().unwrap_or_else(|| panic!("{}: vector without its source", place()));
            vectors.push(std::mem::take(&mut fields).vector(
                cipher,
                kind,
                source,
                format!("{file}:{first}"),
            ));
        }
    }
    assert!(!vectors.is_empty(), "{file}: no vectors");
    vectors
}

/// The fields of the vector being read.
#[derive(Default)]
struct Fields {
    first_line: Option<usize>,
    values: Vec<(&'static str, &'static str)>,
}

impl Fields {
    fn vector(
        mut self,
        cipher: &'static str,
        kind: &str,
        source: &'static str,
        place: String,
    ) -> Vector {
        let key = self.take(&place, "key");
        let case = match kind {
            "block" => Case::Block {
                plaintext: self.take(&place, "plaintext"),
                ciphertext: self.take(&place, "ciphertext"),
            },
            "ctr" => Case::Ctr {
                counter: self.take(&place, "counter"),
                plaintext: self.take(&place, "plaintext"),
                ciphertext: self.take(&place, "ciphertext"),
            },
            "cbc" => Case::Cbc {
                iv: self.take(&place, "iv"),
                plaintext: self.take(&place, "plaintext"),
                ciphertext: self.take(&place, "ciphertext"),
            },
            "cbc-cs1" => Case::CbcCs1 {
                iv: self.take(&place, "iv"),
                plaintext: self.take(&place, "plaintext"),
                ciphertext: self.take(&place, "ciphertext"),
            },
            "cmac" => Case::Cmac {
                message: self.take(&place, "message"),
                tag: self.take(&place, "tag"),
                valid: !self.invalid(&place),
            },
            "hmac" => {
                Case::Hmac { message: self.take(&place, "message"), tag: self.take(&place, "tag") }
            }
            "ff1" => Case::Ff1 {
                radix: self.numbers(&place, "radix")[0],
                tweak: self.take(&place, "tweak"),
                plaintext: self.numbers(&place, "plaintext"),
                ciphertext: self.numbers(&place, "ciphertext"),
            },
            "hctr2" => Case::Hctr2 {
                tweak: self.take(&place, "tweak"),
                plaintext: self.take(&place, "plaintext"),
                ciphertext: self.take(&place, "ciphertext"),
            },
            "aead" => Case::Aead {
                nonce: self.take(&place, "nonce"),
                associated: self.take(&place, "associated"),
                plaintext: if self.invalid(&place) {
                    None
                } else {
                    Some(self.take(&place, "plaintext"))
                },
                ciphertext: self.take(&place, "ciphertext"),
                tag: self
                    .take(&place, "tag")
                    .try_into()
                    .unwrap_or_else(|tag: Vec<u8>| panic!("{place}: tag of {} bytes", tag.len())),
            },
            other => panic!("{place}: unknown kind {other}"),
        };
        assert!(self.values.is_empty(), "{place}: fields left over: {:?}", self.values);
        Vector { cipher, place, source, key, case }
    }

    /// Removes the field `name`.
    fn text(&mut self, place: &str, name: &str) -> &'static str {
        let at = self.values.iter().position(|(found, _)| *found == name);
        let at = at.unwrap_or_else(|| panic!("{place}: no field {name}"));
        self.values.remove(at).1
    }

    /// Removes the field `name` and reads its hexadecimal digits.
    fn take(&mut self, place: &str, name: &str) -> Vec<u8> {
        hex(self.text(place, name)).unwrap_or_else(|| panic!("{place}: {name} is not hexadecimal"))
    }

    /// Removes the field `name` and reads its decimal numbers, at least one.
    fn numbers<T: FromStr>(&mut self, place: &str, name: &str) -> Vec<T> {
        let numbers: Option<Vec<T>> =
            self.text(place, name).split(' ').map(|number| number.parse().ok()).collect();
        numbers.unwrap_or_else(|| panic!("{place}: {name} is not decimal numbers"))
    }

    /// Removes the field `result` and returns whether it is `invalid`.
    fn invalid(&mut self, place: &str) -> bool {
        let Some(at) = self.values.iter().position(|(name, _)| *name == "result") else {
            return false;
        };
        match self.values.remove(at).1 {
            "invalid" => true,
            other => panic!("{place}: unknown result {other}"),
        }
    }
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(
            |pair| {
                if let [high, low] = pair {
                    Some(nibble(*high)? << 4 | nibble(*low)?)
                } else {
                    None
                }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hmac::macs;
    use crate::registry::ciphers;

    /// Every kind of vector that proves a row: its blocks, the modes built on them, and its
    /// sealing.
    #[test]
    fn every_row_has_vectors_of_every_kind() {
        for cipher in ciphers() {
            let count = |wanted: fn(&Case) -> bool| {
                vectors_of(cipher).filter(|vector| wanted(&vector.case)).count()
            };
            assert!(count(|case| matches!(case, Case::Block { .. })) > 0, "{} block", cipher.name);
            assert!(count(|case| matches!(case, Case::Ctr { .. })) > 0, "{} ctr", cipher.name);
            assert!(count(|case| matches!(case, Case::Aead { .. })) > 0, "{} aead", cipher.name);
        }
    }

    /// A file that no row names, or an answer for a row that does not name its file, proves
    /// nothing.
    #[test]
    fn no_vector_is_lost() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
        let names = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        for file in names.filter(|name| name.ends_with(".txt")) {
            if let Some(mac) = macs().iter().find(|mac| evidence(mac).vectors.0 == file) {
                assert_eq!(
                    vectors_of_mac(mac).count(),
                    parse(&file, evidence(mac).vectors.1).len(),
                    "{file}"
                );
                continue;
            }
            let names_it =
                |row: &&Cipher| row.evidence.vectors.iter().any(|(name, _)| *name == file);
            let rows: Vec<&Cipher> = ciphers().iter().filter(names_it).collect();
            assert!(!rows.is_empty(), "no row of the table of ciphers names vectors/{file}");
            let text = rows[0].evidence.vectors.iter().find(|(name, _)| *name == file).unwrap().1;
            for vector in parse(&file, text) {
                assert!(
                    rows.iter().any(|row| row.name == vector.cipher),
                    "{} is for no row",
                    vector.place
                );
                assert!(!vector.source.is_empty(), "{}", vector.place);
            }
        }
    }

    #[test]
    fn malformed_files_are_refused() {
        let head = "[aes-128 block]\n# source: x\n";
        for (text, complaint) in [
            (format!("{head}key = 00\nplaintext = 00\n"), "no field ciphertext"),
            (format!("{head}key = 0\nplaintext =\nciphertext =\n"), "not hexadecimal"),
            (format!("{head}key =\nplaintext =\nciphertext =\niv =\n"), "left over"),
            ("[aes-128 ff1]\n# source: x\nkey =\nradix = ten\ntweak =\n".to_owned(), "not decimal"),
            (
                "[aes-128 block]\nkey =\nplaintext =\nciphertext =\n".to_owned(),
                "without its source",
            ),
            ("# source: x\nkey =\n".to_owned(), "outside a section"),
            ("# only a comment\n".to_owned(), "no vectors"),
        ] {
            let text: &'static str = text.leak();
            let panic = std::panic::catch_unwind(|| parse("test", text)).unwrap_err();
            let message = panic.downcast_ref::<String>().expect("a formatted message");
            assert!(message.contains(complaint), "{message}");
        }
    }
}
