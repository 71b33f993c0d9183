//! The holders of a key file, each with their own passphrase, and the file key, which is wrapped to
//! each of them again whenever the file is written. Every byte is specified in `docs/formats.md`.
//!
//! A changed file must exclude removed holders, and the holder who changes it does not know the
//! passphrases of the others. So each holder has a key pair, with the private key sealed under the
//! passphrase, and the file key is wrapped to the public keys. Public keys alone would let anyone
//! write such a file, so a secret that all holders share (the membership) also goes into each
//! wrapping.
//!
//! The key pairs are X25519, and the wrapping is HPKE (RFC 9180) by the crate `hpke`, with the
//! membership as its pre-shared key. A symmetric file key, wrapped under each passphrase, would not
//! do: renewing it would take the passphrases of all others.

use std::fmt;

use hpke::aead::{AeadTag, AesGcm256};
use hpke::inout::InOutBuf;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{
    Deserializable, Kem, OpModeR, OpModeS, PskBundle, Serializable,
    single_shot_open_inout_detached, single_shot_seal_inout_detached,
};
use sealstone_cipher::Provider;
use zeroize::Zeroizing;

use crate::file::sealed_bytes::{NotOpened, Purpose, Sealed, TAG_BYTES, parts};
use crate::passphrase::{Cost, SALT_BYTES, Stretched, WORK_KIB_MAX};
use crate::{KeyError, Secret};

/// Most holders of one key file.
pub const HOLDERS_MAX: usize = 32;
/// Longest name of a holder, in bytes.
pub(crate) const HOLDER_NAME_BYTES_MAX: usize = 64;

/// Length of the keys of X25519, and of what encapsulates a shared secret, in bytes.
pub(super) const X25519_BYTES: usize = 32;
/// Length of what a passphrase opens, in bytes: the private key, then the membership.
pub(super) const IDENTITY_BYTES: usize = X25519_BYTES + Secret::BYTES;

/// Purpose of the wrapping of a file key, in its `info` and as the name of the membership.
const WRAPPING: &[u8] = b"sealstone key file 3";

type PrivateKey = <X25519HkdfSha256 as Kem>::PrivateKey;
type PublicKey = <X25519HkdfSha256 as Kem>::PublicKey;
type EncappedKey = <X25519HkdfSha256 as Kem>::EncappedKey;

/// Data of a holder that stays the same until their passphrase changes.
#[derive(Clone)]
pub(super) struct Holder {
    pub(super) name: String,
    pub(super) cost: Cost,
    pub(super) salt: [u8; SALT_BYTES],
    /// Private key and membership, under the passphrase.
    pub(super) identity: Sealed<IDENTITY_BYTES>,
    pub(super) public: [u8; X25519_BYTES],
}

/// The file key, for one holder.
#[derive(Clone, Debug)]
pub(super) struct Wrapped {
    pub(super) encapsulated: [u8; X25519_BYTES],
    pub(super) file_key: [u8; Secret::BYTES],
    pub(super) tag: [u8; TAG_BYTES],
}

/// Secrets that a passphrase opens.
pub(super) struct Identity {
    private: Zeroizing<[u8; X25519_BYTES]>,
    /// Secret that all holders share, and nobody else has.
    pub(super) membership: Secret,
}

impl Holder {
    /// Returns a holder named `name` of the key file of key `id`, with a fresh pair of keys.
    ///
    /// # Errors
    /// [`KeyError::BadHolder`], [`KeyError::Random`].
    pub(super) fn new(
        id: &str,
        name: &str,
        stretched: &Stretched,
        membership: &Secret,
    ) -> Result<Self, KeyError> {
        check_name(name)?;
        let (private, public) =
            X25519HkdfSha256::derive_keypair(Secret::random(Provider::own())?.as_bytes());
        let public: [u8; X25519_BYTES] = public.to_bytes().into();
        let mut plain = Zeroizing::new([0; IDENTITY_BYTES]);
        private.write_exact(&mut plain[..X25519_BYTES]);
        plain[X25519_BYTES..].copy_from_slice(membership.as_bytes());
        let Stretched { cost, salt, key } = stretched;
        let associated = associated(id, name, *cost, &public);
        let identity = Sealed::seal(&plain, key, identity_purpose(id, name).of(), &associated)?;
        Ok(Self { name: name.to_owned(), cost: *cost, salt: *salt, identity, public })
    }

