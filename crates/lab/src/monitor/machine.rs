//! The machine: CPU time by kind, TCP counters, pressure.

use std::fs::File;
use std::os::unix::fs::FileExt;

use pitot_meter::Nanos;

use crate::procfs::TICK_NS;
use pitot_record::CpuSample;

/// Counters of the machine at one moment, since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) server_cpus: CpuSample,
    pub(super) load_cpus: CpuSample,
    pub(super) tcp_retransmits: u64,
    pub(super) listen_overflows: u64,
    pub(super) listen_drops: u64,
    pub(super) pressure_cpu_ns: u64,
    pub(super) pressure_memory_ns: u64,
    pub(super) pressure_io_ns: u64,
}

/// Reads them from files that stay open.
#[derive(Debug)]
pub(super) struct MachineReader {
    buffer: Vec<u8>,
    stat: Option<File>,
    snmp: Option<File>,
    netstat: Option<File>,
    /// CPU, memory, I/O. None where the kernel counts no pressure, or was started without (psi=0).
    pressure: [Option<File>; 3],
}

impl MachineReader {
    pub(super) fn open() -> MachineReader {
        let open = |path: &str| File::open(path).ok();
        MachineReader {
            buffer: vec![0; 16 * 1024],
            stat: open("/proc/stat"),
            snmp: open("/proc/net/snmp"),
            netstat: open("/proc/net/netstat"),
            pressure: ["cpu", "memory", "io"].map(|kind| open(&format!("/proc/pressure/{kind}"))),
        }
    }

    pub(super) fn read(&mut self, server_cpus: &[usize], load_cpus: &[usize]) -> Machine {
        let mut machine = Machine::default();
        let buffer = &mut self.buffer;
        if let Some(text) = content(buffer, self.stat.as_ref()) {
            machine.server_cpus = cpu_times(text, server_cpus);
            machine.load_cpus = cpu_times(text, load_cpus);
        }
        if let Some(text) = content(buffer, self.snmp.as_ref()) {
            machine.tcp_retransmits = counter(text, "Tcp:", "RetransSegs");
        }
        if let Some(text) = content(buffer, self.netstat.as_ref()) {
            machine.listen_overflows = counter(text, "TcpExt:", "ListenOverflows");
            machine.listen_drops = counter(text, "TcpExt:", "ListenDrops");
        }
        let mut pressure = [0; 3];
        for (total, file) in pressure.iter_mut().zip(&self.pressure) {
            *total = content(buffer, file.as_ref()).map_or(0, |text| stalled_us(text) * 1000);
        }
        [machine.pressure_cpu_ns, machine.pressure_memory_ns, machine.pressure_io_ns] = pressure;
        machine
    }
}

/// Reads only steal time, which is cheap enough for every slice.
#[derive(Debug)]
pub(crate) struct StealReader {
    buffer: Vec<u8>,
    stat: Option<File>,
}

impl StealReader {
    pub(crate) fn open() -> StealReader {
        StealReader { buffer: vec![0; 16 * 1024], stat: File::open("/proc/stat").ok() }
    }

    /// Steal time of the CPUs of both sides since boot, in steps of a clock tick.
    pub(crate) fn read(&mut self, server_cpus: &[usize], load_cpus: &[usize]) -> Nanos {
        let Some(text) = content(&mut self.buffer, self.stat.as_ref()) else { return Nanos::ZERO };
        let mut cpus = server_cpus.to_vec();
        cpus.extend(load_cpus.iter().filter(|cpu| !server_cpus.contains(cpu)));
        Nanos(cpu_times(text, &cpus).steal_ns)
    }

    /// Time of these CPUs in user mode and in the kernel since boot, without interrupts, in steps of a clock tick.
    pub(crate) fn busy(&mut self, server_cpus: &[usize], load_cpus: &[usize]) -> Option<Nanos> {
        let text = content(&mut self.buffer, self.stat.as_ref())?;
        let mut cpus = server_cpus.to_vec();
        cpus.extend(load_cpus.iter().filter(|cpu| !server_cpus.contains(cpu)));
        let times = cpu_times(text, &cpus);
        Some(Nanos(times.user_ns + times.system_ns))
    }
}

