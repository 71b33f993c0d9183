//! The permutations of DES (FIPS 46-3) as tables: which bit goes where.
//!
//! Not here: the choices of key bits (`key_schedule`).

/// The initial permutation IP.
const INITIAL: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, 62, 54, 46, 38, 30, 22, 14, 6,
    64, 56, 48, 40, 32, 24, 16, 8, 57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, 61,
    53, 45, 37, 29, 21, 13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];

/// The permutation P after the S-boxes.
const AFTER_S_BOXES: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19,
    13, 30, 6, 22, 11, 4, 25,
];

/// `TO_STATE[i]` is where the initial permutation takes bit i of a block from; the final
/// permutation is its inverse.
pub(super) const TO_STATE: [usize; 64] = {
    let mut from = [0; 64];
    let mut i = 0;
    while i < 64 {
        from[i] = INITIAL[i] as usize - 1;
        i += 1;
    }
    from
};

/// `ROW[k]` is the plane of the state after the last round that becomes bit k of a block in memory,
/// where bits of a byte count from the least significant one. The 45 exchanges leave the halves on
/// the other side than the permutation expects them.
pub(super) const ROW: [usize; 64] = {
    let mut rows = [0; 64];
    let mut i = 0;
    while i < 64 {
        let bit = TO_STATE[i];
        rows[bit / 8 * 8 + 7 - bit % 8] = (i + 32) % 64;
        i += 1;
    }
    rows
};

/// `S_BOX_TARGET[i]` is where P takes output bit i of the S-boxes.
pub(super) const S_BOX_TARGET: [usize; 32] = {
    let mut to = [0; 32];
    let mut i = 0;
    while i < 32 {
        to[AFTER_S_BOXES[i] as usize - 1] = i;
        i += 1;
    }
    to
};
