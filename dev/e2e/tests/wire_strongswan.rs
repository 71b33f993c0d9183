//! `sealstone wire up --associations` as in docs/guide/wire.md: charon at both ends of a link
//! agrees on keys, ours takes its place at one of them, and is ended, killed and started again with
//! the same file. It takes root and strongSwan's packages (`make setup-strongswan`). Not here:
//! every suite (`adapters/wire/tests/strongswan.rs`).

use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use sealstone_e2e::binary;
use sealstone_servers::testing;
use sealstone_wire::WireError;
use sealstone_wire::links::{Links, Namespace, command, link};
use sealstone_wire::path::Tun;
use sealstone_wire::path::strongswan::{INNER, StrongSwan, is_installed};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/guide/wire.md");
const DATA_BYTES: usize = 300_000;
/// Number of packets that a crash costs at most, and by which a record is written ahead.
const STEP_PACKETS: u64 = 1 << 18;

fn why_not() -> Option<String> {
    if !is_installed() {
        return Some("strongSwan is not installed; make setup-strongswan installs it".to_owned());
    }
    let error = Namespace::new()
        .and_then(|namespace| namespace.run(|| Tun::create("probe%d").map(drop)))
        .err()?;
    Some(error.to_string().replace('\n', "; "))
}

/// Returns the connections of the two ends in swanctl.conf: that of the page, and the same with
/// ends swapped.
fn connections(links: &Links) -> [String; 2] {
    let block = PAGE
        .split("```text\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("swanctl.conf");
    let addresses = [0, 1].map(|end| links.address(end, false).to_string());
    let swap = |text: &str, one: &str, two: &str| {
        text.replace(one, "\0").replace(two, one).replace('\0', two)
    };
    let here = block.replace("192.0.2.1", &addresses[0]).replace("192.0.2.2", &addresses[1]);
    let there = swap(&here, &addresses[0], &addresses[1]);
    let there = swap(&there, INNER[0], INNER[1]);
    // the secret is of both
    let (ends, secret) = there.split_once("secrets {").expect("secrets");
    [format!("{}secrets {{{secret}", swap(ends, "id = one", "id = two")), here]
}

/// The end that is ours.
struct Ours<'a> {
    links: &'a Links,
    dir: tempfile::TempDir,
    log: String,
}

impl Drop for Ours<'_> {
    fn drop(&mut self) {
        // whatever a failed test left running
        let _ = self.run(&["wire", "down"]);
    }
}

