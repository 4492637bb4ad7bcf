//! A connection to a host: the socket under a conversation.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};

use pitot_meter::Nanos;
use pitot_sys::socket;

use crate::dialogue::Dialogue;
use crate::message::TlsPolicy;
use crate::timeouts::Phase;
use crate::tls::Tls;

/// A buffer that needed more than this gives its memory back.
const KEPT_BYTES: usize = 4096;

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The connection is being established.
    Connecting,
    /// Commands and replies are exchanged.
    Active,
    /// It has no work, and is kept for a while in case there is some.
    Idle,
    /// The host waits for the message, which waits for room in the window of unacknowledged recipients.
    AwaitingWindow,
}

/// One connection. It holds no buffer unless a reply or a command was cut in two.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) fd: OwnedFd,
    pub(crate) host: u32,
    pub(crate) dialogue: Dialogue,
    pub(crate) tls: Option<Box<Tls>>,
    /// Decrypted input that was not used yet.
    pub(crate) tail: Vec<u8>,
    /// What the kernel has not taken yet.
    out: Vec<u8>,
    pub(crate) stage: Stage,
    /// Transactions so far.
    pub(crate) transactions: u64,
    /// When the time for the next step is over.
    pub(crate) deadline: Nanos,
    /// When the earliest timer that was started for it expires.
    pub(crate) timer_at: Nanos,
}

impl Session {
    /// A session with `tls` from the first byte, if there is any.
    pub(crate) fn new(fd: OwnedFd, host: u32, policy: TlsPolicy, tls: Option<Box<Tls>>) -> Session {
        Session {
            fd,
            host,
            dialogue: Dialogue::new(policy, tls.is_some()),
            tls,
            tail: Vec::new(),
            out: Vec::new(),
            stage: Stage::Connecting,
            transactions: 0,
            deadline: Nanos::MAX,
            timer_at: Nanos::MAX,
        }
    }

    /// The step that is waited for.
    pub(crate) fn phase(&self) -> Phase {
        match self.stage {
            Stage::Connecting => Phase::Connect,
            Stage::Active | Stage::Idle | Stage::AwaitingWindow => self.dialogue.phase(),
        }
    }

    /// Sends commands, and keeps those that the socket does not accept.
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

    /// Sends kept commands, as far as the socket accepts them.
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

    /// True if the kernel has not taken all output.
    pub(crate) fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// Keeps input that was not used yet.
    pub(crate) fn keep(&mut self, tail: &[u8]) {
        self.tail.extend_from_slice(tail);
        self.tail.shrink_to(KEPT_BYTES);
    }
}

/// Sends as much as the socket accepts, and returns how much.
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
