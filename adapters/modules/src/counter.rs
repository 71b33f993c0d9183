//! Counter mode in a module, at any offset of its key stream.

use sealstone_cipher::memory::Protected;
use sealstone_cipher::{Ctr, Error};

/// A key in a module, set for counter mode. Serves many threads at once.
pub(crate) trait CounterCalls: Send + Sync {
    /// Returns the name of the module.
    fn module(&self) -> &'static str;

    /// XORs `data` with the key stream from the block `counter` on, less its first `skip` bytes,
    /// fewer than a block; its content is of no use after an error.
    fn stream(&self, counter: [u8; 16], skip: usize, data: &mut [u8]) -> Result<(), Error>;
}

/// Counter mode over the calls of a module.
struct Counter<C>(C);

/// Returns the key in `calls` as a counter mode.
pub(crate) fn protected<C: CounterCalls + 'static>(calls: C) -> Protected<dyn Ctr> {
    Protected::new(Counter(calls)).unsize(|counter| counter)
}

impl<C: CounterCalls> Ctr for Counter<C> {
    fn block_bytes(&self) -> usize {
        16
    }

    fn backend(&self) -> &'static str {
        self.0.module()
    }

    fn apply(
        &self,
        initial_counter_block: &[u8],
        offset_bytes: u64,
        data: &mut [u8],
    ) -> Result<(), Error> {
        let found = initial_counter_block.len();
        let initial: [u8; 16] =
            initial_counter_block.try_into().map_err(|_| Error::NonceLength { found, want: 16 })?;
        let counter = counter_after(initial, offset_bytes / 16);
        let streamed = self.0.stream(counter, (offset_bytes % 16) as usize, data);
        streamed.inspect_err(|_| data.fill(0))
    }
}

/// Returns the counter block `blocks` after `initial`; it wraps (SP 800-38A, appendix B.1).
fn counter_after(initial: [u8; 16], blocks: u64) -> [u8; 16] {
    u128::from_be_bytes(initial).wrapping_add(u128::from(blocks)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_128_bits_count() {
        assert_eq!(counter_after([0xff; 16], 1), [0; 16]);
        let mut carried = [0; 16];
        carried[7] = 1;
        let mut initial = [0; 16];
        initial[8..].fill(0xff);
        assert_eq!(counter_after(initial, 1), carried);
    }
}
