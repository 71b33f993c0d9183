//! A key file in any state opens to the key it had, or is refused: no panic, no other key, no
//! unlimited work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;

use arbitrary::{Result, Unstructured};
use sealstone_keys::{Cost, KeyFile, KeySource, Passphrase, Protect};
use tempfile::TempDir;

const LOW: Cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };
/// The most memory that a changed file may require and still be tried, in KiB; the limits of the
/// format are higher.
const MEMORY_KIB_MAX: u64 = 1 << 12;

/// Key files of each format, with what their versions hold.
struct Samples {
    dir: TempDir,
    files: Vec<(Vec<u8>, Vec<[u8; 32]>)>,
}

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.into(), "the check").expect("one line")
}

fn samples() -> &'static Samples {
    static SAMPLES: OnceLock<Samples> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let sample = |format: usize| {
            let path = dir.path().join(format!("{format}.key"));
            let key = KeyFile::create(&path, "orders").expect("a key file");
            key.rotate().expect("a version");
            if format > 1 {
                key.set_protection(Protect::Passphrase(&passphrase("alice's"), LOW))
                    .expect("a passphrase");
            }
            if format > 2 {
                key.add_holder("bob", &passphrase("bob's"), LOW, "alice").expect("a holder");
            }
            let secrets =
                key.all().expect("its keys").iter().map(|(_, secret)| *secret.as_bytes()).collect();
            (fs::read(&path).expect("a file"), secrets)
        };
        let files = (1..=3).map(sample).collect();
        Samples { dir, files }
    })
}

/// Checks one input: as a key file, and as the plan of damage to one of each format.
///
/// # Panics
/// If a changed file opens to a key that it did not have.
pub fn check(input: &[u8]) {
    let samples = samples();
    let path = samples.dir.path().join(format!("{:?}.key", std::thread::current().id()));
    try_open(&path, input, &[]);
    let _ = run(&mut Unstructured::new(input), &path);
}

fn run(input: &mut Unstructured, path: &Path) -> Result<()> {
    let samples = samples();
    let at = input.choose_index(samples.files.len())?;
    let (good, secrets) = &samples.files[at];
    let mut bytes = good.clone();
    for _ in 0..input.int_in_range(1..=4)? {
        let (from, to) = (input.choose_index(bytes.len())?, input.choose_index(good.len())?);
        match input.int_in_range(0..=5)? {
            0 => bytes[from] ^= 1 << input.int_in_range(0..=6)?,
            1 => bytes[from] = *input.choose(b"0123456789abcdef\"[]=\n .")?,
            2 => bytes.truncate(from.max(1)),
            3 => drop(bytes.drain(from..bytes.len().min(from + 80))),
            // a piece of the same file, and of one of another format, somewhere else
            4 => drop(bytes.splice(from..from, good[to..good.len().min(to + 700)].iter().copied())),
            _ => {
                let (other, _) = &samples.files[input.choose_index(samples.files.len())?];
                let start = to.min(other.len());
                drop(bytes.splice(
                    from..from,
                    other[start..other.len().min(start + 700)].iter().copied(),
                ));
            }
        }
    }
    // without a passphrase the file has no protection: its versions can be changed like any text
    try_open(path, &bytes, if at == 0 { &[] } else { secrets });
    Ok(())
}

/// Opens `bytes` as a key file with either passphrase. The result must be among `secrets`, unless
/// there are none.
fn try_open(path: &Path, bytes: &[u8], secrets: &[[u8; 32]]) {
    fs::write(path, bytes).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("a file of ours");
    let Ok(summary) = KeyFile::inspect(path) else { return };
    // no library is loaded for this
    if summary.token.is_some() {
        return;
    }
    let memory_kib: u64 =
        summary.holders.iter().map(|holder| u64::from(holder.cost.memory_kib)).sum();
    let passes = summary.holders.iter().map(|holder| holder.cost.passes).max().unwrap_or(0);
    if memory_kib > MEMORY_KIB_MAX || passes > 16 {
        return;
    }
    for text in ["alice's", "bob's"] {
        let Ok(key) = KeyFile::open_with(path, &|_| Ok(passphrase(text))) else { continue };
        // a whole plain file can be pasted together from pieces, and is marked as plain
        if !secrets.is_empty() && key.summary().is_protected() {
            let found: Vec<[u8; 32]> =
                key.all().expect("opened").iter().map(|(_, s)| *s.as_bytes()).collect();
            assert_eq!(found, secrets, "another key came out");
        }
    }
}
