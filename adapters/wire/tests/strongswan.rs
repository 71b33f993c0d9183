//! A peer that is not ours: charon at one end, our path with the keys that it logged at the other,
//! and TCP through both. It takes root and strongSwan's packages (`make setup-strongswan`).

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use sealstone_cipher::testing::bytes;
use sealstone_seal::esp::{Refusal, Suite, suites, udp};
use sealstone_servers::testing;
use sealstone_wire::WireError;
use sealstone_wire::links::{LINK_MTU, Links, Namespace, link};
use sealstone_wire::path::strongswan::{INNER, StrongSwan, is_installed, proposal};
use sealstone_wire::path::{Associations, Count, Path, Sources, Tun, charon, inner_mtu};

const DATA_BYTES: usize = 2 << 20;

fn why_not() -> Option<String> {
    if !is_installed() {
        return Some("strongSwan is not installed; make setup-strongswan installs it".to_owned());
    }
    let error = Namespace::new()
        .and_then(|namespace| namespace.run(|| Tun::create("probe%d").map(drop)))
        .err()?;
    Some(error.to_string().replace('\n', "; "))
}

/// Takes the place of charon at end 1, with the keys of `tunnel`.
fn take_over(links: &Links, suite: &'static Suite, tunnel: &mut StrongSwan) -> Path {
    let associations =
        charon::read(&tunnel.log(1)).unwrap_or_else(|error| panic!("{}: {error}", suite.name));
    tunnel.kill(1);
    let [theirs, ours] = &associations[..] else { panic!("{associations:?}") };
    let (own, peer) = (links.address(1, false), links.address(0, false));
    assert_eq!((theirs.source, ours.source), (peer, own));
    assert!(associations.iter().all(|one| one.association.suite == suite), "{associations:?}");
    let shared = Arc::new(Associations::new());
    shared.add_inbound(theirs.inbound(1_024).unwrap());
    shared.set_outbound(ours.outbound().unwrap(), SocketAddr::new(peer, udp::PORT));
    let start = || -> Result<Path, WireError> {
        let tun = Tun::create("sealed0")?;
        tun.set_mtu(inner_mtu(LINK_MTU, suite, peer))?;
        tun.set_up()?;
        let route = ["route", "add", INNER[0], "dev", "sealed0", "src", INNER[1]];
        assert!(Command::new("ip").args(route).status().unwrap().success());
        let (sender, _) = mpsc::channel();
        Path::start(tun, UdpSocket::bind((own, udp::PORT)).unwrap(), shared, Sources::any(), sender)
    };
    links.ends[1].run(start).unwrap()
}

/// Sends the same data there and back.
fn echo(links: &Links, name: &str) {
    let [from, to] = INNER.map(|address| address.parse::<IpAddr>().unwrap());
    let listener = links.ends[1].run(|| Ok(TcpListener::bind((to, 0)).unwrap())).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = || {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Ok(stream)
    };
    let data = bytes("data", DATA_BYTES);
    let (back, asked_from) =
        testing::echo(&listener, || links.ends[0].run(connect).unwrap(), &data);
    assert!(back == data, "{name}: {} bytes came back", back.len());
    assert_eq!(asked_from, from, "{name}");
}

#[test]
fn tcp_passes_between_charon_and_our_path() {
    if let Some(reason) = why_not() {
        println!("SKIP: tcp_passes_between_charon_and_our_path: {reason}");
        return;
    }
    for suite in suites() {
        let Some(proposal) = proposal(suite) else { continue };
        let links = Links::new(link("unlimited").unwrap()).unwrap();
        let mut tunnel = StrongSwan::start(&links, &proposal)
            .unwrap_or_else(|error| panic!("{}: {error}", suite.name));
        let path = take_over(&links, suite, &mut tunnel);
        echo(&links, suite.name);
        let counters = path.stop();
        assert!(counters.get(Count::BytesIn) > DATA_BYTES as u64, "{}: {counters}", suite.name);
        let refused: u64 = Refusal::ALL.iter().map(|reason| counters.refused(*reason)).sum();
        assert_eq!(refused + counters.get(Count::UnknownSpi), 0, "{}: {counters}", suite.name);
    }
}
