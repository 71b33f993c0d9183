//! `sealstone ciphers --speed`: the speed of each cipher on this machine, by buffer size.

use std::time::Duration;

use anyhow::bail;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::results::Machine;
use sealstone_bench::study::machine;
use sealstone_bench::study::plan::is_none;
use sealstone_cipher::speed::{BUFFER_BYTES, Speed, Work, measure};
use sealstone_cipher::{Backend, Cipher, Error, Provider};
use serde_json::{Value, json};

use crate::flags::CiphersFlags;
use crate::message::{Answer, print, print_json};
use crate::table::Table;
use crate::terminal;

/// Schema of the JSON that this command prints.
const SCHEMA: u32 = 1;

/// Most buffer sizes that fit side by side on the screen.
const SIZES_MAX: usize = 6;

/// The longest buffer, in bytes: larger buffers measure memory, not ciphers.
const BUFFER_BYTES_MAX: u64 = 1 << 30;

/// One row: a cipher on a backend or in a module, and its speed for each size (none if the cipher
/// accepts no message of that size, or the module has no such cipher).
struct Row {
    cipher: &'static Cipher,
    provider: Provider,
    speeds: Vec<Option<Speed>>,
}

/// Measures `ciphers` and prints the speeds.
pub(crate) fn run(flags: &CiphersFlags, ciphers: &[&'static Cipher]) -> anyhow::Result<Answer> {
    let work = flags.work.into();
    let sizes = sizes(flags)?;
    if !(flags.seconds.is_finite() && (0.001..=3600.0).contains(&flags.seconds)) {
        bail!("a measurement of {} seconds is not possible\ntry: --seconds 0.2", flags.seconds);
    }
    let time = Duration::from_secs_f64(flags.seconds);
    let names = flags.accel.clone().unwrap_or_else(|| vec!["auto".into()]);
    let backends: Vec<Backend> =
        names.iter().map(|name| Backend::by_name(name)).collect::<Result<_, _>>()?;
    let providers = providers(&backends, flags.module.as_deref())?;

    let bar = bar((ciphers.len() * providers.len() * sizes.len()) as u64);
    let mut rows = Vec::new();
    for cipher in ciphers {
        for provider in &providers {
            let mut speeds = Vec::new();
            for size in &sizes {
                bar.set_message(format!("{} {}", cipher.name, size_name(*size)));
                speeds.push(match measure(cipher, *provider, work, *size, time) {
                    // what a cipher does not take, or a module lacks, has no speed
                    Err(Error::MessageTooLong { .. } | Error::Lacks { .. }) => None,
                    measured => Some(measured?),
                });
                bar.inc(1);
            }
            rows.push(Row { cipher, provider: *provider, speeds });
        }
    }
    bar.finish_and_clear();
    let machine = machine::facts(std::path::Path::new("."));
    if flags.json {
        print_json(&as_json(&rows, work, &machine))?
    } else {
        print(&text(&rows, &sizes, work, &machine))?
    }
    Ok(Answer::Done)
}

/// Returns who computes: our own code on each of `backends`, unless `modules` are named without
/// `none`, and those.
fn providers(backends: &[Backend], modules: Option<&[String]>) -> anyhow::Result<Vec<Provider>> {
    let own = backends.iter().copied().map(Provider::Own);
    let Some(modules) = modules else { return Ok(own.collect()) };
    let mut providers = Vec::new();
    for name in modules {
        if is_none(name) {
            providers.extend(own.clone());
        } else {
            providers.push(Provider::Module(sealstone_modules::load(name)?));
        }
    }
    Ok(providers)
}

fn sizes(flags: &CiphersFlags) -> anyhow::Result<Vec<usize>> {
    let Some(asked) = &flags.sizes else { return Ok(BUFFER_BYTES.to_vec()) };
    let sizes = sizes_within(asked)?;
    if sizes.len() > SIZES_MAX && !flags.json {
        bail!(
            "{} sizes do not fit side by side\nchoose up to {SIZES_MAX}, or add --json",
            sizes.len()
        );
    }
    Ok(sizes)
}

/// Returns the sizes `asked`, if each of them can be measured.
pub(crate) fn sizes_within(asked: &[u64]) -> anyhow::Result<Vec<usize>> {
    if let Some(size) = asked.iter().find(|size| !(1..=BUFFER_BYTES_MAX).contains(*size)) {
        bail!(
            "a buffer of {size} bytes is not possible\ntry sizes from 1 to 1GiB, such as: --sizes \
             64,4KiB,1MiB"
        );
    }
    Ok(asked.iter().map(|size| *size as usize).collect())
}

pub(crate) fn bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {msg}, {eta} left").expect("a valid template"),
    );
    bar
}