    /// Returns whether this is the holder whose passphrase was stretched; the holder may have
    /// another passphrase by now.
    pub(super) fn is(&self, stretched: &Stretched) -> bool {
        self.salt == stretched.salt && self.cost == stretched.cost
    }

    /// Opens what the passphrase protects.
    pub(super) fn identity(&self, id: &str, stretched: &Stretched) -> Result<Identity, NotOpened> {
        let mut plain = Zeroizing::new([0; IDENTITY_BYTES]);
        let associated = associated(id, &self.name, self.cost, &self.public);
        self.identity.open(
            &stretched.key,
            identity_purpose(id, &self.name).of(),
            &associated,
            &mut plain,
        )?;
        let (private, membership) = plain.split_first_chunk::<X25519_BYTES>().expect("longer");
        let membership = Secret::from_bytes(membership.try_into().expect("the rest is one secret"));
        Ok(Identity { private: Zeroizing::new(*private), membership })
    }

    /// Wraps `file_key` to this holder.
    ///
    /// # Errors
    /// A public key that no private key belongs to, which only another holder can have put here.
    pub(super) fn wrap(
        &self,
        id: &str,
        file_key: &Secret,
        membership: &Secret,
    ) -> Result<Wrapped, NotOpened> {
        let public = PublicKey::from_bytes(&self.public).map_err(|_| NotOpened)?;
        let mut wrapped = Zeroizing::new(*file_key.as_bytes());
        let shared = PskBundle::new(membership.as_bytes(), WRAPPING).expect("both are there");
        let (encapsulated, tag) =
            single_shot_seal_inout_detached::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
                &OpModeS::Psk(shared),
                &public,
                &info(id, &self.name),
                InOutBuf::from(wrapped.as_mut_slice()),
                &[],
            )
            .map_err(|_| NotOpened)?;
        let (encapsulated, tag) = (encapsulated.to_bytes().into(), tag.to_bytes().into());
        Ok(Wrapped { encapsulated, file_key: *wrapped, tag })
    }

    /// Unwraps the file key.
    pub(super) fn unwrap(
        &self,
        id: &str,
        identity: &Identity,
        wrapped: &Wrapped,
    ) -> Result<Secret, NotOpened> {
        let private = PrivateKey::from_bytes(identity.private.as_slice()).map_err(|_| NotOpened)?;
        let encapsulated = EncappedKey::from_bytes(&wrapped.encapsulated).map_err(|_| NotOpened)?;
        let tag = AeadTag::<AesGcm256>::from_bytes(&wrapped.tag).map_err(|_| NotOpened)?;
        let shared =
            PskBundle::new(identity.membership.as_bytes(), WRAPPING).expect("both are there");
        let mut file_key = Secret::from_bytes(&wrapped.file_key);
        single_shot_open_inout_detached::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Psk(shared),
            &private,
            &encapsulated,
            &info(id, &self.name),
            InOutBuf::from(file_key.as_bytes_mut().as_mut_slice()),
            &[],
            &tag,
        )
        .map_err(|_| NotOpened)?;
        Ok(file_key)
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holder")
            .field("name", &self.name)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

/// Builds the data that every version of the key is bound to: everything about all holders, in the
/// order of the file.
pub(super) fn binding<'a>(holders: impl Iterator<Item = (&'a Holder, &'a Wrapped)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (Holder { name, cost, salt, identity, public }, Wrapped { encapsulated, file_key, tag }) in
        holders
    {
        let cost = cost_bytes(*cost);
        let Sealed { nonce, bytes, tag: identity_tag } = identity;
        let all: [&[u8]; 10] = [
            name.as_bytes(),
            &cost,
            salt,
            nonce,
            bytes,
            identity_tag,
            public,
            encapsulated,
            file_key,
            tag,
        ];
        out.extend(parts(&all));
    }
    out
}

