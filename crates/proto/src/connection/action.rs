use std::time::Duration;

use crate::{OpenError, Outbox, StoreStep};

/// What the driver has to do for a connection.
#[derive(Debug)]
pub enum Action<'a> {
    /// Receive, and report the result: `received`, `ended` or `broken`.
    Receive,
    /// Send from the front of the outbox, and report the result: `sent`, `file_failed` or `broken`.
    Send(&'a mut Outbox),
    /// Read the first part of the first file in this outbox ([`Outbox::file_to_read`]) and put it there
    /// ([`Outbox::fill`]), or report `file_failed`; then continue polling. Only connections with a layer ask for it: what is
    /// encrypted has to be in memory.
    Read(&'a mut Outbox),
    /// Open the file and report the result: `opened`.
    Open(&'a [u8]),
    /// Carry out the step and report the result: `stored`. The path is that of the file if the step begins one.
    Store(&'a [u8], &'a mut StoreStep),
    /// Let this time pass and report its end: `delayed`. A loop serves others meanwhile.
    Delay(Duration),
    /// Nothing, until an answer or the completion of a send is reported.
    Wait,
    /// Let the kernel carry on in the layer's place: take [`kernel_keys`](crate::Connection::kernel_keys), and report the result:
    /// `handed_over`. A kernel that cannot is reported with `keeps_layer` before they are taken.
    HandOver,
    /// Send this alert of TLS as a record of its own through the kernel, and report the result: `alerted` or `broken`.
    Alert([u8; 2]),
    /// Everything is sent: end sending (shutdown(2)) and continue polling.
    Linger,
    /// Close the socket and drop the connection. With `reset` something was not sent, and the peer has to see that.
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
    /// A receive under way may continue, but none need be started.
    Unchanged,
}

/// Why a file cannot be sent to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFailure {
    /// It is shorter than its announced size.
    Truncated,
    /// It cannot be read, because of a disk error or for lack of memory.
    Unreadable(OpenError),
}
