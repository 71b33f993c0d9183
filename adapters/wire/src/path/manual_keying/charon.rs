//! Associations out of the log of strongSwan's charon, which has their keys where its file log has
//! `chd = 4`. Not here: charon itself (`strongswan`).

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use zeroize::Zeroizing;

use sealstone_cipher::suites::{HMAC_MD5, HMAC_SHA1, HMAC_SHA256, Mac};

use super::association::{ManualAssociation, Parts, Unreadable, key_of, shown};

const FORM: &str = "the log of charon";
const NEXT: &str = "log keys by: filelog { keys { path = … chd = 4 default = 1 } } in \
                    strongswan.conf, and agree on them again";

/// The four keys of a pair of associations.
const KEYS: [&str; 4] = [
    "encryption initiator key",
    "encryption responder key",
    "integrity initiator key",
    "integrity responder key",
];

/// Log output of one of charon's threads about the pair of associations that it installs.
#[derive(Default)]
struct Pair {
    /// True if this end requested the pair.
    initiates: bool,
    encryption: Option<(&'static str, bool)>,
    mac: Option<&'static Mac>,
    keys: [Zeroizing<Vec<u8>>; 4],
    /// The key whose bytes follow, and how many are missing.
    dump: Option<(usize, usize)>,
    /// True if the association described next is one that this end opens.
    is_inbound: Option<bool>,
}

/// Reads all associations of `text`, of both directions, in the order in which charon installed
/// them.
///
/// # Errors
/// [`Unreadable`]: ciphers that no suite has, torn keys, or no association with its keys.
pub fn read(text: &str) -> Result<Vec<ManualAssociation>, Unreadable> {
    let mut log = Log::default();
    for (at, line) in text.lines().enumerate() {
        log.line = at + 1;
        log.read_line(line)?;
    }
    match log.read.is_empty() {
        true => {
            Err(log
                .unreadable("the log ends, and no association was in it with its keys".to_owned()))
        }
        false => Ok(log.read),
    }
}

#[derive(Default)]
struct Log {
    line: usize,
    /// Children, such as `net{1}`, that this end requested.
    asked: HashSet<String>,
    /// True if the sequence numbers of the association agreed on last have 64 bits.
    extended: bool,
    by_thread: HashMap<String, Pair>,
    read: Vec<ManualAssociation>,
}

impl Log {
    fn unreadable(&self, found: String) -> Unreadable {
        Unreadable { form: FORM, line: self.line, found, next: NEXT }
    }

    fn read_line(&mut self, line: &str) -> Result<(), Unreadable> {
        // before the thread may be a time
        let Some((head, said)) = line.split_once("] ") else { return Ok(()) };
        let Some((head, subsystem)) = head.rsplit_once('[') else { return Ok(()) };
        let thread = head.rsplit(' ').next().unwrap_or(head).to_owned();
        if let Some(rest) = said.strip_prefix("establishing CHILD_SA ") {
            self.asked.extend(rest.split(' ').next().map(str::to_owned));
        } else if let Some(chosen) = said.strip_prefix("selected proposal: ESP:") {
            self.extended = chosen.split('/').any(|part| part == "EXT_SEQ");
        } else if subsystem == "CHD" {
            self.of_child(thread, said)?;
        }
        Ok(())
    }

    fn of_child(&mut self, thread: String, said: &str) -> Result<(), Unreadable> {
        if let Some((child, "CREATED => INSTALLING")) =
            said.strip_prefix("CHILD_SA ").and_then(|rest| rest.split_once(" state change: "))
        {
            let initiates = self.asked.contains(child);
            self.by_thread.insert(thread, Pair { initiates, ..Pair::default() });
            return Ok(());
        }
        let Some(mut pair) = self.by_thread.remove(&thread) else { return Ok(()) };
        let done = self.of_pair(&mut pair, said);
        self.by_thread.insert(thread, pair);
        done
    }

