//! The layer of a connection.
//!
//! rustls's unbuffered interface works on memory of the caller: what arrives is decrypted where the worker's scratch memory
//! has it, and records are written to where they are sent from. An idle connection keeps no buffer.

use pitot_proto::{Handshake, KernelKeys, Layer, LayerFailure, Outbox, Received, Scratch};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedStatus,
    WriteTraffic,
};
use rustls::{Error, HandshakeKind};

use super::kernel;

/// Bytes of the protocol in a record (RFC 8446 section 5.1).
const RECORD_BYTES: usize = 16 << 10;
/// Bytes that a record adds to them: header, explicit nonce or content type, tag.
const OVERHEAD_BYTES: usize = 64;
/// Bytes for the socket that are made at once.
const WIRE_MAX: u64 = 64 << 10;
/// The most bytes of an incomplete handshake message. The library accepts no longer ones.
const PENDING_MAX: usize = 96 << 10;

/// TLS on a connection.
pub(super) struct TlsLayer {
    connection: Box<UnbufferedServerConnection>,
    /// Received bytes of a record that is not complete.
    pending: Box<[u8]>,
    is_open: bool,
    /// Nothing has been received yet.
    is_fresh: bool,
    /// The peer has announced its end.
    is_ended: bool,
    /// The kernel is to carry on when the handshake is complete.
    goes_to_kernel: bool,
}

impl TlsLayer {
    pub(super) fn new(connection: UnbufferedServerConnection, goes_to_kernel: bool) -> TlsLayer {
        TlsLayer {
            connection: Box::new(connection),
            pending: Box::default(),
            is_open: false,
            is_fresh: true,
            is_ended: false,
            goes_to_kernel,
        }
    }

    /// Processes the records in `received`. Returns how much of it is processed.
    fn process(
        &mut self,
        received: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Outbox,
        found: &mut Received,
    ) -> (usize, Result<(), LayerFailure>) {
        let mut at = 0;
        loop {
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(&mut received[at..]);
            let result = match state {
                Ok(ConnectionState::ReadTraffic(mut records)) => {
                    let mut result = Ok(Then::GoOn);
                    while let Some(record) = records.next_record() {
                        match record {
                            Ok(record) => {
                                discard += record.discard;
                                plain.extend_from_slice(record.payload);
                            }
                            Err(e) => result = Err(failure(&e)),
                        }
                    }
                    result
                }
                Ok(ConnectionState::EncodeTlsData(mut message)) => {
                    encode(&mut message, wire);
                    Ok(Then::GoOn)
                }
                Ok(ConnectionState::TransmitTlsData(transmit)) => {
                    transmit.done();
                    Ok(Then::GoOn)
                }
                Ok(ConnectionState::PeerClosed) => {
                    found.ended = true;
                    Ok(Then::GoOn)
                }
                Ok(ConnectionState::WriteTraffic(_)) => Ok(Then::Stop { is_open: true }),
                // Early data is not offered, and so not taken.
                Ok(_) => Ok(Then::Stop { is_open: false }),
                Err(e) => Err(failure(&e)),
            };
            at += discard;
            match result {
                Ok(Then::GoOn) => {}
                Ok(Then::Stop { is_open }) => {
                    if is_open && !self.is_open {
                        self.is_open = true;
                        let is_resumed = self.connection.handshake_kind() == Some(HandshakeKind::Resumed);
                        found.opened = Some(if is_resumed { Handshake::Resumed } else { Handshake::Full });
                    }
                    return (at, Ok(()));
                }
                Err(failure) => return (at, Err(failure)),
            }
        }
    }

    /// The library's alert for an error.
    fn last_words(&mut self, wire: &mut Outbox) {
        while self.connection.wants_write()
            && let Ok(ConnectionState::EncodeTlsData(mut message)) =
                self.connection.process_tls_records(&mut []).state
        {
            encode(&mut message, wire);
        }
    }

    /// Lets `write` write to the connection. `None` if it cannot be written to.
    fn write<T>(
        &mut self,
        wire: &mut Outbox,
        write: impl FnOnce(&mut WriteTraffic<'_, ServerConnectionData>, &mut Outbox) -> T,
    ) -> Option<T> {
        loop {
            // The library may keep positions in incomplete input.
            match self.connection.process_tls_records(&mut self.pending).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => return Some(write(&mut traffic, wire)),
                Ok(ConnectionState::EncodeTlsData(mut message)) => encode(&mut message, wire),
                Ok(ConnectionState::TransmitTlsData(transmit)) => transmit.done(),
                _ => return None,
            }
        }
    }
}

/// Appends a message of the library.
fn encode(message: &mut EncodeTlsData<'_, ServerConnectionData>, wire: &mut Outbox) {
    wire.write_with(|out| {
        // It fails only on a message that was written before.
        let _ = append(out, OVERHEAD_BYTES, |room| message.encode(room));
    });
}

/// What follows a state of the library.
enum Then {
    GoOn,
    Stop { is_open: bool },
}

