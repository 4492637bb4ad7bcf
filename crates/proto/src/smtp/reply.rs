//! The replies: a code (RFC 5321 section 4.2), an enhanced code (RFC 3463), and a text.

pub(super) const OK: &[u8] = b"250 2.0.0 Ok\r\n";
pub(super) const SENDER_OK: &[u8] = b"250 2.1.0 Ok\r\n";
pub(super) const RECIPIENT_OK: &[u8] = b"250 2.1.5 Ok\r\n";
pub(super) const ACCEPTED: &[u8] = b"250 2.6.0 Message accepted\r\n";
pub(super) const START_TLS: &[u8] = b"220 2.0.0 Begin TLS\r\n";
pub(super) const BYE: &[u8] = b"221 2.0.0 Bye\r\n";
pub(super) const HELP: &[u8] = b"214 2.0.0 EHLO HELO MAIL RCPT DATA RSET NOOP VRFY HELP QUIT\r\n";
pub(super) const WILL_TRY: &[u8] = b"252 2.5.0 Cannot verify, but mail for any recipient is accepted\r\n";
pub(super) const GO_AHEAD: &[u8] = b"354 End with a line that contains only a dot\r\n";

pub(super) const STOPPING: &[u8] = b"421 4.3.2 The server is stopping\r\n";
pub(super) const TOO_SLOW: &[u8] = b"421 4.4.2 Timeout\r\n";
pub(super) const TOO_MANY_ERRORS: &[u8] = b"421 4.7.0 Too many errors\r\n";
pub(super) const NOT_STORED: &[u8] = b"451 4.3.0 The message could not be stored; try again\r\n";
pub(super) const NO_ROOM: &[u8] = b"452 4.3.1 The disk is full; try again\r\n";
pub(super) const TOO_MANY_RECIPIENTS: &[u8] = b"452 4.5.3 Too many recipients; send the rest later\r\n";

pub(super) const UNKNOWN: &[u8] = b"500 5.5.1 Unknown command\r\n";
pub(super) const LINE_TOO_LONG: &[u8] = b"500 5.5.2 The line is too long\r\n";
pub(super) const LINE_END: &[u8] = b"500 5.5.2 Lines must end with CR LF, without other CR or LF\r\n";
pub(super) const NUL_IN_COMMAND: &[u8] = b"500 5.5.2 The line contains a NUL\r\n";
pub(super) const SYNTAX: &[u8] = b"501 5.5.4 Bad arguments\r\n";
pub(super) const NO_ARGUMENTS: &[u8] = b"501 5.5.4 This command takes no arguments\r\n";
pub(super) const BAD_NAME: &[u8] = b"501 5.5.4 Send your domain or address\r\n";
pub(super) const BAD_SENDER: &[u8] = b"501 5.1.7 Invalid sender: send an address in angle brackets\r\n";
pub(super) const BAD_RECIPIENT: &[u8] = b"501 5.1.3 Invalid recipient: send an address in angle brackets\r\n";
pub(super) const NOT_OFFERED: &[u8] = b"502 5.5.1 Command not supported\r\n";
pub(super) const HELLO_FIRST: &[u8] = b"503 5.5.1 Send EHLO first\r\n";
pub(super) const MAIL_FIRST: &[u8] = b"503 5.5.1 Send MAIL first\r\n";
pub(super) const RCPT_FIRST: &[u8] = b"503 5.5.1 Send RCPT first\r\n";
pub(super) const TLS_TWICE: &[u8] = b"503 5.5.1 TLS is already active\r\n";
pub(super) const MAIL_TWICE: &[u8] = b"503 5.5.1 MAIL was already sent\r\n";
pub(super) const TOO_LARGE: &[u8] = b"552 5.3.4 The message is too large\r\n";
pub(super) const NEEDS_UTF8: &[u8] = b"553 5.6.7 The address needs SMTPUTF8\r\n";
pub(super) const STRAY_LINE_END: &[u8] = b"554 5.6.0 The message contains a bare CR or LF\r\n";
pub(super) const NUL_IN_MESSAGE: &[u8] = b"554 5.6.0 The message contains a NUL\r\n";
pub(super) const NO_TLS: &[u8] = b"554 5.7.0 Expected a TLS handshake\r\n";
pub(super) const UNKNOWN_PARAMETER: &[u8] = b"555 5.5.4 Unknown parameter\r\n";
