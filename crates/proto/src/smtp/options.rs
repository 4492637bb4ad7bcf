/// Length of the longest command line with its line end: that of RFC 5321 with ample room for parameters.
pub const LINE_BYTES_MAX: usize = 2048;

/// Default limit on the size of messages, in bytes.
pub const MESSAGE_BYTES_MAX: u64 = 10 << 20;
/// Default limit on the recipients of a message. (RFC 5321 requires at least 100.)
pub const RECIPIENTS_MAX: u32 = 1000;
/// Default limit on the errors of a session.
pub const ERRORS_MAX: u32 = 20;

/// The options of the mail server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtpOptions {
    /// The host name in the greeting.
    pub name: String,
    /// True if messages are stored, rather than only counted.
    pub store: bool,
    /// Limit on the size of messages, in bytes.
    pub message_bytes_max: u64,
    /// Limit on the recipients of a message.
    pub recipients_max: u32,
    /// Limit on refused commands per session, after which it is closed.
    pub errors_max: u32,
    /// True if STARTTLS is offered: the server has a certificate.
    pub starttls: bool,
}

impl Default for SmtpOptions {
    fn default() -> SmtpOptions {
        SmtpOptions {
            name: "localhost".into(),
            store: false,
            message_bytes_max: MESSAGE_BYTES_MAX,
            recipients_max: RECIPIENTS_MAX,
            errors_max: ERRORS_MAX,
            starttls: false,
        }
    }
}
