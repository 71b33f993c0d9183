//! A TUN device: a network device whose packets a process reads and writes, up to 64 KiB of one
//! flow at a time. It goes away with its last descriptor, however the process ends.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::libc::O_NONBLOCK;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::error::WireError;
use crate::ffi::device;
use crate::program;

/// Device that creates them.
const CLONE_DEVICE: &str = "/dev/net/tun";

/// Returns the metric of the device's own routes to networks of a family: the best one. That of a
/// guard of its tunnel is one more, so that no other route to the same network comes between them.
pub(crate) fn tunnel_metric(address: IpAddr) -> u32 {
    // 0 is none in IPv6, and becomes 1024
    u32::from(address.is_ipv6())
}

/// The device.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    /// Socket of the namespace in which the device is, for requests about it.
    control: std::os::fd::OwnedFd,
}

impl Tun {
    /// Makes the device in the network namespace of the calling thread, switched off and without
    /// addresses.
    ///
    /// - `name`: at most 15 bytes; one with `%d` gets the next number
    ///
    /// # Errors
    /// [`WireError::NoTun`].
    pub fn create(name: &str) -> Result<Self, WireError> {
        let failed = |found: io::Error| WireError::NoTun { name: name.to_owned(), found };
        let control = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map_err(|errno| failed(errno.into()))?;
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(O_NONBLOCK).open(CLONE_DEVICE);
        let file = file.map_err(failed)?;
        let name = device::make_tun(&file, name).map_err(failed)?;
        device::offload(&file).map_err(failed)?;
        Ok(Self { file, name, control })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn failed(&self, attempted: &'static str) -> impl FnOnce(io::Error) -> WireError {
        let name = self.name.clone();
        move |found| WireError::Device { attempted, name, found }
    }

    /// Returns the length of the longest packet that it hands over, in bytes.
    ///
    /// # Errors
    /// [`WireError::Device`].
    pub fn mtu(&self) -> Result<u32, WireError> {
        device::mtu(&self.control, &self.name).map_err(self.failed("read the MTU"))
    }

    /// Sets it; [`inner_mtu`](super::inner_mtu) returns the right value.
    ///
    /// # Errors
    /// [`WireError::Device`].
    pub fn set_mtu(&self, mtu: u32) -> Result<(), WireError> {
        device::set_mtu(&self.control, &self.name, mtu).map_err(self.failed("set the MTU"))
    }

    /// Switches it on.
    ///
    /// # Errors
    /// [`WireError::Device`].
    pub fn set_up(&self) -> Result<(), WireError> {
        device::set_up(&self.control, &self.name).map_err(self.failed("switch on the packets"))
    }

    /// Gives it an address; call it in the namespace in which the device is.
    ///
    /// - `prefix_bits`: length of the network's prefix: addresses in it are reached through the
    ///   device
    ///
    /// # Errors
    /// [`WireError::Command`].
    pub fn add_address(&self, address: IpAddr, prefix_bits: u8) -> Result<(), WireError> {
        let (metric, is_ipv6) = (tunnel_metric(address).to_string(), address.is_ipv6());
        let address = format!("{address}/{prefix_bits}");
        let mut arguments = vec!["address", "add", &address, "dev", &self.name];
        if is_ipv6 {
            // nobody else has it: waiting for the answer takes a second or two
            arguments.extend(["nodad", "metric", &metric]);
        }
        program::run("ip", &arguments)
    }

    /// Reads what comes next, without waiting: a [`VnetHeader`](super::VnetHeader) and a packet.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        nix::unistd::read(&self.file, buffer).map_err(io::Error::from)
    }

    /// Writes one, in pieces.
    pub(crate) fn write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        nix::sys::uio::writev(&self.file, pieces).map_err(io::Error::from)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
