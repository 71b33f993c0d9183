//! The diffusion layer of ARIA as a table of sums.

/// The diffusion layer A (RFC 5794, 2.4.3): output i is the sum of these seven inputs.
///
/// The first is its own; each of the pairs that follow serves two outputs of the same four.
pub(super) const DIFFUSION: [[usize; 7]; 16] = [
    [3, 4, 6, 8, 9, 13, 14],
    [2, 5, 7, 8, 9, 12, 15],
    [1, 4, 6, 10, 11, 12, 15],
    [0, 5, 7, 10, 11, 13, 14],
    [5, 0, 2, 8, 11, 14, 15],
    [4, 1, 3, 9, 10, 14, 15],
    [7, 0, 2, 9, 10, 12, 13],
    [6, 1, 3, 8, 11, 12, 13],
    [10, 0, 1, 4, 7, 13, 15],
    [11, 0, 1, 5, 6, 12, 14],
    [8, 2, 3, 5, 6, 13, 15],
    [9, 2, 3, 4, 7, 12, 14],
    [12, 1, 2, 6, 7, 9, 11],
    [13, 0, 3, 6, 7, 8, 10],
    [14, 0, 3, 4, 5, 9, 11],
    [15, 1, 2, 4, 5, 8, 10],
];
