//! Rules for the ciphers and suites that may be recommended under a policy, in order of standing,
//! and the caveats of each.

use std::collections::BTreeMap;

use sealstone_cipher::suites::{Encryption, Suite, suites};
use sealstone_cipher::{Approval, Cipher, Mode, NOT_A_MODULE, Standing};
use sealstone_store::Layer;

use crate::advise::algorithm::{Algorithm, Noun, Part, TLS_CIPHER};
use crate::results::{Cell, Choice, Variant};
use crate::study::plan::Policy;
use crate::words::size::human_bytes;

/// Returns the reason why `algorithm` must not be recommended under `policy`.
pub(crate) fn barred(
    policy: Policy,
    algorithm: Algorithm,
    variant: &Variant,
    variants: &[Variant],
) -> Option<String> {
    match (algorithm.standing(), algorithm) {
        // a cipher in good standing with a broken hash function, or nothing at all
        (Standing::Legacy, Algorithm::Suite(suite))
            if suite.cipher().is_none_or(|one| one.standing != Standing::Legacy) =>
        {
            let reason = suite.caveats().join("; ");
            return Some(if suite.cipher().is_none() {
                reason
            } else {
                format!("legacy: {reason}")
            });
        }
        (Standing::Legacy, _) => return Some("legacy: for comparison and old data only".into()),
        (Standing::Experimental, _) => {
            return Some("experimental: no standard specifies it".into());
        }
        (Standing::Standard | Standing::National, _) => {}
    }
    if let Some(reason) = off_list(policy, variant) {
        return Some(reason);
    }
    // a forced backend shows what other machines would get; nobody should force it where a better
    // one is available
    let choice = variant.choice()?;
    let is_better = |other: &Choice| {
        other.accel == "auto"
            && other.means == choice.means
            && other.backend != choice.backend
            && other.module == choice.module
    };
    if choice.accel != "auto" && variants.iter().filter_map(Variant::choice).any(is_better) {
        return Some(format!(
            "the backend {} was forced for comparison; auto does the same work",
            choice.accel
        ));
    }
    None
}

/// Returns the reason why `variant` is not on the list of `policy`: the first of its layers and
/// modes that is not.
fn off_list(policy: Policy, variant: &Variant) -> Option<String> {
    let alone = |choice: &&Choice| choice.module.is_empty();
    if policy.asks_for_a_module() && variant.layers.values().any(|choice| alone(&choice)) {
        return Some("computed by sealstone itself, which is no validated module".into());
    }
    let parts = Part::all(variant);
    let part = parts.iter().find(|part| !meets(policy, part.approval))?;
    if part.layer == Layer::Wire && variant.layers.len() > 1 {
        let what = match part.algorithm {
            Algorithm::Tls => format!("TLS is with {} here", TLS_CIPHER.name),
            _ => "packets are sealed with another suite".to_owned(),
        };
        return Some(format!("{what}, which is not on the list of policy {}", policy.word()));
    }
    let (list, has_cipher) = match policy {
        Policy::Fips | Policy::FipsModule => {
            ("approved under FIPS 140", part.algorithm.cipher().is_some_and(|cipher| cipher.fips))
        }
        _ => (
            "on the Korean validation list (KCMVP)",
            part.algorithm.cipher().is_some_and(|cipher| cipher.kcmvp),
        ),
    };
    Some(match (part.algorithm, part.mode) {
        (Algorithm::Cipher(_), Some(mode)) if has_cipher && part.layer == Layer::Field => {
            format!("the cipher is {list}, a mode of its columns ({}) is not", mode.word())
        }
        (Algorithm::Cipher(_), Some(mode)) if has_cipher => {
            format!("the cipher is {list}, its mode here ({}) is not", mode.word())
        }
        _ => format!("not {list}"),
    })
}

/// Returns whether something on the lists of `approval` is on that of `policy`.
fn meets(policy: Policy, approval: Approval) -> bool {
    match policy {
        Policy::Any => true,
        Policy::Fips | Policy::FipsModule => approval.fips,
        Policy::Kcmvp | Policy::KcmvpModule => approval.kcmvp,
    }
}

/// Returns whether every layer and mode of `variant` is in good standing and approved as `policy`
/// requires.
pub(crate) fn allows(policy: Policy, variant: &Variant) -> bool {
    let parts = Part::all(variant);
    let in_modules = variant.layers.values().all(|choice| !choice.module.is_empty());
    (in_modules || !policy.asks_for_a_module())
        && parts
            .iter()
            .all(|part| part.algorithm.is_in_good_standing() && meets(policy, part.approval))
}

/// Returns the ciphers or suites that could be recommended under `policy`, in words that end a
/// sentence on the measured variants.
pub(crate) fn allowed(policy: Policy, noun: Noun, variants: &[Variant]) -> String {
    let columns = variants.iter().flat_map(Part::all).filter(|part| part.layer == Layer::Field);
    let modes: Vec<Mode> = columns.filter_map(|part| part.mode).collect();
    let is_off = |mode: &Mode| {
        !sealstone_cipher::ciphers().iter().any(|cipher| meets(policy, cipher.approval_in(*mode)))
    };
    if let Some(mode) = modes.into_iter().find(is_off) {
        return format!(
            "{} is not on its list, whatever the cipher: seal those columns as aead",
            mode.word()
        );
    }
    let which = if policy == Policy::Any { "these" } else { "on its list" };
    format!("{which} would be: {}", allowed_names(policy, noun).join(", "))
}

