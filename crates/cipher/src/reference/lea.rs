//! LEA once more, one block at a time (Hong et al., WISA 2013; ISO/IEC 29192-2), for tests only. It
//! shares no code with `block/lea.rs`.

use super::EncryptBlock;

/// LEA under `key`, 16, 24 or 32 bytes.
pub(crate) fn keyed(key: &[u8]) -> EncryptBlock {
    let keys = schedule(&words(key));
    Box::new(move |block| {
        let mut x = words(block);
        for k in &keys {
            x = vec![
                (x[0] ^ k[0]).wrapping_add(x[1] ^ k[1]).rotate_left(9),
                (x[1] ^ k[2]).wrapping_add(x[2] ^ k[3]).rotate_right(5),
                (x[2] ^ k[4]).wrapping_add(x[3] ^ k[5]).rotate_right(3),
                x[0],
            ];
        }
        for (bytes, word) in block.chunks_exact_mut(4).zip(x) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    })
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("chunks of 4")))
        .collect()
}

/// Returns the six words of key of each round: 24, 28 or 32 rounds for keys of 4, 6 or 8 words.
fn schedule(key: &[u32]) -> Vec<[u32; 6]> {
    const DELTA: [u32; 8] = [
        0xc3ef_e9db,
        0x4462_6b02,
        0x79e2_7c8a,
        0x78df_30ec,
        0x715e_a49e,
        0xc785_da0a,
        0xe04e_f22a,
        0xe5c4_0957,
    ];
    const TURNS: [u32; 6] = [1, 3, 6, 11, 13, 17];
    let count = key.len();
    let rounds = match count {
        4 => 24,
        6 => 28,
        8 => 32,
        _ => panic!("a key of {count} words"),
    };
    let mut state = key.to_vec();
    (0..rounds)
        .map(|round| {
            // the longest key takes its six words around a ring of eight; the shortest has four to
            // give
            let changed = count.min(6);
            let place = |j: usize| if count == 8 { (6 * round + j) % 8 } else { j };
            for j in 0..changed {
                let delta = DELTA[round % count].rotate_left((round + j) as u32 % 32);
                state[place(j)] = state[place(j)].wrapping_add(delta).rotate_left(TURNS[j]);
            }
            if count == 4 {
                [state[0], state[1], state[2], state[1], state[3], state[1]]
            } else {
                std::array::from_fn(|j| state[place(j)])
            }
        })
        .collect()
}
