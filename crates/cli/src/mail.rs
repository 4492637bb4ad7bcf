//! The options of `pitot mail`.

use std::path::PathBuf;

use clap::Args;
use pitot_meter::{Nanos, units};

/// Send one message to many recipients, or test how fast that is.
///
/// Recipients are grouped by domain, the domains' mail hosts found by DNS, and each host gets as many recipients per
/// transaction and transactions per connection as allowed. A refusal with 5xx is final, 4xx is retried. With a journal a
/// stopped or killed run continues where it was: recipients with an outcome are skipped, and at most as many as there are
/// connections (-c) may get the message twice.
///
/// Exit code 0: every recipient was accepted. 1: some were not, or the run ended early. 2: misuse; with --dry-run also a list
/// with lines that are not addresses.
#[derive(Debug, Args)]
pub(crate) struct Mail {
    /// The recipients, one address a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) list: PathBuf,
    /// The message, with its header. Lines may end in LF or CR LF.
    #[arg(long, value_name = "FILE")]
    pub(crate) message: PathBuf,
    /// The sender, who gets bounces; '<>' for none.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) from: String,
    /// Take every step of a delivery except the last: RSET instead of DATA.
    #[arg(long)]
    pub(crate) test_mode: bool,
    /// Send the message.
    #[arg(long)]
    pub(crate) really_send: bool,
    /// Check the list, the message and the options without opening a connection.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Allow UTF-8 in the message's header; hosts that do not offer SMTPUTF8 cannot take it.
    #[arg(long)]
    pub(crate) smtputf8: bool,
    /// Record the outcome of each recipient in this file, and skip recipients that have one.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Connections in total, and the limit on unacknowledged recipients.
    #[arg(short, long, value_name = "N", value_parser = units::count, default_value = "100", help_heading = "Hosts")]
    pub(crate) connections: u64,
    /// Connections to one host. [default: 20; with a relay, --connections]
    #[arg(long, value_name = "N", value_parser = units::count, help_heading = "Hosts")]
    pub(crate) connections_per_host: Option<u64>,
    /// Recipients per transaction; with --really-send, no more than connections.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "50", help_heading = "Hosts")]
    pub(crate) recipients_per_transaction: u64,
    /// Transactions per connection.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "100", help_heading = "Hosts")]
    pub(crate) transactions_per_connection: u64,
    /// Query this DNS server instead of the system's.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Hosts")]
    pub(crate) dns: Option<String>,
    /// Send all mail through this host, without DNS. smtps:// in front, or port 465, means TLS from the first byte.
    #[arg(long, value_name = "[smtps://]HOST:PORT", help_heading = "Hosts")]
    pub(crate) relay: Option<String>,
    /// The port of mail hosts found by DNS.
    #[arg(long, value_name = "PORT", default_value_t = 25, help_heading = "Hosts")]
    pub(crate) port: u16,
    /// TLS: auto (where offered, any certificate), require (with a certificate that is checked), off. [default: auto; require
    /// with --tls-ca, credentials or smtps://]
    #[arg(long, value_name = "POLICY", value_parser = policy, help_heading = "Hosts")]
    pub(crate) tls: Option<String>,
    /// Check certificates against the authorities in this PEM file, and not against the system's.
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Log in at the relay (AUTH PLAIN or LOGIN) with the line USER:PASSWORD in this file.
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    pub(crate) auth_file: Option<PathBuf>,
    /// The same with the USER:PASSWORD in an environment variable.
    #[arg(long, value_name = "VARIABLE", help_heading = "Hosts")]
    pub(crate) auth_env: Option<String>,
    /// Send the credentials also without TLS, or to a relay whose certificate is not checked.
    #[arg(long, help_heading = "Hosts")]
    pub(crate) auth_insecure: bool,
    /// The name to send with EHLO. [default: this machine's]
    #[arg(long, value_name = "NAME", help_heading = "Hosts")]
    pub(crate) helo: Option<String>,

    /// Attempts after the first one, for failures that may be temporary.
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Retries and limits")]
    pub(crate) retries: u8,
    /// The pause before the second attempt, doubled before each further one.
    #[arg(long, value_name = "TIME", value_parser = units::duration, default_value = "5m", help_heading = "Retries and limits")]
    pub(crate) retry_delay: Nanos,
    /// A factor for the time limits of RFC 5321 (5 minutes for most replies).
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, help_heading = "Retries and limits")]
    pub(crate) timeout_scale: f64,
    /// Recipients in memory at once.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "250k", help_heading = "Retries and limits")]
    pub(crate) window: u64,

    /// Write the result as one JSON object; with - to standard output and nothing else there.
    #[arg(long, value_name = "PATH|-", help_heading = "Result")]
    pub(crate) json: Option<PathBuf>,
}

/// What `--tls` takes.
fn policy(word: &str) -> Result<String, String> {
    match word {
        "auto" | "require" | "off" => Ok(word.to_owned()),
        _ => Err(format!("`{word}` is not auto, require or off")),
    }
}
