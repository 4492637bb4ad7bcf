//! The names of functions, from addresses.

use std::collections::HashMap;
use std::path::Path;

use blazesym::symbolize::source::{Elf, Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolizer};
use blazesym::{MaybeDefault, Pid};
use pitot_meter::stack::{Frame, KERNEL, UNKNOWN};
use pitot_sys::perf::Mapped;

use crate::java::Compiled;
use crate::memory::Memory;

/// The module of code that was made at run time.
const JIT: &str = "jit";

/// Finds names, each once.
pub(crate) struct Names {
    symbolizer: Symbolizer,
    of_kernel: HashMap<u64, String>,
    of_process: HashMap<(u32, u64), String>,
    compiled: Compiled,
    is_root: bool,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names {
            symbolizer: Symbolizer::new(),
            of_kernel: HashMap::new(),
            of_process: HashMap::new(),
            compiled: Compiled::default(),
            is_root: pitot_sys::process::is_root(),
        }
    }

    /// The number of a process may be another's from now on; these functions are compiled in those that come.
    pub(crate) fn of_other_processes(&mut self, compiled: Compiled) {
        self.of_process.clear();
        self.compiled = compiled;
    }

    /// The frame of an address in the kernel. Without the right to read addresses in /proc/kallsyms it has no name.
    pub(crate) fn kernel(&mut self, address: u64) -> &str {
        let symbolizer = &self.symbolizer;
        self.of_kernel.entry(address).or_insert_with(|| {
            let source = Source::Kernel(Kernel { vmlinux: MaybeDefault::None, ..Kernel::default() });
            let found = symbolizer.symbolize_single(&source, Input::AbsAddr(address)).ok();
            let found = found.as_ref().and_then(|found| found.as_sym());
            Frame { module: KERNEL, function: found.map_or(UNKNOWN, |symbol| &symbol.name) }.text()
        })
    }

    /// The frame of an address in a process; none if it lies in no code. (Where a function keeps no frame pointer, the walk meets
    /// what is no return address.)
    pub(crate) fn process(&mut self, pid: u32, address: u64, memory: &Memory) -> Option<&str> {
        let mapping = memory.at(pid, address)?;
        let (symbolizer, is_root) = (&self.symbolizer, self.is_root);
        let compiled = self.compiled.name(pid, address);
        let named = || match compiled {
            Some(function) => Frame { module: JIT, function }.text(),
            None => name_in_process(symbolizer, is_root, address, mapping),
        };
        Some(self.of_process.entry((pid, address)).or_insert_with(named))
    }
}

fn name_in_process(symbolizer: &Symbolizer, is_root: bool, address: u64, mapping: &Mapped) -> String {
    let path = mapping.path.as_str();
    // Memory without a file has no path, or `//anon`.
    let is_file = path.starts_with('/') && !path.starts_with("//");
    let module = match Path::new(path).file_name().and_then(|name| name.to_str()) {
        Some(name) if is_file => name,
        _ if path.starts_with('[') => path,
        _ => JIT,
    };
    // A running process also has what was made at run time (/tmp/perf-PID.map) and the vDSO.
    let process = Process { map_files: is_root, debug_syms: false, ..Process::new(Pid::from(mapping.pid)) };
    let of_process = || single(symbolizer, &Source::Process(process), Input::AbsAddr(address));
    let of_file = || {
        let elf = Source::Elf(Elf { debug_syms: false, ..Elf::new(path) });
        let at = Input::FileOffset(address - mapping.start + mapping.offset);
        if is_file { single(symbolizer, &elf, at) } else { None }
    };
    let function = of_process().or_else(of_file);
    Frame { module, function: function.as_deref().unwrap_or(UNKNOWN) }.text()
}

/// A name of Rust without the hash behind it, which differs in each build: `::h0123456789abcdef`.
fn without_hash(name: &str) -> &str {
    let is_hash = |end: &str| end.len() == 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    match name.rsplit_once("::h") {
        Some((before, end)) if is_hash(end) => before,
        _ => name,
    }
}

fn single(symbolizer: &Symbolizer, source: &Source<'_>, input: Input<u64>) -> Option<String> {
    let found = symbolizer.symbolize_single(source, input).ok()?;
    found.as_sym().map(|symbol| without_hash(&symbol.name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_removed_and_names_are_not() {
        assert_eq!(without_hash("serve::run::h0123456789abcdef"), "serve::run");
        assert_eq!(without_hash("a::hash"), "a::hash");
        assert_eq!(without_hash("memcpy"), "memcpy");
    }
}