fn text(rows: &[Row], sizes: &[usize], work: Work, machine: &Machine) -> String {
    let mut text = format!("{}, {}\n", machine.cpu, machine.kernel);
    text.push_str(&format!(
        "one thread, {}; backends of this CPU: {}\n",
        doing(work),
        machine.backends.join(", ")
    ));
    for (title, show) in [
        ("GB/s", gb_per_s as fn(&Speed) -> String),
        ("cycles a byte (ticks of the reference clock)", cycles),
    ] {
        let names: Vec<String> = sizes.iter().map(|size| size_name(*size)).collect();
        let mut table =
            Table::new(["CIPHER", "BACKEND"].map(String::from).into_iter().chain(
                names.iter().map(|name| format!(">{name}")).chain([">KEY SET".to_string()]),
            ));
        for row in rows {
            let first = row.speeds.iter().flatten().next();
            let mut cells = vec![row.cipher.name.to_string(), row.provider.name().to_string()];
            cells.extend(row.speeds.iter().map(|speed| speed.as_ref().map_or("-".into(), show)));
            cells.push(first.map_or("-".into(), |speed| nanoseconds(speed.ns_key_setup)));
            table.row(cells);
        }
        text.push_str(&format!("\n{title}\n{}", table.render(terminal::stdout())));
    }
    text.push_str(&format!("\n{}\n", spread(rows)));
    text
}

fn doing(work: Work) -> &'static str {
    match work {
        Work::Seal => "encrypting and authenticating",
        Work::Open => "authenticating and decrypting",
        Work::Ctr => "counter mode without authentication",
    }
}

fn gb_per_s(speed: &Speed) -> String {
    three_digits(speed.gb_per_s)
}

fn cycles(speed: &Speed) -> String {
    speed.cycles_per_byte.map_or("-".into(), three_digits)
}

/// Describes how far apart the runs were, for the whole table.
fn spread(rows: &[Row]) -> String {
    let speeds: Vec<&Speed> = rows.iter().flat_map(|row| row.speeds.iter().flatten()).collect();
    let mut spreads: Vec<f64> = speeds
        .iter()
        .map(|speed| (speed.gb_per_s_max - speed.gb_per_s_min) / speed.gb_per_s * 50.0)
        .collect();
    spreads.sort_by(f64::total_cmp);
    let at = |share: f64| {
        spreads.get(((spreads.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(0.0)
    };
    let runs = speeds.first().map_or(0, |speed| speed.repetitions);
    format!(
        "medians of {runs} runs; runs lay within ± {:.1} % (half of the figures), ± {:.1} % (all)",
        at(0.5),
        at(1.0)
    )
}

/// Formats three significant digits if they fit: `0.035`, `1.23`, `12.3`, `123`.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        value if value >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns < 999.5 => format!("{ns:.0} ns"),
        ns if ns < 999_500.0 => format!("{} µs", three_digits(ns / 1e3)),
        _ => format!("{} ms", three_digits(ns / 1e6)),
    }
}

pub(crate) fn size_name(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 && bytes.is_multiple_of(1 << 30) => {
            format!("{} GiB", bytes >> 30)
        }
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => {
            format!("{} MiB", bytes >> 20)
        }
        bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => {
            format!("{} KiB", bytes >> 10)
        }
        bytes => format!("{bytes} B"),
    }
}

fn as_json(rows: &[Row], work: Work, machine: &Machine) -> Value {
    let speeds =
        rows.iter().flat_map(|row| row.speeds.iter().flatten().map(|speed| (row.cipher, speed)));
    let speeds: Vec<Value> = speeds
        .map(|(cipher, speed)| {
            json!({
                "cipher": cipher.name,
                "backend": speed.backend,
                "buffer_bytes": speed.buffer_bytes,
                "gb_per_s": speed.gb_per_s,
                "gb_per_s_min": speed.gb_per_s_min,
                "gb_per_s_max": speed.gb_per_s_max,
                "cycles_per_byte": speed.cycles_per_byte,
                "ns_per_call": speed.ns_per_call,
                "ns_key_setup": speed.ns_key_setup,
                "repetitions": speed.repetitions,
                "calls": speed.calls,
            })
        })
        .collect();
    json!({"schema": SCHEMA, "work": work.word(), "machine": machine, "speeds": speeds})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(
            [0.035, 1.234, 12.34, 123.4].map(three_digits),
            ["0.035", "1.23", "12.3", "123"]
        );
        assert_eq!([12.3, 1234.0, 2.5e6].map(nanoseconds), ["12 ns", "1.23 µs", "2.50 ms"]);
        assert_eq!([16, 1000, 1024, 1 << 20].map(size_name), ["16 B", "1000 B", "1 KiB", "1 MiB"]);
    }
}
