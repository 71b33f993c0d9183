//! The kernel's own ESP, here or, where this machine's kernel has none, within a user-mode kernel
//! that has it: it carries packets of every suite that it has, opens those of our path, and ours
//! its own, and `compare` measures it.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use sealstone_e2e::binary;
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::user_mode_kernel::run_where_possible;
use sealstone_seal::esp::{Encryption, Suite, suite, suites};
use sealstone_servers::TGT_PROGRAM;
use sealstone_servers::testing::{self, is_installed};
use sealstone_wire::WireError;
use sealstone_wire::links::{Links, command, link};
use sealstone_wire::path::{Carried, Carrier, Tun, xfrm};
use serde_json::Value;

const DATA_BYTES: usize = 200_000;
/// Features that the kernel has in modules. Only the first are required: links do without IPv6
/// where it is missing.
const MODULES: [&str; 6] = ["veth", "tun", "esp4", "xfrm_user", "ipv6", "esp6"];
const WITHOUT_IPV6: &[&str] = MODULES.split_at(4).0;
/// Addresses within the tunnel, of the kernel's end and of ours.
const INNER: [[&str; 2]; 2] = [["10.78.0.1", "fd78::1"], ["10.78.0.2", "fd78::2"]];

fn unlimited() -> Links {
    Links::new(link("unlimited").unwrap()).unwrap()
}

/// Returns what this machine lacks of links, devices and ESP.
fn lacks() -> Option<String> {
    let probe = || {
        let links = Links::new(link("unlimited").expect("a row of the table"))?;
        links.ends[0].run(|| Tun::create("probe%d").map(drop))?;
        Carried::start(&links, Carrier::Kernel, suite("aes-256-gcm").expect("a row of the table"))
            .map(drop)
    };
    probe().err().map(|error| error.to_string().replace('\n', "; "))
}

/// Suites that the kernel may have.
fn of_the_kernel() -> impl Iterator<Item = &'static Suite> {
    suites().iter().filter(|suite| Carrier::Kernel.has(suite))
}

