//! Description of a cipher's kernels: one row of the table of kernels, and the source that is
//! generated from it for a mode.
//!
//! A thread holds 32 blocks, a word for each bit of a block. So S-boxes are circuits, permutations
//! rename words, and a round key is a mask for each bit, the same for all threads. In counter mode
//! eight threads share a tile of 256 blocks whose first counter is a multiple of 256: the low byte
//! of a counter depends on the thread's place alone, no carry differs within a tile, and neighbours
//! touch neighbouring memory.
//!
//! Not here: the table (`kernels`), and the kernels themselves (`kernels/`).

use zeroize::Zeroizing;

/// Computation that a kernel does with a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Counter mode.
    Ctr,
    /// Format-preserving encryption.
    Ff1,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Ctr, Self::Ff1];

    /// Returns the name of the function in the kernel's source.
    #[must_use]
    pub fn function(self) -> &'static str {
        match self {
            Self::Ctr => "ctr",
            Self::Ff1 => "ff1",
        }
    }
}

/// Build settings of a kernel for NVIDIA's devices, and limits on the resources it may take there.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Groups of threads at a time on a multiprocessor, at least, which bounds registers. CUDA
    /// alone looks at it.
    pub(crate) groups: u32,
    /// Registers a thread may take on any of NVIDIA's architectures that are tested; spills it may
    /// not have.
    pub registers_max: u32,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Kernel {
    /// Name of the cipher, as in the table of ciphers.
    pub cipher: &'static str,
    pub(crate) rounds: u32,
    pub(crate) block_bytes: u32,
    /// Files behind the dialect, in their order.
    pub(crate) sources: &'static [&'static str],
    /// Further definitions that the sources need.
    pub(crate) defines: &'static [(&'static str, u32)],
    /// Words that `keys` returns.
    pub(crate) key_words: usize,
    pub(crate) ctr: Bounds,
    pub(crate) ff1: Bounds,
    /// Turns of its loop over rounds; none where all rounds are written out.
    pub turns: Option<usize>,
    /// Makes of a key of the cipher's length what the kernels take.
    pub(crate) keys: fn(&[u8]) -> Zeroizing<Vec<u32>>,
}

impl Kernel {
    /// Returns the limits on what the kernel for `mode` may take.
    #[must_use]
    pub fn bounds(&self, mode: Mode) -> Bounds {
        match mode {
            Mode::Ctr => self.ctr,
            Mode::Ff1 => self.ff1,
        }
    }

    /// Returns the source text of the kernel for `mode`, for both compilers.
    #[must_use]
    pub fn source(&self, mode: Mode) -> String {
        let mut source = format!(
            "#define CIPHER_ROUNDS {}\n#define BLOCK_BYTES {}\n#define KEY_WORDS {}\n#define \
             GROUPS {}\n",
            self.rounds,
            self.block_bytes,
            self.key_words,
            self.bounds(mode).groups
        );
        for (name, value) in self.defines {
            source.push_str(&format!("#define {name} {value}\n"));
        }
        source.push_str(include_str!("kernels/dialect.h"));
        source.extend(self.sources.iter().copied());
        source.push_str(match (mode, self.block_bytes) {
            (Mode::Ctr, 16) => include_str!("kernels/ctr_16_bytes.c"),
            (Mode::Ctr, _) => include_str!("kernels/ctr_8_bytes.c"),
            (Mode::Ff1, _) => include_str!("kernels/ff1.c"),
        });
        source
    }
}
