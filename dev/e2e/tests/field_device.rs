//! `sealstone field … --device` on a device that PoCL makes of the CPU: the same values as from the
//! CPU, in every format, and the state after a run whose device fails, hangs, is wrong, or is
//! missing.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sealstone_e2e::failing_opencl::{self, Failing};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_fields::formats;
use sealstone_keys::KeyFile;
use serde_json::Value;
use tempfile::TempDir;

const DEVICE: [&str; 2] = ["--device", "opencl:0"];
const KEY: [&str; 2] = ["--key", "people.key"];

/// Returns a directory with a key, where there is a device; else a SKIP for `test`.
fn scene(test: &str) -> Option<TempDir> {
    let dir = tempfile::tempdir().unwrap();
    let listed = run(&mut sealstone(dir.path(), &["ciphers", "--devices", "--json"])).done();
    if !listed.contains("\"opencl:0\"") {
        println!("SKIP: {test}: no device by OpenCL here; make setup-gpu installs one");
        return None;
    }
    KeyFile::create(dir.path().join("people.key"), "people").unwrap();
    Some(dir)
}

fn field(dir: &Path, arguments: &[&[&str]]) -> Transcript {
    run(&mut sealstone(dir, &[&["field"], &arguments.concat()[..]].concat()))
}

/// Asserts that both files are the same.
fn same(dir: &Path, one: &str, other: &str) {
    assert!(
        fs::read(dir.join(one)).unwrap() == fs::read(dir.join(other)).unwrap(),
        "{one} and {other} differ"
    );
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Returns the numbers of values of the column `name` that the device and the CPU computed,
/// according to the JSON.
fn computed(said: &Value, name: &str) -> (u64, u64) {
    let columns = said["device"]["columns"].as_array().unwrap();
    let column = columns.iter().find(|column| column["name"] == name).unwrap();
    (column["device_values"].as_u64().unwrap(), column["cpu_values"].as_u64().unwrap())
}

/// Rows enough for a device.
const ROWS: u64 = 20_000;

/// Columns in every format, some in two: a name, the format, and the values by number of the row.
type Columns = Vec<(String, String, fn(u64) -> String)>;

fn every_format() -> Columns {
    let named = |name: &str| -> fn(u64) -> String {
        match name {
            "digits" => |n| format!("{:016}", n * 987_654_321 % 10_000_000_000_000_000),
            "letters" => |n| letters(n * 7919 + 1, 8),
            "alphanumerics" => |n| format!("{}{:04}", letters(n * 31, 5), n % 9973),
            "hangul" => {
                |n| [n % 11_172, n / 3 % 11_172, n * 7 % 11_172].map(syllable).iter().collect()
            }
            "alphabet" => |n| format!("{:08X}", n * 2_654_435_761 % (1 << 32)),
            "pattern" => |n| format!("{:06}-{}{:06}", n % 899, n % 8, n * 37 % 1_000_000),
            "card" => |n| card(400_000_000_000_000 + n * 100_003),
            "rrn" => |n| {
                format!(
                    "{:02}{:02}{:02}-1{:06}",
                    n % 100,
                    n % 12 + 1,
                    n % 28 + 1,
                    n * 37 % 1_000_000
                )
            },
            "phone" => |n| format!("010-{:04}-{:04}", n % 9973, n % 9967),
            "email" => |n| format!("{}.{:05}@example.org", letters(n, 3), n),
            "date" => |n| format!("19{:02}-{:02}-{:02}", n % 100, n % 12 + 1, n % 28 + 1),
            other => panic!("no values for the format {other}"),
        }
    };
    let mut columns: Columns = formats()
        .iter()
        .map(|row| (row.name.to_owned(), row.example.to_owned(), named(row.name)))
        .collect();
    columns.push(("composite".into(), "{upper:2}-******-#".into(), |n| {
        format!("{}-{:06}-{}", letters(n, 2).to_uppercase(), n * 31 % 1_000_000, n % 10)
    }));
    columns.push(("birth".into(), "rrn:keep-birth".into(), named("rrn")));
    columns.push(("wide_card".into(), "card:6-0".into(), named("card")));
    // halves of more than 96 bits
    columns.push(("long".into(), "digits".into(), |n| {
        format!("{:060}", u128::from(n) * 10_u128.pow(30) + 7)
    }));
    columns
}

/// Returns `count` letters that spell `n`.
fn letters(n: u64, count: u32) -> String {
    (0..count).map(|place| char::from(b'a' + (n / 26_u64.pow(place) % 26) as u8)).collect()
}

fn syllable(number: u64) -> char {
    char::from_u32(0xac00 + number as u32).unwrap()
}

/// Returns the card number of 15 digits and their check digit (Luhn).
fn card(number: u64) -> String {
    let digits = format!("{number:015}");
    let sum: u32 = digits
        .bytes()
        .rev()
        .zip([2, 1].into_iter().cycle())
        .map(|(digit, factor)| {
            let product = u32::from(digit - b'0') * factor;
            product / 10 + product % 10
        })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// Returns the flags that seal all of `columns`.
fn sealing(columns: &Columns) -> Vec<String> {
    let mut flags = vec!["--small-domain".to_owned(), "date".to_owned()];
    for (name, format, _) in columns {
        flags.extend(["--column".to_owned(), format!("{name}=ff1:{format}")]);
    }
    flags
}

/// Returns the value of row `n`; every thousandth telephone number is none.
fn value(name: &str, make: fn(u64) -> String, n: u64) -> String {
    if name == "phone" && n % 1000 == 7 { "ask for it".into() } else { make(n) }
}

/// Checks the results after `ending` was sealed by the CPU and on the device, and opened there,
/// without its misfits.
fn every_format_is_the_same(dir: &Path, columns: &Columns, ending: &str) {
    let (plain, cpu, device) =
        (format!("plain.{ending}"), format!("cpu.{ending}"), format!("device.{ending}"));
    let flags = sealing(columns);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let seal = |out: &str, more: &[&str]| {
        let asked =
            ["--table", "people", "--on-error", "report", "--quiet", "--json", "--out", out];
        let said = field(dir, &[&["seal", &plain], &KEY, &flags, &asked, more]);
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        serde_json::from_str::<Value>(&said.stdout).unwrap()
    };
    let by_cpu = seal(&cpu, &[]);
    assert_eq!((&by_cpu["rejected_rows"], &by_cpu["device"]), (&20.into(), &Value::Null));
    let said = seal(&device, &DEVICE);
    same(dir, &cpu, &device);
    same(dir, &format!("{cpu}.rejects.csv"), &format!("{device}.rejects.csv"));
    for (name, ..) in columns {
        let (on_device, on_cpu) = computed(&said, name);
        match name.as_str() {
            "long" => assert_eq!(on_device, 0, "{said}"),
            _ => assert!(
                on_device > 16_384,
                "{name}: {on_device} on the device, {on_cpu} on the CPU: {said}"
            ),
        }
        assert!(on_device + on_cpu >= ROWS - 20, "{said}");
    }
    let open = |sealed: &str, out: &str, more: &[&str]| {
        field(dir, &[&["open", sealed], &KEY, &["--quiet", "--out", out], more]).done();
    };
    let [by_cpu, by_device] = ["opened-by-cpu", "opened"].map(|name| format!("{name}.{ending}"));
    open(&device, &by_cpu, &[]);
    open(&cpu, &by_device, &DEVICE);
    same(dir, &by_cpu, &by_device);
}

#[test]
fn every_format_in_csv_is_the_same_from_a_device() {
    let Some(scene) = scene("every_format_in_csv_is_the_same_from_a_device") else { return };
    let (dir, columns) = (scene.path(), every_format());
    let heads: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
    let line = |n: u64| {
        let values: Vec<String> =
            columns.iter().map(|(name, _, make)| value(name, *make, n)).collect();
        values.join(",") + "\n"
    };
    let head = heads.join(",") + "\n";
    fs::write(dir.join("plain.csv"), head.clone() + &(0..ROWS).map(line).collect::<String>())
        .unwrap();
    every_format_is_the_same(dir, &columns, "csv");
    let kept: String = (0..ROWS).filter(|n| n % 1000 != 7).map(line).collect();
    assert!(fs::read_to_string(dir.join("opened.csv")).unwrap() == head + &kept);
}

#[test]
fn every_format_in_parquet_is_the_same_from_a_device() {
    let Some(scene) = scene("every_format_in_parquet_is_the_same_from_a_device") else { return };
    let (dir, columns) = (scene.path(), every_format());
    let fields: String =
        columns.iter().map(|(name, ..)| format!("required binary {name} (STRING); ")).collect();
    let schema = Arc::new(parse_message_type(&format!("message people {{ {fields} }}")).unwrap());
    let file = fs::File::create(dir.join("plain.parquet")).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
    // the second row group is too small for a device
    for rows in [0..19_000, 19_000..ROWS] {
        let mut group = writer.next_row_group().unwrap();
        for (name, _, make) in &columns {
            let values: Vec<ByteArray> =
                rows.clone().map(|n| ByteArray::from(value(name, *make, n).as_str())).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    every_format_is_the_same(dir, &columns, "parquet");
}

/// Rows with three columns and a number that names each: accounts, telephone numbers, resident
/// numbers.
fn people(dir: &Path, rows: u64) {
    let row = |n: u64| {
        let account = n * 987_654_321 % 10_000_000_000_000_000;
        let (month, day, serial) = (n % 12 + 1, n % 28 + 1, n * 37 % 1_000_000);
        format!(
            "{account:016},010-{:04}-{:04},95{month:02}{day:02}-1{serial:06},{n}\n",
            n % 9973,
            n % 9967
        )
    };
    fs::write(
        dir.join("people.csv"),
        format!("account,phone,rrn,n\n{}", (0..rows).map(row).collect::<String>()),
    )
    .unwrap();
}

const SEAL: [&str; 8] = [
    "seal",
    "people.csv",
    "--column",
    "account=ff1:digits",
    "--column",
    "phone=ff1:phone",
    "--column",
    "rrn=ff1:rrn",
];

#[test]
fn what_ran_where_is_said() {
    let Some(scene) = scene("what_ran_where_is_said") else { return };
    let dir = scene.path();
    people(dir, 40_000);
    let bound = ["--tweak", "account=row:n"];
    field(dir, &[&SEAL, &bound, &KEY, &["--out", "cpu.csv"]]).done();
    let text = field(dir, &[&SEAL, &bound, &KEY, &DEVICE, &["--out", "device.csv"]]).done();
    same(dir, "cpu.csv", "device.csv");
    // numbers of rows have one to five digits, and so the tweaks many lengths: only common lengths
    // are worth a run
    for said in [
        "  account: 30000 computed on opencl:0, 10000 on the CPU\n",
        "  phone: 40000 computed on opencl:0, 0 on the CPU\n",
        "  threads waited ",
        "; computing it themselves would have taken about ",
    ] {
        assert!(text.contains(said), "{text}");
    }
    let open = ["open", "cpu.csv", "--out", "opened.csv", "--json"];
    let json = field(dir, &[&open, &KEY, &DEVICE]).done();
    same(dir, "opened.csv", "people.csv");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["device"]["name"], computed(&json, "account")),
        (&"opencl:0".into(), (30_000, 10_000))
    );
    assert!(
        json["device"]["waited_s"].as_f64() > Some(0.0)
            && json["device"]["cpu_s"].as_f64() > Some(0.0),
        "{json}"
    );

    // under a cipher that devices also support, and back again
    field(
        dir,
        &[&["reseal", "device.csv", "--cipher", "aria-128", "--out", "aria.csv"], &KEY, &DEVICE],
    )
    .done();
    field(dir, &[&["open", "aria.csv", "--out", "again.csv"], &KEY]).done();
    same(dir, "again.csv", "people.csv");
}

#[test]
fn few_values_run_on_the_cpu_and_wrong_devices_and_ciphers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    people(dir, 2);
    KeyFile::create(dir.join("people.key"), "people").unwrap();
    let seal = |more: &[&str]| field(dir, &[&SEAL, &KEY, &["--out", "sealed.csv"], more]);
    let before = names(dir);
    seal(&["--device", "tpu:0"]).fails_with(
        "sealstone: there is no device \"tpu:0\" on this machine: devices have names such as \
         cuda:0, opencl:0\n  try: sealstone ciphers --devices\n",
    );
    if scene("few_values_run_on_the_cpu_and_wrong_devices_and_ciphers_are_refused").is_none() {
        return;
    }
    let none = seal(&["--device", "opencl:999"]);
    assert!(
        none.stderr.starts_with(
            "sealstone: there is no device \"opencl:999\" on this machine: opencl has "
        )
    );
    seal(&["--device", "opencl:0", "--cipher", "seed-128"]).fails_with(
        "sealstone: seed-128 has no kernel for devices\n  ciphers that have one: aes-128, aes-192, \
         aes-256, aria-128, aria-192, aria-256, pipo-128, pipo-256\n",
    );
    assert_eq!(names(dir), before);
    let text = seal(&DEVICE).done();
    let said = "  rrn: 0 computed on opencl:0, 2 on the CPU\n  nothing ran on opencl:0: it takes \
                ff1 values, many of one length at a time\n";
    assert!(text.contains(said), "{text}");
}

#[test]
fn without_opencl_one_sentence_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    people(dir, 2);
    KeyFile::create(dir.join("people.key"), "people").unwrap();
    let before = names(dir);
    let refused = |name: &str, value: &Path, why: &str| {
        let arguments = [&["field"], &SEAL[..], &KEY, &DEVICE, &["--out", "sealed.csv"]].concat();
        run(sealstone(dir, &arguments).env(name, value)).fails_with(&format!(
            "sealstone: there is no device \"opencl:0\" on this machine: no OpenCL platform is \
             installed ({why})\n  try: sealstone ciphers --devices\n"
        ));
    };
    // a library that is none, found before any other
    let libraries = tempfile::tempdir().unwrap();
    fs::write(
        libraries.path().join("libOpenCL.so.1"),
        "this is no library, however long one looks at it",
    )
    .unwrap();
    refused("LD_LIBRARY_PATH", libraries.path(), "libOpenCL.so.1 was not found");
    if scene("without_opencl_one_sentence_says_so").is_some() {
        refused("OCL_ICD_VENDORS", Path::new("/nonexistent"), "CL_PLATFORM_NOT_FOUND_KHR");
    }
    assert_eq!(names(dir), before);
}