/// Runs `program` at one end and returns what it printed.
fn at(links: &Links, end: usize, program: &str, arguments: &[&str]) -> String {
    let output = links.ends[end]
        .run(|| Ok(Command::new(program).args(arguments).output().unwrap()))
        .unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Sends data from end 0 to `to` at end 1 and back; `seen` returns the state of both ends if they
/// cannot be connected.
fn echo(links: &Links, to: IpAddr, seen: impl Fn() -> String) {
    let listener = links.ends[1].run(|| Ok(TcpListener::bind((to, 0)).unwrap())).unwrap();
    let address = listener.local_addr().unwrap();
    let connected = links.ends[0]
        .run(|| Ok(TcpStream::connect_timeout(&address, Duration::from_secs(10))))
        .unwrap();
    let stream = connected.unwrap_or_else(|error| panic!("{to}: {error}: {}", seen()));
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let data: Vec<u8> = (0..DATA_BYTES).map(|at| (at * 7) as u8).collect();
    let (back, _) = testing::echo(&listener, || stream, &data);
    assert!(back == data, "{to}: {} bytes came back: {}", back.len(), seen());
}

/// Bytes that the kernel at `end` sealed or opened under each of its associations.
fn sealed_bytes(links: &Links, end: usize) -> Vec<u64> {
    let states = at(links, end, "ip", &["-statistics", "xfrm", "state"]);
    let current = states.split("lifetime current:").skip(1);
    current
        .map(|text| text.trim_start().split('(').next().unwrap().trim().parse().unwrap())
        .collect()
}

#[test]
fn the_kernel_seals_what_compare_has_it_carry() {
    run_where_possible("the_kernel_seals_what_compare_has_it_carry", WITHOUT_IPV6, lacks, || {
        for suite in of_the_kernel() {
            let links = unlimited();
            let carried = Carried::start(&links, Carrier::Kernel, suite).unwrap();
            echo(&links, carried.addresses[1], || suite.name.to_owned());
            for end in [0, 1] {
                let bytes = sealed_bytes(&links, end);
                let all_of_it =
                    bytes.len() == 2 && bytes.iter().all(|bytes| *bytes >= DATA_BYTES as u64);
                assert!(all_of_it, "{}, end {end}: {bytes:?}", suite.name);
            }
        }
        assert!(of_the_kernel().count() >= 14);
    });
}

#[test]
fn compare_measures_the_kernel_beside_our_path() {
    let name = "compare_measures_the_kernel_beside_our_path";
    if !is_installed(&TGT_PROGRAM, name) {
        return;
    }
    run_where_possible(name, WITHOUT_IPV6, lacks, || {
        let dir = tempfile::tempdir().unwrap();
        let flags = [
            "--store=iscsi",
            "--layer=wire",
            "--suites=none,3des-md5,aes-256-gcm",
            "--set=path=kernel,sealstone",
        ];
        let small = [
            "--bytes=2MB",
            "--block-bytes=16KiB",
            "--set=depth=4",
            "--operations=32",
            "--rounds=1",
            "--set=pairs=6",
        ];
        let more = ["--workloads=seq-read", "--set=slice-ms=5", "--verify", "--out=out"];
        run(&mut sealstone(dir.path(), &[&["compare"], &flags[..], &small, &more].concat())).done();
        let results: Value =
            serde_json::from_slice(&fs::read(dir.path().join("out/results.json")).unwrap())
                .unwrap();
        let variants = results["variants"].as_array().unwrap();
        let paths: Vec<_> =
            variants.iter().filter_map(|one| one["layers"]["wire"]["backend"].as_str()).collect();
        assert_eq!(paths.iter().filter(|path| **path == "kernel").count(), 2, "{variants:?}");
        let cells = results["groups"][0]["cells"].as_array().unwrap();
        assert!(
            cells.len() == 5 && cells.iter().all(|cell| cell["throughput"].as_f64().unwrap() > 0.0)
        );
    });
}

/// The kernel at end 0 of a link, which takes ESP out of UDP and sends packets for the other end's
/// inner addresses through associations that `Both` gives it; end 1 is for our path. One for all
/// suites: each start of a program is slow within a user-mode kernel.
struct Ends {
    links: Links,
    /// Process whose socket makes the kernel at end 0 take ESP out of UDP.
    _socket: KillOnDrop,
}

/// Both ends with the same associations, our end's from a file.
struct Both<'a> {
    links: &'a Links,
    dir: tempfile::TempDir,
}

struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Both<'_> {
    fn drop(&mut self) {
        // whatever a failed test left running
        let _ = self.ours(&["wire", "down"]);
    }
}

/// Returns the kernel's names for the ciphers of `suite`, with keys of bytes that begin at `first`.
fn algorithms(suite: &Suite, first: u8) -> String {
    let key = |bytes: usize, first: u8| {
        (0..bytes).fold(String::from("0x"), |mut text, at| {
            let _ = write!(text, "{:02x}", first.wrapping_add(3 * at as u8));
            text
        })
    };
    let (cipher, mac) = suite.name.split_once('-').unwrap();
    let encryption = key(suite.key_bytes(), first);
    if matches!(suite.encryption, Encryption::Gcm(_)) {
        return format!("aead 'rfc4106(gcm(aes))' {encryption} 128");
    }
    let cipher = match cipher {
        "3des" => "des3_ede",
        other => other,
    };
    let (hash, bits) = match mac.rsplit('-').next().unwrap() {
        "sha256" => ("sha256", 128),
        hash => (hash, 96),
    };
    let integrity = key(suite.integrity_key_bytes(), first ^ 0x80);
    format!("enc 'cbc({cipher})' {encryption} auth-trunc 'hmac({hash})' {integrity} {bits}")
}

