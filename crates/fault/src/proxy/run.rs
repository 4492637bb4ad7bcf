//! The loop of the proxy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use pitot_meter::{Nanos, Random, now};
use pitot_results::Failure;
use pitot_sys::readiness::{EpollLevel, Interest, Readiness, Ready};
use pitot_sys::signal::{Signal, SignalFd};
use pitot_sys::socket::{self, Listen};
use pitot_sys::{Token, connect};

use super::bucket::Bucket;
use super::condition::Condition;
use super::link::{CLIENT, Link, SERVER, Waits};
use crate::commands::{self, Commands, PROXY_BEGAN, PROXY_ENDED, PROXY_REFUSED, say};
use crate::entry::Means;

/// Prefix of its last line, with counts of client connections.
const PROXY_COUNTS: &str = "accepted ";

const BACKLOG: u32 = 4096;
const BUFFER_BYTES: usize = 64 * 1024;
/// Tokens of descriptors that are not connections.
const LISTENER: u32 = u32::MAX;
const INPUT: u32 = u32::MAX - 1;
const SIGNALS: u32 = u32::MAX - 2;
/// Each link has two tokens.
const LINKS_MAX: usize = 1 << 30;

/// Forwards connections to `to` until a signal or the command `quit`.
///
/// # Errors
/// If it cannot listen, or the kernel refuses what the loop needs.
pub fn serve(listen: SocketAddr, to: SocketAddr) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::run(format!("the proxy failed: {e}"), "raise ulimit -n");
    let _ = pitot_sys::limits::raise_descriptors();
    let how = Listen { backlog: BACKLOG, reuse_port: false, nonblocking: true, congestion: None };
    let listener = socket::listen(listen, how)
        .map_err(|e| Failure::misuse(format!("cannot listen on {listen}: {e}"), "choose another --listen"))?;
    let address = socket::local_addr(&listener).map_err(failed)?;
    let counts = Proxy::new(listener, to).and_then(|proxy| proxy.run(address)).map_err(failed)?;
    let Counts { accepted, refused, reset, broken } = counts;
    let resets = refused + reset + broken;
    say(format_args!(
        "{PROXY_COUNTS}{accepted} refused {refused} reset {reset} broken {broken} resets {resets}"
    ));
    Ok(())
}

struct Proxy {
    epoll: EpollLevel,
    listener: OwnedFd,
    listening: Interest,
    signals: SignalFd,
    to: SocketAddr,
    links: Vec<Option<Link>>,
    free: Vec<u32>,
    generation: u32,
    /// The due times of links.
    due: BinaryHeap<Reverse<(Nanos, u32, u32)>>,
    counts: Counts,
    /// Active faults, by number.
    faults: BTreeMap<String, Condition>,
    condition: Condition,
    buckets: [Bucket; 2],
    random: Random,
    buffer: Vec<u8>,
    commands: Commands,
}

/// Counts of client connections.
#[derive(Debug, Default)]
struct Counts {
    /// Accepted.
    accepted: u64,
    /// Of these, reset at once: a fault resets connections, or the server cannot be reached.
    refused: u64,
    /// Reset by a fault after they were connected.
    reset: u64,
    /// Reset because one of their ends was reset.
    broken: u64,
}