#[test]
fn a_device_that_fails_midway_leaves_nothing_and_is_one_error() {
    let Some(scene) = scene("a_device_that_fails_midway_leaves_nothing_and_is_one_error") else {
        return;
    };
    let (dir, libraries) = (scene.path(), tempfile::tempdir().unwrap());
    let library = failing_opencl::build(libraries.path());
    // more than a chunk
    people(dir, 220_000);
    field(dir, &[&SEAL, &KEY, &["--quiet", "--out", "sealed.csv"]]).done();
    fs::write(dir.join("there.csv"), "what was there before").unwrap();
    let before = names(dir);
    let seal = [&SEAL[..], &["--out", "there.csv", "--yes"]].concat();
    let open = ["open", "sealed.csv", "--out", "opened.csv"];
    let reseal = ["reseal", "sealed.csv", "--cipher", "aes-128", "--out", "again.csv"];
    let lost = "failed while starting a kernel: CL_DEVICE_NOT_AVAILABLE\n  nothing was written; \
                run the same command again, or without --device\n";
    let short = "bytes of memory left\n  nothing was written; end what else uses the device, or \
                 leave --device out\n";
    let wrong = "opencl:0 computed other values than the CPU: it, its driver or its compiler is \
                 faulty\n  nothing was written; leave --device out, and please report this, with \
                 the driver's version\n";
    for (command, failing, said) in [
        (&seal[..], Failing::LostAfterRuns(0), lost),
        (&seal, Failing::LostAfterRuns(7), lost),
        (&open, Failing::LostAfterRuns(7), lost),
        (&reseal, Failing::LostAfterRuns(3), lost),
        (&seal, Failing::MemoryBytes(0), short),
        (&seal, Failing::MemoryBytes(100 << 20), short),
        (&open, Failing::MemoryBytes(60 << 20), short),
        (&seal, Failing::WrongAfterReads(0), wrong),
        (&open, Failing::WrongAfterReads(0), wrong),
    ] {
        let mut program =
            sealstone(dir, &[&["field"], command, &KEY, &DEVICE, &["--quiet"]].concat());
        let refused = run(failing_opencl::with(&mut program, &library, failing));
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{failing:?}: {}",
            refused.stderr
        );
        // the question that --yes answers is printed, too
        let error =
            refused.stderr.strip_prefix("there.csv is there already\n").unwrap_or(&refused.stderr);
        assert!(
            error.starts_with("sealstone: column ") && error.ends_with(said),
            "{failing:?}: {error}"
        );
        assert_eq!(error.lines().count(), 2, "{failing:?}: {error}");
        assert_eq!(names(dir), before, "{failing:?}");
        assert_eq!(fs::read_to_string(dir.join("there.csv")).unwrap(), "what was there before");
    }
}

