//! A layer between the bytes on a connection and its protocol, such as TLS, without I/O like both.

use std::fmt::Debug;

use crate::Outbox;

/// The layers of a server's connections.
pub trait Layers: Send + Sync + Debug {
    /// The layer of a new connection.
    fn layer(&self) -> Box<dyn Layer>;
}

/// The layer of one connection.
pub trait Layer: Send {
    /// Takes what was received, all of it: what it holds for the protocol is appended to [`Scratch::plain`], and what the
    /// layer itself has to answer to `wire`.
    ///
    /// # Errors
    /// The connection has to be closed once `wire`, which may say why, is sent.
    fn receive(
        &mut self,
        input: &[u8],
        scratch: &mut Scratch,
        wire: &mut Outbox,
    ) -> Result<Received, LayerFailure>;

    /// Moves the start of `out`, up to its first file or until `wire` is full, to `wire`.
    ///
    /// # Errors
    /// Nothing more can be sent on this connection.
    fn send(
        &mut self,
        out: &mut Outbox,
        scratch: &mut Scratch,
        wire: &mut Outbox,
    ) -> Result<(), LayerFailure>;

    /// Tells the peer that nothing follows.
    fn end(&mut self, wire: &mut Outbox);

    /// True once the handshake is complete, so that the protocol's bytes can be sent.
    fn is_open(&self) -> bool;

    /// True in the middle of a handshake or of a record.
    fn is_midway(&self) -> bool;

    /// True if the kernel could carry on now, once what is queued for the socket is sent: the handshake is complete, and what
    /// was received ended with a record.
    fn can_hand_over(&self) -> bool {
        false
    }

    /// What the kernel needs to carry on. `None` if there is nothing that it could use; the layer is gone in either case.
    fn hand_over(self: Box<Self>) -> Option<KernelKeys> {
        None
    }
}

/// The keys of a connection's two directions, in the layout that the kernel takes (`struct tls12_crypto_info_*` in
/// include/uapi/linux/tls.h).
#[derive(Clone, PartialEq, Eq)]
pub struct KernelKeys {
    /// What is sent.
    pub send: Vec<u8>,
    /// What is received.
    pub receive: Vec<u8>,
}

impl Debug for KernelKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KernelKeys")
    }
}

/// What a layer found in its input, besides bytes for the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The handshake that is complete now.
    pub opened: Option<Handshake>,
    /// The peer says that nothing follows.
    pub ended: bool,
}

/// Kinds of handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// With a key exchange and a certificate.
    Full,
    /// With the keys of an earlier connection.
    Resumed,
}

/// Why a layer cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerFailure {
    /// The peer speaks the protocol without the layer.
    Absent,
    /// The peer supports nothing that the server does.
    Incompatible,
    /// The peer has refused, as when it does not trust the certificate.
    Refused,
    /// Malformed, forged or misplaced records.
    Malformed,
}

/// Memory that the layers of one worker share while one of them works.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Received bytes for the protocol.
    pub plain: Vec<u8>,
    /// Received bytes of the layer, which it may decrypt in place.
    pub received: Vec<u8>,
    /// Bytes of several buffers that are sent as one.
    pub gathered: Vec<u8>,
}
