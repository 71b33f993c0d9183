//! Which ciphers and suites may be recommended under a policy, in which order of standing, and what to heed before
//! taking one. Not here: which one is recommended (`recommend`).

use std::collections::BTreeMap;

use sealstone_cipher::registry::{self, Cipher, Standing};
use sealstone_store::{Layer, TLS};

use crate::algorithm::{Algorithm, SUITES_ADVISED, Suite, TLS_CIPHER};
use crate::plan::Policy;
use crate::results::{Cell, Choice, Variant};
use crate::size::human_bytes;

/// Whether `variant` has TLS with a cipher that `policy` does not allow.
fn has_barred_tls(policy: Policy, variant: &Variant) -> bool {
    let has_tls = variant.layers.get(Layer::Wire.name()).is_some_and(|choice| choice.cipher == TLS);
    has_tls && Suite::by_name(TLS).is_some_and(|suite| !allows(policy, Algorithm::Suite(suite)))
}

/// Why `algorithm` must not be recommended under `policy`.
pub(crate) fn barred(policy: Policy, algorithm: Algorithm, variant: &Variant, variants: &[Variant]) -> Option<String> {
    match (algorithm.standing(), algorithm) {
        // a cipher in good standing with a broken hash function, or nothing at all
        (Standing::Legacy, Algorithm::Suite(suite))
            if suite.cipher.is_none_or(|one| one.standing != Standing::Legacy) =>
        {
            let reason = suite.caveats().join("; ");
            return Some(if suite.cipher.is_none() { reason } else { format!("legacy: {reason}") });
        }
        (Standing::Legacy, _) => return Some("legacy: for comparison and old data only".into()),
        (Standing::Experimental, _) => return Some("experimental: no standard stands behind it".into()),
        (Standing::Standard | Standing::National, _) => {}
    }
    if !allows(policy, algorithm) {
        let (list, has_cipher) = match policy {
            Policy::Fips => ("approved under FIPS 140", algorithm.cipher().is_some_and(|cipher| cipher.fips)),
            _ => ("on the Korean validation list (KCMVP)", algorithm.cipher().is_some_and(|cipher| cipher.kcmvp)),
        };
        return Some(match algorithm {
            Algorithm::Cipher(cipher) if has_cipher => {
                format!("the cipher is {list}, its mode here ({}) is not", cipher.mode.word())
            }
            _ => format!("not {list}"),
        });
    }
    if has_barred_tls(policy, variant) {
        return Some(format!("TLS is with {TLS_CIPHER} here, which is not on the list of policy {}", policy.word()));
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

/// Whether `algorithm` is in good standing and approved as `policy` asks.
pub(crate) fn allows(policy: Policy, algorithm: Algorithm) -> bool {
    match policy {
        Policy::Any => algorithm.is_in_good_standing(),
        Policy::Fips => algorithm.meets_fips(),
        Policy::Kcmvp => algorithm.meets_kcmvp(),
    }
}

/// Names of the ciphers, or of suites, that could be recommended under `policy`; `noun` says which.
pub(crate) fn allowed_names(policy: Policy, noun: &str) -> Vec<&'static str> {
    if noun == "suites" {
        let allowed = |name: &&str| Suite::by_name(name).is_some_and(|suite| allows(policy, Algorithm::Suite(suite)));
        return SUITES_ADVISED.into_iter().filter(allowed).collect();
    }
    let good = |cipher: &&'static Cipher| {
        let algorithm = Algorithm::Cipher(cipher);
        allows(policy, algorithm) && algorithm.is_in_good_standing()
    };
    registry::ciphers().iter().filter(good).map(|cipher| cipher.name).collect()
}

/// Better standing is smaller: standards before national ones, longer keys before shorter, large blocks before small.
pub(crate) fn standing(algorithm: Algorithm) -> (bool, usize, usize) {
    let rank = match algorithm.standing() {
        Standing::Standard => 0,
        Standing::National => 1,
        Standing::Experimental => 2,
        Standing::Legacy => 3,
    };
    let (block_bytes, key_bytes) = algorithm.cipher().map_or((0, 0), |cipher| (cipher.block_bytes, cipher.key_bytes));
    (block_bytes < 16, rank, usize::MAX - key_bytes)
}

/// What chose `best` rather than `other`, whose figures do not tell them apart.
pub(crate) fn decided(best: Algorithm, other: Algorithm) -> &'static str {
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
        return Some(
            "not protected by it: data in memory and on the disks at both ends, and who talks to whom, when and how \
             much"
                .into(),
        );
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

/// What to heed before taking one of the ciphers or suites.
///
/// - `measured`: each of them, with the cells that were measured of it
pub(crate) fn warnings(measured: &[(Algorithm, Vec<&Cell>)]) -> Vec<String> {
    // one warning a cipher or a suite, however many backends or paths ran it
    let mut ciphers: BTreeMap<u16, (&Cipher, u64)> = BTreeMap::new();
    let mut suites: Vec<Suite> = Vec::new();
    for (algorithm, cells) in measured {
        let cipher = match algorithm {
            Algorithm::Cipher(cipher) => cipher,
            Algorithm::Suite(suite) => {
                if !suites.iter().any(|known| known.name == suite.name) {
                    suites.push(*suite);
                }
                continue;
            }
        };
        let stored = cells.iter().map(|cell| cell.disk_bytes).max().unwrap_or(0);
        let written = |cell: &&Cell| cell.samples.iter().map(|sample| sample.encrypted_bytes).sum::<u64>();
        let volume = cells.iter().map(written).max().unwrap_or(0).max(stored);
        let entry = ciphers.entry(cipher.id).or_insert((cipher, 0));
        entry.1 = entry.1.max(volume);
    }
    let mut warnings = Vec::new();
    for (cipher, volume) in ciphers.into_values() {
        let name = cipher.name;
        warnings.extend(heeded(name, Algorithm::Cipher(cipher), cipher.caveat));
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
    // keys of packets are changed long before their limit
    warnings.extend(suites.iter().flat_map(|suite| heeded(suite.name, Algorithm::Suite(*suite), suite.caveats())));
    warnings
}

/// What to heed of `algorithm`, called `name`, for its standing, its caveats and its blocks.
fn heeded(name: &str, algorithm: Algorithm, caveats: impl IntoIterator<Item = &'static str>) -> Vec<String> {
    let mut heeded = Vec::new();
    match algorithm.cipher().map(|cipher| cipher.standing) {
        Some(Standing::Legacy) => heeded.push(format!("{name} is legacy: for comparison and old data only")),
        Some(Standing::Experimental) => heeded.push(format!("{name} is experimental: no standard stands behind it")),
        Some(Standing::Standard | Standing::National) | None => {}
    }
    heeded.extend(caveats.into_iter().map(|caveat| format!("{name}: {caveat}")));
    if let Some(cipher) = algorithm.cipher().filter(|cipher| cipher.block_bytes < 16) {
        heeded.push(format!(
            "{name} has blocks of {} bits: collisions become likely within gigabytes under one key",
            cipher.block_bytes * 8
        ));
    }
    heeded
}
