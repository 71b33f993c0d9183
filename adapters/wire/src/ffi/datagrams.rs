//! Many messages a call, each of which may be several datagrams that the kernel put together
//! (UDP_GRO).

use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use libc::{c_int, cmsghdr, iovec, mmsghdr, sockaddr_storage};

/// Room for the longest message of a socket, in bytes.
const MESSAGE_BYTES: usize = 1 << 16;
/// Buffers do not begin at multiples of a large power of two from each other, at which they would
/// share few places of the caches.
const STRIDE_BYTES: usize = MESSAGE_BYTES + 1_600;
/// Room for the kernel's control data of a message: the length of the datagrams in it.
const CONTROL_BYTES: usize = 64;

/// A message of a socket.
pub(crate) struct Message<'a> {
    /// Datagrams, one after the other.
    pub(crate) bytes: &'a mut [u8],
    /// Length of each datagram, in bytes; the last may be shorter.
    pub(crate) each: usize,
    /// The sender.
    pub(crate) from: SocketAddr,
}

#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL_BYTES]);

/// Room for messages.
pub(crate) struct Datagrams {
    bytes: Box<[u8]>,
    addresses: Box<[sockaddr_storage]>,
    controls: Box<[Control]>,
    vectors: Box<[iovec]>,
    headers: Box<[mmsghdr]>,
}

// SAFETY: the pointers in it lead into memory that it owns, and are used by its methods alone,
// which borrow it.
unsafe impl Send for Datagrams {}

impl Datagrams {
    /// Returns room for `count` messages a call.
    pub(crate) fn new(count: usize) -> Self {
        // SAFETY: plain numbers, of which zeros are a value.
        let address: sockaddr_storage = unsafe { zeroed() };
        let mut all = Self {
            bytes: vec![0; count * STRIDE_BYTES].into(),
            addresses: vec![address; count].into(),
            controls: vec![Control([0; CONTROL_BYTES]); count].into(),
            vectors: vec![iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; count].into(),
            // SAFETY: null pointers and plain numbers.
            headers: (0..count).map(|_| unsafe { MaybeUninit::zeroed().assume_init() }).collect(),
        };
        for at in 0..count {
            all.vectors[at].iov_base = all.bytes[at * STRIDE_BYTES..].as_mut_ptr().cast();
            all.vectors[at].iov_len = MESSAGE_BYTES;
            let header = &mut all.headers[at].msg_hdr;
            header.msg_name = std::ptr::from_mut(&mut all.addresses[at]).cast();
            header.msg_iov = std::ptr::from_mut(&mut all.vectors[at]);
            header.msg_iovlen = 1;
            header.msg_control = all.controls[at].0.as_mut_ptr().cast();
        }
        all
    }

    /// Takes the messages that wait at `socket`, without waiting. Returns how many there are.
    ///
    /// # Errors
    /// The call's, among them that none waits.
    pub(crate) fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        for header in &mut self.headers {
            // the kernel changed it in the last call
            header.msg_hdr.msg_namelen = size_of::<sockaddr_storage>() as _;
            header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
        }
        let (descriptor, count) = (socket.as_fd().as_raw_fd(), self.headers.len() as _);
        // SAFETY: each header leads to buffers of `self` with their lengths, which this call alone
        // uses.
        let received = unsafe {
            libc::recvmmsg(
                descriptor,
                self.headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }

    /// Returns the first `count` messages, as many as [`Self::receive`] returned.
    pub(crate) fn messages(&mut self, count: usize) -> impl Iterator<Item = Message<'_>> {
        let headers = self.headers[..count].iter().zip(&self.addresses);
        self.bytes.chunks_mut(STRIDE_BYTES).zip(headers).filter_map(|(bytes, (header, address))| {
            let bytes = &mut bytes[..(header.msg_len as usize).min(MESSAGE_BYTES)];
            let each = segment_bytes(header).unwrap_or(bytes.len()).max(1);
            Some(Message { each, from: address_of(address)?, bytes })
        })
    }
}

/// Returns the length of each datagram in a message, if the message holds several.
fn segment_bytes(header: &mmsghdr) -> Option<usize> {
    let header = &header.msg_hdr;
    // SAFETY: the kernel wrote whole entries into the buffer that the header leads to, and their
    // length beside it.
    let mut entry: *const cmsghdr = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !entry.is_null() {
        // SAFETY: not null, so it is an entry in the buffer, aligned for it.
        let found = unsafe { &*entry };
        if (found.cmsg_level, found.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO) {
            // SAFETY: an entry of this kind holds one number, at any alignment.
            let bytes = unsafe { libc::CMSG_DATA(entry).cast::<c_int>().read_unaligned() };
            return usize::try_from(bytes).ok();
        }
        // SAFETY: as for the first entry.
        entry = unsafe { libc::CMSG_NXTHDR(header, entry) };
    }
    None
}

fn address_of(address: &sockaddr_storage) -> Option<SocketAddr> {
    let at = std::ptr::from_ref(address);
    match c_int::from(address.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family shows that this type was stored, in room for every kind of
            // address.
            let found = unsafe { &*at.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(found.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(found.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let found = unsafe { &*at.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(found.sin6_addr.s6_addr);
            Some(SocketAddr::new(ip.to_canonical(), u16::from_be(found.sin6_port)))
        }
        _ => None,
    }
}
