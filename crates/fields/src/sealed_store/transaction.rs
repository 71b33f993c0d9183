//! Transactions with sealed columns: reads are opened, writes are sealed, within the inner store's
//! own transactions.

use sealstone_store::{Record, Store, StoreError, Table, Transaction, Transactional};

use super::Sealed;

impl<S: Store> Transactional for Sealed<S> {
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let lacks = || StoreError::Lacks { caller: "a transaction", ability: "transactions" };
        let inner = self.inner.transactional().ok_or_else(lacks)?;
        inner.transaction(&mut |inner| body(&mut SealedTransaction { store: self, inner }))
    }
}

struct SealedTransaction<'a, S> {
    store: &'a Sealed<S>,
    inner: &'a mut dyn Transaction,
}

impl<S: Store> Transaction for SealedTransaction<'_, S> {
    fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        let Some(sealed) = self.store.table(table) else {
            return self.inner.read(table, key, for_update, into);
        };
        if !self.inner.read(sealed.stored(), key, for_update, into)? {
            return Ok(false);
        }
        let asked = sealed.asked(None);
        let opened = self.store.work.open(into, || sealed.open(&[(key, &*into)], &asked));
        into.clear();
        into.copy_from(&opened?[0]);
        Ok(true)
    }

    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let Some(sealed) = self.store.table(table) else {
            return self.inner.put(table, key, record);
        };
        let stored = self.store.work.seal(record.bytes(), 1, || sealed.seal(&[(key, record)]))?;
        self.inner.put(sealed.stored(), key, &stored[0])
    }
}
