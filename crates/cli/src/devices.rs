//! `sealstone ciphers --devices` and `--speed --device`: the devices of this machine, and their
//! speed beside the CPU.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use sealstone_bench::report::{SpeedLine, SpeedPanel, speeds};
use sealstone_bench::results::Machine;
use sealstone_bench::study::machine;
use sealstone_cipher::{Backend, Cipher, cipher};
use sealstone_file::output::{self, Access};
use sealstone_gpu::speed::{Rate, Rates, Way, cpu_threads, wins_from};
use sealstone_gpu::{
    Device, DeviceFacts, FF1_DIGITS, devices, kernel, kernel_names, measure_ctr, measure_ff1,
};
use serde_json::{Value, json};

use crate::flags::CiphersFlags;
use crate::free_name::check_new;
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
        print_json(&json!({"schema": SCHEMA, "devices": devices, "none": none,
                "ciphers": kernel_names()}))?;
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
                sealstone_bench::words::human_bytes(device.memory_bytes),
                device.driver.clone(),
                device.product.clone(),
            ]);
        }
        text.push_str(&table.render(terminal::stdout()));
        text.push_str(&format!("\nciphers that have a kernel: {}\n", kernel_names().join(", ")));
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

/// Measures `ciphers` (all that have a kernel if none is named) on device `name` and prints the
/// speeds.
pub(crate) fn speed(flags: &CiphersFlags, name: &str) -> anyhow::Result<Answer> {
    flags.out.as_deref().map_or(Ok(()), check_page)?;
    let names = flags
        .ciphers
        .clone()
        .unwrap_or_else(|| kernel_names().into_iter().map(String::from).collect());
    let ciphers: Vec<&'static Cipher> =
        names.iter().map(|name| cipher(name)).collect::<Result<_, _>>()?;
    for cipher in &ciphers {
        kernel(cipher)?;
    }
    if !(flags.seconds.is_finite() && (0.001..=3600.0).contains(&flags.seconds)) {
        bail!("a measurement of {} seconds is not possible\ntry: --seconds 0.2", flags.seconds);
    }
    let asked = flags.sizes.as_ref().map(|sizes| sizes_within(sizes)).transpose()?;
    let mut sizes = asked.clone().unwrap_or_else(|| SIZES.to_vec());
    sizes.sort_unstable();
    let slice = Duration::from_secs_f64(flags.seconds / ROUNDS as f64);
    let device = Device::open(name)?;

    let mut counts: Vec<usize> = sizes.iter().map(|size| (size / VALUE_BYTES).max(1)).collect();
    counts.dedup();

    let bar = bar((ciphers.len() * (sizes.len() + counts.len())) as u64);
    let measured = |work: &'static Work, amounts: &[usize]| -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for cipher in ciphers.iter().copied() {
            let mut by_amount: Vec<Rates> = Vec::new();
            for amount in amounts.iter().copied() {
                bar.set_message(format!("{} {}", (work.what)(cipher), (work.amount)(amount)));
                let call_s =
                    by_amount.last().map_or(0.0, |last| amount as f64 / last.of(Way::Kernel).per_s);
                if asked.is_some() || call_s <= CALL_S_MAX {
                    by_amount.push((work.measure)(&device, cipher, amount, ROUNDS, slice)?);
                }
                bar.inc(1);
            }
            rows.push((cipher, by_amount));
        }
        Ok(rows)
    };
    let (rows, ff1) = (measured(&CTR, &sizes)?, measured(&FF1, &counts)?);
    bar.finish_and_clear();
    let machine = machine::facts(Path::new("."));
    if let Some(out) = &flags.out {
        let page = page(device.facts(), &rows, &ff1, &machine);
        output::replace(out, Access::Usual, page.as_bytes())
            .with_context(|| format!("cannot write the page {}", out.display()))?;
    }
    if flags.json {
        print_json(&as_json(device.facts(), &rows, &ff1, &machine))?;
    } else {
        print(&text(device.facts(), &rows, &ff1, &machine))?;
        flags.out.as_ref().map_or(Ok(()), |out| print(&format!("{}\n", out.display())))?;
    }
    Ok(Answer::Done)
}

/// Checks that a page can be written to `out`, before minutes of measuring.
fn check_page(out: &Path) -> anyhow::Result<()> {
    check_parent(out)?;
    check_new(out, "")?;
    if out.is_dir() {
        bail!(
            "cannot write {}: it is a directory\nname a file in it, such as: --out {}/speeds.html",
            out.display(),
            quoted(out)
        );
    }
    Ok(())
}

