//! Point at which a secret becomes public: the outcome of a check, which the caller learns.

use subtle::ConstantTimeEq;

/// Returns whether `tag` is the `expected` tag: compared in constant time, after which the answer
/// is public.
pub(crate) fn is_tag(expected: &[u8], tag: &[u8]) -> bool {
    let equal = match (<[u8; 16]>::try_from(expected), <[u8; 16]>::try_from(tag)) {
        // as one number: with a barrier after each byte, short messages wait for the comparison
        (Ok(expected), Ok(tag)) => u128::from_ne_bytes(expected).ct_eq(&u128::from_ne_bytes(tag)),
        _ => expected.ct_eq(tag),
    };
    revealed(equal.unwrap_u8()) == 1
}

/// A former secret: the outcome of a check, which the caller learns. Only here may secrets decide
/// control flow, and here the check for constant time under valgrind forgets the origin of a bit.
#[cfg_attr(
    not(any(test, feature = "testing")),
    expect(unused_mut, reason = "handed to the check alone")
)]
pub(crate) fn revealed(mut outcome: u8) -> u8 {
    #[cfg(any(test, feature = "testing"))]
    crate::arch::memcheck::make_defined(std::slice::from_mut(&mut outcome));
    outcome
}
