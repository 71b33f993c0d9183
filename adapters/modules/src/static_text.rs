//! Texts that live as long as the process, as a module does.

/// Returns `text` for the life of the process.
pub(crate) fn lifelong(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}
