//! A file with sealed columns of every format version opens for ever.
//! `vectors/formats/fields-v1.py` made this file from docs/formats.md and SP 800-38G, without our
//! code.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::Backend;
use sealstone_fields::csv::{CHUNK_BYTES, Pass};
use sealstone_fields::pass::{Listener, OnMisfit, Plan, Work};
use sealstone_fields::{ColumnCipher, FileLayout, Keyed, Manifest, ManifestError};
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};

const SEALED: &[u8] = include_bytes!("../../../vectors/formats/fields-v1.csv");
const MANIFEST: &str = include_str!("../../../vectors/formats/fields-v1.csv.sealed.toml");
const OPENED: &str = "id,이름,rrn,전화,memo\n\
                      1,홍길동,870605-1234567,010-1234-5678,first\n\
                      2,홍길동,000101-3000002,010-8765-4321,\n\
                      3,이영희,000101-1000002,010-0000-0000,세 번째\n";

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

fn keyed(first: u8) -> Keyed {
    Keyed::current(Arc::new(Golden(std::array::from_fn(|at| at as u8 + first)))).unwrap()
}

/// Does `work` to `input`; returns the result, and whether it was the file of the manifest.
fn pass(manifest: &Manifest, keyed: &Keyed, work: Work, input: &[u8]) -> (Vec<u8>, bool) {
    let plan = Plan { table: manifest.table.clone(), work };
    let stop = AtomicBool::new(false);
    let FileLayout::Csv(layout) = manifest.layout else { panic!("not a CSV file") };
    let pass = Pass {
        plan: &plan,
        layout,
        on_misfit: OnMisfit::Fail,
        threads: None,
        chunk_bytes: CHUNK_BYTES,
        stop: &stop,
    };
    let mut listener = Listener { on_reject: &mut |_| Ok(()), on_progress: &mut |_| {} };
    let (mut out, mut mac) = (Vec::new(), manifest.file_mac(keyed).unwrap());
    let counts = pass.run(input, &mut out, Some(&mut mac), None, &mut listener).unwrap();
    let is_of = manifest.is_of(mac, counts.rows);
    (out, is_of.unwrap())
}

fn ciphers(manifest: &Manifest, keyed: &Keyed) -> Vec<ColumnCipher> {
    let cipher =
        |column| ColumnCipher::new(&manifest.table, column, keyed, Backend::auto()).unwrap();
    manifest.table.columns.iter().map(cipher).collect()
}

#[test]
fn a_file_of_version_1_opens() {
    let manifest = Manifest::parse(MANIFEST, Path::new("fields-v1.csv.sealed.toml")).unwrap();
    let keyed = keyed(0);
    manifest.check(MANIFEST, &keyed).unwrap();
    let (opened, is_of) = pass(&manifest, &keyed, Work::Open(ciphers(&manifest, &keyed)), SEALED);
    assert_eq!(String::from_utf8(opened).unwrap(), OPENED);
    assert!(is_of);
    // values without a nonce are sealed to the same again
    let (sealed, _) =
        pass(&manifest, &keyed, Work::Seal(ciphers(&manifest, &keyed)), OPENED.as_bytes());
    let row = |text: &[u8], at: usize| -> Vec<String> {
        let text = String::from_utf8(text.to_vec()).unwrap();
        text.lines().nth(at).unwrap().split(',').map(str::to_owned).collect()
    };
    for at in 0..4 {
        let (ours, theirs) = (row(&sealed, at), row(SEALED, at));
        assert_eq!((&ours[..4], &ours[5]), (&theirs[..4], &theirs[5]), "row {at}");
    }
    assert!(matches!(
        manifest.check(MANIFEST, &self::keyed(1)),
        Err(ManifestError::WrongKey { .. })
    ));
    for (from, to) in [
        ("rows = 3", "rows = 4"),
        ("\"rrn\"", "\"rrn:keep-birth\""),
        ("= \",\"", "= \";\""),
        ("bits = 24", "bits = 28"),
    ] {
        let changed = MANIFEST.replacen(from, to, 1);
        assert_ne!(changed, MANIFEST, "{from}");
        let manifest = Manifest::parse(&changed, Path::new("changed")).unwrap();
        assert!(
            matches!(manifest.check(&changed, &keyed), Err(ManifestError::WrongKey { .. })),
            "{to}"
        );
    }
}
