//! The instruction sets of x86-64: which features each is made of, and the check that the CPU has them.

mod avx512;
mod xmm;

use super::{Isa, Line};

pub(crate) use avx512::Avx512;
pub(crate) use xmm::{Aesni, Avx2};

/// The features a set is made of that this CPU (or its operating system) lacks.
macro_rules! lacking {
    ($($feature:tt)*) => {{
        let mut missing: Vec<&'static str> = Vec::new();
        $(if !std::arch::is_x86_feature_detected!($feature) {
            missing.push($feature);
        })*
        missing
    }};
}

/// The instruction sets of this architecture, slowest first.
pub(super) fn lines() -> [Line; 3] {
    let aesni = lacking!("ssse3" "sse4.1" "aes" "pclmulqdq");
    let avx2 = lacking!("ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2");
    let avx512 = lacking!("ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2" "avx512f" "avx512bw" "avx512vl" "avx512dq"
        "avx512vbmi" "gfni" "vaes" "vpclmulqdq");
    // Each token is made here alone, and only where its list of missing features came back empty.
    [
        Line { name: "aesni", isa: aesni.is_empty().then(|| Isa::Aesni(Aesni::proven())), missing: aesni },
        Line { name: "avx2", isa: avx2.is_empty().then(|| Isa::Avx2(Avx2::proven())), missing: avx2 },
        Line { name: "avx512", isa: avx512.is_empty().then(|| Isa::Avx512(Avx512::proven())), missing: avx512 },
    ]
}

/// The features of this CPU that ciphers can use.
pub(super) fn cpu_features() -> Vec<&'static str> {
    let mut found = Vec::new();
    macro_rules! note {
        ($($feature:tt)*) => {
            $(if std::arch::is_x86_feature_detected!($feature) {
                found.push($feature);
            })*
        };
    }
    note!("sse2" "ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2" "bmi2" "adx" "sha" "avx512f" "avx512bw" "avx512vl"
        "avx512dq" "avx512vbmi" "avx512vbmi2" "avx512ifma" "gfni" "vaes" "vpclmulqdq");
    found
}
