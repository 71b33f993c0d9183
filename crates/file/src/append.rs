//! Logs that are appended to: a regular file of this user that nobody else can read or replace, and
//! lines that are written whole. Not here: files that appear whole (`output`), what a line
//! contains.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use crate::directory::parent;
use crate::kind::Kind;
use crate::trust;

/// Reason why a file is not appended to.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAppended {
    /// Something that is no file has the name.
    #[error("it is {0}, and only a regular file is appended to\nname another file")]
    Kind(Kind),
    /// A link has the name.
    #[error(
        "it is a symbolic link to {}, and links are not written through\nname that file itself",
        .0.display()
    )]
    Link(PathBuf),
    /// The file has other names, too.
    #[error("it has {names} names (hard links)\nname a file with one name")]
    Names {
        /// Number of its names.
        names: u64,
    },
    /// The file is somebody else's.
    #[error("it belongs to user {owner} (you are user {user})\nname a file of your own")]
    Owner {
        /// The owner.
        owner: u32,
        /// This user.
        user: u32,
    },
    /// Others may read or write it.
    #[error(
        "others may read or write it (mode {mode:04o})\nkeep it from them, with: chmod 600 FILE"
    )]
    Mode {
        /// The bits of its permissions.
        mode: u32,
    },
}

/// A log that is open.
#[derive(Debug)]
pub struct Append {
    file: File,
}

impl Append {
    /// Opens the log at `path`, which is made for its owner alone if nothing is there.
    ///
    /// # Errors
    /// [`NotAppended`] and [`trust::Untrusted`], as an [`io::Error`]; the system's error.
    pub fn open(path: &Path) -> io::Result<Self> {
        let place = parent(path);
        let flags = OFlag::O_DIRECTORY | OFlag::O_NONBLOCK;
        let dir = File::options().read(true).custom_flags(flags.bits()).open(place)?;
        trust::check_directory(&dir, place)?;
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let mut options = File::options();
        options.read(true).append(true).create(true).mode(0o600).custom_flags(flags.bits());
        let file = options.open(path).map_err(|error| why(path).unwrap_or(error))?;
        let (found, user) = (file.metadata()?, geteuid().as_raw());
        if found.len() == 0 {
            // the name of a log that was just made
            dir.sync_all()?;
        }
        let mode = found.mode() & 0o7777;
        let refused = match Kind::of(found.file_type()) {
            Kind::File if found.uid() != user => {
                Some(NotAppended::Owner { owner: found.uid(), user })
            }
            Kind::File if mode & 0o077 != 0 => Some(NotAppended::Mode { mode }),
            Kind::File if found.nlink() != 1 => Some(NotAppended::Names { names: found.nlink() }),
            Kind::File => None,
            kind => Some(NotAppended::Kind(kind)),
        };
        refused.map_or(Ok(Self { file }), |refused| Err(refused.into()))
    }

    /// Appends `line` and its end in one write, and puts it on stable storage. A part of an earlier
    /// line, which a full disk left, gets an end first.
    ///
    /// # Errors
    /// The system's error; that only a part of it was written.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        let begin = if self.is_torn()? { "\n" } else { "" };
        let bytes = format!("{begin}{line}\n").into_bytes();
        // a second write could end up behind the line of another process
        let written = self.file.write(&bytes)?;
        if written != bytes.len() {
            let found = format!("{written} of {} bytes were written", bytes.len());
            return Err(io::Error::new(io::ErrorKind::WriteZero, found));
        }
        self.file.sync_data()
    }

    fn is_torn(&self) -> io::Result<bool> {
        let Some(last) = self.file.metadata()?.len().checked_sub(1) else { return Ok(false) };
        let mut byte = [0];
        self.file.read_exact_at(&mut byte, last)?;
        Ok(byte != *b"\n")
    }
}

/// Returns why nothing is opened at `path`, if that shows in what is there.
fn why(path: &Path) -> Option<io::Error> {
    let found = std::fs::symlink_metadata(path).ok()?;
    match Kind::of(found.file_type()) {
        Kind::File => None,
        Kind::Link => Some(NotAppended::Link(std::fs::read_link(path).ok()?).into()),
        kind => Some(NotAppended::Kind(kind).into()),
    }
}

impl From<NotAppended> for io::Error {
    fn from(refused: NotAppended) -> Self {
        let kind = match refused {
            NotAppended::Kind(_) | NotAppended::Link(_) => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, refused)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    fn refused(path: &Path) -> String {
        Append::open(path).unwrap_err().to_string()
    }

    #[test]
    fn lines_are_added_to_a_private_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for line in ["one", "two"] {
            Append::open(&at("log")).unwrap().line(line).unwrap();
        }
        assert_eq!(fs::read_to_string(at("log")).unwrap(), "one\ntwo\n");
        assert_eq!(fs::metadata(at("log")).unwrap().mode() & 0o7777, 0o600);

        // what a full disk left of a line
        fs::write(at("torn"), "{\"event\":").unwrap();
        fs::set_permissions(at("torn"), fs::Permissions::from_mode(0o600)).unwrap();
        Append::open(&at("torn")).unwrap().line("whole").unwrap();
        assert_eq!(fs::read_to_string(at("torn")).unwrap(), "{\"event\":\nwhole\n");

        symlink(at("log"), at("link")).unwrap();
        assert!(refused(&at("link")).starts_with("it is a symbolic link to "));
        symlink(at("nothing"), at("dangling")).unwrap();
        assert!(refused(&at("dangling")).starts_with("it is a symbolic link to "));
        assert!(!at("nothing").exists());
        mkfifo(&at("fifo"), Mode::from_bits_truncate(0o600)).unwrap();
        assert!(refused(&at("fifo")).starts_with("it is a FIFO"));
        // also where somebody reads it
        let reader = File::options().read(true).write(true).open(at("fifo")).unwrap();
        assert!(refused(&at("fifo")).starts_with("it is a FIFO"));
        drop(reader);
        assert!(refused(dir.path()).starts_with("it is a directory"));
        assert!(refused(Path::new("/dev/null")).starts_with("it is "));
        fs::hard_link(at("log"), at("second")).unwrap();
        assert_eq!(refused(&at("log")).lines().next(), Some("it has 2 names (hard links)"));
        fs::remove_file(at("second")).unwrap();
        fs::set_permissions(at("log"), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(refused(&at("log")).starts_with("others may read or write it (mode 0640)"));
        assert_eq!(fs::read_to_string(at("log")).unwrap(), "one\ntwo\n");

        let open = at("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(refused(&open.join("log")).contains("everybody may put another file"));
        assert!(!open.join("log").exists());
    }
}
