#![forbid(unsafe_code)]
//! Checks of the output of NVIDIA's compiler for each kernel, without a device: it compiles for
//! three architectures, registers stay within the bound of the row, nothing spills (of FF1 hardly
//! anything, and nothing in the rounds of a cipher), and no address and no branch depends on data.
//! Counts instructions a byte, or a value of 16 digits, and prints the *projected* speed, which
//! results/gpu.md compares with the measured speed.
//!
//! Compiler and disassembler are Python packages in the cache (`sh dev/setup.sh gpu`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use object::{Object, ObjectSection};
use sealstone_cipher::cipher;
use sealstone_gpu::testing::compile_for;
use sealstone_gpu::{Kernel, KernelMode, kernels};

/// The target architectures, and whether the disassembler still supports them.
const ARCHITECTURES: [(&str, bool); 3] = [("sm_70", false), ("sm_80", true), ("sm_90", true)];

/// Architecture of an H100, for which instructions are counted.
const COUNTED: &str = "sm_90";

/// The units of an H100 (SXM) and the rate of its clock under such load: assumed in notes before
/// the measurement.
const H100_MULTIPROCESSORS: f64 = 132.0;
const H100_CLOCK_GHZ: f64 = 1.7;
/// Threads a cycle for which a multiprocessor begins an instruction of the integer units (CUDA C++
/// Programming Guide, arithmetic instructions, 9.0). Multiplications, loads and operations uniform
/// in a warp have separate units.
const INTEGER_A_CYCLE: f64 = 64.0;
/// Instructions that can end a thread or move it elsewhere.
const JUMPS: [&str; 6] = ["BRA", "BRX", "CALL", "EXIT", "JMP", "RET"];
const INTEGER: [&str; 9] = ["LOP3", "SHF", "PRMT", "IADD3", "VIADD", "ISETP", "SEL", "LEA", "MOV"];

fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("sealstone/nvrtc")
}

/// The loader reads its path when a program starts, so the test runs itself once more with the
/// compiler on it.
#[test]
fn kernels_compile_for_nvidia_within_their_bounds() {
    let (test, cache) = ("kernels_compile_for_nvidia_within_their_bounds", cache());
    let libraries = cache.join("nvidia/cuda_nvrtc/lib");
    if !libraries.join("libnvrtc.so.12").exists()
        || !cache.join("nvidia/cu13/bin/nvdisasm").exists()
    {
        println!("SKIP: {test}: no NVIDIA compiler here; make setup-gpu fetches it");
        return;
    }
    if std::env::var_os("SEALSTONE_NVRTC").is_none() {
        let again = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env("LD_LIBRARY_PATH", &libraries)
            .env("SEALSTONE_NVRTC", "1")
            .status()
            .unwrap();
        assert!(again.success(), "see above");
        return;
    }
    let work = std::env::temp_dir().join(format!("sealstone-nvrtc-{}", std::process::id()));
    std::fs::create_dir_all(&work).unwrap();
    // Where the rounds are a loop, keys of another length change nothing but its turns: one length
    // shows the result. Counter mode is counted for every length.
    let needed = |kernel: &Kernel, mode, architecture| {
        kernel.turns.is_none()
            || kernel.cipher.ends_with("-256")
            || (mode == KernelMode::Ctr && architecture == COUNTED)
    };
    let every = kernels().flat_map(|kernel| KernelMode::ALL.map(|mode| (kernel, mode)));
    let every = every
        .flat_map(|(kernel, mode)| ARCHITECTURES.map(|architecture| (kernel, mode, architecture)));
    let jobs: Vec<_> = every
        .filter(|(kernel, mode, (architecture, _))| needed(kernel, *mode, *architecture))
        .collect();
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let next = jobs.lock().unwrap().next();
                    let Some((number, (kernel, mode, (architecture, listed)))) = next else {
                        break;
                    };
                    println!(
                        "{}",
                        within_bounds(
                            kernel,
                            mode,
                            architecture,
                            listed,
                            &work.join(number.to_string())
                        )
                    );
                }
            });
        }
    });
    std::fs::remove_dir_all(&work).unwrap();
}

