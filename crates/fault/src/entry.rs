//! What a fault is, as data.

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
    /// Sentences: what is done, what clients see of it, how it is taken back.
    pub doc: &'static str,
    /// What it is aimed at.
    pub aim: Aim,
    /// The names of the [options](crate::OPTIONS) that it takes besides its aim and its length.
    pub takes: &'static [&'static str],
    /// How long it lasts if nothing is said, seconds.
    pub lasts_s: f64,
    /// It is over as soon as it is made. Its length then is that until a server that has died of it is started again.
    pub is_moment: bool,
    /// The whole server may die of it.
    pub may_end_server: bool,
    /// Replies may come to an end meanwhile. Silence in one that cannot do that is the server's own.
    pub can_silence: bool,
    /// Its clients speak HTTP without TLS: to another server it does something else.
    pub speaks_http: bool,
    /// Whether this machine and this user can make it.
    pub probe: fn() -> Result<(), Unavailable>,
    /// How it is made.
    pub means: Means,
}

/// What a fault is aimed at: the lab knows it of each server that it has started, and the user of `pitot fault` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Processes of the server: `--pid`, the first of them.
    Process,
    /// The server as a whole, which only whoever has started it can start again.
    Server,
    /// The way between load and server, which leads through a [proxy](crate::proxy).
    Path,
    /// The answers to questions for names, which come from the resolver of `pitot-dns`.
    Names,
    /// The address of the server: `--to`.
    Address,
    /// The CPUs of the server: `--cpus`.
    Cpus,
    /// The private directory of the server: `--dir`.
    Directory,
    /// Nothing that could be aimed at.
    Nothing,
}

/// What is replied to a question for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// That the resolver has failed (SERVFAIL).
    Failed,
    /// That it refuses (REFUSED).
    Refused,
    /// That there is no such name (NXDOMAIN).
    NoName,
    /// This address, if an address of its kind was asked for; else no record.
    Address(IpAddr),
    /// Nothing at all.
    Silence,
}

/// How a fault is made.
#[derive(Clone, Copy)]
pub enum Means {
    /// By `pitot fault`.
    Program {
        /// Makes it. Each change is noted with the guardian before it is made. The error is a sentence.
        begin: fn(&Options, &mut Undo) -> Result<Begun, String>,
        /// Undoes a change, from its note: in the guardian, or by `pitot host undo`.
        undo: UndoChange,
    },
    /// By the [proxy](crate::proxy) on the way: the condition, and what it does in words.
    Path(fn(&Options) -> (Condition, String)),
    /// By the resolver of `pitot-dns`: what it replies, and that in words.
    Names(fn(&Options) -> (Reply, String)),
    /// By whoever has started the server: it stops it and starts it again.
    Starter,
    /// Not at all: where it happens it is told.
    Told,
}

impl Means {
    /// Whether it is made at all.
    pub fn is_made(self) -> bool {
        !matches!(self, Means::Told)
    }
}

/// A fault that is made.
pub struct Begun {
    /// What was done, for the report: `SIGSTOP to process 4711 (pitot)`.
    pub what: String,
    /// What keeps it going; it ends when this is dropped.
    pub held: Option<Box<dyn std::any::Any>>,
}

impl Begun {
    /// A fault that nothing keeps going.
    pub fn done(what: String) -> Begun {
        Begun { what, held: None }
    }
}
