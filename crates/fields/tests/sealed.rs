//! A store with sealed columns behaves like the store itself, and the store below shows nothing of
//! them.

use std::sync::Arc;

use sealstone_cipher::{cipher, ciphers};
use sealstone_fields::policy::Policy;
use sealstone_fields::{FieldLayer, Keyed, LayerError, Sealed, SealedEngine};
use sealstone_keys::EphemeralKey;
use sealstone_store::{
    Choice, Engine, EngineFacts, Field, Kind, MemoryStore, Meter, OpenStore, Record, Row, Store,
    StoreError, StoreOptions, Table, Variant,
};

const POLICY: &str = r#"
    [tables.people.columns.phone]
    method = "ff1"
    format = "phone"
    index = { bits = 32 }
    [tables.people.columns.memo]
    method = "aead"
    tweak = "row:id"
    empty = "keep"
"#;

fn table(name: &str, fields: &[(&str, Kind)]) -> Arc<Table> {
    let field = |(name, kind): &(&str, Kind)| Field { name: (*name).into(), kind: *kind };
    Arc::new(Table { id: 3, name: name.into(), fields: fields.iter().map(field).collect() })
}

fn people() -> Arc<Table> {
    table("people", &[("id", Kind::Integer), ("phone", Kind::Text), ("memo", Kind::Text)])
}

fn layer(policy: Option<&str>) -> FieldLayer {
    let policy = policy.map(|text| Policy::from_toml(text, "fields.toml".as_ref()).unwrap());
    FieldLayer::new(policy, Keyed::current(Arc::new(EphemeralKey::new().unwrap())).unwrap())
}

fn sealed(table: &Arc<Table>, policy: Option<&str>, name: &str) -> Sealed<MemoryStore> {
    let tables =
        layer(policy).tables(std::slice::from_ref(table), &Choice::auto(cipher(name).unwrap()));
    Sealed::new(MemoryStore::new(), tables.unwrap())
}

fn record(values: &[&str]) -> Record {
    let mut record = Record::new();
    values.iter().for_each(|value| record.push(value.as_bytes()));
    record
}

fn person(number: u64) -> Row {
    let (id, phone) = (number.to_string(), format!("010-{:04}-{:04}", number * 7 % 10_000, number));
    let memo = if number.is_multiple_of(5) { String::new() } else { format!("memo {number}") };
    (format!("user{number:05}").into_bytes(), record(&[&id, &phone, &memo]))
}

fn texts(record: &Record) -> Vec<String> {
    record.iter().map(|value| String::from_utf8(value.to_vec()).unwrap()).collect()
}

/// Returns the values of `key` as `store` returns them.
fn read(
    store: &dyn Store,
    table: &Table,
    key: &[u8],
    fields: Option<&[usize]>,
) -> Option<Vec<String>> {
    let mut into = record(&["left", "over"]);
    store.read(table, key, fields, &mut into).unwrap().then(|| texts(&into))
}

/// Returns every record in key order.
fn all(store: &dyn Store, table: &Table) -> Vec<(Vec<u8>, Vec<String>)> {
    let mut rows = Vec::new();
    store
        .scan(table, b"", 10_000, &mut |key, record| rows.push((key.to_vec(), texts(record))))
        .unwrap();
    rows
}

