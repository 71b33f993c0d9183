//! `sealstone ciphers --devices` and `--speed --device`: what devices there are, and what they do beside the CPU.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use sealstone_bench::machine;
use sealstone_bench::report::{SpeedLine, SpeedPanel, speeds};
use sealstone_bench::results::Machine;
use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry::{Cipher, cipher};
use sealstone_gpu::ff1_speed::{self, DIGITS, Rates};
use sealstone_gpu::speed::{Speeds, Way, cpu_threads, measure, wins_from};
use sealstone_gpu::{Device, DeviceFacts, devices, kernels};
use serde_json::{Value, json};

use crate::flags::CiphersFlags;
use crate::message::{Answer, print, print_json};
use crate::path::{check_parent, quoted};
use crate::speed::{bar, size_name, sizes_within, three_digits};
use crate::table::{Table, wrap};
use crate::terminal;

/// Schema of the JSON that these print.
const SCHEMA: u32 = 1;

/// Sizes of data worth a row, where the device is quick enough for them.
const SIZES: [usize; 5] = [64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30];

/// Seconds that one call may take, by default.
const CALL_S_MAX: f64 = 1.0;

/// Rounds behind each median.
const ROUNDS: usize = 7;

/// Prints the table of devices.
pub(crate) fn list(json: bool) -> anyhow::Result<Answer> {
    let (devices, none) = devices();
    if json {
        let devices: Vec<Value> = devices.iter().map(facts_as_json).collect();
        print_json(&json!({"schema": SCHEMA, "devices": devices, "none": none, "ciphers": kernels::names()}))?;
        return Ok(Answer::Done);
    }
    let mut text = String::new();
    if devices.is_empty() {
        text.push_str("no device: every cipher runs on the CPU\n");
    } else {
        let mut table = Table::new(["DEVICE", ">UNITS", ">MEMORY", "DRIVER", "PRODUCT"]);
        for device in &devices {
            table.row([
                device.name.clone(),
                device.units.to_string(),
                sealstone_bench::size::human_bytes(device.memory_bytes),
                device.driver.clone(),
                device.product.clone(),
            ]);
        }
        text.push_str(&table.render(terminal::stdout()));
        text.push_str(&format!("\nciphers that have a kernel: {}\n", kernels::names().join(", ")));
    }
    for why in none {
        text.push_str(&format!("{why}\n"));
    }
    print(&text)?;
    Ok(Answer::Done)
}

fn facts_as_json(device: &DeviceFacts) -> Value {
    json!({
        "name": device.name,
        "product": device.product,
        "driver": device.driver,
        "memory_bytes": device.memory_bytes,
        "units": device.units,
    })
}

/// Measures `ciphers` (all that have a kernel if none is named) on device `name` and prints the speeds.
pub(crate) fn speed(flags: &CiphersFlags, name: &str) -> anyhow::Result<Answer> {
    flags.out.as_deref().map_or(Ok(()), check_page)?;
    let names = flags.ciphers.clone().unwrap_or_else(|| kernels::names().into_iter().map(String::from).collect());
    let ciphers: Vec<&'static Cipher> = names.iter().map(|name| cipher(name)).collect::<Result<_, _>>()?;
    for cipher in &ciphers {
        kernels::kernel(cipher)?;
    }
    if !(flags.seconds.is_finite() && (0.001..=3600.0).contains(&flags.seconds)) {
        bail!("a measurement of {} seconds is not possible\ntry: --seconds 0.2", flags.seconds);
    }
    let asked = flags.sizes.as_ref().map(|sizes| sizes_within(sizes)).transpose()?;
    let mut sizes = asked.clone().unwrap_or_else(|| SIZES.to_vec());
    sizes.sort_unstable();
    let slice = Duration::from_secs_f64(flags.seconds / ROUNDS as f64);
    let device = Device::open(name)?;

    let bar = bar((2 * ciphers.len() * sizes.len()) as u64);
    let mut rows: Vec<CtrRow> = Vec::new();
    for cipher in ciphers.iter().copied() {
        let mut by_size: Vec<Speeds> = Vec::new();
        for size in &sizes {
            bar.set_message(format!("{} {}", cipher.name, size_name(*size)));
            let call_s = by_size.last().map_or(0.0, |last| *size as f64 / last.of(Way::Kernel).gb_per_s / 1e9);
            if asked.is_some() || call_s <= CALL_S_MAX {
                by_size.push(measure(&device, cipher, *size, ROUNDS, slice)?);
            }
            bar.inc(1);
        }
        rows.push((cipher, by_size));
    }
    let mut counts: Vec<usize> = sizes.iter().map(|size| (size / VALUE_BYTES).max(1)).collect();
    counts.dedup();
    let mut ff1: Vec<Ff1Row> = Vec::new();
    for cipher in ciphers {
        let mut by_count: Vec<Rates> = Vec::new();
        for values in counts.iter().copied() {
            bar.set_message(format!("FF1 over {} {values} values", cipher.name));
            let call_s = by_count.last().map_or(0.0, |last| values as f64 / last.of(Way::Kernel).values_per_s);
            if asked.is_some() || call_s <= CALL_S_MAX {
                by_count.push(ff1_speed::measure(&device, cipher, values, ROUNDS, slice)?);
            }
            bar.inc(1);
        }
        ff1.push((cipher, by_count));
    }
    bar.finish_and_clear();
    let machine = machine::facts(Path::new("."));
    if let Some(out) = &flags.out {
        let page = page(device.facts(), &rows, &ff1, &machine);
        std::fs::write(out, page).with_context(|| format!("cannot write the page {}", out.display()))?;
    }
    if flags.json {
        print_json(&as_json(device.facts(), &rows, &ff1, &machine))?;
    } else {
        print(&text(device.facts(), &rows, &ff1, &machine))?;
        flags.out.as_ref().map_or(Ok(()), |out| print(&format!("{}\n", out.display())))?;
    }
    Ok(Answer::Done)
}

