//! Commands in the protocol of Redis, which SSDB speaks, too.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// Sends `commands`, each its words, to `address`, and returns the first `lines` lines of what is
/// answered: one for each command that answers a number or a word.
///
/// # Panics
/// If nobody is there, or an answer is an error.
#[must_use]
pub fn answers(address: &str, commands: &[Vec<String>], lines: usize) -> Vec<String> {
    let mut say = TcpStream::connect(address).expect("a server");
    let hear = BufReader::new(say.try_clone().expect("a socket"));
    let mut text = String::new();
    for words in commands {
        text += &format!("*{}\r\n", words.len());
        for word in words {
            text += &format!("${}\r\n{word}\r\n", word.len());
        }
    }
    std::thread::scope(|scope| {
        // answers are read as they come: they could fill the way back
        scope.spawn(move || say.write_all(text.as_bytes()).expect("a server that listens"));
        let said: Vec<String> =
            hear.lines().take(lines).map(|line| line.expect("an answer")).collect();
        assert!(said.iter().all(|line| !line.starts_with('-')), "{:?}", said.last());
        assert_eq!(said.len(), lines, "it ended the connection");
        said
    })
}

/// Returns the words of a command, for [`answers`].
#[must_use]
pub fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
