//! Columns from the view of a library user: sealed values open, keep their format, and are bound to
//! their context.

use std::sync::{Arc, Mutex};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::ff1::{Domain, Tweaks};
use sealstone_cipher::{Backend, Cipher, Provider, cipher};
use sealstone_fields::policy::{Column, ColumnOptions, Table, Tweak};
use sealstone_fields::{ColumnCipher, FieldsError, Keyed, Misfit, Permutation, Permuter, Texts};
use sealstone_keys::{EphemeralKey, KeySource};

fn keyed(source: &Arc<EphemeralKey>) -> Keyed {
    Keyed::current(source.clone() as Arc<dyn KeySource>).unwrap()
}

fn key() -> Arc<EphemeralKey> {
    Arc::new(EphemeralKey::new().unwrap())
}

fn column(
    spec: &str,
    options: &ColumnOptions,
    table: &str,
    cipher_name: &str,
    key: &Arc<EphemeralKey>,
) -> ColumnCipher {
    let column = Column::parse(spec, options).unwrap();
    let table = Table::new(table, cipher(cipher_name).unwrap(), vec![column]).unwrap();
    ColumnCipher::new(&table, &table.columns[0], &keyed(key), Backend::auto()).unwrap()
}

fn small() -> ColumnOptions {
    ColumnOptions { small_domain: true, ..ColumnOptions::default() }
}

fn seal(column: &ColumnCipher, values: &Texts) -> Texts {
    let (mut out, mut misfits) = (Texts::new(), Vec::new());
    column.seal(values, None, &mut out, &mut misfits).unwrap();
    assert_eq!(misfits, []);
    out
}

fn open(column: &ColumnCipher, values: &Texts) -> Texts {
    let (mut out, mut misfits) = (Texts::new(), Vec::new());
    column.open(values, None, &mut out, &mut misfits).unwrap();
    assert_eq!(misfits, []);
    out
}

fn luhn(digits: &str) -> u32 {
    let digits = digits.chars().filter_map(|c| c.to_digit(10)).rev().enumerate();
    digits.map(|(at, d)| if at % 2 == 0 { d } else { d * 2 / 10 + d * 2 % 10 }).sum::<u32>() % 10
}

/// Returns a value of the format `spec`, drawn.
fn drawn(spec: &str, rng: &mut SmallRng) -> String {
    let digits = |rng: &mut SmallRng, count: usize| -> String {
        (0..count).map(|_| char::from(b'0' + rng.random_range(0..10u8))).collect()
    };
    let pick = |rng: &mut SmallRng, from: &str, count: usize| -> String {
        let from: Vec<char> = from.chars().collect();
        (0..count).map(|_| from[rng.random_range(0..from.len())]).collect()
    };
    let day = |rng: &mut SmallRng, between: &str| {
        let (year, month, day) =
            (rng.random_range(1900..2030), rng.random_range(1..13), rng.random_range(1..29));
        format!("{year:04}{between}{month:02}{between}{day:02}")
    };
    let rrn = |rng: &mut SmallRng| {
        let birth = day(rng, "");
        let base = if birth.starts_with("19") { 1 } else { 3 };
        let seventh = base + rng.random_range(0..2) + 4 * rng.random_range(0..2);
        format!("{}-{seventh}{}", &birth[2..], digits(rng, 6))
    };
    match spec.split(':').next().unwrap() {
        "digits" => digits(rng, 6) + &"0".repeat(rng.random_range(0..30)),
        "letters" => pick(rng, "abcXYZ", 5),
        "alphanumerics" => pick(rng, "abcXYZ019", 7),
        "hangul" => pick(rng, "김이박최정강조윤장임한오서신권황안송류홍", 3),
        "alphabet" => pick(rng, "0123456789ABCDEF", 12),
        "pattern" => pick(rng, "ABCXYZ", 2) + "-" + &digits(rng, 6) + &pick(rng, "가힣홍", 1),
        "card" => {
            let mut number = digits(rng, 15) + "0";
            let last = (10 - luhn(&number)) % 10;
            number.replace_range(15.., &last.to_string());
            number.insert(4, ' ');
            number
        }
        "rrn" => rrn(rng),
        "phone" => format!("010-{}-{}", digits(rng, 4), digits(rng, 4)),
        "email" => format!("{}.{}@example.com", pick(rng, "abcdef", 3), pick(rng, "ghij012", 4)),
        "date" => day(rng, "."),
        other => panic!("{other}"),
    }
}