/// That a page can be written to `out`: asked before minutes of measuring.
fn check_page(out: &Path) -> anyhow::Result<()> {
    check_parent(out)?;
    if out.is_dir() {
        bail!(
            "cannot write {}: it is a directory\nname a file in it, such as: --out {}/speeds.html",
            out.display(),
            quoted(out)
        );
    }
    Ok(())
}

/// A cipher, and its speeds in counter mode by size.
type CtrRow = (&'static Cipher, Vec<Speeds>);

/// A cipher, and the rates of FF1 over it by number of values.
type Ff1Row = (&'static Cipher, Vec<Rates>);

/// Bytes of a value that is measured, as its numerals are copied.
const VALUE_BYTES: usize = 2 * DIGITS;

const CPU: [Way; 2] = [Way::CpuOne, Way::CpuAll];

fn text(device: &DeviceFacts, rows: &[CtrRow], ff1: &[Ff1Row], machine: &Machine) -> String {
    let mut text = format!("{}: {}\n  {}\n", device.name, device.product, device.driver);
    let (threads, backend) = (cpu_threads(), Backend::auto().name());
    text.push_str(&format!("CPU: {}, {threads} threads, {backend}\n", machine.cpu));
    text.push_str("counter mode without authentication, GB/s\n\n");
    let heads = Way::ALL.map(|way| format!(">{}", way.word().to_uppercase()));
    let mut table = Table::new(["CIPHER".to_owned(), ">SIZE".to_owned()].into_iter().chain(heads));
    for (cipher, by_size) in rows {
        for (i, speeds) in by_size.iter().enumerate() {
            let name = if i == 0 { cipher.name } else { "" };
            let cells = [name.to_owned(), size_name(speeds.bytes)].into_iter();
            table.row(cells.chain(Way::ALL.map(|way| three_digits(speeds.of(way).gb_per_s))));
        }
    }
    text.push_str(&table.render(terminal::stdout()));
    text.push('\n');
    rows.iter().for_each(|row| text.push_str(&wrapped(&advice_of_ctr(row))));
    text.push_str(&ff1_text(ff1));
    text.push_str(&format!("\n{}\n", spread(rows, ff1)));
    text
}

fn ff1_text(rows: &[Ff1Row]) -> String {
    let mut text = format!("\nFF1 of {DIGITS} digits under one tweak, million values a second\n\n");
    let heads = Way::ALL.map(|way| format!(">{}", way.word().to_uppercase()));
    let mut table = Table::new(["CIPHER".to_owned(), ">VALUES".to_owned()].into_iter().chain(heads));
    for (cipher, by_count) in rows {
        for (i, rates) in by_count.iter().enumerate() {
            let name = if i == 0 { cipher.name } else { "" };
            let cells = [name.to_owned(), rates.values.to_string()].into_iter();
            table.row(cells.chain(Way::ALL.map(|way| three_digits(rates.of(way).values_per_s / 1e6))));
        }
    }
    text.push_str(&table.render(terminal::stdout()));
    text.push('\n');
    rows.iter().for_each(|row| text.push_str(&wrapped(&advice_of_ff1(row))));
    text
}

/// `line` in lines of the terminal's width, the second and later ones indented.
fn wrapped(line: &str) -> String {
    wrap(line, terminal::stdout().columns() - 2).join("\n  ") + "\n"
}

fn advice_of_ctr((cipher, by_size): &CtrRow) -> String {
    let wins = |way, rivals: &[Way]| wins_from(by_size, way, rivals).map(size_name);
    let wins = [wins(Way::Ordinary, &[Way::CpuOne]), wins(Way::Ordinary, &CPU), wins(Way::Overlapped, &CPU)];
    advice(&format!("{} in counter mode", cipher.name), wins, "at no size")
}

fn advice_of_ff1((cipher, by_count): &Ff1Row) -> String {
    let wins =
        |way, rivals: &[Way]| ff1_speed::wins_from(by_count, way, rivals).map(|values| format!("{values} values"));
    let wins = [wins(Way::Ordinary, &[Way::CpuOne]), wins(Way::Ordinary, &CPU), wins(Way::Overlapped, &CPU)];
    advice(&format!("FF1 over {}", cipher.name), wins, "at no number of values")
}

/// From where on the device wins, copying included: against a thread, against the whole CPU, and the latter from
/// page-locked memory.
fn advice(what: &str, wins: [Option<String>; 3], never: &str) -> String {
    if wins.iter().all(Option::is_none) {
        return format!(
            "{what}: copying included, the device is {never} quicker than the CPU, not even than one thread: take the \
             CPU"
        );
    }
    let [one, all, locked] =
        wins.each_ref().map(|from| from.as_ref().map_or(never.to_owned(), |from| format!("from {from} on")));
    let most = if wins[1].is_none() && wins[2].is_none() { ": take the CPU" } else { "" };
    format!(
        "{what}: copying included, the device is quicker than one thread of the CPU {one}, than the whole CPU {all}, \
         and from page-locked memory {locked}{most}"
    )
}

fn spread(rows: &[CtrRow], ff1: &[Ff1Row]) -> String {
    let speeds = rows.iter().flat_map(|(_, by_size)| by_size.iter().flat_map(|speeds| speeds.ways));
    let speeds = speeds.map(|speed| (speed.gb_per_s_max - speed.gb_per_s_min) / speed.gb_per_s);
    let rates = ff1.iter().flat_map(|(_, by_count)| by_count.iter().flat_map(|rates| rates.ways));
    let rates = rates.map(|rate| (rate.values_per_s_max - rate.values_per_s_min) / rate.values_per_s);
    let mut spreads: Vec<f64> = speeds.chain(rates).map(|spread| spread * 50.0).collect();
    spreads.sort_by(f64::total_cmp);
    let at = |share: f64| spreads.get(((spreads.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(0.0);
    format!("medians of {ROUNDS} interleaved rounds, within ± {:.1} % (half), ± {:.1} % (all)", at(0.5), at(1.0))
}

/// The charts: a panel for each cipher, of counter mode and of FF1.
fn page(device: &DeviceFacts, rows: &[CtrRow], ff1: &[Ff1Row], machine: &Machine) -> String {
    let line = |way: Way, points: Vec<[f64; 3]>| SpeedLine { label: way.word().to_owned(), points };
    let mut panels = Vec::new();
    for (cipher, by_size) in rows {
        let points = |way| {
            let speeds = by_size.iter().map(|speeds| speeds.of(way));
            speeds.map(|speed| [speed.gb_per_s, speed.gb_per_s_min, speed.gb_per_s_max]).collect()
        };
        panels.push(SpeedPanel {
            title: format!("{} in counter mode", cipher.name),
            sizes: by_size.iter().map(|speeds| (speeds.bytes, size_name(speeds.bytes))).collect(),
            words: "size; GB/s".into(),
            lines: Way::ALL.map(|way| line(way, points(way))).to_vec(),
        });
    }
    for (cipher, by_count) in ff1 {
        let points = |way| {
            let rates = by_count.iter().map(|rates| rates.of(way));
            rates
                .map(|rate| [rate.values_per_s, rate.values_per_s_min, rate.values_per_s_max].map(|rate| rate / 1e6))
                .collect()
        };
        panels.push(SpeedPanel {
            title: format!("FF1 of {DIGITS} digits over {}", cipher.name),
            sizes: by_count.iter().map(|rates| (rates.values, rates.values.to_string())).collect(),
            words: "values; million values/s".into(),
            lines: Way::ALL.map(|way| line(way, points(way))).to_vec(),
        });
    }
    let mut notes = vec![
        format!("{}: {}, {}", device.name, device.product, device.driver),
        format!("CPU: {}, {} threads, {}", machine.cpu, cpu_threads(), Backend::auto().name()),
        format!(
            "Medians of {ROUNDS} interleaved rounds, with the slowest and the fastest; both scales are logarithmic."
        ),
    ];
    notes.extend(rows.iter().map(advice_of_ctr));
    notes.extend(ff1.iter().map(advice_of_ff1));
    speeds(&format!("{} beside the CPU", device.name), &notes, &panels)
}

fn ff1_as_json(rows: &[Ff1Row]) -> Value {
    let rates = |(cipher, by_count): &Ff1Row| {
        let figures = by_count.iter().flat_map(|rates| Way::ALL.map(|way| (rates.values, way, rates.of(way))));
        let figure = |(values, way, rate): (usize, Way, ff1_speed::Rate)| {
            json!({
                "values": values,
                "way": way.word(),
                "values_per_s": rate.values_per_s,
                "values_per_s_min": rate.values_per_s_min,
                "values_per_s_max": rate.values_per_s_max,
            })
        };
        json!({
            "cipher": cipher.name,
            "digits": DIGITS,
            "rates": figures.map(figure).collect::<Vec<_>>(),
            "any_memory_beats_one_thread_from_values": ff1_speed::wins_from(by_count, Way::Ordinary, &[Way::CpuOne]),
            "any_memory_beats_cpu_from_values": ff1_speed::wins_from(by_count, Way::Ordinary, &CPU),
            "page_locked_beats_cpu_from_values": ff1_speed::wins_from(by_count, Way::Overlapped, &CPU),
        })
    };
    rows.iter().map(rates).collect()
}

fn as_json(device: &DeviceFacts, rows: &[CtrRow], ff1: &[Ff1Row], machine: &Machine) -> Value {
    let mut figures = Vec::new();
    for (cipher, by_size) in rows {
        for speeds in by_size {
            for way in Way::ALL {
                let speed = speeds.of(way);
                figures.push(json!({
                    "cipher": cipher.name,
                    "bytes": speeds.bytes,
                    "way": way.word(),
                    "gb_per_s": speed.gb_per_s,
                    "gb_per_s_min": speed.gb_per_s_min,
                    "gb_per_s_max": speed.gb_per_s_max,
                }));
            }
        }
    }
    let wins: Vec<Value> = rows
        .iter()
        .map(|(cipher, by_size)| {
            json!({
                "cipher": cipher.name,
                "any_memory_beats_one_thread_from_bytes": wins_from(by_size, Way::Ordinary, &[Way::CpuOne]),
                "any_memory_beats_cpu_from_bytes": wins_from(by_size, Way::Ordinary, &CPU),
                "page_locked_beats_cpu_from_bytes": wins_from(by_size, Way::Overlapped, &CPU),
            })
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "device": facts_as_json(device),
        "machine": machine,
        "cpu_threads": cpu_threads(),
        "cpu_backend": Backend::auto().name(),
        "rounds": ROUNDS,
        "speeds": figures,
        "wins": wins,
        "ff1": ff1_as_json(ff1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_says_from_where_on_or_that_it_is_never() {
        let from = |size: &str| Some(size.to_owned());
        assert_eq!(
            advice("x", [from("1 MiB"), None, from("16 MiB")], "at no size"),
            "x: copying included, the device is quicker than one thread of the CPU from 1 MiB on, than the whole CPU \
             at no size, and from page-locked memory from 16 MiB on"
        );
        assert!(advice("x", [from("1 MiB"), None, None], "at no size").ends_with("memory at no size: take the CPU"));
        assert_eq!(
            advice("x", [None, None, None], "at no size"),
            "x: copying included, the device is at no size quicker than the CPU, not even than one thread: take the \
             CPU"
        );
    }
}
