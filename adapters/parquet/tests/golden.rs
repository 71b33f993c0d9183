//! A sealed Parquet file of every format version opens for ever. `vectors/formats/fields-v2.py`
//! made this file from docs/formats.md with pyarrow, without our code.

mod scene;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::Backend;
use sealstone_fields::pass::{Listener, OnMisfit, Plan, Work};
use sealstone_fields::{ColumnCipher, FileLayout, Keyed, Manifest, ManifestError};
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};
use sealstone_parquet::{BATCH_ROWS, Input, Pass};

const SEALED: &str = include_str!("../../../vectors/formats/fields-v2.parquet.hex");
const MANIFEST: &str = include_str!("../../../vectors/formats/fields-v2.parquet.sealed.toml");
const OPENED: [[&str; 5]; 3] = [
    ["1", "홍길동", "870605-1234567", "010-1234-5678", "first"],
    ["2", "홍길동", "000101-3000002", "010-8765-4321", ""],
    ["3", "이영희", "000101-1000002", "010-0000-0000", "세 번째"],
];

/// The key `golden`, version 1.
struct Golden([u8; 32]);

impl KeySource for Golden {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        Ok((KeyRef { id: "golden".into(), version: 1 }, Secret::from_bytes(&self.0)))
    }

    fn get(&self, _: &KeyRef) -> Result<Secret, KeyError> {
        Ok(Secret::from_bytes(&self.0))
    }

    fn describe(&self) -> String {
        "the test".into()
    }
}

/// Returns the bytes that `text`, hexadecimal digits in lines, stands for.
fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

fn keyed(first: u8) -> Keyed {
    Keyed::current(Arc::new(Golden(std::array::from_fn(|at| at as u8 + first)))).unwrap()
}

fn pass(manifest: &Manifest, work: Work, input: &[u8]) -> Vec<u8> {
    let plan = Plan { table: manifest.table.clone(), work };
    let stop = AtomicBool::new(false);
    let pass = Pass {
        plan: &plan,
        on_misfit: OnMisfit::Fail,
        threads: None,
        batch_rows: BATCH_ROWS,
        stop: &stop,
    };
    let mut listener = Listener { on_reject: &mut |_| Ok(()), on_progress: &mut |_| {} };
    let mut out = Vec::new();
    pass.run(&Input::new(scene::stored(input)).unwrap(), &mut out, None, &mut listener).unwrap();
    out
}

fn texts(row: &HashMap<String, String>) -> Vec<&str> {
    ["id", "이름", "rrn", "전화", "memo"].iter().map(|name| row[*name].trim_matches('"')).collect()
}

#[test]
fn a_file_of_version_2_opens() {
    let manifest = Manifest::parse(MANIFEST, Path::new("fields-v2.parquet.sealed.toml")).unwrap();
    assert_eq!(manifest.layout, FileLayout::Parquet);
    let (keyed, sealed) = (keyed(0), bytes(SEALED));
    manifest.check(MANIFEST, &keyed).unwrap();
    let mut mac = manifest.file_mac(&keyed).unwrap();
    mac.update(&sealed);
    assert!(manifest.is_of(mac, 3).unwrap());
    let ciphers = || -> Vec<ColumnCipher> {
        let cipher =
            |column| ColumnCipher::new(&manifest.table, column, &keyed, Backend::auto()).unwrap();
        manifest.table.columns.iter().map(cipher).collect()
    };
    let opened = pass(&manifest, Work::Open(ciphers()), &sealed);
    let rows = scene::rows(&opened);
    assert_eq!(rows.iter().map(texts).collect::<Vec<_>>(), OPENED);
    assert!(!rows[0].contains_key("memo_index"));
    // values without a nonce are sealed to the same again
    let (ours, theirs) =
        (scene::rows(&pass(&manifest, Work::Seal(ciphers()), &opened)), scene::rows(&sealed));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        for name in ["id", "이름", "rrn", "전화", "memo_index"] {
            assert_eq!(ours[name], theirs[name], "{name}");
        }
    }
    assert!(matches!(
        manifest.check(MANIFEST, &self::keyed(1)),
        Err(ManifestError::WrongKey { .. })
    ));
    for (from, to, is_manifest) in [
        ("rows = 3", "rows = 4", true),
        ("\"parquet\"", "\"orc\"", false),
        ("version = 2\n", "version = 1\n", false),
        ("version = 2\n", "version = 3\n", false),
    ] {
        let changed = MANIFEST.replacen(from, to, 1);
        assert_ne!(changed, MANIFEST, "{from}");
        let read = Manifest::parse(&changed, Path::new("changed"));
        assert_eq!(read.is_ok(), is_manifest, "{to}");
        if let Ok(manifest) = read {
            assert!(
                matches!(manifest.check(&changed, &keyed), Err(ManifestError::WrongKey { .. })),
                "{to}"
            );
        }
    }
}
