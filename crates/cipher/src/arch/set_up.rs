//! Setting of a key on a backend: an expression is evaluated with the token of the instruction set
//! at hand, so that the code it calls is compiled for that set. The choice is made here, once per
//! key, and nowhere later.
//!
//! These are macros because an expression can be of another type for each token, as no closure can.

/// Evaluates, by the instruction set of `$backend`, one of three expressions with its token: for
/// plain logic, for vectors up to 32 bytes, or for vectors of 64 bytes. The one place where
/// ciphers' code meets the list of instruction sets.
macro_rules! with_token {
    ($backend:expr, |$plain:ident| $on_plain:expr, |$narrow:ident| $on_narrow:expr,
        |$wide:ident| $on_wide:expr) => {
        match $backend.0 {
            $crate::arch::Isa::Portable($plain) => $on_plain,
            #[cfg(target_arch = "x86_64")]
            $crate::arch::Isa::Aesni($narrow) => $on_narrow,
            #[cfg(target_arch = "x86_64")]
            $crate::arch::Isa::Avx2($narrow) => $on_narrow,
            #[cfg(target_arch = "x86_64")]
            $crate::arch::Isa::Vaes($narrow) => $on_narrow,
            #[cfg(target_arch = "x86_64")]
            $crate::arch::Isa::Avx512($wide) => $on_wide,
        }
    };
}

/// Evaluates an expression with the token of `$backend`, which has [`Lanes`] and [`Planes`].
macro_rules! with_every {
    ($backend:expr, |$token:ident| $job:expr) => {
        $crate::arch::with_token!($backend, |$token| $job, |$token| $job, |$token| $job)
    };
}

/// Evaluates `$job` where the token of `$backend` has [`AesLanes`], else `$otherwise` with that of
/// plain logic.
macro_rules! with_aes {
    ($backend:expr, |$token:ident| $job:expr, |$plain:ident| $otherwise:expr) => {
        $crate::arch::with_token!($backend, |$plain| $otherwise, |$token| $job, |$token| $job)
    };
}

/// Evaluates `$job` where the token of `$backend` has [`ByteLanes`], else `$otherwise` with that of
/// plain logic; and `$wide_job`, where there is one, if the vectors have 64 bytes and [`AesLanes`]
/// as well.
macro_rules! with_bytes {
    ($backend:expr, |$token:ident| $job:expr, |$plain:ident| $otherwise:expr) => {
        $crate::arch::with_token!($backend, |$plain| $otherwise, |$token| $job, |$token| $job)
    };
    ($backend:expr, wide |$wide:ident| $wide_job:expr, else $otherwise:expr) => {
        $crate::arch::with_token!($backend, |_plain| $otherwise, |_narrow| $otherwise, |$wide| {
            $wide_job
        })
    };
}

/// Evaluates `$job` where the token of `$backend` has [`TableLanes`] and [`ByteLanes`], else
/// `$otherwise`.
macro_rules! with_tables {
    ($backend:expr, |$token:ident| $job:expr, else $otherwise:expr) => {
        $crate::arch::with_token!($backend, |_plain| $otherwise, |_narrow| $otherwise, |$token| {
            $job
        })
    };
}

/// Evaluates `$job` with the token of `$backend` and that of the CPU's instructions for SHA, where
/// it has them and the backend is not for plain logic; else `$otherwise` with the backend's token.
#[cfg(feature = "hmac")]
macro_rules! with_sha {
    ($backend:expr, |$token:ident, $sha:ident| $job:expr, |$alone:ident| $otherwise:expr) => {
        $crate::arch::with_token!(
            $backend,
            |$alone| $otherwise,
            |$token| with_sha!(@detect $token, $sha, $job, $alone, $otherwise),
            |$token| with_sha!(@detect $token, $sha, $job, $alone, $otherwise)
        )
    };
    (@detect $token:ident, $sha:ident, $job:expr, $alone:ident, $otherwise:expr) => {
        match $crate::arch::Sha::if_present() {
            Some($sha) => $job,
            None => {
                let $alone = $token;
                $otherwise
            }
        }
    };
}

#[cfg(feature = "hmac")]
pub(crate) use with_sha;
pub(crate) use {with_aes, with_bytes, with_every, with_tables, with_token};
