//! Rules for finding the column of a file that a name means: the column with that spelling, else
//! the column whose name is the same text in another of Unicode's forms, since macOS and some
//! editors write 이름 as its letters (NFD).

use unicode_normalization::UnicodeNormalization;

/// Returns the places in `names` that `name` means, ascending: names equal to it, or else names
/// equal once both are composed (Unicode Standard Annex 15, NFC).
#[must_use]
pub fn places(names: &[impl AsRef<str>], name: &str) -> Vec<usize> {
    let equal: Vec<usize> = (0..names.len()).filter(|&at| names[at].as_ref() == name).collect();
    if !equal.is_empty() || (name.is_ascii() && names.iter().all(|one| one.as_ref().is_ascii())) {
        return equal;
    }
    (0..names.len()).filter(|&at| names[at].as_ref().nfc().eq(name.nfc())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_same_text_in_another_form() {
        let decomposed: String = "이름".nfd().collect();
        assert_ne!(decomposed, "이름");
        assert_eq!(places(&["id", &decomposed], "이름"), [1]);
        assert_eq!(places(&["id", "이름"], &decomposed), [1]);
        // the same spelling comes first, and two that are only alike are two
        assert_eq!(places(&[&decomposed[..], "이름"], "이름"), [1]);
        assert_eq!(places(&["e\u{301}", "e\u{301}"], "é"), [0, 1]);
        assert_eq!(places(&["id", "name"], "nam"), [0; 0]);
    }
}
