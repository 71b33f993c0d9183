//! The source of requests: made up, or one of the histories that were recorded.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use sealstone_volume::Sizes;

use super::history::{MadeUp, REQUEST_BLOCKS, User};
use super::judge::WHOLE_BLOCKS_MAX;
use super::recorded::{History, Replayed};
use crate::random::Random;

/// Length of a block, in bytes.
pub(crate) const BLOCK_BYTES: u64 = 4096;

/// A source of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Requests made up from what databases do.
    MadeUp,
    /// PostgreSQL with pgbench.
    Postgres,
    /// MariaDB's InnoDB with small transactions.
    Innodb,
    /// Redis with an append-only file.
    Redis,
}

static POSTGRES: LazyLock<History> =
    LazyLock::new(|| parsed("postgres", include_str!("../../histories/postgres.txt")));
static INNODB: LazyLock<History> =
    LazyLock::new(|| parsed("innodb", include_str!("../../histories/innodb.txt")));
static REDIS: LazyLock<History> =
    LazyLock::new(|| parsed("redis", include_str!("../../histories/redis.txt")));

fn parsed(name: &str, text: &str) -> History {
    History::parse(text).unwrap_or_else(|error| panic!("histories/{name}.txt: {error}"))
}

impl Source {
    /// Every source that was recorded.
    pub const RECORDED: [Self; 3] = [Self::Postgres, Self::Innodb, Self::Redis];

    /// Returns the history, of a source that was recorded.
    #[must_use]
    pub fn history(self) -> Option<&'static History> {
        match self {
            Self::MadeUp => None,
            Self::Postgres => Some(&*POSTGRES),
            Self::Innodb => Some(&*INNODB),
            Self::Redis => Some(&*REDIS),
        }
    }

    /// Draws a device and its user: its size in blocks, and the sizes that its volume works with.
    pub(crate) fn draw(self, random: &mut Random) -> (u64, Box<dyn User>, Sizes) {
        let (blocks, user): (u64, Box<dyn User>) = match self.history() {
            Some(history) => (history.blocks, Box::new(Replayed::new(history, random))),
            None => {
                let blocks = random.pick(&[150, 2000, 17_000]);
                (blocks, Box::new(MadeUp::new(blocks, random)))
            }
        };
        let sizes = Sizes {
            checkpoint_bytes: random.pick(&[128 << 10, 512 << 10, 4 << 20]),
            checkpoint_blocks: random.pick(&[40, 200, 100_000]),
            pages: NonZeroUsize::new(random.pick(&[1, 3, 64])).expect("at least one"),
            ..self.sizes()
        };
        (blocks, user, sizes)
    }

    /// Returns sizes in which no request is cut, and much happens in few requests.
    pub(crate) fn sizes(self) -> Sizes {
        let (request_blocks, segment_bytes) = match self {
            Self::MadeUp => (REQUEST_BLOCKS, 256 << 10),
            // a segment holds the longest frame
            _ => (WHOLE_BLOCKS_MAX, 2 << 20),
        };
        Sizes {
            segment_bytes,
            checkpoint_bytes: 512 << 10,
            checkpoint_blocks: 60,
            at_once_bytes: 64 << 10,
            request_bytes: request_blocks * BLOCK_BYTES,
            pages: NonZeroUsize::new(64).expect("it is not zero"),
            ..Sizes::default()
        }
        .in_order()
    }
}
