//! What all workers of a server share, and what each has for itself.

use std::fmt;
use std::time::Duration;

use pitot_proto::{Context, DeliverError, Delivery, MailCounts, Outbox, Parcel, Protocol};
use pitot_results::Failure;

use pitot_sys::signal;

use crate::clock::Clock;
use crate::counters::{Count, Counters, WorkerCounters};
use crate::depot::{Depot, Stored};
use crate::disk::{DiskPlan, Route};
use crate::failure::unavailable;
use crate::files::{Files, Root};
use crate::maildir::Maildir;
use crate::plan::ServePlan;
use crate::uploads::Uploads;

/// Bounds on what a connection may take: time, memory, and its share of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the first byte of a request's head to its last.
    pub header_timeout: Duration,
    /// Between requests.
    pub idle_timeout: Duration,
    /// Without progress in sending a reply or receiving a body.
    pub write_timeout: Duration,
    /// For requests in flight when the server is told to stop.
    pub grace: Duration,
    /// Connections at one time, in all workers; the next ones are closed at once.
    pub connections_max: u64,
    /// Accepts in one wake-up of a loop, before the connections get their turn.
    pub accepts_per_wakeup: u32,
    /// Bytes of replies that may wait in memory for one slow reader before no more of its requests are read.
    pub outbox_bytes: u64,
    /// CPU time to burn for each reply, to make a server that is slower by a known amount.
    pub burn: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            header_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(60),
            grace: Duration::from_secs(10),
            connections_max: u64::MAX,
            accepts_per_wakeup: 64,
            outbox_bytes: 256 << 10,
            burn: Duration::ZERO,
        }
    }
}

/// What all workers share.
pub struct Server {
    /// The protocol.
    pub protocol: Box<dyn Protocol>,
    /// The directory that is served.
    pub root: Option<Root>,
    /// Where mail goes, or where files may be put.
    pub depot: Option<Depot>,
    /// The engine that reads files, if one does, and the route that bodies take.
    pub disk: Option<DiskPlan>,
    /// See `disk`.
    pub route: Route,
    /// See [`ServePlan::cork`].
    pub cork: bool,
    /// Bounds.
    pub limits: Limits,
    /// Counters.
    pub counters: Counters,
}

impl Server {
    /// The server of a plan.
    ///
    /// # Errors
    /// A root or a Maildir that cannot be opened, options that the protocol refuses.
    pub fn build(plan: &ServePlan, counters: Counters) -> Result<Server, Failure> {
        let protocol = (plan.protocol.build)(&plan.protocol_options)
            .map_err(|what| Failure::misuse(what, "see `pitot serve --help`"))?;
        let disk = plan.engine();
        // What an engine is to read is not kept.
        let content_bytes_max = if disk.is_some() { 0 } else { plan.content_bytes_max };
        let root = match &plan.root {
            Some(path) => Some(Root::open(path, content_bytes_max).map_err(|e| {
                Failure::misuse(
                    format!("the root {} cannot be opened: {e}", path.display()),
                    "give --root a directory that you may read",
                )
            })?),
            None => None,
        };
        let depot = match (&plan.maildir, &root) {
            (Some(path), _) => Some(Depot::Maildir(Maildir::open(path).map_err(|e| {
                Failure::misuse(
                    format!("the Maildir {} cannot be used: {e}", path.display()),
                    "name a directory in which you may write, or one that can be made",
                )
            })?)),
            (None, Some(root)) if plan.protocol_options.writable => {
                signal::ignore_file_size_limit();
                Some(Depot::Uploads(Uploads::below(root.directory())))
            }
            _ => None,
        };
        let route = disk.map_or(Route::InPlace, |disk| disk.route_under(plan.mechanism));
        if let (Some(disk), Some(root)) = (&disk, &plan.root) {
            disk.admit(root).map_err(unavailable)?;
        }
        Ok(Server { protocol, root, depot, disk, route, cork: plan.cork, limits: plan.limits, counters })
    }

