//! `sealstone field`: columns of a file sealed, opened, checked and sealed again. Not here: how (`sealstone_fields`),
//! tables of databases (`migrate`).

mod chosen;
mod computed;
mod computing;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod migrate;
#[cfg(any(feature = "mysql", feature = "postgres"))]
mod migrated;
mod need;
mod output;
mod reading;
mod said;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_cipher::registry;
use sealstone_fields::Keyed;
use sealstone_fields::csv::{Counts, Listener, OnMisfit, Plan, Reject, Work};
use sealstone_fields::manifest::{self, FileLayout, FileMac, Manifest, ManifestError};
use sealstone_fields::policy::{PolicyFileError, Table};
use sealstone_keys::KeySource;

use crate::confirm::confirm;
use crate::flags::{
    FieldCheckFlags, FieldCommand, FieldOpenFlags, FieldOutput, FieldResealFlags, FieldSealFlags, SealedFields,
};
use crate::interrupt;
use crate::key_source;
use crate::message::{Answer, say};
use crate::path::check_parent;
use computing::Computing;
pub(crate) use need::check_files_unneeding;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) use need::check_tables_unneeding;
use output::{Output, beside, check_other};
use reading::{Reading, Target, check_parquet};
use said::{Said, Verb};

/// What the name of the list of rows that were left out adds to that of the file.
const REJECTS_ENDING: &str = ".rejects.csv";
/// How many rows that do not fit `check` lists; it counts all.
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
        FieldCommand::Reseal(FieldResealFlags { sealed, .. }) if migrate::is_table(&sealed.file) => {
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
    }
}

fn seal(flags: &FieldSealFlags) -> anyhow::Result<Answer> {
    let file = &flags.file;
    let layout = chosen::layout(&flags.layout, file)?;
    // what is wrong with the columns is said before any passphrase is asked for
    let table = chosen::of_file(&flags.columns, file, None)?;
    let named = flags.key.as_ref().or(table.key.as_ref());
    let spec =
        named.context("no key: name one with --key, or in the policy\nmake one with: sealstone keys new NAME.key")?;
    let Some(mut writing) = Writing::begin(file, &flags.output, false)? else { return Ok(Answer::Negative) };
    let keys = key_source::open(spec, flags.passphrase.passphrase_file.as_deref())?;
    let table = chosen::of_file(&flags.columns, file, Some(&*keys))?;
    warn_of(&table);
    let keyed = Keyed::current(keys)?;
    let ciphers = writing.computing.ciphers(&table, &keyed)?;
    let plan = Plan { table, work: Work::Seal(ciphers) };
    writing.sealed(file, plan, Reading::open(file, layout)?, &keyed, None, Verb::Sealed)
}

fn open(flags: &FieldOpenFlags) -> anyhow::Result<Answer> {
    let sealed = Sealed::read(&flags.sealed)?;
    let Some(mut writing) = Writing::begin(&flags.sealed.file, &flags.output, true)? else {
        return Ok(Answer::Negative);
    };
    let (_, keyed) = sealed.keys(&flags.sealed)?;
    let table = sealed.manifest.table.clone();
    let plan = Plan { work: Work::Open(writing.computing.ciphers(&table, &keyed)?), table };
    let begin = Instant::now();
    let mut reading = sealed.open(&flags.sealed, &keyed)?;
    let layout = reading.layout();
    let counts = writing.pass(&flags.sealed.file, &plan, &mut reading, None)?;
    sealed.check_read(&flags.sealed, reading, &counts)?;
    writing.finish(None)?;
    writing.said(Verb::Opened, &plan.table, &keyed, layout, &counts, begin).show(flags.output.json)
}

fn reseal(flags: &FieldResealFlags) -> anyhow::Result<Answer> {
    let sealed = Sealed::read(&flags.sealed)?;
    let cipher = flags.cipher.as_deref().map(registry::cipher).transpose()?;
    let old = sealed.manifest.table.clone();
    let new = Table::new(&old.name, cipher.unwrap_or(old.cipher), old.columns.clone())?;
    let Some(mut writing) = Writing::begin(&flags.sealed.file, &flags.output, false)? else {
        return Ok(Answer::Negative);
    };
    warn_of(&new);
    let (keys, from) = sealed.keys(&flags.sealed)?;
    let to = Keyed::current(keys)?;
    let computing = &writing.computing;
    let work = Work::Reseal(computing.ciphers(&old, &from)?, computing.ciphers(&new, &to)?);
    let reading = sealed.open(&flags.sealed, &from)?;
    let plan = Plan { table: new, work };
    writing.sealed(&flags.sealed.file, plan, reading, &to, Some((&sealed, &flags.sealed)), Verb::Resealed)
}

