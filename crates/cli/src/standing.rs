//! On which lists the cipher of a column is in the mode of the column, and the refusal of those
//! that are not on a list that was asked for.

use anyhow::bail;
use sealstone_cipher::{Approval, Cipher, Mode, NOT_A_MODULE, ciphers};
use sealstone_fields::policy::{Column, Table};

use crate::flags::ApprovedName;

/// Returns the lists that `column` is on under `cipher`, its index values included.
pub(crate) fn approval(column: &Column, cipher: &Cipher) -> Approval {
    let modes = column.modes(cipher).into_iter().map(|mode| cipher.approval_in(mode));
    modes.reduce(Approval::and).unwrap_or(Approval::NONE)
}

/// Returns the same in words: the lists, or why there is none.
pub(crate) fn words(column: &Column, cipher: &Cipher) -> String {
    let found = approval(column, cipher);
    let alone = Approval { fips: cipher.fips, kcmvp: cipher.kcmvp };
    if found != Approval::NONE || alone == Approval::NONE {
        return if found == Approval::NONE { "on no list".into() } else { found.words().into() };
    }
    let off =
        column.modes(cipher).into_iter().find(|mode| cipher.approval_in(*mode) == Approval::NONE);
    let mode = off.map_or("its mode", Mode::word);
    format!("on no list: the cipher {} is on one ({}), {mode} is not", cipher.name, alone.words())
}

/// Refuses a column of `table` whose cipher or mode is not on `list`.
///
/// # Errors
/// The first such column, and alternatives on the list.
pub(crate) fn check(table: &Table, list: ApprovedName) -> anyhow::Result<()> {
    let (name, is_on): (_, fn(Approval) -> bool) = match list {
        ApprovedName::Fips => ("approved under FIPS 140", |approval| approval.fips),
        ApprovedName::Kcmvp => ("on the Korean validation list (KCMVP)", |approval| approval.kcmvp),
    };
    let cipher = table.cipher;
    for column in &table.columns {
        let Some(mode) =
            column.modes(cipher).into_iter().find(|mode| !is_on(cipher.approval_in(*mode)))
        else {
            continue;
        };
        let others: Vec<&str> = ciphers()
            .iter()
            .filter(|other| is_on(other.approval_in(mode)))
            .map(|other| other.name)
            .collect();
        let (column, mode) = (&column.name, mode.word());
        if others.is_empty() {
            bail!(
                "column {column}: {mode} is not {name}, whatever the cipher\nseal it as aead, or \
                 leave --approved out\n{NOT_A_MODULE}"
            );
        }
        bail!(
            "column {column}: {} in {mode} is not {name}\n\
             these are: {}; name one with --cipher, or leave --approved out\n{NOT_A_MODULE}",
            cipher.name,
            others.join(", ")
        );
    }
    Ok(())
}
