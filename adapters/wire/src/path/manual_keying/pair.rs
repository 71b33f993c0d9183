//! The two associations of this end, out of a file that another program wrote: strongSwan's log
//! with keys, or the output of `ip xfrm state`.

use std::fs::Metadata;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use sealstone_file::Kind;
use sealstone_file::input::{self, NotAFile};
use sealstone_message::SettingName;
use zeroize::Zeroizing;

use super::association::{ManualAssociation, Unreadable};
use super::{charon, xfrm};

/// Associations by which this end seals and opens, and the addresses of both ends.
#[derive(Clone, Debug)]
pub struct AssociationPair {
    /// Association that seals.
    pub outbound: ManualAssociation,
    /// Association that opens.
    pub inbound: ManualAssociation,
    /// Address and port of this end.
    pub own: SocketAddr,
    /// Address and port of the other end.
    pub peer: SocketAddr,
}

/// Reasons why a file does not give this end its associations.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// The file cannot be read.
    #[error(
        "cannot read associations from {}: {found}\ngive strongSwan's log with keys, or the output \
         of ip xfrm state",
        path.display()
    )]
    Unread {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        found: io::Error,
    },
    /// It is no file, and reading it may never end.
    #[error(
        "{} is {what}, and associations are read from a file alone\nwrite them into one, for its \
         owner alone: install -m 600 /dev/null FILE; ip xfrm state > FILE",
        path.display()
    )]
    NoFile {
        /// Path that should be the file.
        path: PathBuf,
        /// Kind of thing that the path is.
        what: Kind,
    },
    /// Others than the owner may read or write it.
    #[error(
        "{} has keys in the clear, and others may use it (mode {mode:04o})\nrestrict it with: \
         chmod 600 {}; if others may have read it, agree on new associations",
        path.display(), path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is somebody else's, who can read and replace it.
    #[error(
        "{} belongs to user {owner}, and this process runs as user {user}\ngive the file to its \
         reader with: chown {user} {}; if user {owner} should not have the keys, agree on new \
         associations",
        path.display(), path.display()
    )]
    Owner {
        /// The file.
        path: PathBuf,
        /// Number of the user that it belongs to.
        owner: u32,
        /// Number of the user that this process runs as.
        user: u32,
    },
    /// Two associations seal with the same nonces.
    #[error(
        "{}: line {} and line {}: associations {} and {} have the same key and salt, and both \
         count nonces from 1: packets under one nonce give each other away, and the key that \
         authenticates them\nagree on new associations, with a key of its own for each direction \
         and each other end",
        path.display(), lines[0], lines[1], named[0], named[1]
    )]
    OneKey {
        /// The file.
        path: PathBuf,
        /// Lines of the two associations in the file.
        lines: [usize; 2],
        /// Names of the two associations.
        named: [String; 2],
    },
    /// Packets of one direction are taken for packets of the other.
    #[error(
        "{}: line {} and line {}: associations {} and {} have the same index and the same keys: \
         what one end sends can be sent back to it, and would be taken\nagree on new associations, \
         with a key of its own for each direction",
        path.display(), lines[0], lines[1], named[0], named[1]
    )]
    Mirrored {
        /// The file.
        path: PathBuf,
        /// Lines of the two associations in the file.
        lines: [usize; 2],
        /// Names of the two associations.
        named: [String; 2],
    },
    /// The key has sealed, or opens, on this machine what it is to open, or to seal, now.
    #[error(
        "{}: line {line}: the key of association {named} is to {now} here, and a tunnel of this \
         machine {before} by it ({} says so): both ends would count nonces from 1, and packets \
         under one nonce give each other away\nagree on new associations; where both ends are on \
         this machine, give each a {} of its own",
        path.display(), record.display(), SettingName("state-dir")
    )]
    OtherDirection {
        /// The file.
        path: PathBuf,
        /// Line of the association in the file.
        line: usize,
        /// Name of the association.
        named: String,
        /// `seal` or `open`.
        now: &'static str,
        /// Use that this tunnel made, or makes, of the key.
        before: &'static str,
        /// Record of that use of the key.
        record: PathBuf,
    },
    /// The text is neither form.
    #[error("{}: {found}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Description of the fault of the file.
        found: Unreadable,
    },
    /// Nothing there begins at this machine.
    #[error(
        "no association of {} begins at an address of this machine: those there begin at \
         {sources}\ngive the file of this end, or the address of this end with {}",
        path.display(), SettingName("listen")
    )]
    NotHere {
        /// The file.
        path: PathBuf,
        /// Addresses where the associations begin.
        sources: String,
    },
    /// Both ends are this machine.
    #[error(
        "both ends of association {spi:#010x} are addresses of this machine: {source_address} and \
         {destination}\n\
         say with {} which of them this end is",
        SettingName("listen")
    )]
    BothHere {
        /// Its index.
        spi: u32,
        /// One end.
        source_address: IpAddr,
        /// The other.
        destination: IpAddr,
    },
    /// Only one direction is there.
    #[error(
        "{} has an association from {own} to {peer}, and none back\ngive both directions: agree on \
         them again, and take the whole of what was written down",
        path.display()
    )]
    OneWay {
        /// The file.
        path: PathBuf,
        /// This end.
        own: IpAddr,
        /// The other end.
        peer: IpAddr,
    },
    /// Packets are not in UDP.
    #[error(
        "packets of association {spi:#010x} are not in UDP, and sealstone carries none without\n\
         have the other end put them into UDP: encap = yes in swanctl.conf, or encap espinudp 4500 \
         4500 0.0.0.0 for ip xfrm state"
    )]
    NotInUdp {
        /// Its index.
        spi: u32,
    },
    /// Another program has used the key, and numbers of GCM may come again.
    #[error(
        "association {spi:#010x} has sealed {packets} packets before, elsewhere, with GCM: what \
         nonces they had is not written down, and one that comes twice gives both packets away\n\
         agree on a new association, and stop the other program before it sends"
    )]
    UsedElsewhere {
        /// Its index.
        spi: u32,
        /// Packets.
        packets: u64,
    },
}

