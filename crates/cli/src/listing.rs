//! Long lists in an answer for a person.

/// Most files or findings that are listed; JSON lists all.
pub(crate) const LISTED_MAX: usize = 20;

/// Adds `lines` to `text`, indented, limited to what a reader can take in.
pub(crate) fn list(text: &mut String, mut lines: impl ExactSizeIterator<Item = String>) {
    for line in lines.by_ref().take(LISTED_MAX) {
        text.push_str(&format!("  {line}\n"));
    }
    if lines.len() > 0 {
        text.push_str(&format!("  and {} more; --json lists all\n", lines.len()));
    }
}
