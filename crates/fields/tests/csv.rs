//! CSV files in memory: a sealed file differs in the sealed columns only, and opens to the same
//! bytes.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::{Backend, cipher};
use sealstone_fields::csv::{CHUNK_BYTES, CsvError, Encoding, Layout, Pass};
use sealstone_fields::pass::{Counts, Listener, OnMisfit, Plan, Work};
use sealstone_fields::policy::{Column, ColumnOptions, Table, Tweak};
use sealstone_fields::{ColumnCipher, Keyed};
use sealstone_keys::{EphemeralKey, KeySource};

struct Scene {
    table: Table,
    keyed: Keyed,
    layout: Layout,
    on_misfit: OnMisfit,
    chunk_bytes: usize,
}

/// Result of a pass: the file, the counts, and the reasons with their lines.
type Outcome = Result<(Vec<u8>, Counts, Vec<String>), CsvError>;

impl Scene {
    fn new(columns: &[(&str, ColumnOptions)]) -> Self {
        let columns =
            columns.iter().map(|(spec, options)| Column::parse(spec, options).unwrap()).collect();
        let source: Arc<dyn KeySource> = Arc::new(EphemeralKey::new().unwrap());
        Self {
            table: Table::new("people", cipher("aes-256").unwrap(), columns).unwrap(),
            keyed: Keyed::current(source).unwrap(),
            layout: Layout { delimiter: b',', encoding: Encoding::Utf8 },
            on_misfit: OnMisfit::Fail,
            chunk_bytes: CHUNK_BYTES,
        }
    }

    fn ciphers(&self) -> Vec<ColumnCipher> {
        let cipher =
            |column| ColumnCipher::new(&self.table, column, &self.keyed, Backend::auto()).unwrap();
        self.table.columns.iter().map(cipher).collect()
    }

    fn pass(&self, work: Work, input: &[u8]) -> Outcome {
        let plan = Plan { table: self.table.clone(), work };
        let stop = AtomicBool::new(false);
        let threads = NonZeroUsize::new(3);
        let pass = Pass {
            plan: &plan,
            layout: self.layout,
            on_misfit: self.on_misfit,
            threads,
            chunk_bytes: self.chunk_bytes,
            stop: &stop,
        };
        let (mut out, mut reasons) = (Vec::new(), Vec::new());
        let mut on_reject = |reject: &sealstone_fields::pass::Reject| {
            reasons.push(format!("{} {}: {}", reject.place, reject.column, reject.misfit));
            Ok(())
        };
        let mut listener = Listener { on_reject: &mut on_reject, on_progress: &mut |_| {} };
        let counts = pass.run(input, &mut out, None, None, &mut listener)?;
        Ok((out, counts, reasons))
    }

    fn seal(&self, input: &str) -> String {
        String::from_utf8(self.pass(Work::Seal(self.ciphers()), input.as_bytes()).unwrap().0)
            .unwrap()
    }

    fn open(&self, input: &str) -> String {
        String::from_utf8(self.pass(Work::Open(self.ciphers()), input.as_bytes()).unwrap().0)
            .unwrap()
    }
}

fn plain() -> ColumnOptions {
    ColumnOptions::default()
}

