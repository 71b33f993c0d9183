//! Errors that can occur on the wire. Not here: packets that are refused
//! (`sealstone_seal::esp::Refusal`), which are counted.

use std::io;

use sealstone_message::SettingName;

use crate::net::Net;

/// Reasons why something on the wire could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The system has no devices for packets, or does not let this process have one.
    #[error("cannot make device {name}: {found}\n{TUN_NEXT}")]
    NoTun {
        /// Its name.
        name: String,
        /// Error from the system.
        found: io::Error,
    },
    /// A device could not be set up.
    #[error(
        "cannot {attempted} of device {name}: {found}\nsee what it is like now: ip -details link \
         show {name}"
    )]
    Device {
        /// Action that was attempted, such as `set the MTU`.
        attempted: &'static str,
        /// Its name.
        name: String,
        /// Error from the system.
        found: io::Error,
    },
    /// This machine has the address already.
    #[error(
        "address {address} is on this machine already: device {device} has it\nremove it there, or \
         choose another {}",
        SettingName("address")
    )]
    AddressTaken {
        /// The address.
        address: Net,
        /// Device that has the address.
        device: String,
    },
    /// A socket could not be set up.
    #[error(
        "cannot {attempted} of the socket for sealed packets: {found}\na newer Linux may have it: \
         5.0 or later"
    )]
    Socket {
        /// Action that was attempted.
        attempted: &'static str,
        /// Error from the system.
        found: io::Error,
    },
    /// A running path ended unexpectedly.
    #[error(
        "the path ended while it was to {attempted}: {found}\nsee whether its device is still \
         there, and start again"
    )]
    Path {
        /// Action that the path was to perform.
        attempted: &'static str,
        /// Error from the system.
        found: io::Error,
    },
    /// Network namespaces cannot be had.
    #[error("cannot make network namespaces: {found}\n{NAMESPACES_NEXT}")]
    NoNamespaces {
        /// Message from the system.
        found: String,
    },
    /// The kernel does not seal packets.
    #[error(
        "this kernel has no ESP: ip xfrm says {found:?}\nload its modules where it has them \
         (modprobe esp4 xfrm_user), or take another path, such as sealstone"
    )]
    NoKernelEsp {
        /// Output of iproute2.
        found: String,
    },
    /// TCP's congestion control has another name, or this kernel does not have it.
    #[error("unknown congestion control {name:?}\nthis kernel has: {available}")]
    UnknownCongestion {
        /// The name.
        name: String,
        /// The existing algorithms.
        available: String,
    },
    /// This kernel has it for the machine itself alone.
    #[error(
        "congestion control {name} cannot be had in network namespaces: this machine allows \
         {allowed} there\n\
         as root, until the machine starts again: sysctl -w \
         net.ipv4.tcp_allowed_congestion_control=\"{allowed} {name}\""
    )]
    CongestionNotAllowed {
        /// The name.
        name: String,
        /// The permitted algorithms.
        allowed: String,
    },
    /// A namespace does not report, or does not allow choosing, TCP's algorithm in it.
    #[error(
        "cannot {attempted} TCP's congestion control of a network namespace: {found}\n\
         see what the machine has: sysctl net.ipv4.tcp_congestion_control"
    )]
    Congestion {
        /// Action that was attempted.
        attempted: &'static str,
        /// Error from the system.
        found: io::Error,
    },
    /// A program that sets up networks failed.
    #[error("{command} failed: {found}\n{next}")]
    Command {
        /// The program with its arguments.
        command: String,
        /// Output of the program.
        found: String,
        /// Advice on what to do.
        next: &'static str,
    },
}

/// Advice on how to get a TUN device.
const TUN_NEXT: &str = "it takes /dev/net/tun and the right to make devices: run as root, or \
                        inside unshare -Urn; in a container give it --device /dev/net/tun \
                        --cap-add NET_ADMIN";
/// Advice on how to get namespaces.
const NAMESPACES_NEXT: &str = "run as root, or inside unshare -Urn; in a container give it \
                               --device /dev/net/tun --cap-add NET_ADMIN --cap-add SYS_ADMIN";
