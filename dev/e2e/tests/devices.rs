//! `sealstone ciphers --devices`, `--speed --device` and `field … --device` on a device that PoCL makes of the CPU. Not
//! here: what devices compute (`adapters/gpu/tests`).

use std::fs;
use std::path::Path;

use sealstone_e2e::transcript::{run, sealstone};
use sealstone_keys::file::KeyFile;
use serde_json::Value;

/// The devices of this machine by OpenCL.
fn opencl(dir: &Path) -> Vec<String> {
    let listed = run(&mut sealstone(dir, &["ciphers", "--devices", "--json"])).done();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["schema"], 1);
    let names = listed["devices"].as_array().unwrap().iter().map(|device| device["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("opencl:")).collect()
}

#[test]
fn devices_are_listed_and_a_machine_without_one_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let text = run(&mut sealstone(dir.path(), &["ciphers", "--devices"])).done();
    let devices = opencl(dir.path());
    for device in &devices {
        assert!(text.lines().any(|line| line.starts_with(device.as_str())), "{text}");
    }
    if devices.is_empty() {
        assert!(text.contains("opencl: no OpenCL platform"), "{text}");
    } else {
        let known = "aes-128, aes-192, aes-256, aria-128, aria-192, aria-256, pipo-128, pipo-256";
        assert!(text.contains(&format!("ciphers that have a kernel: {known}\n")), "{text}");
    }
    if !Path::new("/dev/nvidiactl").exists() {
        assert!(text.ends_with("cuda: no NVIDIA driver is installed (libcuda.so.1 was not found)\n"), "{text}");
        run(&mut sealstone(dir.path(), &["ciphers", "--speed", "--device", "cuda:0"])).fails_with(
            "sealstone: there is no device \"cuda:0\" on this machine: no NVIDIA driver is installed (libcuda.so.1 \
             was not found)\n  try: sealstone ciphers --devices\n",
        );
    }
}

#[test]
fn wrong_devices_and_ciphers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    run(&mut sealstone(dir.path(), &["ciphers", "--speed", "--device", "tpu:0"])).fails_with(
        "sealstone: there is no device \"tpu:0\" on this machine: devices have names such as cuda:0, opencl:0\n  \
         try: sealstone ciphers --devices\n",
    );
    let arguments = ["ciphers", "--speed", "--device", "opencl:0", "--ciphers", "lea-128"];
    run(&mut sealstone(dir.path(), &arguments)).fails_with(
        "sealstone: lea-128 has no kernel for devices\n  \
         ciphers that have one: aes-128, aes-192, aes-256, aria-128, aria-192, aria-256, pipo-128, pipo-256\n",
    );
}

#[test]
fn a_device_is_measured_beside_the_cpu() {
    let dir = tempfile::tempdir().unwrap();
    if opencl(dir.path()).is_empty() {
        println!("SKIP: a_device_is_measured_beside_the_cpu: no device by OpenCL here; make setup-gpu installs one");
        return;
    }
    let arguments =
        ["ciphers", "--speed", "--device", "opencl:0", "--ciphers", "pipo-128", "--sizes", "4KiB,2MiB", "--seconds"];
    let arguments = [&arguments[..], &["0.007"]].concat();
    let text = run(&mut sealstone(dir.path(), &arguments)).done();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for word in [
        "opencl:0: ",
        "KERNEL",
        "COPIED",
        "OVERLAPPED",
        "ANY MEMORY",
        "4 KiB",
        "2 MiB",
        "pipo-128: data in any",
        "VALUES",
        "65536",
        "pipo-128: values in any",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json = run(&mut sealstone(dir.path(), &[&arguments[..], &["--json", "--out", "speeds.html"]].concat())).done();
    let page = fs::read_to_string(dir.path().join("speeds.html")).unwrap();
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 2, "{page}");
    for word in
        ["pipo-128 in counter mode", "FF1 of 16 digits over pipo-128", ">overlapped<", "opencl:0 beside the CPU"]
    {
        assert!(page.contains(word), "{word}: {page}");
    }
    let json: Value = serde_json::from_str(&json).unwrap();
    let speeds = json["speeds"].as_array().unwrap();
    assert_eq!(speeds.len(), 12);
    assert!(speeds.iter().all(|speed| speed["gb_per_s"].as_f64().unwrap() > 0.0), "{json}");
    assert_eq!(json["wins"][0]["cipher"], "pipo-128");
    let rates = json["ff1"][0]["rates"].as_array().unwrap();
    assert_eq!((rates.len(), &json["ff1"][0]["digits"]), (12, &16.into()));
    assert!(rates.iter().all(|rate| rate["values_per_s"].as_f64().unwrap() > 0.0), "{json}");
}

