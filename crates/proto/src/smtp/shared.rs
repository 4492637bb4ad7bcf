use super::options::SmtpOptions;

/// The server's state that connections need.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: SmtpOptions,
    pub(super) greeting: Box<[u8]>,
    /// The answer to EHLO.
    pub(super) extensions: Box<[u8]>,
    /// The same where STARTTLS can be said.
    pub(super) extensions_in_clear: Box<[u8]>,
}
