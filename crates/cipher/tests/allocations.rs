//! Tests of calls that must not allocate: FF1 of single values, on numbers of every kind, and of
//! batches.

use sealstone_cipher::ff1::{Domain, Tweaks, ff1, takes};
use sealstone_cipher::testing::{CountingAllocator, allocations};
use sealstone_cipher::{Backend, ciphers};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn an_allocation_is_counted() {
    let before = allocations();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert_eq!(allocations(), before + 1);
}

#[test]
fn ff1_allocates_nothing() {
    for cipher in ciphers().iter().filter(|cipher| takes(cipher)) {
        for backend in Backend::available() {
            for (radix, length) in
                [(10, 16), (36, 19), (10, 40), (65_536, 4), (11_172, 3), (10, 90), (62, 4096)]
            {
                let keyed =
                    ff1(cipher, &vec![7; cipher.key_bytes], backend, radix, Domain::Standard)
                        .unwrap();
                let mut values = vec![1; 5 * length];
                let before = allocations();
                keyed.seal(b"a tweak that is longer than a block", &mut values[..length]).unwrap();
                keyed.open(b"", &mut values[..length]).unwrap();
                keyed.seal_batch(Tweaks::One(b"tweak"), &mut values, length).unwrap();
                keyed
                    .open_batch(
                        Tweaks::Packed { bytes: b"12345", tweak_bytes: 1 },
                        &mut values,
                        length,
                    )
                    .unwrap();
                assert_eq!(
                    allocations(),
                    before,
                    "{} on {}, radix {radix}",
                    cipher.name,
                    backend.name()
                );
            }
        }
    }
}
