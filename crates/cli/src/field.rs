//! `sealstone field`: columns of a file sealed, opened, checked and sealed again.

mod column_answers;
mod device_report;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod migrate;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod migration_answers;
mod need;
mod processor;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod read_back;
mod selection;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod status;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_fields::pass::{Counts, Listener, OnMisfit, Plan, Reject, Work};
use sealstone_fields::policy::Table;
use sealstone_fields::{FileLayout, Keyed, MANIFEST_ENDING};
use sealstone_files::{
    AtOnce, FileError, Job, PARTIAL_ENDING, REJECTS_ENDING, Reading, SealedFile, Target, Writing,
    beside, check_target,
};
use sealstone_keys::KeySource;

use crate::audit_log;
use crate::confirm::confirm;
use crate::flags::{
    FieldCheckFlags, FieldCommand, FieldOpenFlags, FieldOutput, FieldResealFlags, FieldSealFlags,
    SealedFields,
};
use crate::interrupt;
use crate::key_source;
use crate::message::{Answer, say};
use crate::path::{check_other, check_parent};
use column_answers::{Said, Verb};
pub(crate) use need::check_files_unneeding;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use need::check_tables_unneeding;
use processor::Computing;

/// Advice about a row that does not fit.
const LEAVE_OUT: &str =
    "nothing was written; to leave such rows out and list them: --on-error report";
/// Number of rows that do not fit that `check` lists; it counts all.
const LISTED_MAX: usize = 20;

/// Runs the command.
pub(crate) fn run(command: &FieldCommand) -> anyhow::Result<Answer> {
    match command {
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Check(flags) if migrate::is_table(&flags.file) => migrate::check(flags),
        FieldCommand::Check(flags) => check(flags),
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Open(FieldOpenFlags { sealed, .. }) if migrate::is_table(&sealed.file) => {
            migrate::refuse("open", "--open")
        }
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Reseal(FieldResealFlags { sealed, .. })
            if migrate::is_table(&sealed.file) =>
        {
            migrate::refuse("reseal", "--reseal")
        }
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Seal(flags) if migrate::is_table(&flags.file) => {
            migrate::refuse("seal", "--column COLUMN=METHOD")
        }
        FieldCommand::Seal(flags) => seal(flags),
        FieldCommand::Open(flags) => open(flags),
        FieldCommand::Reseal(flags) => reseal(flags),
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Migrate(flags) => migrate::migrate(flags),
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Get(flags) => read_back::get(flags),
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Scan(flags) => read_back::scan(flags),
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        FieldCommand::Status(flags) => status::run(flags),
    }
}

fn seal(flags: &FieldSealFlags) -> anyhow::Result<Answer> {
    let file = &flags.file;
    let layout = selection::layout(&flags.layout, file)?;
    // errors in the columns are reported before any passphrase is requested
    let table = selection::of_file(&flags.columns, file, None)?;
    let named = flags.key.as_ref().or(table.key.as_ref());
    let spec = named.context(
        "no key: name one with --key, or in the policy\nmake one with: sealstone keys new NAME.key",
    )?;
    let Some(command) = Command::begin(file, &flags.output, false)? else {
        return Ok(Answer::Negative);
    };
    let keys = key_source::open_to_seal(spec, &flags.opening)?;
    let table = selection::of_file(&flags.columns, file, Some(&*keys))?;
    warn_of(&table);
    let keyed = Keyed::current(keys)?;
    let ciphers = command.computing.ciphers(&table, &keyed)?;
    let plan = Plan { table, work: Work::Seal(ciphers) };
    command.sealed(file, &plan, Reading::open(file, layout)?, &keyed, None, Verb::Sealed)
}

