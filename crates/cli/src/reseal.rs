//! `sealstone rest reseal`: rewrites a closed store under another cipher or key, or seals a plain
//! store. A program reseals the stores that it has open itself.

use anyhow::bail;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::words::human_bytes;
use sealstone_cipher::{Backend, Cipher, DEFAULT_CIPHER};
use sealstone_keys::{KeyRef, KeySource};
use sealstone_rocksdb::reseal::{self, Left, Report, Reseal, Why};
use sealstone_rocksdb::{Sealing, rest};

use crate::audit_log;
use crate::confirm::confirm;
use crate::flags::ResealFlags;
use crate::interrupt;
use crate::key_source;
use crate::listing::list;
use crate::message::{Answer, print, print_json, safe};

/// Reseals; the answer is negative if work remains.
pub(crate) fn run(flags: &ResealFlags) -> anyhow::Result<Answer> {
    // a wrong name is reported before a passphrase is asked for
    let named = flags.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
    let keys = key_source::of_store(&flags.store)?;
    let cipher = match named.or_else(|| keys.cipher()) {
        Some(cipher) => cipher,
        None => reseal::present_cipher(&flags.store.dir)?.unwrap_or(DEFAULT_CIPHER),
    };
    if flags.rate == Some(0) {
        bail!(
            "resealing at 0 bytes a second never ends\nleave --rate out to reseal as fast as \
             possible"
        );
    }
    if flags.from_plain && !agrees(flags, &*keys)? {
        return Ok(Answer::Negative);
    }
    let module = keys.module().map(|module| module.name());
    let db = reseal::open(
        &flags.store.dir,
        Sealing::new(keys, cipher, Backend::auto()),
        flags.from_plain,
    )?;
    let stop = interrupt::install_saying(
        "stopping after the current file; Ctrl-C again stops at once, and nothing is lost either \
         way",
        format!("stopped at once; to resume: {}", command(flags, cipher)),
    )?;
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    let style = "{bar:24} {bytes} of {total_bytes}, {eta} left  {msg}";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    let resealed =
        Reseal::new(&db, cipher).rate(flags.rate.unwrap_or(0)).run(&stop, &mut |progress| {
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
            bar.set_message(safe(&progress.file));
        });
    bar.finish_and_clear();
    let closed = db.close();
    let mut report = resealed?;
    closed?;
    // closing the database removed files that were no longer needed
    let key = KeyRef { id: report.key_id.clone(), version: report.key_version };
    audit_log::key_ref(&key);
    audit_log::files(report.files, Some(report.rewritten_bytes));
    report.left = reseal::left(&flags.store.dir, cipher, &key, module)?;
    if flags.json {
        print_json(&report)?;
    } else {
        print(&report_text(&report, flags, cipher))?;
    }
    Ok(if report.is_finished() { Answer::Done } else { Answer::Negative })
}

/// Explains the effect of sealing a plain store, and requests confirmation, if there is something
/// to seal.
fn agrees(flags: &ResealFlags, keys: &dyn KeySource) -> anyhow::Result<bool> {
    let status = rest::status(&flags.store.dir)?;
    let is_store = status.files.iter().any(|file| file.name == "CURRENT");
    if !is_store || status.not_sealed.is_empty() {
        return Ok(true);
    }
    let about = format!(
        "sealing the store in {} ({} in the clear) under key {}, {}:\n\
         - it then opens only with that key: anyone who has the key can read it, and\n  \
         without the key it is lost. Keep a copy of the key, apart from the store\n\
         - RocksDB's own tools no longer open it; `sealstone rest unseal` is the way back\n\
         - until it is done, whatever is in the directory in the clear is trusted\n\
         - the old blocks stay on the disk until something else is written there (on an\n  \
         SSD, in a journal or a snapshot for long), and older backups stay as they are\n\
         - back up the plain store first, and the sealed one and its key afterwards",
        flags.store.dir.display(),
        human_bytes(status.not_sealed_bytes),
        keys.name()?,
        keys.describe()
    );
    confirm(&about, "seal it?", flags.yes)
}

fn report_text(report: &Report, flags: &ResealFlags, cipher: &Cipher) -> String {
    let files = match report.files {
        1 => "1 file".to_string(),
        files => format!("{files} files"),
    };
    let mut text = format!(
        "{files}, {} rewritten in {:.1} s under {} and key {} version {}\n",
        human_bytes(report.rewritten_bytes),
        report.elapsed_s,
        report.cipher,
        report.key_id,
        report.key_version
    );
    let is_foreign = |left: &&Left| left.why == Why::Foreign;
    let (foreign, left): (Vec<&Left>, Vec<&Left>) = report.left.iter().partition(is_foreign);
    if left.is_empty() {
        text.push_str("no file of the store remains under anything else\n");
        if flags.from_plain {
            text.push_str(
                "a backup of the store, and of its key, is due: older backups are in the clear, as \
                 are the old blocks of the disk\n",
            );
        }
    } else {
        let bytes = left.iter().map(|left| left.stored_bytes).sum();
        let count = match left.len() {
            1 => "1 file is".to_string(),
            files => format!("{files} files are"),
        };
        text.push_str(&format!("\n{count} left ({}):\n", human_bytes(bytes)));
        list(&mut text, left.iter().map(|left| line(left)));
        text.push_str(&format!("to resume: {}\n", command(flags, cipher)));
    }
    if !foreign.is_empty() {
        text.push_str("\nnot part of the store:\n");
        list(&mut text, foreign.iter().map(|left| line(left)));
    }
    text
}

fn line(left: &Left) -> String {
    let plain = if left.plain { "in the clear, " } else { "" };
    format!("{}: {plain}{}", left.file, left.why.words())
}

/// Returns the command that resumes where this one stopped.
fn command(flags: &ResealFlags, cipher: &Cipher) -> String {
    let mut words = vec!["sealstone rest reseal".to_string(), flags.store.again()];
    words.extend(["--cipher".to_string(), cipher.name.to_string()]);
    if flags.from_plain {
        words.extend(["--from-plain".to_string(), "--yes".into()]);
    }
    words.join(" ")
}
