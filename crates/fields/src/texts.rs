//! Many texts: the values of a column, in one allocation or in place.

/// Texts that can be read by number: [`Texts`], or slices of other memory.
pub trait Values {
    /// Returns the number of texts.
    fn len(&self) -> usize;

    /// Returns whether there are no texts.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the text at `index`.
    ///
    /// # Panics
    /// If there is none.
    fn get(&self, index: usize) -> &str;
}

impl Values for [&str] {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> &str {
        self[index]
    }
}

impl Values for Texts {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, index: usize) -> &str {
        self.get(index)
    }
}

/// Texts, one after the other. Cleared and filled again without allocating.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Returns no texts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the text at `index`.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// Returns all of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Adds one.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.ends.push(self.text.len());
    }

    /// Adds what `write` appends to the text that it is given, and nothing else.
    pub(crate) fn push_with<T>(&mut self, write: impl FnOnce(&mut String) -> T) -> T {
        let outcome = write(&mut self.text);
        self.ends.push(self.text.len());
        outcome
    }

    /// Gives away the memory: all texts, one after the other, and where each ends, in bytes.
    #[must_use]
    pub fn into_parts(self) -> (String, Vec<usize>) {
        (self.text, self.ends)
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut all = Self::new();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }
}
