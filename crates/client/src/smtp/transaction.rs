use crate::said::Said;

/// The transaction of a run: built once, shared by all connections, and alive as long as the process.
#[derive(Debug)]
pub(super) struct Transaction {
    /// MAIL, RCPT ..., and DATA or RSET.
    pub(super) commands: Vec<&'static [u8]>,
    /// The same in one piece.
    pub(super) pipelined: &'static [u8],
    /// The message with its end; none if the transaction ends with RSET.
    pub(super) data: Option<&'static [u8]>,
    /// The message as it was written, if each is to have a name; else empty.
    pub(super) stored: Vec<u8>,
    /// Use PIPELINING where it is offered.
    pub(super) pipelining: bool,
    /// What the server refused first.
    pub(super) said: Said,
}
