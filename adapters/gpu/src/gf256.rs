//! The field of AES, GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197, 4.2), and affine maps of it,
//! in constant time: for key schedules, which are short.
//!
//! Not here: S-boxes of kernels, which are circuits (`kernels/bytes16.h`).

fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut power) = (0, a);
    for bit in 0..8 {
        product ^= power & 0_u8.wrapping_sub(b >> bit & 1);
        power = power << 1 ^ 0x1b & 0_u8.wrapping_sub(power >> 7);
    }
    product
}

/// Returns the inverse of `x`, and 0 for 0: x^254.
fn invert(x: u8) -> u8 {
    let mut inverse = 1;
    for bit in (0..8).rev() {
        inverse = multiply(inverse, inverse);
        if 254 >> bit & 1 == 1 {
            inverse = multiply(inverse, x);
        }
    }
    inverse
}

/// Returns the linear map of `x` whose row i is byte i of `rows` from the top.
fn linear(rows: u64, x: u8) -> u8 {
    let rows = rows.to_be_bytes().into_iter().enumerate();
    rows.fold(0, |y, (bit, row)| y | ((row & x).count_ones() as u8 & 1) << bit)
}

/// Inversion and then the affine map of `rows` and `constant`: an S-box.
pub(crate) fn invert_affine(rows: u64, constant: u8, x: u8) -> u8 {
    linear(rows, invert(x)) ^ constant
}

/// Returns the affine map of `rows` after `constant` is added, and then inversion: the inverse of
/// an S-box.
pub(crate) fn affine_invert(rows: u64, constant: u8, x: u8) -> u8 {
    invert(linear(rows, x ^ constant))
}

/// Applies the S-box of AES (FIPS 197, 5.1.1).
pub(crate) fn s_box(x: u8) -> u8 {
    invert_affine(0xf1e3_c78f_1f3e_7cf8, 0x63, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_box_is_that_of_the_standard() {
        // FIPS 197, figure 7: the first row's beginning, and 53
        assert_eq!([0, 1, 2, 3, 0x53].map(s_box), [0x63, 0x7c, 0x77, 0x7b, 0xed]);
        for x in 0..=255 {
            assert_eq!(affine_invert(0xa449_9225_4a94_2952, 0x63, s_box(x)), x);
        }
    }
}
