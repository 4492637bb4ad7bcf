//! The description of a load, in figures.

use pitot_meter::Nanos;
use pitot_meter::units::bytes;

use super::service::Service;

/// With this much work per request, the load generator needs so little CPU that servers can use all CPUs.
const LONG_WORK: Nanos = Nanos::from_micros(500);

/// The load for which advice is wanted.
#[derive(Clone, Debug)]
pub struct Case {
    /// The protocol.
    pub service: &'static Service,
    /// Open connections, including idle ones.
    pub connections: u64,
    /// Connections with requests under way.
    pub active: u64,
    /// Bytes of a reply.
    pub size_bytes: u64,
    /// CPU time of the application for each request.
    pub work: Nanos,
    /// Requests after which a connection is closed; none if it stays.
    pub requests_per_connection: Option<u64>,
    /// The files to serve, if any.
    pub files: Option<FileSet>,
    /// Whether a fault in one connection must not affect others.
    pub isolation: bool,
    /// CPUs that the servers have in the run.
    pub cpus: usize,
}

/// The files that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSet {
    /// Bytes of all of them.
    pub bytes: u64,
    /// True if they are more than memory holds.
    pub is_cold: bool,
}

impl Case {
    /// Connections that are open and do nothing.
    pub fn idle(&self) -> u64 {
        self.connections.saturating_sub(self.active)
    }

    /// Whether the work is so long that servers can use all CPUs in the run.
    pub fn is_long_work(work: Nanos) -> bool {
        work >= LONG_WORK
    }

    /// Whether connections are so short that opening them dominates the cost.
    pub fn is_short_lived(&self) -> bool {
        !self.service.keeps_connections || self.requests_per_connection.is_some_and(|requests| requests <= 4)
    }

    /// The description in words.
    pub fn in_words(&self) -> String {
        use pitot_meter::units::{counted, grouped};
        let mut parts = vec![format!(
            "{}, {}",
            self.service.name,
            counted(self.connections, "connection", "connections")
        )];
        if self.idle() > 0 {
            parts.push(format!("{} active", grouped(self.active)));
        }
        if self.service.has_size {
            parts.push(format!("{} each", bytes(self.size_bytes)));
        }
        if self.work > Nanos::ZERO {
            parts.push(format!("{} of CPU work per request", self.work));
        }
        if let Some(requests) = self.requests_per_connection {
            parts.push(format!("{} per connection", counted(requests, "request", "requests")));
        }
        if let Some(files) = self.files {
            let state = if files.is_cold { "more than memory holds" } else { "in memory" };
            parts.push(format!("{} of files, {state}", bytes(files.bytes)));
        }
        if self.isolation {
            parts.push("faults isolated".into());
        }
        parts.join(", ")
    }

    /// Whether files are served that have to be read from the disk.
    pub fn is_cold(&self) -> bool {
        self.files.is_some_and(|files| files.is_cold)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::advise::SERVICES;

    /// Small replies on connections that stay, on one CPU.
    pub(in crate::advise) fn plain(connections: u64, active: u64) -> Case {
        Case {
            service: &SERVICES[0],
            connections,
            active,
            size_bytes: 1024,
            work: Nanos::ZERO,
            requests_per_connection: None,
            files: None,
            isolation: false,
            cpus: 1,
        }
    }

    #[test]
    fn connections_are_short_lived_by_their_requests_or_by_their_protocol() {
        let of = |requests| Case { requests_per_connection: requests, ..plain(9, 9) };
        assert!(of(Some(1)).is_short_lived() && !of(Some(20)).is_short_lived() && !of(None).is_short_lived());
        let busy = SERVICES.iter().find(|s| s.name == "busy").unwrap();
        assert!(Case { service: busy, ..plain(9, 9) }.is_short_lived());
        assert_eq!(plain(100, 5).idle(), 95);
    }

    #[test]
    fn a_case_is_told_in_words() {
        let case = Case {
            size_bytes: 4096,
            work: Nanos::from_micros(50),
            requests_per_connection: Some(20),
            files: Some(FileSet { bytes: 20 << 30, is_cold: false }),
            isolation: true,
            ..plain(10_000, 500)
        };
        let words = "http, 10,000 connections, 500 active, 4 KiB each, 50.0 us of CPU work per request, 20 requests per \
                     connection, 20 GiB of files, in memory, faults isolated";
        assert_eq!(case.in_words(), words);
    }
}
