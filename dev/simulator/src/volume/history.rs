//! Requests to a device, made up from what databases do. Not here: requests that were recorded
//! (`recorded`).

use std::ops::Range;

use crate::random::Random;

/// One request to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Write blocks.
    Write(Range<u64>),
    /// Make blocks zeros.
    Discard(Range<u64>),
    /// Make everything durable.
    Flush,
    /// Read blocks.
    Read(Range<u64>),
    /// Put the log in place.
    Checkpoint,
}

/// A user of a device, who makes requests.
pub trait User: std::fmt::Debug {
    /// Returns the next requests.
    fn next(&mut self, random: &mut Random) -> Vec<Request>;
}

/// Blocks in one request at most, so that it is one frame.
pub const REQUEST_BLOCKS: u64 = 32;

/// Requests for a device of `blocks` blocks, as one kind of user makes them.
#[derive(Debug)]
pub struct MadeUp {
    blocks: u64,
    /// Position of a log of the user's, which is written block by block, each again and again.
    tail: u64,
    /// End of the tables, which grow.
    end: u64,
    /// Areas that are written at random.
    areas: Vec<u64>,
    weights: [usize; 6],
}

impl MadeUp {
    /// Returns a user of a device of `blocks` blocks.
    #[must_use]
    pub fn new(blocks: u64, random: &mut Random) -> Self {
        let areas =
            (0..random.within(1, 4)).map(|_| random.below(blocks as usize) as u64).collect();
        let weights = [0; 6].map(|_| random.pick(&[0, 1, 3, 10]));
        Self { blocks, tail: 0, end: blocks / 4, areas, weights }
    }

    fn near(&self, random: &mut Random, most: usize) -> Range<u64> {
        let area = random.pick(&self.areas);
        let begin = (area + random.below(60) as u64).min(self.blocks - 1);
        begin..(begin + random.within(1, most) as u64).min(self.blocks)
    }
}

impl User for MadeUp {
    fn next(&mut self, random: &mut Random) -> Vec<Request> {
        let all: usize = self.weights.iter().sum();
        let mut drawn = random.below(all.max(1));
        let kind = self.weights.iter().position(|weight| {
            let is_it = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            is_it
        });
        let mut requests = match kind {
            // a log: its last block is written again until it is full
            Some(0) => {
                let again = random.chance(70);
                self.tail = (self.tail + u64::from(!again)) % (self.blocks / 4).max(1);
                vec![Request::Write(self.tail..self.tail + 1), Request::Flush]
            }
            Some(1) => {
                (0..random.within(1, 6)).map(|_| Request::Write(self.near(random, 4))).collect()
            }
            // a load: long writes to where nothing was
            Some(2) => (0..random.within(1, 4))
                .map(|_| {
                    let count = random.within(8, REQUEST_BLOCKS as usize) as u64;
                    if self.end + count > self.blocks {
                        self.end = self.blocks / 4;
                    }
                    let begin = self.end;
                    self.end = (begin + count).min(self.blocks);
                    Request::Write(begin..self.end)
                })
                .collect(),
            Some(3) => vec![Request::Discard(self.near(random, 200))],
            Some(4) => vec![Request::Read(self.near(random, 40))],
            Some(_) if random.chance(30) => vec![Request::Checkpoint],
            _ => vec![Request::Flush],
        };
        requests.retain(|request| !request.is_empty());
        requests
    }
}

impl Request {
    fn is_empty(&self) -> bool {
        match self {
            Self::Write(blocks) | Self::Discard(blocks) | Self::Read(blocks) => blocks.is_empty(),
            Self::Flush | Self::Checkpoint => false,
        }
    }
}
