//! Tests with files that are not whole Parquet files, and with columns that cannot be sealed: each
//! gives a single clear error, and never a panic.

mod scene;

use scene::{Layout, Outcome, Scene, file, people};
use sealstone_fields::pass::{OnMisfit, Work};
use sealstone_fields::policy::{ColumnOptions, Tweak};
use sealstone_parquet::ParquetError;

fn usual() -> Scene {
    Scene::new(&[("phone=ff1:phone", ColumnOptions::default())])
}

fn seal(scene: &Scene, input: &[u8]) -> Outcome {
    scene.pass(Work::Seal(scene.ciphers()), input)
}

fn says(outcome: Outcome, want: &str) {
    let error = outcome.err().map(|error| error.to_string());
    assert!(error.as_ref().is_some_and(|error| error.starts_with(want)), "{error:?}\nwant: {want}");
}

#[test]
fn what_is_cut_or_encrypted_is_said_to_be() {
    let (scene, whole) = (usual(), file(&people(300), &Layout::default()));
    for (length, want) in [
        (0, "it is too short for a Parquet file\n"),
        (11, "it is too short for a Parquet file\n"),
        (
            whole.len() / 2,
            "it does not both begin and end as a Parquet file\nis it cut short, or still being \
             written?",
        ),
        (whole.len() - 1, "it does not both begin and end as a Parquet file\n"),
    ] {
        says(seal(&scene, &whole[..length]), want);
    }
    // cut in the middle, with its footer after that
    let footer = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap())
        as usize
        + 8;
    let shorter = [&whole[..2000], &whole[whole.len() - footer..]].concat();
    says(seal(&scene, &shorter), "what its footer says of column ");
    let mut long = whole.clone();
    let at = whole.len() - 8;
    long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    says(seal(&scene, &long), "its footer is longer than the file\n");
    let encrypted = [&b"PARE"[..], &whole[4..whole.len() - 4], b"PARE"].concat();
    says(seal(&scene, &encrypted), "it is encrypted by Parquet's own encryption, ");
    // a footer in the clear, with the field for the encryption of columns
    let start = whole.len() - footer;
    let mut fields = whole[start..whole.len() - 8].to_vec();
    assert_eq!(fields.pop(), Some(0));
    // column_orders (7) is the last one: 8 is a struct that holds an empty one in its field 1
    fields.extend([0x1c, 0x1c, 0, 0, 0]);
    let length = (fields.len() as u32).to_le_bytes();
    says(
        seal(&scene, &[&whole[..start], &fields, &length, b"PAR1"].concat()),
        "it is encrypted by Parquet's own encryption, ",
    );
}

#[test]
fn columns_that_cannot_be_sealed_are_named_with_what_to_do() {
    let plain = file(&people(10), &Layout::default());
    for (column, want) in [
        (
            "fone=ff1:phone",
            "unknown column \"fone\"; did you mean phone?\nknown columns: id, name, phone, score, \
             tags, place, memo, flag",
        ),
        (
            "id=ff1:digits",
            "column id is of type INT64, and a sealed value is text\nwrite the column as text",
        ),
        ("score=aead", "column score is of type DOUBLE, "),
        ("tags=aead", "column tags is nested, "),
        ("place=aead", "column place is nested, "),
        ("flag=aead", "column flag is of type BOOLEAN, "),
    ] {
        let scene = Scene::new(&[(column, ColumnOptions::default())]);
        says(seal(&scene, &plain), want);
    }
    for (row, want) in [
        ("score", "column score is of type DOUBLE, and cannot name rows\n"),
        ("tags", "column tags is nested, and cannot name rows\n"),
        ("idd", "unknown column \"idd\"; did you mean id?\n"),
    ] {
        let options = ColumnOptions { tweak: Tweak::Row(row.into()), ..ColumnOptions::default() };
        says(seal(&Scene::new(&[("phone=ff1:phone", options)]), &plain), want);
    }
    let options =
        ColumnOptions { index: Some((Some("flag".into()), None)), ..ColumnOptions::default() };
    says(
        seal(&Scene::new(&[("phone=aead", options)]), &plain),
        "there is a column \"flag\" already\n",
    );
}

#[test]
fn a_wrong_key_and_a_moved_value_do_not_open() {
    let bound = ColumnOptions { tweak: Tweak::Row("id".into()), ..ColumnOptions::default() };
    let scene = Scene::new(&[("phone=aead", bound.clone())]);
    let plain = file(&people(50), &Layout::default());
    let sealed = scene.seal(&plain);
    let other = Scene::new(&[("phone=aead", bound)]);
    says(
        other.pass(Work::Open(other.ciphers()), &sealed),
        "row 1, column phone: the sealed value failed authentication",
    );
    // the same values beside other ids
    let mut moved = people(50);
    moved.iter_mut().for_each(|person| person.id += 1);
    let phones = scene::column(&sealed, "phone");
    moved.iter_mut().zip(phones).for_each(|(person, phone)| person.phone = phone.unwrap());
    let outcome = scene.pass(Work::Open(scene.ciphers()), &file(&moved, &Layout::default()));
    says(outcome, "row 1, column phone: the sealed value failed authentication");
}

#[test]
fn text_that_is_none_does_not_fit() {
    let mut scene = usual();
    let plain = file(&people(5), &Layout { dictionary: false, ..Layout::default() });
    let at = plain.windows(13).position(|window| window == b"010-1000-0002").unwrap();
    let mut broken = plain.clone();
    broken[at] = 0xff;
    says(seal(&scene, &broken), "row 3, column phone: it is not UTF-8 text");
    scene.on_misfit = OnMisfit::Report;
    let (_, counts, reasons) = seal(&scene, &broken).unwrap();
    assert_eq!((counts.rows, reasons), (4, vec!["3 phone: it is not UTF-8 text".to_owned()]));
}

/// The number is the same in both types, so that a reader that ignores the type takes it.
#[test]
fn a_footer_with_a_field_of_another_type_is_refused() {
    const FIRST_FIELD_I32: u8 = 0x15;
    const FIRST_FIELD_I64: u8 = 0x16;
    let mut changed = file(&people(5), &Layout::default());
    let tail = changed.len() - 8;
    let length = u32::from_le_bytes(changed[tail..tail + 4].try_into().unwrap()) as usize;
    assert_eq!(changed[tail - length], FIRST_FIELD_I32, "the version of the format");
    changed[tail - length] = FIRST_FIELD_I64;
    says(
        seal(&usual(), &changed),
        "its footer (a field has another type than the format gives it) is damaged",
    );
}

/// With any byte changed the file is sealed, or refused.
#[test]
fn no_changed_byte_makes_it_panic() {
    let options = ColumnOptions {
        tweak: Tweak::Row("id".into()),
        index: Some((None, None)),
        ..ColumnOptions::default()
    };
    let mut scene =
        Scene::new(&[("name=aead", options), ("phone=ff1:phone", ColumnOptions::default())]);
    scene.on_misfit = OnMisfit::Report;
    let plain = file(&people(12), &Layout { group_rows: 8, ..Layout::default() });
    let (mut sealed, mut refused) = (0, 0);
    for at in 0..plain.len() {
        for other in [plain[at] ^ 1, plain[at] ^ 0x80, 0xff] {
            let mut changed = plain.clone();
            changed[at] = other;
            match seal(&scene, &changed) {
                Ok(_) => sealed += 1,
                Err(ParquetError::Encode { column, found }) => {
                    panic!("byte {at}: {column}: {found}")
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(sealed > 0 && refused > 0, "{sealed} sealed, {refused} refused");
}
