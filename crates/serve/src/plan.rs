//! What a user asked for, checked, before anything is started.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use pitot_proto::{ProtocolEntry, ProtocolOptions};

use crate::disk::DiskPlan;
use crate::mechanism::Mechanism;
use crate::model::Model;
use crate::server::Limits;

/// A server to be started.
#[derive(Clone, Debug)]
pub struct ServePlan {
    /// What it speaks.
    pub protocol: &'static ProtocolEntry,
    /// Options of the protocol.
    pub protocol_options: ProtocolOptions,
    /// Who owns a connection.
    pub model: &'static Model,
    /// How a worker waits.
    pub mechanism: &'static Mechanism,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The queue of connections that are established and not yet accepted.
    pub backlog: u32,
    /// The congestion control of its connections; `None` is the kernel's own choice.
    pub congestion: Option<String>,
    /// The head of a reply waits for the first bytes of its file, to share a packet with them (MSG_MORE).
    pub cork: bool,
    /// Processes, threads or loops; `None` is the model's own default.
    pub workers: Option<usize>,
    /// CPUs to which it is bound; empty means all.
    pub cpus: Vec<usize>,
    /// The directory that is served.
    pub root: Option<PathBuf>,
    /// Files up to this size are kept in memory.
    pub content_bytes_max: u64,
    /// The engine that reads the bodies of files; without one they go from the page cache to the socket.
    pub disk: Option<DiskPlan>,
    /// Connections between a relay and its data process.
    pub links: usize,
    /// The Maildir into which mail is delivered, for a protocol that stores messages.
    pub maildir: Option<PathBuf>,
    /// Bounds.
    pub limits: Limits,
    /// The command that serves one connection on its standard input, for the model that executes one; the number of
    /// the descriptor of the counters is appended.
    pub connection_command: Vec<OsString>,
}

impl ServePlan {
    /// The engine that the plan comes to under its mechanism.
    pub fn engine(&self) -> Option<DiskPlan> {
        let is_split = self.model.name == "relay";
        let engine = self.disk.or_else(|| if is_split { DiskPlan::usual() } else { None });
        engine.map(|engine| {
            if is_split { engine.under(self.mechanism).framed() } else { engine.under(self.mechanism) }
        })
    }

    /// The workers that the plan comes to.
    pub fn workers(&self) -> usize {
        self.workers.unwrap_or_else(|| {
            let cpus = if self.cpus.is_empty() {
                pitot_sys::affinity::allowed().map_or(1, |cpus| cpus.len())
            } else {
                self.cpus.len()
            };
            (self.model.workers_default)(cpus.max(1))
        })
    }

    /// The CPUs of one of several workers: one each where there are enough workers to use all, else all.
    pub fn cpus_of(&self, worker: usize) -> Vec<usize> {
        if self.cpus.is_empty() || self.workers() < self.cpus.len() {
            self.cpus.clone()
        } else {
            vec![self.cpus[worker % self.cpus.len()]]
        }
    }
}
