//! `pitot serve dns`: a DNS responder with generated mail domains, for tests and experiments.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use pitot_dns::{MailHost, Responder, Sockets, ZoneOptions};
use pitot_meter::units;
use pitot_results::Failure;
use pitot_sys::landlock::Tcp;
use pitot_sys::signal::{Signal, SignalFd};
use pitot_sys::user::User;
use serde_json::{Map, Value, json};

use crate::output::print_line;

/// Its name among the protocols.
pub(crate) const NAME: &str = "dns";
/// Default number of threads that answer datagrams.
const THREADS: usize = 2;

/// The responder of `dns`.
#[derive(Clone, Debug, Args)]
#[command(
    next_help_heading = "Options of dns (a responder with an architecture of its own; --workers is its number of threads)"
)]
pub(crate) struct DnsArgs {
    /// Number of mail domains to generate.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "100")]
    domains: u64,
    /// Their names; {} is replaced by the number, from 0.
    #[arg(long, value_name = "NAME", default_value = "d{}.test")]
    pattern: String,
    /// A mail host with its addresses; several hosts share the domains. MX records have no port: the mail client chooses
    /// one. [default: mx0.sink.test:127.0.0.1]
    #[arg(long, value_name = "HOST:ADDRESS[,ADDRESS]", value_parser = mail_host, conflicts_with = "mx_addresses")]
    mx: Vec<MailHost>,
    /// Number of generated mail hosts: mx0.sink.test ..., with the addresses 127.0.0.1, 127.0.0.2 ...
    #[arg(long, value_name = "N", default_value_t = 1)]
    mx_addresses: u32,
    /// Number of domains, counted from the last, that have an address record instead of an MX record.
    #[arg(long, value_name = "N", value_parser = units::count, default_value = "0")]
    without_mx: u64,
}

fn mail_host(text: &str) -> Result<MailHost, String> {
    let (name, addresses) = text.split_once(':').ok_or("a mail host needs an address: mx.test:127.0.0.1")?;
    let address = |text: &str| text.parse::<IpAddr>().map_err(|_| format!("`{text}` is not an address"));
    let addresses = addresses.split(',').map(address).collect::<Result<_, _>>()?;
    Ok(MailHost { name: name.to_owned(), addresses })
}

impl DnsArgs {
    /// Answers until SIGINT or SIGTERM.
    pub(crate) fn run(
        self,
        listen: SocketAddr,
        threads: Option<usize>,
        stats: bool,
        user: Option<User>,
        confine: bool,
    ) -> Result<ExitCode, Failure> {
        let wrong = |what| Failure::misuse(what, "see `pitot serve --help`, options of dns");
        let hosts =
            if self.mx.is_empty() { MailHost::many(self.mx_addresses).map_err(wrong)? } else { self.mx };
        let (domains, pattern, without_mx) = (self.domains, self.pattern, self.without_mx);
        let options = ZoneOptions { domains, pattern, without_mx, hosts };
        let responder = Arc::new(Responder::new(&options).map_err(wrong)?);

        // Threads inherit the signal mask, so signals are delivered to this one.
        let signals = SignalFd::new(&Signal::that_end())
            .map_err(|e| Failure::run(format!("cannot wait for signals: {e}"), "raise ulimit -n"))?;
        let cannot_listen = |e: io::Error| {
            Failure::misuse(
                format!("cannot listen on {listen}: {e}"),
                "choose another --listen; a port below 1024 needs privileges",
            )
        };
        let sockets = Sockets::bind(listen).map_err(cannot_listen)?;
        let addr = sockets.addr().map_err(cannot_listen)?;
        crate::user::become_user(user)?;
        if confine {
            pitot_serve::confine_to(&[], Tcp::None)?;
        }
        let started = sockets.start(&responder, threads.unwrap_or(THREADS).max(1));
        started.map_err(|e| Failure::run(format!("cannot start a thread: {e}"), "raise ulimit -u"))?;
        // stdout may be closed; the responder runs all the same.
        print_line(format_args!("ready {addr}"));
        while signals.wait(None).is_none() {}
        if stats {
            let mut counts: Map<String, Value> =
                responder.counts().iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
            counts.insert("schema".into(), json!("pitot-dns/1"));
            counts.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
            print_line(Value::Object(counts));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_hosts_are_a_name_and_addresses() {
        let host = mail_host("mx.test:127.0.0.1,::1").unwrap();
        assert_eq!((host.name.as_str(), host.addresses.len()), ("mx.test", 2));
        assert_eq!(mail_host("mx.test:::1").unwrap().addresses, ["::1".parse::<IpAddr>().unwrap()]);
        assert!(mail_host("mx.test").is_err() && mail_host("mx.test:").is_err());
    }
}
