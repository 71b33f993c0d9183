//! FF1 as its standard states it, in numerals and bytes: sums are made numeral by numeral, numbers
//! change their base by long division. Over blocks of 8 bytes as `vectors/pipo-ff1.txt` defines it.

use crate::reference::EncryptBlock;

/// Encrypts `value`, numerals of `radix`, in place (SP 800-38G, algorithm 7), over blocks of
/// `block_bytes` bytes.
pub fn ff1(
    encrypt: &EncryptBlock,
    block_bytes: usize,
    radix: u32,
    tweak: &[u8],
    value: &mut [u16],
) {
    let n = value.len();
    let u = n / 2;
    let v = n - u;
    let largest = vec![radix - 1; v];
    let b = rebased(&largest, radix, 256).len();
    let d = 4 * b.div_ceil(4) + 4;
    let mut p = vec![1, 2, 1, (radix >> 16) as u8, (radix >> 8) as u8, radix as u8, 10, u as u8];
    p.extend((n as u32).to_be_bytes());
    p.extend((tweak.len() as u32).to_be_bytes());
    let (mut a, mut half_b): (Vec<u32>, Vec<u32>) = (
        value[..u].iter().map(|x| u32::from(*x)).collect(),
        value[u..].iter().map(|x| u32::from(*x)).collect(),
    );
    for i in 0..10 {
        let mut q = tweak.to_vec();
        while !(q.len() + b + 1).is_multiple_of(16) {
            q.push(0);
        }
        q.push(i);
        let number = rebased(&half_b, radix, 256);
        q.extend(vec![0; b - number.len()]);
        q.extend(number.iter().map(|byte| *byte as u8));
        let mut r = vec![0; block_bytes];
        for block in [&p[..], &q].concat().chunks(block_bytes) {
            r.iter_mut().zip(block).for_each(|(state, byte)| *state ^= byte);
            encrypt(&mut r);
        }
        let mut s = r.clone();
        for j in 1_u64.. {
            if s.len() >= d {
                break;
            }
            let mut block = r.clone();
            block[block_bytes - 8..]
                .iter_mut()
                .zip(j.to_be_bytes())
                .for_each(|(state, byte)| *state ^= byte);
            encrypt(&mut block);
            s.extend(block);
        }
        let y =
            rebased(&s[..d].iter().map(|byte| u32::from(*byte)).collect::<Vec<_>>(), 256, radix);
        let mut carry = 0;
        for (place, numeral) in a.iter_mut().rev().enumerate() {
            let sum = *numeral + y.iter().rev().nth(place).unwrap_or(&0) + carry;
            (*numeral, carry) = (sum % radix, sum / radix);
        }
        (a, half_b) = (half_b, a);
    }
    let sealed = a.into_iter().chain(half_b);
    value.iter_mut().zip(sealed).for_each(|(place, numeral)| *place = numeral as u16);
}

/// Returns the digits of the number with `digits` in base `from`, in base `to`, most significant
/// first and not 0.
fn rebased(digits: &[u32], from: u32, to: u32) -> Vec<u32> {
    let mut number = digits.to_vec();
    let mut rebased = Vec::new();
    while number.iter().any(|digit| *digit != 0) {
        let mut rest = 0_u64;
        for digit in &mut number {
            rest = rest * u64::from(from) + u64::from(*digit);
            *digit = (rest / u64::from(to)) as u32;
            rest %= u64::from(to);
        }
        rebased.push(rest as u32);
        let zeros = number.iter().take_while(|digit| **digit == 0).count();
        number.drain(..zeros);
    }
    rebased.reverse();
    rebased
}
