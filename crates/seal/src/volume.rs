//! Volumes: the layout of a block device whose blocks are written again and again. Byte by byte in
//! `docs/formats.md`.
//!
//! Every block has an [`Entry`]: its tag, and what its nonce was made of. Entries are kept apart
//! from the blocks, 127 on an [`EntryPage`], whose own entry is the 128th and is kept again on a
//! page above. What has no page above is in the [`Root`], which is written at every checkpoint. So
//! a reader that has the root has all of the volume, and nothing older than it.
//!
//! The log has everything that is not in place yet, as [`frame`]s: the entries of one write, and
//! the blocks that would have been overwritten. An overwrite is logged before it is done, so that
//! a torn write leaves the block before or the block after.
//!
//! One opening of a volume for writing is an epoch, with keys of its own: copies of a volume that
//! are both written on share no nonce.
//!
//! Not here: reading and writing files, and when (`adapters/volume`).

mod binding;
mod counters;
mod entry;
mod entry_page;
mod error;
pub mod frame;
mod keys;
mod level;
mod mark;
mod place;
mod root;

pub use entry::{ENTRY_BYTES, Entry};
pub use entry_page::{CHILDREN, EntryPage, PAGE_BYTES};
pub use error::VolumeError;
pub use keys::{BlockPlace, EPOCHS_MAX, Epoch, SALT_BYTES, Salt, VolumeKeys};
pub use level::Level;
pub use mark::{MARK_BYTES, Mark};
pub use place::Places;
pub use root::{ROOT_AT, Root, RootHead, Run};