    fn of_pair(&mut self, pair: &mut Pair, said: &str) -> Result<(), Unreadable> {
        if let Some((at, missing)) = pair.dump {
            return self.dump(pair, at, missing, said);
        }
        let said = said.trim_start();
        if let Some(name) =
            said.strip_prefix("using ").and_then(|rest| rest.strip_suffix(" for encryption"))
        {
            pair.encryption = Some(match name {
                "3DES_CBC" => ("3des", false),
                "BLOWFISH_CBC" => ("blowfish", false),
                "AES_CBC" => ("aes", false),
                "AES_GCM_16" => ("aes", true),
                _ => {
                    return Err(self.unreadable(format!(
                        "{} for encryption, which no suite has",
                        shown(name)
                    )));
                }
            });
        } else if let Some(name) =
            said.strip_prefix("using ").and_then(|rest| rest.strip_suffix(" for integrity"))
        {
            pair.mac = Some(match name {
                "HMAC_MD5_96" => HMAC_MD5,
                "HMAC_SHA1_96" => HMAC_SHA1,
                "HMAC_SHA2_256_128" => HMAC_SHA256,
                _ => {
                    return Err(self
                        .unreadable(format!("{} for integrity, which no suite has", shown(name))));
                }
            });
        } else if let Some((at, rest)) =
            KEYS.iter().enumerate().find_map(|(at, key)| Some((at, said.strip_prefix(key)?)))
        {
            let bytes =
                rest.strip_prefix(" => ").and_then(|rest| rest.split(' ').next()?.parse().ok());
            let bytes: usize = bytes.filter(|bytes| (1..=64).contains(bytes)).ok_or_else(|| {
                self.unreadable(format!("{} without a length of 1 to 64 bytes", KEYS[at]))
            })?;
            pair.keys[at] = Zeroizing::default();
            pair.dump = Some((at, bytes));
        } else if let Some(direction) =
            said.strip_prefix("adding ").and_then(|rest| rest.strip_suffix(" ESP SA"))
        {
            pair.is_inbound = Some(direction == "inbound");
        } else if let (Some(rest), Some(is_inbound)) =
            (said.strip_prefix("SPI "), pair.is_inbound.take())
        {
            let read = self.association(pair, is_inbound, rest)?;
            self.read.push(read);
        }
        Ok(())
    }

    /// Reads a line of bytes, such as `0: F2 5A … .Z`.
    fn dump(
        &self,
        pair: &mut Pair,
        at: usize,
        missing: usize,
        said: &str,
    ) -> Result<(), Unreadable> {
        let torn = || self.unreadable(format!("{}: {missing} bytes are missing", KEYS[at]));
        let bytes = missing.min(16);
        let (_, after) = said.split_once(": ").ok_or_else(torn)?;
        let digits: Zeroizing<String> = Zeroizing::new(after.split(' ').take(bytes).collect());
        let read = key_of(&digits).filter(|read| read.len() == bytes).ok_or_else(torn)?;
        pair.keys[at].extend_from_slice(&read);
        pair.dump = Some((at, missing - bytes)).filter(|_| missing > bytes);
        Ok(())
    }

    fn association(
        &self,
        pair: &Pair,
        is_inbound: bool,
        said: &str,
    ) -> Result<ManualAssociation, Unreadable> {
        // 0xb2d76d32, src 10.77.0.2 dst 10.77.0.1
        let words: Vec<&str> = said.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let (spi, source, destination) = match words[..] {
            [spi, "src", source, "dst", destination] => (spi, source, destination),
            _ => return Err(self.unreadable("an index without its addresses".to_owned())),
        };
        let spi = spi.strip_prefix("0x").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let address = |text: &str| text.parse::<IpAddr>().ok();
        // the requesting end seals by the keys of the initiator
        let from_initiator = pair.initiates != is_inbound;
        let [key, integrity_key] =
            if from_initiator { [0, 2] } else { [1, 3] }.map(|at| pair.keys[at].clone());
        let parts = Parts {
            source: address(source),
            destination: address(destination),
            spi,
            extended: self.extended,
            ports: Some((4500, 4500)),
            encryption: pair.encryption,
            mac: pair.mac,
            key,
            integrity_key,
            ..Parts::default()
        };
        parts.whole(self.line).map_err(|found| self.unreadable(found))
    }
}
