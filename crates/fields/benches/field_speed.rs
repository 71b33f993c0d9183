//! Speed of sealing two FF1 columns of a CSV file, compared with copying the same file through the
//! crate `csv`: alternately in one run, with ratio and spread, and the peak memory use. Rows are
//! made as they are read, so no disk is measured. Arguments: rows (1,000,000), rounds (5), cipher
//! (aes-256).
//!
//!     cargo bench -p sealstone-fields --bench field_speed -- 10000000 5 aria-256

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use sealstone_cipher::{Backend, cipher};
use sealstone_fields::csv::{CHUNK_BYTES, Encoding, Layout, Pass};
use sealstone_fields::pass::{Listener, OnMisfit, Plan, Work};
use sealstone_fields::policy::{Column, ColumnOptions, Table};
use sealstone_fields::{ColumnCipher, FileLayout, Keyed, Manifest};
use sealstone_keys::EphemeralKey;

type Failure = Box<dyn std::error::Error>;

/// Different rows, repeated: making them is cheap compared with the measured work.
const DIFFERENT: usize = 1 << 16;

/// A file of `rows` rows, read from memory.
struct Rows<'a> {
    rows: &'a [String],
    left: usize,
    next: usize,
    /// Unread part of the row before `next`.
    rest: &'a [u8],
}

impl Read for Rows<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            if self.rest.is_empty() {
                if self.left == 0 {
                    break;
                }
                self.rest = self.rows[self.next].as_bytes();
                self.next = (self.next + 1) % self.rows.len();
                self.left -= 1;
            }
            let length = self.rest.len().min(buffer.len() - filled);
            buffer[filled..filled + length].copy_from_slice(&self.rest[..length]);
            (filled, self.rest) = (filled + length, &self.rest[length..]);
        }
        Ok(filled)
    }
}

const HEADER: &str = "id,card,name,city,phone,balance,since,remark\n";

fn file(rows: &[String], count: usize) -> impl Read + Send {
    HEADER.as_bytes().chain(Rows { rows, left: count, next: 0, rest: b"" })
}

/// A writer that only counts bytes.
#[derive(Default)]
struct Counted(u64);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Seconds that sealing takes, and bytes written.
fn sealed(
    rows: &[String],
    count: usize,
    plan: &Plan,
    keyed: &Keyed,
) -> Result<(f64, u64), Failure> {
    let layout = Layout { delimiter: b',', encoding: Encoding::Utf8 };
    let stop = AtomicBool::new(false);
    let pass = Pass {
        plan,
        layout,
        on_misfit: OnMisfit::Fail,
        threads: None,
        chunk_bytes: CHUNK_BYTES,
        stop: &stop,
    };
    let mut mac = Manifest::new(&plan.table, keyed, FileLayout::Csv(layout))?.file_mac(keyed)?;
    let mut listener = Listener { on_reject: &mut |_| Ok(()), on_progress: &mut |_| {} };
    let (mut out, begin) = (Counted::default(), Instant::now());
    pass.run(file(rows, count), &mut out, None, Some(&mut mac), &mut listener)?;
    Ok((begin.elapsed().as_secs_f64(), out.0))
}

/// The same for reading and writing each record with the crate csv.
fn copied(rows: &[String], count: usize) -> Result<(f64, u64), Failure> {
    let begin = Instant::now();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(file(rows, count));
    let mut writer = csv::Writer::from_writer(Counted::default());
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record)? {
        writer.write_byte_record(&record)?;
    }
    let out = writer.into_inner().map_err(|error| error.to_string())?;
    Ok((begin.elapsed().as_secs_f64(), out.0))
}

/// Returns the most memory that was in use, in megabytes.
fn most_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? / 1000.0)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number = |at: usize, usual: usize| arguments.get(at).map_or(Ok(usual), |text| text.parse());
    let (count, rounds) = (number(0, 1_000_000)?, number(1, 5)?);
    let cipher = cipher(arguments.get(2).map_or("aes-256", String::as_str))?;
    let options = ColumnOptions::default();
    let columns = ["card=ff1:digits", "phone=ff1:phone"].map(|spec| Column::parse(spec, &options));
    let table = Table::new("people", cipher, columns.into_iter().collect::<Result<_, _>>()?)?;
    let keyed = Keyed::current(Arc::new(EphemeralKey::new()?))?;
    let ciphers = table
        .columns
        .iter()
        .map(|column| ColumnCipher::new(&table, column, &keyed, Backend::auto()));
    let plan = Plan { work: Work::Seal(ciphers.collect::<Result<_, _>>()?), table };
    let row = |n: usize| {
        let (card, phone) =
            (n as u64 * 6_364_136_223_846_793 % 10_000_000_000_000_000, n * 7919 % 100_000_000);
        let (a, b) = (phone / 10_000, phone % 10_000);
        format!(
            "{n},{card:016},Hong Gildong,Seoul,010-{a:04}-{b:04},{}.50,2016-05-04,a remark of some \
             words\n",
            n * 31
        )
    };
    let rows: Vec<String> = (0..DIFFERENT).map(row).collect();
    let mut ratios = Vec::new();
    println!(
        "{count} rows, {} cores, {}, {}",
        std::thread::available_parallelism()?,
        cipher.name,
        Backend::auto().name()
    );
    for round in 0..rounds {
        let (copy_s, copy_bytes) = copied(&rows, count)?;
        let (seal_s, seal_bytes) = sealed(&rows, count, &plan, &keyed)?;
        assert_eq!(copy_bytes, seal_bytes, "sealed values are as long as they were");
        let mb_s = |seconds: f64| copy_bytes as f64 / seconds / 1e6;
        let ratio = copy_s / seal_s;
        println!(
            "round {}: copied {:.0} MB/s, sealed {:.0} MB/s, {:.2} M rows/s, ratio {ratio:.2}",
            round + 1,
            mb_s(copy_s),
            mb_s(seal_s),
            count as f64 / seal_s / 1e6,
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let (least, median, most) = (ratios[0], ratios[ratios.len() / 2], ratios[ratios.len() - 1]);
    let [median, least, most] = [median, least, most].map(|ratio| 100.0 * ratio);
    println!("sealing runs at {median:.0} % of the speed of copying ({least:.0} to {most:.0} %)");
    if let Some(most) = most_memory_mb() {
        println!("most memory in use: {most:.0} MB");
    }
    Ok(())
}