/// Ends a program at the end of a test that failed before it ended it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_run_that_is_killed_while_the_device_computes_leaves_no_half_file() {
    let Some(scene) = scene("a_run_that_is_killed_while_the_device_computes_leaves_no_half_file")
    else {
        return;
    };
    let (dir, libraries) = (scene.path(), tempfile::tempdir().unwrap());
    let library = failing_opencl::build(libraries.path());
    people(dir, 60_000);
    let arguments =
        [&["field"], &SEAL[..], &KEY, &DEVICE, &["--quiet", "--out", "sealed.csv"]].concat();
    let mut program = sealstone(dir, &arguments);
    failing_opencl::with(&mut program, &library, Failing::HangsAfterRuns(2));
    let mut running = Ended(program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let begin = Instant::now();
    while !dir.join("hangs").exists() {
        assert!(
            running.0.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(120),
            "it hangs"
        );
        thread::sleep(Duration::from_millis(5));
    }
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    let left = names(dir);
    assert!(
        left[0].starts_with(".sealed.csv.") && left[0].ends_with(".sealstone-partial"),
        "{left:?}"
    );
    assert_eq!(left[1..], ["hangs", "people.csv", "people.key"]);
    // the same command goes on where nothing hangs
    run(&mut sealstone(dir, &arguments)).done();
    field(dir, &[&["open", "sealed.csv", "--out", "opened.csv"], &KEY]).done();
    same(dir, "opened.csv", "people.csv");
    assert!(!names(dir).iter().any(|name| name.contains("partial")));
}
