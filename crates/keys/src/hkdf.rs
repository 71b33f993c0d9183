//! Subkeys: one secret, many purposes, no two of which share a key.

use hkdf::Hkdf;
use sealstone_cipher::{Error, Provider, own_in_use};
use sha2::Sha256;

/// Longest subkey: 255 SHA-256 outputs (RFC 5869, 2.3).
pub const SUBKEY_BYTES_MAX: usize = 255 * 32;

/// Derives a subkey from `secret` into `out`, with HKDF-SHA256 (RFC 5869) without salt.
///
/// - `provider`: who derives; a module does it itself
/// - `secret`: uniformly random key, normally 32 bytes
/// - `purpose`: use of the subkey, such as `pages`; two purposes never share a subkey
/// - `context`: further values it is bound to, such as a file id; order and lengths count
/// - `out`: receives the subkey, at most [`SUBKEY_BYTES_MAX`] bytes; its length is bound too, so
///   that a short subkey is not the beginning of a long one
///
/// The `info` of HKDF is a list in which every part is preceded by its length, so no two different
/// calls can spell the same input: `"sealstone 1"`, then for the purpose and each context its
/// length in bytes (8 bytes, big-endian) and its bytes, then the length of `out` (8 bytes,
/// big-endian).
///
/// Source: RFC 5869; the `info` is our own, see `docs/formats.md`.
///
/// # Errors
/// Those of a module that lacks HKDF or fails; `out` is then of no use.
///
/// # Panics
/// If `out` is longer than [`SUBKEY_BYTES_MAX`]: a bug of the caller, since lengths are constants.
pub fn subkey(
    provider: impl Into<Provider>,
    secret: &[u8],
    purpose: &str,
    context: &[&[u8]],
    out: &mut [u8],
) -> Result<(), Error> {
    let out_bytes = (out.len() as u64).to_be_bytes();
    let lengths: Vec<[u8; 8]> =
        context.iter().map(|part| (part.len() as u64).to_be_bytes()).collect();
    let purpose_bytes = (purpose.len() as u64).to_be_bytes();
    let mut info: Vec<&[u8]> = vec![b"sealstone 1", &purpose_bytes, purpose.as_bytes()];
    for (length, part) in lengths.iter().zip(context) {
        info.push(length);
        info.push(part);
    }
    info.push(&out_bytes);
    assert!(
        out.len() <= SUBKEY_BYTES_MAX,
        "subkey of {} bytes, at most {SUBKEY_BYTES_MAX}",
        out.len()
    );
    match provider.into() {
        Provider::Own(_) => {
            own_in_use("HKDF");
            Hkdf::<Sha256>::new(None, secret)
                .expand_multi_info(&info, out)
                .expect("the length was checked");
            Ok(())
        }
        Provider::Module(module) => module.hkdf_sha256(secret, &info, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    }

    fn derive(purpose: &str, context: &[&[u8]], bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        subkey(Provider::own(), &[7; 32], purpose, context, &mut out).unwrap();
        out
    }

    /// RFC 5869, A.1 and A.3: the library underneath really is HKDF.
    #[test]
    fn the_kdf_is_rfc_5869() {
        let ikm = [0x0b; 22];
        let mut out = [0; 42];
        Hkdf::<Sha256>::new(Some(&hex("000102030405060708090a0b0c")), &ikm)
            .expand(&hex("f0f1f2f3f4f5f6f7f8f9"), &mut out)
            .unwrap();
        assert_eq!(
            out[..],
            hex("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf\
                 1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        );
        Hkdf::<Sha256>::new(None, &ikm).expand(&[], &mut out).unwrap();
        assert_eq!(
            out[..],
            hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5e\
                 e1879ec3454e5f3c738d2d9d201395faa4b61a96c8")
        );
    }

    /// The `info` is spelled as documented: the same bytes assembled by hand yield the same subkey.
    #[test]
    fn the_info_is_as_documented() {
        let mut info = b"sealstone 1".to_vec();
        for part in [b"pages".as_slice(), b"file", b""] {
            info.extend((part.len() as u64).to_be_bytes());
            info.extend(part);
        }
        info.extend(16u64.to_be_bytes());
        let mut want = [0; 16];
        Hkdf::<Sha256>::new(None, &[7; 32]).expand(&info, &mut want).unwrap();
        assert_eq!(derive("pages", &[b"file", b""], 16), want);
    }

    #[test]
    fn no_two_spellings_meet() {
        let all = [
            derive("pages", &[], 32),
            derive("frames", &[], 32),
            derive("pages", &[b""], 32),
            derive("pages", &[b"ab", b"c"], 32),
            derive("pages", &[b"a", b"bc"], 32),
            derive("pages", &[b"abc"], 32),
            derive("pagesabc", &[], 32),
            derive("pages", &[b"abc"], 48)[..32].to_vec(),
            derive("pages", &[b"c", b"ab"], 32),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|other| other != one), "subkey {i} came up twice");
        }
        assert_eq!(derive("pages", &[b"abc"], 32), derive("pages", &[b"abc"], 32));
    }
}
