//! Unwinds the stacks of programs by the tables that compilers write for exceptions (`.eh_frame`). Code without frame pointers has
//! them, too.
//!
//! A file is read once for all processes. It gets a range of addresses that no other file has, its place, and the addresses of
//! processes are translated into it: a rule that was found for an address is kept for every process and slice.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module, UnwindRegsNative,
    Unwinder as _, UnwinderNative,
};
use pitot_sys::perf::{Mapped, Registers, Sample};

use crate::memory::Memory;

/// Frames of a stack, at most.
const DEPTH_MAX: usize = 256;
/// The bytes of a file's place: tables have offsets of 32 bits.
const PLACE: u64 = 1 << 32;
/// An address in the place of no file: frame pointers are followed there.
const NOWHERE: u64 = 16;

/// The files of all processes.
pub(crate) struct Unwinder {
    framehop: UnwinderNative<Vec<u8>, MayAllocateDuringUnwind>,
    rules: CacheNative<MayAllocateDuringUnwind>,
    /// By path and inode, since each container has its own paths. None for a file that is not ELF.
    files: HashMap<Name, Option<Placed>>,
}

/// The path, device and inode of a file.
type Name = (String, (u32, u32, u64));

/// A file at its place.
struct Placed {
    start: u64,
    code: Vec<Segment>,
}

/// Code in a file, and the address for which it was linked.
struct Segment {
    offsets: Range<u64>,
    address: u64,
}

impl Unwinder {
    pub(crate) fn new() -> Unwinder {
        Unwinder { framehop: UnwinderNative::new(), rules: CacheNative::new(), files: HashMap::new() }
    }

    /// Completes the addresses of a sample and drops its copy of the stack. The unwound addresses are used if they reach the
    /// first function of the thread, or are more than those by frame pointers.
    pub(crate) fn complete(&mut self, sample: &mut Sample, memory: &Memory) {
        let stack = std::mem::take(&mut sample.stack);
        let Some(registers) = sample.registers else { return };
        let (unwound, is_complete) = self.unwind(sample.pid, registers, &stack, memory);
        // Where a function keeps no frame pointer, some addresses are not of code.
        let is_code = |address: &&u64| memory.at(sample.pid, **address).is_some();
        if is_complete || unwound.len() > sample.user.iter().filter(is_code).count() {
            sample.user = unwound;
        }
    }

    /// Addresses of code, the innermost first, and whether they reach the first function of the thread.
    fn unwind(&mut self, pid: u32, from: Registers, stack: &[u8], memory: &Memory) -> (Vec<u64>, bool) {
        let mut registers = native(from);
        let mut read = |address: u64| {
            let at = address.checked_sub(from.sp).and_then(|at| usize::try_from(at).ok());
            let word = at.and_then(|at| stack.get(at..)?.first_chunk());
            word.map(|word| u64::from_ne_bytes(*word)).ok_or(())
        };
        let mut addresses = Vec::new();
        let mut next = from.pc;
        while addresses.len() < DEPTH_MAX {
            // A return address lies behind its call, which may be the last of its function.
            let behind = u64::from(!addresses.is_empty());
            let Some(address) = next.checked_sub(behind) else { break };
            // An address outside of code is not a return address: unwinding has failed.
            let Some(mapping) = memory.at(pid, address) else { break };
            addresses.push(next);
            let at = self.place(mapping, address).unwrap_or(NOWHERE) + behind;
            let at = match behind {
                0 => Some(FrameAddress::from_instruction_pointer(at)),
                _ => FrameAddress::from_return_address(at),
            };
            let Some(at) = at else { break };
            match self.framehop.unwind_frame(at, &mut registers, &mut self.rules, &mut read) {
                Ok(Some(address)) => next = address,
                Ok(None) => return (addresses, true),
                Err(_) => break,
            }
        }
        (addresses, false)
    }

    /// The same address in the place of its file.
    fn place(&mut self, mapping: &Mapped, address: u64) -> Option<u64> {
        let Unwinder { framehop, files, .. } = self;
        let start = PLACE * (files.len() as u64 + 1);
        let file = files.entry((mapping.path.clone(), mapping.inode)).or_insert_with(|| {
            let (code, sections) = Image::of(mapping)?.parse()?;
            let module = Module::new(mapping.path.clone(), start..start + PLACE, start, sections);
            framehop.add_module(module);
            Some(Placed { start, code })
        });
        let file = file.as_ref()?;
        let offset = address - mapping.start + mapping.offset;
        let segment = file.code.iter().find(|segment| segment.offsets.contains(&offset))?;
        let address = (offset - segment.offsets.start).checked_add(segment.address)?;
        (address < PLACE).then_some(file.start + address)
    }
}

#[cfg(target_arch = "x86_64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.pc, registers.sp, registers.fp)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: Registers) -> UnwindRegsNative {
    // The upper bits of a return address may be its signature.
    let addresses = framehop::aarch64::PtrAuthMask(u64::MAX >> 16);
    UnwindRegsNative::new_with_ptr_auth_mask(addresses, registers.lr, registers.sp, registers.fp)
}

/// The bytes of an ELF file (elf(5)).
struct Image {
    file: File,
    start: u64,
    length: u64,
}

impl Image {
    fn of(mapping: &Mapped) -> Option<Image> {
        let Mapped { pid, start, end, path, .. } = mapping;
        if path == "[vdso]" {
            return Image::of_vdso();
        }
        if !path.starts_with('/') {
            return None;
        }
        // What the process mapped, which only root sees; what it sees by that name; and, where it has ended, what this process
        // sees.
        let mapped = format!("/proc/{pid}/map_files/{start:x}-{end:x}");
        let paths = [mapped, format!("/proc/{pid}/root{path}"), path.clone()];
        let is_file = |path: &&String| std::fs::metadata(path).is_ok_and(|file| file.is_file());
        let file = paths.iter().filter(is_file).find_map(|path| File::open(path).ok())?;
        let length = file.metadata().ok()?.len();
        Some(Image { file, start: 0, length })
    }