/// Reads all associations of the file at `path`, whichever form it has.
///
/// # Errors
/// [`PairError::Unread`], [`PairError::Unreadable`]; [`PairError::NoFile`], [`PairError::Open`],
/// [`PairError::Owner`]; [`PairError::OneKey`], [`PairError::Mirrored`].
fn read(path: &Path) -> Result<Vec<ManualAssociation>, PairError> {
    let text = read_private(path)?;
    // of an editor, and of no program that keys come from
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // every line of charon names its subsystem
    let is_log = ["[CHD] ", "[IKE] ", "[CFG] "].iter().any(|subsystem| text.contains(subsystem));
    let read = if is_log { charon::read(text) } else { xfrm::read(text) };
    let all = read.map_err(|found| PairError::Unreadable { path: path.to_owned(), found })?;
    check_keys(path, &all)?;
    Ok(all)
}

/// Reads the text of the file at `path`, which must be its owner's alone: anyone who can read it
/// has the keys, anyone who can write it chooses them.
fn read_private(path: &Path) -> Result<Zeroizing<String>, PairError> {
    let unread = |found: io::Error| match NotAFile::of(&found) {
        Some(what) => PairError::NoFile { path: path.to_owned(), what },
        None => PairError::Unread { path: path.to_owned(), found },
    };
    let mut file = input::open(path).map_err(unread)?;
    let found = file.metadata().map_err(unread)?;
    check_private(path, &found)?;
    // as large as it gets, so that no copy of a key is left behind
    let mut text = Zeroizing::new(String::with_capacity(
        usize::try_from(found.len()).unwrap_or(0).saturating_add(1),
    ));
    file.read_to_string(&mut text).map_err(unread)?;
    Ok(text)
}

fn check_private(path: &Path, found: &Metadata) -> Result<(), PairError> {
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(PairError::Open { path: path.to_owned(), mode });
    }
    let (owner, user) = (found.uid(), geteuid().as_raw());
    match owner == user || owner == 0 {
        true => Ok(()),
        false => Err(PairError::Owner { path: path.to_owned(), owner, user }),
    }
}

/// Checks that no two of `all` seal with the same nonces, and none accepts packets that another
/// sends. One key for both directions is harmless otherwise: initialisation vectors of CBC are
/// drawn, and packets sent back have another index.
fn check_keys(path: &Path, all: &[ManualAssociation]) -> Result<(), PairError> {
    for (at, second) in all.iter().enumerate() {
        for first in &all[..at] {
            let (path, lines) = (path.to_owned(), [first.line, second.line]);
            let named = [first.named(), second.named()];
            if first.is_again(second) {
                continue;
            }
            if second.counts_nonces() && first.has_key_of(second) {
                return Err(PairError::OneKey { path, lines, named });
            }
            if first.opens_for(second) {
                return Err(PairError::Mirrored { path, lines, named });
            }
        }
    }
    Ok(())
}

impl AssociationPair {
    /// Reads the newest pair of this end out of the file at `path`.
    ///
    /// - `listen`: this end's address, if it was named; otherwise that which is this machine's
    ///
    /// # Errors
    /// Any of [`PairError`].
    pub fn read(path: &Path, listen: Option<SocketAddr>) -> Result<Self, PairError> {
        let named = listen.map(|listen| listen.ip()).filter(|address| !address.is_unspecified());
        let is_here = |address: IpAddr| match named {
            Some(named) => named == address,
            // only an address of this machine can be bound
            None => UdpSocket::bind((address, 0)).is_ok(),
        };
        Self::choose(path, read(path)?, is_here)
    }

