//! Ways in which the kernel reaches a device: a file in user space that a loop device is on.

pub mod fuse;
