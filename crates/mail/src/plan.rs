//! The options of a run, and the plan made of them.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use pitot_meter::Nanos;
use pitot_results::Failure;

use crate::address::Address;
use crate::journal::Header;
use crate::message::{Message, TlsPolicy};
use crate::well_formed;

/// The longest message, in bytes.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;

/// The options of a run as they were given.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file of recipients, one a line.
    pub list: PathBuf,
    /// The file with the message.
    pub message: PathBuf,
    /// The sender's address; `<>` for none.
    pub from: String,
    /// The DNS server to ask instead of the system's.
    pub dns: Option<String>,
    /// Give everything to this host and ask no DNS.
    pub relay: Option<String>,
    /// The port of mail hosts.
    pub port: u16,
    /// Connections in all, to all hosts.
    pub connections: u64,
    /// Connections to one host; without a relay 20 by default.
    pub connections_per_host: Option<u64>,
    /// Recipients of one transaction.
    pub recipients_per_transaction: u64,
    /// Transactions of one connection.
    pub transactions_per_connection: u64,
    /// Attempts after the first.
    pub retries: u8,
    /// The pause before the second attempt; it doubles with each.
    pub retry_delay: Nanos,
    /// A factor for the time limits of RFC 5321 and for those of DNS servers.
    pub timeout_scale: f64,
    /// When connections use TLS.
    pub tls: TlsPolicy,
    /// The name for EHLO, instead of this machine's.
    pub helo: Option<String>,
    /// Where outcomes are kept.
    pub journal: Option<PathBuf>,
    /// Recipients in memory at once.
    pub window: u64,
    /// The header may be UTF-8, for hosts that offer SMTPUTF8.
    pub smtputf8: bool,
    /// RSET in place of DATA.
    pub test_mode: bool,
    /// Send the message. Exactly one of this and `test_mode` must be set.
    pub really_send: bool,
}

/// A run that can start.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) list: PathBuf,
    pub(crate) message: Message,
    pub(crate) dns: Vec<SocketAddr>,
    /// The relay's addresses, if there is one.
    pub(crate) relay: Option<(String, Vec<SocketAddr>)>,
    pub(crate) port: u16,
    pub(crate) connections: usize,
    pub(crate) connections_per_host: usize,
    pub(crate) recipients_per_transaction: usize,
    pub(crate) transactions_per_connection: u64,
    pub(crate) retries: u8,
    pub(crate) retry_delay: Nanos,
    pub(crate) timeout_scale: f64,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) header: Header,
    pub(crate) window: usize,
}

