//! A toy store: records in memory, each value under the cipher of the layer `rest`. Its row is at
//! the top.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use sealstone_cipher::memory::Protected;
use sealstone_cipher::module::Module;
use sealstone_cipher::{Aead, aead};
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{
    BulkLoad, Counters, Engine, EngineError, EngineFacts, FieldPolicy, Layer, MemoryStore,
    OpenStore, Record, Row, Store, StoreError, StoreOptions, Table, Tables, Transactional, Tunnel,
    Upkeep, Variant,
};

pub(crate) static KIND: StoreKind = StoreKind {
    name: "toy",
    about: "a box with a lid",
    replicated: false,
    layers: &[Layer::Rest],
    rest_modes: None,
    server_rest: &[],
    on_volume: false,
    functions: &[],
    device: false,
    in_memory: true,
    cache_bytes_min: 0,
    cache_decided_by: None,
    shared_by: None,
    shared_by_variant: false,
    suited: "",
    settings: &[Setting {
        name: "lid",
        value: "WORD",
        help: "How the lid sits",
        form: Form::Text,
        excludes: &[],
    }],
    engine: |request: &Request| {
        let lid = request.setting("lid").unwrap_or("loose").to_owned();
        Ok(Opened { engine: Box::new(ToyEngine { lid }), notes: Vec::new() })
    },
};

/// The tables of a program that has this store alone.
pub(crate) struct Toys;

impl Tables for Toys {
    fn stores(&self) -> &'static [&'static StoreKind] {
        static STORES: &[&StoreKind] = &[&KIND];
        STORES
    }

    fn store(&self, name: &str) -> Result<&'static StoreKind, EngineError> {
        self.stores()
            .iter()
            .find(|kind| kind.name == name)
            .copied()
            .ok_or_else(|| format!("no store {name}").into())
    }

    fn tls(&self) -> Option<Tunnel> {
        None
    }

    fn tunnels(&self, _: &[String], _: &[String]) -> Result<Vec<Tunnel>, EngineError> {
        Ok(Vec::new())
    }

    fn check_link(&self, name: &str) -> Result<(), EngineError> {
        Err(format!("no link {name}").into())
    }

    fn module(&self, name: &str) -> Result<&'static dyn Module, EngineError> {
        Err(format!("no module {name}").into())
    }

    fn field_policy(&self, file: &Path) -> Result<std::sync::Arc<dyn FieldPolicy>, EngineError> {
        Err(format!("no columns to seal by {}", file.display()).into())
    }
}

struct ToyEngine {
    lid: String,
}

impl Engine for ToyEngine {
    fn facts(&self) -> EngineFacts {
        let settings = [("lid".to_owned(), self.lid.clone())].into();
        EngineFacts {
            name: KIND.name.into(),
            version: "1".into(),
            build: "test".into(),
            settings,
            ..EngineFacts::default()
        }
    }

    fn open(&self, variant: &Variant, _: &Path, _: &StoreOptions) -> Result<OpenStore, StoreError> {
        let seal = variant.own_rest().map(|choice| {
            aead(choice.cipher, &vec![7; choice.cipher.key_bytes], choice.provider)
                .map_err(StoreError::engine)
        });
        let store = ToyStore {
            inner: MemoryStore::new(),
            seal: seal.transpose()?,
            sealed_bytes: AtomicU64::new(0),
        };
        Ok(OpenStore::records(store))
    }
}

struct ToyStore {
    inner: MemoryStore,
    seal: Option<Protected<dyn Aead>>,
    sealed_bytes: AtomicU64,
}

impl ToyStore {
    /// Seals and opens `record` under a nonce that is never used for anything that matters: this is
    /// a toy.
    fn through_the_seal(&self, record: &Record) -> Result<(), StoreError> {
        let Some(seal) = &self.seal else { return Ok(()) };
        let (nonce, mut bytes) = (vec![0; seal.nonce_bytes()], record.joined().to_vec());
        let tag = seal.seal(&nonce, b"toy", &mut bytes).map_err(StoreError::engine)?;
        assert_ne!(bytes, record.joined());
        seal.open(&nonce, b"toy", &mut bytes, &tag).map_err(StoreError::engine)?;
        assert_eq!(bytes, record.joined());
        self.sealed_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

impl Store for ToyStore {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        let found = self.inner.read(table, key, fields, into)?;
        self.through_the_seal(into)?;
        Ok(found)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.through_the_seal(record)?;
        self.inner.insert(table, key, record)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(key, record)| self.insert(table, key, record))
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        self.inner.scan(table, start, count, each)
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        self.inner.update(table, key, changes)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        self.inner.delete(table, key)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        None
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        None
    }
}

impl Upkeep for ToyStore {
    fn disk_bytes(&self) -> Result<u64, StoreError> {
        self.inner.disk_bytes()
    }

    fn counters(&self) -> Counters {
        let bytes = self.sealed_bytes.load(Ordering::Relaxed);
        Counters { encrypted_bytes: bytes, decrypted_bytes: bytes, ..Counters::default() }
    }
}
