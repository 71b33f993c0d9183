//! Choice of the sealed columns and their methods, from flags or a policy, and of the form of the
//! file.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use sealstone_cipher::{Cipher, DEFAULT_CIPHER};
use sealstone_csv::{Ambiguous, Delimiter, Encoding, Layout, detect, named_delimiter};
use sealstone_fields::FileLayout;
use sealstone_fields::policy::{Column, ColumnOptions, Policy, PolicyError, Table};
use sealstone_file::input;
use sealstone_files::{check_parquet, is_parquet};
use sealstone_keys::KeySource;
use sealstone_message::Unknown;

use crate::flags::{ColumnFlags, FieldColumns, FieldLayout};
use crate::standing;

/// Number of bytes of a file that are examined to see how it is written.
const LOOK_BYTES: u64 = 64 << 10;

/// Returns the table of `file` that the flags describe; `keys` may determine the cipher.
pub(crate) fn of_file(
    flags: &FieldColumns,
    file: &Path,
    keys: Option<&dyn KeySource>,
) -> anyhow::Result<Table> {
    match &flags.table {
        None if flags.flags.policy.is_none() => {
            let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            table(&flags.flags, name.as_deref().or(Some("")), keys)
        }
        named => table(&flags.flags, named.as_deref(), keys),
    }
}

/// Returns the table `name` that the flags describe; without a name the only one of the policy.
pub(crate) fn table(
    flags: &ColumnFlags,
    name: Option<&str>,
    keys: Option<&dyn KeySource>,
) -> anyhow::Result<Table> {
    let table = described(flags, name, keys)?;
    if let Some(list) = flags.approved {
        standing::check(&table, list)?;
    }
    Ok(table)
}

fn described(
    flags: &ColumnFlags,
    name: Option<&str>,
    keys: Option<&dyn KeySource>,
) -> anyhow::Result<Table> {
    if let Some(path) = &flags.policy {
        let policy = Policy::read(path)?;
        let mut table = policy.table(name)?.clone();
        if let Some(name) = &flags.cipher {
            let key = table.key.take();
            table = Table::new(&table.name, sealstone_cipher::cipher(name)?, table.columns)?;
            table.key = key;
        }
        return Ok(table);
    }
    let columns = columns(flags)?;
    Ok(Table::new(name.unwrap_or_default(), cipher(flags.cipher.as_deref(), keys)?, columns)?)
}

/// Returns the cipher that is named, or the key's, or the usual one.
fn cipher(named: Option<&str>, keys: Option<&dyn KeySource>) -> anyhow::Result<&'static Cipher> {
    let named = named.map(sealstone_cipher::cipher).transpose()?;
    Ok(named.or_else(|| keys?.cipher()).unwrap_or(DEFAULT_CIPHER))
}

/// Returns the columns of `--column`, with the settings of the other flags for each.
fn columns(flags: &ColumnFlags) -> anyhow::Result<Vec<Column>> {
    let names: Vec<&str> =
        flags.columns.iter().map(|spec| spec.split('=').next().unwrap_or_default()).collect();
    let mut options: HashMap<&str, ColumnOptions> =
        names.iter().map(|name| (*name, ColumnOptions::default())).collect();
    for spec in &flags.tweaks {
        let Some((name, tweak)) = spec.split_once('=') else {
            bail!("--tweak {spec}: write it as COLUMN=none, COLUMN=column or COLUMN=row:OTHER");
        };
        let of = of(&mut options, &names, "--tweak", name)?;
        of.tweak = tweak.parse().map_err(|unknown| PolicyError::Tweak {
            column: name.to_owned(),
            unknown: Box::new(unknown),
        })?;
    }
    for spec in &flags.indexes {
        let (name, bits) =
            spec.split_once('=').map_or((spec.as_str(), None), |(name, bits)| (name, Some(bits)));
        let of = of(&mut options, &names, "--index", name)?;
        let bits = bits.map(str::parse).transpose();
        of.index =
            Some((None, bits.with_context(|| format!("--index {spec}: write it as COLUMN=BITS"))?));
    }
    for name in &flags.keep_empty {
        of(&mut options, &names, "--keep-empty", name)?.keeps_empty = true;
    }
    for name in &flags.small_domain {
        of(&mut options, &names, "--small-domain", name)?.small_domain = true;
    }
    let column = |(spec, name): (&String, &&str)| Ok(Column::parse(spec, &options[*name])?);
    flags.columns.iter().zip(&names).map(column).collect()
}

fn of<'a, 'o>(
    options: &'o mut HashMap<&'a str, ColumnOptions>,
    names: &[&'a str],
    flag: &str,
    name: &str,
) -> anyhow::Result<&'o mut ColumnOptions> {
    options.get_mut(name).with_context(|| {
        let hint = Unknown::new("column", name, names.iter().copied()).hint();
        format!("{flag} {name}: no --column of that name{hint}")
    })
}

/// Returns how `file` is written: as given by the flags, otherwise as its beginning shows.
pub(crate) fn layout(flags: &FieldLayout, file: &Path) -> anyhow::Result<FileLayout> {
    let mut beginning = Vec::new();
    let read = |file: File| file.take(LOOK_BYTES).read_to_end(&mut beginning);
    input::open(file).and_then(read).with_context(|| format!("cannot read {}", file.display()))?;
    if is_parquet(&beginning) {
        if flags.delimiter.is_some() || flags.encoding.is_some() {
            bail!(
                "{} is a Parquet file, which has neither a delimiter nor an encoding\n\
                 leave out --delimiter and --encoding",
                file.display()
            );
        }
        check_parquet(file)?;
        return Ok(FileLayout::Parquet);
    }
    let encoding = flags.encoding.or_else(|| Encoding::of(&beginning)).with_context(|| {
        format!("{} is neither UTF-8 nor CP949 text\nsave it as UTF-8", file.display())
    })?;
    let delimiter = match flags.delimiter {
        Some(delimiter) => delimiter,
        None => delimiter(file, &beginning, encoding)?,
    };
    Ok(FileLayout::Csv(Layout { delimiter: delimiter.octet(), encoding }))
}

/// Returns the separator of the fields of `file`, which begins with `beginning`.
fn delimiter(file: &Path, beginning: &[u8], encoding: Encoding) -> anyhow::Result<Delimiter> {
    if let Some((named, _)) = named_delimiter(beginning) {
        let one = Delimiter::ALL.into_iter().find(|one| one.octet() == named);
        return one.with_context(|| {
            let names = Delimiter::ALL.map(Delimiter::name).join(", ");
            format!(
                "{}, line 1: the fields are separated by {:?}, which is none of {names}\n\
                 save it with one of these",
                file.display(),
                char::from(named)
            )
        });
    }
    // a cut last line is not used, unless it is the only line
    let whole =
        beginning.iter().rposition(|byte| *byte == b'\n').map_or(beginning.len(), |end| end + 1);
    let text = encoding.decode(&beginning[..whole]).unwrap_or_default();
    detect(&text).map_err(|found| ambiguous(file, &found))
}

fn ambiguous(file: &Path, found: &Ambiguous) -> anyhow::Error {
    let first = found.choices[0].0.name();
    let file = file.display();
    anyhow::anyhow!("{file}, line 1: {found}\nname it, such as: --delimiter {first}")
}
