//! Histories that were recorded: what ext4 asked of its device under a database. The texts are
//! below `histories`, and `record-histories.sh` makes them.
//!
//! A history has no contents, since the judge compares which request a block comes from, and no
//! reads. Checkpoints are the volume's own, and no user asks for them; both are drawn.

use std::ops::Range;

use super::history::{Request, User};
use super::judge::WHOLE_BLOCKS_MAX;
use crate::random::Random;

/// Requests that are made without anything else between them, at most.
const TOGETHER_MAX: usize = 24;

/// A history: everything that was asked of a device, from its first file system on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Size of the device, in blocks.
    pub blocks: u64,
    /// Every request but reads, in order.
    pub requests: Vec<Request>,
}

impl History {
    /// Reads the text of a history: `size BLOCKS`, and a line for each request: `w FIRST COUNT`,
    /// `d FIRST COUNT` or `f`. A line that begins with `#` is a comment.
    ///
    /// # Errors
    /// Says which line is wrong, and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, size) = lines.next().ok_or("the history is empty")?;
        let blocks = size
            .strip_prefix("size ")
            .and_then(|blocks| blocks.parse().ok())
            .filter(|blocks| *blocks > 0)
            .ok_or_else(|| format!("line {number}: `size BLOCKS` expected, found `{size}`"))?;
        let requests = lines
            .map(|(number, line)| {
                request(line, blocks).map_err(|why| format!("line {number}: {why}: `{line}`"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if requests.is_empty() {
            return Err("the history has no requests".into());
        }
        Ok(Self { blocks, requests })
    }
}

fn request(line: &str, device: u64) -> Result<Request, &'static str> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words[..] {
        ["f"] => Ok(Request::Flush),
        ["w", first, count] => {
            let blocks = range(first, count, device)?;
            if blocks.end - blocks.start > WHOLE_BLOCKS_MAX {
                return Err("longer than a write that is all or nothing");
            }
            Ok(Request::Write(blocks))
        }
        // as long as it likes: a file system discards the whole of a large file at once
        ["d", first, count] => range(first, count, device).map(Request::Discard),
        _ => Err("`w FIRST COUNT`, `d FIRST COUNT` or `f` expected"),
    }
}

fn range(first: &str, count: &str, device: u64) -> Result<Range<u64>, &'static str> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| "not a number");
    let (first, count) = (number(first)?, number(count)?);
    match first.checked_add(count) {
        Some(end) if count > 0 && end <= device => Ok(first..end),
        Some(_) if count == 0 => Err("no blocks"),
        _ => Err("past the end of the device"),
    }
}

/// A user who does what a history has, from some place in it on.
#[derive(Debug)]
pub struct Replayed {
    history: &'static History,
    /// Index of the next request.
    position: usize,
    /// Checkpoints after a hundred flushes.
    checkpoints: usize,
}

impl Replayed {
    /// Returns a user who begins at the start of `history`, or somewhere in it.
    ///
    /// The device is empty wherever it begins: what the requests before had written is nothing to
    /// a block device, and to the judge zeros are as good as any other content. What they had done
    /// to the volume (places that are in use, so that a write goes to the log) comes from the
    /// requests that follow, since a database writes most blocks more than once; and at its end
    /// the history begins again, on a device that is in use. After a crash it goes on with the
    /// request after the one that was cut off, where a file system would read its journal first:
    /// that makes no other kind of request.
    pub fn new(history: &'static History, random: &mut Random) -> Self {
        let begins_anew = random.chance(20);
        let position = random.below(history.requests.len());
        let position = if begins_anew { 0 } else { position };
        Self { history, position, checkpoints: random.pick(&[0, 5, 30]) }
    }
}

impl User for Replayed {
    fn next(&mut self, random: &mut Random) -> Vec<Request> {
        let mut requests = Vec::new();
        let mut last = None;
        while requests.len() < TOGETHER_MAX && requests.last() != Some(&Request::Flush) {
            let request = self.history.requests[self.position].clone();
            self.position = (self.position + 1) % self.history.requests.len();
            if let Request::Write(blocks) | Request::Discard(blocks) = &request {
                last = Some(blocks.clone());
            }
            requests.push(request);
        }
        if random.chance(self.checkpoints) {
            requests.push(Request::Checkpoint);
        }
        if random.chance(10) {
            requests.extend(last.map(Request::Read));
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_read_and_what_is_wrong_in_it_is_named() {
        let history = History::parse("# made up\nsize 300\n\nw 0 256\n# then\nf\nd 7 1\n").unwrap();
        let requests = vec![Request::Write(0..256), Request::Flush, Request::Discard(7..8)];
        assert_eq!(history, History { blocks: 300, requests });
        let wrong = [
            ("", "the history is empty"),
            ("size 9\n# nothing\n", "the history has no requests"),
            ("w 0 1\n", "line 1: `size BLOCKS` expected, found `w 0 1`"),
            ("size 0\nf\n", "line 1: `size BLOCKS` expected, found `size 0`"),
            ("size 9\nf\nw 8 2\n", "line 3: past the end of the device: `w 8 2`"),
            ("size 9\nd 1 18446744073709551615\n", "line 2: past the end of the device: "),
            ("size 9\nw 1 0\n", "line 2: no blocks: `w 1 0`"),
            ("size 9\nw 1 -1\n", "line 2: not a number: `w 1 -1`"),
            ("size 900\nw 1 257\n", "line 2: longer than a write that is all or nothing: "),
            ("size 9\nw 1\n", "line 2: `w FIRST COUNT`, `d FIRST COUNT` or `f` expected: `w 1`"),
            ("size 9\nr 1 1\n", "line 2: `w FIRST COUNT`, `d FIRST COUNT` or `f` expected: "),
        ];
        for (text, said) in wrong {
            let error = History::parse(text).unwrap_err();
            assert!(error.starts_with(said), "{text:?}: {error}");
        }
    }
}
