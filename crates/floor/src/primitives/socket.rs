//! Bytes between two ends.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use pitot_sys::Unavailable;

use super::partner::Partner;
use crate::contract::refused;
use crate::{Operation, Primitive, Stopwatch, Topic, Work};

/// Connections that are served one after the other, as in one wake-up of an event loop.
const CONNECTIONS: usize = 64;
/// A small request of HTTP.
const REQUEST: [u8; 128] = [b'x'; 128];
/// A reply of one KiB with its header.
const REPLY: [u8; 1024 + 100] = [b'x'; 1024 + 100];

pub(super) static TOPIC: Topic = Topic {
    title: "Sockets",
    primitives: &[
        Primitive {
            name: "socketpair-round-trip",
            summary: "a byte through a pair of Unix sockets to a thread on the same CPU, and back",
            operation: Operation::RoundTrip,
            make: |place| by_unix(place.cpu),
        },
        Primitive {
            name: "tcp-round-trip",
            summary: "a byte over loopback TCP to a thread on the same CPU, and back",
            operation: Operation::RoundTrip,
            make: |place| by_tcp(place.cpu),
        },
        Primitive {
            name: "tcp-round-trip-other-cpu",
            summary: "the same to a thread on another CPU",
            operation: Operation::RoundTrip,
            make: |place| by_tcp(place.other()?),
        },
        Primitive {
            name: "recv",
            summary: "128 bytes received that have arrived over loopback TCP",
            operation: Operation::Call,
            make: |_| exchanged(Side::Receive),
        },
        Primitive {
            name: "send-1k",
            summary: "1,124 bytes sent over loopback TCP: the stack down and up again to the receiver's queue",
            operation: Operation::Call,
            make: |_| exchanged(Side::Send),
        },
    ],
};

fn by_unix(cpu: usize) -> Result<Work, Unavailable> {
    let (near, far) = UnixStream::pair().map_err(|e| refused("a pair of sockets", &e))?;
    round_trips(cpu, near, far)
}

fn by_tcp(cpu: usize) -> Result<Work, Unavailable> {
    let (near, far) = tcp_pair().map_err(|e| refused("a connection", &e))?;
    round_trips(cpu, near, far)
}

/// A connection over loopback, both ends of which send at once.
pub(super) fn tcp_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}

/// The near end, and the thread at the far end, which ends when the near one is closed.
struct RoundTrips<S> {
    near: S,
    _partner: Partner,
}

fn round_trips<S: Read + Write + Send + 'static>(
    cpu: usize,
    near: S,
    mut far: S,
) -> Result<Work, Unavailable> {
    let partner = Partner::start(cpu, move || {
        let mut byte = [0];
        far.read_exact(&mut byte)?;
        far.write_all(&byte)
    })?;
    // The near end is dropped before the partner is waited for.
    let mut ends = RoundTrips { near, _partner: partner };
    Ok(Box::new(move |count, watch| {
        let ends = &mut ends;
        watch.time(count, || {
            let mut byte = [0];
            for _ in 0..count {
                ends.near.write_all(&byte)?;
                ends.near.read_exact(&mut byte)?;
            }
            Ok(())
        })
    }))
}

/// Which call of a server is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Receive,
    Send,
}

/// Requests and replies on many connections, both ends in this thread; only the server's calls of one side are timed.
fn exchanged(side: Side) -> Result<Work, Unavailable> {
    let pairs: io::Result<Vec<_>> = (0..CONNECTIONS).map(|_| tcp_pair()).collect();
    let mut pairs = pairs.map_err(|e| refused("a connection", &e))?;
    Ok(Box::new(move |count, watch| {
        let mut buffer = vec![0; 64 << 10];
        for _ in 0..count.div_ceil(CONNECTIONS as u64) {
            for (client, _) in &mut pairs {
                client.write_all(&REQUEST)?;
            }
            let (mut untimed, batch) = (Stopwatch::default(), CONNECTIONS as u64);
            (if side == Side::Receive { &mut *watch } else { &mut untimed }).time(batch, || {
                pairs.iter_mut().try_for_each(|(_, server)| match server.read(&mut buffer)? {
                    n if n == REQUEST.len() => Ok(()),
                    _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                })
            })?;
            (if side == Side::Send { &mut *watch } else { &mut untimed })
                .time(batch, || pairs.iter_mut().try_for_each(|(_, server)| server.write_all(&REPLY)))?;
            for (client, _) in &mut pairs {
                client.read_exact(&mut buffer[..REPLY.len()])?;
            }
        }
        Ok(())
    }))
}
