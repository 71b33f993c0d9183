//! Tests of cutting a device's packets and joining them again: the result is the same, and anything
//! other than a packet is refused.

use std::io::IoSlice;

use sealstone_cipher::testing::bytes;
use sealstone_wire::path::{Malformed, Packets, VnetHeader, coalesce, segment};

const FIN: u8 = 1;
const PSH: u8 = 8;
const ACK: u8 = 16;
const CWR: u8 = 128;

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

/// Returns a sum as RFC 1071 has it, written another way than in the crate.
fn sum(pieces: &[&[u8]]) -> u16 {
    let all = pieces.concat();
    let words =
        all.chunks(2).map(|pair| u64::from(pair[0]) * 256 + u64::from(*pair.get(1).unwrap_or(&0)));
    let total: u64 = words.sum();
    let folded = (total % 0xffff) as u16;
    if total > 0 && folded == 0 { 0xffff } else { folded }
}

fn addresses(packet: &[u8]) -> &[u8] {
    if packet[0] >> 4 == 4 { &packet[12..20] } else { &packet[8..40] }
}

fn ip_bytes(packet: &[u8]) -> usize {
    if packet[0] >> 4 == 4 { usize::from(packet[0] & 15) * 4 } else { 40 }
}

/// Returns the sum of a transport header's protocol and length with the addresses.
fn pseudo(packet: &[u8]) -> u16 {
    let length = (packet.len() - ip_bytes(packet)) as u16;
    sum(&[addresses(packet), &[0, 6], &length.to_be_bytes()])
}

fn is_intact(packet: &[u8]) -> bool {
    let header = &packet[..ip_bytes(packet)];
    let ip_intact = packet[0] >> 4 == 6 || sum(&[header]) == 0xffff;
    ip_intact && sum(&[&pseudo(packet).to_be_bytes(), &packet[header.len()..]]) == 0xffff
}