fn open(flags: &FieldOpenFlags) -> anyhow::Result<Answer> {
    let (file, sealed) = (&flags.sealed.file, sealed(&flags.sealed)?);
    let Some(command) = Command::begin(file, &flags.output, true)? else {
        return Ok(Answer::Negative);
    };
    let keyed = sealed.keyed(keys(&flags.sealed)?)?;
    let table = sealed.manifest.table.clone();
    let plan = Plan { work: Work::Open(command.computing.ciphers(&table, &keyed)?), table };
    let begin = Instant::now();
    let reading = sealed.open(&keyed)?;
    let layout = reading.layout();
    let mut writing = Writing::new(&flags.output.out, true);
    let counts =
        command.run(&plan, reading, |reading, job| writing.open(file, reading, &sealed, job))?;
    command
        .said(Verb::Opened, &plan.table, &keyed, layout, &counts, &writing, begin)
        .show(flags.output.json)
}

fn reseal(flags: &FieldResealFlags) -> anyhow::Result<Answer> {
    let (file, sealed) = (&flags.sealed.file, sealed(&flags.sealed)?);
    let cipher = flags.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
    let old = sealed.manifest.table.clone();
    let new = Table::new(&old.name, cipher.unwrap_or(old.cipher), old.columns.clone())?;
    let Some(command) = Command::begin(file, &flags.output, false)? else {
        return Ok(Answer::Negative);
    };
    warn_of(&new);
    let keys = keys(&flags.sealed)?;
    let from = sealed.keyed(keys.clone())?;
    let to = Keyed::current(keys)?;
    let computing = &command.computing;
    let work = Work::Reseal(computing.ciphers(&old, &from)?, computing.ciphers(&new, &to)?);
    let reading = sealed.open(&from)?;
    command.sealed(file, &Plan { table: new, work }, reading, &to, Some(&sealed), Verb::Resealed)
}

fn check(flags: &FieldCheckFlags) -> anyhow::Result<Answer> {
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    if flags.key.is_some() {
        anyhow::bail!("--key is for tables of databases, whose columns have a width\nleave it out");
    }
    let layout = selection::layout(&flags.layout, &flags.file)?;
    let table = selection::of_file(&flags.columns, &flags.file, None)?;
    let plan = Plan { table, work: Work::Check };
    let mut listed = Vec::new();
    let mut on_reject = |reject: &Reject| {
        if listed.len() < LISTED_MAX {
            listed.push(reject.clone());
        }
        Ok(())
    };
    let stop = AtomicBool::new(false);
    let mut listener = Listener { on_reject: &mut on_reject, on_progress: &mut |_| {} };
    let target =
        Target { output: &mut io::sink(), path: None, mac: None, at_once: AtOnce::default() };
    let mut reading = Reading::open(&flags.file, layout)?;
    let counts =
        reading.pass(&flags.file, &plan, OnMisfit::Report, &stop, target, &mut listener)?;
    column_answers::checked(&flags.file, &plan.table, layout, &counts, &listed, flags.json)
}

/// Returns the sealed file that the flags name, with its manifest.
fn sealed(flags: &SealedFields) -> anyhow::Result<SealedFile> {
    let on_changed = || {
        say(
            "the file is not as it was sealed: nothing shows whether an ff1 value was changed, or \
             which rows were added",
        );
    };
    let on_changed: Option<Box<dyn Fn()>> =
        if flags.changed { Some(Box::new(on_changed)) } else { None };
    Ok(SealedFile::read(&flags.file, flags.manifest.as_deref(), on_changed)?)
}

/// Returns the key source that the flags name.
fn keys(flags: &SealedFields) -> anyhow::Result<Arc<dyn KeySource>> {
    key_source::open(&flags.key, &flags.opening)
}

/// A command that writes a file.
struct Command<'a> {
    flags: &'a FieldOutput,
    computing: Computing,
}

