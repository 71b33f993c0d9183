//! What the workloads of one comparison share: the settings, the source of records, and for each kind of data set one
//! that all of its workloads use. Not here: what a data set is (`ycsb`, `batch`).

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::data::Data;
use super::error::Error;
use super::records::Records;

/// What the workloads of one comparison share, made when first needed.
pub(super) struct Sources<'a> {
    pub(super) data: &'a Data,
    made: RefCell<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(data: &'a Data) -> Self {
        Self { data, made: RefCell::default() }
    }

    /// The one `T` of this comparison, made by `make` the first time.
    pub(super) fn shared<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let made = self.made.borrow().get(&TypeId::of::<T>()).cloned();
        let value = match made {
            Some(value) => value,
            None => {
                let value: Arc<dyn Any + Send + Sync> = Arc::new(make(self)?);
                self.made.borrow_mut().insert(TypeId::of::<T>(), Arc::clone(&value));
                value
            }
        };
        Ok(value.downcast().expect("values are kept under their own type"))
    }

    /// The source of records that is asked for.
    pub(super) fn records(&self) -> Result<Arc<Records>, Error> {
        self.shared(|sources| {
            Ok(match &sources.data.records_from {
                Some(path) => Records::from_csv(path)?,
                None => Records::ycsb(sources.data.seed),
            })
        })
    }
}