/// Reports an error in a list of holders, which may come from a file that somebody else wrote.
/// Opening it costs no more than the limit for a file with one passphrase.
pub(super) fn check<'a>(holders: impl Iterator<Item = &'a Holder> + Clone) -> Result<(), String> {
    let count = holders.clone().count();
    if count == 0 {
        return Err("it has no holder".into());
    }
    if count > HOLDERS_MAX {
        return Err(format!("it has {count} holders, at most {HOLDERS_MAX} are allowed"));
    }
    for (at, holder) in holders.clone().enumerate() {
        check_name(&holder.name).map_err(|error| error.to_string())?;
        holder.cost.check()?;
        let mut others = holders.clone().take(at);
        if others.any(|other| other.name == holder.name || other.salt == holder.salt) {
            return Err(format!("holder {} is listed twice", holder.name));
        }
    }
    let work_kib: u64 = holders.map(|holder| holder.cost.work_kib()).sum();
    if work_kib > WORK_KIB_MAX {
        return Err(format!(
            "trying the passphrases of its holders would write {work_kib} KiB, at most \
             {WORK_KIB_MAX} are allowed"
        ));
    }
    Ok(())
}

/// Checks whether a holder may be called `name`.
///
/// # Errors
/// [`KeyError::BadHolder`].
pub(super) fn check_name(name: &str) -> Result<(), KeyError> {
    let bad = |found: String| Err(KeyError::BadHolder { found });
    if name.is_empty() {
        return bad("it is empty".into());
    }
    if name.len() > HOLDER_NAME_BYTES_MAX {
        return bad(format!(
            "it has {} bytes, at most {HOLDER_NAME_BYTES_MAX} are allowed",
            name.len()
        ));
    }
    match name.chars().find(|c| !c.is_alphanumeric() && !"-_.@+".contains(*c)) {
        Some(other) => {
            bad(format!("it holds {other:?}; letters, digits and - _ . @ + are allowed"))
        }
        None => Ok(()),
    }
}

/// Returns the purpose and context of the key that seals an identity.
fn identity_purpose<'a>(id: &'a str, name: &'a str) -> IdentityPurpose<'a> {
    IdentityPurpose([id.as_bytes(), name.as_bytes()])
}

struct IdentityPurpose<'a>([&'a [u8]; 2]);

impl IdentityPurpose<'_> {
    fn of(&self) -> Purpose<'_> {
        ("key file holder", &self.0)
    }
}

fn associated(id: &str, name: &str, cost: Cost, public: &[u8; X25519_BYTES]) -> Vec<u8> {
    parts(&[id.as_bytes(), name.as_bytes(), &cost_bytes(cost), public])
}

fn info(id: &str, name: &str) -> Vec<u8> {
    parts(&[WRAPPING, id.as_bytes(), name.as_bytes()])
}

fn cost_bytes(Cost { memory_kib, passes, lanes }: Cost) -> [u8; 12] {
    let mut out = [0; 12];
    for (bytes, figure) in out.chunks_exact_mut(4).zip([memory_kib, passes, lanes]) {
        bytes.copy_from_slice(&figure.to_be_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Passphrase;

    fn holder(name: &str, membership: &Secret) -> (Holder, Identity) {
        let passphrase = Passphrase::new(name.into(), "the test").unwrap();
        let stretched =
            Stretched::fresh(&passphrase, Cost { memory_kib: 8, passes: 1, lanes: 1 }).unwrap();
        let holder = Holder::new("orders", name, &stretched, membership).unwrap();
        let identity = holder.identity("orders", &stretched).unwrap();
        (holder, identity)
    }

    /// Anyone can read public keys; without the membership nothing can be wrapped to them.
    #[test]
    fn a_file_key_is_wrapped_by_holders_only_and_to_one_of_them() {
        let membership = Secret::random(Provider::own()).unwrap();
        let ((alice, alices), (bob, bobs)) =
            (holder("alice", &membership), holder("bob", &membership));
        let file_key = Secret::random(Provider::own()).unwrap();
        let wrapped = alice.wrap("orders", &file_key, &membership).unwrap();
        assert_eq!(
            alice.unwrap("orders", &alices, &wrapped).unwrap().as_bytes(),
            file_key.as_bytes()
        );
        bob.unwrap("orders", &bobs, &wrapped).unwrap_err();
        alice.unwrap("orders", &bobs, &wrapped).unwrap_err();
        alice.unwrap("wages", &alices, &wrapped).unwrap_err();
        let forged =
            alice.wrap("orders", &file_key, &Secret::random(Provider::own()).unwrap()).unwrap();
        alice.unwrap("orders", &alices, &forged).unwrap_err();
        // a public key whose secrets are public
        Holder { public: [0; X25519_BYTES], ..alice }
            .wrap("orders", &file_key, &membership)
            .unwrap_err();
    }
}
