//! Two machines on one: network namespaces joined by a link of a chosen speed.
//!
//! The namespaces have no names: they exist as long as a descriptor or a process is in them, so a
//! killed run leaves nothing except processes that it started, which [`remove_orphans`] ends. To
//! enter one: `nsenter --net=/proc/PID/fd/N`, the path from [`Namespace::path`].

mod congestion;
mod orphans;

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

pub use self::congestion::congestion_called;
pub use self::orphans::remove_orphans;
use crate::error::WireError;
use crate::ffi::device;
use crate::program;

/// A speed of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name, in Mbit/s, such as `5.28`.
    pub name: &'static str,
    /// Description of the link.
    pub about: &'static str,
    /// Limits that the token bucket filter (tbf) at each end puts on what leaves: rate, burst,
    /// latency. None limits nothing.
    limits: Option<[&'static str; 3]>,
}

/// The table of links, in the order in which to show them. Each direction is limited separately, so
/// of a radio link, which is half duplex, only the rate is reproduced.
static LINKS: [Link; 4] = [
    Link { name: "unlimited", about: "as fast as this machine", limits: None },
    Link { name: "1000", about: "gigabit Ethernet", limits: Some(["1000mbit", "128k", "20ms"]) },
    Link { name: "100", about: "fast Ethernet", limits: Some(["100mbit", "16k", "30ms"]) },
    Link {
        name: "5.28",
        about: "what 802.11b carries",
        limits: Some(["5280kbit", "3200", "100ms"]),
    },
];

/// Returns all links, in the order in which to show them.
#[must_use]
pub fn links() -> &'static [Link] {
    &LINKS
}

/// Returns the link called `name`, if there is one.
#[must_use]
pub fn link(name: &str) -> Option<&'static Link> {
    LINKS.iter().find(|link| link.name.eq_ignore_ascii_case(name))
}

/// Longest packet of a link, in bytes: that of Ethernet.
pub const LINK_MTU: u32 = 1_500;
/// The device in each namespace.
pub const DEVICE: &str = "link0";
/// The addresses of the two ends.
pub const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];
/// The addresses of IPv6.
pub const ADDRESSES_6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2)];

/// A network namespace. It goes away with the last of its descriptors, processes and threads.
#[derive(Debug)]
pub struct Namespace {
    descriptor: File,
}

impl Namespace {
    /// Makes one in which there is nothing but the loopback device, switched on.
    ///
    /// # Errors
    /// [`WireError::NoNamespaces`], [`WireError::Device`].
    pub fn new() -> Result<Self, WireError> {
        let made = std::thread::scope(|scope| {
            // a separate thread, since the caller must stay in its namespace
            let thread = scope.spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open("/proc/thread-self/ns/net")
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let found = |error: std::io::Error| WireError::NoNamespaces { found: error.to_string() };
        let namespace = Self { descriptor: made.map_err(found)? };
        namespace.run(|| set_up("lo"))?;
        Ok(namespace)
    }

    /// Runs `inside` in it, in a separate thread. Sockets, devices and processes that it makes stay
    /// in the namespace.
    ///
    /// # Errors
    /// [`WireError::NoNamespaces`] if the system does not let the thread in.
    pub fn run<T: Send>(
        &self,
        inside: impl FnOnce() -> Result<T, WireError> + Send,
    ) -> Result<T, WireError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| self.enter().and_then(|()| inside()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Moves the calling thread into it, for good: for clients that make their sockets themselves.
    ///
    /// # Errors
    /// [`WireError::NoNamespaces`].
    pub fn enter(&self) -> Result<(), WireError> {
        let entered = setns(&self.descriptor, CloneFlags::CLONE_NEWNET);
        entered.map_err(|errno| WireError::NoNamespaces {
            found: std::io::Error::from(errno).to_string(),
        })
    }

    /// Returns the path of the namespace while this process runs and holds it, for `nsenter --net=`
    /// and `ip link … netns`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.descriptor.as_raw_fd())
    }
}

/// Returns a command whose environment names the run that started it, so that [`remove_orphans`]
/// ends its process if that run is killed. Start it within [`Namespace::run`].
#[must_use]
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env(orphans::MARK, orphans::mark());
    command
}

fn set_up(device: &str) -> Result<(), WireError> {
    request("switch on the packets", device, |socket| device::set_up(socket, device))
}

fn request(
    attempted: &'static str,
    name: &str,
    ask: impl FnOnce(&std::os::fd::OwnedFd) -> std::io::Result<()>,
) -> Result<(), WireError> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
    let asked = socket.map_err(std::io::Error::from).and_then(|socket| ask(&socket));
    asked.map_err(|found| WireError::Device { attempted, name: name.to_owned(), found })
}

