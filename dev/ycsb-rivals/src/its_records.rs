//! The keys and values that go-ycsb makes.

use sealstone_bench::workload::fnv;

/// Bytes of a value, as by default.
const VALUE_BYTES: usize = 100;

/// Returns the key of its record number `number`. It hashes the number with the high byte first,
/// where YCSB has the low byte first: so this is YCSB's name of the number with its bytes turned
/// round.
#[must_use]
pub fn key(number: u64) -> String {
    format!("user{}", fnv(number.swap_bytes()))
}

/// Returns go-ycsb's number for the record that YCSB, and so our workloads, call number `number`.
/// Its numbers have a sign, so it can name those whose low byte is below 128.
#[must_use]
pub fn its_number(number: u64) -> u64 {
    number.swap_bytes()
}

/// Returns the value of the field `field` of the record `key` under `dataintegrity=true`: made of
/// both names and of hashes.
#[must_use]
pub fn value(key: &str, field: &str) -> Vec<u8> {
    let mut value = format!("{key}:{field}").into_bytes();
    while value.len() < VALUE_BYTES {
        value.push(b':');
        let hash = fnv_1a(&value);
        value.extend_from_slice(hash.to_string().as_bytes());
    }
    value.truncate(VALUE_BYTES);
    value
}

/// Returns the hash of Fowler, Noll and Vo, 1a, in 64 bits.
fn fnv_1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(1_099_511_628_211)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_is_the_only_small_one_that_both_have() {
        assert_eq!(key(0), "user6284781860667377211");
        assert!((1..10_000).all(|number| key(number) != format!("user{}", fnv(number))));
        assert_eq!(key(its_number(3)), "user4052466453699787802");
    }

    #[test]
    fn hashes_are_those_of_the_published_samples() {
        // of the page of Fowler, Noll and Vo
        assert_eq!(
            (fnv_1a(b""), fnv_1a(b"a"), fnv_1a(b"foobar")),
            (0xCBF2_9CE4_8422_2325, 0xAF63_DC4C_8601_EC8C, 0x8594_4171_F739_67E8)
        );
    }
}
