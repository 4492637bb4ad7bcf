//! The validated plan of a server, before anything is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use pitot_disk::{EngineOption, NotifyBy};
use pitot_proto::{ProtocolEntry, ProtocolOptions};
use pitot_results::Failure;
use pitot_sys::process::SingleThreaded;
use pitot_sys::signal;
use pitot_sys::user::User;

use crate::access_log::{AccessLog, LogTarget};
use crate::address::Address;
use crate::admission::Admission;
use crate::counters::Counters;
use crate::disk::{self, DiskPlan, Route};
use crate::failure::unavailable;
use crate::files::{FileCache, Root};
use crate::launch::LaunchPlan;
use crate::limits::Limits;
use crate::mechanism::{Kind, Mechanism};
use crate::model::Model;
use crate::ring_features::RingFeatures;
use crate::server::Server;
use crate::steering::Steering;
use crate::store::{Acknowledged, Maildir, Store, Uploads};
use crate::tls::{Tls, TlsPlan};

/// The plan of a server.
#[derive(Clone, Debug)]
pub struct ServePlan {
    /// The protocol.
    pub protocol: &'static ProtocolEntry,
    /// Options of the protocol.
    pub protocol_options: ProtocolOptions,
    /// The concurrency model.
    pub model: &'static Model,
    /// The event mechanism.
    pub mechanism: &'static Mechanism,
    /// The address to listen on; port 0 takes a free port.
    pub listen: Address,
    /// The permissions of the socket, if it is a file; `None` is what the umask leaves.
    pub unix_mode: Option<u32>,
    /// Length of the queue of established connections that are not yet accepted.
    pub backlog: u32,
    /// The TCP congestion control; `None` is the kernel's default.
    pub congestion: Option<String>,
    /// Send the head of a reply in one packet with the first bytes of its file (MSG_MORE).
    pub cork: bool,
    /// What the mechanism uring uses.
    pub ring: RingFeatures,
    /// Number of processes, threads or loops; `None` is the model's default.
    pub workers: Option<usize>,
    /// Which worker gets a connection, where each has its own listener.
    pub steering: Steering,
    /// CPUs to which it is bound; empty means all.
    pub cpus: Vec<usize>,
    /// The directory that is served.
    pub root: Option<PathBuf>,
    /// How open files are kept.
    pub file_cache: FileCache,
    /// Where requests are logged, for a protocol that logs them.
    pub access_log: Option<LogTarget>,
    /// The engine that reads file bodies; without one they are sent from the page cache to the socket.
    pub disk: Option<DiskPlan>,
    /// Connections between a relay and its data process.
    pub links: usize,
    /// The Maildir into which mail is delivered, for a protocol that stores messages.
    pub maildir: Option<PathBuf>,
    /// When stored files and messages are acknowledged.
    pub acknowledged: Acknowledged,
    /// TLS, for a server with a certificate.
    pub tls: Option<TlsPlan>,
    /// Limits on time, memory and connections.
    pub limits: Limits,
    /// The command that serves one connection on its standard input, for the model that executes one; the number of
    /// the descriptor of the counters is appended.
    pub connection_command: Vec<OsString>,
    /// The user that it becomes once everything is open.
    pub user: Option<User>,
    /// Whether it then confines itself with Landlock.
    pub confine: bool,
}

impl ServePlan {
    /// The engine under the plan's model and mechanism, if file bodies are read by one.
    pub fn engine(&self) -> Option<DiskPlan> {
        let default = || if self.model.splits_files { DiskPlan::usual() } else { None };
        let mut engine = self.disk.or_else(default)?;
        engine.options.event_loop = true;
        if !self.mechanism.watches_eventfd
            && !engine.notify_is_set
            && engine.engine.supports.contains(&EngineOption::Notify)
        {
            engine.options.notify = NotifyBy::Pipe;
        }
        Some(if self.model.splits_files { engine.framed() } else { engine })
    }

