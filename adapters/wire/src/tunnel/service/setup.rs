//! Parts of every tunnel's setup: its socket, its device with addresses and routes, the address of
//! its peer.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

use sealstone_seal::esp::Suite;

use super::error::ServiceError;
use crate::net::Net;
use crate::path::{Tun, inner_mtu, route_mtu, tunnel_metric};
use crate::program;
use crate::tunnel::config::Plan;
use crate::tunnel::guard::check_address;

/// Assumed MTU of a link whose MTU is unknown, in bytes.
const LINK_MTU: u32 = 1_500;

/// Returns the device of `plan`, up, with addresses and routes.
///
/// - `peer`: destination of packets, if known
/// - `listen`: where this end receives
///
/// # Errors
/// [`ServiceError::Wire`]. The device is gone then.
pub(super) fn device(
    plan: &Plan,
    suite: &Suite,
    peer: Option<SocketAddr>,
    listen: SocketAddr,
) -> Result<Tun, ServiceError> {
    plan.addresses.iter().try_for_each(|net| check_address(*net, &plan.name))?;
    let tun = Tun::create(&plan.name)?;
    let on_link = peer.and_then(|peer| route_mtu(peer).ok()).unwrap_or(LINK_MTU);
    tun.set_mtu(inner_mtu(on_link, suite, peer.unwrap_or(listen).ip()))?;
    // an automatic address would send packets that no other end takes; without IPv6 there is none
    let _ = program::run("ip", &["link", "set", "dev", tun.name(), "addrgenmode", "none"]);
    for Net { address, prefix_bits } in &plan.addresses {
        tun.add_address(*address, *prefix_bits)?;
    }
    tun.set_up()?;
    for route in &plan.routes {
        let metric = tunnel_metric(route.address).to_string();
        program::run(
            "ip",
            &["route", "add", &route.to_string(), "dev", tun.name(), "metric", &metric],
        )?;
    }
    Ok(tun)
}

/// Returns the address of `host`, of the family of `listen` if it has several.
pub(super) fn find(host: &str, port: u16, listen: SocketAddr) -> Result<SocketAddr, ServiceError> {
    let failed = |found: String| ServiceError::Peer { host: host.to_owned(), found };
    let all: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map_err(|error| failed(error.to_string()))?.collect();
    let first = *all.first().ok_or_else(|| failed("it has no address".into()))?;
    let alike = all.into_iter().find(|address| address.is_ipv4() == listen.is_ipv4());
    alike.ok_or(ServiceError::Families { peer: first, listen })
}

/// Returns the socket at `listen`.
///
/// # Errors
/// [`ServiceError::PortInUse`], [`ServiceError::Listen`].
pub(super) fn bind(listen: SocketAddr) -> Result<UdpSocket, ServiceError> {
    UdpSocket::bind(listen).map_err(|found| match found.kind() {
        io::ErrorKind::AddrInUse => ServiceError::PortInUse { listen },
        _ => ServiceError::Listen { listen, found },
    })
}
