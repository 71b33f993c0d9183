//! Two ends with a path between them, in separate namespaces.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_cipher::testing::bytes;
use sealstone_seal::esp::{Association, Inbound, Outbound, Suite, udp};
use sealstone_wire::WireError;
use sealstone_wire::links::{LINK_MTU, Links, Namespace, link};
use sealstone_wire::path::{Associations, Path, Sources, Tun, inner_mtu};

/// Set where the test runs in namespaces that `unshare` made.
const INSIDE: &str = "SEALSTONE_TEST_INSIDE";
pub(crate) const WINDOW: u32 = 1_024;

/// Runs `test`, called `name` with its modules, where it may make namespaces and devices: here, or
/// within `unshare`; where neither can be, it is skipped.
pub(crate) fn with_namespaces(name: &str, test: impl FnOnce()) {
    let probe =
        Namespace::new().and_then(|namespace| namespace.run(|| Tun::create("probe%d").map(drop)));
    let Err(error) = probe else { return test() };
    let reason = error.to_string().replace('\n', "; ");
    let short = name.rsplit("::").next().unwrap();
    if std::env::var_os(INSIDE).is_some() {
        println!("SKIP: {short}: {reason}");
        return;
    }
    let own = std::env::current_exe().unwrap();
    let mut again = Command::new("unshare");
    again.arg("-Urn").arg(own).args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    match again.output() {
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("1 passed") => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            said.lines()
                .filter(|line| line.starts_with("SKIP: "))
                .for_each(|line| println!("{line}"));
        }
        Ok(output) if String::from_utf8_lossy(&output.stdout).contains("running 1 test") => {
            let said = [output.stdout, output.stderr]
                .map(|text| String::from_utf8_lossy(&text).into_owned());
            panic!("within unshare: {}", said.join("\n"));
        }
        _ => println!("SKIP: {short}: {reason}"),
    }
}

/// Returns the tunnel's own addresses.
pub(crate) fn inner(end: usize, is_ipv6: bool) -> IpAddr {
    let text = if is_ipv6 { ["fd78::1", "fd78::2"] } else { ["10.78.0.1", "10.78.0.2"] };
    text[end].parse().unwrap()
}

pub(crate) fn association(suite: &'static Suite, from: usize) -> Association {
    Association { spi: 0x1000 + from as u32, suite, extended: true, backend: Backend::auto() }
}

/// Returns the keys with which end `from` seals.
pub(crate) fn keys(suite: &Suite, from: usize) -> (Vec<u8>, Vec<u8>) {
    let label = ["key of end 0", "key of end 1"][from];
    (bytes(label, suite.key_bytes()), bytes(&format!("{label}, mac"), suite.integrity_key_bytes()))
}

pub(crate) fn outbound(suite: &'static Suite, from: usize) -> Outbound {
    let (key, mac_key) = keys(suite, from);
    Outbound::new(&association(suite, from), &key, &mac_key).unwrap()
}

pub(crate) fn inbound(suite: &'static Suite, from: usize) -> Inbound {
    let (key, mac_key) = keys(suite, from);
    Inbound::new(&association(suite, from), &key, &mac_key, WINDOW).unwrap()
}

/// One end: its path, and what seals and opens there.
pub(crate) struct End {
    pub(crate) path: Path,
    pub(crate) associations: Arc<Associations>,
    pub(crate) exchange: mpsc::Receiver<(SocketAddr, Vec<u8>)>,
}

/// Returns a socket at `address`. One of a path that ended just before may still be open for a
/// moment: in a process that another test is about to start, until it becomes another program.
fn bound(address: SocketAddr) -> UdpSocket {
    let mut tries = 0;
    loop {
        match UdpSocket::bind(address) {
            Ok(socket) => return socket,
            Err(error) if tries == 200 => panic!("{address}: {error}"),
            Err(_) => tries += 1,
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the socket of end number `at`, which sends to `peer`; call it in its namespace.
pub(crate) fn socket(links: &Links, at: usize, peer: SocketAddr) -> UdpSocket {
    bound(SocketAddr::new(links.address(at, peer.is_ipv6()), udp::PORT))
}

/// Returns the device of that end; call it in its namespace.
pub(crate) fn device(at: usize, suite: &'static Suite, peer: SocketAddr) -> Result<Tun, WireError> {
    let tun = Tun::create("sealed0")?;
    tun.set_mtu(inner_mtu(LINK_MTU, suite, peer.ip()))?;
    tun.add_address(inner(at, false), 24)?;
    tun.add_address(inner(at, true), 64)?;
    tun.set_up()?;
    Ok(tun)
}

/// Starts end number `at`, which sends to `peer`.
pub(crate) fn end(links: &Links, at: usize, suite: &'static Suite, peer: SocketAddr) -> End {
    let associations = Arc::new(Associations::new());
    associations.set_outbound(outbound(suite, at), peer);
    associations.add_inbound(inbound(suite, 1 - at));
    let (sender, exchange) = mpsc::channel();
    let shared = associations.clone();
    let start = || {
        Path::start(
            device(at, suite, peer)?,
            socket(links, at, peer),
            shared,
            Sources::any(),
            sender,
        )
    };
    End { path: links.ends[at].run(start).unwrap(), associations, exchange }
}

/// Returns a link and a path over it, sealed by `suite`.
pub(crate) fn both(suite: &'static Suite, is_ipv6: bool) -> (Links, [End; 2]) {
    let links = Links::new(link("unlimited").unwrap()).unwrap();
    let ends = [0, 1].map(|at| {
        end(&links, at, suite, SocketAddr::new(links.address(1 - at, is_ipv6), udp::PORT))
    });
    (links, ends)
}

/// Bytes of which no two stretches are alike, from `seed`.
pub(crate) struct Stream(pub(crate) u64);

impl Stream {
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            chunk.copy_from_slice(&(self.0 ^ (self.0 >> 29)).to_ne_bytes()[..chunk.len()]);
        }
    }
}

const CHUNK: usize = 1 << 16;
const PATIENCE: Duration = Duration::from_secs(60);

fn send_and_check(stream: TcpStream, bytes: usize, own: u64, theirs: u64) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let (mut source, mut chunk, mut writer) = (Stream(own), vec![0; CHUNK], stream);
        for _ in 0..bytes / CHUNK {
            source.fill(&mut chunk);
            writer.write_all(&chunk).expect("the stream takes data");
        }
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let (mut source, mut want, mut got) = (Stream(theirs), vec![0; CHUNK], vec![0; CHUNK]);
    for at in 0..bytes / CHUNK {
        source.fill(&mut want);
        reader.read_exact(&mut got).unwrap_or_else(|error| panic!("chunk {at}: {error}"));
        assert!(want == got, "chunk {at} differs");
    }
    assert_eq!(reader.read(&mut got).unwrap(), 0, "more came than was sent");
    writer.join().unwrap();
}

/// Sends `bytes`, a multiple of 64 KiB, both ways at once over one TCP connection between these
/// addresses, and checks every byte.
pub(crate) fn tcp_both_ways(links: &Links, addresses: [IpAddr; 2], bytes: usize) {
    let listener = links.ends[1].run(|| Ok(TcpListener::bind((addresses[1], 0)).unwrap())).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            links.ends[1].run(|| {
                send_and_check(listener.accept().unwrap().0, bytes, 2, 1);
                Ok(())
            })
        });
        let client = scope.spawn(|| {
            links.ends[0].run(|| {
                let stream = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
                send_and_check(stream, bytes, 1, 2);
                Ok(())
            })
        });
        client.join().unwrap().unwrap();
        server.join().unwrap().unwrap();
    });
}
