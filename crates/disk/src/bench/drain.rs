//! Where sends go when they are measured: TCP connections over loopback, emptied by a thread that discards.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// Connections and the thread at their other ends.
#[derive(Debug)]
pub(super) struct Drain {
    sockets: Vec<Arc<OwnedFd>>,
    thread: Option<JoinHandle<u64>>,
    thread_id: i32,
}

/// What a receive may discard at once.
const RECEIVE_BYTES: usize = 1 << 20;

impl Drain {
    /// `count` connections, whose near ends do not block.
    pub(super) fn new(count: u32) -> io::Result<Drain> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (mut sockets, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let near = TcpStream::connect(listener.local_addr()?)?;
            near.set_nonblocking(true)?;
            near.set_nodelay(true)?;
            sockets.push(Arc::new(OwnedFd::from(near)));
            ends.push(listener.accept()?.0);
        }
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("drain".into()).spawn(move || {
            let _ = sender.send(rustix::thread::gettid().as_raw_nonzero().get());
            discard(ends)
        })?;
        let thread_id = receiver.recv().map_err(io::Error::other)?;
        Ok(Drain { sockets, thread: Some(thread), thread_id })
    }

    /// The near end for a slot.
    pub(super) fn socket(&self, slot: usize) -> Arc<OwnedFd> {
        Arc::clone(&self.sockets[slot])
    }

    /// CPU time of the discarding thread, which is not the engine's (/proc/PID/task/TID/schedstat).
    pub(super) fn cpu(&self) -> io::Result<Duration> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.thread_id))?;
        let on_cpu = text.split_whitespace().next().and_then(|word| word.parse().ok());
        on_cpu.map(Duration::from_nanos).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Ends all connections and returns the bytes that came through.
    pub(super) fn finish(mut self) -> u64 {
        self.close()
    }

    fn close(&mut self) -> u64 {
        for socket in self.sockets.drain(..) {
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or(0)
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.close();
    }
}

/// Receives and throws away until all connections have ended; returns the bytes received.
fn discard(mut ends: Vec<TcpStream>) -> u64 {
    let mut total = 0;
    let mut scratch = vec![0u8; RECEIVE_BYTES];
    while !ends.is_empty() {
        let mut fds: Vec<PollFd<'_>> = ends.iter().map(|end| PollFd::new(end, PollFlags::IN)).collect();
        if !matches!(poll(&mut fds, None), Ok(_) | Err(Errno::INTR)) {
            return total;
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut at = 0;
        ends.retain(|end| {
            at += 1;
            if !ready[at - 1] {
                return true;
            }
            // TCP throws the bytes away with MSG_TRUNC, without a copy (tcp(7)).
            let flags = RecvFlags::TRUNC | RecvFlags::DONTWAIT;
            match recv(end, &mut scratch[..], flags) {
                Ok((_, 0)) => false,
                Ok((_, count)) => {
                    total += count as u64;
                    true
                }
                Err(Errno::AGAIN | Errno::INTR) => true,
                Err(_) => false,
            }
        });
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_sent_is_counted() {
        let drain = Drain::new(3).unwrap();
        let mut sent = 0;
        for slot in 0..3 {
            sent += rustix::io::write(drain.socket(slot), &[0; 1000]).unwrap() as u64;
        }
        assert!(drain.cpu().is_ok());
        assert_eq!(drain.finish(), sent);
    }
}