fn check(flags: &FieldCheckFlags) -> anyhow::Result<Answer> {
    let layout = chosen::layout(&flags.layout, &flags.file)?;
    let table = chosen::of_file(&flags.columns, &flags.file, None)?;
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
    let target = Target { output: &mut io::sink(), path: None, mac: None, at_once: Computing::Cpu.at_once() };
    let mut reading = Reading::open(&flags.file, layout)?;
    let counts = reading.pass(&flags.file, &plan, OnMisfit::Report, &stop, target, &mut listener)?;
    said::checked(&flags.file, &plan.table, layout, &counts, &listed, flags.json)
}

/// A sealed file's manifest.
struct Sealed {
    path: PathBuf,
    text: String,
    manifest: Manifest,
}

impl Sealed {
    fn read(flags: &SealedFields) -> anyhow::Result<Self> {
        let path = flags.manifest.clone().unwrap_or_else(|| beside(&flags.file, manifest::ENDING));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && flags.file.exists() => bail!(
                "no manifest {}: it says how {} is sealed, and under which version of which key\n\
                 it was written beside the file; name it with --manifest, or restore it from a backup",
                path.display(),
                flags.file.display()
            ),
            Err(error) => {
                let what = if flags.file.exists() { &path } else { &flags.file };
                return Err(error).with_context(|| format!("cannot read {}", what.display()));
            }
        };
        let manifest = Manifest::parse(&text, &path).map_err(|error| of_manifest(error, &path))?;
        if manifest.layout == FileLayout::Parquet {
            check_parquet(&flags.file)?;
        }
        Ok(Self { path, text, manifest })
    }

    /// The key source, and the version of the key that the manifest names.
    fn keys(&self, flags: &SealedFields) -> anyhow::Result<(Arc<dyn KeySource>, Keyed)> {
        let keys = key_source::open(&flags.key, flags.passphrase.passphrase_file.as_deref())?;
        let keyed = Keyed::of(keys.clone(), self.manifest.key.clone())?;
        self.manifest.check(&self.text, &keyed).map_err(|error| of_manifest(error, &self.path))?;
        Ok((keys, keyed))
    }

    /// Opens the sealed file. One that is not read from its beginning to its end is checked here.
    fn open(&self, flags: &SealedFields, keyed: &Keyed) -> anyhow::Result<Reading> {
        let mut reading = Reading::open(&flags.file, self.manifest.layout)?;
        if let Some(mac) = reading.take(self.manifest.file_mac(keyed)?, &flags.file)? {
            self.check(flags, mac, self.manifest.rows)?;
        }
        Ok(reading)
    }

    /// That the file which was read is the one that was sealed, unless that is known.
    fn check_read(&self, flags: &SealedFields, read: Reading, counts: &Counts) -> anyhow::Result<()> {
        read.taken().map_or(Ok(()), |mac| self.check(flags, mac, counts.rows + counts.rejected))
    }

    fn check(&self, flags: &SealedFields, mac: FileMac, rows: u64) -> anyhow::Result<()> {
        if self.manifest.is_of(mac, rows) {
            return Ok(());
        }
        if flags.changed {
            say("the file is not as it was sealed: nothing shows whether an ff1 value was changed, or which rows \
                 were added");
            return Ok(());
        }
        bail!(
            "{} is not the file that {} was written for: changed, cut short, or another one\n\
             restore it from a backup; if it was changed on purpose, open it with --changed",
            flags.file.display(),
            self.path.display()
        )
    }
}

fn of_manifest(error: ManifestError, path: &Path) -> anyhow::Error {
    match error {
        // these name it
        ManifestError::File(error)
            if matches!(*error, PolicyFileError::Read { .. } | PolicyFileError::Syntax { .. }) =>
        {
            anyhow::Error::new(*error)
        }
        error => anyhow::Error::new(error).context(format!("manifest {}", path.display())),
    }
}

/// What is being written: the file, and the list of rows that are left out.
struct Writing<'a> {
    flags: &'a FieldOutput,
    computing: Computing,
    /// None before the first byte, and when it was finished.
    output: Option<Output>,
    rejects: PathBuf,
    rejected: Option<Output>,
    private: bool,
}

impl<'a> Writing<'a> {
    /// Prepares the output of what is read from `input`; none if the user does not want an existing file replaced.
    fn begin(input: &Path, flags: &'a FieldOutput, private: bool) -> anyhow::Result<Option<Self>> {
        let out = &flags.out;
        check_other(input, out)?;
        check_parent(out)?;
        // without its manifest a sealed file that was moved away would be lost
        let manifest = beside(out, manifest::ENDING);
        let written = if private { vec![out] } else { vec![out, &manifest] };
        if let Some(there) = written.into_iter().find(|path| path.exists()) {
            let about = format!("{} is there already", there.display());
            if !confirm(&about, "replace it?", flags.yes)? {
                return Ok(None);
            }
        }
        let (rejects, computing) = (beside(out, REJECTS_ENDING), Computing::chosen(&flags.device)?);
        Ok(Some(Self { flags, computing, output: None, rejects, rejected: None, private }))
    }