fn fields(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

#[test]
fn only_sealed_columns_differ_and_all_comes_back() {
    let by_row = ColumnOptions { tweak: Tweak::Row("id".into()), ..plain() };
    let scene = Scene::new(&[("이름=ff1:hangul", plain()), ("memo=aead", by_row)]);
    for input in [
        "id,이름,memo,rest\n1,홍길동,a,x\n2,김철수,\"b, \"\"c\"\"\",\"y\nz\"\n",
        "\u{feff}id,이름,memo,rest\r\n1,홍길동,a,x\r\n\r\n2,김철수,b,5\" pipe\r\n",
        "\"id\",\"이름\",\"memo\",\"rest\"\n\"1\",\"홍길동\",\"\",\"\"",
        "id,이름,memo,rest\n",
        "memo,rest,이름,id\n,,홍길동,1\n",
    ] {
        let sealed = scene.seal(input);
        let (before, after) = (fields(input), fields(&sealed));
        assert_eq!(before.len(), after.len());
        for (at, name) in before[0].iter().enumerate() {
            let is_sealed = ["이름", "memo"].contains(&name.trim_start_matches('\u{feff}'));
            for (row, (before, after)) in before.iter().zip(&after).enumerate() {
                assert_eq!(
                    before[at] != after[at],
                    is_sealed && row > 0,
                    "{name}, row {row}: {sealed}"
                );
            }
        }
        assert_eq!(scene.open(&sealed), input);
    }
}

#[test]
fn a_field_without_quotes_comes_back_without_whatever_is_in_it() {
    let scene = Scene::new(&[("item=aead", plain())]);
    let input = include_str!("csv-bare-quote.csv");
    let sealed = scene.seal(input);
    assert!(!sealed.contains("pipe"));
    assert_eq!(scene.open(&sealed), input);
}

/// Fields of every kind that a file may have, in random rows: the opened file equals the original,
/// byte for byte.
#[test]
fn any_file_comes_back_byte_for_byte() {
    let keeps = ColumnOptions { keeps_empty: true, ..ColumnOptions::default() };
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |count: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % count as u64) as usize
    };
    const PIECES: [&str; 14] = [
        "a", "5\"", " \"x\"", "길", "é", "e\u{301}", " ", "\t", "'", "=1+1", "\u{feff}", "a\"\"b",
        "|", "x;y",
    ];
    for file in 0..300 {
        let delimiter = b",;\t|"[below(4)];
        let end = ["\n", "\r\n"][below(2)];
        let mut scene = Scene::new(&[("a=aead", keeps.clone()), ("c=aead", plain())]);
        scene.layout.delimiter = delimiter;
        scene.chunk_bytes = [64, CHUNK_BYTES][below(2)];
        let mut field = |quoted: bool| {
            let mut text: String = (0..below(4)).map(|_| PIECES[below(PIECES.len())]).collect();
            if quoted {
                text.push_str(["", ",", ";", "\n", "\r\n", "\t"][below(6)]);
                return format!("\"{}\"", text.replace('"', "\"\""));
            }
            text.retain(|c| c != char::from(delimiter));
            text.trim_start_matches('"').to_owned()
        };
        let join = |fields: [String; 3]| fields.join(&char::from(delimiter).to_string());
        let mut input =
            [String::new(), "\u{feff}".into(), format!("sep={}{end}", char::from(delimiter))]
                [file % 3]
                .clone();
        input.push_str(&join(["a".into(), "b".into(), "\"c\"".into()]));
        for row in 0..8 {
            input.push_str(end);
            if row % 3 == 2 {
                input.push_str(end);
            }
            input.push_str(&join([field(row % 2 == 0), field(row % 3 == 0), field(row % 5 < 2)]));
        }
        if file % 2 == 0 {
            input.push_str(end);
        }
        let sealed = scene.seal(&input);
        assert_eq!(scene.open(&sealed), input, "file {file}, sealed:\n{sealed}");
    }
}

#[test]
fn a_name_is_found_in_either_form_of_unicode() {
    let scene = Scene::new(&[("이름=ff1:hangul", plain())]);
    let input = include_str!("csv-nfd-hangul.csv");
    assert!(!input.contains("이름"), "the header is decomposed");
    let input = format!("{}\n1,홍길동\n", input.lines().next().unwrap());
    let sealed = scene.seal(&input);
    assert!(
        sealed.starts_with(input.lines().next().unwrap()) && !sealed.contains("홍길동"),
        "{sealed}"
    );
    assert_eq!(scene.open(&sealed), input);
}

#[test]
fn excels_first_line_is_copied() {
    let mut scene = Scene::new(&[("id=ff1:digits", plain())]);
    scene.layout.delimiter = b';';
    let input = "sep=;\r\nid;b\r\n123456;x\r\n";
    let sealed = scene.seal(input);
    assert!(sealed.starts_with("sep=;\r\nid;b\r\n") && !sealed.contains("123456"), "{sealed}");
    assert_eq!(scene.open(&sealed), input);
}

#[test]
fn every_chunk_comes_out_in_its_place() {
    let mut scene = Scene::new(&[("id=ff1:digits", plain())]);
    let rows = |from: &dyn Fn(u32) -> String| (0..150_000).map(from).collect::<String>();
    let input = format!("id,n\n{}", rows(&|n| format!("{:010},{n}\n", u64::from(n) * 7919)));
    let sealed = scene.seal(&input);
    assert_eq!(sealed.len(), input.len());
    for (n, line) in sealed.lines().skip(1).enumerate() {
        assert_eq!(line.split_once(',').unwrap().1, n.to_string());
    }
    assert!(scene.open(&sealed) == input);
    for chunk_bytes in [100, 8 << 20] {
        scene.chunk_bytes = chunk_bytes;
        assert!(scene.seal(&input) == sealed, "{chunk_bytes} bytes at a time");
    }
}

#[test]
fn the_delimiter_and_the_encoding_are_kept() {
    let mut scene = Scene::new(&[("이름=ff1:hangul", plain())]);
    scene.layout = Layout { delimiter: b'|', encoding: Encoding::Cp949 };
    let text = "번호|이름\n1|홍길동\n2|뷁쀍\n";
    let input = Encoding::Cp949.encode(text).unwrap().into_owned();
    let sealed = scene.pass(Work::Seal(scene.ciphers()), &input).unwrap().0;
    let shown = Encoding::Cp949.decode(&sealed).unwrap();
    assert!(shown.starts_with("번호|이름\n1|") && !shown.contains("홍길동"), "{shown}");
    assert_eq!(scene.pass(Work::Open(scene.ciphers()), &sealed).unwrap().0, input);
}

