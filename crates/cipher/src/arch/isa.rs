//! The table of instruction sets: the sets of this build, and their presence on the CPU.

use std::sync::LazyLock;

use super::Portable;
#[cfg(target_arch = "x86_64")]
use super::{AesLanes, x86_64};

/// One instruction set that this CPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    /// Instructions that the compiler takes for granted on every CPU of this architecture.
    Portable(Portable),
    /// 128-bit AES and carry-less multiplication, SSE encoding.
    #[cfg(target_arch = "x86_64")]
    Aesni(x86_64::Aesni),
    /// The same in AVX encoding, and 256-bit integer vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    /// 256-bit vectors with AES and carry-less multiplication.
    #[cfg(target_arch = "x86_64")]
    Vaes(x86_64::Vaes),
    /// 512-bit vectors with AES, carry-less multiplication and GFNI.
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::Avx512),
}

impl Isa {
    /// Returns the name of the backend.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Portable(token) => token.name(),
            #[cfg(target_arch = "x86_64")]
            Self::Aesni(token) => AesLanes::name(token),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => AesLanes::name(token),
            #[cfg(target_arch = "x86_64")]
            Self::Vaes(token) => AesLanes::name(token),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token) => AesLanes::name(token),
        }
    }
}

/// One line of the table of instruction sets.
pub(crate) struct Line {
    /// The name of the backend.
    pub(crate) name: &'static str,
    /// The features it needs and this CPU lacks.
    pub(crate) missing: Vec<&'static str>,
    /// The token, where nothing is missing.
    pub(crate) isa: Option<Isa>,
}

impl Line {
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "no detected set on this architecture yet")
    )]
    fn new(name: &'static str, detected: Result<Isa, Vec<&'static str>>) -> Self {
        match detected {
            Ok(isa) => Self { name, missing: Vec::new(), isa: Some(isa) },
            Err(missing) => Self { name, missing, isa: None },
        }
    }
}

/// Returns all instruction sets by name, slowest first; the CPU is queried once.
pub(crate) fn lines() -> &'static [Line] {
    static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
        [
            Line { name: Portable.name(), missing: Vec::new(), isa: Some(Isa::Portable(Portable)) },
            #[cfg(target_arch = "x86_64")]
            Line::new("aesni", x86_64::Aesni::detect().map(Isa::Aesni)),
            #[cfg(target_arch = "x86_64")]
            Line::new("avx2", x86_64::Avx2::detect().map(Isa::Avx2)),
            #[cfg(target_arch = "x86_64")]
            Line::new("vaes", x86_64::Vaes::detect().map(Isa::Vaes)),
            #[cfg(target_arch = "x86_64")]
            Line::new("avx512", x86_64::Avx512::detect().map(Isa::Avx512)),
        ]
        .into()
    });
    &LINES
}

/// Returns the features of this CPU that the instruction sets above are made of.
pub(crate) fn cpu_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    return x86_64::cpu_features();
    #[cfg(not(target_arch = "x86_64"))]
    return Vec::new();
}
