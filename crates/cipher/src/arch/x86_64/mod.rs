//! The instruction sets of x86-64: which features each is made of, and the check that the CPU has
//! them.
//!
//! Not here: the table of all instruction sets (`isa`).

/// Defines a token: made only by `detect`, and `enter` runs a kernel compiled for exactly the
/// features that `detect` checked.
macro_rules! token {
    ($(#[$doc:meta])* $token:ident: $($feature:tt)*) => {
        token_and_entry! { $(#[$doc])* $token: $($feature)* }

        impl $token {
            /// Returns the token, if the CPU and its operating system have all the features; else
            /// the features that are missing.
            pub(in crate::arch) fn detect() -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(if !std::arch::is_x86_feature_detected!($feature) {
                    missing.push($feature);
                })*
                if missing.is_empty() { Ok(Self(())) } else { Err(missing) }
            }
        }
    };
}

/// A token without the check, and what enters its kernels.
macro_rules! token_and_entry {
    ($(#[$doc:meta])* $token:ident: $($feature:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $token(());

        impl $token {
            #[inline(always)]
            pub(super) fn enter_kernel<K: crate::arch::Kernel<Self>>(self, kernel: K) -> K::Output {
                #[target_feature($(enable = $feature),*)]
                fn entry<K: crate::arch::Kernel<$token>>(kernel: K, token: $token) -> K::Output {
                    kernel.run(token)
                }
                // SAFETY: the token exists, so the CPU was found to have all the features of
                // `entry`.
                unsafe { entry(kernel, self) }
            }
        }
    };
}

/// Calls intrinsics on behalf of a token.
macro_rules! proven {
    ($call:expr) => {{
        // SAFETY: the method's `self` is a token, made only on a CPU that has the instructions.
        // Loads and stores go through references that hold as many bytes as are moved, and need no
        // alignment.
        unsafe { $call }
    }};
}

mod avx512;
mod bytes_xmm;
mod bytes_ymm;
mod bytes_zmm;
mod lanes;
mod planes;
#[cfg(feature = "hmac")]
mod sha_xmm;
mod tables_zmm;
mod xmm;
mod ymm;

pub(crate) use avx512::Avx512;
#[cfg(feature = "hmac")]
pub(crate) use sha_xmm::Sha;
pub(crate) use xmm::{Aesni, Avx2};
pub(crate) use ymm::Vaes;

/// The order of 16 bytes that the ShiftRows of AES (FIPS 197, 5.1.2) puts back in place.
const BEFORE_SHIFT_ROWS: [u8; 16] = [0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3];
/// The order of 16 bytes that InvShiftRows (FIPS 197, 5.3.1) puts back in place.
const BEFORE_INVERSE_SHIFT_ROWS: [u8; 16] = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11];

/// 0xff for each bit of `bits` that is set, the lowest first.
const fn byte_mask(bits: u16) -> [u8; 16] {
    let mut mask = [0; 16];
    let mut i = 0;
    while i < 16 {
        mask[i] = (bits >> i & 1) as u8 * 0xff;
        i += 1;
    }
    mask
}

/// Returns the features of this CPU that ciphers can use.
pub(super) fn cpu_features() -> Vec<&'static str> {
    let mut found = Vec::new();
    macro_rules! note {
        ($($feature:tt)*) => {
            $(if std::arch::is_x86_feature_detected!($feature) {
                found.push($feature);
            })*
        };
    }
    note!("sse2" "ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2" "bmi2" "adx" "sha" "avx512f"
        "avx512bw" "avx512vl"
        "avx512dq" "avx512vbmi" "avx512vbmi2" "avx512ifma" "gfni" "vaes" "vpclmulqdq");
    found
}
