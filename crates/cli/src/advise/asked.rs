//! From the options to a case.

use pitot_results::Failure;
use pitot_study::advise::{Case, FileSet, SERVICES};

use super::measure::Bench;
use super::options::Advise;
use crate::failure::hint;

/// Larger replies are not tried.
const SIZE_MAX: u64 = 1 << 30;
/// The share of memory that the page cache can be.
const CACHE_SHARE: f64 = 0.9;

impl Advise {
    /// The case that the options describe.
    pub(super) fn case(&self, bench: &Bench) -> Result<Case, Failure> {
        let Some(service) = SERVICES.iter().find(|service| service.name == self.protocol) else {
            let near = hint(&self.protocol, SERVICES.iter().map(|service| service.name));
            let names: Vec<&str> = SERVICES.iter().map(|service| service.name).collect();
            return Err(Failure::misuse(
                format!("there is no advice for protocol `{}`{near}", self.protocol),
                format!("choose one of {}; for mail there is `pitot run mail`", names.join(", ")),
            ));
        };
        let active = self.active.of(self.connections);
        let name = service.name;
        let refused = [
            (self.connections == 0, "there is no connection".into(), "set --connections to 1 or more"),
            (active == 0, "no connection is active".into(), "set --active to 1 or more"),
            (
                active > self.connections,
                format!("{active} of {} connections cannot be active", self.connections),
                "set --active to at most --connections, or to a share such as 5%",
            ),
            (
                self.requests_per_connection == Some(0),
                "a connection needs a request".into(),
                "set --requests-per-connection to 1 or more, or omit it",
            ),
            (
                self.requests_per_connection.is_some_and(|n| n > u64::from(u32::MAX)),
                "that is too many requests for a connection".into(),
                "omit --requests-per-connection",
            ),
            (
                !service.keeps_connections && active < self.connections,
                format!("connections of {name} close after their reply: none is idle"),
                "omit --active",
            ),
            (
                !service.keeps_connections && self.requests_per_connection.is_some_and(|n| n != 1),
                format!("connections of {name} carry one request"),
                "omit --requests-per-connection",
            ),
            (
                self.files.is_some() && !service.has_files,
                format!("{name} serves no files"),
                "omit --files, or use --protocol http",
            ),
            (
                self.size == 0 && service.has_size,
                "replies must have at least one byte".into(),
                "set --size to 1 or more",
            ),
            (
                self.size > SIZE_MAX,
                "replies of more than 1 GiB are not supported".into(),
                "use a smaller --size: above a few MiB the cost is proportional to the size",
            ),
            (
                self.files.is_some_and(|bytes| bytes < self.size),
                "all files together are smaller than one file".into(),
                "set --files to the size of all files, and --size to that of one",
            ),
            (
                self.connections.saturating_add(SPARE) > bench.descriptors,
                format!(
                    "{} connections need more descriptors than the limit of a process ({})",
                    self.connections, bench.descriptors
                ),
                "raise the hard limit (`ulimit -Hn`, `pitot host check`), or describe a part of the load",
            ),
        ];
        if let Some((_, what, fix)) = refused.into_iter().find(|(is_so, _, _)| *is_so) {
            return Err(Failure::misuse(what, fix));
        }
        let memory = self.memory.unwrap_or_else(pitot_host::memory_total_bytes);
        let files =
            self.files.map(|bytes| FileSet { bytes, is_cold: bytes as f64 > memory as f64 * CACHE_SHARE });
        Ok(Case {
            service,
            connections: self.connections,
            active,
            size_bytes: self.size,
            work: self.cpu_work,
            requests_per_connection: self.requests_per_connection,
            files,
            isolation: self.isolation,
            cpus: bench.server_cpus(self.cpu_work),
        })
    }
}

/// Descriptors besides those of connections.
const SPARE: u64 = 264;
