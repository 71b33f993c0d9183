//! Texts that name a list of approved algorithms, FIPS 140 or Korea's (KCMVP): these validate
//! modules, and a reader who is told that a cipher is on one must be told that Sealstone is none.
//! Not here: the sentence ([`sealstone_cipher::NOT_A_MODULE`]).

/// Numbers of standards for algorithms and hashes, which are no lists.
const STANDARDS: [&str; 5] = ["46", "180", "197", "198", "202"];

/// Ways in which the sentence is said: in text, in a few words, in JSON, and in Korean as the page
/// of an audit has it.
const SAID: [&str; 4] = [
    "not a validated module",
    "no validated module",
    "\"validated_module\"",
    "검증필 암호모듈이 아닙니다",
];

/// Returns whether `text` names a list, and does not say that Sealstone is no validated module.
#[must_use]
pub fn is_misleading(text: &str) -> bool {
    let lower = text.to_lowercase();
    // a page is wrapped, quoted and emphasized as it may be
    let plain: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || "*>|#`".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let is_said = SAID.iter().any(|said| plain.join(" ").contains(said));
    !is_said && names_list(&lower)
}

fn names_list(lower: &str) -> bool {
    let mut words =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut next = words.next();
    while let Some(word) = next {
        next = words.next();
        let is_standard = next.is_some_and(|number| STANDARDS.contains(&number));
        if word == "kcmvp" || (word == "fips" && !is_standard) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_named_with_the_sentence() {
        for text in [
            "--policy kcmvp",
            "FIPS 140, KCMVP",
            "approved under FIPS-140",
            "FIPS PUB",
            "\"fips\": true",
            "kcmvp와",
            "fips는",
        ] {
            assert!(is_misleading(text), "{text}");
            for said in [
                "Sealstone is **not a\n> validated module**",
                "\"validated_module\": false",
                "Sealstone은 **검증필\n암호모듈이 아닙니다**.",
            ] {
                assert!(!is_misleading(&format!("{text} {said}")), "{text}");
            }
        }
        for text in ["", "AES (FIPS 197)", "validated"] {
            assert!(!is_misleading(text), "{text}");
        }
    }
}
