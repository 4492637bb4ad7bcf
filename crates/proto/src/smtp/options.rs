/// The largest message, if nothing is said.
pub const MESSAGE_BYTES_MAX: u64 = 10 << 20;
/// The most recipients of a message, if nothing is said. (RFC 5321 asks for at least 100.)
pub const RECIPIENTS_MAX: u32 = 1000;
/// The most errors of a session, if nothing is said.
pub const ERRORS_MAX: u32 = 20;

/// What a user may set for the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtpOptions {
    /// The name by which the server greets.
    pub name: String,
    /// Messages are to be stored, rather than counted and forgotten.
    pub store: bool,
    /// Bytes of the largest message.
    pub message_bytes_max: u64,
    /// Recipients of one message.
    pub recipients_max: u32,
    /// Commands refused in one session before it is ended.
    pub errors_max: u32,
}

impl Default for SmtpOptions {
    fn default() -> SmtpOptions {
        SmtpOptions {
            name: "localhost".into(),
            store: false,
            message_bytes_max: MESSAGE_BYTES_MAX,
            recipients_max: RECIPIENTS_MAX,
            errors_max: ERRORS_MAX,
        }
    }
}
