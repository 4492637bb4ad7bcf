//! A layer between the bytes on a connection and its protocol, such as TLS. It has no I/O either.

use std::fmt::Debug;

use crate::Outbox;

/// The layers of a server's connections.
pub trait Layers: Send + Sync + Debug {
    /// The layer of a new connection.
    fn layer(&self) -> Box<dyn Layer>;
}

/// The layer of one connection.
pub trait Layer: Send {
    /// Takes all received input: data of the protocol goes to [`Scratch::plain`], replies of the layer to `wire`.
    ///
    /// # Errors
    /// The connection has to be closed once `wire`, which may contain the reason, is sent.
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

    /// Announces the end to the peer.
    fn end(&mut self, wire: &mut Outbox);

    /// True once the handshake is complete and the protocol's output can be sent.
    fn is_open(&self) -> bool;

    /// True in the middle of a handshake or of a record.
    fn is_midway(&self) -> bool;

    /// True if the kernel could take over once the queued output is sent: the handshake is complete, and the input ended with a
    /// record.
    fn can_hand_over(&self) -> bool {
        false
    }

    /// The keys for the kernel; `None` if it cannot use them. The layer is consumed in either case.
    fn hand_over(self: Box<Self>) -> Option<KernelKeys> {
        None
    }
}

/// The keys of both directions of a connection, in the kernel's layout (`struct tls12_crypto_info_*` in
/// include/uapi/linux/tls.h).
#[derive(Clone, PartialEq, Eq)]
pub struct KernelKeys {
    /// For sending.
    pub send: Vec<u8>,
    /// For receiving.
    pub receive: Vec<u8>,
}

impl Debug for KernelKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KernelKeys")
    }
}

/// The events in a layer's input, in addition to data of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The handshake is complete.
    pub opened: Option<Handshake>,
    /// The peer has announced its end.
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

/// Why a layer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerFailure {
    /// The peer uses the protocol without the layer.
    Absent,
    /// The peer supports nothing that the server does.
    Incompatible,
    /// The peer has refused, for example because it does not trust the certificate.
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