    /// The engine that the workers of this server open, if bodies go by one.
    pub fn engine(&self) -> Option<&DiskPlan> {
        self.disk.as_ref().filter(|_| self.route != Route::InPlace)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("root", &self.root)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Outboxes kept for reuse by one worker.
const OUTBOXES_MAX: usize = 64;

/// What one worker has for itself.
#[derive(Debug)]
pub struct Env {
    /// The time of the last wake-up.
    pub clock: Clock,
    /// Its open files.
    pub files: Files,
    depot: Option<Depot>,
    /// What is stored is not stored by this worker, which must not wait for the disk.
    pub stores_elsewhere: bool,
    /// Its counters.
    pub counters: WorkerCounters,
    /// Bounds.
    pub limits: Limits,
    /// How the bodies of files travel.
    pub route: Route,
    /// See [`ServePlan::cork`].
    pub cork: bool,
    /// The server is stopping.
    pub stopping: bool,
    #[expect(
        clippy::vec_box,
        reason = "they move between here and the connections, which hold a pointer only"
    )]
    outboxes: Vec<Box<Outbox>>,
}

impl Env {
    /// The world of worker `index`.
    pub fn new(server: &Server, index: usize) -> Env {
        Env {
            clock: Clock::new(),
            files: Files::new(server.root.clone(), server.engine().map(DiskPlan::file_options)),
            depot: server.depot.clone(),
            stores_elsewhere: false,
            counters: server.counters.worker(index),
            limits: server.limits,
            route: server.route,
            cork: server.cork,
            stopping: false,
            outboxes: Vec::new(),
        }
    }

    /// What a protocol sees of the world.
    pub fn context(&self) -> Context<'_> {
        Context { unix_s: self.clock.unix_s(), date: self.clock.date(), stopping: self.stopping }
    }

    /// An empty outbox.
    pub fn outbox(&mut self) -> Box<Outbox> {
        self.outboxes.pop().unwrap_or_default()
    }

    /// Takes an empty outbox back.
    pub fn recycle(&mut self, outbox: Box<Outbox>) {
        debug_assert!(outbox.is_empty());
        if self.outboxes.len() < OUTBOXES_MAX {
            self.outboxes.push(outbox);
        }
    }

    /// Does the step of a delivery or an upload that the outbox asks for. It waits for the disk. `None` if somebody else
    /// has to do it, whose outcome goes to [`Env::stored`].
    pub fn deliver(&mut self, outbox: &mut Outbox) -> Option<Result<Option<Parcel>, DeliverError>> {
        if self.stores_elsewhere {
            return None;
        }
        let (path, delivery) = outbox.delivery();
        let result = match &self.depot {
            Some(depot) => depot.store(path, delivery),
            None => Err(DeliverError::Failed),
        };
        Some(self.stored(result))
    }

    /// Takes the step of a delivery or an upload out of the outbox, for somebody else to do.
    pub fn take_step(&mut self, outbox: &mut Outbox) -> (Box<[u8]>, Delivery) {
        let (path, delivery) = outbox.delivery();
        if delivery.parcel.is_none() {
            // To close the file that is replaced after it was frees its blocks, and that waits for the disk.
            self.files.forget(path);
        }
        (path.into(), std::mem::take(delivery))
    }

    /// Takes notice of what a step of storing came to, and says what the core is to know of it.
    pub fn stored(&mut self, result: Result<Stored, DeliverError>) -> Result<Option<Parcel>, DeliverError> {
        match result {
            Ok(Stored::Going(parcel)) => Ok(Some(parcel)),
            Ok(Stored::Done(path)) => {
                self.files.forget(&path);
                Ok(None)
            }
            Err(error) => {
                self.counters.add(Count::DeliveryFailed, 1);
                Err(error)
            }
        }
    }

    /// Counts the replies and the mail of the outbox, and burns the time for them that was asked for.
    pub fn count_replies(&mut self, outbox: &mut Outbox) {
        let mail = outbox.take_mail_counts();
        if mail != MailCounts::default() {
            self.counters.add(Count::RecipientsAccepted, mail.recipients_accepted.into());
            self.counters.add(Count::Messages, mail.messages.into());
            self.counters.add(Count::Recipients, mail.recipients.into());
        }
        let replies = outbox.take_replies();
        if replies == 0 {
            return;
        }
        self.counters.add(Count::Requests, replies.into());
        if !self.limits.burn.is_zero() {
            pitot_meter::burn((self.limits.burn * replies).into());
        }
    }
}
