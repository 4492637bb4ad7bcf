use crate::said::Said;

/// The transaction of a run. It is built once, shared by all connections, and lives as long as the process.
#[derive(Debug)]
pub(super) struct Transaction {
    /// MAIL, RCPT ..., and DATA or RSET.
    pub(super) commands: Vec<&'static [u8]>,
    /// All commands concatenated.
    pub(super) pipelined: &'static [u8],
    /// The message with its end; `None` if the transaction ends with RSET.
    pub(super) data: Option<&'static [u8]>,
    /// The message as written, if each gets a name; else empty.
    pub(super) stored: Vec<u8>,
    /// Use PIPELINING where offered.
    pub(super) pipelining: bool,
    /// The first refusal of the server.
    pub(super) said: Said,
}
