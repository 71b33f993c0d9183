//! Data at rest: the sealed files of a directory with their ciphers and keys ([`status`]), and the
//! check that all are whole ([`verify`]). Both read stored files directly and never through
//! RocksDB, so they need no lock and change nothing; of a store in use they see one moment.
//! [`rotate`] brings all of them under the current key, data untouched. [`unseal`] makes a plain
//! store from a closed store, and [`Records`] reads its records.
//!
//! Not here: printing (`sealstone-cli`), repair (there is none: restore from a backup).

mod backup;
mod check;
mod content;
mod error;
mod file_state;
mod files_on_disk;
pub(crate) mod lack;
mod live_set;
mod missing_files;
mod records;
mod report;
mod rotate;
mod source;
mod status;
mod unseal;
mod verify;

pub(crate) use content::Contents;
pub use error::RestError;
pub use file_state::{Sealed, State};
pub(crate) use files_on_disk::StoredFile;
pub use missing_files::missing;
pub use records::{ReadError, Records, Selection};
pub use report::{ComparedWith, Comparison, Finding, Progress, Verification};
pub use rotate::{Protected, Rotation, RotationProgress, protected, rotate};
pub use source::SourceError;
pub use status::{FileStatus, Status, Total, status};
pub use unseal::{Unopened, UnsealError, Unsealed, unseal};
pub use verify::verify;
