//! Opened packets in the order in which they were sealed, where the network brought them in
//! another. TCP takes a late packet for a lost packet: it repeats data that was on its way, and
//! sends less for a while.

/// A packet that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened<'a> {
    /// Its number, or the lower half of it.
    pub(super) number: u32,
    /// Content of the packet.
    pub(super) inner: &'a [u8],
}

/// Puts packets of one association in the order of their numbers, which are authentic, so that less
/// than half of all numbers are between any two. Returns how many had come after a later packet.
pub(super) fn put_in_order(packets: &mut [Opened<'_>]) -> u64 {
    let Some(first) = packets.first().map(|packet| packet.number) else { return 0 };
    // numbers begin again at 0 after the last of 32 bits
    let ahead = |packet: &Opened<'_>| packet.number.wrapping_sub(first) as i32;
    let (mut latest, mut late) = (0, 0);
    for packet in &*packets {
        late += u64::from(ahead(packet) < latest);
        latest = latest.max(ahead(packet));
    }
    if late > 0 {
        packets.sort_by_key(ahead);
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(numbers: &[u32]) -> (Vec<u32>, u64) {
        let mut packets: Vec<_> =
            numbers.iter().map(|number| Opened { number: *number, inner: &[] }).collect();
        let late = put_in_order(&mut packets);
        (packets.iter().map(|packet| packet.number).collect(), late)
    }

    #[test]
    fn late_packets_are_put_where_they_belong() {
        assert_eq!(ordered(&[]), (vec![], 0));
        assert_eq!(ordered(&[7, 8, 10, 11]), (vec![7, 8, 10, 11], 0));
        assert_eq!(ordered(&[7, 9, 8, 10]), (vec![7, 8, 9, 10], 1));
        assert_eq!(ordered(&[20, 21, 10, 11, 22]), (vec![10, 11, 20, 21, 22], 2));
    }

    #[test]
    fn numbers_begin_again() {
        let (last, before) = (u32::MAX, u32::MAX - 1);
        assert_eq!(ordered(&[before, last, 0, 1]), (vec![before, last, 0, 1], 0));
        assert_eq!(ordered(&[1, last, 0, before]), (vec![before, last, 0, 1], 3));
    }
}