const FORMATS: [&str; 13] = [
    "digits",
    "letters",
    "alphanumerics",
    "hangul",
    "alphabet:0-9A-F",
    "pattern:{upper:2}-****{=digits:2}{hangul}",
    "card",
    "card:6-0",
    "rrn",
    "rrn:keep-birth",
    "phone",
    "email",
    "date:1900-01-01..2029-12-31",
];

#[test]
fn what_is_sealed_keeps_its_format_and_opens() {
    let mut rng = SmallRng::seed_from_u64(16);
    let key = key();
    for spec in FORMATS {
        for name in ["aes-256", "aria-128", "pipo-128"] {
            let sealing = column(&format!("x=ff1:{spec}"), &small(), "t", name, &key);
            let values: Texts = (0..150).map(|_| drawn(spec, &mut rng)).collect();
            let sealed = seal(&sealing, &values);
            assert_eq!(open(&sealing, &sealed), values, "{spec}, {name}");
            // whatever was sealed fits again, in length and form
            let again = seal(&sealing, &sealed);
            let same =
                values.iter().zip(sealed.iter()).filter(|(value, sealed)| value == sealed).count();
            assert!(same <= 2, "{spec}: {same} of 150 are as they were");
            for (value, sealed) in
                values.iter().zip(sealed.iter()).chain(sealed.iter().zip(again.iter()))
            {
                assert_eq!(value.chars().count(), sealed.chars().count(), "{spec}");
                match spec {
                    "card" => assert!(
                        value[..7] == sealed[..7]
                            && value[13..] == sealed[13..]
                            && luhn(sealed) == 0
                    ),
                    "card:6-0" => assert!(value[..7] == sealed[..7] && luhn(sealed) == 0),
                    "rrn:keep-birth" => assert_eq!(value[..8], sealed[..8]),
                    "phone" => assert_eq!(value[..4], sealed[..4]),
                    "email" => assert_eq!(value[8..], sealed[8..]),
                    _ => {}
                }
            }
        }
    }
}

/// As the number's definition has it, not as our code does.
fn checks(rrn: &str) -> bool {
    let digits: Vec<u32> = rrn.chars().filter_map(|c| c.to_digit(10)).collect();
    let sum: u32 =
        digits[..12].iter().zip([2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]).map(|(d, w)| d * w).sum();
    let plain = (11 - sum % 11) % 10;
    digits[12] == if digits[6] >= 5 { (plain + 2) % 10 } else { plain }
}

#[test]
fn resident_numbers_keep_their_dates_and_check_digits_valid() {
    let mut rng = SmallRng::seed_from_u64(3);
    let key = key();
    for spec in ["rrn", "rrn:keep-birth"] {
        let sealing = column(&format!("x=ff1:{spec}"), &small(), "t", "aes-128", &key);
        let mut values = Texts::new();
        while values.len() < 400 {
            let mut value = drawn("rrn", &mut rng);
            if values.len().is_multiple_of(2) {
                let last = (0..10)
                    .map(|last| last.to_string())
                    .find(|last| checks(&(value[..13].to_owned() + last)));
                value.replace_range(13.., &last.unwrap());
            }
            values.push(&value);
        }
        let sealed = seal(&sealing, &values);
        for (value, sealed) in values.iter().zip(sealed.iter()) {
            assert_eq!(checks(value), checks(sealed), "{spec}");
            let century = if "1256".contains(&sealed[7..8]) { 19 } else { 20 };
            let (year, month, day) = (&sealed[..2], &sealed[2..4], &sealed[4..6]);
            assert!(("01"..="12").contains(&month) && ("01"..="31").contains(&day));
            let last = match month {
                "02" => "29",
                "04" | "06" | "09" | "11" => "30",
                _ => "31",
            };
            assert!(day <= last, "{month}-{day}");
            let leap = year.parse::<u32>().unwrap() % 4 == 0 && !(century == 19 && year == "00");
            assert!(!(month == "02" && day == "29") || leap, "{century}{year}-02-29");
        }
        assert_eq!(open(&sealing, &sealed), values);
    }
}