impl Proxy {
    fn new(listener: OwnedFd, to: SocketAddr) -> std::io::Result<Proxy> {
        let mut epoll = EpollLevel::new()?;
        let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate])?;
        epoll.watch(listener.as_fd(), Token::new(LISTENER, 0), Interest::Read)?;
        epoll.watch(signals.as_fd(), Token::new(SIGNALS, 0), Interest::Read)?;
        // A file or /dev/null cannot be watched, and has no commands.
        let _ = epoll.watch(std::io::stdin().as_fd(), Token::new(INPUT, 0), Interest::Read);
        Ok(Proxy {
            epoll,
            listener,
            listening: Interest::Read,
            signals,
            to,
            links: Vec::new(),
            free: Vec::new(),
            generation: 0,
            due: BinaryHeap::new(),
            counts: Counts::default(),
            faults: BTreeMap::new(),
            condition: Condition::default(),
            buckets: Default::default(),
            random: Random::new(1),
            buffer: vec![0; BUFFER_BYTES],
            commands: Commands::default(),
        })
    }

    /// Runs until a command ends it. Returns counts of client connections.
    fn run(mut self, address: SocketAddr) -> std::io::Result<Counts> {
        say(format_args!("ready {address}"));
        let mut ready = Vec::new();
        loop {
            let timeout = self.due.peek().map(|Reverse((at, ..))| Duration::from_nanos(at.since(now()).0));
            ready.clear();
            self.epoll.wait(timeout, &mut ready)?;
            for one in &ready {
                match one.token.index() {
                    LISTENER => self.accept(),
                    SIGNALS if self.signals.next().is_some() => return Ok(self.counts),
                    SIGNALS => {}
                    INPUT => {
                        if self.commands() {
                            return Ok(self.counts);
                        }
                    }
                    index => self.event(index, one),
                }
            }
            let at = now();
            while let Some(Reverse((due, index, generation))) = self.due.peek().copied()
                && due <= at
            {
                self.due.pop();
                if self.link(index).is_some_and(|link| link.generation == generation) {
                    self.pass_on(index);
                }
            }
        }
    }

    fn link(&mut self, index: u32) -> Option<&mut Link> {
        self.links.get_mut(index as usize)?.as_mut()
    }

    fn accept(&mut self) {
        loop {
            let client = match socket::accept(&self.listener, true) {
                Ok(client) => client,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {
                    continue;
                }
                Err(_) => return,
            };
            self.counts.accepted += 1;
            if self.condition.reset || self.links.len() - self.free.len() >= LINKS_MAX {
                self.refuse(&client);
                continue;
            }
            let server = connect::open(self.to, None).and_then(|server| {
                let connected = connect::start(&server, self.to)?;
                Ok((server, connected))
            });
            let Ok((server, connected)) = server else {
                self.refuse(&client);
                continue;
            };
            self.generation = self.generation.wrapping_add(1);
            let index = self.free.pop().unwrap_or_else(|| {
                self.links.push(None);
                self.links.len() as u32 - 1
            });
            let link = Link::new(client, server, connected, self.generation);
            let watched = [CLIENT, SERVER].iter().all(|&end| {
                self.epoll.watch(link.ends[end].as_fd(), token(index, end, &link), Interest::Nothing).is_ok()
            });
            self.links[index as usize] = Some(link);
            if watched { self.watch(index, Waits::default()) } else { self.reset(index) }
        }
    }

    /// Resets the connection of a client that cannot be forwarded.
    fn refuse(&mut self, client: &OwnedFd) {
        let _ = socket::reset_on_close(client);
        self.counts.refused += 1;
    }

    /// Handles an event of an end.
    fn event(&mut self, bits: u32, ready: &Ready) {
        let (index, end) = (bits >> 1, (bits & 1) as usize);
        let (delay, jitter) = (self.condition.delay, self.condition.jitter);
        let black_hole = self.condition.black_hole;
        let drawn = Nanos((self.random.unit() * jitter.0 as f64) as u64);
        let Some(link) = self.links.get_mut(index as usize).and_then(Option::as_mut) else { return };
        if link.generation % Token::GENERATIONS != ready.token.generation() {
            return;
        }
        let at = now();
        let outcome = if end == SERVER && !link.is_connected() {
            link.try_connected()
        } else if black_hole {
            // Data that was readable when the traffic was blocked waits; errors are reported even for ends that are not watched.
            if ready.ended { Err(ErrorKind::ConnectionReset.into()) } else { Ok(()) }
        } else if ready.readable {
            let due = if end == SERVER { at + delay + drawn } else { at };
            link.receive(end, &mut self.buffer, due)
        } else {
            Ok(())
        };
        match outcome {
            Ok(()) => self.pass_on(index),
            Err(_) => self.reset(index),
        }
    }

    /// Forwards what is due, and updates watches.
    fn pass_on(&mut self, index: u32) {
        if self.condition.black_hole {
            return self.watch(index, Waits::default());
        }
        let Some(link) = self.links.get_mut(index as usize).and_then(Option::as_mut) else { return };
        if !link.is_connected() {
            return self.watch(index, Waits::default());
        }
        let Ok(waits) = link.send(&mut self.buckets, now()) else { return self.reset(index) };
        if link.is_over() {
            return self.remove(index, false);
        }
        if let Some(at) = waits.until {
            let generation = link.generation;
            self.due.push(Reverse((at, index, generation)));
        }
        self.watch(index, waits);
    }

    /// Watches both ends of a link for what they wait for.
    fn watch(&mut self, index: u32, waits: Waits) {
        let black_hole = self.condition.black_hole;
        let Some(link) = self.links.get_mut(index as usize).and_then(Option::as_mut) else { return };
        for end in [CLIENT, SERVER] {
            let held = black_hole && link.is_connected();
            let interest = if held { Interest::Nothing } else { link.interest(end, waits) };
            if link.interests[end] != interest {
                link.interests[end] = interest;
                let _ = self.epoll.rewatch(link.ends[end].as_fd(), token(index, end, link), interest);
            }
        }
    }

    /// Resets a link with a broken or unreachable end.
    fn reset(&mut self, index: u32) {
        match self.link(index).map(|link| link.is_connected()) {
            Some(true) => self.counts.broken += 1,
            Some(false) => self.counts.refused += 1,
            None => return,
        }
        self.remove(index, true);
    }

    /// Resets a link for a fault.
    fn reset_by_fault(&mut self, index: u32) {
        if self.link(index).is_some() {
            self.counts.reset += 1;
            self.remove(index, true);
        }
    }

    fn remove(&mut self, index: u32, with_reset: bool) {
        let Some(link) = self.links.get_mut(index as usize).and_then(Option::take) else { return };
        for end in &link.ends {
            self.epoll.unwatch(end.as_fd(), true);
        }
        self.free.push(index);
        if with_reset {
            link.reset();
        }
    }

    /// Reads and runs commands. True if the proxy should end.
    fn commands(&mut self) -> bool {
        if !self.commands.read() {
            // There are no more commands; connections continue.
            self.epoll.unwatch(std::io::stdin().as_fd(), false);
            return false;
        }
        while let Some(line) = self.commands.next() {
            if line == "quit" {
                return true;
            }
            self.command(&line);
        }
        false
    }

    fn command(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let (verb, number) = (words.next(), words.next().unwrap_or_default().to_owned());
        match verb {
            Some("begin") => match condition(words) {
                Ok((condition, what)) => {
                    self.faults.insert(number.clone(), condition);
                    let at = now();
                    self.apply();
                    say(format_args!("{PROXY_BEGAN}{number} {} {what}", at.0));
                }
                Err(why) => say(format_args!("{PROXY_REFUSED}{number} {why}")),
            },
            Some("end") if self.faults.remove(&number).is_some() => {
                self.apply();
                say(format_args!("{PROXY_ENDED}{number} {}", now().0));
            }
            _ => say(format_args!("{PROXY_REFUSED}{number} `{line}` is not a valid command now")),
        }
    }

    /// Applies the active faults to all connections.
    fn apply(&mut self) {
        let before = self.condition;
        self.condition = Condition::of(self.faults.values().copied());
        if before.bytes_per_s != self.condition.bytes_per_s {
            let at = now();
            self.buckets.iter_mut().for_each(|bucket| bucket.set(self.condition.bytes_per_s, at));
        }
        // If all traffic is blocked, do not accept either.
        let listening = if self.condition.black_hole { Interest::Nothing } else { Interest::Read };
        if listening != self.listening {
            self.listening = listening;
            let _ = self.epoll.rewatch(self.listener.as_fd(), Token::new(LISTENER, 0), listening);
        }
        for index in 0..self.links.len() as u32 {
            if self.condition.reset { self.reset_by_fault(index) } else { self.pass_on(index) }
        }
    }
}

/// The token of an end.
fn token(index: u32, end: usize, link: &Link) -> Token {
    Token::new(index << 1 | end as u32, link.generation)
}

/// The condition and the description of a fault, from its name and options. The error is a sentence.
fn condition<'a>(words: impl Iterator<Item = &'a str>) -> Result<(Condition, String), String> {
    let (fault, options) = commands::fault(words)?;
    let Means::Path(of) = fault.means else {
        return Err(format!("the fault proxy cannot make `{}`", fault.name));
    };
    Ok(of(&options))
}
