//! A fault as data.

use std::net::IpAddr;

use pitot_sys::Unavailable;

use crate::options::Options;
use crate::proxy::condition::Condition;
use crate::undo::{Undo, UndoChange};

/// A fault.
pub struct Fault {
    /// Its name in plans and on the command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Documentation: what is done, the effect on clients, and how it is undone.
    pub doc: &'static str,
    /// Its target.
    pub aim: Aim,
    /// The names of its [options](crate::OPTIONS), besides target and length.
    pub takes: &'static [&'static str],
    /// Its default length, seconds.
    pub lasts_s: f64,
    /// It is instantaneous. Its length is the time until a server that died in it is restarted.
    pub is_moment: bool,
    /// The server may die in it.
    pub may_end_server: bool,
    /// Replies may stop during it. If not, silence is a hang of the server.
    pub can_silence: bool,
    /// Its clients speak HTTP without TLS, so it has another effect on other servers.
    pub speaks_http: bool,
    /// Checks whether this machine and user can make it.
    pub probe: fn() -> Result<(), Unavailable>,
    /// How it is made.
    pub means: Means,
}

/// The target of a fault, which the lab knows and a user of `pitot fault` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Processes of the server: `--pid`, the first of them.
    Process,
    /// The whole server, which only its starter can restart.
    Server,
    /// The connections between load and server, through a [proxy](crate::proxy).
    Path,
    /// DNS replies, by the resolver of `pitot-dns`.
    Names,
    /// The address of the server: `--to`.
    Address,
    /// The CPUs of the server: `--cpus`.
    Cpus,
    /// The private directory of the server: `--dir`.
    Directory,
    /// None.
    Nothing,
}

/// The reply to a DNS query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The resolver has failed (SERVFAIL).
    Failed,
    /// It refuses (REFUSED).
    Refused,
    /// There is no such name (NXDOMAIN).
    NoName,
    /// This address, for a query of its type; else no record.
    Address(IpAddr),
    /// No reply.
    Silence,
}

/// How a fault is made.
#[derive(Clone, Copy)]
pub enum Means {
    /// By `pitot fault`.
    Program {
        /// Makes it. Each change is noted before it is made. The error is a sentence.
        begin: fn(&Options, &mut Undo) -> Result<Begun, String>,
        /// Undoes a change from its note: in the guardian, or by `pitot host undo`.
        undo: UndoChange,
    },
    /// By the [proxy](crate::proxy): the condition, and a description.
    Path(fn(&Options) -> (Condition, String)),
    /// By the resolver of `pitot-dns`: its reply, and a description.
    Names(fn(&Options) -> (Reply, String)),
    /// By the starter of the server, which restarts it.
    Starter,
    /// Not made, only reported when it happens.
    Told,
}

impl Means {
    /// Whether it is made at all.
    pub fn is_made(self) -> bool {
        !matches!(self, Means::Told)
    }
}

/// An active fault.
pub struct Begun {
    /// What was done, for the report: `SIGSTOP to process 4711 (pitot)`.
    pub what: String,
    /// What holds it; it ends when this is dropped.
    pub held: Option<Box<dyn std::any::Any>>,
}

impl Begun {
    /// A fault that needs nothing to hold it.
    pub fn done(what: String) -> Begun {
        Begun { what, held: None }
    }
}
