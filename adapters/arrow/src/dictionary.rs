//! The dictionary entry (of categories, of an enum) at each place of an array.

use arrow_array::{AnyDictionaryArray, Array};
use arrow_buffer::NullBuffer;

/// The number of the entry at each place; none where that is null.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Numbers of the entries; arbitrary at null places.
    numbers: Vec<usize>,
    nulls: Option<NullBuffer>,
    entries: usize,
}

impl Places {
    pub(crate) fn of(array: &dyn AnyDictionaryArray) -> Self {
        let entries = array.values().len();
        // without entries every place is null
        let numbers = if entries == 0 { vec![0; array.len()] } else { array.normalized_keys() };
        let nulls = if entries == 0 {
            Some(NullBuffer::new_null(array.len()))
        } else {
            array.logical_nulls()
        };
        Self { numbers, nulls, entries }
    }

    pub(crate) fn get(&self, index: usize) -> Option<usize> {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(index)).then(|| self.numbers[index])
    }

    /// Returns the entries that some place has, in the order of their first places, and the number
    /// among them at each place. A dictionary has entries that no place has, too, such as rows that
    /// were filtered out leave behind.
    pub(crate) fn used(&self) -> (Vec<usize>, Vec<Option<usize>>) {
        let mut used = Vec::new();
        let mut known: Vec<Option<usize>> = vec![None; self.entries];
        let mut number = |entry: usize| {
            *known[entry].get_or_insert_with(|| {
                used.push(entry);
                used.len() - 1
            })
        };
        let numbers =
            (0..self.numbers.len()).map(|index| self.get(index).map(&mut number)).collect();
        (used, numbers)
    }
}