/// All values of a small format: sealing permutes them.
#[test]
fn small_formats_are_permuted() {
    let key = key();
    let all_days: Texts = (1..=28).map(|day| format!("2024-02-{day:02}")).collect();
    let all_codes: Texts = (0..1000).map(|code| format!("x{code:03}")).collect();
    for (spec, all) in [("date:2024-02-01..2024-02-28", all_days), ("pattern:x***", all_codes)] {
        let sealing = column(&format!("x=ff1:{spec}"), &small(), "t", "aes-128", &key);
        let sealed = seal(&sealing, &all);
        let sorted = |texts: &Texts| {
            let mut sorted: Vec<String> = texts.iter().map(str::to_owned).collect();
            sorted.sort();
            sorted
        };
        assert_eq!(sorted(&sealed), sorted(&all));
        assert_eq!(open(&sealing, &sealed), all);
    }
}

#[test]
fn what_a_value_is_bound_to_makes_a_difference() {
    let key = key();
    let values: Texts = ["1234567890", "1234567890", "0000000000"].into_iter().collect();
    let bound = |tweak: Tweak, name: &str, table: &str| {
        let options = ColumnOptions { tweak, ..ColumnOptions::default() };
        seal(&column(&format!("{name}=ff1:digits"), &options, table, "aes-256", &key), &values)
    };
    let here = bound(Tweak::Column, "a", "t");
    assert_eq!(here.get(0), here.get(1));
    assert_eq!(here, bound(Tweak::Column, "a", "t"));
    assert_ne!(here, bound(Tweak::Column, "b", "t"));
    assert_ne!(here, bound(Tweak::Column, "a", "u"));
    assert_eq!(bound(Tweak::None, "a", "t"), bound(Tweak::None, "b", "u"));
    assert_ne!(here, bound(Tweak::None, "a", "t"));
    let options = ColumnOptions { tweak: Tweak::Row("id".into()), ..ColumnOptions::default() };
    let by_row = column("a=ff1:digits", &options, "t", "aes-256", &key);
    let rows: Texts = ["1", "22", "3"].into_iter().collect();
    let (mut sealed, mut opened, mut misfits) = (Texts::new(), Texts::new(), Vec::new());
    by_row.seal(&values, Some(&rows), &mut sealed, &mut misfits).unwrap();
    assert_ne!(sealed.get(0), sealed.get(1));
    by_row.open(&sealed, Some(&rows), &mut opened, &mut misfits).unwrap();
    assert_eq!((opened, misfits.len()), (values.clone(), 0));
    let no_row: Texts = ["1", "", "3"].into_iter().collect();
    by_row.seal(&values, Some(&no_row), &mut Texts::new(), &mut misfits).unwrap();
    assert_eq!(misfits, [(1, Misfit::NoRow { column: "id".into() })]);
    // another key gives other values
    let other = column("a=ff1:digits", &ColumnOptions::default(), "t", "aes-256", &self::key());
    assert_ne!(seal(&other, &values), here);
}

