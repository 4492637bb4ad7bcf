//! A connection to a host: the socket under a conversation.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use pitot_meter::Nanos;
use pitot_sys::socket;

use crate::dialogue::Dialogue;
use crate::letter::TlsPolicy;
use crate::tls::Tls;

/// A buffer that needed more than this gives its memory back.
const KEPT_BYTES: usize = 4096;

/// One connection. While nothing is cut in its middle it holds no buffer.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) fd: OwnedFd,
    pub(crate) host: u32,
    pub(crate) dialogue: Dialogue,
    pub(crate) tls: Option<Box<Tls>>,
    /// Input, decrypted, that is not done with.
    pub(crate) tail: Vec<u8>,
    /// What the kernel has not taken yet.
    out: Vec<u8>,
    pub(crate) connected: bool,
    /// It has no work and waits for some.
    pub(crate) idle: bool,
    pub(crate) transactions: u64,
    /// When the host's time is over.
    pub(crate) deadline: Nanos,
    /// The earliest alarm that is set for it.
    pub(crate) armed: Nanos,
    /// It waits for the right to send its message.
    pub(crate) held: bool,
}

impl Session {
    pub(crate) fn new(fd: OwnedFd, host: u32, tls: TlsPolicy) -> Session {
        Session {
            fd,
            host,
            dialogue: Dialogue::new(tls),
            tls: None,
            tail: Vec::new(),
            out: Vec::new(),
            connected: false,
            idle: false,
            transactions: 0,
            deadline: Nanos::MAX,
            armed: Nanos::MAX,
            held: false,
        }
    }

    /// Sends commands, or keeps what there is no room for.
    pub(crate) fn send(&mut self, commands: &[u8]) -> io::Result<()> {
        if commands.is_empty() {
            return Ok(());
        }
        if let Some(tls) = &mut self.tls {
            tls.send(commands, &mut self.out)?;
            return self.flush();
        }
        let sent = if self.out.is_empty() { send_some(&self.fd, commands)? } else { 0 };
        self.out.extend_from_slice(&commands[sent..]);
        Ok(())
    }

    /// Sends what is kept, as far as there is room.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.flush(&mut self.out)?;
        }
        if !self.out.is_empty() {
            let sent = send_some(&self.fd, &self.out)?;
            self.out.drain(..sent);
            self.out.shrink_to(KEPT_BYTES);
        }
        Ok(())
    }

    /// True if the kernel has not taken all that was said.
    pub(crate) fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// Keeps the input that is not done with.
    pub(crate) fn keep(&mut self, tail: &[u8]) {
        self.tail.extend_from_slice(tail);
        self.tail.shrink_to(KEPT_BYTES);
    }
}

/// Sends until all is sent or there is no room; how much was sent.
fn send_some(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        match socket::send(&fd, &[IoSlice::new(&bytes[sent..])], false) {
            Ok(n) => sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(sent)
}
