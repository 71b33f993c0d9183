//! Words of plain logic, for bitsliced ciphers.
//!
//! Not here: wider words (`planes`), and any cipher.

/// Logic on words of any width.
pub(crate) trait Logic: Copy {
    /// A word in registers.
    type Word: Copy;

    /// Returns the exclusive or.
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns the bitwise and.
    fn and(self, a: Self::Word, b: Self::Word) -> Self::Word;
}

/// Words of 128 bits for bitsliced ciphers: four rows of four bytes, row 0 first.
pub(crate) trait Words: Logic {
    /// From its four rows, each little-endian.
    fn rows(self, rows: [u32; 4]) -> Self::Word;
    /// From 16 bytes, row by row.
    fn load(self, bytes: &[u8; 16]) -> Self::Word;
    /// To 16 bytes, row by row.
    fn store(self, w: Self::Word, bytes: &mut [u8; 16]);
    /// Rows 0 of both multiplied into rows 0 and 1, rows 2 into rows 2 and 3: two products of 64
    /// bits.
    fn multiply(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns each byte shifted left by `N` bits within its 64-bit half; the caller masks bits
    /// that cross a byte.
    fn shift_left<const N: i32>(self, w: Self::Word) -> Self::Word;
    /// Returns each byte shifted right by `N` bits within its 64-bit half; the caller masks bits
    /// that cross a byte.
    fn shift_right<const N: i32>(self, w: Self::Word) -> Self::Word;
    /// Row r takes row r + 1 modulo 4.
    fn rotate_rows_1(self, w: Self::Word) -> Self::Word;
    /// Row r takes row r + 2 modulo 4.
    fn rotate_rows_2(self, w: Self::Word) -> Self::Word;
    /// Rows 0 and 3 exchanged.
    fn exchange_outer_rows(self, w: Self::Word) -> Self::Word;
    /// Returns each row rotated right by 8 bits: byte c takes byte c + 1 modulo 4.
    fn rotate_columns_1(self, w: Self::Word) -> Self::Word;
    /// Returns each row rotated by 16 bits: byte c takes byte c + 2 modulo 4.
    fn rotate_columns_2(self, w: Self::Word) -> Self::Word;
    /// Returns each row rotated right by 24 bits: byte c takes byte c + 3 modulo 4.
    fn rotate_columns_3(self, w: Self::Word) -> Self::Word;
    /// Rows 1 and 3 rotated by 16 bits, rows 0 and 2 as they were.
    fn rotate_odd_rows_2(self, w: Self::Word) -> Self::Word;
    /// Rows and columns of the 4 x 4 bytes exchanged.
    fn transpose(self, w: Self::Word) -> Self::Word;
}