    /// The route of file bodies.
    pub fn route(&self) -> Route {
        match (self.engine(), self.mechanism.kind) {
            // io_uring reads files itself.
            (None, _) | (_, Kind::Completion { .. }) => Route::InPlace,
            (Some(engine), _) => engine.route(),
        }
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.workers.unwrap_or_else(|| {
            let cpus = self.usable_cpus().len();
            (self.model.workers_default)(cpus.max(1))
        })
    }

    /// The CPUs on which it may run.
    pub fn usable_cpus(&self) -> Vec<usize> {
        if self.cpus.is_empty() {
            pitot_sys::affinity::allowed().unwrap_or_default()
        } else {
            self.cpus.clone()
        }
    }

    /// The number of connections that are served at once, if further ones have to wait.
    pub fn connections_at_once(&self) -> Option<u64> {
        self.model.connection_per_worker.then(|| self.workers() as u64)
    }

    /// The part that the model needs.
    pub fn launch(&self, single_threaded: Option<SingleThreaded>) -> LaunchPlan {
        LaunchPlan {
            single_threaded,
            mechanism: self.mechanism,
            workers: self.workers(),
            // Workers that get the connections of a CPU run there.
            cpus: if self.steering.is_by_cpu() { self.usable_cpus() } else { self.cpus.clone() },
            links: self.links,
            connection_command: self.connection_command.clone(),
            logs_to_stdout: self.access_log == Some(LogTarget::Stdout),
        }
    }

    /// Opens what the workers share.
    ///
    /// # Errors
    /// A root or a Maildir that cannot be opened, options that the protocol refuses, files that the engine cannot read.
    pub fn server(&self, counters: Counters) -> Result<Server, Failure> {
        let protocol = (self.protocol.build)(&self.protocol_options)
            .map_err(|what| Failure::misuse(what, "see `pitot serve --help`"))?;
        let tls = self.tls.as_ref().map(|plan| Tls::new(plan, self.protocol.tls)).transpose()?;
        let disk = self.engine();
        // Content that an engine reads is not cached.
        let content_bytes_max = if disk.is_some() { 0 } else { self.file_cache.content_bytes_max };
        let cache = FileCache { content_bytes_max, ..self.file_cache };
        let root = match &self.root {
            Some(path) => Some(Root::open(path, cache).map_err(|e| {
                Failure::misuse(
                    format!("cannot open the root {}: {e}", path.display()),
                    "set --root to a readable directory",
                )
            })?),
            None => None,
        };
        let store = match (&self.maildir, &root) {
            (Some(path), _) => Some(Store::Maildir(Maildir::open(path, self.acknowledged).map_err(|e| {
                Failure::misuse(
                    format!("cannot use the Maildir {}: {e}", path.display()),
                    "use a directory where you have write permission, or one that can be created",
                )
            })?)),
            (None, Some(root)) if self.protocol_options.writable => {
                Some(Store::Uploads(Uploads::below(root.directory(), self.acknowledged)))
            }
            _ => None,
        };
        let access_log = self.access_log.as_ref().map(open_log).transpose()?;
        if let (Some(disk), Some(root)) = (&disk, &self.root) {
            disk::admit(disk, root).map_err(unavailable)?;
        }
        let (route, cork, limits) = (self.route(), self.cork, self.limits);
        let admission = Admission::new(
            limits.connections_max,
            root.is_some(),
            matches!(self.mechanism.kind, Kind::Blocking),
        );
        Ok(Server {
            protocol,
            root,
            store,
            access_log,
            disk,
            route,
            tls,
            cork,
            ring: self.ring,
            limits,
            admission,
            is_unix: self.listen.is_unix(),
            connection_per_worker: self.model.connection_per_worker,
            counters,
        })
    }
}

fn open_log(target: &LogTarget) -> Result<Arc<AccessLog>, Failure> {
    // nginx reopens its logs on this signal; it would end this server.
    signal::ignore_user1();
    AccessLog::open(target).map(Arc::new).map_err(|e| {
        let name = match target {
            LogTarget::Stdout => "on standard output".into(),
            LogTarget::File(path) => path.display().to_string(),
        };
        Failure::misuse(
            format!("cannot write the access log {name}: {e}"),
            "set --access-log to a writable file, or to - for standard output",
        )
    })
}
