//! The options of a run, and the plan made of them.

use std::net::SocketAddr;
use std::path::PathBuf;

use pitot_meter::Nanos;
use pitot_results::Failure;

use crate::address::Address;
use crate::endpoint::Endpoint;
use crate::journal::Header;
use crate::login::Login;
use crate::message::{Message, TlsPolicy};
use crate::relay::Relay;
use crate::{tls, well_formed};

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
    /// Send everything to this host, without DNS; `smtps://` means TLS from the first byte.
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
    /// When connections use TLS. The default is `Require` if certificates are checked, or credentials or TLS from the first byte need
    /// it, otherwise `Auto`.
    pub tls: Option<TlsPolicy>,
    /// A PEM file of trusted authorities, instead of the system's.
    pub tls_ca: Option<PathBuf>,
    /// The file with `USER:PASSWORD` for the relay, or the environment variable.
    pub auth_file: Option<PathBuf>,
    /// See `auth_file`.
    pub auth_env: Option<String>,
    /// Allow to send credentials without TLS, or to a host whose certificate is not checked.
    pub auth_insecure: bool,
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
    /// Send the message. Exactly one of this and `test_mode` must be set, unless this is a dry run.
    pub really_send: bool,
    /// Only [`dry_run`](crate::dry_run) follows: no name is resolved, and neither mode has to be chosen.
    pub dry_run: bool,
}

/// A run that can start.
#[derive(Clone, Debug)]
pub struct MailPlan {
    pub(crate) list: PathBuf,
    pub(crate) message: Message,
    pub(crate) dns: Vec<SocketAddr>,
    pub(crate) relay: Option<Relay>,
    /// The settings of TLS, unless it is off.
    pub(crate) tls: Option<tls::Config>,
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
    /// Header fields that the message should have and has not.
    pub(crate) lacks: Vec<&'static str>,
    /// A dry run without a mode.
    pub(crate) any_mode: bool,
}

impl MailPlan {
    /// Checks everything that can be checked before the first connection.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn new(options: &Options) -> Result<MailPlan, Failure> {
        match (options.test_mode, options.really_send) {
            (false, false) if !options.dry_run => {
                return Err(Failure::misuse(
                    "choose a mode: --test-mode or --really-send is missing",
                    "add --really-send to send the message, --test-mode for all steps except the last, or --dry-run",
                ));
            }
            (true, true) => {
                return Err(Failure::misuse(
                    "--test-mode and --really-send cannot be combined",
                    "remove one of them",
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
                    return Err(Failure::misuse(
                        what,
                        "write --from name@domain, or --from '<>' for an empty sender",
                    ));
                }
            },
        };
        let message = read_message(&options.message)?;
        let well_formed = well_formed::check(&message, options.smtputf8).map_err(|malformed| {
            let what = format!("the message {} cannot be sent: {malformed}", options.message.display());
            Failure::misuse(what, malformed.fix())
        })?;
        if options.dns.is_some() && options.relay.is_some() {
            return Err(Failure::misuse(
                "--dns and --relay cannot be combined",
                "a relay needs no DNS: remove one of them",
            ));
        }
        let dns = match &options.dns {
            Some(name) => {
                let endpoint = Endpoint::parse(name, "DNS server", 53)?;
                if options.dry_run { Vec::new() } else { endpoint.resolve("DNS server")? }
            }
            None => Vec::new(),
        };
        let mut relay = options.relay.as_deref().map(Relay::parse).transpose()?;
        if let Some(relay) = relay.as_mut().filter(|_| !options.dry_run) {
            relay.addrs = relay.endpoint.resolve("relay")?;
        }
        let login = login(options)?;
        let policy = tls_policy(options, relay.as_ref(), login.as_ref())?;
        let tls = match policy {
            TlsPolicy::Off => None,
            policy => Some(tls::config(policy, options.tls_ca.as_deref())?),
        };
        let at_least_one = |n: u64, what: &str| {
            usize::try_from(n)
                .ok()
                .filter(|n| *n > 0)
                .ok_or_else(|| Failure::misuse(format!("{what} is {n}"), "write a number of at least 1"))
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
        Ok(MailPlan {
            list: options.list.clone(),
            message: Message {
                utf8_header: well_formed.utf8_header,
                login,
                ..Message::new(helo, from.to_owned(), &message, options.test_mode, policy)
            },
            tls,
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
            lacks: well_formed.lacks,
            any_mode: !options.test_mode && !options.really_send,
        })
    }
}

/// The credentials, if any. They are for a relay, and no other host gets them.
fn login(options: &Options) -> Result<Option<Login>, Failure> {
    let login = match (&options.auth_file, &options.auth_env) {
        (None, None) if options.auth_insecure => {
            let what = "--auth-insecure needs credentials";
            return Err(Failure::misuse(what, "add --auth-file or --auth-env, or remove it"));
        }
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(Failure::misuse(
                "--auth-file and --auth-env cannot be combined",
                "remove one of them",
            ));
        }
        (Some(path), None) => Login::from_file(path, options.auth_insecure)?,
        (None, Some(variable)) => Login::from_env(variable, options.auth_insecure)?,
    };
    if options.relay.is_none() {
        return Err(Failure::misuse("credentials need a relay", "add --relay HOST:PORT, or remove them"));
    }
    Ok(Some(login))
}

/// When connections use TLS, where the options agree on it.
fn tls_policy(options: &Options, relay: Option<&Relay>, login: Option<&Login>) -> Result<TlsPolicy, Failure> {
    let implicit = relay.is_some_and(|relay| relay.implicit_tls);
    let checked = login.is_some_and(|login| !login.insecure);
    let policy = options.tls.unwrap_or(if implicit || checked || options.tls_ca.is_some() {
        TlsPolicy::Require
    } else {
        TlsPolicy::Auto
    });
    if policy != TlsPolicy::Require && checked {
        return Err(Failure::misuse(
            "credentials need TLS and a checked certificate",
            "use --tls require, or --auth-insecure to send them readable by others",
        ));
    }
    if policy != TlsPolicy::Require && options.tls_ca.is_some() {
        let what = "--tls-ca has no effect without --tls require, which checks certificates";
        return Err(Failure::misuse(what, "use --tls require, or remove --tls-ca"));
    }
    if policy == TlsPolicy::Off && implicit {
        let what = "the relay uses TLS from the first byte, which --tls off forbids";
        return Err(Failure::misuse(what, "write smtp://HOST:PORT for a relay without TLS, or remove --tls"));
    }
    Ok(policy)
}

fn read_message(path: &std::path::Path) -> Result<Vec<u8>, Failure> {
    let unreadable = |e: std::io::Error| {
        Failure::misuse(format!("cannot read the message {}: {e}", path.display()), "write --message FILE")
    };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > MESSAGE_BYTES_MAX {
        let what = format!("the message {} has {bytes} bytes: the limit is 64 MiB", path.display());
        return Err(Failure::misuse(what, "use a smaller message"));
    }
    let message = std::fs::read(path).map_err(unreadable)?;
    if message.is_empty() {
        let what = format!("the message {} is empty", path.display());
        return Err(Failure::misuse(what, "write a header, an empty line and a body"));
    }
    Ok(message)
}

fn own_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "[127.0.0.1]".into(),
        name => name.to_owned(),
    }
}
