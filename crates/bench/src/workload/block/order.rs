//! Sequence of blocks, and whether each is read or written: a function of the seed and the number
//! of the request, so that every variant gets the same requests.

use sealstone_store::DeviceAccess;

use super::pattern::scrambled;

/// Order of the blocks that requests go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The first block, again and again.
    Constant,
    /// One block after the other, from the begin again after the last.
    Sequential,
    /// Any block, each as often as any other.
    Random,
}

impl Order {
    /// Returns the block of request `number`, of `blocks`.
    pub(super) fn block(self, seed: u64, number: u64, blocks: u64) -> u64 {
        match self {
            Self::Constant => 0,
            Self::Sequential => number % blocks,
            Self::Random => {
                ((u128::from(scrambled(seed ^ scrambled(number))) * u128::from(blocks)) >> 64)
                    as u64
            }
        }
    }
}

/// Kinds of access that requests make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mix {
    Reads,
    Writes,
    /// As many of one as of the other, in no order.
    Both,
}

impl Mix {
    /// Returns the access that request `number` makes.
    pub(super) fn access(self, seed: u64, number: u64) -> DeviceAccess {
        match self {
            Self::Reads => DeviceAccess::Read,
            Self::Writes => DeviceAccess::Write,
            Self::Both if scrambled(!seed ^ scrambled(number)) & 1 == 0 => DeviceAccess::Read,
            Self::Both => DeviceAccess::Write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_blocks_are_all_as_likely_and_reads_are_half() {
        let mut hits = [0u32; 16];
        let mut reads = 0;
        for number in 0..16_000 {
            hits[Order::Random.block(7, number, 16) as usize] += 1;
            reads += u32::from(Mix::Both.access(7, number) == DeviceAccess::Read);
        }
        assert!(hits.iter().all(|hits| (800..1_200).contains(hits)), "{hits:?}");
        assert!((7_700..8_300).contains(&reads), "{reads}");
        assert_eq!(Order::Sequential.block(7, 33, 16), 1);
        assert_eq!(Order::Constant.block(7, 33, 16), 0);
        assert_ne!(Order::Random.block(7, 1, 1 << 60), Order::Random.block(8, 1, 1 << 60));
    }
}
