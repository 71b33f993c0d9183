//! Cost of one write of an anchor on a key server, on loopback: `cargo bench -p sealstone-e2e
//! --bench anchor_cost`.

use sealstone_e2e::kmip_anchor_cases::{SPOKEN, write_us};
use sealstone_e2e::kmip_cases::Place;

/// Writes that one median is of.
const WRITES: u64 = 200;

fn main() {
    println!(
        "median of {WRITES} writes, each a read of the mark and its replacement, in milliseconds"
    );
    for (kind, versions) in SPOKEN {
        let Some(place) = Place::start(*kind, "anchor_cost") else { continue };
        for version in *versions {
            let [kept, new] = write_us(&place, version, WRITES);
            println!(
                "{kind:?}, KMIP {version}: {:.2} over a connection that is kept, {:.2} over a new \
                 one",
                kept / 1e3,
                new / 1e3
            );
        }
    }
}
