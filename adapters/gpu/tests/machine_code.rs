#![forbid(unsafe_code)]
//! What NVIDIA's compiler makes of each kernel, without a device: it compiles for three architectures, registers stay
//! within the bound of the row, nothing spills, and no address and no branch depends on data. Counts instructions a
//! byte and prints the *projected* speed, which results/gpu.md sets beside the measured one.
//!
//! Compiler and disassembler are Python packages in the cache (`sh dev/setup.sh gpu`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use object::{Object, ObjectSection};
use sealstone_cipher::registry::cipher;
use sealstone_gpu::kernels::{Kernel, kernels};
use sealstone_gpu::testing::compile_for;

/// Those that are compiled for, and whether the disassembler still knows them.
const ARCHITECTURES: [(&str, bool); 3] = [("sm_70", false), ("sm_80", true), ("sm_90", true)];

/// The units of an H100 (SXM) and the rate of its clock under such load: what notes assumed before it was measured.
const H100_MULTIPROCESSORS: f64 = 132.0;
const H100_CLOCK_GHZ: f64 = 1.7;
/// Threads a cycle for which a multiprocessor begins an instruction of the integer units (CUDA C++ Programming Guide,
/// arithmetic instructions, 9.0). Multiplications, loads and what is the same for a warp have units of their own.
const INTEGER_A_CYCLE: f64 = 64.0;
/// What can end or move a thread.
const JUMPS: [&str; 6] = ["BRA", "BRX", "CALL", "EXIT", "JMP", "RET"];
const INTEGER: [&str; 9] = ["LOP3", "SHF", "PRMT", "IADD3", "VIADD", "ISETP", "SEL", "LEA", "MOV"];

fn cache() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("sealstone/nvrtc")
}

/// The loader reads its path when a program starts, so the test runs itself once more with the compiler on it.
#[test]
fn kernels_compile_for_nvidia_within_their_bounds() {
    let (test, cache) = ("kernels_compile_for_nvidia_within_their_bounds", cache());
    let libraries = cache.join("nvidia/cuda_nvrtc/lib");
    if !libraries.join("libnvrtc.so.12").exists() || !cache.join("nvidia/cu13/bin/nvdisasm").exists() {
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
    for kernel in kernels() {
        for (architecture, listed) in ARCHITECTURES {
            let what = format!("{} for {architecture}", kernel.cipher);
            let code = compile_for(architecture, &kernel.source()).unwrap_or_else(|log| panic!("{what}: {log}"));
            let [registers, frame_bytes] = [REGISTERS, FRAME_BYTES].map(|attribute| attribute_of(&code, attribute));
            assert!(
                registers <= kernel.registers_max,
                "{what}: {registers} registers, at most {}",
                kernel.registers_max
            );
            assert_eq!(frame_bytes, 0, "{what}: spills");
            print!("{what}: {registers} registers");
            if listed {
                let file = work.join("kernel.cubin");
                std::fs::write(&file, &code).unwrap();
                let output =
                    Command::new(cache.join("nvidia/cu13/bin/nvdisasm")).arg("-c").arg(&file).output().unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                assert!(!text.is_empty(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
                check(kernel, architecture, &what, &Listing::read(&text));
            }
            println!();
        }
    }
    std::fs::remove_dir_all(&work).unwrap();
}

fn check(kernel: &Kernel, architecture: &str, what: &str, listing: &Listing) {
    assert!(listing.instructions.len() > 1000, "{what}: {} instructions", listing.instructions.len());
    let count = |name: &str| listing.instructions.iter().filter(|one| one.name == name).count();
    assert_eq!((count("LDL"), count("STL")), (0, 0), "{what}: spills");
    let block_bytes = cipher(kernel.cipher).unwrap().block_bytes;
    // The only memory that is read or written: each 16 bytes of 32 blocks, once. Shared memory and gathers are none.
    let units = 32 * block_bytes / 16;
    assert_eq!((count("LDG"), count("STG")), (units, units), "{what}: memory");
    assert_eq!(count("LDS") + count("STS") + count("LD") + count("ST") + count("ATOM"), 0, "{what}: memory");
    // One loop at most, over rounds, and the end of threads without a tile: both the same whatever the data.
    assert!(listing.loops.len() <= 1, "{what}: {:?}", listing.loops);
    let branches = listing.instructions.iter().filter(|one| one.predicated && JUMPS.contains(&one.name)).count();
    assert!(branches <= listing.loops.len() + 1, "{what}: {branches} branches");

    let rounds = kernel.turns;
    assert_eq!(rounds.is_some(), listing.loops.len() == 1, "{what}: loops");
    let bytes = (32 * block_bytes) as f64;
    let executed = listing.executed(rounds.unwrap_or(1));
    let all: usize = executed.values().sum();
    let integer: usize = INTEGER.iter().filter_map(|name| executed.get(name)).sum();
    let (all, integer) = (all as f64 / bytes, integer as f64 / bytes);
    print!(", {all:.1} instructions a byte, {integer:.1} of them integer");
    if architecture == "sm_90" {
        let projected = H100_MULTIPROCESSORS * INTEGER_A_CYCLE * H100_CLOCK_GHZ / integer;
        print!("; projected for an H100: {projected:.0} GB/s");
        // Twice what it takes now would be a slip.
        let bound = if block_bytes == 8 { 25.0 } else { 120.0 };
        assert!(integer < bound, "{what}: {integer} instructions a byte");
    }
}

/// Attributes of a kernel in section `.nv.info`: registers a thread, and bytes of its stack, where spills are.
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
            let Some((_, rest)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/")) else { continue };
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

    /// How often each instruction is executed where loops take `turns`.
    fn executed(&self, turns: usize) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for (at, instruction) in self.instructions.iter().enumerate() {
            let inside = self.loops.iter().any(|(first, last)| (*first..=*last).contains(&at));
            *counts.entry(instruction.name).or_default() += if inside { turns } else { 1 };
        }
        counts
    }
}
