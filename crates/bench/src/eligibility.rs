//! Which ciphers may be recommended under a policy, in which order of standing, and what to heed before taking one. Not
//! here: which one is recommended (`recommend`).

use std::collections::BTreeMap;

use sealstone_cipher::registry::{self, Cipher, Standing};
use sealstone_store::Layer;

use crate::plan::Policy;
use crate::results::{Cell, Choice, Variant};
use crate::size::human_bytes;

/// The suite of the layer `wire` that is TLS, and the cipher that both ends take for it: the first of those that client
/// and server prefer (TLS_AES_256_GCM_SHA384).
const TLS: (&str, &str) = ("tls", "aes-256");

/// The cipher by which `variant` is judged, if it has one that could be recommended.
pub(crate) fn cipher_of(variant: &Variant) -> Option<&'static Cipher> {
    let name = variant.cipher()?;
    registry::cipher(if name == TLS.0 { TLS.1 } else { name }).ok()
}

/// Whether `variant` has TLS with a cipher that `policy` does not allow.
fn has_barred_tls(policy: Policy, variant: &Variant) -> bool {
    let has_tls = variant.layers.get(Layer::Wire.name()).is_some_and(|choice| choice.cipher == TLS.0);
    has_tls && registry::cipher(TLS.1).is_ok_and(|cipher| !allows(policy, cipher))
}

/// Why `cipher` must not be recommended under `policy`.
pub(crate) fn barred(policy: Policy, cipher: &Cipher, variant: &Variant, variants: &[Variant]) -> Option<String> {
    match cipher.standing {
        Standing::Legacy => return Some("legacy: for comparison and old data only".into()),
        Standing::Experimental => return Some("experimental: no standard stands behind it".into()),
        Standing::Standard | Standing::National => {}
    }
    if !allows(policy, cipher) {
        let (list, has_cipher) = match policy {
            Policy::Fips => ("approved under FIPS 140", cipher.fips),
            _ => ("on the Korean validation list (KCMVP)", cipher.kcmvp),
        };
        return Some(match has_cipher {
            true => format!("the cipher is {list}, its mode here ({}) is not", cipher.mode.word()),
            false => format!("not {list}"),
        });
    }
    if has_barred_tls(policy, variant) {
        return Some(format!("TLS is with {} here, which is not on the list of policy {}", TLS.1, policy.word()));
    }
    // a forced backend shows what other machines would get; nobody should force it where a better one is available
    let choice = variant.choice()?;
    let is_better =
        |other: &Choice| other.accel == "auto" && other.cipher == choice.cipher && other.backend != choice.backend;
    if choice.accel != "auto" && variants.iter().filter_map(Variant::choice).any(is_better) {
        return Some(format!("the backend {} was forced for comparison; auto does the same work", choice.accel));
    }
    None
}

/// Whether `cipher` is in good standing and approved as `policy` asks.
pub(crate) fn allows(policy: Policy, cipher: &Cipher) -> bool {
    match policy {
        Policy::Any => matches!(cipher.standing, Standing::Standard | Standing::National),
        Policy::Fips => cipher.meets_fips(),
        Policy::Kcmvp => cipher.meets_kcmvp(),
    }
}

/// Names of the ciphers that could be recommended under `policy`.
pub(crate) fn allowed_names(policy: Policy) -> Vec<&'static str> {
    let good =
        |cipher: &&Cipher| allows(policy, cipher) && matches!(cipher.standing, Standing::Standard | Standing::National);
    registry::ciphers().iter().filter(good).map(|cipher| cipher.name).collect()
}

/// Better standing is smaller: standards before national ones, longer keys before shorter, large blocks before small.
pub(crate) fn standing(cipher: &Cipher) -> (bool, usize, usize) {
    let rank = match cipher.standing {
        Standing::Standard => 0,
        Standing::National => 1,
        Standing::Experimental => 2,
        Standing::Legacy => 3,
    };
    (cipher.block_bytes < 16, rank, usize::MAX - cipher.key_bytes)
}

/// What chose `best` rather than `other`, whose figures do not tell them apart.
pub(crate) fn decided(best: &Cipher, other: &Cipher) -> &'static str {
    match standing(best) == standing(other) {
        true => "so either will do",
        false => "so standing decided",
    }
}

/// What stays readable to others with `variant`.
pub(crate) fn unprotected(variant: &Variant) -> Option<String> {
    let is_in = |layer: &str| variant.layers.keys().all(|known| known == layer);
    if is_in("field") {
        return Some(
            "not protected by it: keys, columns that are not sealed, and what a sealed column shows (lengths; with \
             ff1, which values are equal)"
                .into(),
        );
    }
    if is_in("rest") {
        return Some(
            "not protected by it: data in memory and on the wire, and whatever a user of the running store may read"
                .into(),
        );
    }
    if is_in("wire") {
        return Some("not protected by it: whatever is stored, and what the server has in memory".into());
    }
    let both = ["field", "rest"].iter().all(|layer| variant.layers.contains_key(*layer));
    if !both && variant.layers.contains_key("field") {
        return Some("not protected by it: in the store, keys and columns that are not sealed".into());
    }
    if !both && variant.layers.contains_key("rest") {
        return Some("not protected by it: data in memory, and whatever a user of the running store may read".into());
    }
    both.then(|| "not protected by it: in the running store, keys and columns that are not sealed".into())
}

/// What to heed before taking one of the ciphers.
///
/// - `measured`: each cipher, with the cells that were measured of it
pub(crate) fn warnings(measured: &[(&'static Cipher, Vec<&Cell>)]) -> Vec<String> {
    // one warning a cipher, however many backends ran it
    let mut ciphers: BTreeMap<u16, (&Cipher, u64)> = BTreeMap::new();
    for (cipher, cells) in measured {
        let stored = cells.iter().map(|cell| cell.disk_bytes).max().unwrap_or(0);
        let written = |cell: &&Cell| cell.samples.iter().map(|sample| sample.encrypted_bytes).sum::<u64>();
        let volume = cells.iter().map(written).max().unwrap_or(0).max(stored);
        let entry = ciphers.entry(cipher.id).or_insert((cipher, 0));
        entry.1 = entry.1.max(volume);
    }
    let mut warnings = Vec::new();
    for (cipher, volume) in ciphers.into_values() {
        let name = cipher.name;
        match cipher.standing {
            Standing::Legacy => warnings.push(format!("{name} is legacy: for comparison and old data only")),
            Standing::Experimental => warnings.push(format!("{name} is experimental: no standard stands behind it")),
            Standing::Standard | Standing::National => {}
        }
        if let Some(caveat) = cipher.caveat {
            warnings.push(format!("{name}: {caveat}"));
        }
        if cipher.block_bytes < 16 {
            warnings.push(format!(
                "{name} has blocks of {} bits: collisions become likely within gigabytes under one key",
                cipher.block_bytes * 8
            ));
        }
        let limit = cipher.limits.bytes_per_key;
        if volume > limit {
            warnings.push(format!(
                "{name} may encrypt {} under one key ({}); the {} of this data set need at least {} keys",
                human_bytes(limit),
                cipher.limits.source,
                human_bytes(volume),
                volume.div_ceil(limit)
            ));
        }
    }
    warnings
}
