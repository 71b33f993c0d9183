//! Every backend produces the same bytes and refuses the same forgeries, for any cipher, mode, key,
//! counter, length and alignment.

use std::fmt::Debug;

use arbitrary::{Result, Unstructured};
use sealstone_cipher::cbc::cbc;
use sealstone_cipher::hmac::{Mac, Message, hmac, macs};
use sealstone_cipher::{Backend, Cipher, Error, aead, blocks, ciphers, cmac, ctr, hctr2};

/// Longest message, in bytes: more than twice the widest batch of any kernel. Short inputs are
/// repeated up to it, since a fuzzer finds long inputs slowly, and backends differ in the wide
/// loops.
const TEXT_BYTES_MAX: usize = 9000;

/// One call of everything a cipher can do.
#[derive(Debug)]
struct Input {
    cipher: &'static Cipher,
    key: Vec<u8>,
    /// Counter block, initialisation vector, and in its first bytes the nonce.
    iv: Vec<u8>,
    offset_bytes: u64,
    associated: Vec<u8>,
    text: Vec<u8>,
    /// Bytes before the text in its buffer, so that kernels meet every alignment.
    before: usize,
    /// Index of the bit of ciphertext or tag that a forger changes.
    forged_bit: usize,
}

impl Input {
    fn take(mut input: Unstructured) -> Result<Self> {
        let cipher = input.choose(ciphers())?;
        let key = input.bytes(cipher.key_bytes)?.to_vec();
        let iv = input.bytes(cipher.block_bytes)?.to_vec();
        let offset_bytes = if input.arbitrary()? { input.arbitrary()? } else { 0 };
        let before = input.int_in_range(0..=63)?;
        let forged_bit = input.arbitrary()?;
        let associated_bytes = input.int_in_range(0..=600)?;
        let text_bytes = input.int_in_range(0..=TEXT_BYTES_MAX)?;
        let pattern = input.take_rest().to_vec();
        let cycle = |bytes| pattern.iter().copied().chain([0x5a]).cycle().take(bytes).collect();
        let (associated, text) = (cycle(associated_bytes), cycle(text_bytes));
        Ok(Self { cipher, key, iv, offset_bytes, associated, text, before, forged_bit })
    }

    /// Runs `change` on `data` at the input's alignment, and checks that it keeps to it.
    fn aligned<T>(&self, data: &[u8], change: impl FnOnce(&mut [u8]) -> T) -> (T, Vec<u8>) {
        const FENCE: u8 = 0xa5;
        let mut memory = vec![FENCE; data.len() + 256];
        let start = memory.as_ptr().align_offset(64) + 64 + self.before;
        let end = start + data.len();
        memory[start..end].copy_from_slice(data);
        let result = change(&mut memory[start..end]);
        let outside = memory[..start].iter().chain(&memory[end..]);
        assert!(
            outside.into_iter().all(|byte| *byte == FENCE),
            "wrote outside its buffer: {self:?}"
        );
        (result, memory[start..end].to_vec())
    }