impl<'a> Command<'a> {
    /// Prepares the output for `input`; none if the user does not want an existing file replaced.
    fn begin(input: &Path, flags: &'a FieldOutput, private: bool) -> anyhow::Result<Option<Self>> {
        let out = &flags.out;
        check_other(input, out)?;
        check_parent(out)?;
        // without its manifest a sealed file that was moved away would be lost
        let (manifest, rejects) = (beside(out, MANIFEST_ENDING), beside(out, REJECTS_ENDING));
        let written = if private { vec![out] } else { vec![out, &manifest] };
        written
            .iter()
            .copied()
            .chain([&rejects])
            .try_for_each(|path| check_target(path, private))?;
        let there = written.into_iter().find(|path| path.exists());
        // the list of an earlier run, of which nothing is left then
        let there = there.into_iter().chain(Some(&rejects).filter(|path| path.exists()));
        let there: Vec<String> = there.map(|path| path.display().to_string()).collect();
        if !there.is_empty() {
            let are = if there.len() == 1 { "is" } else { "are" };
            let about = format!("{} {are} there already", there.join(" and "));
            if !confirm(&about, "replace it?", flags.yes)? {
                return Ok(None);
            }
        }
        Ok(Some(Self { flags, computing: Computing::chosen(&flags.device)? }))
    }

    /// Runs `work` on the input, and shows its progress.
    fn run(
        &self,
        plan: &Plan,
        reading: Reading,
        work: impl FnOnce(Reading, Job<'_>) -> Result<Counts, FileError>,
    ) -> anyhow::Result<Counts> {
        let stop = interrupt::install_saying(
            "stopping; nothing is written",
            format!(
                "stopped at once; what was written is in .{}.*{PARTIAL_ENDING}",
                name(&self.flags.out)
            ),
        )?;
        let bar = match self.flags.quiet {
            true => ProgressBar::hidden(),
            false => {
                ProgressBar::with_draw_target(Some(reading.length()), ProgressDrawTarget::stderr())
            }
        };
        let style = "{bar:24} {bytes} of {total_bytes}, {eta} left  {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        let mut on_progress = |progress: sealstone_fields::pass::Progress| {
            bar.set_position(progress.bytes);
            bar.set_message(format!("{} rows", progress.rows));
        };
        let on_misfit = self.flags.on_error.into();
        let at_once = self.computing.at_once();
        let counts = work(
            reading,
            Job { plan, on_misfit, at_once, stop: &stop, on_progress: &mut on_progress },
        );
        bar.finish_and_clear();
        if let Ok(counts) = &counts {
            audit_log::rows(counts.rows);
        }
        counts.map_err(|error| match error {
            error @ FileError::Misfit { .. } => anyhow::anyhow!("{error}\n{LEAVE_OUT}"),
            error => error.into(),
        })
    }

    /// Seals `input`; `from` is what it was sealed as before.
    fn sealed(
        &self,
        input: &Path,
        plan: &Plan,
        reading: Reading,
        keyed: &Keyed,
        from: Option<&SealedFile>,
        verb: Verb,
    ) -> anyhow::Result<Answer> {
        let (begin, layout) = (Instant::now(), reading.layout());
        let mut writing = Writing::new(&self.flags.out, false);
        let counts =
            self.run(plan, reading, |reading, job| writing.seal(input, reading, keyed, from, job))?;
        self.said(verb, &plan.table, keyed, layout, &counts, &writing, begin).show(self.flags.json)
    }

    #[expect(clippy::too_many_arguments, reason = "what is said of a file")]
    fn said(
        &self,
        verb: Verb,
        table: &Table,
        keyed: &Keyed,
        layout: FileLayout,
        counts: &Counts,
        writing: &Writing,
        begin: Instant,
    ) -> Said {
        let rejects = (counts.rejected > 0).then(|| (writing.rejects().to_owned(), layout.place()));
        let seconds = begin.elapsed().as_secs_f64();
        audit_log::key_ref(keyed.key());
        let mut said =
            Said::new(verb, &self.flags.out, table, keyed.key(), counts, rejects, seconds);
        said.device = self.computing.computed();
        said
    }
}

/// Prints the caveats of the table's cipher.
fn warn_of(table: &Table) {
    if let Some(caveat) = table.cipher.caveat {
        say(&format!("{}: {caveat}", table.cipher.name));
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
