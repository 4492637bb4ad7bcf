//! The names of functions that a Java virtual machine has compiled: it writes them into /tmp/perf-PID.map if `jcmd` of its JDK asks for
//! them (JDK 17 and later).

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::OFlags;

use crate::memory::Memory;

/// The library of the virtual machine.
const MACHINE: &str = "/libjvm.so";
/// A machine that hangs does not answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
/// A longer file is not read to its end: a large server has some 30,000 functions of a hundred characters.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Functions of processes, by address.
#[derive(Debug, Default)]
pub(crate) struct Compiled(HashMap<u32, Vec<Function>>);

#[derive(Debug, PartialEq)]
struct Function {
    start: u64,
    length: u64,
    name: String,
}

impl Compiled {
    /// Asks all Java virtual machines that have no such file yet. A file that is there is another's, and is read as those of other
    /// languages are.
    pub(crate) fn of(memory: &Memory) -> Compiled {
        let asked = memory.processes_with(MACHINE).filter_map(|pid| Some((pid, asked(pid)?)));
        Compiled(asked.collect())
    }

    /// The function at an address.
    pub(crate) fn name(&self, pid: u32, address: u64) -> Option<&str> {
        let functions = self.0.get(&pid)?;
        let behind = functions.partition_point(|function| function.start <= address);
        let function = &functions[behind.checked_sub(1)?];
        (address - function.start < function.length).then_some(&*function.name)
    }
}

fn asked(pid: u32) -> Option<Vec<Function>> {
    let path = format!("/tmp/perf-{pid}.map");
    let path = Path::new(&path);
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let mut jcmd = Command::new("jcmd");
    jcmd.args([&pid.to_string(), "Compiler.perfmap"]);
    jcmd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let child = jcmd.spawn().ok()?;
    pitot_sys::waited::wait_at_most(child.id(), ANSWERED_WITHIN).ok()?;
    // The directory is everybody's: the file may be a link or a pipe of somebody else.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let mut text = Vec::new();
    let read = file.take(FILE_BYTES_MAX).read_to_end(&mut text);
    let _ = std::fs::remove_file(path);
    read.ok().map(|_| functions(&String::from_utf8_lossy(&text)))
}

/// The functions of a file, by address. Java writes `0x` before its numbers, which tools/perf/Documentation/jit-interface.txt of Linux,
/// and so other readers, do not know.
fn functions(text: &str) -> Vec<Function> {
    let number = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let function = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (start, length) = (number(words.next()?)?, number(words.next()?)?);
        // Frames of a stack are separated by semicolons.
        let name = words.next()?.replace([';', '`'], "_");
        Some(Function { start, length, name })
    };
    let mut functions: Vec<Function> = text.lines().filter_map(function).collect();
    functions.sort_by_key(|function| function.start);
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_an_address_within_it() {
        let text = "0x0000000000002000 0x0000000000000100 int a.B.c(byte[])\n0x1000 0x10 d\nnonsense\n0x3000 0x10 e;f\n";
        let compiled = Compiled(HashMap::from([(7, functions(text))]));
        let name = |address| compiled.name(7, address);
        assert_eq!((name(0x1000), name(0x100f), name(0x1010)), (Some("d"), Some("d"), None));
        assert_eq!((name(0x20ff), name(0x2100), name(0xfff)), (Some("int a.B.c(byte[])"), None, None));
        assert_eq!((name(0x3001), compiled.name(8, 0x1000)), (Some("e_f"), None));
    }
}