    /// The code that the kernel maps into every process, read from this one.
    fn of_vdso() -> Option<Image> {
        let mut memory = Memory::default();
        let pid = std::process::id();
        memory.look_at(pid);
        let own = memory.named(pid, "[vdso]")?;
        Some(Image {
            file: File::open("/proc/self/mem").ok()?,
            start: own.start,
            length: own.end - own.start,
        })
    }

    fn read(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let length = range.end.checked_sub(range.start).filter(|_| range.end <= self.length)?;
        let mut bytes = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut bytes, self.start.checked_add(range.start)?).ok()?;
        Some(bytes)
    }

    /// Its code, and the tables of its functions.
    fn parse(&self) -> Option<(Vec<Segment>, ExplicitModuleSectionInfo<Vec<u8>>)> {
        let header = self.read(0..64)?;
        // 64 bits, little-endian.
        header.starts_with(b"\x7fELF\x02\x01").then_some(())?;
        let table = |at: u64, size: u64, count: u64| self.read(at..at.checked_add(size * count)?);
        let programs = table(number::<8>(&header, 32)?, 56, number::<2>(&header, 56)?)?;
        let sections = table(number::<8>(&header, 40)?, 64, number::<2>(&header, 60)?)?;
        let code = |program: &[u8]| {
            let [kind, flags] = [0, 4].map(|at| number::<4>(program, at));
            let [offset, address, size] = [8, 16, 32].map(|at| number::<8>(program, at));
            // PT_LOAD, PF_X.
            let is_code = kind? == 1 && flags? & 1 != 0;
            let offsets = offset?..offset?.checked_add(size?)?;
            is_code.then_some(Segment { offsets, address: address? })
        };
        let code = programs.chunks_exact(56).filter_map(code).collect();
        let bytes = |section: &[u8]| {
            let offset = number::<8>(section, 24)?;
            // SHT_NOBITS is not in the file.
            let is_here = number::<4>(section, 4)? != 8;
            self.read(offset..offset.checked_add(number::<8>(section, 32)?)?).filter(|_| is_here)
        };
        let index = number::<2>(&header, 62)? as usize;
        let names = bytes(sections.chunks_exact(64).nth(index)?)?;
        let find = |wanted: &[u8]| {
            sections.chunks_exact(64).find(|section| {
                let name = number::<4>(section, 0).and_then(|at| names.get(at as usize..));
                name.is_some_and(|name| name.split(|&byte| byte == 0).next() == Some(wanted))
            })
        };
        let addresses = |section: &[u8]| {
            let start = number::<8>(section, 16)?;
            Some(start..start.checked_add(number::<8>(section, 32)?)?)
        };
        let (tables, index) = (find(b".eh_frame"), find(b".eh_frame_hdr"));
        let sections = ExplicitModuleSectionInfo {
            text_svma: find(b".text").and_then(addresses),
            got_svma: find(b".got").and_then(addresses),
            eh_frame_svma: tables.and_then(addresses),
            eh_frame: tables.and_then(bytes),
            eh_frame_hdr_svma: index.and_then(addresses),
            eh_frame_hdr: index.and_then(bytes),
            ..ExplicitModuleSectionInfo::default()
        };
        Some((code, sections))
    }
}

/// A little-endian number.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes: &[u8; BYTES] = bytes.get(at..)?.first_chunk()?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_of_any_bytes_end() {
        let pid = std::process::id();
        let mut memory = Memory::default();
        memory.look_at(pid);
        let mut unwinder = Unwinder::new();
        let mut seed = 7u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) % below
        };
        let code = stacks_of_any_bytes_end as *const () as u64;
        let mut depths = 0;
        for _ in 0..2_000 {
            let sp = 0x7fff_0000_0000;
            // Code, and frames of the stack, so that it goes on for a while.
            let word = |at: u64, random: &mut dyn FnMut(u64) -> u64| match at {
                0 => u64::MAX - random(64),
                1 => random(1 << 40),
                2 => sp + random(8192),
                _ => code + random(4096),
            };
            let stack: Vec<u8> = (0..1024).flat_map(|_| word(random(8), &mut random).to_ne_bytes()).collect();
            let stack = &stack[..random(stack.len() as u64) as usize];
            let [fp, lr] = [word(random(8), &mut random), word(7, &mut random)];
            let registers = Registers { pc: code + random(4096), sp, fp, lr };
            depths += unwinder.unwind(pid, registers, stack, &memory).0.len();
        }
        assert!(depths > 2_200, "{depths}");
    }

    #[test]
    fn files_of_any_bytes_are_read() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let parse = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Image { file: File::open(&path).unwrap(), start: 0, length: bytes.len() as u64 }.parse()
        };
        let (code, sections) = parse(&own).unwrap();
        assert!(!code.is_empty() && sections.eh_frame.is_some() && sections.eh_frame_hdr.is_some());
        for cut in (0..128).chain([own.len() / 2, own.len() - 1]) {
            assert!(parse(&own[..cut]).is_none(), "{cut}");
        }
        // The header alone, each of its bytes as large as it can be.
        for at in 0..64 {
            let mut bytes = own[..4096].to_vec();
            bytes[at] = 0xff;
            assert!(parse(&bytes).is_none());
        }
    }

    #[test]
    fn the_code_of_the_kernel_in_each_process_has_tables() {
        let (code, sections) = Image::of_vdso().unwrap().parse().unwrap();
        assert!(!code.is_empty() && sections.eh_frame.is_some());
    }
}
