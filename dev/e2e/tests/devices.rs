//! `sealstone ciphers --devices`, and `--speed --device` on a device that PoCL makes of the CPU.
//! Not here: the results of devices (`adapters/gpu/tests`), and columns on a device
//! (`field_device.rs`).

use std::fs;
use std::path::Path;

use sealstone_e2e::transcript::{run, sealstone};
use serde_json::Value;

/// Returns the devices of this machine by OpenCL.
fn opencl(dir: &Path) -> Vec<String> {
    let listed = run(&mut sealstone(dir, &["ciphers", "--devices", "--json"])).done();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["schema"], 1);
    let names = listed["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| device["name"].as_str().unwrap().to_owned());
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
        assert!(
            text.ends_with("cuda: no NVIDIA driver is installed (libcuda.so.1 was not found)\n"),
            "{text}"
        );
        run(&mut sealstone(dir.path(), &["ciphers", "--speed", "--device", "cuda:0"])).fails_with(
            "sealstone: there is no device \"cuda:0\" on this machine: no NVIDIA driver is \
             installed (libcuda.so.1 was not found)\n  try: sealstone ciphers --devices\n",
        );
    }
}

#[test]
fn wrong_devices_and_ciphers_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    run(&mut sealstone(dir.path(), &["ciphers", "--speed", "--device", "tpu:0"])).fails_with(
        "sealstone: there is no device \"tpu:0\" on this machine: devices have names such as \
         cuda:0, opencl:0\n  try: sealstone ciphers --devices\n",
    );
    let arguments = ["ciphers", "--speed", "--device", "opencl:0", "--ciphers", "lea-128"];
    run(&mut sealstone(dir.path(), &arguments)).fails_with(
        "sealstone: lea-128 has no kernel for devices\n  ciphers that have one: aes-128, aes-192, \
         aes-256, aria-128, aria-192, aria-256, pipo-128, pipo-256\n",
    );
}

#[test]
fn a_device_is_measured_beside_the_cpu() {
    let dir = tempfile::tempdir().unwrap();
    if opencl(dir.path()).is_empty() {
        println!(
            "SKIP: a_device_is_measured_beside_the_cpu: no device by OpenCL here; make setup-gpu \
             installs one"
        );
        return;
    }
    let arguments = [
        "ciphers",
        "--speed",
        "--device",
        "opencl:0",
        "--ciphers",
        "pipo-128",
        "--sizes",
        "4KiB,2MiB",
        "--seconds",
    ];
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
        "pipo-128 in counter mode: copying included, the device is ",
        "VALUES",
        "65536",
        "FF1 over pipo-128: copying included, the device is ",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json = run(&mut sealstone(
        dir.path(),
        &[&arguments[..], &["--json", "--out", "speeds.html"]].concat(),
    ))
    .done();
    let page = fs::read_to_string(dir.path().join("speeds.html")).unwrap();
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 2, "{page}");
    for word in [
        "pipo-128 in counter mode",
        "FF1 of 16 digits over pipo-128",
        ">overlapped<",
        "opencl:0 beside the CPU",
    ] {
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
