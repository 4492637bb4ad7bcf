//! Which worker gets a connection, where each has a listener of its own on one port (SO_REUSEPORT).

use std::io;

use pitot_sys::port_group;

use crate::model::Listeners;

/// How connections are spread over the listeners of the workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steering {
    /// By a hash of the addresses and ports, which is what the kernel does.
    #[default]
    Hash,
    /// To the worker on the CPU that receives the first packet, as an option of each listener (SO_INCOMING_CPU).
    IncomingCpu,
    /// The same, by a program of the group of listeners (SO_ATTACH_REUSEPORT_CBPF).
    Bpf,
}

impl Steering {
    /// All, and their names.
    pub const ALL: [(&'static str, Steering); 3] =
        [("hash", Steering::Hash), ("incoming-cpu", Steering::IncomingCpu), ("bpf", Steering::Bpf)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Steering::ALL.iter().find(|(_, steering)| *steering == self).map_or("", |(name, _)| name)
    }

    /// True if each worker needs a CPU of its own.
    pub fn is_by_cpu(self) -> bool {
        self != Steering::Hash
    }

    /// Applies it to listeners of workers on these CPUs, one each.
    ///
    /// # Errors
    /// As those of [`port_group`].
    pub(crate) fn apply(self, listeners: &Listeners, cpus: &[usize]) -> io::Result<()> {
        match self {
            Steering::Hash => Ok(()),
            Steering::IncomingCpu => listeners
                .0
                .iter()
                .zip(cpus)
                .try_for_each(|(listener, &cpu)| port_group::prefer_cpu(listener, cpu)),
            Steering::Bpf => port_group::choose_by_cpu(&listeners.0, cpus),
        }
    }
}