#[test]
fn authenticated_values_notice_any_change() {
    let key = key();
    let options = ColumnOptions { tweak: Tweak::Row("id".into()), ..ColumnOptions::default() };
    let memo = column("memo=aead", &options, "t", "aria-256", &key);
    let values: Texts =
        ["", "a memo, \"quoted\"", "메모", "a memo, \"quoted\""].into_iter().collect();
    let rows: Texts = ["1", "2", "3", "4"].into_iter().collect();
    let (mut sealed, mut misfits) = (Texts::new(), Vec::new());
    memo.seal(&values, Some(&rows), &mut sealed, &mut misfits).unwrap();
    assert!(
        sealed
            .iter()
            .all(|text| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'))
    );
    let open = |sealed: &Texts, rows: &Texts| {
        let (mut opened, mut misfits) = (Texts::new(), Vec::new());
        memo.open(sealed, Some(rows), &mut opened, &mut misfits).unwrap();
        (opened, misfits)
    };
    assert_eq!(open(&sealed, &rows), (values, Vec::new()));
    // swapped between rows, though the values are equal
    let swapped: Texts = [0, 3, 2, 1].into_iter().map(|at| sealed.get(at)).collect();
    let (opened, misfits) = open(&swapped, &rows);
    assert_eq!(misfits.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 3]);
    assert_eq!((opened.get(1), opened.get(3)), ("", ""));
    let misfit = |text: &str| {
        let (_, misfits) = open(&[text].into_iter().collect(), &["1"].into_iter().collect());
        misfits[0].1.to_string()
    };
    assert_eq!(misfit("not base64url!"), "it is not a sealed value: not base64url text");
    assert_eq!(misfit(""), "not a sealed value: it is too short");
    assert_eq!(
        misfit("AAAAAAAAAAAAAAAA"),
        "a sealed value of format version 0; this program knows version 1"
    );
    let mut changed = sealed.get(0).to_owned();
    let last = changed.pop().unwrap();
    changed.push(if last == 'A' { 'Q' } else { 'A' });
    assert!(
        misfit(&changed).contains("failed authentication")
            || misfit(&changed).contains("not base64url")
    );
}

#[test]
fn index_values_are_equal_where_values_are() {
    let key = key();
    let indexed =
        |bits| ColumnOptions { index: Some((None, Some(bits))), ..ColumnOptions::default() };
    let memo = column("memo=aead", &indexed(32), "t", "aes-256", &key);
    let index = |column: &ColumnCipher, value: &str| {
        let mut out = String::new();
        column.index(value, &mut out).unwrap();
        out
    };
    assert_eq!(index(&memo, "Kim"), index(&memo, "Kim"));
    assert_ne!(index(&memo, "Kim"), index(&memo, "Lee"));
    assert_eq!(index(&memo, "Kim").len(), 8);
    let other = column("name=aead", &indexed(32), "t", "aes-256", &key);
    assert_ne!(index(&memo, "Kim"), index(&other, "Kim"));
    let short = column("memo=aead", &indexed(12), "t", "aes-256", &key);
    assert_eq!(index(&memo, "Kim")[..3], index(&short, "Kim"));
    assert_eq!(
        index(&column("memo=aead", &ColumnOptions::default(), "t", "aes-256", &key), "Kim"),
        ""
    );
}

#[test]
fn empty_values_stay_empty_only_where_that_was_asked_for() {
    let key = key();
    let values: Texts = ["", "123456"].into_iter().collect();
    let keeping = ColumnOptions { keeps_empty: true, ..ColumnOptions::default() };
    for spec in ["x=ff1:digits", "x=aead"] {
        let kept = column(spec, &keeping, "t", "aes-256", &key);
        let sealed = seal(&kept, &values);
        assert_eq!((sealed.get(0), sealed.get(1) == "123456"), ("", false));
        assert_eq!(open(&kept, &sealed), values);
    }
    let strict = column("x=ff1:digits", &ColumnOptions::default(), "t", "aes-256", &key);
    let mut misfits = Vec::new();
    strict.seal(&values, None, &mut Texts::new(), &mut misfits).unwrap();
    assert_eq!(misfits, [(0, Misfit::Empty)]);
}