    /// Returns everything that `backend` makes of the input, in a fixed order.
    fn results(&self, backend: Backend) -> Vec<Vec<u8>> {
        let Self { cipher, key, iv, associated, text, .. } = self;
        let done = |result: (std::result::Result<(), Error>, Vec<u8>)| {
            result.0.unwrap_or_else(|error| panic!("{}: {error}: {self:?}", backend.name()));
            result.1
        };
        let keyed = "a key and a nonce of the right length";
        let whole = &text[..text.len() - text.len() % cipher.block_bytes];

        let key_blocks = blocks(cipher, key, backend).expect(keyed);
        let encrypted = done(self.aligned(whole, |data| key_blocks.encrypt(data)));
        let decrypted = done(self.aligned(&encrypted, |data| key_blocks.decrypt(data)));
        self.same("blocks there and back", &decrypted, whole);

        let key_cbc = cbc(cipher, key, backend).expect(keyed);
        let chained = done(self.aligned(whole, |data| key_cbc.encrypt(iv, data)));
        let unchained = done(self.aligned(&chained, |data| key_cbc.decrypt(iv, data)));
        self.same("CBC there and back", &unchained, whole);

        let key_ctr = ctr(cipher, key, backend).expect(keyed);
        let counted = done(self.aligned(text, |data| key_ctr.apply(iv, self.offset_bytes, data)));

        let key_aead = aead(cipher, key, backend).expect(keyed);
        let nonce = &iv[..key_aead.nonce_bytes()];
        let (tag, mut sealed) = self.aligned(text, |data| key_aead.seal(nonce, associated, data));
        let mut tag = tag.expect(keyed);
        let opened =
            done(self.aligned(&sealed, |data| key_aead.open(nonce, associated, data, &tag)));
        self.same("sealed and opened", &opened, text);
        let results = vec![encrypted, chained, counted, sealed.clone(), tag.to_vec()];

        let bit = self.forged_bit % (8 * (sealed.len() + tag.len()));
        match sealed.get_mut(bit / 8) {
            Some(byte) => *byte ^= 1 << (bit % 8),
            None => tag[bit / 8 - text.len()] ^= 1 << (bit % 8),
        }
        let (refused, wiped) =
            self.aligned(&sealed, |data| key_aead.open(nonce, associated, data, &tag));
        self.same("a forgery", &refused, &Err(Error::Authentication));
        assert!(wiped.iter().all(|byte| *byte == 0), "a forgery left data: {self:?}");

        let mac = cmac(cipher, key, backend).expect(keyed).mac(text).expect(keyed);
        let mut wide = text.clone();
        if let Ok(keyed) = hctr2(cipher, key, backend)
            && keyed.encrypt(associated, &mut wide).is_ok()
        {
            let opened = done(self.aligned(&wide, |data| keyed.decrypt(associated, data)));
            self.same("a wide block", &opened, text);
        }
        results.into_iter().chain([mac, wide]).chain(self.tags(backend)).collect()
    }

    /// Returns the tags of pieces of the text, whose lengths its bytes decide, under every HMAC.
    fn tags(&self, backend: Backend) -> Vec<Vec<u8>> {
        let (mut rest, mut pieces) = (&self.text[..], vec![&self.associated[..]]);
        while let Some(length) = rest.first() {
            let (piece, after) = rest.split_at(rest.len().min(1 + usize::from(*length)));
            pieces.push(piece);
            rest = after;
        }
        let messages: Vec<Message<'_>> =
            pieces.iter().map(|data| Message { data, tail: &self.iv }).collect();
        let tags_of = |mac: &'static Mac| {
            let key = self.key.iter().copied().cycle().take(mac.key_bytes).collect::<Vec<u8>>();
            let keyed = hmac(mac, &key, backend).expect("a key of the right length");
            let mut tags = vec![[0; 16]; messages.len()];
            keyed.tags(&messages, &mut tags);
            for (message, tag) in messages.iter().zip(&tags).take(3) {
                assert_eq!(keyed.tag(message), *tag, "alone and among others: {self:?}");
            }
            tags.concat()
        };
        macs().iter().copied().map(tags_of).collect()
    }

    fn same<T: PartialEq<U> + Debug + ?Sized, U: Debug + ?Sized>(
        &self,
        what: &str,
        found: &T,
        want: &U,
    ) {
        assert!(found == want, "{what}: {self:?}");
    }
}

/// Checks one input, whatever it is; one that is too short checks nothing.
///
/// # Panics
/// If two backends differ, a message does not come back, or a forgery passes: with the input.
pub fn check(input: &[u8]) {
    let Ok(input) = Input::take(Unstructured::new(input)) else { return };
    let plain = input.results(Backend::portable());
    for backend in Backend::available() {
        assert!(
            input.results(backend) == plain,
            "{} and portable differ: {input:?}",
            backend.name()
        );
    }
}
