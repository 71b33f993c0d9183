//! Tests that batches of packets do not allocate, once the first batch of their size was sealed and
//! opened.

use sealstone_cipher::Backend;
use sealstone_cipher::testing::{CountingAllocator, allocations};
use sealstone_seal::esp::{Association, Inbound, Outbound, Sealed, suites};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn batches_allocate_nothing() {
    let mut packet = vec![0x45; 1_400];
    packet[2..4].copy_from_slice(&1_400_u16.to_be_bytes());
    let batch = [&*packet; 44];
    for suite in suites() {
        let association =
            Association { spi: 0x1000, suite, extended: true, backend: Backend::auto() };
        let (key, mac_key) = (vec![7; suite.key_bytes()], vec![8; suite.integrity_key_bytes()]);
        let mut outbound = Outbound::new(&association, &key, &mac_key).unwrap();
        let mut inbound = Inbound::new(&association, &key, &mac_key, 1024).unwrap();
        let (mut sealed, mut opened) = (Sealed::default(), Vec::new());
        for round in 0..3 {
            let before = allocations();
            sealed.clear();
            outbound.seal(&batch, &mut sealed).unwrap();
            let sealing = allocations() - before;
            let mut arrived = sealed.bytes().to_vec();
            let packet_bytes = arrived.len() / batch.len();
            let mut packets: Vec<&mut [u8]> = arrived.chunks_exact_mut(packet_bytes).collect();
            let before = allocations();
            inbound.open_many(&mut packets, &mut opened);
            let opening = allocations() - before;
            assert!(
                opened.len() == batch.len() && opened.iter().all(Result::is_ok),
                "{}",
                suite.name
            );
            assert!(
                round == 0 || (sealing, opening) == (0, 0),
                "{}: {sealing} and {opening}",
                suite.name
            );
        }
    }
}