/// No reason names the value, or a part of it that is a letter or a digit.
#[test]
fn reasons_do_not_hold_the_value() {
    let key = key();
    let secret = "홍길동Secret";
    for spec in FORMATS {
        let sealing = column(&format!("x=ff1:{spec}"), &small(), "t", "aes-256", &key);
        for value in [
            secret.to_owned(),
            format!("{secret}@"),
            format!("0{secret}"),
            format!("870605-{secret}"),
        ] {
            let mut misfits = Vec::new();
            sealing
                .seal(
                    &[&value].into_iter().collect::<Texts>(),
                    None,
                    &mut Texts::new(),
                    &mut misfits,
                )
                .unwrap();
            for (_, misfit) in misfits {
                let reason = format!("{misfit} {misfit:?}");
                assert!(
                    !reason.contains("Secret")
                        && !reason.contains('홍')
                        && !reason.contains("8706"),
                    "{reason}"
                );
            }
        }
    }
}

/// FF1 computed elsewhere: its requests, and whether it fails.
#[derive(Debug)]
struct Elsewhere {
    batches: Arc<Mutex<Vec<(String, usize)>>>,
    fails: bool,
}

#[derive(Debug)]
struct Counted {
    ff1: Box<dyn Permutation>,
    column: String,
    batches: Arc<Mutex<Vec<(String, usize)>>>,
    fails: bool,
}

impl Counted {
    fn count(&self, numerals: &[u16], length: usize) -> Result<(), FieldsError> {
        self.batches.lock().unwrap().push((self.column.clone(), numerals.len() / length));
        if self.fails { Err(FieldsError::Permuter("it was taken away".into())) } else { Ok(()) }
    }
}

impl Permutation for Counted {
    fn seal_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError> {
        self.count(numerals, length)?;
        self.ff1.seal_batch(tweaks, numerals, length)
    }

    fn open_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError> {
        self.count(numerals, length)?;
        self.ff1.open_batch(tweaks, numerals, length)
    }
}

impl Permuter for Elsewhere {
    fn permutation(
        &self,
        column: &str,
        cipher: &'static Cipher,
        key: &[u8],
        radix: u32,
        domain: Domain,
    ) -> Result<Box<dyn Permutation>, FieldsError> {
        let ff1 = Provider::own().permutation(column, cipher, key, radix, domain)?;
        let (column, batches, fails) = (column.to_owned(), self.batches.clone(), self.fails);
        Ok(Box::new(Counted { ff1, column, batches, fails }))
    }
}

#[test]
fn what_somebody_else_computes_is_the_same() {
    let key = key();
    let keyed = keyed(&key);
    let mut rng = SmallRng::seed_from_u64(5);
    for spec in ["phone=ff1:phone", "rrn=ff1:rrn", "mail=ff1:email"] {
        let column = Column::parse(spec, &ColumnOptions::default()).unwrap();
        let table = Table::new("people", cipher("aria-256").unwrap(), vec![column]).unwrap();
        let format = spec.split_once(':').unwrap().1;
        let values: Texts = (0..300).map(|_| drawn(format, &mut rng)).collect();
        let here = ColumnCipher::new(&table, &table.columns[0], &keyed, Backend::auto()).unwrap();
        let elsewhere = Elsewhere { batches: Arc::default(), fails: false };
        let there =
            ColumnCipher::with(&table, &table.columns[0], &keyed, Backend::auto(), &elsewhere)
                .unwrap();
        let sealed = seal(&there, &values);
        assert_eq!(sealed, seal(&here, &values), "{spec}");
        assert_eq!(open(&there, &sealed), values, "{spec}");
        let batches = elsewhere.batches.lock().unwrap();
        assert!(batches.iter().all(|(column, _)| spec.starts_with(column.as_str())), "{batches:?}");
        assert!(batches.iter().map(|(_, values)| values).sum::<usize>() >= 600, "{batches:?}");
        drop(batches);

        let failing = Elsewhere { fails: true, ..elsewhere };
        let there =
            ColumnCipher::with(&table, &table.columns[0], &keyed, Backend::auto(), &failing)
                .unwrap();
        let error = there.seal(&values, None, &mut Texts::new(), &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "it was taken away");
    }
}
