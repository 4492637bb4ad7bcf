//! The life of a connection.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use pitot_sys::Unavailable;
use pitot_sys::socket::reset_on_close;

use crate::contract::refused;
use crate::{Operation, Primitive, Stopwatch, Topic, Work};

/// Connections made before the next step is timed; below the backlog of every kernel.
const BATCH: u64 = 64;

pub(super) static TOPIC: Topic = Topic {
    title: "Connections",
    primitives: &[
        Primitive {
            name: "connect",
            summary: "socket(2) and connect(2) over loopback TCP, both sides' handshake included",
            operation: Operation::Call,
            make: |_| lives(Step::Connect),
        },
        Primitive {
            name: "accept",
            summary: "accept4(2) of a connection that is established",
            operation: Operation::Call,
            make: |_| lives(Step::Accept),
        },
        Primitive {
            name: "close",
            summary: "close(2) of an accepted connection, including the notification of the peer",
            operation: Operation::Call,
            make: |_| lives(Step::Close),
        },
    ],
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Connect,
    Accept,
    Close,
}

/// Connections in batches, of which one step is timed.
fn lives(timed: Step) -> Result<Work, Unavailable> {
    let listener = TcpListener::bind("127.0.0.1:0");
    let listener = listener.map_err(|e| refused("a listener", &e))?;
    let addr = listener.local_addr().map_err(|e| refused("a listener", &e))?;
    Ok(Box::new(move |count, watch| {
        (0..count.div_ceil(BATCH)).try_for_each(|_| batch(timed, &listener, addr, watch))
    }))
}

fn batch(timed: Step, listener: &TcpListener, addr: SocketAddr, watch: &mut Stopwatch) -> io::Result<()> {
    let mut untimed = Stopwatch::default();
    let mut watch_of = |step, work: &mut dyn FnMut() -> io::Result<()>| {
        if step == timed { watch.time(BATCH, work) } else { untimed.time(BATCH, work) }
    };
    let (mut clients, mut servers) = (Vec::with_capacity(BATCH as usize), Vec::with_capacity(BATCH as usize));
    watch_of(Step::Connect, &mut || {
        for _ in 0..BATCH {
            clients.push(TcpStream::connect(addr)?);
        }
        Ok(())
    })?;
    watch_of(Step::Accept, &mut || {
        for _ in 0..BATCH {
            servers.push(listener.accept()?);
        }
        Ok(())
    })?;
    watch_of(Step::Close, &mut || {
        servers.clear();
        Ok(())
    })?;
    // The client's reset leaves no TIME-WAIT state that would slow down the next connections.
    clients.iter().try_for_each(reset_on_close)
}
