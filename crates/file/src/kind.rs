//! Kinds of objects in the file system, in words.

use std::fmt;
use std::fs::FileType;
use std::os::unix::fs::FileTypeExt;

/// Kind of thing that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, with a name or without.
    Fifo,
    /// A socket.
    Socket,
    /// A device that is read byte by byte: a terminal, `/dev/null`.
    CharacterDevice,
    /// A disk or a part of one.
    BlockDevice,
}

impl Kind {
    /// Returns the kind of something of `file_type`.
    #[must_use]
    pub fn of(file_type: FileType) -> Self {
        match file_type {
            it if it.is_dir() => Self::Directory,
            it if it.is_symlink() => Self::Link,
            it if it.is_fifo() => Self::Fifo,
            it if it.is_socket() => Self::Socket,
            it if it.is_char_device() => Self::CharacterDevice,
            it if it.is_block_device() => Self::BlockDevice,
            _ => Self::File,
        }
    }

    /// Returns the kind in the mode `st_mode` of `stat`.
    pub(crate) fn of_mode(mode: nix::sys::stat::mode_t) -> Self {
        use nix::sys::stat::SFlag;
        match SFlag::from_bits_truncate(mode) & SFlag::S_IFMT {
            SFlag::S_IFDIR => Self::Directory,
            SFlag::S_IFLNK => Self::Link,
            SFlag::S_IFIFO => Self::Fifo,
            SFlag::S_IFSOCK => Self::Socket,
            SFlag::S_IFCHR => Self::CharacterDevice,
            SFlag::S_IFBLK => Self::BlockDevice,
            _ => Self::File,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Fifo => "a FIFO (a pipe)",
            Self::Socket => "a socket",
            Self::CharacterDevice => "a character device",
            Self::BlockDevice => "a block device",
        })
    }
}
