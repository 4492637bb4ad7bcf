use std::time::Duration;

use crate::{OpenError, Outbox, StoreStep};

/// An action of the driver for a connection.
#[derive(Debug)]
pub enum Action<'a> {
    /// Receive, and report the result: `received`, `ended` or `broken`.
    Receive,
    /// Send from the front of the outbox, and report the result: `sent`, `file_failed` or `broken`.
    Send(&'a mut Outbox),
    /// Read the first part of the first file in this outbox ([`Outbox::file_to_read`]) into it ([`Outbox::fill`]), or report
    /// `file_failed`; then continue polling. Only connections with a layer need this: data to encrypt has to be in memory.
    Read(&'a mut Outbox),
    /// Open the file and report the result: `opened`.
    Open(&'a [u8]),
    /// Carry out the step and report the result: `stored`. The path is that of the file if the step begins one.
    Store(&'a [u8], &'a mut StoreStep),
    /// Wait for this time and report its end: `delayed`. A loop serves other connections meanwhile.
    Delay(Duration),
    /// Nothing, until an answer or the completion of a send is reported.
    Wait,
    /// Let the kernel take over the layer: take [`kernel_keys`](crate::Connection::kernel_keys), and report the result:
    /// `handed_over`. If the kernel cannot, report `keeps_layer` before taking them.
    HandOver,
    /// Send this TLS alert as a separate record through the kernel, and report the result: `alerted` or `broken`.
    Alert([u8; 2]),
    /// Everything is sent: end sending (shutdown(2)) and continue polling.
    Linger,
    /// Close the socket and drop the connection. With `reset`, output is unsent, which the peer must notice.
    Close {
        /// Close it with a reset (SO_LINGER with a time of 0).
        reset: bool,
    },
}

/// Whether a driver that receives continuously should keep doing so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Receive.
    Open,
    /// Stop receiving until the received input has been processed.
    Held,
    /// A pending receive may continue, but need not be started.
    Unchanged,
}

/// Why a file cannot be sent to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFailure {
    /// It is shorter than its announced size.
    Truncated,
    /// It cannot be read, because of a disk error or lack of memory.
    Unreadable(OpenError),
}