/// Checks that the compiler's output for the kernel is within the bounds of its row, and returns a
/// report on it.
fn within_bounds(
    kernel: &Kernel,
    mode: KernelMode,
    architecture: &str,
    listed: bool,
    work: &Path,
) -> String {
    std::fs::create_dir_all(work).unwrap();
    let what = format!("{} of {} for {architecture}", mode.function(), kernel.cipher);
    let code = compiled(&what, architecture, &kernel.source(mode));
    let [registers, frame_bytes] =
        [REGISTERS, FRAME_BYTES].map(|attribute| attribute_of(&code, attribute));
    let most = kernel.bounds(mode).registers_max;
    assert!(registers <= most, "{what}: {registers} registers, at most {most}");
    let spilled = if mode == KernelMode::Ctr { 0 } else { FF1_FRAME_BYTES_MAX };
    assert!(frame_bytes <= spilled, "{what}: spills {frame_bytes} bytes, at most {spilled}");
    let mut said = format!("{what}: {registers} registers, {frame_bytes} bytes spilled");
    if listed {
        let text = disassembled(work, &code);
        let listing = Listing::read(&text);
        said += &match mode {
            KernelMode::Ctr => check(kernel, architecture, &what, &listing),
            KernelMode::Ff1 => {
                check_ff1(&what, &listing);
                if architecture != COUNTED {
                    return said;
                }
                let source = of_16_digits(&kernel.source(mode));
                let code = compiled(&format!("{what}, 16 digits"), architecture, &source);
                count_ff1(kernel, &what, &Listing::read(&disassembled(work, &code)))
            }
        };
    }
    said
}

/// Returns the compiler's output for `source`, the kernel that is `what`. That of an earlier run is
/// as good if the source is the same: it is kept in the folder of the compiler, and goes with it.
fn compiled(what: &str, architecture: &str, source: &str) -> Vec<u8> {
    let kept = cache().join("compiled").join(what);
    if let Ok(bytes) = std::fs::read(&kept)
        && let Some(code) = bytes.strip_prefix(source.as_bytes())
        && let Some(code) = code.strip_prefix(b"\0")
    {
        return code.to_vec();
    }
    let code = compile_for(architecture, source).unwrap_or_else(|log| panic!("{what}: {log}"));
    std::fs::create_dir_all(kept.parent().unwrap()).unwrap();
    // whole or not at all, also beside another run
    let part = kept.with_extension(format!("part-{}", std::process::id()));
    std::fs::write(&part, [source.as_bytes(), b"\0", &code].concat()).unwrap();
    std::fs::rename(&part, &kept).unwrap();
    code
}

