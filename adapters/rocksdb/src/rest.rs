//! Data at rest: what in a directory is sealed, how and under which key ([`status`]), and whether
//! all of it is whole ([`verify`]). Both read stored files as they are and never through RocksDB,
//! so they need no lock and change nothing; of a store in use they see one moment. [`rotate`]
//! brings all of it under the current key, data untouched. [`unseal`] makes a plain store of a
//! closed one, and [`Records`] reads what is in it.
//!
//! Not here: printing (`sealstone-cli`), repair (there is none: restore from a backup).

mod backup;
mod check;
mod content;
mod error;
mod file_state;
pub(crate) mod lack;
mod live_set;
mod records;
mod report;
mod rotate;
mod source;
mod status;
mod stored;
mod unseal;
mod verify;

pub(crate) use content::Contents;
pub use error::RestError;
pub use file_state::{Sealed, State};
pub use records::{ReadError, Records, Selection};
pub use report::{AnchorCheck, ComparedWith, Comparison, Finding, Progress, Verification};
pub use rotate::{Protected, Rotation, RotationProgress, protected, rotate};
pub use source::SourceError;
pub use status::{FileStatus, Status, Total, status};
pub(crate) use stored::StoredFile;
pub use unseal::{Unopened, UnsealError, Unsealed, unseal};
pub use verify::verify;
