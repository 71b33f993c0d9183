//! HIGHT once more, one block at a time (Hong et al., CHES 2006), for tests only. It shares no code
//! with `block/hight.rs`. Byte i of a block or key in memory is Pi or MKi of the paper, as KISA's
//! vectors have it.

use super::EncryptBlock;

/// HIGHT under `key`, 16 bytes.
pub(crate) fn keyed(key: &[u8]) -> EncryptBlock {
    let key: [u8; 16] = key.try_into().expect("16 bytes of key");
    let subkeys = subkeys(&key);
    let whitening: [u8; 8] = std::array::from_fn(|i| key[if i < 4 { i + 12 } else { i - 4 }]);
    Box::new(move |block| {
        let mut x: [u8; 8] = (&*block).try_into().expect("8 bytes of block");
        for (i, key) in (0..8).step_by(2).zip(&whitening[..4]) {
            x[i] = whitened(i, x[i], *key);
        }
        for k in subkeys.chunks_exact(4) {
            x = [
                x[7] ^ f0(x[6]).wrapping_add(k[3]),
                x[0],
                x[1].wrapping_add(f1(x[0]) ^ k[0]),
                x[2],
                x[3] ^ f0(x[2]).wrapping_add(k[1]),
                x[4],
                x[5].wrapping_add(f1(x[4]) ^ k[2]),
                x[6],
            ];
        }
        x.rotate_left(1);
        for (i, key) in (0..8).step_by(2).zip(&whitening[4..]) {
            x[i] = whitened(i, x[i], *key);
        }
        block.copy_from_slice(&x);
    })
}

/// Bytes 0 and 4 are added to their whitening key, 2 and 6 combined by exclusive or.
fn whitened(i: usize, x: u8, key: u8) -> u8 {
    if i.is_multiple_of(4) { x.wrapping_add(key) } else { x ^ key }
}

/// Returns the 128 subkeys, four a round.
fn subkeys(key: &[u8; 16]) -> Vec<u8> {
    // the sequence of bits s, of which each constant is seven in a row, the first of them its
    // lowest
    let mut s = vec![0_u8, 1, 0, 1, 1, 0, 1];
    for i in 1..128 {
        s.push(s[i + 2] ^ s[i - 1]);
    }
    let delta = |i: usize| (0..7).map(|j| s[i + j] << j).sum::<u8>();
    let mut subkeys = vec![0; 128];
    for i in 0..8 {
        for j in 0..8 {
            let place = (8 + j - i) % 8;
            subkeys[16 * i + j] = key[place].wrapping_add(delta(16 * i + j));
            subkeys[16 * i + j + 8] = key[place + 8].wrapping_add(delta(16 * i + j + 8));
        }
    }
    subkeys
}

fn f0(x: u8) -> u8 {
    x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(7)
}

fn f1(x: u8) -> u8 {
    x.rotate_left(3) ^ x.rotate_left(4) ^ x.rotate_left(6)
}
