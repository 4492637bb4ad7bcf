//! One TLS connection of the library, driven record by record.

use std::cell::Cell;

use crate::{Handshake, Outgoing};
use rustls::Error;
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedStatus,
    WriteTraffic,
};

/// An upper bound of what a record adds to its content: the header, the nonce of TLS 1.2, the type, the tag.
const RECORD_OVERHEAD: usize = 64;
/// The content of a record.
const RECORD_CONTENT: usize = 1 << 14;
/// Larger copies of input are freed.
const COPY_KEPT: usize = RECORD_CONTENT + 4096;

thread_local! {
    /// Decryption is in place, and the kernel's buffer must not change: one copy for all connections of a thread.
    static COPY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// One TLS connection.
pub(super) struct Session {
    tls: UnbufferedClientConnection,
    /// Records whose message continues in the next one; nearly always empty.
    held: Vec<u8>,
    /// The server has sent `close_notify`.
    is_closed: bool,
}

impl Session {
    pub(super) fn new(tls: UnbufferedClientConnection) -> Session {
        Session { tls, held: Vec::new(), is_closed: false }
    }

    /// Writes the first message of the handshake.
    pub(super) fn begin(&mut self, out: &mut Outgoing) -> Result<(), Error> {
        advance(&mut self.tls, &mut [], out, &mut |_| (), &mut self.is_closed).map(drop)
    }

    /// Takes one record. Plain text goes to `plain`, output of the library to `out`.
    pub(super) fn take(
        &mut self,
        record: &[u8],
        out: &mut Outgoing,
        plain: &mut impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let mut copy = COPY.take();
        copy.clear();
        copy.append(&mut self.held);
        copy.extend_from_slice(record);
        let used = advance(&mut self.tls, &mut copy, out, plain, &mut self.is_closed);
        if let Ok(used) = used {
            self.held.extend_from_slice(&copy[used..]);
        }
        if copy.capacity() <= COPY_KEPT {
            COPY.set(copy);
        }
        used.map(drop)
    }

    /// Encrypts what the protocol has written.
    pub(super) fn send(&mut self, plain: &[u8], out: &mut Outgoing) -> Result<(), Error> {
        loop {
            let UnbufferedStatus { state, .. } = self.tls.process_tls_records(&mut self.held);
            match state? {
                ConnectionState::WriteTraffic(mut traffic) => return encrypt(&mut traffic, plain, out),
                ConnectionState::EncodeTlsData(mut data) => encode(&mut data, out)?,
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed => self.is_closed = true,
                // There is no input, and this side is not closed.
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Whether the server has sent `close_notify`.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether the server has chosen that protocol by ALPN.
    pub(super) fn chose(&self, alpn: &str) -> bool {
        self.tls.alpn_protocol() == Some(alpn.as_bytes())
    }

    /// The result of the handshake; `alpn` is what was offered.
    pub(super) fn handshake(&self, alpn: Option<&'static str>) -> Handshake {
        Handshake {
            version: self.tls.protocol_version().map_or(0, u16::from),
            cipher: self.tls.negotiated_cipher_suite().map_or(0, |suite| suite.suite().into()),
            alpn: alpn.filter(|name| self.chose(name)),
            resumed: self.tls.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
        }
    }
}

/// Runs the library until it needs more input; returns the number of bytes consumed.
fn advance(
    tls: &mut UnbufferedClientConnection,
    input: &mut [u8],
    out: &mut Outgoing,
    plain: &mut impl FnMut(&[u8]),
    is_closed: &mut bool,
) -> Result<usize, Error> {
    let mut used = 0;
    loop {
        let UnbufferedStatus { discard, state } = tls.process_tls_records(&mut input[used..]);
        let state = match state {
            Ok(state) => state,
            Err(error) => {
                last_words(tls, out);
                return Err(error);
            }
        };
        let waits = match state {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    plain(record?.payload);
                }
                false
            }
            ConnectionState::EncodeTlsData(mut data) => {
                encode(&mut data, out)?;
                false
            }
            ConnectionState::TransmitTlsData(data) => {
                data.done();
                false
            }
            ConnectionState::PeerClosed => {
                *is_closed = true;
                false
            }
            _ => true,
        };
        used += discard;
        if waits {
            return Ok(used);
        }
    }
}

/// The alert that tells the server what is wrong.
fn last_words(tls: &mut UnbufferedClientConnection, out: &mut Outgoing) {
    let UnbufferedStatus { state, .. } = tls.process_tls_records(&mut []);
    if let Ok(ConnectionState::EncodeTlsData(mut data)) = state {
        // An alert that cannot be written is not sent.
        let _ = encode(&mut data, out);
    }
}

fn encode(data: &mut EncodeTlsData<'_, ClientConnectionData>, out: &mut Outgoing) -> Result<(), Error> {
    let out = out.buffer();
    let start = out.len();
    let mut room = 0;
    loop {
        out.resize(start + room, 0);
        match data.encode(&mut out[start..]) {
            Ok(written) => {
                out.truncate(start + written);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                room = required_size;
            }
            Err(EncodeError::AlreadyEncoded) => return Ok(()),
        }
    }
}

fn encrypt(
    traffic: &mut WriteTraffic<'_, ClientConnectionData>,
    plain: &[u8],
    out: &mut Outgoing,
) -> Result<(), Error> {
    let out = out.buffer();
    let start = out.len();
    let mut room = plain.len() + (plain.len() / RECORD_CONTENT + 1) * RECORD_OVERHEAD;
    loop {
        out.resize(start + room, 0);
        match traffic.encrypt(plain, &mut out[start..]) {
            Ok(written) => {
                out.truncate(start + written);
                return Ok(());
            }
            Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => {
                room = required_size;
            }
            Err(EncryptError::EncryptExhausted) => {
                out.truncate(start);
                return Err(Error::EncryptError);
            }
        }
    }
}