impl Layer for TlsLayer {
    fn receive(
        &mut self,
        input: &[u8],
        scratch: &mut Scratch,
        wire: &mut Outbox,
    ) -> Result<Received, LayerFailure> {
        let mut found = Received::default();
        if std::mem::take(&mut self.is_fresh) && input.first().is_some_and(u8::is_ascii_uppercase) {
            return Err(LayerFailure::Absent);
        }
        let Scratch { plain, received, .. } = scratch;
        received.clear();
        received.extend_from_slice(&std::mem::take(&mut self.pending));
        received.extend_from_slice(input);
        let (done, result) = self.process(received, plain, wire, &mut found);
        let rest = &received[done..];
        let result = if rest.len() > PENDING_MAX { result.and(Err(LayerFailure::Malformed)) } else { result };
        if let Err(failure) = result {
            self.last_words(wire);
            return Err(failure);
        }
        if found.ended {
            self.is_ended = true;
        } else {
            self.pending = rest.into();
        }
        Ok(found)
    }

    fn send(
        &mut self,
        out: &mut Outbox,
        scratch: &mut Scratch,
        wire: &mut Outbox,
    ) -> Result<(), LayerFailure> {
        let expected = (WIRE_MAX.min(out.len()) as usize).next_multiple_of(RECORD_BYTES);
        let expected = expected + expected / RECORD_BYTES * OVERHEAD_BYTES;
        while wire.len() < WIRE_MAX {
            let gathered = out.gather();
            let Some(first) = gathered.slices().first() else { break };
            // One record, of one slice where that fills it.
            let plain = if first.len() >= RECORD_BYTES || gathered.slices().len() == 1 {
                &first[..first.len().min(RECORD_BYTES)]
            } else {
                scratch.gathered.clear();
                for slice in gathered.slices() {
                    let room = RECORD_BYTES - scratch.gathered.len();
                    scratch.gathered.extend_from_slice(&slice[..slice.len().min(room)]);
                }
                &scratch.gathered[..]
            };
            let len = plain.len();
            let written = self.write(wire, |traffic, wire| {
                let mut result = Ok(());
                wire.write_with(|buffer| {
                    if buffer.is_empty() && len == RECORD_BYTES {
                        // More records follow, and it would grow by copies.
                        buffer.reserve_exact(expected);
                    }
                    result = append(buffer, len + OVERHEAD_BYTES, |room| traffic.encrypt(plain, room));
                });
                result
            });
            if !matches!(written, Some(Ok(()))) {
                return Err(LayerFailure::Malformed);
            }
            out.advance(len as u64);
        }
        Ok(())
    }

    fn end(&mut self, wire: &mut Outbox) {
        self.write(wire, |traffic, wire| {
            wire.write_with(|out| {
                // Without it the peer still sees the end of the connection.
                let _ = append(out, OVERHEAD_BYTES, |room| traffic.queue_close_notify(room));
            });
        });
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn is_midway(&self) -> bool {
        !self.pending.is_empty() || !self.is_open && !self.is_fresh
    }

    fn can_hand_over(&self) -> bool {
        self.goes_to_kernel && self.is_open && !self.is_ended && self.pending.is_empty()
    }

    fn hand_over(self: Box<Self>) -> Option<KernelKeys> {
        let (secrets, connection) = self.connection.dangerous_into_kernel_connection().ok()?;
        kernel::keys(connection.protocol_version(), &secrets)
    }
}

/// Lets `write` append to `out`, in this much space or as much as it needs.
fn append<E: TooSmall>(
    out: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, E>,
) -> Result<(), E> {
    let start = out.len();
    out.resize(start + room, 0);
    let mut result = write(&mut out[start..]);
    if let Err(e) = &result
        && let Some(needed) = e.needed()
    {
        out.resize(start + needed, 0);
        result = write(&mut out[start..]);
    }
    out.truncate(start + *result.as_ref().unwrap_or(&0));
    result.map(drop)
}

/// An error of the library with the space it needs.
trait TooSmall {
    fn needed(&self) -> Option<usize>;
}

impl TooSmall for EncodeError {
    fn needed(&self) -> Option<usize> {
        match self {
            EncodeError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            EncodeError::AlreadyEncoded => None,
        }
    }
}

impl TooSmall for EncryptError {
    fn needed(&self) -> Option<usize> {
        match self {
            EncryptError::InsufficientSize(InsufficientSizeError { required_size }) => Some(*required_size),
            EncryptError::EncryptExhausted => None,
        }
    }
}

fn failure(e: &Error) -> LayerFailure {
    match e {
        Error::AlertReceived(_) => LayerFailure::Refused,
        Error::PeerIncompatible(_) | Error::NoApplicationProtocol => LayerFailure::Incompatible,
        _ => LayerFailure::Malformed,
    }
}

/// A layer that cannot begin.
pub(super) struct NoLayer;

impl Layer for NoLayer {
    fn receive(&mut self, _: &[u8], _: &mut Scratch, _: &mut Outbox) -> Result<Received, LayerFailure> {
        Err(LayerFailure::Incompatible)
    }

    fn send(&mut self, _: &mut Outbox, _: &mut Scratch, _: &mut Outbox) -> Result<(), LayerFailure> {
        Err(LayerFailure::Incompatible)
    }

    fn end(&mut self, _: &mut Outbox) {}

    fn is_open(&self) -> bool {
        false
    }

    fn is_midway(&self) -> bool {
        false
    }
}