impl Ends {
    fn new() -> Self {
        let links = unlimited();
        let [kernel, ours] = [0, 1].map(|end| links.address(end, false));
        let mut batch = String::new();
        for family in [0, 1] {
            let ([here, there], bits) = ([INNER[0][family], INNER[1][family]], [32, 128][family]);
            let no_wait = ["", " nodad"][family];
            let _ = write!(
                batch,
                "address add {here}/{bits} dev lo{no_wait}\n\
                 route add {there}/{bits} dev link0 src {here}\n\
                 xfrm policy add src {here}/{bits} dst {there}/{bits} dir out tmpl src {kernel} \
                 dst {ours} proto esp reqid 1 mode tunnel\n\
                 xfrm policy add src {there}/{bits} dst {here}/{bits} dir in tmpl src {ours} dst \
                 {kernel} proto esp reqid 1 mode tunnel\n"
            );
        }
        ip_batch(&links, &batch);
        let socket = links.ends[0].run(|| Ok(takes_esp_out_of_udp(&kernel.to_string()))).unwrap();
        Self { links, _socket: socket }
    }
}

/// Runs the lines of `batch` on end 0, each without its `ip`.
fn ip_batch(links: &Links, batch: &str) {
    at(links, 0, "sh", &["-c", &format!("ip -batch - <<'EOF'\n{batch}EOF\n")]);
}

impl<'a> Both<'a> {
    /// `esn`: extended sequence numbers. The kernel's key is another one than ours if it begins at
    /// another byte.
    fn new(ends: &'a Ends, suite: &Suite, esn: bool, first_bytes: [u8; 2]) -> Self {
        let (links, dir) = (&ends.links, tempfile::tempdir().unwrap());
        let [kernel, ours] = [0, 1].map(|end| links.address(end, false));
        let states = |first| {
            // af-unspec: IPv6, too, within a tunnel of IPv4
            let window = if esn {
                "replay-window 64 flag af-unspec esn"
            } else {
                "replay-window 32 flag af-unspec"
            };
            let state = |from, to, spi, first| {
                let keys = algorithms(suite, first);
                format!(
                    "xfrm state add src {from} dst {to} proto esp spi {spi:#x} reqid 1 mode tunnel \
                     {window} {keys} encap espinudp 4500 4500 0.0.0.0\n"
                )
            };
            state(kernel, ours, 0x1000, first) + &state(ours, kernel, 0x1001, first ^ 0x55)
        };
        ip_batch(links, &format!("xfrm state flush\n{}", states(first_bytes[0])));
        let file = dir.path().join("associations");
        fs::write(&file, states(first_bytes[1])).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
        let both = Self { links, dir };
        let flag = |name: &str, [four, six]: [&str; 2]| {
            [format!("--{name}={four}/32"), format!("--{name}={six}/128")]
        };
        let flags = [flag("address", INNER[1]), flag("route", INNER[0])].concat();
        let flags = flags.iter().map(String::as_str);
        let up = ["wire", "up", "--no-guard", "--associations", "associations"];
        let output = both.ours(&up.into_iter().chain(flags).collect::<Vec<_>>());
        assert!(output.status.success(), "{}: {}", suite.name, stderr(&output));
        both
    }

    fn ours(&self, arguments: &[&str]) -> Output {
        let dir = self.dir.path();
        let run = || {
            let mut command = command(binary::sealstone().to_str().unwrap());
            command.args(arguments).current_dir(dir).env("SEALSTONE_RUNTIME_DIR", dir.join("run"));
            command.env("SEALSTONE_STATE_DIR", dir.join("state"));
            command.output().map_err(|found| WireError::Path { attempted: "run sealstone", found })
        };
        self.links.ends[1].run(run).unwrap()
    }

    fn status(&self) -> Value {
        let output = self.ours(&["wire", "status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", stderr(&output)));
        status["tunnels"][0].clone()
    }

    /// Returns the kernel's counts of packets that it refused since it has the link, by reason,
    /// without the reasons that never occurred.
    fn refused_by_the_kernel(&self) -> Vec<String> {
        let counted = at(self.links, 0, "cat", &["/proc/net/xfrm_stat"]);
        counted
            .lines()
            .filter(|line| !line.trim_end().ends_with("\t0"))
            .map(str::to_owned)
            .collect()
    }
}

