//! The loop of the resolver.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use pitot_fault::commands::{self, Commands, PROXY_BEGAN, PROXY_ENDED, PROXY_REFUSED, say};
use pitot_fault::{Means, Reply};
use pitot_meter::now;
use pitot_results::Failure;
use pitot_sys::Token;
use pitot_sys::readiness::{EpollLevel, Interest, Readiness};
use pitot_sys::signal::{Signal, SignalFd};
use rustix::net::sockopt;

use super::message::{self, Query};

/// Tokens of the watched descriptors.
const CLIENTS: u32 = 0;
const ANSWERS: u32 = 1;
const INPUT: u32 = 2;
const SIGNALS: u32 = 3;
/// A datagram has no more.
const DATAGRAM_BYTES: usize = 65_536;
/// Room for questions that come at once, if it can be had: the kernel drops what finds none.
const SOCKET_BYTES: usize = 8 << 20;
/// Datagrams taken before commands are read.
const RECEIVES_MAX: usize = 256;

/// Answers names until a signal or the command `quit` ends it; with `to` it passes questions on to the resolver there.
///
/// # Errors
/// If an address is not on loopback or cannot be listened on, or the kernel refuses what a loop needs.
pub fn serve(listen: SocketAddr, to: Option<SocketAddr>) -> Result<(), Failure> {
    for address in [Some(listen), to].into_iter().flatten() {
        if !address.ip().is_loopback() {
            return Err(Failure::misuse(
                format!("{address} is not on loopback: questions must not leave this machine"),
                "use an address on loopback, such as 127.0.0.1:5353",
            ));
        }
    }
    let failed =
        |e: std::io::Error| Failure::run(format!("the resolver cannot continue: {e}"), "raise ulimit -n");
    let socket = UdpSocket::bind(listen)
        .map_err(|e| Failure::misuse(format!("cannot listen on {listen}: {e}"), "choose another --listen"))?;
    let address = socket.local_addr().map_err(failed)?;
    let mut resolver = Resolver::new(socket).map_err(failed)?;
    if let Some(to) = to {
        resolver.lead_to(to).map_err(failed)?;
    }
    say(format_args!("ready {address}"));
    let counts = resolver.run().map_err(failed)?;
    let Counts { asked, answered, passed_on, in_fault } = counts;
    say(format_args!("asked {asked} answered {answered} passed-on {passed_on} in-fault {in_fault}"));
    Ok(())
}

/// What became of questions.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Questions that could be read.
    asked: u64,
    /// Those answered by this resolver, without a fault.
    answered: u64,
    /// Those passed on.
    passed_on: u64,
    /// Questions during a fault, which decided the reply.
    in_fault: u64,
}

/// A question that was passed on.
#[derive(Clone, Copy)]
struct Asked {
    client: SocketAddr,
    id: u16,
}

struct Resolver {
    epoll: EpollLevel,
    clients: UdpSocket,
    /// Where questions are passed on to.
    answers: Option<UdpSocket>,
    signals: SignalFd,
    /// Forwarded questions by their ID there: at most 65536.
    asked: HashMap<u16, Asked>,
    last_id: u16,
    /// Active faults by number, in the order of their beginning; the last one counts.
    faults: Vec<(String, Reply)>,
    counts: Counts,
    commands: Commands,
}