/// Returns whether the kernel has IPv6, which it may be built or started without.
fn has_ipv6() -> bool {
    Path::new("/proc/net/if_inet6").exists()
}

/// Two namespaces with a link between them, MTU 1500; nothing lets it carry longer packets
/// (segmentation offload), as no real one would.
#[derive(Debug)]
pub struct Links {
    /// Its ends: the one at [`ADDRESSES`] 0, and the other.
    pub ends: [Namespace; 2],
}

impl Links {
    /// Makes them, as root or within `unshare -Urn`.
    ///
    /// # Errors
    /// [`WireError::NoNamespaces`], [`WireError::Command`], [`WireError::Device`].
    pub fn new(link: &Link) -> Result<Self, WireError> {
        let links = Self { ends: [Namespace::new()?, Namespace::new()?] };
        let other = links.ends[1].path();
        let pair = ["link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", &other];
        links.ends[0].run(|| program::run("ip", &pair))?;
        for (at, end) in links.ends.iter().enumerate() {
            end.run(|| {
                request("switch off the offloads", DEVICE, |socket| {
                    device::switch_off_offloads(socket, DEVICE)
                })?;
                program::run(
                    "ip",
                    &["address", "add", &format!("{}/24", ADDRESSES[at]), "dev", DEVICE],
                )?;
                if has_ipv6() {
                    let six = format!("{}/64", ADDRESSES_6[at]);
                    program::run("ip", &["address", "add", &six, "dev", DEVICE, "nodad"])?;
                }
                set_up(DEVICE)
            })?;
        }
        if link.limits.is_some() {
            links.set_speed(link)?;
        }
        Ok(links)
    }

    /// Returns the address of end 0 or 1; that of IPv6 only where the kernel has IPv6.
    #[must_use]
    pub fn address(&self, end: usize, is_ipv6: bool) -> IpAddr {
        if is_ipv6 { ADDRESSES_6[end].into() } else { ADDRESSES[end].into() }
    }

    /// Has both ends limit what leaves to what `link` carries.
    ///
    /// # Errors
    /// [`WireError::Command`].
    pub(crate) fn set_speed(&self, link: &Link) -> Result<(), WireError> {
        for end in &self.ends {
            end.run(|| match link.limits {
                Some([rate, burst, latency]) => {
                    let limited = ["rate", rate, "burst", burst, "latency", latency];
                    program::run(
                        "tc",
                        &[&["qdisc", "replace", "dev", DEVICE, "root", "tbf"][..], &limited]
                            .concat(),
                    )
                }
                None => program::run("tc", &["qdisc", "replace", "dev", DEVICE, "root", "noqueue"]),
            })?;
        }
        Ok(())
    }

    /// Has the link carry packets of at most `bytes` bytes.
    ///
    /// # Errors
    /// [`WireError::Device`].
    pub fn set_mtu(&self, bytes: u32) -> Result<(), WireError> {
        self.ends.iter().try_for_each(|end| {
            end.run(|| {
                request("set the MTU", DEVICE, |socket| device::set_mtu(socket, DEVICE, bytes))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_by_name() {
        for known in links() {
            assert_eq!(link(&known.name.to_uppercase()), Some(known));
        }
        assert_eq!(link("10000"), None);
    }

    #[test]
    fn congestion_control_is_that_of_the_kernel() {
        let error = congestion_called("Nagle").unwrap_err().to_string();
        assert!(
            error.starts_with("unknown congestion control \"Nagle\"\nthis kernel has: "),
            "{error}"
        );
        // every kernel has it, and lets everybody use it
        assert!(error.contains("reno"), "{error}");
        assert_eq!(congestion_called("Reno").unwrap(), "reno");
    }
}