    /// Reads `input` and writes what `plan` makes of it.
    fn pass(
        &mut self,
        input: &Path,
        plan: &Plan,
        reading: &mut Reading,
        write_mac: Option<&mut FileMac>,
    ) -> anyhow::Result<Counts> {
        let out = &self.flags.out;
        let stop = interrupt::install_saying(
            "stopping; nothing is written",
            format!("stopped at once; what was written is in .{}{}", name(out), output::ENDING),
        )?;
        let output = self.output.insert(Output::create(out, self.private)?);
        let (layout, length, at_once) = (reading.layout(), reading.length(), self.computing.at_once());
        let bar = match self.flags.quiet {
            true => ProgressBar::hidden(),
            false => ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr()),
        };
        let style = "{bar:24} {bytes} of {total_bytes}, {eta} left  {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        let (rejects, rejected, private) = (&self.rejects, &mut self.rejected, self.private);
        let mut on_reject = |reject: &Reject| {
            if rejected.is_none() {
                let mut list = Output::create(rejects, private).map_err(io::Error::other)?;
                writeln!(list, "{},column,reason", layout.place())?;
                *rejected = Some(list);
            }
            let Some(list) = rejected else { return Ok(()) };
            let Reject { place, column, misfit } = reject;
            writeln!(list, "{place},{},{}", cell(column), cell(&misfit.to_string()))
        };
        let mut on_progress = |progress: sealstone_fields::csv::Progress| {
            bar.set_position(progress.bytes);
            bar.set_message(format!("{} rows", progress.rows));
        };
        let on_misfit = self.flags.on_error.into();
        let mut listener = Listener { on_reject: &mut on_reject, on_progress: &mut on_progress };
        let target = Target { output, path: Some(out), mac: write_mac, at_once };
        let counts = reading.pass(input, plan, on_misfit, &stop, target, &mut listener);
        bar.finish_and_clear();
        counts
    }

    /// Seals `input` and writes the manifest; `from` is what it was sealed as before.
    fn sealed(
        &mut self,
        input: &Path,
        plan: Plan,
        mut reading: Reading,
        keyed: &Keyed,
        from: Option<(&Sealed, &SealedFields)>,
        verb: Verb,
    ) -> anyhow::Result<Answer> {
        let begin = Instant::now();
        let layout = reading.layout();
        let manifest = Manifest::new(&plan.table, keyed, layout)?;
        let mut mac = manifest.file_mac(keyed)?;
        let counts = self.pass(input, &plan, &mut reading, Some(&mut mac))?;
        if let Some((sealed, flags)) = from {
            sealed.check_read(flags, reading, &counts)?;
        }
        self.finish(Some(&manifest.finish(mac, counts.rows, keyed)?))?;
        self.said(verb, &plan.table, keyed, layout, &counts, begin).show(self.flags.json)
    }

    /// Puts everything in its place: first what the file cannot be opened without.
    fn finish(&mut self, manifest: Option<&str>) -> anyhow::Result<()> {
        if let Some(text) = manifest {
            let path = beside(&self.flags.out, manifest::ENDING);
            let mut output = Output::create(&path, false)?;
            output.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
            output.finish()?;
        }
        match self.rejected.take() {
            Some(rejected) => rejected.finish()?,
            // one of an earlier run, of which nothing is left now
            None if self.rejects.exists() => std::fs::remove_file(&self.rejects)?,
            None => {}
        }
        self.output.take().map_or(Ok(()), Output::finish)
    }

    fn said(
        &self,
        verb: Verb,
        table: &Table,
        keyed: &Keyed,
        layout: FileLayout,
        counts: &Counts,
        begin: Instant,
    ) -> Said {
        let rejects = (counts.rejected > 0).then(|| (self.rejects.clone(), layout.place()));
        let seconds = begin.elapsed().as_secs_f64();
        let mut said = Said::new(verb, &self.flags.out, table, keyed.key(), counts, rejects, seconds);
        said.device = self.computing.computed();
        said
    }
}

/// Says what a user of the table's cipher must know.
fn warn_of(table: &Table) {
    if let Some(caveat) = table.cipher.caveat {
        say(&format!("{}: {caveat}", table.cipher.name));
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `text` as a field of CSV.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
