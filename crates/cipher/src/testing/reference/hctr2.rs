//! HCTR2 as its paper states it, with POLYVAL bit by bit (RFC 8452, 3).

use crate::reference::EncryptBlock;

/// Encrypts `data` (16 bytes and more) in place under `tweak` (HCTR2, section 2).
pub fn hctr2(encrypt: &EncryptBlock, tweak: &[u8], data: &mut [u8]) {
    let number = |bytes: &[u8]| u128::from_le_bytes(bytes.try_into().expect("a block"));
    let encrypt = |block: u128| {
        let mut bytes = block.to_le_bytes().to_vec();
        encrypt(&mut bytes);
        number(&bytes)
    };
    let (key, offset) = (encrypt(0), encrypt(1));
    let hash = |message: &[u8]| {
        let bits = 8 * tweak.len() as u128;
        let is_whole = message.len().is_multiple_of(16);
        let mut input = (2 * bits + if is_whole { 2 } else { 3 }).to_le_bytes().to_vec();
        input.extend_from_slice(tweak);
        input.resize(input.len().next_multiple_of(16), 0);
        input.extend_from_slice(message);
        if !is_whole {
            input.push(1);
            input.resize(input.len().next_multiple_of(16), 0);
        }
        input.chunks(16).fold(0, |sum, block| dot(sum ^ number(block), key))
    };
    let (block, rest) = data.split_at_mut(16);
    let before = number(block) ^ hash(rest);
    let after = encrypt(before);
    for (i, piece) in (1..).zip(rest.chunks_mut(16)) {
        let stream = encrypt(before ^ after ^ offset ^ i).to_le_bytes();
        piece.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
    }
    block.copy_from_slice(&(after ^ hash(rest)).to_le_bytes());
}

/// Returns the product of two numbers of POLYVAL's field and x^-128.
fn dot(a: u128, b: u128) -> u128 {
    (0..128).fold(0, |sum: u128, i| {
        let sum = if b >> i & 1 == 1 { sum ^ a } else { sum };
        // divided by x: what is odd takes the polynomial first, whose highest term becomes x^127
        if sum & 1 == 1 {
            (sum ^ 0xc200_0000_0000_0000_0000_0000_0000_0001) >> 1 | 1 << 127
        } else {
            sum >> 1
        }
    })
}