fn disassembled(work: &Path, code: &[u8]) -> String {
    let file = work.join("kernel.cubin");
    std::fs::write(&file, code).unwrap();
    let output = Command::new(cache().join("nvidia/cu13/bin/nvdisasm"))
        .arg("-c")
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Limits on the spilled registers of a thread on its stack, in bytes, and on the instructions that
/// do so.
const FF1_FRAME_BYTES_MAX: u32 = 32;
const FF1_SPILLS_MAX: usize = 24;

/// Checks FF1 over any radix and length.
fn check_ff1(what: &str, listing: &Listing) {
    let count = |name: &str| listing.instructions.iter().filter(|one| one.name == name).count();
    assert!(
        count("LDL") + count("STL") <= FF1_SPILLS_MAX,
        "{what}: {} spills",
        count("LDL") + count("STL")
    );
    assert_eq!(
        count("LDS") + count("STS") + count("LD") + count("ST") + count("ATOM"),
        0,
        "{what}: memory"
    );
    assert!(listing.loops.len() >= 9, "{what}: {:?}", listing.loops);
}

/// Returns the kernel of FF1 for 16 digits under one tweak and no other values: without the parts
/// they do not need, so that everything left is executed, and can be counted.
fn of_16_digits(source: &str) -> String {
    let any = "const ff1_shape *shape = &given;";
    assert!(source.contains(any), "the kernel's shape is elsewhere");
    let fixed = "ff1_shape fixed = given;
        fixed.radix = 10, fixed.left.numerals = fixed.right.numerals = 8, fixed.number_bytes = 4, fixed.round_bytes = 8;
        fixed.wide = fixed.each = fixed.tweak_blocks = 0, fixed.seal = 1;
        fixed.left.estimate = fixed.right.estimate = SHORT;
        const ff1_shape *shape = &fixed;";
    source.replace(any, fixed)
}

/// Counts the instructions of [`of_16_digits`] for one value.
fn count_ff1(kernel: &Kernel, what: &str, listing: &Listing) -> String {
    // numerals of 32 values; ten rounds of 32 blocks filled, encrypted, and taken; numerals again
    let begin = [32, 8, 8].into_iter();
    let turns = begin.chain([10, 32]).chain(kernel.turns).chain([32, 32, 8, 8]).collect::<Vec<_>>();
    let mut loops = listing.loops.clone();
    loops.sort_by_key(|(first, last)| (*first, std::cmp::Reverse(*last)));
    assert_eq!(loops.len(), turns.len(), "{what}: loops {loops:?}");
    // The remaining branches end loops, and threads without a tile.
    let branches = listing
        .instructions
        .iter()
        .filter(|one| one.predicated && JUMPS.contains(&one.name))
        .count();
    assert!(branches <= loops.len() + 2, "{what}: {branches} branches");
    let (mut all, mut integer) = (0, 0);
    for (at, instruction) in listing.instructions.iter().enumerate() {
        let inside =
            loops.iter().zip(&turns).filter(|((first, last), _)| (*first..=*last).contains(&at));
        let times: usize = inside.map(|(_, turns)| turns).product();
        all += times;
        integer += if INTEGER.contains(&instruction.name) { times } else { 0 };
    }
    let (all, integer) = (all as f64 / 32.0, integer as f64 / 32.0);
    let mut said =
        format!(", {all:.0} instructions a value of 16 digits, {integer:.0} of them integer");
    let projected = H100_MULTIPROCESSORS * INTEGER_A_CYCLE * H100_CLOCK_GHZ * 1e3 / integer;
    said += &format!("; projected for an H100: {projected:.0} million values a second");
    // Twice what it takes now would be a slip.
    assert!(integer < 25_000.0, "{what}: {integer} instructions a value");
    said
}

fn check(kernel: &Kernel, architecture: &str, what: &str, listing: &Listing) -> String {
    assert!(
        listing.instructions.len() > 1000,
        "{what}: {} instructions",
        listing.instructions.len()
    );
    let count = |name: &str| listing.instructions.iter().filter(|one| one.name == name).count();
    assert_eq!((count("LDL"), count("STL")), (0, 0), "{what}: spills");
    let block_bytes = cipher(kernel.cipher).unwrap().block_bytes;
    // The only memory that is read or written: each 16 bytes of 32 blocks, once. Shared memory and
    // gathers are none.
    let units = 32 * block_bytes / 16;
    assert_eq!((count("LDG"), count("STG")), (units, units), "{what}: memory");
    assert_eq!(
        count("LDS") + count("STS") + count("LD") + count("ST") + count("ATOM"),
        0,
        "{what}: memory"
    );
    // One loop at most, over rounds, and the end of threads without a tile: both the same whatever
    // the data.
    assert!(listing.loops.len() <= 1, "{what}: {:?}", listing.loops);
    let branches = listing
        .instructions
        .iter()
        .filter(|one| one.predicated && JUMPS.contains(&one.name))
        .count();
    assert!(branches <= listing.loops.len() + 1, "{what}: {branches} branches");

    let rounds = kernel.turns;
    assert_eq!(rounds.is_some(), listing.loops.len() == 1, "{what}: loops");
    let bytes = (32 * block_bytes) as f64;
    let executed = listing.executed(rounds.unwrap_or(1));
    let all: usize = executed.values().sum();
    let integer: usize = INTEGER.iter().filter_map(|name| executed.get(name)).sum();
    let (all, integer) = (all as f64 / bytes, integer as f64 / bytes);
    let mut said = format!(", {all:.1} instructions a byte, {integer:.1} of them integer");
    if architecture == COUNTED {
        let projected = H100_MULTIPROCESSORS * INTEGER_A_CYCLE * H100_CLOCK_GHZ / integer;
        said += &format!("; projected for an H100: {projected:.0} GB/s");
        // Twice what it takes now would be a slip.
        let bound = if block_bytes == 8 { 25.0 } else { 120.0 };
        assert!(integer < bound, "{what}: {integer} instructions a byte");
    }
    said
}

/// Attributes of a kernel in section `.nv.info`: registers a thread, and bytes of its stack, where
/// spills are.
const REGISTERS: u8 = 0x2f;
const FRAME_BYTES: u8 = 0x11;

fn attribute_of(code: &[u8], wanted: u8) -> u32 {
    let file = object::File::parse(code).expect("an ELF file");
    let mut rest = file.section_by_name(".nv.info").expect("section .nv.info").data().unwrap();
    while let [format, attribute, low, high, after @ ..] = rest {
        // format 4: length, number of the symbol, value
        let bytes = if *format == 4 { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let (value, next) = after.split_at(bytes);
        if (*format, *attribute) == (4, wanted) {
            return u32::from_le_bytes(*value[4..].first_chunk().unwrap());
        }
        rest = next;
    }
    panic!("no attribute {wanted:#x}");
}

struct Instruction<'a> {
    name: &'a str,
    predicated: bool,
}

/// A kernel's machine code.
struct Listing<'a> {
    instructions: Vec<Instruction<'a>>,
    /// First and last instruction of each loop.
    loops: Vec<(usize, usize)>,
}