impl Ours<'_> {
    fn run(&self, arguments: &[&str]) -> Output {
        let dir = self.dir.path();
        let run = || {
            let mut command = command(binary::sealstone().to_str().unwrap());
            command.args(arguments).current_dir(dir).env("SEALSTONE_RUNTIME_DIR", dir.join("run"));
            command.env("SEALSTONE_STATE_DIR", dir.join("state"));
            command.output().map_err(|found| WireError::Path { attempted: "run sealstone", found })
        };
        self.links.ends[1].run(run).unwrap()
    }

    /// Returns the command of the page, with the file that charon wrote here.
    fn up(&self, more: &[&str]) -> Output {
        let line = PAGE
            .lines()
            .find(|line| line.starts_with("    sealstone wire up --associations"))
            .expect("it");
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        assert!(words.contains(&"/run/charon.keys"));
        let words = words
            .into_iter()
            .map(|word| if word == "/run/charon.keys" { self.log.as_str() } else { word });
        self.run(&words.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    fn up_again(&self) {
        let output = self.up(&[]);
        assert!(output.status.success(), "{}", stderr(&output));
    }

    fn status(&self) -> Value {
        let output = self.run(&["wire", "status", "--json"]);
        let status: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", stderr(&output)));
        status["tunnels"][0].clone()
    }

    fn sealed(&self) -> u64 {
        self.status()["given"]["sealed_packets"].as_u64().unwrap()
    }

    /// Sends the same data to this end and back.
    fn echo(&self, what: &str) {
        let to: IpAddr = INNER[1].parse().unwrap();
        let listener = self.links.ends[1].run(|| Ok(TcpListener::bind((to, 0)).unwrap())).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            Ok(stream)
        };
        let data: Vec<u8> = (0..DATA_BYTES).map(|at| (at * 7) as u8).collect();
        let (back, _) =
            testing::echo(&listener, || self.links.ends[0].run(connect).unwrap(), &data);
        assert!(back == data, "{what}: {} bytes came back", back.len());
    }

    fn has_device(&self) -> bool {
        let list = || {
            Ok(Command::new("ip")
                .args(["-oneline", "link", "show", "sealstone0"])
                .output()
                .unwrap())
        };
        self.links.ends[1].run(list).unwrap().status.success()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_page_s_tunnel_with_strongswan_continues_where_its_keys_were() {
    let name = "the_page_s_tunnel_with_strongswan_continues_where_its_keys_were";
    if let Some(reason) = why_not() {
        println!("SKIP: {name}: {reason}");
        return;
    }
    let links = Links::new(link("unlimited").unwrap()).unwrap();
    let mut tunnel = StrongSwan::start_from(&links, &connections(&links)).unwrap();
    tunnel.kill(1);
    // charon's own setting up of this end put it there
    let remove = || {
        Ok(Command::new("ip")
            .args(["address", "delete", &format!("{}/32", INNER[1]), "dev", "lo"])
            .status())
    };
    assert!(links.ends[1].run(remove).unwrap().unwrap().success());
    let log = tunnel.log_path(1).display().to_string();
    let ours = Ours { links: &links, dir: tempfile::tempdir().unwrap(), log };

    let first = ours.up(&[]);
    assert!(first.status.success(), "{}", stderr(&first));
    ours.echo("at first");
    let status = ours.status();
    assert_eq!(
        (status["state"].as_str(), status["suite"].as_str()),
        (Some("up"), Some("aes-256-gcm")),
        "{status}"
    );
    assert!(status["given"]["newest_in"].as_u64().unwrap() > 100, "{status}");
    let text = ours.run(&["wire", "status"]);
    assert!(text.status.success());
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains(&format!("keys from   {}", ours.log))
            && text.contains(" the newest that came"),
        "{text}"
    );

    // nobody else seals under the key at the same time
    let second = ours.up(&[
        "--name",
        "other",
        "--no-guard",
        "--listen",
        &format!("{}:4501", links.address(1, false)),
    ]);
    assert_eq!(second.status.code(), Some(2));
    assert!(
        stderr(&second).contains("another tunnel uses the same association: "),
        "{}",
        stderr(&second)
    );

    let before = ours.sealed();
    assert!(before > 100 && before < STEP_PACKETS);
    assert!(ours.run(&["wire", "down"]).status.success() && !ours.has_device());
    ours.up_again();
    assert!(ours.sealed() >= before, "{} after {before}", ours.sealed());
    ours.echo("after down and up");
    let exact = ours.sealed();
    assert!(exact < STEP_PACKETS, "what was reserved and not used is not lost by down: {exact}");

    let pid = ours.status()["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    ours.up_again();
    assert!(ours.sealed() >= before + STEP_PACKETS, "behind what was reserved: {}", ours.sealed());
    ours.echo("after a kill");
    assert!(ours.run(&["wire", "down"]).status.success());

    // no key is in any record, and records are this user's alone
    let kept: Vec<_> =
        std::fs::read_dir(ours.dir.path().join("state")).unwrap().flatten().collect();
    let records: Vec<_> = kept
        .iter()
        .filter(|entry| !entry.file_name().to_string_lossy().ends_with(".lock"))
        .collect();
    assert_eq!(records.len(), 2, "{kept:?}");
    for record in records {
        let text = std::fs::read_to_string(record.path()).unwrap();
        assert!(text.starts_with("{\"schema\":1,\"packets\":") && text.len() < 80, "{text}");
    }
    nothing_starts_without_its_record(&ours);
}

/// With the disk full, or the record damaged, nothing is sent: there is no tunnel.
fn nothing_starts_without_its_record(ours: &Ours) {
    let state = ours.dir.path().join("state");
    let record = std::fs::read_dir(&state).unwrap().flatten().map(|entry| entry.path());
    let record = record
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "sealed"))
        .unwrap();
    let whole = std::fs::read(&record).unwrap();
    std::fs::write(&record, &whole[..whole.len() / 2]).unwrap();
    let damaged = ours.up(&[]);
    assert_eq!(damaged.status.code(), Some(2));
    assert!(
        stderr(&damaged).contains("the record of how far the key has gone is damaged"),
        "{}",
        stderr(&damaged)
    );
    std::fs::write(&record, &whole).unwrap();

    let full = ours.dir.path().join("full");
    let Some(_mounted) = FullDisk::mount(&full) else { return };
    let refused = ours.up(&["--state-dir", full.join("state").to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("No space left on device"), "{}", stderr(&refused));
    assert!(!ours.has_device());
}

/// A file system without room, for as long as the value lives.
struct FullDisk<'a>(&'a Path);

impl<'a> FullDisk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=16k,mode=0700", "tmpfs"];
        let mounted = Command::new("mount")
            .args(options)
            .arg(at)
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            return None;
        }
        std::fs::create_dir(at.join("state")).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(at.join("state"), private).unwrap();
        // until there is no room
        let _ = std::fs::write(at.join("filler"), vec![0; 64 << 10]);
        Some(Self(at))
    }
}

impl Drop for FullDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}