    fn choose(
        path: &Path,
        all: Vec<ManualAssociation>,
        is_here: impl Fn(IpAddr) -> bool,
    ) -> Result<Self, PairError> {
        let Some(outbound) = all.iter().rev().find(|one| is_here(one.source)) else {
            let mut sources: Vec<String> = all.iter().map(|one| one.source.to_string()).collect();
            sources.sort();
            sources.dedup();
            return Err(PairError::NotHere { path: path.to_owned(), sources: sources.join(", ") });
        };
        let ManualAssociation { source: own, destination: peer, association, .. } = *outbound;
        let spi = association.spi;
        if is_here(peer) {
            return Err(PairError::BothHere { spi, source_address: own, destination: peer });
        }
        let back = |one: &&ManualAssociation| one.source == peer && one.destination == own;
        let one_way = || PairError::OneWay { path: path.to_owned(), own, peer };
        let inbound = all.iter().rev().find(back).ok_or_else(one_way)?;
        let (own_port, peer_port) = outbound.ports.ok_or(PairError::NotInUdp { spi })?;
        let packets = outbound.sealed_before;
        if packets > 0 && outbound.counts_nonces() {
            return Err(PairError::UsedElsewhere { spi, packets });
        }
        Ok(Self {
            own: SocketAddr::new(own, own_port),
            peer: SocketAddr::new(peer, peer_port),
            outbound: outbound.clone(),
            inbound: inbound.clone(),
        })
    }

    /// Returns whether both directions have one key, which is not refused for ciphers whose
    /// initialisation vectors are drawn.
    #[must_use]
    pub fn has_one_key(&self) -> bool {
        self.outbound.has_key_of(&self.inbound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CBC: &str = "mode tunnel auth hmac(sha1) 0x000102030405060708090a0b0c0d0e0f10111213 \
                       enc cbc(aes) 0x000102030405060708090a0b0c0d0e0f";
    const GCM: &str =
        "mode tunnel aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128";
    const IN_UDP: &str = "encap espinudp 4500 4501 0.0.0.0";

    fn line(from: &str, to: &str, spi: u32, rest: &str) -> String {
        format!("src {from} dst {to} proto esp spi {spi} {rest}\n")
    }

    fn chosen(text: &str) -> Result<AssociationPair, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sa");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let is_here = |address: IpAddr| address.to_string().starts_with("10.0.");
        read(&path)
            .and_then(|all| AssociationPair::choose(&path, all, is_here))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_newest_pair_of_this_end_is_taken() {
        let pair = |spi| {
            let there = line("10.0.0.1", "10.9.0.2", spi, &format!("{CBC} {IN_UDP}"));
            there
                + &line(
                    "10.9.0.2",
                    "10.0.0.1",
                    spi + 1,
                    &format!("{CBC} encap espinudp 4501 4500 0.0.0.0"),
                )
        };
        let newest = chosen(&format!("\u{feff}{}{}", pair(0x1000), pair(0x2000))).unwrap();
        assert_eq!(
            (newest.own.to_string(), newest.peer.to_string()),
            ("10.0.0.1:4500".into(), "10.9.0.2:4501".into())
        );
        assert_eq!(
            (newest.outbound.association.spi, newest.inbound.association.spi),
            (0x2000, 0x2001)
        );
    }

    #[test]
    fn what_this_end_cannot_use_is_refused() {
        let there = |rest: &str| line("10.0.0.1", "10.9.0.2", 0x1000, rest);
        let back = line("10.9.0.2", "10.0.0.1", 0x1001, &format!("{CBC} {IN_UDP}"));
        let in_udp = format!("{CBC} {IN_UDP}");
        for (text, want) in [
            (back.clone(), "no association of "),
            (there(&in_udp), "has an association from 10.0.0.1 to 10.9.0.2, and none back"),
            (there(CBC) + &back, "packets of association 0x00001000 are not in UDP"),
            (
                line("10.0.0.1", "10.0.0.2", 0x1000, &in_udp) + &back,
                "both ends of association 0x00001000",
            ),
            (
                there(&format!(
                    "{GCM} {IN_UDP} anti-replay context: seq 0x0, oseq 0x7, bitmap 0x0"
                )) + &back,
                "association 0x00001000 has sealed 7 packets before",
            ),
            (String::from("key = 1\n"), "\"key\" where an association should begin with src"),
            (
                String::from("11[IKE] establishing CHILD_SA net{1}\n"),
                "cannot read associations from the log of charon",
            ),
        ] {
            let found = chosen(&text).unwrap_err();
            assert!(found.contains(want) && found.contains('\n'), "{want}: {found}");
        }
        let used = chosen(&(there(&format!("{in_udp} oseq-hi 0x1, oseq 0x7")) + &back)).unwrap();
        assert_eq!(used.outbound.sealed_before, (1 << 32) + 7);
        assert_eq!(used.inbound.came_before, 0);
    }

    #[test]
    fn a_fingerprint_knows_a_key_again_and_is_not_the_key() {
        let fingerprint = |rest: &str| {
            let text = line("10.0.0.1", "10.9.0.2", 0x1000, &format!("{rest} {IN_UDP}"));
            chosen(&(text + &line("10.9.0.2", "10.0.0.1", 0x1001, &format!("{CBC} {IN_UDP}"))))
                .unwrap()
                .outbound
        };
        let same = fingerprint(CBC).fingerprint();
        assert_eq!(same, fingerprint(CBC).fingerprint());
        assert_eq!(same.len(), 32);
        let other = fingerprint(&CBC.replace("cbc(aes) 0x00", "cbc(aes) 0x01")).fingerprint();
        assert!(
            same != other && !same.contains("010203") && same != fingerprint(GCM).fingerprint()
        );
    }
}