impl<'a> Listing<'a> {
    fn read(text: &'a str) -> Listing<'a> {
        let (mut instructions, mut labels, mut loops) = (Vec::new(), BTreeMap::new(), Vec::new());
        let text: &'a str = text;
        for line in text.lines().map(str::trim) {
            if let Some(label) = line.strip_prefix('.').and_then(|line| line.strip_suffix(':')) {
                labels.insert(label, instructions.len());
                continue;
            }
            let Some((_, rest)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/"))
            else {
                continue;
            };
            let mut words = rest.split_whitespace().peekable();
            let predicated = words.next_if(|word| word.starts_with('@')).is_some();
            let Some(name) = words.next() else { continue };
            let name = name.trim_end_matches(';').split('.').next().unwrap_or_default();
            let target = rest.split_once("`(.").and_then(|(_, label)| label.split_once(')'));
            if let (true, Some((label, _))) = (name == "BRA", target)
                && let Some(start) = labels.get(label)
                // after its end a kernel has a loop of one instruction, for the fetch ahead
                && *start != instructions.len()
            {
                loops.push((*start, instructions.len()));
            }
            instructions.push(Instruction { name, predicated });
        }
        // fillers behind that
        while instructions.last().is_some_and(|one| matches!(one.name, "NOP" | "BRA")) {
            instructions.pop();
        }
        Listing { instructions, loops }
    }

    /// Counts how often each instruction is executed if loops take `turns`.
    fn executed(&self, turns: usize) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for (at, instruction) in self.instructions.iter().enumerate() {
            let inside = self.loops.iter().any(|(first, last)| (*first..=*last).contains(&at));
            *counts.entry(instruction.name).or_default() += if inside { turns } else { 1 };
        }
        counts
    }
}
