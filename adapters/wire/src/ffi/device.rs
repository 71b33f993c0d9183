//! Requests to network devices.

use std::ffi::{c_char, c_int, c_short, c_ulong};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use libc::ifreq;

/// The longest name of a device, in bytes; one more ends it.
pub(crate) const NAME_BYTES_MAX: usize = libc::IFNAMSIZ - 1;

fn request(name: &str) -> io::Result<ifreq> {
    let named = name.as_bytes();
    if named.len() > NAME_BYTES_MAX || named.contains(&0) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: a name of zeros and a union of plain numbers.
    let mut request: ifreq = unsafe { std::mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(named) {
        *place = *byte as c_char;
    }
    Ok(request)
}

fn name_of(request: &ifreq) -> String {
    let bytes: Vec<u8> =
        request.ifr_name.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn ask(descriptor: impl AsFd, what: c_ulong, request: &mut ifreq) -> io::Result<()> {
    // SAFETY: all requests of this file take a pointer to this structure, read and write it only.
    let answer = unsafe {
        libc::ioctl(descriptor.as_fd().as_raw_fd(), what as _, std::ptr::from_mut(request))
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes `tun`, an open `/dev/net/tun`, a device for IP packets with a header before each, called
/// `name`; a name with `%d` gets the next number. Returns the name.
pub(crate) fn make_tun(tun: impl AsFd, name: &str) -> io::Result<String> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as c_short;
    ask(tun, libc::TUNSETIFF as c_ulong, &mut request)?;
    Ok(name_of(&request))
}

/// Has the device hand over packets of TCP whose checksum is yet to be completed, and up to 64 KiB
/// that are yet to be cut.
pub(crate) fn offload(tun: impl AsFd) -> io::Result<()> {
    let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    // SAFETY: this request takes a number.
    let answer = unsafe {
        libc::ioctl(
            tun.as_fd().as_raw_fd(),
            libc::TUNSETOFFLOAD as _,
            libc::c_ulong::from(offloads),
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the length of the longest packet on device `name`, in bytes; `socket` is any of its
/// namespace.
pub(crate) fn mtu(socket: impl AsFd, name: &str) -> io::Result<u32> {
    let mut request = request(name)?;
    ask(socket, libc::SIOCGIFMTU as c_ulong, &mut request)?;
    // SAFETY: this request sets this member.
    Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
}

/// Sets it.
pub(crate) fn set_mtu(socket: impl AsFd, name: &str, mtu: u32) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_mtu = mtu as c_int;
    ask(socket, libc::SIOCSIFMTU as c_ulong, &mut request)
}

/// Switches device `name` on.
pub(crate) fn set_up(socket: impl AsFd, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    ask(&socket, libc::SIOCGIFFLAGS as c_ulong, &mut request)?;
    // SAFETY: the request before set this member.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as c_short;
    ask(socket, libc::SIOCSIFFLAGS as c_ulong, &mut request)
}

/// Argument of `ETHTOOL_S…` commands.
#[repr(C)]
struct Feature {
    command: u32,
    value: u32,
}

/// `ETHTOOL_STXCSUM`, `ETHTOOL_SSG`, `ETHTOOL_STSO`, `ETHTOOL_SGSO`, `ETHTOOL_SGRO`;
/// `linux/ethtool.h`.
const SEGMENTATION: [u32; 5] = [0x17, 0x19, 0x1f, 0x24, 0x2c];

/// Switches off whatever lets device `name` carry packets that are longer than its MTU.
pub(crate) fn switch_off_offloads(socket: impl AsFd, name: &str) -> io::Result<()> {
    for command in SEGMENTATION {
        let mut feature = Feature { command, value: 0 };
        let mut request = request(name)?;
        request.ifr_ifru.ifru_data = std::ptr::from_mut(&mut feature).cast();
        ask(&socket, libc::SIOCETHTOOL as c_ulong, &mut request)?;
    }
    Ok(())
}