impl Plan {
    /// Checks everything that can be checked before the first connection.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn new(options: &Options) -> Result<Plan, Failure> {
        match (options.test_mode, options.really_send) {
            (false, false) => {
                return Err(Failure::misuse(
                    "neither --test-mode nor --really-send is given",
                    "add --really-send to send the message, or --test-mode to take every step but the last",
                ));
            }
            (true, true) => {
                return Err(Failure::misuse(
                    "--test-mode and --really-send exclude each other",
                    "leave one out",
                ));
            }
            _ => {}
        }
        let from = match &*options.from {
            "<>" | "" => "",
            address => match Address::parse(address.as_bytes()) {
                Ok(_) => address.trim().trim_start_matches('<').trim_end_matches('>'),
                Err(why) => {
                    let what = format!("the sender `{address}` is not an address: {why}");
                    return Err(Failure::misuse(what, "write --from name@domain, or --from '<>' for none"));
                }
            },
        };
        let message = read_message(&options.message)?;
        let well_formed = well_formed::check(&message, options.smtputf8).map_err(|malformed| {
            let what = format!("the message {} cannot be sent: {malformed}", options.message.display());
            Failure::misuse(what, malformed.cure())
        })?;
        if options.dns.is_some() && options.relay.is_some() {
            return Err(Failure::misuse(
                "--dns and --relay exclude each other",
                "a relay needs no DNS: leave one out",
            ));
        }
        let dns = options.dns.as_deref().map_or(Ok(Vec::new()), |name| resolve(name, "DNS server", 53))?;
        let relay = match &options.relay {
            Some(name) => Some((name.clone(), resolve(name, "relay", 25)?)),
            None => None,
        };
        let at_least_one = |n: u64, what: &str| {
            usize::try_from(n)
                .ok()
                .filter(|n| *n > 0)
                .ok_or_else(|| Failure::misuse(format!("{what} is {n}"), "write a number from 1 on"))
        };
        let connections = at_least_one(options.connections, "the number of connections")?;
        let per_host = options.connections_per_host.unwrap_or(if relay.is_some() { u64::MAX } else { 20 });
        let recipients =
            at_least_one(options.recipients_per_transaction, "the number of recipients in a transaction")?;
        if !(options.timeout_scale > 0.0 && options.timeout_scale <= 100.0) {
            return Err(Failure::misuse(
                format!("timeouts cannot be scaled by {}", options.timeout_scale),
                "write a number above 0 and up to 100",
            ));
        }
        let helo = options.helo.clone().unwrap_or_else(own_name);
        if helo.is_empty() || !helo.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Failure::misuse(
                format!("`{helo}` is not a valid name for EHLO"),
                "write --helo host.domain",
            ));
        }
        let header = Header {
            mode: if options.test_mode { "test" } else { "send" },
            from: from.to_owned(),
            message: (crc32fast::hash(&message), message.len() as u64),
        };
        Ok(Plan {
            list: options.list.clone(),
            message: Message {
                utf8_header: well_formed.utf8_header,
                ..Message::new(helo, from.to_owned(), &message, options.test_mode, options.tls)
            },
            dns,
            relay,
            port: options.port,
            connections,
            connections_per_host: at_least_one(per_host, "the number of connections to a host")?
                .min(connections),
            // A whole transaction must fit into the window of unacknowledged recipients.
            recipients_per_transaction: if options.test_mode {
                recipients
            } else {
                recipients.min(connections)
            },
            transactions_per_connection: at_least_one(
                options.transactions_per_connection,
                "the number of transactions of a connection",
            )? as u64,
            retries: options.retries,
            retry_delay: options.retry_delay,
            timeout_scale: options.timeout_scale,
            journal: options.journal.clone(),
            header,
            window: at_least_one(options.window, "the number of recipients in memory")?,
        })
    }
}

fn read_message(path: &std::path::Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |e: std::io::Error| {
        Failure::misuse(format!("the message {} cannot be read: {e}", path.display()), "write --message FILE")
    };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > MESSAGE_BYTES_MAX {
        let what = format!("the message {} has {bytes} bytes", path.display());
        return Err(Failure::misuse(what, "messages may have up to 64 MiB"));
    }
    let message = std::fs::read(path).map_err(unreadable)?;
    if message.is_empty() {
        let what = format!("the message {} is empty", path.display());
        return Err(Failure::misuse(what, "a message is a header, an empty line and a body"));
    }
    Ok(message)
}

/// The addresses of `HOST[:PORT]`.
fn resolve(name: &str, what: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let cure = "write HOST:PORT or ADDRESS:PORT";
    if let Ok(addr) = name.parse::<SocketAddr>() {
        return Ok(vec![addr]);
    }
    if let Ok(ip) = name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let has_port = name.rsplit_once(':').is_some_and(|(h, _)| !h.contains(':'));
    let host = if has_port { name.rsplit_once(':').map_or(name, |(h, _)| h) } else { name };
    if is_number(host) {
        return Err(Failure::misuse(
            format!("the {what} `{name}` is not a full IP address"),
            "write all four numbers, as in 127.0.0.1:PORT",
        ));
    }
    let found = if has_port { name.to_socket_addrs() } else { (name, port).to_socket_addrs() };
    match found.map(Iterator::collect::<Vec<_>>) {
        Ok(addrs) if !addrs.is_empty() => Ok(addrs),
        Ok(_) => Err(Failure::misuse(format!("the {what} `{name}` has no address"), cure)),
        Err(e) => Err(Failure::misuse(format!("the {what} `{name}` cannot be found: {e}"), cure)),
    }
}

/// Whether the last label is a number, as in no host's name. The system's resolver would take `1.2.3` for 1.2.0.3, `0x7f1`
/// and `2130706433` for addresses too (inet_aton(3)), and the mail would go where nobody meant it to.
fn is_number(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    match hex {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()),
    }
}

fn own_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "[127.0.0.1]".into(),
        name => name.to_owned(),
    }
}