impl Resolver {
    fn new(clients: UdpSocket) -> std::io::Result<Resolver> {
        let mut epoll = EpollLevel::new()?;
        let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate])?;
        prepare(&clients)?;
        epoll.watch(clients.as_fd(), Token::new(CLIENTS, 0), Interest::Read)?;
        epoll.watch(signals.as_fd(), Token::new(SIGNALS, 0), Interest::Read)?;
        // A file or /dev/null cannot be watched, and has no commands.
        let _ = epoll.watch(std::io::stdin().as_fd(), Token::new(INPUT, 0), Interest::Read);
        Ok(Resolver {
            epoll,
            clients,
            answers: None,
            signals,
            asked: HashMap::new(),
            last_id: 0,
            faults: Vec::new(),
            counts: Counts::default(),
            commands: Commands::default(),
        })
    }

    /// From now on questions are passed on.
    fn lead_to(&mut self, to: SocketAddr) -> std::io::Result<()> {
        let any: SocketAddr =
            if to.is_ipv4() { (Ipv4Addr::LOCALHOST, 0).into() } else { (Ipv6Addr::LOCALHOST, 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.connect(to)?;
        prepare(&socket)?;
        if let Some(former) = self.answers.take() {
            self.epoll.unwatch(former.as_fd(), true);
        }
        self.asked.clear();
        self.epoll.watch(socket.as_fd(), Token::new(ANSWERS, 0), Interest::Read)?;
        self.answers = Some(socket);
        Ok(())
    }

    /// Answers until it is stopped.
    fn run(mut self) -> std::io::Result<Counts> {
        let mut ready = Vec::new();
        let mut buffer = vec![0; DATAGRAM_BYTES];
        loop {
            ready.clear();
            self.epoll.wait(None, &mut ready)?;
            for one in &ready {
                match one.token.index() {
                    CLIENTS => self.questions(&mut buffer),
                    ANSWERS => self.pass_back(&mut buffer),
                    SIGNALS if self.signals.next().is_some() => return Ok(self.counts),
                    INPUT => {
                        if !self.commands.read() {
                            self.epoll.unwatch(std::io::stdin().as_fd(), false);
                        }
                        while let Some(line) = self.commands.next() {
                            if line == "quit" {
                                return Ok(self.counts);
                            }
                            self.command(&line);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn questions(&mut self, buffer: &mut [u8]) {
        for _ in 0..RECEIVES_MAX {
            match self.clients.recv_from(buffer) {
                Ok((length, client)) => self.question(&mut buffer[..length], client),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // What a client that is gone has left in the socket.
                Err(_) => {}
            }
        }
    }

    fn question(&mut self, bytes: &mut [u8], client: SocketAddr) {
        let Some(query) = Query::read(bytes) else { return };
        self.counts.asked += 1;
        let reply = match (self.faults.last(), &self.answers) {
            (Some((_, reply)), _) => {
                self.counts.in_fault += 1;
                *reply
            }
            (None, None) => {
                self.counts.answered += 1;
                match query.is_below_test() {
                    true => Reply::Address(Ipv4Addr::LOCALHOST.into()),
                    false => Reply::Refused,
                }
            }
            (None, Some(_)) => return self.pass_on(bytes, client),
        };
        if let Some(message) = query.reply(reply) {
            // A client that does not receive it is closed, or asks again.
            let _ = self.clients.send_to(&message, client);
        }
    }

    fn pass_on(&mut self, bytes: &mut [u8], client: SocketAddr) {
        let (Some(answers), Some(id)) = (&self.answers, message::id(bytes)) else { return };
        self.counts.passed_on += 1;
        // The oldest question of this number was never answered.
        self.last_id = self.last_id.wrapping_add(1);
        self.asked.insert(self.last_id, Asked { client, id });
        message::set_id(bytes, self.last_id);
        // Lost questions are asked again.
        let _ = answers.send(bytes);
    }

    fn pass_back(&mut self, buffer: &mut [u8]) {
        for _ in 0..RECEIVES_MAX {
            let Some(answers) = &self.answers else { return };
            match answers.recv(buffer) {
                Ok(length) => {
                    let bytes = &mut buffer[..length];
                    let Some(asked) = message::id(bytes).and_then(|id| self.asked.remove(&id)) else {
                        continue;
                    };
                    message::set_id(bytes, asked.id);
                    message::forget_lifetimes(bytes);
                    let _ = self.clients.send_to(bytes, asked.client);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // Nothing listens there: clients wait, or ask again.
                Err(_) => {}
            }
        }
    }

    fn command(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let (verb, number) = (words.next(), words.next().unwrap_or_default().to_owned());
        match verb {
            Some("begin") => match reply(words) {
                Ok((reply, what)) => {
                    self.end(&number);
                    let at = now();
                    self.faults.push((number.clone(), reply));
                    say(format_args!("{PROXY_BEGAN}{number} {} {what}", at.0));
                }
                Err(why) => say(format_args!("{PROXY_REFUSED}{number} {why}")),
            },
            Some("end") if self.end(&number) => {
                say(format_args!("{PROXY_ENDED}{number} {}", now().0));
            }
            Some("to") => match number.parse::<SocketAddr>() {
                Ok(to) if to.ip().is_loopback() => match self.lead_to(to) {
                    Ok(()) => say(format_args!("to {to}")),
                    Err(e) => say(format_args!("{PROXY_REFUSED}{number} {e}")),
                },
                _ => say(format_args!("{PROXY_REFUSED}{number} not an address on loopback")),
            },
            _ => say(format_args!("{PROXY_REFUSED}{number} `{line}` is not a valid command now")),
        }
    }

    fn end(&mut self, number: &str) -> bool {
        let count = self.faults.len();
        self.faults.retain(|(other, _)| other != number);
        self.faults.len() < count
    }
}

fn prepare(socket: &UdpSocket) -> std::io::Result<()> {
    let sized = sockopt::set_socket_recv_buffer_size_force(socket, SOCKET_BYTES);
    // Without the right to more, as much as anyone may have.
    let _ = sized.or_else(|_| sockopt::set_socket_recv_buffer_size(socket, SOCKET_BYTES));
    socket.set_nonblocking(true)
}

/// What a fault replies, and what that is in words. The error is a sentence.
fn reply<'a>(words: impl Iterator<Item = &'a str>) -> Result<(Reply, String), String> {
    let (fault, options) = commands::fault(words)?;
    let Means::Names(of) = fault.means else {
        return Err(format!("`{}` is not a fault of a resolver", fault.name));
    };
    Ok(of(&options))
}