/// Returns a socket at the port of ESP in UDP, marked as such for the kernel, which then examines
/// its packets.
fn takes_esp_out_of_udp(address: &str) -> KillOnDrop {
    // SOL_UDP, UDP_ENCAP, UDP_ENCAP_ESPINUDP
    let program = format!(
        "import socket, sys\n\
         port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         port.bind((\"{address}\", 4500))\n\
         port.setsockopt(17, 100, 2)\n\
         print(\"ready\", flush=True)\n\
         sys.stdin.read()\n"
    );
    let mut python = Command::new("python3");
    python.args(["-c", &program]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = KillOnDrop(python.spawn().unwrap());
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.0.stdout.as_mut().unwrap(), &mut ready).unwrap();
    // so that it ends with the process at the other end of the pipe
    child.0.stdin.as_mut().unwrap().flush().unwrap();
    child
}

#[test]
fn the_kernel_and_our_path_open_each_others_packets() {
    run_where_possible("the_kernel_and_our_path_open_each_others_packets", &MODULES, lacks, || {
        let ends = Ends::new();
        for (number, suite) in of_the_kernel().enumerate() {
            // both kinds of numbers, with each kind of suite
            let esn = number % 2 == 0;
            println!("{}, extended numbers: {esn}", suite.name);
            let both = Both::new(&ends, suite, esn, [1, 1]);
            for address in INNER[1] {
                let seen = || {
                    format!(
                        "{}, esn {esn}: {:?}, {}",
                        suite.name,
                        both.refused_by_the_kernel(),
                        both.status()
                    )
                };
                echo(both.links, address.parse().unwrap(), seen);
            }
            let status = both.status();
            assert_eq!(
                (status["state"].as_str(), status["suite"].as_str()),
                (Some("up"), Some(suite.name))
            );
            assert!(
                sealed_bytes(both.links, 0).iter().all(|bytes| *bytes >= 2 * DATA_BYTES as u64)
            );
            let refused = both.refused_by_the_kernel();
            assert!(refused.is_empty(), "{}: {refused:?}", suite.name);
            reads_what_iproute2_prints(&both, suite, esn, number);
        }
    });
}

/// Reads the associations back in one of the forms that iproute2 prints, another for each `number`:
/// starting a program is slow within a user-mode kernel.
fn reads_what_iproute2_prints(both: &Both, suite: &Suite, esn: bool, number: usize) {
    let forms: [&[&str]; 4] = [&[], &["-statistics"], &["-oneline"], &["-oneline", "-statistics"]];
    let printed =
        at(both.links, 0, "ip", &[forms[number % forms.len()], &["xfrm", "state"]].concat());
    let read =
        xfrm::read(&printed).unwrap_or_else(|error| panic!("{}: {error}:\n{printed}", suite.name));
    assert_eq!(read.len(), 2, "{printed}");
    for one in &read {
        assert_eq!(
            (one.association.suite.name, one.association.extended),
            (suite.name, esn),
            "{printed}"
        );
        assert_eq!(one.ports, Some((4_500, 4_500)), "{printed}");
    }
    let spis = [0x1000, 0x1001]
        .map(|spi| read.iter().find(|one| one.association.spi == spi).expect("both"));
    assert!(spis[0].sealed_before > 10 && spis[1].came_before > 10, "{printed}");
}

#[test]
fn neither_takes_packets_of_another_key() {
    run_where_possible("neither_takes_packets_of_another_key", &MODULES, lacks, || {
        for name in ["aes-256-gcm", "aes-128-sha1"] {
            let ends = Ends::new();
            let both = Both::new(&ends, suite(name).unwrap(), false, [1, 2]);
            let [theirs, ours] = INNER.map(|addresses| addresses[0]);
            let ping = |end: usize, to: &str| {
                let to: std::net::SocketAddr = format!("{to}:9").parse().unwrap();
                let send =
                    || Ok(TcpStream::connect_timeout(&to, Duration::from_millis(300)).is_ok());
                both.links.ends[end].run(send).unwrap()
            };
            assert!(!ping(0, ours) && !ping(1, theirs), "{name}");
            let refused = both.refused_by_the_kernel();
            assert!(
                refused.iter().any(|line| line.starts_with("XfrmInStateProtoError")),
                "{name}: {refused:?}"
            );
            let refused = both.status()["packets_refused"].clone();
            assert!(
                refused["refused: authentication failed"]
                    .as_u64()
                    .is_some_and(|packets| packets > 0),
                "{name}: {refused}"
            );
        }
    });
}
