//! The plain device: every block it could have after a crash, and no other.
//!
//! Each request is one step, or several where it is a discard of more than one mebibyte. What a
//! flush covered is there; of later steps a prefix is, since the log ends somewhere; and no step is
//! there in part.

use std::collections::BTreeMap;
use std::ops::Range;

/// Blocks that a request may have to be there wholly or not at all: one mebibyte, which is also the
/// longest write that a kernel requests.
pub const WHOLE_BLOCKS_MAX: u64 = 256;

/// One request that changed blocks, or a part of one that may be there without the rest.
#[derive(Clone, Debug)]
pub struct Step {
    /// The blocks.
    pub blocks: Range<u64>,
    /// Value that each has from now on: 0 for zeros.
    pub value: u64,
}

impl Step {
    /// Returns the steps of a discard: one, or where it is too long to be there wholly or not at
    /// all, one for each block.
    #[must_use]
    pub fn of_discard(blocks: Range<u64>) -> Vec<Self> {
        if blocks.end - blocks.start <= WHOLE_BLOCKS_MAX {
            return vec![Self { blocks, value: 0 }];
        }
        blocks.map(|block| Self { blocks: block..block + 1, value: 0 }).collect()
    }
}

/// A plain device of blocks, each of which has one number all over.
#[derive(Clone, Debug)]
pub struct Judge {
    /// Values on stable storage.
    flushed: Vec<u64>,
    /// Requests since.
    steps: Vec<Step>,
    /// Number of them that returned without an error.
    acknowledged: usize,
}

impl Judge {
    /// Returns a device of `blocks` zeros.
    #[must_use]
    pub fn new(blocks: u64) -> Self {
        Self { flushed: vec![0; blocks as usize], steps: Vec::new(), acknowledged: 0 }
    }

    /// Adds the steps of a request before it is made.
    pub fn begin(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.steps.extend(steps);
    }

    /// The request before returned without an error.
    pub fn acknowledge(&mut self) {
        self.acknowledged = self.steps.len();
    }

    /// The request before was refused and changed nothing.
    pub fn refuse(&mut self) {
        self.steps.pop();
    }

    /// The discard before, of several steps, was refused; the first of them may have been done.
    ///
    /// - `found`: what each block has
    pub fn refuse_rest(&mut self, found: &[u64]) {
        let is_there = |step: &&Step| {
            let blocks = step.blocks.start as usize..step.blocks.end as usize;
            found[blocks].iter().all(|value| *value == step.value)
        };
        let done = self.steps[self.acknowledged..].iter().take_while(is_there).count();
        self.steps.truncate(self.acknowledged + done);
        self.acknowledge();
    }

    /// A flush returned that began after the last request.
    pub fn flush(&mut self) {
        for step in std::mem::take(&mut self.steps) {
            apply(&mut self.flushed, &step);
        }
        self.acknowledged = 0;
    }

    /// Returns what the device has if nothing is lost.
    #[must_use]
    pub fn now(&self) -> Vec<u64> {
        let mut now = self.flushed.clone();
        self.steps.iter().for_each(|step| apply(&mut now, step));
        now
    }

    /// Judges what a device has after a crash, and goes on from there.
    ///
    /// - `keeps_all`: nothing that was acknowledged may be lost, as after the end of a process
    ///
    /// # Errors
    /// Says which block has what it cannot have.
    pub fn judge(&mut self, found: &[u64], keeps_all: bool) -> Result<(), String> {
        let mut state = self.flushed.clone();
        let mut wrong: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for (block, (is, was)) in found.iter().zip(&state).enumerate() {
            if is != was {
                wrong.insert(block as u64, (*is, *was));
            }
        }
        let least = if keeps_all { self.acknowledged } else { 0 };
        for count in 0..=self.steps.len() {
            if count > 0 {
                let step = &self.steps[count - 1];
                apply(&mut state, step);
                for block in step.blocks.clone() {
                    let (is, was) = (found[block as usize], state[block as usize]);
                    if is == was {
                        wrong.remove(&block);
                    } else {
                        wrong.insert(block, (is, was));
                    }
                }
            }
            if wrong.is_empty() && count >= least {
                self.flushed = state;
                self.steps.clear();
                self.acknowledged = 0;
                return Ok(());
            }
        }
        let now = self.now();
        let differing: Vec<String> = found
            .iter()
            .zip(self.flushed.iter().zip(&now))
            .enumerate()
            .filter(|(_, (is, (was, now)))| is != was && is != now)
            .take(5)
            .map(|(block, (is, (was, now)))| {
                format!("block {block} has {is}, flushed {was}, last {now}")
            })
            .collect();
        Err(format!(
            "no prefix of the {} requests since the last flush gives what is there: {}",
            self.steps.len(),
            if differing.is_empty() { "requests are mixed".into() } else { differing.join("; ") }
        ))
    }
}

fn apply(state: &mut [u64], step: &Step) {
    state[step.blocks.start as usize..step.blocks.end as usize].fill(step.value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(blocks: u64) -> Judge {
        let mut judge = Judge::new(blocks);
        judge.begin([Step { blocks: 0..blocks, value: 7 }]);
        judge.flush();
        judge
    }

    #[test]
    fn a_long_discard_may_be_there_in_part_and_a_short_one_may_not() {
        for (blocks, is_allowed) in [(WHOLE_BLOCKS_MAX, false), (WHOLE_BLOCKS_MAX + 1, true)] {
            let mut judge = device(blocks);
            judge.begin(Step::of_discard(0..blocks));
            let mut found = judge.now();
            found[9..].fill(7);
            assert_eq!(judge.clone().judge(&found, false).is_ok(), is_allowed, "{blocks}");
            found[3] = 7;
            assert!(judge.judge(&found, false).is_err(), "{blocks}: not from its first block on");
        }
    }

    #[test]
    fn of_a_long_discard_that_was_refused_what_was_done_stays() {
        let mut judge = device(300);
        judge.begin([Step { blocks: 299..300, value: 8 }]);
        judge.acknowledge();
        judge.begin(Step::of_discard(0..299));
        let mut found = vec![7; 300];
        found[..9].fill(0);
        found[299] = 8;
        judge.refuse_rest(&found);
        assert_eq!(judge.now(), found);
    }
}