#[test]
fn a_sealed_store_returns_what_was_written_by_every_way_in_and_out() {
    let table = people();
    let (store, rows) =
        (sealed(&table, Some(POLICY), "aria-256"), (0..5_000).map(person).collect::<Vec<Row>>());
    store.insert(&table, &rows[0].0, &rows[0].1).unwrap();
    store.insert_many(&table, &rows[1..100]).unwrap();
    let body = &mut |transaction: &mut dyn sealstone_store::Transaction| {
        rows[100..200].iter().try_for_each(|(key, record)| transaction.put(&table, key, record))?;
        let mut own = Record::new();
        assert!(transaction.read(&table, &rows[150].0, true, &mut own)? && own == rows[150].1);
        assert!(!transaction.read(&table, b"nobody", false, &mut own)?);
        Ok(())
    };
    store.transactional().unwrap().transaction(body).unwrap();
    assert_eq!(
        store.bulk().unwrap().bulk_load(&table, &mut rows[200..].iter().cloned()).unwrap(),
        4_800
    );

    let wanted: Vec<(Vec<u8>, Vec<String>)> =
        rows.iter().map(|(key, record)| (key.clone(), texts(record))).collect();
    assert_eq!(all(&store, &table), wanted);
    let (key, values) = &wanted[321];
    assert_eq!(read(&store, &table, key, None).as_ref(), Some(values));
    let some = |fields: &[usize]| read(&store, &table, key, Some(fields)).unwrap();
    assert_eq!(
        some(&[2, 1]),
        [values[2].clone(), values[1].clone()],
        "the row of memo is not among them"
    );
    assert_eq!((some(&[0]), some(&[])), (vec![values[0].clone()], Vec::new()));
    assert_eq!(read(&store, &table, b"nobody", None), None);
    store.delete(&table, key).unwrap();
    assert_eq!(read(&store, &table, key, None), None);

    let counters = store.counters();
    assert!(
        counters.encrypted_bytes > 10_000
            && counters.decrypted_bytes > 10_000
            && counters.cipher_cpu_s > 0.0
    );
}

#[test]
fn below_lies_nothing_but_what_the_policy_says() {
    let table = people();
    let (store, rows) =
        (sealed(&table, Some(POLICY), "aes-256"), (0..300).map(person).collect::<Vec<Row>>());
    store.insert_many(&table, &rows).unwrap();
    for ((key, stored), (_, clear)) in all(store.inner(), &table).iter().zip(&rows) {
        let clear = texts(clear);
        assert_eq!(stored[0], clear[0], "a column that is not sealed stays as it is");
        assert!(
            stored[1] != clear[1]
                && stored[1].len() == clear[1].len()
                && stored[1].starts_with("010-")
        );
        assert_eq!(stored[2].is_empty(), clear[2].is_empty(), "{}", String::from_utf8_lossy(key));
        // the whole value: four letters of it turn up by chance in one run of some seven hundred
        assert!(clear[2].is_empty() || !stored[2].contains(&clear[2]), "{stored:?}");
        assert_eq!(stored[3].len(), 8, "{stored:?}");
    }
    // the index follows the value, and equal values have equal indexes
    store.update(&table, b"user00001", &[(1, b"010-1111-2222")]).unwrap();
    store.update(&table, b"user00002", &[(1, b"010-9999-9999"), (1, b"010-1111-2222")]).unwrap();
    let of = |key: &[u8]| read(store.inner(), &table, key, None).unwrap();
    let (one, two) = (of(b"user00001"), of(b"user00002"));
    assert_eq!((&one[1], &one[3]), (&two[1], &two[3]));
    assert_ne!(one[3], of(b"user00003")[3]);
    assert_eq!(read(&store, &table, b"user00002", Some(&[1])).unwrap(), ["010-1111-2222"]);
}

#[test]
fn a_value_stays_bound_to_its_row_whatever_is_changed() {
    let table = people();
    let store = sealed(&table, Some(POLICY), "aes-256");
    let (key, clear) = person(7);
    store.insert(&table, &key, &clear).unwrap();
    let phone = texts(&clear)[1].clone();
    for (changes, wanted) in [
        (&[(2, &b"another"[..])][..], ["7", phone.as_str(), "another"]),
        (&[(0, b"8")], ["8", &phone, "another"]),
        (&[(0, b"9"), (2, b"third"), (0, b"10")], ["10", &phone, "third"]),
    ] {
        assert!(store.update(&table, &key, changes).unwrap());
        assert_eq!(read(&store, &table, &key, None).unwrap(), wanted);
    }
    assert!(!store.update(&table, b"nobody", &[(2, b"x")]).unwrap());
    // as of another row it does not open
    let other = person(8);
    store.insert(&table, &other.0, &other.1).unwrap();
    let foreign = read(store.inner(), &table, &key, Some(&[2])).unwrap();
    store.inner().update(&table, &other.0, &[(2, foreign[0].as_bytes())]).unwrap();
    let mut into = Record::new();
    let error = store.read(&table, &other.0, None, &mut into).unwrap_err();
    assert!(matches!(error, StoreError::Stored { .. }) && into.is_empty(), "{error}");
    assert!(
        error.to_string().contains("has a value of memo under key user00008 that does not open: "),
        "{error}"
    );
    assert!(store.scan(&table, b"", 9, &mut |_, _| ()).is_err());
}

