//! The client side of SMTP: the parts that the mail engine and the load generator share, and the scheme `smtp`.
//!
//! For the load generator a request is a whole transaction: MAIL, RCPT for each recipient, DATA and the message, or RSET in its
//! place. Commands are sent together where the server offers PIPELINING (RFC 2920), otherwise one by one. A transaction is
//! right if every command was accepted.

mod conn;
mod extensions;
mod message;
mod options;
mod reply;
mod transaction;

pub use extensions::Extensions;
pub use message::data_of;
pub use reply::{EnhancedCode, LINE_BYTES_MAX, Line, ReplyReader};

use pitot_durability::{BLANK_NAME, Stored};

use conn::SmtpConn;
use options::{Options, URL_OPTIONS};
use transaction::Transaction;

use crate::entry::{ClientEntry, TlsScheme};
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol};
use crate::said::Said;
use crate::url::Url;

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "smtp",
    summary: "mail transactions to any SMTP server, pipelined where the server offers it",
    doc: "A request is a whole transaction, and is right if the server accepts every command. The URL's query \
          describes it. --body replaces the generated message. Accepted messages and recipients are counted.",
    port: Some(25),
    tls: Some(TlsScheme { scheme: "smtps", port: Some(465) }),
    requests_per_connection_max: None,
    url_options: URL_OPTIONS,
    has_statuses: false,
    has_methods: false,
    logs_in: false,
    has_commands: false,
    takes_body_files: true,
    has_sessions: false,
    example: "smtp://127.0.0.1:2525/?recipients=5&size=1KiB",
    build,
};

fn build(_: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let [request] = &*options.requests else {
        return Err("smtp takes one URL: its query describes the transaction".into());
    };
    if request.method != "GET" || !options.headers.is_empty() {
        return Err("smtp has no methods or headers: write its options behind a `?` in the URL".into());
    }
    let parsed = Options::parse(&request.path)?;
    let mut commands = vec![format!("MAIL FROM:<{}>\r\n", parsed.from)];
    for n in 0..parsed.recipients {
        let to = if parsed.recipients == 1 { parsed.to.clone() } else { format!("{n}-{}", parsed.to) };
        commands.push(format!("RCPT TO:<{to}>\r\n"));
    }
    commands.push(if parsed.rset { "RSET\r\n" } else { "DATA\r\n" }.to_owned());
    let message = (!parsed.rset).then(|| {
        let generated = || {
            let mut message =
                format!("From: <{}>\r\nTo: <{}>\r\nSubject: pitot\r\n\r\n", parsed.from, parsed.to);
            let line = format!("{}\r\n", "x".repeat(70));
            let lines = parsed.bytes.saturating_sub(message.len() as u64) / line.len() as u64;
            message.push_str(&line.repeat(lines as usize));
            let rest = (parsed.bytes as usize).saturating_sub(message.len() + 2);
            message.push_str(&format!("{}\r\n", "x".repeat(rest)));
            message.into_bytes()
        };
        let message = if request.body.is_empty() { generated() } else { request.body.clone() };
        match options.durability {
            true => [format!("Message-ID: <{BLANK_NAME}@pitot.invalid>\r\n").into_bytes(), message].concat(),
            false => message,
        }
    });
    let stored = message.as_deref().filter(|_| options.durability).map(<[u8]>::to_vec).unwrap_or_default();
    let data = message.map(|message| &*data_of(&message).leak());
    let pipelined = commands.concat().into_bytes().leak();
    let commands = commands.into_iter().map(|command| &*command.into_bytes().leak()).collect();
    let transaction = Transaction {
        commands,
        pipelined,
        data,
        stored,
        pipelining: parsed.pipelining,
        said: Said::default(),
    };
    Ok(Box::new(Smtp { transaction: Box::leak(Box::new(transaction)) }))
}

struct Smtp {
    transaction: &'static Transaction,
}

impl ClientProtocol for Smtp {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(SmtpConn::new(self.transaction))
    }

    fn request_bytes_max(&self) -> Option<usize> {
        let t = self.transaction;
        Some(t.pipelined.len().max(t.data.map_or(0, <[u8]>::len)))
    }

    fn server_said(&self) -> Option<String> {
        self.transaction.said.words()
    }

    fn stored(&self) -> Option<(Stored, &[u8])> {
        Some((Stored::Mail, &self.transaction.stored))
    }
}

#[cfg(test)]
mod tests;
