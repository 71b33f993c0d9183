//! Capture of the link, frame by frame.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockProtocol, SockType, recvfrom, setsockopt, socket,
    sockopt,
};
use sealstone_wire::links::{DEVICE, Links};

/// Returns every frame of the link at end 0 while the given work runs.
pub(crate) fn frames(links: &Links, meanwhile: impl FnOnce()) -> Vec<Vec<u8>> {
    let open = || {
        let all = SockProtocol::EthAll;
        let opened =
            socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_NONBLOCK, all).unwrap();
        setsockopt(&opened, sockopt::RcvBufForce, &(64 << 20))
            .or_else(|_| setsockopt(&opened, sockopt::RcvBuf, &(4 << 20)))
            .unwrap();
        Ok((opened, if_nametoindex(DEVICE).unwrap() as usize))
    };
    let (tap, device): (OwnedFd, usize) = links.ends[0].run(open).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let capture = scope.spawn(|| {
            let (mut frames, mut buffer) = (Vec::new(), vec![0; 1 << 17]);
            loop {
                let was_done = done.load(Ordering::Acquire);
                match recvfrom::<LinkAddr>(tap.as_raw_fd(), &mut buffer) {
                    // the tap is on every device of the namespace
                    Ok((bytes, from)) if from.is_some_and(|from| from.ifindex() == device) => {
                        frames.push(buffer[..bytes].to_vec());
                    }
                    Ok(_) => {}
                    Err(_) if was_done => return frames,
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        meanwhile();
        done.store(true, Ordering::Release);
        capture.join().unwrap()
    })
}