/// Returns the names of the ciphers, each in its authenticated mode, or of the suites, that could
/// be recommended under `policy`; `noun` selects which.
fn allowed_names(policy: Policy, noun: Noun) -> Vec<&'static str> {
    let good = |algorithm: Algorithm| {
        algorithm.is_in_good_standing() && meets(policy, algorithm.approval())
    };
    if noun == Noun::Suite {
        // of each cipher the one that authenticates by itself, with the longest key
        let is_named = |suite: &&Suite| match suite.encryption {
            Encryption::Gcm(cipher) => cipher.key_bytes == 32,
            Encryption::Null | Encryption::Cbc(_) => false,
        };
        let allowed =
            suites().iter().filter(is_named).filter(|suite| good(Algorithm::Suite(suite)));
        return allowed.map(|suite| suite.name).collect();
    }
    let ciphers =
        sealstone_cipher::ciphers().iter().filter(|cipher| good(Algorithm::Cipher(cipher)));
    ciphers.map(|cipher| cipher.name).collect()
}

/// Returns the note that must accompany a policy that refers to a list, or advice that names one;
/// `None` otherwise.
pub(crate) fn no_module(names_list: bool) -> Option<String> {
    names_list.then(|| NOT_A_MODULE.to_owned())
}

/// Returns the note that must accompany a variant that a cryptographic module computed.
pub(crate) fn module_stated(variant: &Variant) -> Option<String> {
    let choice = variant.layers.values().find(|choice| !choice.module.is_empty())?;
    Some(format!(
        "the module, as it and its user state it: {}; Sealstone does not know whether it is \
         validated",
        choice.module
    ))
}

/// Returns a rank; better standing is smaller: international standards before national standards,
/// longer keys before shorter, large blocks before small.
pub(crate) fn standing(algorithm: Algorithm) -> (bool, usize, usize) {
    let rank = match algorithm.standing() {
        Standing::Standard => 0,
        Standing::National => 1,
        Standing::Experimental => 2,
        Standing::Legacy => 3,
    };
    let (block_bytes, key_bytes) =
        algorithm.cipher().map_or((0, 0), |cipher| (cipher.block_bytes, cipher.key_bytes));
    (block_bytes < 16, rank, usize::MAX - key_bytes)
}

/// Returns the reason for `best` rather than `other`, if their figures do not separate them.
pub(crate) fn decided(best: Algorithm, other: Algorithm) -> &'static str {
    match standing(best) == standing(other) {
        true => "so either will do",
        false => "so standing decided",
    }
}

/// Returns what stays readable to others with `variant`.
pub(crate) fn unprotected(variant: &Variant) -> Option<String> {
    let is_in = |layer: Layer| variant.layers.keys().all(|known| *known == layer);
    if is_in(Layer::Field) {
        return Some(
            "not protected by it: keys, columns that are not sealed, and what a sealed column \
             shows (lengths; with ff1, which values are equal)"
                .into(),
        );
    }
    if is_in(Layer::Rest) {
        return Some(
            "not protected by it: data in memory and on the wire, and whatever a user of the \
             running store may read"
                .into(),
        );
    }
    if is_in(Layer::Wire) {
        return Some(
            "not protected by it: data in memory and on the disks at both ends, and who talks to \
             whom, when and how much"
                .into(),
        );
    }
    let both = [Layer::Field, Layer::Rest].iter().all(|layer| variant.layers.contains_key(layer));
    if !both && variant.layers.contains_key(&Layer::Field) {
        return Some(
            "not protected by it: in the store, keys and columns that are not sealed".into(),
        );
    }
    if !both && variant.layers.contains_key(&Layer::Rest) {
        return Some(
            "not protected by it: data in memory, and whatever a user of the running store \
             may read"
                .into(),
        );
    }
    both.then(|| {
        "not protected by it: in the running store, keys and columns that are not sealed".into()
    })
}

/// Returns what to heed before taking one of the ciphers or suites.
///
/// - `measured`: each of them, with the cells that were measured of it
pub(crate) fn warnings(measured: &[(Algorithm, Vec<&Cell>)]) -> Vec<String> {
    // one warning a cipher or a suite, however many backends or paths ran it
    let mut ciphers: BTreeMap<u16, (&Cipher, u64)> = BTreeMap::new();
    let mut suites: Vec<&Suite> = Vec::new();
    for (algorithm, cells) in measured {
        let cipher = match algorithm {
            Algorithm::Cipher(cipher) => cipher,
            Algorithm::Suite(suite) => {
                if !suites.iter().any(|known| known.name == suite.name) {
                    suites.push(suite);
                }
                continue;
            }
            Algorithm::Tls => continue,
        };
        let stored = cells.iter().map(|cell| cell.disk_bytes).max().unwrap_or(0);
        let written =
            |cell: &&Cell| cell.samples.iter().map(|sample| sample.encrypted_bytes).sum::<u64>();
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
                "{name} may encrypt {} under one key ({}); the {} of this data set need at least \
                 {} keys",
                human_bytes(limit),
                cipher.limits.source,
                human_bytes(volume),
                volume.div_ceil(limit)
            ));
        }
    }
    // keys of packets are changed long before their limit
    warnings.extend(
        suites
            .iter()
            .flat_map(|suite| heeded(suite.name, Algorithm::Suite(suite), suite.caveats())),
    );
    warnings
}

/// Returns what to heed about `algorithm`, called `name`, because of its standing, its caveats and
/// its blocks.
fn heeded(
    name: &str,
    algorithm: Algorithm,
    caveats: impl IntoIterator<Item = &'static str>,
) -> Vec<String> {
    let mut heeded = Vec::new();
    match algorithm.cipher().map(|cipher| cipher.standing) {
        Some(Standing::Legacy) => {
            heeded.push(format!("{name} is legacy: for comparison and old data only"))
        }
        Some(Standing::Experimental) => {
            heeded.push(format!("{name} is experimental: no standard specifies it"))
        }
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
