//! A toy workload: reads of a few records, one after the other. Its row is at the top.

use std::sync::Arc;
use std::time::Instant;

use sealstone_bench::workload::{
    Client, Data, Done, Position, Recorder, Setting, SizedBy, Spec, Unit, Workload, split,
};
use sealstone_store::{Field, Kind, Record, StoreError, Table, Target};

pub(crate) static SPEC: Spec = Spec {
    name: "toy",
    base: "toy",
    label: "reads of a few records",
    setting: Setting::Warm,
    settings: &[],
    description: "reads a few records again and again",
    unit: Unit::Operations,
    dataset: "toy",
    clients: None,
    device: false,
    cold: false,
    from_empty: false,
    sized_by: SizedBy::Records,
    checks_values: false,
    cache_hits_min: 0.0,
    remark: None,
};

const ROWS: u64 = 100;

pub(crate) struct Toy {
    tables: [Arc<Table>; 1],
    operations: u64,
}

impl Toy {
    pub(crate) fn new(data: &Data) -> Self {
        let fields = vec![Field { name: "value".into(), kind: Kind::Text }];
        Self {
            tables: [Arc::new(Table { id: 1, name: "toys".into(), fields })],
            operations: data.operations,
        }
    }
}

impl Workload for Toy {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    fn load_rows(&self) -> u64 {
        ROWS
    }

    fn load(
        &self,
        target: Target<'_>,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError> {
        let store = target.records("loading")?;
        for number in split(ROWS, part, parts) {
            let mut record = Record::new();
            record.push(&[b'v'; 100]);
            store.insert(&self.tables[0], &number.to_be_bytes(), &record)?;
            progress(1);
        }
        Ok(())
    }

    fn operations(&self) -> u64 {
        self.operations
    }

    fn client(&self, at: Position) -> Box<dyn Client> {
        let first = at.share(self.operations).start;
        Box::new(Reader { table: Arc::clone(&self.tables[0]), next: first, record: Record::new() })
    }
}

struct Reader {
    table: Arc<Table>,
    next: u64,
    record: Record,
}

impl Client for Reader {
    fn next(
        &mut self,
        target: Target<'_>,
        recorder: &mut dyn Recorder,
    ) -> Result<Done, StoreError> {
        let start = Instant::now();
        let found = target.records(SPEC.name)?.read(
            &self.table,
            &(self.next % ROWS).to_be_bytes(),
            None,
            &mut self.record,
        )?;
        recorder.record("read", start);
        assert!(found);
        self.next += 1;
        Ok(Done { rows: 1, bytes: self.record.bytes() as u64 })
    }
}