/// Columns of a file on a device: the same bytes as without it, and what ran where is said.
#[test]
fn columns_are_the_same_from_a_device() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    if opencl(dir).is_empty() {
        println!("SKIP: columns_are_the_same_from_a_device: no device by OpenCL here; make setup-gpu installs one");
        return;
    }
    let row = |n: u64| {
        let (month, day) = (n % 12 + 1, n % 28 + 1);
        let account = n * 987_654_321 % 10_000_000_000_000_000;
        format!(
            "{account:016},010-{:04}-{:04},95{month:02}{day:02}-1{:06},{n}\n",
            n % 9973,
            n % 9967,
            n * 37 % 1_000_000
        )
    };
    let rows: String = (0..40_000).map(row).collect();
    fs::write(dir.join("people.csv"), format!("account,phone,rrn,n\n{rows}")).unwrap();
    KeyFile::create(dir.join("people.key"), "people").unwrap();
    let field = |arguments: &[&str]| run(&mut sealstone(dir, &[&["field"], arguments].concat()));
    let seal = ["seal", "people.csv", "--column", "account=ff1:digits", "--column", "phone=ff1:phone"];
    let seal = [&seal[..], &["--column", "rrn=ff1:rrn", "--tweak", "account=row:n", "--key", "people.key"]].concat();
    let device = ["--device", "opencl:0"];
    field(&[&seal[..], &["--out", "cpu.csv"]].concat()).done();
    let text = field(&[&seal[..], &device, &["--out", "device.csv"]].concat()).done();
    assert!(fs::read(dir.join("cpu.csv")).unwrap() == fs::read(dir.join("device.csv")).unwrap(), "{text}");
    // the numbers of rows have one to five digits, and so the tweaks many lengths: only the common ones are worth a run
    for said in
        ["  account: 30000 values on opencl:0, 10000 on the CPU\n", "  phone: 40000 values on opencl:0, 0 on the CPU\n"]
    {
        assert!(text.contains(said), "{text}");
    }
    assert!(text.contains("  threads waited "), "{text}");

    let open = ["open", "cpu.csv", "--key", "people.key", "--out", "opened.csv", "--json"];
    let json = field(&[&open[..], &device].concat()).done();
    assert!(fs::read(dir.join("opened.csv")).unwrap() == fs::read(dir.join("people.csv")).unwrap(), "{json}");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["device"]["name"], "opencl:0");
    let column = |at: usize, what: &str| json["device"]["columns"][at][what].clone();
    assert_eq!((column(0, "name"), column(0, "device_values")), ("account".into(), 30_000.into()));
    assert!(json["device"]["waited_s"].as_f64().unwrap() > 0.0, "{json}");

    // under a cipher that devices know as well, and back again
    let reseal = ["reseal", "device.csv", "--key", "people.key", "--cipher", "aria-128", "--out", "aria.csv"];
    field(&[&reseal[..], &device].concat()).done();
    field(&["open", "aria.csv", "--key", "people.key", "--out", "again.csv"]).done();
    assert!(fs::read(dir.join("again.csv")).unwrap() == fs::read(dir.join("people.csv")).unwrap());
}

#[test]
fn few_values_run_on_the_cpu_and_wrong_devices_and_ciphers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("few.csv"), "id\n123456\n654321\n").unwrap();
    KeyFile::create(dir.join("few.key"), "few").unwrap();
    let field = |arguments: &[&str]| run(&mut sealstone(dir, &[&["field"], arguments].concat()));
    let seal = ["seal", "few.csv", "--column", "id=ff1:digits", "--key", "few.key", "--out", "sealed.csv"];
    field(&[&seal[..], &["--device", "tpu:0"]].concat()).fails_with(
        "sealstone: there is no device \"tpu:0\" on this machine: devices have names such as cuda:0, opencl:0\n  \
         try: sealstone ciphers --devices\n",
    );
    if opencl(dir).is_empty() {
        println!(
            "SKIP: few_values_run_on_the_cpu_and_wrong_devices_and_ciphers_are_refused: no device by OpenCL here; make \
             setup-gpu installs one"
        );
        return;
    }
    field(&[&seal[..], &["--device", "opencl:0", "--cipher", "seed-128"]].concat()).fails_with(
        "sealstone: seed-128 has no kernel for devices\n  \
         ciphers that have one: aes-128, aes-192, aes-256, aria-128, aria-192, aria-256, pipo-128, pipo-256\n",
    );
    assert!(!dir.join("sealed.csv").exists());
    let text = field(&[&seal[..], &["--device", "opencl:0"]].concat()).done();
    let said = "  id: 0 values on opencl:0, 2 on the CPU\n  nothing ran on opencl:0: it takes values in their own format \
                (ff1), many of one length at a time\n";
    assert!(text.contains(said), "{text}");
}