#[test]
fn what_does_not_fit_is_written_nowhere_and_named_without_its_value() {
    let table = people();
    let store = sealed(&table, Some(POLICY), "aes-256");
    let wrong = record(&["1", "geheim", ""]);
    let refused = |outcome: Result<(), StoreError>| {
        let error = outcome.unwrap_err().to_string();
        assert!(error.starts_with("cannot write to table people: phone of record "), "{error}");
        assert!(!error.contains("geheim") && error.lines().count() == 2, "{error}");
    };
    refused(store.insert(&table, b"user1", &wrong));
    refused(store.insert_many(&table, &[person(1), (b"user2".to_vec(), wrong.clone())]));
    refused(store.update(&table, b"user1", &[(1, b"geheim")]).map(drop));
    let rows = (0..3_000).map(|number| match number {
        2_500 => (person(number).0, wrong.clone()),
        _ => person(number),
    });
    refused(store.bulk().unwrap().bulk_load(&table, &mut rows.into_iter()).map(drop));
    refused(
        store
            .bulk()
            .unwrap()
            .bulk_load(&table, &mut [(b"a".to_vec(), wrong)].into_iter())
            .map(drop),
    );
    assert_eq!(all(store.inner(), &table), []);
    let mut bytes = record(&["1", "010-1234-5678"]);
    bytes.push(b"\xff");
    let error = store.insert(&table, b"user1", &bytes).unwrap_err().to_string();
    assert!(
        error.contains("memo of record user1 cannot be sealed: it is not UTF-8 text"),
        "{error}"
    );
    let error = store.insert(&table, b"user1", &record(&["1"])).unwrap_err().to_string();
    assert_eq!(error, "cannot write to table people: 1 values for 3 fields");
    // a load out of order is that of the inner store
    let rows = [person(2), person(1)];
    let error = store.bulk().unwrap().bulk_load(&table, &mut rows.into_iter()).unwrap_err();
    assert!(matches!(error, StoreError::Order { row: 2, .. }), "{error}");
}

#[test]
fn without_a_policy_everything_is_sealed_with_every_cipher() {
    let table = table("usertable", &[("field0", Kind::Bytes), ("n", Kind::Integer)]);
    for row in ciphers() {
        let store = sealed(&table, None, row.name);
        store.insert(&table, b"k", &record(&["Kim", ""])).unwrap();
        assert_eq!(read(&store, &table, b"k", None).unwrap(), ["Kim", ""]);
        let stored = read(store.inner(), &table, b"k", None).unwrap();
        assert!(stored[0].len() > 60 && stored[1].is_empty(), "{}: {stored:?}", row.name);
    }
}

#[test]
fn a_policy_that_does_not_fit_is_refused_with_the_nearest_name() {
    let refused = |policy: &str, tables: &[Arc<Table>]| {
        layer(Some(policy)).check(tables).unwrap_err().to_string()
    };
    let people = people();
    let column = |name: &str, more: &str| {
        format!("[tables.people.columns.{name}]\nmethod = \"aead\"\n{more}")
    };
    let error = refused(&column("pone", ""), std::slice::from_ref(&people));
    assert!(error.starts_with(
        "the policy seals pone, which is no column of table people; did you mean phone?\n"
    ));
    assert!(
        error.contains("its columns: id, phone, memo; the key of a record is none of them"),
        "{error}"
    );
    let error = refused(&column("memo", "tweak = \"row:idd\""), std::slice::from_ref(&people));
    assert!(error.starts_with(
        "the policy binds memo to idd, which is no column of table people; did you mean id?"
    ));
    let error =
        refused(&column("memo", "index = { name = \"phone\" }"), std::slice::from_ref(&people));
    assert!(error.starts_with(
        "the policy calls the index of memo phone, and table people has a column of that name"
    ));
    // one table is that of the records, whatever it is called; of several it must be named
    let other = table("accounts", &[("memo", Kind::Text)]);
    assert_eq!(
        layer(Some(&column("memo", ""))).check(std::slice::from_ref(&other)).unwrap(),
        "accounts: memo (aead)"
    );
    let two = [other, table("branches", &[("memo", Kind::Text)])];
    let error = refused(&column("memo", ""), &two);
    assert!(
        error.starts_with(
            "the policy has table people, and the data set has tables accounts, branches\n"
        ),
        "{error}"
    );
    let none =
        layer(Some(&column("memo", ""))).tables(&[people], &Choice::auto(cipher("hight").unwrap()));
    assert!(none.is_ok(), "aead takes any cipher");
    let phones = "[tables.people.columns.phone]\nmethod = \"ff1\"\nformat = \"phone\"";
    let error = layer(Some(phones))
        .tables(&[self::people()], &Choice::auto(cipher("hight").unwrap()))
        .unwrap_err();
    assert!(
        matches!(error, LayerError::Policy(_))
            && error.to_string().contains("hight has blocks of 8 bytes")
    );
}