/// A cipher, and the rates of some work with it, by amount.
type Row = (&'static Cipher, Vec<Rates>);

/// Work that is measured, and the way its figures are shown.
struct Work {
    measure:
        fn(&Device, &'static Cipher, usize, usize, Duration) -> Result<Rates, sealstone_gpu::Error>,
    /// It, with a cipher.
    what: fn(&Cipher) -> String,
    /// The panel of a cipher.
    title: fn(&Cipher) -> String,
    /// An amount, in words and in a cell of the table.
    amount: fn(usize) -> String,
    cell: fn(usize) -> String,
    column: &'static str,
    /// No amount.
    never: &'static str,
    /// Unit, per second, of the figures in table and panel.
    unit: f64,
    axes: &'static str,
}

static CTR: Work = Work {
    measure: measure_ctr,
    what: |cipher| format!("{} in counter mode", cipher.name),
    title: |cipher| format!("{} in counter mode", cipher.name),
    amount: size_name,
    cell: size_name,
    column: ">SIZE",
    never: "at no size",
    unit: 1e9,
    axes: "size; GB/s",
};

static FF1: Work = Work {
    measure: measure_ff1,
    what: |cipher| format!("FF1 over {}", cipher.name),
    title: |cipher| format!("FF1 of {FF1_DIGITS} digits over {}", cipher.name),
    amount: |values| format!("{values} values"),
    cell: |values| values.to_string(),
    column: ">VALUES",
    never: "at no number of values",
    unit: 1e6,
    axes: "values; million values/s",
};

/// Bytes of a value that is measured, as its numerals are copied.
const VALUE_BYTES: usize = 2 * FF1_DIGITS;

const CPU: [Way; 2] = [Way::CpuOne, Way::CpuAll];

fn text(device: &DeviceFacts, rows: &[Row], ff1: &[Row], machine: &Machine) -> String {
    let mut text = format!("{}: {}\n  {}\n", device.name, device.product, device.driver);
    let (threads, backend) = (cpu_threads(), Backend::auto().name());
    text.push_str(&format!("CPU: {}, {threads} threads, {backend}\n", machine.cpu));
    text.push_str("counter mode without authentication, GB/s\n\n");
    text.push_str(&CTR.text(rows));
    text.push_str(&format!(
        "\nFF1 of {FF1_DIGITS} digits under one tweak, million values a second\n\n"
    ));
    text.push_str(&FF1.text(ff1));
    text.push_str(&format!("\n{}\n", spread(rows, ff1)));
    text
}

impl Work {
    /// Returns the table of `rows`, and the advice that follows from it.
    fn text(&self, rows: &[Row]) -> String {
        let heads = Way::ALL.map(|way| format!(">{}", way.word().to_uppercase()));
        let mut table =
            Table::new(["CIPHER".to_owned(), self.column.to_owned()].into_iter().chain(heads));
        for (cipher, by_amount) in rows {
            for (i, rates) in by_amount.iter().enumerate() {
                let name = if i == 0 { cipher.name } else { "" };
                let cells = [name.to_owned(), (self.cell)(rates.amount)].into_iter();
                table.row(
                    cells.chain(Way::ALL.map(|way| three_digits(rates.of(way).per_s / self.unit))),
                );
            }
        }
        let mut text = table.render(terminal::stdout());
        text.push('\n');
        rows.iter().for_each(|row| text.push_str(&wrapped(&self.advice(row))));
        text
    }

    fn advice(&self, (cipher, by_amount): &Row) -> String {
        let wins = wins(by_amount).map(|from| from.map(self.amount));
        advice(&(self.what)(cipher), wins, self.never)
    }

    fn panel(&self, (cipher, by_amount): &Row) -> SpeedPanel {
        let line = |way: Way| {
            let rates = by_amount.iter().map(|rates| rates.of(way));
            let points = rates.map(|rate| {
                [rate.per_s, rate.per_s_min, rate.per_s_max].map(|rate| rate / self.unit)
            });
            SpeedLine { label: way.word().to_owned(), points: points.collect() }
        };
        SpeedPanel {
            title: (self.title)(cipher),
            sizes: by_amount
                .iter()
                .map(|rates| (rates.amount, (self.cell)(rates.amount)))
                .collect(),
            words: self.axes.into(),
            lines: Way::ALL.map(line).to_vec(),
        }
    }
}

/// Returns the amount from which the device wins, copying included: against a thread, against the
/// whole CPU, and the latter from page-locked memory.
fn wins(by_amount: &[Rates]) -> [Option<usize>; 3] {
    let from = |way, rivals: &[Way]| wins_from(by_amount, way, rivals);
    [from(Way::Ordinary, &[Way::CpuOne]), from(Way::Ordinary, &CPU), from(Way::Overlapped, &CPU)]
}

/// Returns `line` in lines of the terminal's width, the second and later lines indented.
fn wrapped(line: &str) -> String {
    wrap(line, terminal::stdout().columns() - 2).join("\n  ") + "\n"
}

/// Returns the result of [`wins`] in words.
fn advice(what: &str, wins: [Option<String>; 3], never: &str) -> String {
    if wins.iter().all(Option::is_none) {
        return format!(
            "{what}: copying included, the device is {never} quicker than the CPU, not even than \
             one thread: take the CPU"
        );
    }
    let [one, all, locked] = wins
        .each_ref()
        .map(|from| from.as_ref().map_or(never.to_owned(), |from| format!("from {from} on")));
    let most = if wins[1].is_none() && wins[2].is_none() { ": take the CPU" } else { "" };
    format!(
        "{what}: copying included, the device is quicker than one thread of the CPU {one}, than \
         the whole CPU {all}, and from page-locked memory {locked}{most}"
    )
}

fn spread(rows: &[Row], ff1: &[Row]) -> String {
    let rates = rows
        .iter()
        .chain(ff1)
        .flat_map(|(_, by_amount)| by_amount.iter().flat_map(|rates| rates.ways));
    let mut spreads: Vec<f64> =
        rates.map(|rate| (rate.per_s_max - rate.per_s_min) / rate.per_s * 50.0).collect();
    spreads.sort_by(f64::total_cmp);
    let at = |share: f64| {
        spreads.get(((spreads.len() as f64 - 1.0) * share) as usize).copied().unwrap_or(0.0)
    };
    format!(
        "medians of {ROUNDS} interleaved rounds, within ± {:.1} % (half), ± {:.1} % (all)",
        at(0.5),
        at(1.0)
    )
}

/// Returns the charts: a panel for each cipher, of counter mode and of FF1.
fn page(device: &DeviceFacts, rows: &[Row], ff1: &[Row], machine: &Machine) -> String {
    let panels: Vec<SpeedPanel> =
        rows.iter().map(|row| CTR.panel(row)).chain(ff1.iter().map(|row| FF1.panel(row))).collect();
    let mut notes = vec![
        format!("{}: {}, {}", device.name, device.product, device.driver),
        format!("CPU: {}, {} threads, {}", machine.cpu, cpu_threads(), Backend::auto().name()),
        format!(
            "Medians of {ROUNDS} interleaved rounds, with the slowest and the fastest; both scales \
             are logarithmic."
        ),
    ];
    notes.extend(rows.iter().map(|row| CTR.advice(row)));
    notes.extend(ff1.iter().map(|row| FF1.advice(row)));
    speeds(&format!("{} beside the CPU", device.name), &notes, &panels)
}

/// Returns each figure of `row`.
fn figures((_, by_amount): &Row) -> impl Iterator<Item = (usize, &'static str, Rate)> {
    by_amount.iter().flat_map(|rates| Way::ALL.map(|way| (rates.amount, way.word(), rates.of(way))))
}

fn ff1_as_json(rows: &[Row]) -> Value {
    let rates = |row: &Row| {
        let figure = |(values, way, rate): (usize, &str, Rate)| {
            json!({
                "values": values,
                "way": way,
                "values_per_s": rate.per_s,
                "values_per_s_min": rate.per_s_min,
                "values_per_s_max": rate.per_s_max,
            })
        };
        let [one, all, locked] = wins(&row.1);
        json!({
            "cipher": row.0.name,
            "digits": FF1_DIGITS,
            "rates": figures(row).map(figure).collect::<Vec<_>>(),
            "any_memory_beats_one_thread_from_values": one,
            "any_memory_beats_cpu_from_values": all,
            "page_locked_beats_cpu_from_values": locked,
        })
    };
    rows.iter().map(rates).collect()
}

fn as_json(device: &DeviceFacts, rows: &[Row], ff1: &[Row], machine: &Machine) -> Value {
    let speeds = rows.iter().flat_map(|row| figures(row).map(|figure| (row.0.name, figure)));
    let speeds = speeds.map(|(cipher, (bytes, way, rate))| {
        json!({
            "cipher": cipher,
            "bytes": bytes,
            "way": way,
            "gb_per_s": rate.per_s / 1e9,
            "gb_per_s_min": rate.per_s_min / 1e9,
            "gb_per_s_max": rate.per_s_max / 1e9,
        })
    });
    let won = rows.iter().map(|(cipher, by_amount)| {
        let [one, all, locked] = wins(by_amount);
        json!({
            "cipher": cipher.name,
            "any_memory_beats_one_thread_from_bytes": one,
            "any_memory_beats_cpu_from_bytes": all,
            "page_locked_beats_cpu_from_bytes": locked,
        })
    });
    json!({
        "schema": SCHEMA,
        "device": facts_as_json(device),
        "machine": machine,
        "cpu_threads": cpu_threads(),
        "cpu_backend": Backend::auto().name(),
        "rounds": ROUNDS,
        "speeds": speeds.collect::<Vec<_>>(),
        "wins": won.collect::<Vec<_>>(),
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
            "x: copying included, the device is quicker than one thread of the CPU from 1 MiB on, \
             than the whole CPU at no size, and from page-locked memory from 16 MiB on"
        );
        assert!(
            advice("x", [from("1 MiB"), None, None], "at no size")
                .ends_with("memory at no size: take the CPU")
        );
        assert_eq!(
            advice("x", [None, None, None], "at no size"),
            "x: copying included, the device is at no size quicker than the CPU, not even than one \
             thread: take the CPU"
        );
    }
}
