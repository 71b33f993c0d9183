//! `sealstone rest unseal`: makes a plain RocksDB store from a sealed store, which stays unchanged.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::words::human_bytes;
use sealstone_cipher::Backend;
use sealstone_rocksdb::library;
use sealstone_rocksdb::rest::{self, Unsealed};

use crate::audit_log;
use crate::flags::UnsealFlags;
use crate::interrupt;
use crate::key_source;
use crate::listing::list;
use crate::message::{Answer, print, print_json, safe};
use crate::path::quoted;

/// Unseals; the answer is negative if the copy is not finished, or RocksDB cannot open it.
pub(crate) fn run(flags: &UnsealFlags) -> anyhow::Result<Answer> {
    let keys = key_source::of_store(&flags.store)?;
    let stop = interrupt::install_saying(
        "stopping after the current file; Ctrl-C again stops at once, and nothing is lost either \
         way",
        format!("stopped at once; to resume: {}", command(flags)),
    )?;
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    let style = "{bar:24} {bytes} of {total_bytes}, {eta} left  {msg}";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    let done =
        rest::unseal(&flags.store.dir, keys, Backend::auto(), &flags.out, &stop, &mut |progress| {
            bar.set_length(progress.total_bytes);
            bar.set_position(progress.done_bytes);
            bar.set_message(safe(progress.file));
        });
    bar.finish_and_clear();
    let done = done?;
    audit_log::files(done.files, Some(done.bytes));
    if flags.json {
        print_json(&done)?;
    } else {
        print(&text(&done, flags))?;
    }
    let is_store =
        !done.stopped && done.unopened.as_ref().is_none_or(|unopened| unopened.lacks_part);
    Ok(if is_store { Answer::Done } else { Answer::Negative })
}

fn text(done: &Unsealed, flags: &UnsealFlags) -> String {
    let (dir, out) = (done.dir.display(), done.out.display());
    let count = |count: u64, what: &str| {
        if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
    };
    let bytes = human_bytes(done.bytes);
    if done.stopped {
        let files = count(done.files, "file");
        return format!(
            "stopped: {out} has {files} ({bytes}) and is no store yet; RocksDB refuses to open it\n\
             to resume: {}\n",
            command(flags)
        );
    }
    let before = match done.kept_files {
        0 => String::new(),
        kept => format!(", {kept} of them from an earlier run"),
    };
    let mut text = format!(
        "{}, {bytes} in {:.1} s: all of them as they were under the seal{before}\n",
        count(done.files, "file"),
        done.elapsed_s
    );
    let engine = library::version();
    match &done.unopened {
        None => {
            let families = match &done.families[..] {
                [one] => format!("column family {one}"),
                several => format!("{} column families", several.len()),
            };
            let tables = count(done.tables, "table");
            text.push_str(&format!(
                "RocksDB {engine} opens the store in {out}: {tables}, {families}\n"
            ));
        }
        Some(unopened) => {
            text.push_str(&format!("RocksDB {engine} does not open it here: {}\n", unopened.why))
        }
    }
    text.push_str(&format!(
        "{out} is in the clear and no longer protected: anyone who can read its files reads every \
         record\n\
         its directory was made for this user alone (mode 0700); {dir} is sealed as before\n"
    ));
    if !done.left_out.is_empty() {
        text.push_str("\nnot copied, since no store needs them:\n");
        list(&mut text, done.left_out.iter().cloned());
    }
    text
}

/// Returns the command that resumes where this one stopped.
fn command(flags: &UnsealFlags) -> String {
    let mut words = vec!["sealstone rest unseal".to_string(), flags.store.again()];
    words.extend(["--out".to_string(), quoted(&flags.out)]);
    words.join(" ")
}
