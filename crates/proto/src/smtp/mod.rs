//! `smtp`: a server that receives mail (RFC 5321), for any recipient.
//!
//! It supports PIPELINING (RFC 2920), SIZE (RFC 1870), 8BITMIME (RFC 6152), SMTPUTF8 (RFC 6531) and
//! ENHANCEDSTATUSCODES (RFC 2034), with a certificate STARTTLS (RFC 3207), and takes commands in the standard's order only.
//!
//! How it is built, and at what price:
//! - **A message is never in memory.** Its content is counted and dropped or, with [`SmtpOptions::store`], passed on
//!   piece by piece in [`StoreStep`](crate::StoreStep)s, which the driver of the connection carries out. The price is a
//!   write per receive. A message is acknowledged only when the last step is complete.
//! - **The reply does not depend on how the input is split**, and only CR LF ends a line. A message with a bare carriage
//!   return or line feed is refused at its end (`content.rs`).
//! - **What follows STARTTLS is not read as commands**, whenever it arrives: it belongs to the TLS layer, so that commands
//!   that an attacker adds in clear text break the handshake (CVE-2011-0411), and a new session begins.
//! - **A connection is small**: a pointer and a few bytes before EHLO, about two hundred bytes more after it. The
//!   envelope grows with its recipients, whose number is limited.
//!
//! Intentionally absent: relaying, name lookups (so that the `Received` field has the client's address and the name that
//! it sent, but no verified name) and authentication.

mod command;
mod conn;
mod content;
pub(crate) mod options;
mod path;
mod reply;
mod shared;

use std::sync::Arc;

use crate::{Protocol, ProtocolEntry, ProtocolOptions, ServerConn};
use conn::Conn;
use shared::Shared;

pub use options::{ERRORS_MAX, LINE_BYTES_MAX, MESSAGE_BYTES_MAX, RECIPIENTS_MAX, SmtpOptions};

/// The protocol: the state that all connections share.
#[derive(Debug)]
pub struct Smtp {
    shared: Arc<Shared>,
}

impl Smtp {
    /// A server with these options.
    ///
    /// # Errors
    /// A name that is neither a domain nor an address literal; a limit of 0.
    pub fn new(options: &SmtpOptions) -> Result<Smtp, String> {
        let name = &options.name;
        if !command::is_client_name(name.as_bytes()) {
            return Err(format!("`{name}` is neither a domain nor an address literal"));
        }
        if options.recipients_max == 0 || options.errors_max == 0 || options.message_bytes_max == 0 {
            return Err("the limits of smtp must be greater than 0".into());
        }
        let greeting = format!("220 {name} ESMTP Pitot\r\n");
        let extensions = |starttls: &str| -> Box<[u8]> {
            let size = options.message_bytes_max;
            let lines = format!(
                "250-{name}\r\n250-PIPELINING\r\n250-SIZE {size}\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n{starttls}\
                 250-ENHANCEDSTATUSCODES\r\n250 HELP\r\n",
            );
            lines.into_bytes().into()
        };
        let shared = Shared {
            options: options.clone(),
            greeting: greeting.into_bytes().into(),
            extensions: extensions(""),
            extensions_in_clear: extensions(if options.starttls { "250-STARTTLS\r\n" } else { "" }),
        };
        Ok(Smtp { shared: Arc::new(shared) })
    }
}

impl Protocol for Smtp {
    fn connect(&self) -> Box<dyn ServerConn> {
        Box::new(Conn::new(Arc::clone(&self.shared)))
    }

    fn wants_peer(&self) -> bool {
        self.shared.options.store
    }
}

/// The entry of the registry.
pub(crate) static ENTRY: ProtocolEntry = ProtocolEntry {
    name: "smtp",
    summary: "receives mail for any recipient (RFC 5321), and counts it or stores it in a Maildir",
    doc: "A receiving mail server with PIPELINING, SIZE, 8BITMIME, SMTPUTF8 and ENHANCEDSTATUSCODES, and STARTTLS with \
          `--tls`. It accepts every recipient and relays nothing. Messages are counted or, with `--deliver maildir DIR`, \
          written to disk with fsync(2) before they are acknowledged. Messages whose end two servers could interpret \
          differently are refused.",
    files: false,
    load_url: "smtp://{address}",
    tls: crate::TlsBegins::OnRequest,
    build,
};

fn build(options: &ProtocolOptions) -> Result<Box<dyn Protocol>, String> {
    Ok(Box::new(Smtp::new(&options.smtp)?))
}