#[test]
fn rows_that_do_not_fit_are_never_passed_through() {
    let mut scene = Scene::new(&[("phone=ff1:phone", plain()), ("id=ff1:digits", plain())]);
    let input = "id,phone,x\n123456,010-1234-5678,a\n12x456,010-1234-5678,b\n123456,none,c\n\
                 654321,010-8765-4321,d\nx,,e\n";
    let error = scene.pass(Work::Seal(scene.ciphers()), input.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3, column id: character 3 is a lower-case letter, expected a digit"
    );
    scene.on_misfit = OnMisfit::Report;
    let (out, counts, reasons) = scene.pass(Work::Seal(scene.ciphers()), input.as_bytes()).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!((counts.rows, counts.rejected), (2, 3));
    assert_eq!(
        reasons,
        [
            "3 id: character 3 is a lower-case letter, expected a digit",
            "4 phone: character 1 is a lower-case letter, expected a digit, or one of + - ( ) . / \
             and the space",
            "6 phone: it is empty",
            "6 id: character 1 is a lower-case letter, expected a digit",
        ]
    );
    assert_eq!(out.lines().map(|line| &line[line.len() - 1..]).collect::<String>(), "xad");
    assert_eq!(scene.open(&out), "id,phone,x\n123456,010-1234-5678,a\n654321,010-8765-4321,d\n");
    let (nothing, counts, _) = scene.pass(Work::Check, input.as_bytes()).unwrap();
    assert!(nothing.is_empty());
    assert_eq!((counts.rows, counts.rejected), (2, 3));
    assert_eq!(counts.columns[0].choices_least, Some(1e8));
}

#[test]
fn index_columns_come_and_go() {
    let indexed = ColumnOptions { index: Some((None, Some(16))), ..plain() };
    let scene = Scene::new(&[("memo=aead", indexed)]);
    let input = "memo,x\na,1\nb,2\n\"a\",3\n";
    let sealed = scene.seal(input);
    let rows = fields(&sealed);
    assert_eq!(rows[0], ["memo", "x", "memo_index"]);
    assert_eq!(
        (rows[1][2].len(), rows[1][2] == rows[3][2], rows[1][2] == rows[2][2]),
        (4, true, false)
    );
    assert_eq!(scene.open(&sealed), input);
    let error = scene.pass(Work::Seal(scene.ciphers()), sealed.as_bytes()).unwrap_err();
    assert!(
        error.to_string().starts_with("line 1: there is a column \"memo_index\" already"),
        "{error}"
    );
    // sealed again: the same index column, once
    let again =
        scene.pass(Work::Reseal(scene.ciphers(), scene.ciphers()), sealed.as_bytes()).unwrap().0;
    let again = String::from_utf8(again).unwrap();
    assert_eq!(fields(&again)[1][2], rows[1][2]);
    assert_eq!(scene.open(&again), input);
}

#[test]
fn malformed_files_are_errors_with_their_line() {
    let scene = Scene::new(&[("id=ff1:digits", plain())]);
    let error =
        |input: &[u8]| scene.pass(Work::Seal(scene.ciphers()), input).unwrap_err().to_string();
    for (input, want) in [
        ("", "it is empty"),
        ("\n\n", "it is empty"),
        ("a,b\n1,2\n", "line 1: no column \"id\"; there are 2 columns, whose names are not shown"),
        ("id,id\n1,2\n", "line 1: columns 1 and 2 are both called \"id\""),
        ("id,b\n123456,2\n123456\n", "line 3: 1 fields, the header has 2"),
        ("id,b\n123456,2,3\n", "line 2: 3 fields, the header has 2"),
        ("id,b\n123456,\"2\n", "line 2: the quote that opens here is never closed"),
        ("id,b\n123456,\"2\"x\n", "line 2: something after a closing quote"),
        ("id,b\n123456,\x002\n", "line 2: a zero byte"),
        ("id\n123456\r654321\n", "line 2: a carriage return within a line"),
    ] {
        let found = error(input.as_bytes());
        assert!(found.starts_with(want), "{input:?}: {found}");
    }
    assert!(error(b"\xff\n1\n").starts_with("line 1: not UTF-8 text"));
    assert_eq!(error(b"id\n123456\n\xff\xff\n"), "line 3, column id: it is not UTF-8 text");
}

#[test]
fn a_pass_that_is_stopped_or_cannot_write_ends() {
    let scene = Scene::new(&[("id=ff1:digits", plain())]);
    let input = format!("id\n{}", "0123456789\n".repeat(1_000_000));
    let plan = Plan { table: scene.table.clone(), work: Work::Seal(scene.ciphers()) };
    let run = |stop: bool, out: &mut dyn std::io::Write| {
        let stop = AtomicBool::new(stop);
        let pass = Pass {
            plan: &plan,
            layout: scene.layout,
            on_misfit: OnMisfit::Fail,
            threads: None,
            chunk_bytes: CHUNK_BYTES,
            stop: &stop,
        };
        let mut listener = Listener { on_reject: &mut |_| Ok(()), on_progress: &mut |_| {} };
        pass.run(input.as_bytes(), out, None, None, &mut listener)
    };
    assert!(matches!(run(true, &mut std::io::sink()), Err(CsvError::Stopped)));
    let mut full = vec![0; 1 << 20];
    assert!(matches!(run(false, &mut &mut full[..]), Err(CsvError::Write(_))));
}
