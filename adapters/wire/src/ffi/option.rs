//! Options of sockets that no safe wrapper has.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

fn set(socket: impl AsFd, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
    let bytes = size_of::<c_int>() as libc::socklen_t;
    let value = std::ptr::from_ref(&value).cast();
    // SAFETY: the value is a number of `bytes` bytes.
    let answer =
        unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, value, bytes) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn get(socket: impl AsFd, level: c_int, option: c_int) -> io::Result<c_int> {
    let (mut value, mut bytes) = (0_i32, size_of::<c_int>() as libc::socklen_t);
    let at = std::ptr::from_mut(&mut value).cast();
    // SAFETY: there is room for a number of `bytes` bytes, and the length is written beside it.
    let answer =
        unsafe { libc::getsockopt(socket.as_fd().as_raw_fd(), level, option, at, &raw mut bytes) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// Has nobody fragment datagrams: one that is too long for its route is an error of the call that
/// sends it.
pub(crate) fn refuse_fragments(socket: impl AsFd, is_ipv6: bool) -> io::Result<()> {
    if is_ipv6 {
        set(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?;
    }
    // a socket for IPv6 may also speak IPv4
    let four = set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO);
    if is_ipv6 { Ok(()) } else { four }
}

/// Returns the length of the longest packet on the route of a connected socket, in bytes, as far as
/// known.
pub(crate) fn route_mtu(socket: impl AsFd, is_ipv6: bool) -> io::Result<u32> {
    let (level, option) = match is_ipv6 {
        true => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
        false => (libc::IPPROTO_IP, libc::IP_MTU),
    };
    get(socket, level, option).map(|mtu| mtu as u32)
}
