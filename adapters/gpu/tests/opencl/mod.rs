//! The device of these tests.

use std::sync::OnceLock;

use sealstone_gpu::Device;

/// Returns the device, opened once; none, with a SKIP for `test`, where there is none.
pub(crate) fn device(test: &str) -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| {
        let name = std::env::var("SEALSTONE_TEST_DEVICE").unwrap_or_else(|_| "opencl:0".into());
        Device::open(&name).map_err(|error| println!("{error}")).ok()
    });
    if device.is_none() {
        println!("SKIP: {test}: no device to run kernels on here; make setup-gpu installs one");
    }
    device.as_ref()
}
