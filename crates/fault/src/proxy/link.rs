//! A connection through the proxy: one from a client, and one to the server.

use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};

use pitot_meter::Nanos;
use pitot_sys::readiness::Interest;
use pitot_sys::{connect, socket};

use super::bucket::Bucket;
use super::way::{Wait, Way};

/// One of the two ends.
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

/// A connection through the proxy.
#[derive(Debug)]
pub(super) struct Link {
    /// The client's end and the server's.
    pub(super) ends: [OwnedFd; 2],
    /// What the ends are watched for.
    pub(super) interests: [Interest; 2],
    /// The two directions.
    ways: [Way; 2],
    /// The connection to the server is established.
    connected: bool,
    /// The generation of its slot.
    pub(super) generation: u32,
}

/// What a link waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// The ends whose sockets must have room.
    room: [bool; 2],
    /// The next due time.
    pub(super) until: Option<Nanos>,
}

impl Link {
    pub(super) fn new(client: OwnedFd, server: OwnedFd, connected: bool, generation: u32) -> Link {
        Link {
            ends: [client, server],
            interests: [Interest::Nothing; 2],
            ways: [Way::default(), Way::default()],
            connected,
            generation,
        }
    }

    /// Whether the connection to the server is established, or its error.
    pub(super) fn try_connected(&mut self) -> std::io::Result<()> {
        if !self.connected {
            connect::outcome(&self.ends[SERVER])?;
            self.connected = true;
        }
        Ok(())
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    /// Receives from an end as much as there is room for; it is due at `due`. The error is that of a broken connection.
    pub(super) fn receive(&mut self, end: usize, buffer: &mut [u8], due: Nanos) -> std::io::Result<()> {
        let way = &mut self.ways[end];
        while way.has_room() {
            match socket::recv(&self.ends[end], buffer) {
                Ok(0) => way.ended = true,
                Ok(received) => {
                    way.push(&buffer[..received], due);
                    if received < buffer.len() {
                        return Ok(());
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Forwards what is due in both directions.
    pub(super) fn send(&mut self, buckets: &mut [Bucket; 2], now: Nanos) -> std::io::Result<Waits> {
        let mut waits = Waits::default();
        for from in [CLIENT, SERVER] {
            let to = 1 - from;
            match self.ways[from].send(self.ends[to].as_fd(), &mut buckets[from], now)? {
                Wait::Nothing => {}
                Wait::Room => waits.room[to] = true,
                Wait::Until(at) => waits.until = Some(waits.until.map_or(at, |other| other.min(at))),
            }
        }
        Ok(waits)
    }

    /// What to watch an end for.
    pub(super) fn interest(&self, end: usize, waits: Waits) -> Interest {
        let reads = self.connected && self.ways[end].has_room();
        let writes = waits.room[end] || end == SERVER && !self.connected;
        match (reads, writes) {
            (true, true) => Interest::ReadWrite,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Nothing,
        }
    }

    /// Whether both ends have finished, and everything was forwarded.
    pub(super) fn is_over(&self) -> bool {
        self.ways.iter().all(|way| way.is_closed)
    }

    /// Ends it with a reset on both sides.
    pub(super) fn reset(self) {
        for end in &self.ends {
            let _ = socket::reset_on_close(end);
        }
    }
}
