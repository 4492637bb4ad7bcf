//! One host of a repetition.

use super::link::{Clock, Link};
use crate::runner::executor::Executor;

/// An executor, and the clock of the host that it is on.
pub(super) struct Side<'m> {
    pub(super) executor: Box<dyn Executor + 'm>,
    /// None on this machine.
    pub(super) link: Option<&'m Link>,
}

impl Side<'_> {
    /// The plan's name for the host; empty for this machine.
    pub(super) fn name(&self) -> &str {
        self.link.map_or("", |link| &link.name)
    }

    pub(super) fn clock(&self) -> Clock {
        self.link.map_or_else(Clock::default, Link::clock)
    }

    /// Converts a time of this host's clock to the lab's.
    pub(super) fn here(&self, at_ns: u64) -> u64 {
        at_ns.wrapping_sub(self.clock().offset_ns as u64)
    }

    /// Converts a time of the lab's clock to this host's.
    pub(super) fn there(&self, at_ns: u64) -> u64 {
        at_ns.wrapping_add(self.clock().offset_ns as u64)
    }
}
