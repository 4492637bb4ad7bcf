//! A sample of the monitor.

use serde::{Deserialize, Serialize};

/// One sample of the monitor. Counters count from the repetition's first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub at_ns: u64,
    /// The server's process tree. None if it was not read in this sample, which takes long for thousands of processes.
    pub server: Option<TreeSample>,
    /// The load generator's process tree; none before it starts and after it ends.
    pub load: Option<TreeSample>,
    /// The CPUs of the servers.
    pub server_cpus: CpuSample,
    /// The CPUs of the load generator.
    pub load_cpus: CpuSample,
    /// Retransmitted TCP segments.
    pub tcp_retransmits: u64,
    /// Accept queue overflows.
    pub listen_overflows: u64,
    /// SYNs dropped by listeners.
    pub listen_drops: u64,
    /// Time that some task waited for a CPU (PSI), nanoseconds.
    pub pressure_cpu_ns: u64,
    /// Time that some task waited for memory (PSI).
    pub pressure_memory_ns: u64,
    /// Time that some task waited for a disk (PSI).
    pub pressure_io_ns: u64,
    /// CPU time of this sample, nanoseconds.
    pub cost_ns: u64,
    /// The kernel's memory, bytes. None if it was not read in this sample, or if the sample is from a run file.
    pub kernel_bytes: Option<u64>,
}

/// A process tree at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeSample {
    /// Processes.
    pub processes: u64,
    /// Threads.
    pub threads: u64,
    /// Open descriptors. None where they were not counted in this sample.
    pub descriptors: Option<u64>,
    /// CPU time.
    pub cpu_ns: u64,
    /// Its part in user mode.
    pub user_ns: u64,
    /// Its part in the kernel.
    pub system_ns: u64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Proportional resident memory. None where it was not read in this sample.
    pub pss_bytes: Option<u64>,
    /// Its anonymous part: heaps, stacks, shared mappings. None if it was not read in this sample.
    pub private_bytes: Option<u64>,
    /// Time that threads were runnable and waited for a CPU. None, like the next two, if threads were not read in this
    /// sample.
    pub run_delay_ns: Option<u64>,
    /// Voluntary context switches.
    pub switches_voluntary: Option<u64>,
    /// Involuntary ones.
    pub switches_involuntary: Option<u64>,
}

/// CPU time of a set of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSample {
    /// User mode, nice included.
    pub user_ns: u64,
    /// Kernel mode without interrupts.
    pub system_ns: u64,
    /// Hard and soft interrupts.
    pub softirq_ns: u64,
    /// Steal: time in which the hypervisor ran something else.
    pub steal_ns: u64,
}
