//! What is known of a kernel: one row of the table of kernels, and the source that is made of it.
//!
//! Not here: the table (`kernels`), and how a kernel computes (`kernels/`).

use zeroize::Zeroizing;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Name of the cipher, as in the table of ciphers.
    pub cipher: &'static str,
    pub(crate) rounds: u32,
    /// Files behind the dialect, in their order.
    pub(crate) sources: &'static [&'static str],
    /// What the sources want to know besides.
    pub(crate) defines: &'static [(&'static str, u32)],
    /// Words that `keys` returns.
    pub(crate) key_words: usize,
    /// Groups of threads at a time on a multiprocessor, at least, which bounds registers. CUDA alone looks at it.
    pub(crate) groups: u32,
    /// Registers a thread may take on any of NVIDIA's architectures that are tested; spills it may not have.
    pub registers_max: u32,
    /// Turns of its loop over rounds; none where all rounds are written out.
    pub turns: Option<usize>,
    /// Makes of a key of the cipher's length what the kernel takes.
    pub(crate) keys: fn(&[u8]) -> Zeroizing<Vec<u32>>,
}

impl Kernel {
    /// The source text, for both compilers.
    #[must_use]
    pub fn source(&self) -> String {
        let mut source = format!(
            "#define CIPHER_ROUNDS {}\n#define KEY_WORDS {}\n#define GROUPS {}\n",
            self.rounds, self.key_words, self.groups
        );
        for (name, value) in self.defines {
            source.push_str(&format!("#define {name} {value}\n"));
        }
        source.push_str(include_str!("kernels/dialect.h"));
        source.extend(self.sources.iter().copied());
        source
    }
}
