//! Resources of a repetition in its measured part.

use serde::{Deserialize, Serialize};

/// Resources in the measured part of a repetition. Times are sums over all processes or CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Length of the part that these figures cover: the samples nearest to the measured part.
    pub window_s: f64,
    /// Samples within it.
    pub samples: u32,
    /// CPU time of the server's process tree.
    pub server_cpu_s: f64,
    /// Its part in user mode.
    pub server_user_s: f64,
    /// Its part in the kernel, softirq excluded.
    pub server_system_s: f64,
    /// Interrupt time (hard and soft) on the server's CPUs: on a loopback most of it is network work done for both.
    pub server_softirq_s: f64,
    /// Time that the server's threads were runnable and waited for a CPU.
    pub server_run_delay_s: f64,
    /// Most processes of the tree.
    pub server_processes_max: u64,
    /// Most threads of the tree.
    pub server_threads_max: u64,
    /// Most open descriptors of the tree.
    pub server_descriptors_max: u64,
    /// Most resident memory, pages shared between processes counted for each of them.
    pub server_rss_bytes_max: u64,
    /// Most resident memory with shared pages divided among their users. 0 if it could not be read.
    pub server_pss_bytes_max: u64,
    /// Resident memory (PSS, else RSS) of the tree when it was ready and before any load.
    pub server_idle_bytes: u64,
    /// Peak anonymous memory of the tree under load. 0 if it could not be read.
    pub server_private_bytes_max: u64,
    /// The same when it was ready and before any load.
    pub server_private_bytes_idle: u64,
    /// Peak anonymous memory of the load generator's tree, in the window. 0 if it could not be read.
    pub load_private_bytes_max: u64,
    /// Memory of the machine's kernel when the server was ready and before any load. 0 if it could not be read.
    pub kernel_bytes_idle: u64,
    /// The most of it in the window.
    pub kernel_bytes_max: u64,
    /// Mean resident memory in the window.
    pub server_rss_bytes_mean: f64,
    /// Context switches of the server's tree, voluntary and involuntary. Those of processes and threads that ended
    /// between two samples are estimated from [`server_lifetime`](Self::server_lifetime).
    pub server_switches: u64,
    /// The involuntary ones among them.
    pub server_switches_involuntary: u64,
    /// The server's usage from start to end, as reported by wait4(2): exact, with descendants that it has waited for. None
    /// if its end was not seen.
    pub server_lifetime: Option<Lifetime>,
    /// CPU time of the load generator's process tree.
    pub load_cpu_s: f64,
    /// Time that the load generator's threads were runnable and waited for a CPU.
    pub load_run_delay_s: f64,
    /// How many CPUs the servers had.
    pub server_cpus: u32,
    /// How many CPUs the load generator had.
    pub load_cpus: u32,
    /// Busy time of the server's CPUs, of all processes.
    pub server_cpus_busy_s: f64,
    /// Busy time of the load generator's CPUs.
    pub load_cpus_busy_s: f64,
    /// Steal time on all CPUs of both sides.
    pub steal_s: f64,
    /// TCP segments that the machine retransmitted.
    pub tcp_retransmits: u64,
    /// Connections refused because an accept queue was full.
    pub listen_overflows: u64,
    /// SYNs dropped by listeners for any reason.
    pub listen_drops: u64,
    /// Physical memory of the machine.
    pub memory_total_bytes: u64,
    /// Share of one CPU that the monitor itself used.
    pub monitor_cpu_share: f64,
}

/// A process's usage in its whole life, with descendants that it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// CPU time.
    pub cpu_s: f64,
    /// Times that a thread gave up the CPU to wait.
    pub switches_voluntary: u64,
    /// Times that a thread was made to give up the CPU.
    pub switches_involuntary: u64,
}