/// Builds what a device hands over: TCP with `data` bytes, to be cut into segments with `each`
/// bytes of it.
fn large(version: u8, data: usize, each: u16, flags: u8, options: usize) -> (VnetHeader, Vec<u8>) {
    let tcp_bytes = 20 + options;
    let mut packet = match version {
        4 => vec![0x45, 0, 0, 0, 0xff, 0xfa, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2],
        _ => [&[0x60, 2, 3, 4, 0, 0, 6, 64][..], &[0xfd; 16], &[0xfc; 16]].concat(),
    };
    let transport = packet.len();
    let total = transport + tcp_bytes + data;
    match version {
        4 => {
            packet[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            let checksum = !sum(&[&packet]);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        _ => packet[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes()),
    }
    packet.extend([0x0f, 0xa0, 0x1f, 0x90, 0xff, 0xff, 0xf0, 0, 1, 2, 3, 4]);
    packet.extend([(tcp_bytes as u8 / 4) << 4, flags, 2, 0, 0, 0, 0, 0]);
    packet.extend(bytes("options", options));
    packet.extend(bytes("data", data));
    let stored = pseudo(&packet).to_be_bytes();
    packet[transport + 16..transport + 18].copy_from_slice(&stored);
    let header = VnetHeader {
        flags: 1,
        kind: if version == 4 { 1 } else { 4 },
        head_bytes: (transport + tcp_bytes) as u16,
        segment_bytes: each,
        checksum_start: transport as u16,
        checksum_offset: 16,
    };
    (header, packet)
}

fn cut(header: &VnetHeader, packet: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut packets = Packets::default();
    segment(header, packet, &mut packets)?;
    Ok(packets.iter().map(<[u8]>::to_vec).collect())
}

/// Returns the data written to the device, each packet with its header.
fn joined(packets: &[Vec<u8>]) -> Vec<(VnetHeader, Vec<u8>)> {
    let borrowed: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let mut written = Vec::new();
    coalesce(&borrowed, |pieces: &[IoSlice<'_>]| {
        let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        let (header, packet) = all.split_first_chunk::<{ VnetHeader::BYTES }>().unwrap();
        written.push((VnetHeader::read(header), packet.to_vec()));
    });
    written
}

#[test]
fn what_was_cut_and_put_together_is_what_it_was() {
    let mut random = Random(7);
    for round in 0..400 {
        let (version, each) = ([4, 6][round % 2], 1 + random.below(1_460));
        let count = 2 + random.below((60_000 / each).min(44));
        let data = each * (count - 1) + 1 + random.below(each);
        let flags = ACK | [0, PSH, FIN, PSH | FIN][random.below(4)];
        let (header, packet) = large(version, data, each as u16, flags, 4 * random.below(11));
        let segments = cut(&header, &packet).unwrap();
        assert_eq!(segments.len(), count);
        for (at, segment) in segments.iter().enumerate() {
            assert!(is_intact(segment), "segment {at} of {count}, IPv{version}");
            let told = u16::from_be_bytes([segment[2], segment[3]]);
            assert!(version == 6 || usize::from(told) == segment.len());
            let ended = segment[ip_bytes(segment) + 13] & (FIN | PSH);
            assert_eq!(ended, if at + 1 == count { flags & (FIN | PSH) } else { 0 });
        }
        assert!(joined(&segments) == [(header, packet)], "round {round}");
    }
}

#[test]
fn the_first_segment_alone_says_that_the_window_was_reduced() {
    let (mut header, packet) = large(4, 4_000, 1_000, ACK | CWR, 0);
    header.kind |= 0x80;
    let segments = cut(&header, &packet).unwrap();
    let said: Vec<bool> = segments.iter().map(|segment| segment[33] & CWR != 0).collect();
    assert_eq!(said, [true, false, false, false]);
    assert!(segments.iter().all(|segment| is_intact(segment)));
    assert_eq!(joined(&segments).len(), 2, "what says so is not put together with what does not");
}

#[test]
fn a_checksum_is_completed() {
    let (mut header, packet) = large(6, 333, 1_000, ACK, 12);
    header.kind = 0;
    let whole = cut(&header, &packet).unwrap();
    assert!(whole.len() == 1 && is_intact(&whole[0]) && !is_intact(&packet));
    header.flags = 0;
    assert_eq!(cut(&header, &packet).unwrap(), std::slice::from_ref(&packet));
    // bytes behind the packet are no part of it
    assert_eq!(cut(&VnetHeader::default(), &[&packet[..], &[0; 3]].concat()).unwrap(), [packet]);
}

#[test]
fn only_what_follows_is_put_together() {
    let (header, packet) = large(4, 3_000, 1_000, ACK, 12);
    let segments = cut(&header, &packet).unwrap();
    let changed = |at: usize, change: &dyn Fn(&mut Vec<u8>)| {
        let mut segments = segments.clone();
        change(&mut segments[at]);
        let transport = 20;
        segments[at][10..12].fill(0);
        segments[at][transport + 16..transport + 18].fill(0);
        let of_header = !sum(&[&segments[at][..20]]);
        segments[at][10..12].copy_from_slice(&of_header.to_be_bytes());
        let of_tcp = !sum(&[&pseudo(&segments[at]).to_be_bytes(), &segments[at][20..]]);
        segments[at][transport + 16..transport + 18].copy_from_slice(&of_tcp.to_be_bytes());
        let written = joined(&segments);
        let bytes: usize = written.iter().map(|(_, packet)| packet.len() - 52).sum();
        assert_eq!(bytes, 3_000, "nothing is lost");
        written.len()
    };
    assert_eq!(changed(1, &|_| {}), 1);
    // another port, number, acknowledgement, window, option, time to live, service, address, flags
    for at in [20, 27, 31, 34, 44, 8, 1, 15, 6] {
        assert_eq!(changed(1, &|segment| segment[at] ^= 2), 3, "byte {at}");
    }
    assert_eq!(changed(1, &|segment| segment[33] |= 4), 3, "a reset is not joined");
    assert_eq!(
        changed(0, &|segment| segment[33] |= PSH),
        2,
        "nothing follows what is to be handed up at once"
    );
    // a wrong checksum is the host's to see
    for at in [60, 36] {
        let mut broken = segments.clone();
        broken[1][at] ^= 1;
        let written = joined(&broken);
        assert_eq!(written.len(), 3);
        assert!(
            written
                .iter()
                .zip(&broken)
                .all(|((header, packet), broken)| header.flags == 0 && packet == broken)
        );
    }
    let two = [segments.clone(), segments.clone()].concat();
    assert_eq!(joined(&two).len(), 2);
    assert_eq!(joined(&[]).len(), 0);
}

#[test]
fn a_packet_put_together_is_no_longer_than_its_length_can_say() {
    let (header, packet) = large(6, 60_000, 1_000, ACK, 12);
    let mut segments = cut(&header, &packet).unwrap();
    let mut next = segments.clone();
    for segment in &mut next {
        // the next segments: another 60000 bytes on
        let number = u32::from_be_bytes([segment[44], segment[45], segment[46], segment[47]])
            .wrapping_add(60_000);
        segment[44..48].copy_from_slice(&number.to_be_bytes());
        segment[56..58].fill(0);
        let checksum = !sum(&[&pseudo(segment).to_be_bytes(), &segment[40..]]);
        segment[56..58].copy_from_slice(&checksum.to_be_bytes());
    }
    segments.extend(next);
    let lengths: Vec<usize> = joined(&segments).iter().map(|(_, packet)| packet.len()).collect();
    assert_eq!(lengths, [65_072, 55_072]);
}

/// Every byte may be anything: there is a result, and it contains whole packets.
#[test]
fn nonsense_is_refused_or_harmless() {
    let mut random = Random(99);
    let mut refused = 0;
    for round in 0..40_000 {
        let data = random.below(3_000);
        let (header, mut packet) =
            large([4, 6][round % 2], data, 1 + random.below(1_000) as u16, ACK, 12);
        let mut header = header.bytes();
        for _ in 0..random.below(4) {
            header[random.below(VnetHeader::BYTES)] = random.below(256) as u8;
        }
        for _ in 0..random.below(4) {
            let at = random.below(packet.len().min(72));
            packet[at] = random.below(256) as u8;
        }
        packet.truncate(if random.below(4) == 0 {
            random.below(packet.len() + 1)
        } else {
            packet.len()
        });
        match cut(&VnetHeader::read(&header), &packet) {
            Ok(segments) => {
                for segment in &segments {
                    let told = match segment[0] >> 4 {
                        4 => usize::from(u16::from_be_bytes([segment[2], segment[3]])),
                        _ => 40 + usize::from(u16::from_be_bytes([segment[4], segment[5]])),
                    };
                    assert_eq!(told, segment.len());
                }
                let written = joined(&segments);
                assert!(written.iter().map(|(_, packet)| packet.len()).sum::<usize>() > 0);
            }
            Err(_) => refused += 1,
        }
        joined(&[packet.clone(), packet]);
    }
    assert!((1_000..39_000).contains(&refused), "{refused}");
    let (header, packet) = large(4, 100, 10, ACK, 0);
    assert_eq!(cut(&VnetHeader { kind: 4, ..header }, &packet), Err(Malformed::Kind));
    assert_eq!(cut(&VnetHeader { kind: 3, ..header }, &packet), Err(Malformed::Kind));
    assert_eq!(cut(&VnetHeader { segment_bytes: 0, ..header }, &packet), Err(Malformed::Tcp));
    assert_eq!(cut(&VnetHeader { checksum_start: 24, ..header }, &packet), Err(Malformed::Tcp));
    assert_eq!(
        cut(&VnetHeader { kind: 0, checksum_start: 139, ..header }, &packet),
        Err(Malformed::Checksum)
    );
    assert_eq!(cut(&header, &packet[..19]), Err(Malformed::Ip));
    assert_eq!(cut(&VnetHeader::default(), &[0x45; 20]), Err(Malformed::Ip));
}