/// Opens stores in memory, and remembers the table of the last one.
#[derive(Default)]
struct InMemory(Arc<std::sync::Mutex<Option<Arc<Table>>>>);

impl Engine for InMemory {
    fn facts(&self) -> EngineFacts {
        EngineFacts::default()
    }

    fn open(
        &self,
        _: &Variant,
        _: &std::path::Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        *self.0.lock().unwrap() = options.tables.first().cloned();
        Ok(OpenStore::records(MemoryStore::new()))
    }
}

#[test]
fn an_engine_seals_for_the_variants_that_say_so() {
    let (below, table) = (InMemory::default(), people());
    let seen = Arc::clone(&below.0);
    let engine = SealedEngine::new(Box::new(below), layer(Some(POLICY)));
    let options = StoreOptions { cache_bytes: 0, tables: vec![table.clone()], sync_writes: false };
    let choice = Choice::auto(cipher("aes-256").unwrap());
    for (variant, fields) in [
        (Variant::plain("none"), 3),
        (Variant { field: Some(choice), ..Variant::plain("aes-256") }, 4),
        (Variant::plain("none"), 3),
    ] {
        let store = engine.open(&variant, "here".as_ref(), &options).unwrap();
        let (key, clear) = person(4);
        let records = store.target().records("a test").unwrap();
        records.insert(&table, &key, &clear).unwrap();
        assert_eq!(read(records, &table, &key, None).unwrap(), texts(&clear));
        assert_eq!(
            seen.lock().unwrap().as_ref().unwrap().fields.len(),
            fields,
            "{}",
            variant.label
        );
        let counters = store.counters();
        assert_eq!(
            counters.encrypted_bytes > 0 && counters.decrypted_bytes > 0,
            fields == 4,
            "{}",
            variant.label
        );
        assert!(store.upkeep().disk_bytes().unwrap() > 0, "upkeep is that of the store below");
    }
    assert_eq!(engine.facts().settings["sealed columns"], "people: memo (aead), phone (ff1:phone)");
    let other =
        StoreOptions { tables: vec![self::table("people", &[("name", Kind::Text)])], ..options };
    let error =
        engine.open(&Variant::plain("none"), "here".as_ref(), &other).err().unwrap().to_string();
    assert!(
        error.starts_with("the policy seals memo, which is no column of table people"),
        "{error}"
    );
}

/// The advice across places treats a policy like no policy if it seals every column, authenticated,
/// and nothing shows which values are equal.
#[test]
fn a_policy_that_seals_every_column_is_known() {
    let all = |columns: &[(&str, &str)]| {
        let tables = [people()];
        let text =
            |(name, rest): &(&str, &str)| format!("[tables.people.columns.{name}]\n{rest}\n");
        let text: String = columns.iter().map(text).collect();
        let policy = Policy::from_toml(&text, "fields.toml".as_ref()).unwrap();
        FieldLayer::seals_everything(&policy, &tables)
    };
    let aead = "method = \"aead\"";
    assert!(all(&[("id", aead), ("phone", aead), ("memo", aead)]).unwrap());
    assert!(!all(&[("phone", aead), ("memo", aead)]).unwrap());
    assert!(
        !all(&[("id", aead), ("phone", "method = \"ff1\"\nformat = \"phone\""), ("memo", aead)])
            .unwrap()
    );
    assert!(
        !all(&[("id", aead), ("phone", "method = \"aead\"\nindex = true"), ("memo", aead)])
            .unwrap()
    );
    assert!(all(&[("nothing", aead)]).is_err());
}
