//! `sealstone report --svg` and `--png`: the charts as files.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use sealstone_bench::report::{Options, Theme, pictures};
use sealstone_bench::results::Results;
use sealstone_file::output::{self, Access};

/// Writes each chart of `runs` into `dir` as an SVG file; `replace`: over files that are there.
/// Returns the number of files.
pub(super) fn svg(
    runs: &[Results],
    options: &Options,
    dir: &Path,
    replace: bool,
) -> anyhow::Result<usize> {
    let files: Vec<(String, Vec<u8>)> = pictures(runs, options, Theme::OfReader)?
        .into_iter()
        .map(|picture| (format!("{}.svg", picture.name), picture.svg.into_bytes()))
        .collect();
    write(&files, dir, replace)
}

/// Writes each chart of `runs` into `dir` as a PNG file, likewise.
#[cfg(feature = "png")]
pub(super) fn png(
    runs: &[Results],
    options: &Options,
    dir: &Path,
    replace: bool,
) -> anyhow::Result<usize> {
    let pixels = sealstone_bench::report::Pixels::new()?;
    let files: Vec<(String, Vec<u8>)> = pictures(runs, options, Theme::Light)?
        .into_iter()
        .map(|picture| Ok((format!("{}.png", picture.name), pixels.png(&picture)?)))
        .collect::<anyhow::Result<_>>()?;
    write(&files, dir, replace)
}

/// Writes `files` into `dir`, none if one of them is there and may not be replaced.
fn write(files: &[(String, Vec<u8>)], dir: &Path, replace: bool) -> anyhow::Result<usize> {
    if files.is_empty() {
        bail!("there is no chart to draw: these results compare nothing");
    }
    fs::create_dir_all(dir)
        .with_context(|| format!("cannot write into {}\nname another directory", dir.display()))?;
    if let Some((name, _)) =
        files.iter().find(|(name, _)| !replace && dir.join(name).symlink_metadata().is_ok())
    {
        bail!(
            "{} is there already\nname another directory, or give --replace to write over it",
            dir.join(name).display()
        );
    }
    for (name, bytes) in files {
        let path = dir.join(name);
        output::replace(&path, Access::Usual, bytes)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(files.len())
}