/// Reads the file from its start into a buffer that grows once at most.
fn content<'a>(buffer: &'a mut Vec<u8>, file: Option<&File>) -> Option<&'a str> {
    let file = file?;
    let mut length = 0;
    loop {
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(_) => return None,
        }
        if length == buffer.len() {
            buffer.resize(length * 2, 0);
        }
    }
    std::str::from_utf8(&buffer[..length]).ok()
}

/// Sums of some CPUs' lines in /proc/stat (proc_stat(5)).
fn cpu_times(text: &str, cpus: &[usize]) -> CpuSample {
    let mut sum = CpuSample::default();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("cpu") else { break };
        let mut words = rest.split_ascii_whitespace();
        // The first line, "cpu ", is the sum of all and has no number.
        if rest.starts_with(' ') {
            continue;
        }
        let Some(cpu) = words.next().and_then(|n| n.parse::<usize>().ok()) else { continue };
        if !cpus.contains(&cpu) {
            continue;
        }
        let mut ticks = [0u64; 8];
        for (slot, word) in ticks.iter_mut().zip(words) {
            *slot = word.parse().unwrap_or(0);
        }
        let [user, nice, system, _idle, _iowait, irq, softirq, steal] = ticks;
        sum.user_ns += (user + nice) * TICK_NS;
        sum.system_ns += system * TICK_NS;
        sum.softirq_ns += (irq + softirq) * TICK_NS;
        sum.steal_ns += steal * TICK_NS;
    }
    sum
}

/// A counter of /proc/net/snmp or /proc/net/netstat: a line of names, then a line of values.
fn counter(text: &str, table: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|l| l.starts_with(table));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    names
        .split_ascii_whitespace()
        .zip(values.split_ascii_whitespace())
        .find(|(n, _)| *n == name)
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0)
}

/// The total of the line `some` of a pressure file, microseconds.
fn stalled_us(text: &str) -> u64 {
    text.lines()
        .find(|l| l.starts_with("some"))
        .and_then(|l| l.rsplit_once("total="))
        .and_then(|(_, total)| total.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_wanted_cpus_are_summed() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 10 0 0 0 0 0 0 0 0 0\n\
                    cpu10 100 0 0 0 0 0 0 0 0 0\nintr 5 cpu1 3\n";
        let zero = cpu_times(text, &[0]);
        let wanted = CpuSample {
            user_ns: 3 * TICK_NS,
            system_ns: 3 * TICK_NS,
            softirq_ns: 13 * TICK_NS,
            steal_ns: 8 * TICK_NS,
        };
        assert_eq!(zero, wanted);
        assert_eq!(cpu_times(text, &[1, 10]).user_ns, 110 * TICK_NS);
        assert_eq!(cpu_times(text, &[2]), CpuSample::default());
    }

    #[test]
    fn counters_are_found_by_name_whatever_their_place() {
        let text = "Ip: A B\nIp: 1 2\nTcp: InSegs RetransSegs OutRsts\nTcp: 5 6 7\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), 6);
        assert_eq!(counter(text, "Tcp:", "Novel"), 0);
        assert_eq!(counter("", "Tcp:", "RetransSegs"), 0);
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 total=9\n";
        assert_eq!(stalled_us(pressure), 123);
        assert_eq!(stalled_us(""), 0);
    }

    #[test]
    fn this_machine_can_be_read() {
        let cpus = pitot_sys::affinity::allowed().unwrap();
        let mut reader = MachineReader::open();
        let machine = reader.read(&cpus, &[]);
        assert!(machine.server_cpus.user_ns + machine.server_cpus.system_ns > 0);
        assert_eq!(machine.load_cpus, CpuSample::default());
    }
}
