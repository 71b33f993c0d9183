//! Forwarding: what a store around another one passes on to it unchanged. Not here: such stores.

/// The methods of [`Store`](crate::Store) that a store around another one passes on, inside its `impl Store`: what the
/// methods call `self`, the inner store, and the methods.
///
/// Each method is named where it is passed on, since none may be by default: a store that seals would let records by
/// that it does not know of.
///
/// ```
/// use sealstone_store::{MemoryStore, Record, Store, StoreError, Table, forward};
///
/// /// A store that loses nothing.
/// struct Hoarder(MemoryStore);
///
/// impl Store for Hoarder {
///     forward!(self => self.0; read, scan, insert, insert_many, update, counters, disk_bytes);
///
///     fn delete(&self, _: &Table, _: &[u8]) -> Result<(), StoreError> {
///         Ok(())
///     }
/// }
///
/// let store = Hoarder(MemoryStore::new());
/// let table = Table { id: 0, name: "things".into(), fields: Vec::new() };
/// store.insert(&table, b"1", &Record::new())?;
/// store.delete(&table, b"1")?;
/// assert!(store.read(&table, b"1", None, &mut Record::new())?);
/// # Ok::<(), StoreError>(())
/// ```
#[macro_export]
macro_rules! forward {
    ($self:ident => $inner:expr; $($method:ident),+ $(,)?) => {
        $($crate::forward!(@$method $self $inner);)+
    };
    (@read $self:ident $inner:expr) => {
        fn read(
            &$self,
            table: &$crate::Table,
            key: &[u8],
            fields: Option<&[usize]>,
            into: &mut $crate::Record,
        ) -> Result<bool, $crate::StoreError> {
            $inner.read(table, key, fields, into)
        }
    };
    (@scan $self:ident $inner:expr) => {
        fn scan(
            &$self,
            table: &$crate::Table,
            start: &[u8],
            count: usize,
            each: &mut dyn FnMut(&[u8], &$crate::Record),
        ) -> Result<usize, $crate::StoreError> {
            $inner.scan(table, start, count, each)
        }
    };
    (@insert $self:ident $inner:expr) => {
        fn insert(
            &$self,
            table: &$crate::Table,
            key: &[u8],
            record: &$crate::Record,
        ) -> Result<(), $crate::StoreError> {
            $inner.insert(table, key, record)
        }
    };
    (@insert_many $self:ident $inner:expr) => {
        fn insert_many(&$self, table: &$crate::Table, rows: &[$crate::Row]) -> Result<(), $crate::StoreError> {
            $inner.insert_many(table, rows)
        }
    };
    (@update $self:ident $inner:expr) => {
        fn update(
            &$self,
            table: &$crate::Table,
            key: &[u8],
            changes: &[(usize, &[u8])],
        ) -> Result<bool, $crate::StoreError> {
            $inner.update(table, key, changes)
        }
    };
    (@delete $self:ident $inner:expr) => {
        fn delete(&$self, table: &$crate::Table, key: &[u8]) -> Result<(), $crate::StoreError> {
            $inner.delete(table, key)
        }
    };
    (@counters $self:ident $inner:expr) => {
        fn counters(&$self) -> $crate::Counters {
            $inner.counters()
        }
    };
    (@disk_bytes $self:ident $inner:expr) => {
        fn disk_bytes(&$self) -> Result<u64, $crate::StoreError> {
            $inner.disk_bytes()
        }
    };
    (@quiesce $self:ident $inner:expr) => {
        fn quiesce(&$self) -> Result<(), $crate::StoreError> {
            $inner.quiesce()
        }
    };
    (@merge_layers $self:ident $inner:expr) => {
        fn merge_layers(&$self) -> Result<(), $crate::StoreError> {
            $inner.merge_layers()
        }
    };
    (@drop_caches $self:ident $inner:expr) => {
        fn drop_caches(&$self) -> Result<(), $crate::StoreError> {
            $inner.drop_caches()
        }
    };
    (@lead_in $self:ident $inner:expr) => {
        fn lead_in(&$self) -> ::std::time::Duration {
            $inner.lead_in()
        }
    };
    (@servers $self:ident $inner:expr) => {
        fn servers(&$self) -> Vec<u32> {
            $inner.servers()
        }
    };
    (@bulk $self:ident $inner:expr) => {
        fn bulk(&$self) -> Option<&dyn $crate::BulkLoad> {
            $inner.bulk()
        }
    };
    (@transactional $self:ident $inner:expr) => {
        fn transactional(&$self) -> Option<&dyn $crate::Transactional> {
            $inner.transactional()
        }
    };
    (@device $self:ident $inner:expr) => {
        fn device(&$self) -> Option<&dyn $crate::device::Device> {
            $inner.device()
        }
    };
    (@stream $self:ident $inner:expr) => {
        fn stream(&$self) -> Option<&dyn $crate::device::Device> {
            $inner.stream()
        }
    };
}
